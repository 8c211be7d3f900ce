"""Two runs, case by case: what differs by more than chance, what broke, what was mended, what cannot be relied on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from cortex_eval.analysis.cases import CaseFigures, same_cases
from cortex_eval.analysis.changes import BrokenCategory, CaseChange, Changes, History, Pair, case_changes
from cortex_eval.analysis.likeness import ALIKE, Unlike
from cortex_eval.analysis.repeats import Repeats, repeats_of
from cortex_eval.core import Direction
from cortex_eval.stats import (
    Alternative,
    ClusterSums,
    Interval,
    Noise,
    cluster_sums,
    difference_interval,
    holm,
    noise_of,
    pairs_for,
    sign_flip_test,
    smallest_difference,
)

CompareVerdict = Literal["better", "worse", "no difference seen", "may be chance", "undefined", "not compared"]
"""`no difference seen`: it is the same in every pair, or its interval lies within what is allowed on both sides.
One-sided, as gates ask, it only says that nothing is known to be worse. `not compared`: it was not scored in the same
way in both runs."""
CompareAlternative = Literal["two-sided", "worse"]
NO_CATEGORY = "(none)"
_UNBOUNDED = ("latency_ms",)
_NO_SCORES = ("latency_ms", "llm_usage_rate")
"""Measured of every reply, whether or not it was scored."""
_TOLERANCE = 1e-9
_OF_CATEGORIES = ("pass_rate", "overall_score")
"""By the first of these that was compared, categories are."""
_SHARES = Interval(-1.0, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedMetric:
    """One metric in two runs, over the pairs that both scored; what is undefined is None."""

    name: str
    direction: Direction
    """Which way is better."""
    a: float | None
    b: float | None
    """The means over the pairs."""
    diff: float | None
    """b − a."""
    low: float | None
    high: float | None
    """95 % interval of the difference, taken alone; None: the spread is not known."""
    p_value: float | None
    """Of the sign-flip permutation test over clusters."""
    adjusted_p: float | None
    """By Holm, over everything that was tested together."""
    verdict: CompareVerdict
    pairs: int
    """Turns that both runs scored; of `pass_rate` and `overall_score`, cases."""
    clusters: int
    differing: int
    """Clusters of which the two runs do not score the same."""
    only_a: int
    only_b: int
    """Scored in one of the runs only, though the case was in both."""
    worst: float | None
    best: float | None
    """The difference if those had gone as badly, or as well, as can be; None: without bounds, as for a latency."""
    smallest_detectable: float | None
    """A change for the worse of this size would be seen by a gate four times in five; None: none would."""
    more_cases_needed: int | None
    """Beyond these, to see one of `allowed`; 0: there are enough; None: not known, or nothing is allowed."""
    allowed: float | None = None
    """How much worse it may get."""
    noise: Noise | None = None
    """How much the differences scatter."""
    per_case: float = 1.0
    """Pairs of a case."""
    is_compared: bool = True
    """False: it was not scored in the same way in both runs, and but for the means all of it is undefined."""

    @property
    def worsening(self) -> float | None:
        """How much worse b is than a; below 0 it is better."""
        if self.diff is None:
            return None
        return -self.diff if self.direction == "higher" else self.diff

    @property
    def cases_needed(self) -> int | None:
        """Cases with which a gate would see a change of `allowed`; None: no number would, or nothing is allowed."""
        return None if self.more_cases_needed is None else round(self.pairs / self.per_case) + self.more_cases_needed

    @property
    def is_telling(self) -> bool:
        """Whether it differs by more than chance, and not only by what a busier machine does to all replies alike.

        The test takes the cases of a run for independent, which latencies are not: a difference of a few milliseconds
        is always significant, and says something only beyond what is allowed.
        """
        if self.verdict not in ("better", "worse"):
            return False
        return self.name not in _UNBOUNDED or abs(self.diff or 0.0) > (self.allowed or 0.0) + _TOLERANCE

    @property
    def is_regression(self) -> bool:
        """Worse by more than is allowed, and by more than chance."""
        return self.verdict == "worse" and (self.worsening or 0.0) > (self.allowed or 0.0) + _TOLERANCE


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryChange:
    """One category in two runs."""

    category: str
    metric: PairedMetric
    newly_broken: int
    newly_fixed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two runs beside each other."""

    metrics: Mapping[str, PairedMetric]
    categories: tuple[CategoryChange, ...]
    """By how much worse they got, the worst first; tested together, apart from `metrics`."""
    newly_broken: tuple[CaseChange, ...]
    """Passed in every repeat of a, failed in every repeat of b; critical ones first."""
    newly_fixed: tuple[CaseChange, ...]
    flaky: tuple[CaseChange, ...]
    newly_in_error: tuple[CaseChange, ...]
    """Had a verdict in a and an error in b: neither broken nor fixed."""
    cases: int
    """In both runs, with equal content."""
    only_a: int
    only_b: int
    """Cases that only one of the runs has."""
    changed: int
    """Cases that both have, with other content: they are not compared."""
    alternative: CompareAlternative
    level: float
    repeats_a: Repeats | None = None
    repeats_b: Repeats | None = None
    """None: each case was asked once."""
    broken_categories: tuple[BrokenCategory, ...] = ()
    """Categories with newly broken cases, those that broke wholly first."""
    errors_a: int = 0
    errors_b: int = 0
    """Of `cases`, those that ended in an error."""
    unlike: Unlike = ALIKE
    """How the two runs differ in how they were scored."""

    @property
    def not_compared(self) -> tuple[str, ...]:
        """Metrics that both runs have and did not score in the same way."""
        return tuple(each.name for each in self.metrics.values() if each.pairs and not each.is_compared)

    @property
    def is_empty(self) -> bool:
        """Whether no case has a score in both runs: then there is nothing to compare."""
        return not any(each.pairs for each in self.metrics.values() if each.name not in _NO_SCORES)

    @property
    def changes(self) -> Changes:
        """The cases whose verdicts changed, or cannot be relied on."""
        return Changes(self.newly_broken, self.newly_fixed, self.flaky, self.newly_in_error, self.broken_categories)

    @property
    def regressions(self) -> tuple[PairedMetric, ...]:
        """Metrics that are worse by more than is allowed and by more than chance."""
        return tuple(each for each in self.metrics.values() if each.is_regression)

    @property
    def regressed_categories(self) -> tuple[CategoryChange, ...]:
        """Categories of which the same holds."""
        return tuple(each for each in self.categories if each.metric.is_regression)


def compare_cases(
    a: Mapping[str, CaseFigures],
    b: Mapping[str, CaseFigures],
    *,
    directions: Mapping[str, Direction],
    alternative: CompareAlternative = "two-sided",
    level: float = 0.05,
    allowed: Mapping[str, float] | None = None,
    history: History = (),
    unlike: Unlike = ALIKE,
) -> Comparison:
    """Compare two runs over the cases that both have with equal content.

    `directions` names the metrics that are compared and says which way each is better; Holm's adjustment is over
    those that could be tested. `worse` asks only whether b is worse, as gates do. `allowed` is how much worse a metric
    may get: what is needed to see a change is reckoned for that, never for the change that was found. `history` holds
    groups of runs, each group of one unchanged system: where their verdicts disagree, a case is flaky. What is `unlike`
    is shown with its means, and not compared.
    """
    pairs = same_cases(a, b)
    allowances = allowed or {}
    measured = [
        _measure(name, direction, pairs, alternative, allowances.get(name)) for name, direction in directions.items()
    ]
    measured = [_without_difference(each) if each.name in unlike.metrics else each for each in measured]
    changes = case_changes(pairs, directions, history, unlike=unlike)
    in_both = sum(case_id in b for case_id in a)
    return Comparison(
        metrics={each.name: each for each in judge_together(measured, level=level, alternative=alternative)},
        categories=_categories(pairs, changes, measured, level=level, alternative=alternative),
        **changes._asdict(),
        cases=len(pairs),
        only_a=len(a) - in_both,
        only_b=len(b) - in_both,
        changed=in_both - len(pairs),
        alternative=alternative,
        level=level,
        repeats_a=repeats_of([each for each, _ in pairs]),
        repeats_b=repeats_of([each for _, each in pairs]),
        errors_a=sum(each.error for each, _ in pairs),
        errors_b=sum(each.error for _, each in pairs),
        unlike=unlike,
    )


def judge_together(
    metrics: Iterable[PairedMetric], *, level: float, alternative: CompareAlternative
) -> list[PairedMetric]:
    """The same metrics with Holm's adjustment over all of them, and the verdicts that follow.

    One without any difference could be significant at no level, and does not count among the tests (Tarone 1990).
    What can be seen is what a gate would see, whichever way is asked here: one-sided, for the hardest of Holm's steps
    (that a single metric has changed) among the metrics that it judges.
    """
    measured = list(metrics)
    adjusted = holm([each.p_value if each.differing else None for each in measured])
    tested = [each for each in measured if each.p_value is not None]
    judged = sum(each.allowed is not None for each in tested) or len(tested)
    one_sided = level / max(1, judged)
    return [
        replace(
            each,
            adjusted_p=p if each.differing else each.p_value,
            verdict=_verdict(each, p if each.differing else each.p_value, level, alternative),
            smallest_detectable=_smallest(each, one_sided),
            more_cases_needed=_more_cases(each, one_sided),
        )
        for each, p in zip(measured, adjusted, strict=True)
    ]


def _measure(
    name: str, direction: Direction, pairs: Sequence[Pair], alternative: CompareAlternative, allowed: float | None
) -> PairedMetric:
    """The figures of one metric; its verdict follows when all that is tested with it is known."""
    scored, only_a, only_b = _scored(name, pairs)
    found = cluster_sums([b - a for a, b, _ in scored], [cluster for _, _, cluster in scored])
    bounds = None if name in _UNBOUNDED else _SHARES
    interval = difference_interval(found, bounds=bounds)
    tail: Alternative = "two-sided" if alternative == "two-sided" else "less" if direction == "higher" else "greater"
    worst, best = _bounds(found, only_a, only_b, direction, is_bounded=bounds is not None)
    cases = sum(name in a.values and name in b.values for a, b in pairs)
    return PairedMetric(
        name=name,
        direction=direction,
        a=math.fsum(a for a, _, _ in scored) / len(scored) if scored else None,
        b=math.fsum(b for _, b, _ in scored) / len(scored) if scored else None,
        diff=found.difference,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        p_value=sign_flip_test(found.sums, tail).p_value,
        adjusted_p=None,
        verdict="undefined",
        pairs=len(scored),
        clusters=len(found.sums),
        differing=sum(abs(each) > _TOLERANCE for each in found.sums),
        only_a=len(only_a),
        only_b=len(only_b),
        worst=worst,
        best=best,
        smallest_detectable=None,
        more_cases_needed=None,
        allowed=allowed,
        noise=noise_of(found, largest=1.0 if bounds else None),
        per_case=len(scored) / cases if cases else 1.0,
    )


def _without_difference(metric: PairedMetric) -> PairedMetric:
    """The means alone, of a metric that was not scored in the same way in both runs."""
    undefined = dict.fromkeys(("diff", "low", "high", "p_value", "worst", "best", "allowed", "noise"))
    return replace(metric, **undefined, differing=0, only_a=0, only_b=0, is_compared=False)  # type: ignore[arg-type]  # each of these may be None


def _scored(name: str, pairs: Sequence[Pair]) -> tuple[list[tuple[float, float, str]], list[float], list[float]]:
    """What both runs scored, with its cluster; what only the first did; what only the second did."""
    both: list[tuple[float, float, str]] = []
    only_a: list[float] = []
    only_b: list[float] = []
    for a, b in pairs:
        if name not in a.values and name not in b.values:
            continue
        first, second = a.turns(name), b.turns(name)
        both += [(value, second[turn], a.cluster) for turn, value in first.items() if turn in second]
        only_a += [value for turn, value in first.items() if turn not in second]
        only_b += [value for turn, value in second.items() if turn not in first]
    return both, only_a, only_b


def _bounds(
    found: ClusterSums, only_a: Sequence[float], only_b: Sequence[float], direction: Direction, *, is_bounded: bool
) -> tuple[float | None, float | None]:
    """The difference if what one run did not score had been as bad, and as good, as can be."""
    count = found.pairs + len(only_a) + len(only_b)
    if not count or not (only_a or only_b):
        return found.difference, found.difference
    if not is_bounded:
        return None, None
    known = math.fsum(found.sums)
    lowest = (known - math.fsum(only_a) + math.fsum(value - 1 for value in only_b)) / count
    highest = (known + math.fsum(1 - value for value in only_a) + math.fsum(only_b)) / count
    return (lowest, highest) if direction == "higher" else (highest, lowest)


def _verdict(
    metric: PairedMetric, adjusted_p: float | None, level: float, alternative: CompareAlternative
) -> CompareVerdict:
    worsening = metric.worsening
    if not metric.is_compared:
        return "not compared"
    if adjusted_p is None or worsening is None:
        return "undefined"
    if adjusted_p > level + _TOLERANCE:
        return "no difference seen" if alternative == "worse" or _is_alike(metric) else "may be chance"
    if worsening > 0:
        return "worse"
    return "better" if alternative == "two-sided" else "no difference seen"


def _is_alike(metric: PairedMetric) -> bool:
    """Whether it is the same in every pair, or differs by no more than is allowed, so far as one can tell."""
    if not metric.differing:
        return True
    if metric.allowed is None or metric.low is None or metric.high is None:
        return False
    return max(abs(metric.low), abs(metric.high)) <= metric.allowed + _TOLERANCE


def _smallest(metric: PairedMetric, level: float) -> float | None:
    if metric.noise is None:
        return None
    largest = None if metric.name in _UNBOUNDED else 1.0
    return smallest_difference(metric.pairs, metric.noise, level=level, largest=largest)


def _more_cases(metric: PairedMetric, level: float) -> int | None:
    if metric.noise is None or not metric.allowed:
        return None
    missing = pairs_for(metric.allowed, metric.noise, level=level) - metric.pairs
    return max(0, math.ceil(missing / metric.per_case))


def _categories(
    pairs: Sequence[Pair],
    changes: Changes,
    measured: Sequence[PairedMetric],
    *,
    level: float,
    alternative: CompareAlternative,
) -> tuple[CategoryChange, ...]:
    """Every category by the metric that says most of cases, the one that got worst first."""
    known = {each.name: each for each in measured if each.pairs and each.is_compared}
    whole = next((known[name] for name in _OF_CATEGORIES if name in known), None)
    groups: dict[str, list[Pair]] = {}
    for pair in pairs:
        groups.setdefault(pair[1].category or NO_CATEGORY, []).append(pair)
    if whole is None or len(groups) < 2:
        return ()
    names = list(groups)
    found = judge_together(
        (_measure(whole.name, whole.direction, groups[name], alternative, whole.allowed) for name in names),
        level=level,
        alternative=alternative,
    )
    rows = [
        CategoryChange(
            category=name,
            metric=metric,
            newly_broken=sum((each.category or NO_CATEGORY) == name for each in changes.newly_broken),
            newly_fixed=sum((each.category or NO_CATEGORY) == name for each in changes.newly_fixed),
        )
        for name, metric in zip(names, found, strict=True)
    ]
    return tuple(sorted(rows, key=lambda each: (-(each.metric.worsening or 0.0), each.category)))
