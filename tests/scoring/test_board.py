"""When verdicts are given: at once where no scorer waits for anything, side by side where one does."""

from __future__ import annotations

import asyncio

import pytest

from cortex_eval.core import Case, Reply, Score
from cortex_eval.scoring import PlannedScorer, Scoreboard, plan_scorer


class Waits:
    async def score(self, case: Case, reply: Reply) -> Score:
        await asyncio.sleep(0)
        return Score(name="waits", value=1.0)


class LooksThrough:
    async def score(self, case: Case, reply: Reply) -> Score:
        return Score(name="looks", value=float(len([word async for word in self._words()]) > 0))

    async def _words(self):
        yield "one"


class Holds:
    async def score(self, case: Case, reply: Reply) -> Score:
        async with asyncio.Lock():
            return Score(name="holds", value=1.0)


class AtOnce:
    async def score(self, case: Case, reply: Reply) -> Score:
        return Score(name="at once", value=1.0)


@pytest.mark.parametrize("scorer", [Waits(), LooksThrough(), Holds(), "relevance"])
def test_a_scorer_that_awaits_anything_or_works_in_batches_may_wait(scorer) -> None:
    assert not plan_scorer(scorer).never_waits


@pytest.mark.parametrize("scorer", [AtOnce(), "contains", "exact", "accuracy", "safety", "performance"])
def test_a_scorer_without_an_await_never_waits(scorer) -> None:
    assert plan_scorer(scorer).never_waits


def test_a_plain_function_may_be_async_and_is_taken_for_one_that_waits() -> None:
    assert not plan_scorer(lambda case, reply: True, name="mine").never_waits


async def tasks_for(planned: PlannedScorer, replies: int) -> tuple[int, list[int]]:
    """How many tasks that many verdicts took, and the order in which they were given."""
    given: list[int] = []

    async def score(number: int) -> None:
        await planned.scorer.score(Case.of("?", id="1"), Reply())  # type: ignore[union-attr]
        given.append(number)

    async with asyncio.TaskGroup() as group:
        board = Scoreboard([planned], group, passing_threshold=0.7)
        before = len(asyncio.all_tasks())
        for number in range(replies):
            board.soon(score, number)
        made = len(asyncio.all_tasks()) - before
    return made, given


async def test_one_task_gives_all_verdicts_that_need_no_waiting() -> None:
    assert await tasks_for(plan_scorer(AtOnce()), 5) == (1, [0, 1, 2, 3, 4])


async def test_verdicts_that_wait_wait_side_by_side() -> None:
    made, given = await tasks_for(plan_scorer(Waits()), 5)

    assert made == 5
    assert sorted(given) == [0, 1, 2, 3, 4]


async def test_a_later_reply_is_scored_too() -> None:
    given: list[int] = []

    async def score(number: int) -> None:
        given.append(number)

    async with asyncio.TaskGroup() as group:
        board = Scoreboard([plan_scorer(AtOnce())], group, passing_threshold=0.7)
        board.soon(score, 1)
        await asyncio.sleep(0.01)
        board.soon(score, 2)

    assert given == [1, 2]
