"""What a comparison could see: how many pairs a drop needs, and the smallest drop that so many pairs would show."""

from __future__ import annotations

import math
from statistics import NormalDist

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

    if rate <= 0 or not shows(rate):
        return None
    low, high = 0.0, rate
    while high - low > _NEAR:
        middle = (low + high) / 2
        low, high = (low, middle) if shows(middle) else (middle, high)
    return high
