"""A judge's mean corrected by what people say of some items: prediction-powered inference."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import NamedTuple

from cortex_eval.stats.uncertainty import Z_95


class Corrected(NamedTuple):
    """What people would give all items on average, as far as a judge and some labels tell."""

    value: float
    low: float
    high: float
    """95 % interval."""
    bias: float
    """The judge's mean minus people's, where both are known; weighted when items were drawn with probabilities."""
    weight: float
    """How far the judge is relied on; 1: wholly, 0: not at all, which leaves people's own mean."""
    labelled: int
    unlabelled: int


def ppi_mean(
    people: Sequence[float],
    judged: Sequence[float],
    unlabelled: Sequence[float],
    *,
    weight: float | None = 1.0,
    clusters: Sequence[Hashable] | None = None,
    unlabelled_clusters: Sequence[Hashable] | None = None,
) -> Corrected | None:
    """The mean of the judge on items without a label, less its bias on those with one.

    `people` and `judged` speak of the same items, drawn at random; values lie in 0..1. `weight=None` takes the weight
    that makes the interval narrowest. None below two labelled or two other items.
    """
    n, rest = len(people), len(unlabelled)
    if n < 2 or rest < 2:
        return None
    if weight is None:
        weight = _best_weight(people, judged, unlabelled)
    residuals = [real - weight * said for real, said in zip(people, judged, strict=True)]
    # Angelopoulos, Bates, Fannjiang, Jordan & Zrnic 2023, Science 382, "Prediction-powered inference", algorithm 1;
    # with a weight: Angelopoulos, Duchi & Zrnic 2023, "PPI++", eq. 4.
    value = weight * _mean(unlabelled) + _mean(residuals)
    variance = weight**2 * _variance(unlabelled, unlabelled_clusters) + _variance(residuals, clusters)
    return _corrected(value, math.sqrt(variance), people, judged, weight, rest, residuals)


def ppi_mean_of_drawn(
    judged: Sequence[float],
    people: Sequence[float | None],
    probabilities: Sequence[float],
    *,
    clusters: Sequence[Hashable] | None = None,
) -> Corrected | None:
    """The same when item i got a label with probability `probabilities[i]`: all items, None where there is no label.

    None below two labels, or two items.
    """
    # Horvitz & Thompson 1952; as an estimator with a judge: Zrnic & Candès 2024, "Active statistical inference", eq. 2.
    values = [
        said if real is None else said + (real - said) / share
        for said, real, share in zip(judged, people, probabilities, strict=True)
    ]
    known = [
        (said, real, share) for said, real, share in zip(judged, people, probabilities, strict=True) if real is not None
    ]
    if len(known) < 2 or len(values) < 2:
        return None
    assert all(0 < share <= 1 for *_, share in known), "what was drawn had a chance to be drawn"
    shares = math.fsum(1 / share for *_, share in known)
    bias = math.fsum((said - real) / share for said, real, share in known) / shares
    error = math.sqrt(_variance(values, clusters))
    residuals = [real - said for said, real, _ in known]
    found = _corrected(
        _mean(values),
        error,
        [each[1] for each in known],
        [each[0] for each in known],
        1.0,
        len(values) - len(known),
        residuals,
    )
    return found._replace(bias=bias)


def _corrected(
    value: float,
    error: float,
    people: Sequence[float],
    judged: Sequence[float],
    weight: float,
    rest: int,
    residuals: Sequence[float],
) -> Corrected:
    half = Z_95 * error
    if max(residuals) - min(residuals) < 1e-12:
        # Never disagreeing on n items does not prove that they never would: at most 1 − 0.05^(1/n) of the items are
        # otherwise (Hanley & Lippman-Hand 1983), by at most 1.
        half = math.hypot(half, 1 - 0.05 ** (1 / len(residuals)))
    bias = _mean([said - real for said, real in zip(judged, people, strict=True)])
    low, high = max(0.0, value - half), min(1.0, value + half)
    value = min(1.0, max(0.0, value))
    return Corrected(value, min(low, value), max(high, value), bias, weight, len(people), rest)


def _best_weight(people: Sequence[float], judged: Sequence[float], unlabelled: Sequence[float]) -> float:
    """Angelopoulos, Duchi & Zrnic 2023, "PPI++", example 6.1, kept within 0 and 1."""
    n, rest = len(people), len(unlabelled)
    mean_people, mean_judged = _mean(people), _mean(judged)
    together = math.fsum(
        (real - mean_people) * (said - mean_judged) for real, said in zip(people, judged, strict=True)
    ) / (n - 1)
    everything = [*judged, *unlabelled]
    spread = _variance(everything, None) * len(everything)
    return min(1.0, max(0.0, together / ((1 + n / rest) * spread))) if spread > 0 else 0.0


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _variance(values: Sequence[float], clusters: Sequence[Hashable] | None) -> float:
    """Of the mean; with clusters it is robust to what they share (Liang & Zeger 1986)."""
    mean, n = _mean(values), len(values)
    deviations = [each - mean for each in values]
    if clusters is not None:
        sums: dict[Hashable, float] = {}
        for cluster, each in zip(clusters, deviations, strict=True):
            sums[cluster] = sums.get(cluster, 0.0) + each
        deviations = list(sums.values())
    groups = len(deviations)
    if groups < 2:
        return 0.25  # a single cluster: its spread is unknown, and no mean within 0..1 varies more
    return groups / (groups - 1) * math.fsum(each * each for each in deviations) / (n * n)
