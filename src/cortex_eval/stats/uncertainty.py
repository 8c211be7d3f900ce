"""How sure a rate or a mean is: 95 % intervals that respect clusters and never pretend to certainty."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul
from typing import Literal, NamedTuple

Z_95 = 1.959963984540054
"""The normal quantile at 0.975."""
BOOTSTRAP_LIMIT = 500
"""Above so many clusters the bootstrap only repeats what the normal interval says, at a hundred times the price."""
RESAMPLES = 2_000
EQUAL_WITHIN = 1e-3
"""Scores of 0..1 no further apart than this are taken for equal: what parts them is rounding, not a difference."""

Method = Literal["wilson", "bootstrap", "normal", "all_equal", "undefined"]
_WILSON: Method = "wilson"


class Interval(NamedTuple):
    """A 95 % interval."""

    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A mean with what is known of its uncertainty; what is undefined is None."""

    mean: float | None
    low: float | None
    high: float | None
    n: int
    """Values that it rests on."""
    effective_n: float | None
    """So many independent values would be as informative."""
    method: Method
    note: str = ""

    @property
    def low_of_time(self) -> float | None:
        """The lower end where values are times, of which none is below zero; few of them may seem to allow it."""
        return None if self.low is None else max(0.0, self.low)


def wilson(passed: float, total: float, *, effective_n: float | None = None) -> Interval | None:
    """The interval of a rate; None when there is nothing to take a rate of.

    With clusters, `effective_n` (see there) stands in for `total` in the width.
    """
    if total <= 0:
        return None
    rate = passed / total
    n = total if effective_n is None else effective_n
    # Wilson 1927; holds for small n and rates near 0 and 1, unlike the normal interval.
    # With n / design effect for n it holds for clustered samples too (Dean & Pagano 2015).
    squared = Z_95 * Z_95
    centre = (rate + squared / (2 * n)) / (1 + squared / n)
    half = Z_95 / (1 + squared / n) * math.sqrt(rate * (1 - rate) / n + squared / (4 * n * n))
    return Interval(min(rate, max(0.0, centre - half)), max(rate, min(1.0, centre + half)))


def all_equal_interval(value: float, n: float) -> Interval | None:
    """The interval of a mean in 0..1 when all n values were the same: never of zero width.

    Values within `EQUAL_WITHIN` count as the same: resampling 1.0 and 0.9999998 would only show their rounding.
    With n equal values, at most 1 − 0.05^(1/n) of the mass can lie elsewhere (at 95 %; Hanley & Lippman-Hand 1983,
    of which the rule of three is the approximation), and the worst places for it are 0 and 1.
    """
    if n <= 0:
        return None
    elsewhere = 1 - 0.05 ** (1 / n)
    return Interval(value * (1 - elsewhere), value + (1 - value) * elsewhere)


def design_effect(values: Sequence[float], clusters: Sequence[int] | None) -> float | None:
    """Variance of the mean with these clusters over that of independent values (Kish 1965), at least 1.

    None when it cannot be estimated: one cluster only, or no spread at all.
    """
    if clusters is None:
        return 1.0
    n = len(values)
    sums, _ = _cluster_sums(values, clusters)
    if len(sums) == n:
        return 1.0
    spread = _sum_of_squares(values)
    if len(sums) < 2 or spread <= 0:
        return None
    independent = spread / ((n - 1) * n)
    return max(1.0, _cluster_variance(values, clusters) / independent)


def effective_n(values: Sequence[float], clusters: Sequence[int] | None) -> float:
    """n over the design effect; the number of clusters where that cannot be estimated, which is the cautious answer."""
    effect = design_effect(values, clusters)
    if effect is None:
        assert clusters is not None
        return float(len(set(clusters)))
    return max(1.0, len(values) / effect) if values else 0.0


def cluster_normal_interval(values: Sequence[float], clusters: Sequence[int] | None) -> Interval | None:
    """Mean ± 1.96 cluster-robust standard errors (Liang & Zeger 1986; Miller 2024, eq. 4); None below two clusters."""
    variance = _cluster_variance(values, clusters)
    if math.isnan(variance):
        return None
    mean = math.fsum(values) / len(values)
    half = Z_95 * math.sqrt(variance)
    return Interval(mean - half, mean + half)


def bootstrap_interval(values: Sequence[float], clusters: Sequence[int] | None, *, seed: int = 0) -> Interval | None:
    """The percentile interval of the mean over 2,000 resamples of whole clusters (Efron & Tibshirani 1993, ch. 13).

    The same values and seed give the same interval. None below two clusters.
    """
    import numpy as np  # a fifth of a second that large runs and `import cortex_eval` must not pay

    if clusters is None:
        sums, sizes = np.asarray(values, dtype=float), None
    else:
        by_cluster, counts = _cluster_sums(values, clusters)
        sums, sizes = np.array(list(by_cluster.values())), np.array(list(counts.values()), dtype=float)
        sizes = None if sizes.min() == sizes.max() == 1 else sizes
    count = len(sums)
    if count < 2:
        return None
    generator = np.random.default_rng(seed)
    block = max(1, 500_000 // count)  # keeps a resample block in the cache and the memory flat
    means = np.empty(RESAMPLES)
    for start in range(0, RESAMPLES, block):
        rows = min(block, RESAMPLES - start)
        drawn = generator.integers(0, count, size=(rows, count), dtype=np.uint16 if count < 65_536 else np.uint32)
        totals = sums[drawn].sum(axis=1)
        means[start : start + rows] = totals / (count if sizes is None else sizes[drawn].sum(axis=1))
    low, high = np.percentile(means, [2.5, 97.5])
    return Interval(float(low), float(high))


def widened(interval: Interval, mean: float, clusters: float, *, is_resampled: bool) -> Interval:
    """The interval as wide as so few clusters ask for: without it, the 95 % of five values hold 84 times in 100.

    Student's quantile with one degree of freedom less than there are clusters (Cameron & Miller 2015, VI.D); resamples
    of n values spread by (n − 1)/n too little as well (Hesterberg 2015, "What Teachers Should Know About the
    Bootstrap", 3.2). Above a few hundred clusters this changes nothing.
    """
    factor = _t_975(clusters - 1) / Z_95 * (math.sqrt(clusters / (clusters - 1)) if is_resampled else 1.0)
    return Interval(mean - factor * (mean - interval.low), mean + factor * (interval.high - mean))


def estimate(
    values: Sequence[float],
    clusters: Sequence[int] | None = None,
    *,
    bounded: bool = True,
    resample: bool = True,
    seed: int = 0,
) -> Estimate:
    """The mean of these values with its interval, by the method that suits them.

    `clusters` names the cluster of each value; None: every value is its own. `bounded`: the values lie in 0..1.
    `resample=False` takes the normal interval where the bootstrap would be taken (for parts of a large run).
    """
    n = len(values)
    if n == 0:
        return Estimate(
            mean=None, low=None, high=None, n=0, effective_n=None, method="undefined", note="nothing scored"
        )
    mean = math.fsum(values) / n
    independent = n if clusters is None else len(set(clusters))
    if independent == n:
        clusters = None
    if bounded and _is_binary(values):
        size = effective_n(values, clusters)
        interval, method, note = wilson(mean * n, n, effective_n=size), _WILSON, ""
    elif bounded and (independent < 2 or max(values) - min(values) <= EQUAL_WITHIN):
        size = float(independent)
        interval, method = all_equal_interval(mean, independent), "all_equal"
        note = "all values are equal" if independent > 1 else "a single independent value"
    else:
        size = effective_n(values, clusters)
        interval, method, note = _of_mean(values, clusters, independent, resample=resample, seed=seed)
        if interval is not None and interval.high - interval.low < 1e-12:
            interval = None
        if interval is None and bounded:  # the spread is within the clusters, and their means are the same
            interval, method = all_equal_interval(mean, independent), "all_equal"
            note = "all clusters have the same mean"
    if interval is None:
        note = "one value, or all the same: the spread is unknown"
        return Estimate(mean=mean, low=None, high=None, n=n, effective_n=size, method="undefined", note=note)
    low, high = min(mean, interval.low), max(mean, interval.high)
    if bounded:
        low, high = max(0.0, low), min(1.0, high)
    return Estimate(mean=mean, low=low, high=high, n=n, effective_n=size, method=method, note=note)


def percentile(ordered: Sequence[float], share: float) -> float | None:
    """The value below which this share of the sorted values lies; between two values, linearly interpolated."""
    if not ordered:
        return None
    place = (len(ordered) - 1) * share  # Hyndman & Fan 1996, type 7: the default of R and NumPy
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def _of_mean(
    values: Sequence[float], clusters: Sequence[int] | None, independent: int, *, resample: bool, seed: int
) -> tuple[Interval | None, Method, str]:
    if independent < 2 or values.count(values[0]) == len(values):
        return None, "undefined", ""
    method: Method
    if resample and independent <= BOOTSTRAP_LIMIT:
        found, method, note = bootstrap_interval(values, clusters, seed=seed), "bootstrap", ""
    else:
        note = f"normal interval: above {BOOTSTRAP_LIMIT:,} clusters the bootstrap gives the same at far greater cost"
        found, method = cluster_normal_interval(values, clusters), "normal"
    if found is not None:
        mean = math.fsum(values) / len(values)
        found = widened(found, mean, independent, is_resampled=method == "bootstrap")
    return found, method, note


def _t_975(freedom: float) -> float:
    """Student's quantile at 0.975, to within 0.02 (0.001 from ten degrees of freedom on)."""
    if freedom < 1.5:
        return 12.706204736
    if freedom < 2.5:
        return 4.302652730
    z, square = Z_95, Z_95 * Z_95
    # Abramowitz & Stegun 1964, 26.7.5
    first = (square + 1) * z / 4
    second = ((5 * square + 16) * square + 3) * z / 96
    third = (((3 * square + 19) * square + 17) * square - 15) * z / 384
    fourth = ((((79 * square + 776) * square + 1482) * square - 1920) * square - 945) * z / 92160
    return z + (first + (second + (third + fourth / freedom) / freedom) / freedom) / freedom


def _is_binary(values: Sequence[float]) -> bool:
    return values.count(0.0) + values.count(1.0) == len(values)


def _sum_of_squares(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values)
    residuals = [value - mean for value in values]
    return math.fsum(map(mul, residuals, residuals))


def _cluster_sums(values: Sequence[float], clusters: Sequence[int]) -> tuple[dict[int, float], dict[int, int]]:
    sums: dict[int, float] = {}
    counts: dict[int, int] = {}
    for value, cluster in zip(values, clusters, strict=True):
        sums[cluster] = sums.get(cluster, 0.0) + value
        counts[cluster] = counts.get(cluster, 0) + 1
    return sums, counts


def _cluster_variance(values: Sequence[float], clusters: Sequence[int] | None) -> float:
    """Cluster-robust variance of the mean, with the G/(G−1) correction; NaN below two clusters."""
    n = len(values)
    if clusters is None:
        return _sum_of_squares(values) / ((n - 1) * n) if n > 1 else math.nan
    sums, counts = _cluster_sums(values, clusters)
    groups = len(sums)
    if groups < 2:
        return math.nan
    mean = math.fsum(values) / n
    deviations = [total - counts[cluster] * mean for cluster, total in sums.items()]
    return groups / (groups - 1) * math.fsum(map(mul, deviations, deviations)) / (n * n)
