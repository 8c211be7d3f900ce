"""All scorers of a plan at work on one reply."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cortex_eval.core import Case, Failure, JudgeError, Reply, Score, State, to_json
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


class Scoreboard:
    """Scores replies with every scorer of a plan; its batches live in the caller's task group."""

    def __init__(self, planned: Sequence[PlannedScorer], group: asyncio.TaskGroup, *, passing_threshold: float) -> None:
        self._planned = planned
        self._passing_threshold = passing_threshold
        self._by_turn = [each for each in planned if each.level == "turn"]
        self._by_case = [each for each in planned if each.level == "case"]
        self._batchers = {
            each.name: Batcher(each, group, passing_threshold=passing_threshold)
            for each in self._by_turn
            if hasattr(each.scorer, "score_batch")
        }

    async def judge(self, case: Case, reply: Reply, conversation: Sequence[Reply] | None) -> Judged:
        """The verdict on the reply to the turn that `case` stands at.

        `conversation` holds all replies when this is the last turn: scorers of whole conversations speak then.
        """
        scores: dict[str, Score] = {}
        failed: dict[str, Failure] = {}
        for planned in self._by_turn:
            try:
                scores[planned.name] = await self._score(planned, case, reply)
            except JudgeError as error:
                failed[planned.name] = Failure(error.kind, str(error))
        for planned in self._by_case if conversation is not None else ():
            try:
                scores[planned.name] = await run_scorer(
                    planned, case, conversation or (), passing_threshold=self._passing_threshold
                )
            except JudgeError as error:
                failed[planned.name] = Failure(error.kind, str(error))
        verdict = combine(scores, self._planned, passing_threshold=self._passing_threshold, failed=failed)
        return Judged(
            state_of(verdict, failed),
            verdict.overall,
            verdict.passed,
            scores_to_json(scores, failed),
            next(iter(failed.values()), None),
        )

    async def _score(self, planned: PlannedScorer, case: Case, reply: Reply) -> Score:
        batcher = self._batchers.get(planned.name)
        if batcher is not None:
            return await batcher.score(case, reply)
        return await run_scorer(planned, case, reply, passing_threshold=self._passing_threshold)


def scores_to_json(scores: Mapping[str, Score], failed: Mapping[str, Failure]) -> bytes:
    """Scores by name as they are stored; a scorer that gave no answer stands there with its error."""
    errors = {name: {"error": {"kind": each.kind, "message": each.message}} for name, each in failed.items()}
    return to_json({**scores, **errors})
