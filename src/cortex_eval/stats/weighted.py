"""How sure a weighted mean is: a sample whose parts stand for different shares of the whole."""

from __future__ import annotations

import math
from collections.abc import Sequence

from cortex_eval.stats.uncertainty import (
    BOOTSTRAP_LIMIT,
    EQUAL_WITHIN,
    RESAMPLES,
    Z_95,
    Estimate,
    Interval,
    Method,
    all_equal_interval,
    design_effect,
    widened,
    wilson,
)


def kish_n(weights: Sequence[float]) -> float:
    """So many equally weighted values would be as informative: (Σw)² / Σw² (Kish 1965, §11.7); 0 of nothing."""
    squares = math.fsum(weight * weight for weight in weights)
    return math.fsum(weights) ** 2 / squares if squares > 0 else 0.0


def weighted_mean(values: Sequence[float], weights: Sequence[float]) -> float | None:
    """Σwx / Σw; None when nothing has a weight."""
    total = math.fsum(weights)
    if total <= 0:
        return None
    return math.fsum(value * weight for value, weight in zip(values, weights, strict=True)) / total


def weighted_estimate(
    values: Sequence[float],
    weights: Sequence[float],
    clusters: Sequence[int] | None = None,
    *,
    bounded: bool = True,
    seed: int = 0,
) -> Estimate:
    """The weighted mean of these values with its 95 % interval, which weights and clusters make wider.

    Rates: Wilson on Kish's effective n over the design effect of the clusters. Other means: bootstrap over whole
    clusters, and above `BOOTSTRAP_LIMIT` of them the linearised variance of the ratio. That the sample was drawn part
    by part would make the truth a little narrower; what is given errs on the side of caution.
    """
    mean = weighted_mean(values, weights)
    if mean is None:
        return Estimate(
            mean=None, low=None, high=None, n=0, effective_n=None, method="undefined", note="nothing scored"
        )
    n, independent = len(values), len(values) if clusters is None else len(set(clusters))
    size = max(1.0, min(float(independent), kish_n(weights) / (design_effect(values, clusters) or n / independent)))
    method: Method
    if bounded and all(value in (0.0, 1.0) for value in values):
        interval, method = wilson(mean * n, n, effective_n=size), "wilson"
    elif bounded and (independent < 2 or max(values) - min(values) <= EQUAL_WITHIN):
        interval, method = all_equal_interval(mean, size), "all_equal"
    elif independent < 2:
        interval, method = None, "undefined"
    else:
        sums = _cluster_parts(values, weights, clusters)
        is_small = independent <= BOOTSTRAP_LIMIT
        interval, method = (_resampled(sums, seed), "bootstrap") if is_small else (_linearised(sums, mean), "normal")
        interval = widened(interval, mean, max(2.0, min(independent, kish_n(weights))), is_resampled=is_small)
    if interval is not None and interval.high - interval.low < 1e-12:
        interval, method = (all_equal_interval(mean, size), "all_equal") if bounded else (None, "undefined")
    if interval is None:
        note = "one value, or all the same: the spread is unknown"
        return Estimate(mean=mean, low=None, high=None, n=n, effective_n=size, method="undefined", note=note)
    low, high = min(mean, interval.low), max(mean, interval.high)
    if bounded:
        low, high = max(0.0, low), min(1.0, high)
    return Estimate(mean=mean, low=low, high=high, n=n, effective_n=size, method=method, note="weighted")


def _cluster_parts(
    values: Sequence[float], weights: Sequence[float], clusters: Sequence[int] | None
) -> list[tuple[float, float]]:
    """Σwx and Σw of each cluster."""
    parts: dict[int, tuple[float, float]] = {}
    for place, (value, weight) in enumerate(zip(values, weights, strict=True)):
        cluster = place if clusters is None else clusters[place]
        total, size = parts.get(cluster, (0.0, 0.0))
        parts[cluster] = (total + weight * value, size + weight)
    return list(parts.values())


def _resampled(parts: Sequence[tuple[float, float]], seed: int) -> Interval:
    """The percentile interval over resamples of whole clusters, each a ratio (Efron & Tibshirani 1993, ch. 13)."""
    import numpy as np  # a fifth of a second that `import cortex_eval` must not pay

    sums, sizes = np.array(parts).T
    drawn = np.random.default_rng(seed).integers(0, len(parts), size=(RESAMPLES, len(parts)))
    low, high = np.percentile(sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1), [2.5, 97.5])
    return Interval(float(low), float(high))


def _linearised(parts: Sequence[tuple[float, float]], mean: float) -> Interval:
    """Mean ± 1.96 standard errors of the ratio Σwx / Σw over clusters (Taylor linearisation; Cochran 1977, ch. 6)."""
    groups, size = len(parts), math.fsum(size for _, size in parts)
    residuals = math.fsum((total - mean * part) ** 2 for total, part in parts)
    half = Z_95 * math.sqrt(groups / (groups - 1) * residuals) / size
    return Interval(mean - half, mean + half)
