"""Figures of a comparison with people, each with its interval and the items that it rests on."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from cortex_eval.stats import Confusion, estimate, wilson


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A number with its 95 % interval; what is undefined is None."""

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0


def shares_of(found: Confusion) -> dict[str, Figure]:
    """accuracy, precision, recall, specificity and f1, each with the items that it rests on."""
    parts = {
        "accuracy": (found.true_pass + found.true_fail, found.n),
        "precision": (found.true_pass, found.true_pass + found.false_pass),
        "recall": (found.true_pass, found.true_pass + found.false_fail),
        "specificity": (found.true_fail, found.true_fail + found.false_pass),
    }
    figures = {}
    for name, (part, whole) in parts.items():
        low, high = wilson(part, whole) or (None, None)
        figures[name] = Figure(value=part / whole if whole else None, low=low, high=high, n=whole)
    low, high = found.f1_interval or (None, None)
    figures["f1"] = Figure(value=found.f1, low=low, high=high, n=found.n)
    return figures


def mean_of(values: Sequence[float], clusters: Sequence[Hashable], bounded: bool = True) -> Figure:
    """The mean with its interval; items of one cluster are not independent."""
    numbers = {each: at for at, each in enumerate(dict.fromkeys(clusters))}
    places = None if clusters_of(clusters) is None else [numbers[each] for each in clusters]
    found = estimate(values, places, bounded=bounded)
    return Figure(value=found.mean, low=found.low, high=found.high, n=found.n)


def clusters_of(clusters: Sequence[Hashable]) -> Sequence[Hashable] | None:
    """The clusters; None when every item stands alone, or when they are not known."""
    return None if len(set(clusters)) == len(clusters) or None in clusters else clusters
