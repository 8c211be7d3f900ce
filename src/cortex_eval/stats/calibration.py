"""Whether stated confidences are true to life: Brier score, calibration error, and what chance alone would show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

BINS = 10
SMALLEST_BIN = 10
"""Fewer values than this say next to nothing of a rate: few values get fewer bins."""
_MOST_DRAWS = 20_000_000
_DRAWS_AT_ONCE = 2_000_000


class ReliabilityBin(NamedTuple):
    """Values of like confidence."""

    low: float
    high: float
    """The lowest and the highest confidence in it."""
    n: int
    mean_confidence: float
    accuracy: float


class CalibratedEce(NamedTuple):
    """The calibration error that a perfectly calibrated system shows by chance."""

    mean: float
    high: float
    """19 of 20 such systems show no more than this."""
    simulations: int


def brier(confidences: Sequence[float], correct: Sequence[bool]) -> float | None:
    """Mean squared distance between confidence and outcome (Brier 1950, for one class): 0 is best; None of nothing."""
    if not len(confidences):
        return None
    pairs = zip(confidences, correct, strict=True)
    return sum((confidence - outcome) ** 2 for confidence, outcome in pairs) / len(confidences)


def equal_mass_edges(confidences: Sequence[float], bins: int | None = None) -> list[float]:
    """Upper ends of bins that hold about as many values each; equal confidences stay together.

    Bins of equal mass are less biased than those of equal width (Nixon et al. 2019; Roelofs et al. 2022). Without a
    number of bins there are ten, or as many as leave ten values to each.
    """
    n = len(confidences)
    if not n:
        return []
    count = min(n, bins or max(1, min(BINS, n // SMALLEST_BIN)))
    ordered = sorted(confidences)
    return sorted({ordered[-(-n * place // count) - 1] for place in range(1, count + 1)})


def reliability_bins(
    confidences: Sequence[float], correct: Sequence[bool], upper_edges: Sequence[float]
) -> list[ReliabilityBin]:
    """The values by bin, each up to and with its upper edge; bins without values are left out."""
    import numpy as np  # see `import cortex_eval`

    values, outcomes = np.asarray(confidences, dtype=float), np.asarray(correct, dtype=float)
    places = np.searchsorted(np.asarray(upper_edges, dtype=float), values, side="left")
    found = []
    for place in range(len(upper_edges)):
        inside = places == place
        n = int(inside.sum())
        if n:
            mean, accuracy = float(values[inside].mean()), float(outcomes[inside].mean())
            found.append(ReliabilityBin(float(values[inside].min()), float(values[inside].max()), n, mean, accuracy))
    return found


def calibration_error(bins: Sequence[ReliabilityBin]) -> float | None:
    """ECE: the mean distance between confidence and accuracy, bins weighted by their values; None of nothing.

    Naeini et al. 2015; Guo et al. 2017, eq. 3.
    """
    total = sum(each.n for each in bins)
    if not total:
        return None
    return sum(each.n / total * abs(each.accuracy - each.mean_confidence) for each in bins)


def calibrated_ece(
    confidences: Sequence[float], upper_edges: Sequence[float], *, seed: int = 0, simulations: int = 1_000
) -> CalibratedEce | None:
    """The calibration error of a system that is right exactly as often as it says, with these confidences and bins.

    ECE is never below 0, so that chance alone makes it positive: at small n a good system shows 0.1 and more. The
    outcomes are drawn anew from the confidences (as in Vaicenavicius et al. 2019, consistency resampling); the same
    seed gives the same figures. Large n are drawn less often: their spread is small. None of nothing.
    """
    import numpy as np

    n = len(confidences)
    if not n:
        return None
    values = np.sort(np.asarray(confidences, dtype=float))
    places = np.searchsorted(np.asarray(upper_edges, dtype=float), values, side="left")
    starts = np.flatnonzero(np.r_[True, places[1:] != places[:-1]])
    stated = np.add.reduceat(values, starts)
    simulations = int(min(simulations, max(100, _MOST_DRAWS // n)))
    generator = np.random.default_rng(seed)
    errors = []
    at_once = max(1, _DRAWS_AT_ONCE // n)
    for begin in range(0, simulations, at_once):
        rows = min(at_once, simulations - begin)
        outcomes = (generator.random((rows, n)) < values).astype(np.float64)
        errors.append(np.abs(np.add.reduceat(outcomes, starts, axis=1) - stated).sum(axis=1) / n)
    shown = np.concatenate(errors)
    return CalibratedEce(float(shown.mean()), float(np.quantile(shown, 0.95)), simulations)
