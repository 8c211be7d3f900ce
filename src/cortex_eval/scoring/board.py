"""All scorers of a plan at work on one reply."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from cortex_eval.core import Case, Failure, JudgeError, Reply, Score, State, Unavailable, changed, to_json
from cortex_eval.scoring.base import PlannedScorer
from cortex_eval.scoring.combine import combine, state_of
from cortex_eval.scoring.run import Batcher, run_scorer


class Judged(NamedTuple):
    """What is kept of the scoring of one reply."""

    state: State
    overall: float | None
    passed: bool | None
    scores_json: bytes
    failure: Failure | None
    """The first scorer that gave no answer."""


class _Found(NamedTuple):
    """What scorers said so far."""

    scores: dict[str, Score]
    failed: dict[str, Failure]


class Scoreboard:
    """Scores replies with every scorer of a plan; its batches live in the caller's task group."""

    def __init__(self, planned: Sequence[PlannedScorer], group: asyncio.TaskGroup, *, passing_threshold: float) -> None:
        self._planned = planned
        self._passing_threshold = passing_threshold
        callers = [each for each in planned if hasattr(each.scorer, "open")]
        self._together = callers if len(callers) > 1 else []
        """Scorers that wait for somebody else: one alone gains nothing from a task of its own."""
        in_turn = [each for each in planned if each not in self._together]
        self._by_turn = [each for each in in_turn if each.level == "turn"]
        self._by_case = [each for each in in_turn if each.level == "case"]
        self._batchers = {
            each.name: Batcher(each, group, passing_threshold=passing_threshold)
            for each in self._by_turn
            if hasattr(each.scorer, "score_batch")
        }

        self._group = group
        self._never_waits = all(each.never_waits for each in planned)
        self._unscored: deque[Callable[[], Awaitable[None]]] = deque()

    def soon(self, score: Callable[..., Coroutine[Any, Any, None]], *of: Any) -> None:  # Any: what `score` takes
        """Have something scored by and by.

        Where no scorer waits for anything verdicts are there in one step, and one task gives all that are due.
        """
        if not self._never_waits:
            self._group.create_task(score(*of))
            return
        self._unscored.append(partial(score, *of))
        if len(self._unscored) == 1:
            self._group.create_task(self._score_all())

    async def _score_all(self) -> None:
        while self._unscored:
            await self._unscored.popleft()()

    async def judge(
        self, case: Case, reply: Reply, conversation: Sequence[Reply] | None, *, may_repeat: bool = False
    ) -> Judged:
        """The verdict on the reply to the turn that `case` stands at.

        `conversation` holds all replies when this is the last turn: scorers of whole conversations speak then. With
        `may_repeat`, judges may have been asked before, in a part of the run that was cut off: their scores say so.
        """
        found = _Found({}, {})
        for planned in self._by_turn:
            await self._score(planned, case, reply, found)
        for planned in self._by_case if conversation is not None else ():
            await self._score(planned, case, conversation or (), found)
        if self._together:
            await self._score_together(case, reply, conversation, found)
        scores, failed = (_marked(found.scores) if may_repeat else found.scores), found.failed
        verdict = combine(scores, self._planned, passing_threshold=self._passing_threshold, failed=failed)
        return Judged(
            state_of(verdict, failed),
            verdict.overall,
            verdict.passed,
            scores_to_json(scores, failed),
            next((failed[each.name] for each in self._planned if each.name in failed), None) if failed else None,
        )

    async def _score(self, planned: PlannedScorer, case: Case, reply: Reply | Sequence[Reply], found: _Found) -> None:
        """Add what one scorer says."""
        batcher = self._batchers.get(planned.name)
        try:
            if batcher is not None and isinstance(reply, Reply):
                score = await batcher.score(case, reply)
            else:
                score = await run_scorer(planned, case, reply, passing_threshold=self._passing_threshold)
            found.scores[planned.name] = score
        except JudgeError as error:
            found.failed[planned.name] = Failure(error.kind, str(error), error.attempts, error.evidence)

    async def _score_together(
        self, case: Case, reply: Reply, conversation: Sequence[Reply] | None, found: _Found
    ) -> None:
        """Scorers that wait for an answer wait at the same time.

        When nothing more can be asked, those that are asking still get their answers: they are paid for and kept.
        """
        stopped: list[Unavailable] = []

        async def score(planned: PlannedScorer, seen: Reply | Sequence[Reply]) -> None:
            try:
                await self._score(planned, case, seen, found)
            except Unavailable as reason:
                stopped.append(reason)

        try:
            async with asyncio.TaskGroup() as group:
                for planned in self._together:
                    if planned.level == "turn":
                        group.create_task(score(planned, reply))
                    elif conversation is not None:
                        group.create_task(score(planned, conversation))
        except (
            ExceptionGroup
        ) as errors:  # the store cannot be read, or a bug: whoever catches them looks for the plain one
            raise errors.exceptions[0] from None
        if stopped:
            raise stopped[0]


def _marked(scores: Mapping[str, Score]) -> dict[str, Score]:
    """Scores that say of the calls to judges that they may be repeats; a verdict that was kept took no call."""
    return {
        name: changed(score, evidence={**score.evidence, "may_repeat": True})
        if score.source == "judge" and isinstance(score.evidence, dict) and not score.evidence.get("cached")
        else score
        for name, score in scores.items()
    }


def scores_to_json(scores: Mapping[str, Score], failed: Mapping[str, Failure]) -> bytes:
    """Scores by name as they are stored; a scorer that gave no answer stands there with its error."""
    errors = {name: {"error": _told(each)} for name, each in failed.items()}
    return to_json({**scores, **errors})


def _told(failure: Failure) -> dict[str, Any]:  # Any: JSON
    told: dict[str, Any] = {"kind": failure.kind, "message": failure.message}
    if failure.attempts > 1:
        told["attempts"] = failure.attempts
    if failure.evidence is not None:
        told["evidence"] = failure.evidence
    return told
