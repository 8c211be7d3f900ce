"""Many scores of one reply to one verdict."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from cortex_eval.core import InputError, Score, State, short_repr
from cortex_eval.scoring.base import PlannedScorer

PASSING_THRESHOLD = 0.7
"""Seed 000's."""
ROUNDING = 1e-9
"""0.4·0.7 + 0.6·0.7 is a hair under 0.7, and passes at 0.7."""


class Verdict(NamedTuple):
    """What all scores together say of one reply."""

    overall: float | None
    """The weighted mean, 0..1; None: a scorer gave no answer, or none had anything to say."""
    passed: bool | None
    """None: not known after an error, and not asked when nothing was scored."""
    reason: str


class Weights(NamedTuple):
    """Weights that sum to 1, and what was done to make them so."""

    weights: dict[str, float]
    note: str
    """Empty when they did so already."""


def combine(
    scores: Mapping[str, Score],
    planned: Sequence[PlannedScorer],
    *,
    passing_threshold: float = PASSING_THRESHOLD,
    failed: Collection[str] = (),
) -> Verdict:
    """The verdict on one reply from its scores by name.

    - `failed` names the scorers that gave no answer. If one of them has a weight or is critical there is no overall
      score and no verdict: what it would have said is not known, and the others must not speak for it.
    - A scorer whose score is None or missing does not apply here; its weight goes to the others in proportion.
    - A critical scorer that fails, fails the case, whatever the overall score and also with weight 0.
    - When nothing with a weight applies, `overall` is None. `passed` is then True only if a critical scorer applied
      and none failed, and None otherwise: a reply that nobody judged neither passes nor fails, and rates leave it out.
    """
    missing = [each.name for each in planned if each.name in failed and (each.weight > 0 or each.critical)]
    if missing:
        return Verdict(None, None, f"No verdict: {', '.join(missing)} gave no answer.")
    applying = [(each, scores[each.name]) for each in planned if _applies(scores.get(each.name))]
    overall = _weighted_mean([(each.weight, score.value) for each, score in applying if score.value is not None])
    critical = [(each, score) for each, score in applying if each.critical]
    broken = [each.name for each, score in critical if not _passes(each, score, passing_threshold)]
    if broken:
        return Verdict(overall, False, f"Failed: {', '.join(broken)} is critical and did not pass.")
    if overall is None:
        if critical:
            return Verdict(None, True, "Passed: every critical scorer passed, and none with a weight applies.")
        return Verdict(None, None, "No scorer applies.")
    passed = overall >= passing_threshold - ROUNDING
    word, sign = ("Passed", "at or above") if passed else ("Failed", "below")
    return Verdict(overall, passed, f"{word}: {overall:.3f} is {sign} {passing_threshold:g}.")


def state_of(verdict: Verdict, failed: Collection[str] = ()) -> State:
    """The state of a result that was scored.

    `error_judge` when the verdict is missing because a scorer gave no answer. A reply to which no scorer applies (a
    turn on which nothing was expected) was played without a complaint: its state is `passed` while its `passed` stays
    None, so that it counts in no rate.
    """
    if verdict.passed is None:
        return "error_judge" if failed else "passed"
    return "passed" if verdict.passed else "failed"


def check_weights(weights: Mapping[str, float]) -> Weights:
    """The weights scaled to sum to 1; InputError when one is negative or not a number, or when all are 0."""
    for name, weight in weights.items():
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 <= weight < math.inf:
            raise InputError(f"metric_weights.{name} must be a number of 0 or more, not {short_repr(weight)}.")
    total = math.fsum(weights.values())
    if total <= 0:
        raise InputError(f"metric_weights sum to {total:g}. At least one weight must be more than 0.")
    if abs(total - 1) <= ROUNDING:
        return Weights(dict(weights), "")
    scaled = {name: weight / total for name, weight in weights.items()}
    shown = ", ".join(f"{name} {weight:.3g}" for name, weight in scaled.items())
    return Weights(scaled, f"metric_weights sum to {total:g}; they are used as {shown}.")


def check_passing_threshold(value: float) -> float:
    """The threshold, if it is one; InputError with the allowed range otherwise."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InputError(f"passing_threshold must be a number from 0 to 1, not {short_repr(value)}.")
    return float(value)


def _applies(score: Score | None) -> bool:
    return score is not None and (score.value is not None or score.passed is not None)


def _passes(planned: PlannedScorer, score: Score, passing_threshold: float) -> bool:
    if score.passed is not None:
        return score.passed
    threshold = passing_threshold if planned.threshold is None else planned.threshold
    return score.value is not None and score.value >= threshold - ROUNDING


def _weighted_mean(pairs: Sequence[tuple[float, float]]) -> float | None:
    total = math.fsum(weight for weight, _ in pairs)
    if total <= 0:
        return None
    return min(1.0, math.fsum(weight / total * value for weight, value in pairs))
