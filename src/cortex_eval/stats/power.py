"""What a comparison could see: how many pairs a drop needs, and the smallest drop that so many pairs would show."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import NamedTuple

from cortex_eval.stats.paired import ClusterSums

POWER = 0.8
"""How often a drop of the size that is asked for would be seen."""
_NEAR = 1e-6


def pairs_needed(*, fallen: float, risen: float, level: float, power: float = POWER) -> float:
    """Pairs of verdicts that show a drop, when these shares of them get worse and get better; infinite without a drop.

    McNemar's test, one-sided at `level`. Connor 1987, *Biometrics* 43, page 209 (normal approximation, unconditional
    on the number of pairs that differ).
    """
    differing, drop = fallen + risen, fallen - risen
    if drop <= 0:
        return math.inf
    normal = NormalDist()
    noise = normal.inv_cdf(1 - level) * math.sqrt(differing)
    spread = normal.inv_cdf(power) * math.sqrt(max(0.0, differing - drop * drop))
    return ((noise + spread) / drop) ** 2


def smallest_detectable_drop(pairs: int, *, rate: float, level: float, power: float = POWER) -> float | None:
    """The smallest fall of a pass rate that a comparison of so many cases with their earlier verdicts would show.

    None: not even a fall to 0 would. The two verdicts of a case are taken for independent, which is the worst that can
    be expected: the more two runs agree case by case, the smaller the drop that shows.
    """

    def shows(drop: float) -> bool:
        now = rate - drop
        return pairs >= pairs_needed(fallen=rate * (1 - now), risen=(1 - rate) * now, level=level, power=power)

    if rate <= 0 or 0.5**pairs > level:  # the smallest p-value that so many signs can have
        return None
    return _smallest(shows, rate)


class Noise(NamedTuple):
    """How much differences scatter: what a comparison can see depends on that, and not on the change it found."""

    variance: float
    """Of the clusters' differences about their mean, over the number of pairs: the design effect is in it."""
    step: float
    """The size of a difference where there is one: 1 for a single verdict."""
    per_cluster: float
    """Pairs in a cluster."""


def noise_of(differences: ClusterSums, *, largest: float | None = None) -> Noise | None:
    """What the differences say of their noise, the mean taken out; None when they say nothing.

    `largest` is the most that one pair can differ by (1 for shares): where no pair differed it stands in for their
    step, and whole clusters are taken to change together.
    """
    if not differences.sums:
        return None
    pairs, count = differences.pairs, len(differences.sums)
    square = math.fsum(each * each for each in differences.sums)
    size = math.fsum(map(abs, differences.sums))
    if size > 0:
        variance = max(0.0, square - math.fsum(differences.sums) ** 2 / count) / pairs
        return Noise(variance, square / size, pairs / count)
    return None if largest is None else Noise(0.0, largest * pairs / count, pairs / count)


def pairs_for(difference: float, noise: Noise, *, level: float, power: float = POWER) -> float:
    """Pairs that show a mean difference of this size, at this one-sided level.

    Connor's formula (1987) with the mean square of clusters' differences where it has the share of pairs that differ:
    for single verdicts the two are the same, and with clusters the design effect is in it (Donner & Klar 2000). A
    change of this size takes at least as many pairs that differ as it is large, even where fewer did so far.
    """
    normal = NormalDist()
    shift = difference * difference * noise.per_cluster
    square = max(noise.variance + shift, difference * noise.step)
    still = math.sqrt(square) * normal.inv_cdf(1 - level)
    changed = math.sqrt(max(0.0, square - shift)) * normal.inv_cdf(power)
    return ((still + changed) / difference) ** 2


def smallest_difference(
    pairs: int, noise: Noise, *, level: float, largest: float | None = None, power: float = POWER
) -> float | None:
    """The smallest mean difference that a comparison of so many pairs would show, at this one-sided level.

    None: not even the `largest` possible would, or there are so few clusters that nothing is significant.
    """
    if 0.5 ** (pairs / noise.per_cluster) > level:  # the smallest p-value that so many signs can have
        return None
    if largest is None:
        largest = math.sqrt(noise.variance) or 1.0
        while pairs < pairs_for(largest, noise, level=level, power=power):
            largest *= 2
    return _smallest(lambda each: pairs >= pairs_for(each, noise, level=level, power=power), largest)


def _smallest(shows: Callable[[float], bool], largest: float) -> float | None:
    """The smallest size that shows; None when not even the largest does."""
    if not shows(largest):
        return None
    low, high = 0.0, largest
    while high - low > _NEAR * max(1.0, largest):
        middle = (low + high) / 2
        low, high = (low, middle) if shows(middle) else (middle, high)
    return high
