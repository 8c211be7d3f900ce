"""Is a system as good in one language as in another? The same cases in both, pair by pair."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from statistics import fmean

from cortex_eval.analysis.rows import figure_of
from cortex_eval.core import Result
from cortex_eval.stats import estimate

OVERALL = "overall_score"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parity:
    """How far one language lies from another in one metric, over pairs of parallel cases."""

    metric: str
    base: str
    """Language of the cases that others are parallel to; empty when they name none."""
    other: str
    pairs: int
    unpaired: int
    """Parallel cases of which one side, or both, has no such score."""
    base_mean: float | None
    """Over the pairs only, as all figures here; None when there are none."""
    other_mean: float | None
    gap: float | None
    """Mean of other − base over the pairs: below 0, the other language is worse."""
    low: float | None
    """Of the 95 % interval, by cluster; None when the spread is not known."""
    high: float | None
    note: str = ""


@dataclass(slots=True)
class _Case:
    """What is kept of one case."""

    language: str
    parallel_of: str | None
    cluster: str
    values: dict[str, list[float]] = field(default_factory=dict)


def parity(results: Iterable[Result]) -> tuple[Parity, ...]:
    """The gap between languages in every metric, over the pairs that `parallel_of` makes.

    The results must have been read with their cases. Turns and repeats are averaged by case first. `overall_score` is
    the weighted score of the whole case; the others are the scorers.
    """
    cases = _collect(results)
    links = [(each.parallel_of, name) for name, each in cases.items() if each.parallel_of is not None]
    groups: dict[tuple[str, str], list[tuple[_Case | None, _Case]]] = {}
    for base_id, name in links:
        base, other = cases.get(base_id), cases[name]
        # A side that was not run has no language of its own here: its pairs are told under the empty name.
        groups.setdefault((base.language if base else "", other.language), []).append((base, other))
    return tuple(
        _parity(metric, *languages, pairs) for languages, pairs in sorted(groups.items()) for metric in _metrics(pairs)
    )


def _collect(results: Iterable[Result]) -> dict[str, _Case]:
    cases: dict[str, _Case] = {}
    for result in results:
        kept = cases.get(result.case_id)
        if kept is None:
            case = result.case
            kept = _Case(case.language or "", case.parallel_of, case.cluster_id or case.parallel_of or case.id)
            cases[result.case_id] = kept
        if result.overall is not None:
            kept.values.setdefault(OVERALL, []).append(result.overall)
        for name, score in result.scores.items():
            value = figure_of(score)
            if value is not None:
                kept.values.setdefault(name, []).append(value)
    return cases


def _metrics(pairs: Iterable[tuple[_Case | None, _Case]]) -> list[str]:
    """Every metric that either side has, the overall score first."""
    names = {name for pair in pairs for each in pair if each is not None for name in each.values}
    return sorted(names, key=lambda name: (name != OVERALL, name))


def _parity(metric: str, base: str, other: str, pairs: list[tuple[_Case | None, _Case]]) -> Parity:
    scored = [
        (fmean(first.values[metric]), fmean(second.values[metric]), first.cluster)
        for first, second in pairs
        if first is not None and metric in first.values and metric in second.values
    ]
    numbers: Mapping[str, int] = {name: i for i, name in enumerate(dict.fromkeys(each[2] for each in scored))}
    # A gap lies in −1..1. Brought to 0..1, gaps that are all the same get the interval that such scores get.
    halves = [(1 + second - first) / 2 for first, second, _ in scored]
    found = estimate(halves, [numbers[each[2]] for each in scored])
    return Parity(
        metric=metric,
        base=base,
        other=other,
        pairs=len(scored),
        unpaired=len(pairs) - len(scored),
        base_mean=fmean(each[0] for each in scored) if scored else None,
        other_mean=fmean(each[1] for each in scored) if scored else None,
        gap=_whole(found.mean),
        low=_whole(found.low),
        high=_whole(found.high),
        note=found.note,
    )


def _whole(half: float | None) -> float | None:
    return None if half is None else 2 * half - 1
