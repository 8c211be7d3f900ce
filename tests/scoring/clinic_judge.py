"""The judge scorer as a run has it, asking a scripted model about an answer that names a clinic."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from judges_at_work import PATIENT

from cortex_eval.core import Case, Expected, JudgeError, Reply, Secret, Turn
from cortex_eval.llm import ModelSettings, Prices
from cortex_eval.net import Outside, Patience
from cortex_eval.scoring import Judged, JudgeModel, PlannedScorer, Scoreboard, opened, plan_scorer, run_scorer
from cortex_eval.scoring.judge import Judge
from cortex_eval.testing import Call, ModelReply, ScriptedService, speak_openai

CASE = Case(id="1", turns=(Turn(text="Where do I go?", expected=Expected(answer="To the clinic.")),))
REPLY = Reply(text="Go to the clinic at noon.")
PROMPT = "Question: {input}\nDoes the answer name a place?\n{answer}"


def says(value: object, reason: str = "It does.") -> str:
    key = "verdict" if isinstance(value, str) else "score"
    return json.dumps({"reason": reason, key: value})


def judge_at(service: ScriptedService, patience: Patience = PATIENT, prices: Prices | None = None, **settings) -> Judge:
    judge = Judge(**{"prompt": PROMPT, **settings})
    key = Secret("judge-key-0123456789")
    chosen = ModelSettings(model="m1", base_url=service.url, api_key=key, prices=prices)
    judge.use_model(JudgeModel(name="judge", settings=chosen, patience=patience))
    return judge


@asynccontextmanager
async def at_work(*judges: Judge, outside: Outside | None = None, cache=None) -> AsyncIterator[list[PlannedScorer]]:
    """The judges as a run has them."""
    planned = [plan_scorer(judge, name=f"judge{number}") for number, judge in enumerate(judges)]
    async with opened(planned, outside or Outside(), cache):
        yield planned


async def score_with(judge: Judge, reply: Reply = REPLY, case: Case = CASE):
    async with at_work(judge) as [planned]:
        return await run_scorer(planned, case, reply)


def told(call: Call) -> tuple[str, str]:
    """What the system and the user message of a call say."""
    system, user = call.json["messages"]
    return system["content"], user["content"]


async def board_judges(planned: list[PlannedScorer]) -> Judged:
    """What all of them together say of the reply."""
    async with asyncio.TaskGroup() as batches:
        board = Scoreboard(planned, batches, passing_threshold=0.7)
    return await board.judge(CASE, REPLY, (REPLY,))


def sequence_of(*said: str | ModelReply) -> Callable[[Call], object]:
    """A model that says these, one after the other."""
    return lambda call: speak_openai(said[min(call.number, len(said)) - 1])(call)


async def kind_of(planned: PlannedScorer) -> str:
    """The kind of error that judging ends in; empty: there is a verdict."""
    try:
        await run_scorer(planned, CASE, REPLY)
    except JudgeError as error:
        return error.kind
    return ""
