"""Whether the target's confidence can be trusted: calibration over a run, and how it spreads by category."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from cortex_eval.core import Result
from cortex_eval.stats import (
    brier,
    calibrated_ece,
    calibration_error,
    equal_mass_edges,
    percentile,
    reliability_bins,
    wilson,
)

SEED = 0
"""Of the simulation; it is stored with the figures."""
_HISTOGRAM = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfidenceBin:
    """One line of the reliability table."""

    low: float
    high: float
    n: int
    mean_confidence: float
    accuracy: float
    accuracy_low: float
    accuracy_high: float
    """The 95 % interval of the accuracy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfidenceSpread:
    """How confidence spreads over the results of one category."""

    n: int
    mean: float
    accuracy: float
    p10: float
    p50: float
    p90: float
    histogram: tuple[int, ...]
    """Counts in ten equal steps from 0 to 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Confidence:
    """How far the confidence that replies state agrees with how often they are right."""

    n: int
    left_out: int
    """Confidences outside 0..1, or of results that nobody could judge."""
    judged_by: Mapping[str, int]
    """Results by what right meant: `intent` (the expected intent was found) or `passed`."""
    mean: float
    accuracy: float
    brier: float
    ece: float
    ece_if_calibrated: float
    """What a perfectly calibrated system would show on average with these confidences."""
    ece_if_calibrated_high: float
    """What 19 of 20 such systems would not exceed: an ECE above it is no accident."""
    simulations: int
    seed: int
    bins: tuple[ConfidenceBin, ...]
    categories: Mapping[str, ConfidenceSpread]
    histogram: tuple[int, ...] = ()
    """Counts in ten equal steps from 0 to 1, over all results."""


class Confidences:
    """Notes the confidence of each result that goes by; only numbers are kept."""

    def __init__(self) -> None:
        self._stated: dict[str | None, array[float]] = {}
        self._correct: dict[str | None, array[int]] = {}
        self._judged_by: dict[str, int] = {}
        self._left_out = 0

    def note(self, row: Result, scores: Mapping[str, dict[str, Any]], reply: Mapping[str, Any] | None) -> None:
        """Add one result: right is the expected intent, or a pass where no intent was looked at."""
        confidence = None if reply is None else reply.get("confidence")
        if confidence is None:
            return
        intent = scores.get("intent", {}).get("value")
        is_right = row.passed if intent is None else intent >= 1.0
        if is_right is None or not isinstance(confidence, int | float) or not 0 <= confidence <= 1:
            self._left_out += 1
            return
        basis = "passed" if intent is None else "intent"
        self._judged_by[basis] = self._judged_by.get(basis, 0) + 1
        self._stated.setdefault(row.category, array("d")).append(confidence)
        self._correct.setdefault(row.category, array("b")).append(is_right)

    def summed(self, *, no_category: str = "(none)", seed: int = SEED) -> Confidence | None:
        """The figures of all results so far; None when no result states a confidence that can be judged."""
        stated = [value for values in self._stated.values() for value in values]
        correct = [bool(value) for values in self._correct.values() for value in values]
        if not stated:
            return None
        edges = equal_mass_edges(stated)
        bins = reliability_bins(stated, correct, edges)
        by_chance = calibrated_ece(stated, edges, seed=seed)
        score, error = brier(stated, correct), calibration_error(bins)
        assert score is not None, "there are values"
        assert error is not None, "there are values"
        assert by_chance is not None, "there are values"
        return Confidence(
            n=len(stated),
            left_out=self._left_out,
            judged_by=dict(self._judged_by),
            mean=sum(stated) / len(stated),
            accuracy=sum(correct) / len(correct),
            brier=score,
            ece=error,
            ece_if_calibrated=by_chance.mean,
            ece_if_calibrated_high=by_chance.high,
            simulations=by_chance.simulations,
            seed=seed,
            bins=tuple(_with_interval(*each) for each in bins),
            categories=self._spreads(no_category),
            histogram=_histogram(stated),
        )

    def _spreads(self, no_category: str) -> dict[str, ConfidenceSpread]:
        """By category; empty when no case states one."""
        if set(self._stated) == {None}:
            return {}
        named = sorted((each for each in self._stated if each is not None), key=str)
        order: list[str | None] = [*named, *([None] if None in self._stated else [])]
        return {each or no_category: _spread(self._stated[each], self._correct[each]) for each in order}


def confidence_of(results: Iterable[Result]) -> Confidence | None:
    """The same figures, of any results."""
    found = Confidences()
    for result in results:
        found.note(result, result.scores, orjson.loads(result.reply_json or b"{}"))
    return found.summed()


def _with_interval(low: float, high: float, n: int, mean_confidence: float, accuracy: float) -> ConfidenceBin:
    interval = wilson(accuracy * n, n)
    assert interval is not None, "a bin has values"
    return ConfidenceBin(
        low=low,
        high=high,
        n=n,
        mean_confidence=mean_confidence,
        accuracy=accuracy,
        accuracy_low=interval.low,
        accuracy_high=interval.high,
    )


def _spread(stated: array[float], correct: array[int]) -> ConfidenceSpread:
    ordered = sorted(stated)
    p10, p50, p90 = (percentile(ordered, share) or 0.0 for share in (0.1, 0.5, 0.9))  # None only of nothing
    return ConfidenceSpread(
        n=len(ordered),
        mean=sum(ordered) / len(ordered),
        accuracy=sum(correct) / len(correct),
        p10=p10,
        p50=p50,
        p90=p90,
        histogram=_histogram(ordered),
    )


def _histogram(stated: Iterable[float]) -> tuple[int, ...]:
    counts = [0] * _HISTOGRAM
    for value in stated:
        counts[min(_HISTOGRAM - 1, int(value * _HISTOGRAM))] += 1
    return tuple(counts)
