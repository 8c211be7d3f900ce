"""Weighted criteria, each judged on its own, as in HealthBench."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from cortex_eval.core import Case, Criterion, InputError, JudgeError, Level, Reply, Score, shorten, to_json
from cortex_eval.llm import Completion
from cortex_eval.scoring.base import scorers
from cortex_eval.scoring.injection import suspicion
from cortex_eval.scoring.judging import Given, ModelScorer, Question, evidence_of_several
from cortex_eval.scoring.jury import all_answers, all_given
from cortex_eval.scoring.prompt import conversation, shipped_prompt
from cortex_eval.scoring.verdict import JudgeVerdict, choice_schema, read_choice

MET = {"yes": 1.0, "no": 0.0}
FORM = '{"reason": "what decides it, in one to three sentences", "met": "yes" or "no"}'


@scorers.register("rubric")
@dataclass(kw_only=True)
class Rubric(ModelScorer):
    """Points of the criteria that are met, over all points that can be won; never below 0.

    The criteria are those of the case and of these settings. The whole conversation is shown, its last reply judged.
    """

    version: ClassVar[str] = "1"
    level: ClassVar[Level] = "case"

    criteria: tuple[Criterion, ...] = ()
    """For every case, beside the case's own; negative points are for what must not be there."""

    def __post_init__(self) -> None:
        for each in self.criteria:
            if not each.criterion.strip() or not math.isfinite(each.points) or each.points == 0:
                raise InputError(f"criteria: {shorten(each.criterion)!r} needs words, and points that are not 0.")

    @property
    def fingerprint(self) -> str:
        """Changes with the models, their parameters, the prompt and the criteria."""
        return to_json([self.identity(shipped_prompt("rubric")[0]), self.criteria], sort_keys=True).decode()

    async def score_case(self, case: Case, replies: Sequence[Reply]) -> Score:
        """The points of the last reply; None when there is no rubric, or none that could be won."""
        rubric = self._rubric(case)
        if not rubric:
            return Score(name="rubric", value=None, reason="The case has no rubric.")
        if not any(each.points > 0 for each in rubric):
            return Score(name="rubric", value=None, reason="The rubric has no positive points, so nothing can be won.")
        heard = await all_answers([self.ask(each, _read) for each in self.questions(case, replies)])
        return _to_score(rubric, heard, replies[-1])

    def characters(self, case: Case, replies: Sequence[Reply]) -> list[int]:
        """How much text a model would be told in each call for this score; empty: it would not be asked."""
        return self.characters_of(self.questions(case, replies))

    def questions(self, case: Case, replies: Sequence[Reply]) -> list[Question]:
        """One for each criterion."""
        said, schema = conversation(case, replies), choice_schema("met", tuple(MET))
        return [
            Question(shipped_prompt("rubric")[0], {"conversation": said, "criterion": each.criterion}, schema, FORM)
            for each in self._rubric(case)
        ]

    def _rubric(self, case: Case) -> tuple[Criterion, ...]:
        """What is asked of any turn, and of every conversation; each criterion once."""
        own = [each for turn in case.turns for each in turn.expected.rubric]
        return tuple({each.criterion: each for each in (*own, *self.criteria)}.values())


def points_won(points: Sequence[float], met: Sequence[bool]) -> float | None:
    """Points of what is met over the sum of positive points; may be negative. None when nothing could be won."""
    # Arora et al. 2025 (HealthBench), section 3: the score of one example, before it is clipped.
    possible = math.fsum(each for each in points if each > 0)
    if possible <= 0:
        return None
    return math.fsum(each for each, is_met in zip(points, met, strict=True) if is_met) / possible


def _read(answer: Completion) -> JudgeVerdict:
    return read_choice(answer.text, "met", MET, finish_reason=answer.finish_reason)


def _to_score(rubric: Sequence[Criterion], heard: Sequence[Given[JudgeVerdict] | JudgeError], reply: Reply) -> Score:
    given = all_given(heard)
    met = [each.verdict.value == 1 for each in given]
    won = points_won([each.points for each in rubric], met)
    assert won is not None, "a rubric without positive points is not judged"
    lost = [line for line, is_met in zip(rubric, met, strict=True) if is_met == (line.points < 0)]
    worst = max(lost, key=lambda each: abs(each.points), default=None)
    missed = f" Costliest: “{shorten(worst.criterion, 120)}” ({worst.points:+g})." if worst else ""
    return Score(
        name="rubric",
        value=min(1.0, max(0.0, won)),
        reason=f"{sum(met)} of {len(met)} criteria met, {won:.2f} of the points that could be won.{missed}",
        source="judge",
        measure=won,
        unit="of the points",
        evidence={
            **evidence_of_several([each.evidence for each in given]),
            **suspicion((reply,)),
            "criteria": [_shown(*each) for each in zip(rubric, given, met, strict=True)],
        },
    )


def _shown(line: Criterion, given: Given[JudgeVerdict], met: bool) -> dict[str, Any]:
    shown = {"criterion": line.criterion, "points": line.points, "met": met, "reason": given.verdict.reason}
    return shown | {key: given.evidence[key] for key in ("jury", "agreement") if key in given.evidence}
