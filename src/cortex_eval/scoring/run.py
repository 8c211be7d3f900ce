"""Calls scorers: one reply at a time or in batches, with every foreign failure turned into a JudgeError."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple, cast, get_args

from cortex_eval.core import (
    Case,
    Direction,
    JudgeError,
    Reply,
    Score,
    Source,
    StorageError,
    TargetError,
    Unavailable,
    place_of,
    short_repr,
    shorten,
    to_json,
)
from cortex_eval.net import is_cancelled
from cortex_eval.scoring.base import BatchScorer, CaseScorer, PlannedScorer, Scorer
from cortex_eval.scoring.combine import PASSING_THRESHOLD, ROUNDING

BATCH = 64
LARGEST = 2**63
"""Of whole numbers that JSON holds exactly."""
DIRECTIONS: tuple[str, ...] = get_args(Direction)
SOURCES: tuple[str, ...] = get_args(Source)


async def run_scorer(
    planned: PlannedScorer,
    case: Case,
    reply: Reply | Sequence[Reply],
    *,
    passing_threshold: float = PASSING_THRESHOLD,
) -> Score:
    """The checked score of one reply, or of all replies of a conversation for a scorer of level "case".

    It carries the planned name, level, version and fingerprint, and whether it passed. JudgeError when the scorer
    raises anything or gives back what is no score.
    """
    scorer = planned.scorer
    try:
        if planned.level == "case":
            replies = (reply,) if isinstance(reply, Reply) else reply
            score = await cast("CaseScorer", scorer).score_case(case, replies)
        elif hasattr(scorer, "score"):
            score = await cast("Scorer", scorer).score(case, cast("Reply", reply))
        else:
            pairs = [(case, cast("Reply", reply))]
            score = (await asyncio.to_thread(cast("BatchScorer", scorer).score_batch, pairs))[0]
    except (JudgeError, StorageError, Unavailable):  # the store's trouble is not the scorer's, nor is an empty purse
        raise
    except (Exception, SystemExit, asyncio.CancelledError) as error:  # foreign code: a plugin may raise anything
        if isinstance(error, asyncio.CancelledError) and is_cancelled():
            raise
        raise _as_judge_error(planned, error) from error
    return check_score(planned, score, passing_threshold=passing_threshold)


def check_score(planned: PlannedScorer, score: object, *, passing_threshold: float = PASSING_THRESHOLD) -> Score:
    """The score as it is stored: in range, named as planned, passed or not; JudgeError when it is no score."""
    if not isinstance(score, Score):
        raise _bad_score(planned, f"gave back {short_repr(score)}, which is not a Score")
    value, measure, passed = score.value, score.measure, score.passed
    if value is not None:
        value = _checked_value(planned, value)
    if measure is not None:
        measure = _checked_measure(planned, measure)
    if passed is not None and passed is not True and passed is not False:
        raise _bad_score(planned, f"says of passing {short_repr(passed)}, which is neither True nor False")
    if score.direction not in DIRECTIONS or score.source not in SOURCES:
        found = f"{short_repr(score.direction)} and {short_repr(score.source)}"
        raise _bad_score(planned, f"has the direction and source {found}; there are {DIRECTIONS} and {SOURCES}")
    if score.evidence is not None or not _is_ascii(score.reason) or not _is_ascii(score.unit):
        if not isinstance(score.reason, str) or not isinstance(score.unit, str):
            raise _bad_score(
                planned, f"gave a reason or unit that is no text: {short_repr((score.reason, score.unit))}"
            )
        try:
            to_json([score.reason, score.unit, score.evidence])
        except TypeError as error:
            raise _bad_score(planned, f"gave a reason or evidence that JSON cannot hold: {error}") from error
    if passed is None and value is not None:
        threshold = planned.threshold
        passed = value >= (passing_threshold if threshold is None else threshold) - ROUNDING
    level, version, fingerprint = planned.stamp
    return Score(
        name=planned.name,
        value=value,
        passed=passed,
        reason=score.reason,
        evidence=score.evidence,
        measure=measure,
        unit=score.unit,
        direction=score.direction,
        level=level,
        source=score.source,
        version=version,
        fingerprint=fingerprint,
    )


class _Waiting(NamedTuple):
    case: Case
    reply: Reply
    answer: asyncio.Future[Score]


class Batcher:
    """Gathers replies for a scorer that takes many at once, and runs it in a thread, one batch at a time.

    The first reply starts a batch at once; those that come while it runs form the next one, up to 64 together. The
    work lives in the caller's task group: leaving the group waits for it, cancelling the group cancels the waiters.
    """

    def __init__(
        self, planned: PlannedScorer, group: asyncio.TaskGroup, *, passing_threshold: float = PASSING_THRESHOLD
    ) -> None:
        self._planned = planned
        self._group = group
        self._passing_threshold = passing_threshold
        self._queue: deque[_Waiting] = deque()
        self._is_running = False

    async def score(self, case: Case, reply: Reply) -> Score:
        """The checked score of one reply; JudgeError as in `run_scorer`."""
        answer: asyncio.Future[Score] = asyncio.get_running_loop().create_future()
        self._queue.append(_Waiting(case, reply, answer))
        if not self._is_running:
            self._is_running = True
            self._group.create_task(self._work(), name=f"batches of {self._planned.name}")
        return await answer

    async def _work(self) -> None:
        batch: list[_Waiting] = []
        try:
            while batch := self._next_batch():
                await self._run(batch)
        finally:
            self._is_running = False
            for waiting in (*batch, *self._queue):  # only when this task was cancelled: nobody is left waiting
                waiting.answer.cancel()
            self._queue.clear()

    def _next_batch(self) -> list[_Waiting]:
        batch: list[_Waiting] = []
        while self._queue and len(batch) < BATCH:
            waiting = self._queue.popleft()
            if not waiting.answer.done():  # its caller may have been cancelled
                batch.append(waiting)
        return batch

    async def _run(self, batch: list[_Waiting]) -> None:
        try:
            scores = await asyncio.to_thread(self._score_batch, [(each.case, each.reply) for each in batch])
        except JudgeError as error:
            if len(batch) == 1:
                _answer(batch[0], error)
                return
            for waiting in batch:  # one by one, so that one bad reply does not cost the others their score
                await self._run([waiting])
            return
        for waiting, score in zip(batch, scores, strict=True):
            try:
                checked = check_score(self._planned, score, passing_threshold=self._passing_threshold)
            except JudgeError as error:
                _answer(waiting, error)
            else:
                _answer(waiting, checked)

    def _score_batch(self, pairs: list[tuple[Case, Reply]]) -> list[Score]:
        try:
            scores = list(cast("BatchScorer", self._planned.scorer).score_batch(pairs))
        except (JudgeError, StorageError, Unavailable):
            raise
        except (Exception, SystemExit, asyncio.CancelledError) as error:  # as above; nobody cancels a thread
            raise _as_judge_error(self._planned, error) from error
        if len(scores) != len(pairs):
            raise _bad_score(self._planned, f"gave {len(scores)} scores for {len(pairs)} replies")
        return scores


def _answer(waiting: _Waiting, outcome: Score | JudgeError) -> None:
    if waiting.answer.done():
        return
    if isinstance(outcome, Score):
        waiting.answer.set_result(outcome)
    else:
        waiting.answer.set_exception(outcome)


def _is_ascii(text: object) -> bool:
    """Then JSON can hold it."""
    return isinstance(text, str) and text.isascii()


def _checked_value(planned: PlannedScorer, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not -ROUNDING <= value <= 1 + ROUNDING:
        raise _bad_score(planned, f"gave the value {short_repr(value)}; a value is a number from 0 to 1, or None")
    return min(1.0, max(0.0, float(value)))


def _checked_measure(planned: PlannedScorer, measure: object) -> float:
    """A plain number, also of one that only looks like it, such as numpy's: no file could hold that."""
    with suppress(OverflowError):
        if isinstance(measure, int | float) and math.isfinite(plain := float(measure)):
            return measure if type(measure) is int and abs(measure) < LARGEST else plain
    raise _bad_score(planned, f"measured {short_repr(measure)}, which is not a number")


def _as_judge_error(planned: PlannedScorer, error: BaseException) -> JudgeError:
    kind = error.kind if isinstance(error, TargetError) else "crashed"
    text = shorten(str(error)) or "no message"
    place = place_of(error)
    where = f" ({place})" if place else ""
    return JudgeError(f"The scorer {planned.name!r} raised {type(error).__name__}: {text}{where}", kind=kind)


def _bad_score(planned: PlannedScorer, what: str) -> JudgeError:
    return JudgeError(f"The scorer {planned.name!r} {shorten(what)}.", kind="bad_score")
