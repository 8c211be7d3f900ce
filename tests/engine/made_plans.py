"""Plans for the tests of the engine, and short ways to look at what came of them."""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from cortex_eval.config import Plan
from cortex_eval.core import Case, Reply, Score
from cortex_eval.datasets import Selection
from cortex_eval.net import Patience
from cortex_eval.scoring import PlannedScorer, plan_scorer
from cortex_eval.storage import Store
from cortex_eval.targets import Target, targets


def cases(count: int) -> list[Case]:
    return [Case.of(f"Question {n}", f"Answer {n}", id=str(n)) for n in range(count)]


def right(call: Any) -> dict[str, str]:
    """The scripted service's right answer to a question of `cases`."""
    return {"text": call.json["query"].replace("Question", "Answer")}


def chatbot(url: str) -> Target:
    return targets.build("chatbot", {"api_url": url})


@dataclass(frozen=True)
class Waits:
    """A scorer that does something before it speaks."""

    before: Callable[[Case, Reply], Awaitable[float]]

    async def score(self, case: Case, reply: Reply) -> Score:
        return Score(name="waits", value=await self.before(case, reply))


def waits(before: Callable[[Case, Reply], Awaitable[float]]) -> PlannedScorer:
    return PlannedScorer(name="waits", scorer=Waits(before), kind="waits")


def plan_for(
    target: Target | str,
    asked: Sequence[Case],
    *,
    scorers: Iterable[str | PlannedScorer] = ("exact",),
    timeout_s: float = 5.0,
    retries: int = 0,
    seed: int = 0,
    **fields: Any,
) -> Plan:
    """A plan against a target, or against the chatbot at this address."""
    return Plan(
        suite="suite",
        dataset=list(asked),
        target=chatbot(target) if isinstance(target, str) else target,
        target_name="bot",
        target_settings={"api_url": target} if isinstance(target, str) else {},
        scorers=tuple(each if isinstance(each, PlannedScorer) else plan_scorer(each) for each in scorers),
        patience=Patience(timeout_s=timeout_s, retries=retries, retry_delay_s=0.001),
        selection=Selection(seed=seed),
        **fields,
    )


def patient(plan: Plan, **given: Any) -> Plan:
    """The same plan with other patience."""
    return replace(plan, patience=replace(plan.patience, **given))


def rows(store: Store, columns: str = "ordinal, repeat, turn, attempt, state") -> list[tuple[Any, ...]]:
    """What is on disk, read by somebody else."""
    with closing(sqlite3.connect(store.path)) as connection:
        order = "run_no, ordinal, repeat, turn, attempt"
        return connection.execute(f"SELECT {columns} FROM cortex_results ORDER BY {order}").fetchall()


def states(store: Store, run_id: str) -> dict[str, str]:
    return {each.case_id: each.state for each in store.results.read(run_id)}
