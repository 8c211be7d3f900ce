"""Judges as a run has them, with scripted models on loopback."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from cortex_eval.core import Reply, Score
from cortex_eval.llm import ModelSettings, Prices
from cortex_eval.net import Outside, Patience
from cortex_eval.scoring import JudgeModel, PlannedScorer, opened, plan_scorer, run_scorer
from cortex_eval.testing import Call, ModelReply, ScriptedService, speak_openai

PATIENT = Patience(retries=0, retry_delay_s=0.001, waits_out=False)
FENCED = re.compile(r'<data-(?P<code>[0-9a-f]{16}) name="(?P<name>\w+)">\n(?P<text>.*?)\n</data-(?P=code)>', re.DOTALL)

Says = str | ModelReply | Callable[[dict[str, str]], Any]


def shown(call: Call) -> dict[str, str]:
    """What a judge was shown, by name."""
    return {each["name"]: each["text"] for each in FENCED.finditer(call.json["messages"][1]["content"])}


def saying(says: Says) -> Callable[[Call], Any]:
    """A model that answers what it was shown; values become JSON."""

    def reply(call: Call) -> str | ModelReply:
        said = says(shown(call)) if callable(says) else says
        return said if isinstance(said, str | ModelReply) else json.dumps(said)

    return speak_openai(reply)


@asynccontextmanager
async def judged_by(
    scorer: Any, *models: Says, cache: Any = None, outside: Outside | None = None, prices: Prices | None = None
) -> AsyncIterator[tuple[PlannedScorer, list[ScriptedService]]]:
    """A judge that asks these models; with several, they are its jury."""
    async with AsyncExitStack() as stack:
        services = [await stack.enter_async_context(ScriptedService(saying(each))) for each in models]
        names = [f"model{number}" for number in range(len(models))]
        scorer.model, scorer.models = names[0], tuple(names) if len(names) > 1 else ()
        for name, service in zip(names, services, strict=True):
            settings = ModelSettings(model=name, base_url=service.url, prices=prices)
            scorer.use_model(JudgeModel(name=name, settings=settings, patience=PATIENT))
        planned = plan_scorer(scorer, name="judged")
        await stack.enter_async_context(opened([planned], outside or Outside(), cache))
        yield planned, services


async def score_by(scorer: Any, case: Any, reply: Reply, *models: Says, **how: Any) -> Score:
    """One score, from models that are gone afterwards."""
    async with judged_by(scorer, *models, **how) as (planned, _):
        return await run_scorer(planned, case, (reply,) if planned.level == "case" else reply)
