"""How times to a reply spread: a histogram with edges that people can read."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, isqrt, log10
from typing import Literal

MOST_BINS = 20
"""About as many as a reader can tell apart."""
FEWEST_BINS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyBin:
    """Replies that took at least `low` and less than `high` ms; the last one holds all that took longer."""

    low: float
    high: float
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyWarning:
    """Replies that took longer than anybody should wait."""

    name: Literal["parse_time_ms", "total_time_ms"]
    limit_ms: float
    over: int
    """Replies above the limit."""
    of: int
    """Replies whose time is known."""
    share: float
    low: float
    high: float
    """The 95 % interval of the share."""
    worst_ms: float


def latency_bins(ordered: Sequence[float]) -> tuple[LatencyBin, ...]:
    """A histogram of these sorted times. The slowest hundredth may share the last bin: one outlier hides nothing."""
    if not ordered:
        return ()
    wanted = min(max(2 * isqrt(len(ordered)), FEWEST_BINS), MOST_BINS)
    nearly_last = ordered[len(ordered) - 1 - len(ordered) // 100]
    step = _step(max(nearly_last - ordered[0], nearly_last * 1e-3), wanted)  # far above what rounding can do
    high = (floor(ordered[0] / step) + 1) * step
    bins, done = [], 0
    while high <= nearly_last:
        place = bisect_left(ordered, high)
        bins.append(LatencyBin(low=_round(high - step), high=_round(high), count=place - done))
        high, done = high + step, place
    top = max(high, ordered[-1])
    bins.append(LatencyBin(low=_round(high - step), high=_round(top), count=len(ordered) - done))
    return tuple(bins)


def _step(width: float, bins: int) -> float:
    """The smallest of 1, 2, 2.5 and 5 times a power of ten that covers the width in so many steps."""
    if width <= 0:  # all took no time at all
        return 1.0
    rough = width / bins
    power: float = 10.0 ** floor(log10(rough))
    return next(each * power for each in (1.0, 2.0, 2.5, 5.0, 10.0) if each * power >= rough * 0.999)


def _round(value: float) -> float:
    return float(f"{value:.6g}")
