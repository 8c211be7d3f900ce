"""When verdicts are given: at once where no scorer waits for anything, side by side where one does."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from cortex_eval.core import Case, JudgeError, Reply, Score
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


class GivesUp:
    def __init__(self, attempts: int) -> None:
        self.attempts = attempts

    async def score(self, case: Case, reply: Reply) -> Score:
        raise JudgeError("No verdict.", kind="unparseable", attempts=self.attempts)


class Judges:
    def __init__(self, **evidence: object) -> None:
        self.evidence = evidence

    async def score(self, case: Case, reply: Reply) -> Score:
        return Score(name="judges", value=1.0, source="judge", evidence=self.evidence)


async def judged_by(*planned: PlannedScorer, may_repeat: bool = False) -> dict[str, Any]:
    async with asyncio.TaskGroup() as group:
        board = Scoreboard(planned, group, passing_threshold=0.7)
        judged = await board.judge(Case.of("?", id="1").at(0), Reply(text="!"), None, may_repeat=may_repeat)
    return json.loads(judged.scores_json)


@pytest.mark.parametrize(("attempts", "told"), [(0, None), (1, None), (3, 3)])
async def test_a_judge_that_gave_up_says_how_often_it_asked_when_that_was_more_than_once(attempts, told) -> None:
    scores = await judged_by(plan_scorer(GivesUp(attempts), name="tone"))

    assert (scores["tone"]["error"]["kind"], scores["tone"]["error"].get("attempts")) == ("unparseable", told)


async def test_F03_calls_of_judges_that_may_be_repeats_are_marked_and_nothing_else_is() -> None:
    asked, kept, code = Judges(attempts=1, cached=False), Judges(attempts=1, cached=True), AtOnce()
    planned = [plan_scorer(each, name=name) for each, name in ((asked, "asked"), (kept, "kept"), (code, "code"))]

    plain, marked = await judged_by(*planned), await judged_by(*planned, may_repeat=True)

    assert marked.pop("asked")["evidence"] == {"attempts": 1, "cached": False, "may_repeat": True}
    assert plain.pop("asked")["evidence"] == {"attempts": 1, "cached": False}
    assert marked == plain
