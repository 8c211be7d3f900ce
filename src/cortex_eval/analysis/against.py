"""Holding a run against its baseline and its anchor: case by case where their cases are known, else by figures."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace

from cortex_eval.analysis.cases import CaseFigures, case_figures, critical_scorers, same_cases
from cortex_eval.analysis.changes import Changes, ReadAt, case_changes, with_words
from cortex_eval.analysis.compare import Baseline, Figures, compare_with_baseline, regression
from cortex_eval.analysis.gate_settings import Allowance, GateSettings
from cortex_eval.analysis.held import Held
from cortex_eval.analysis.likeness import ALIKE, Unlike, unlike
from cortex_eval.analysis.names import OVERALL_NAMES
from cortex_eval.analysis.numbers import TOLERANCE
from cortex_eval.analysis.paired import NO_CATEGORY, Comparison, PairedMetric, compare_cases
from cortex_eval.analysis.verdict import Change, Regression
from cortex_eval.analysis.versus import adjusted_together, allowed_worsening, directions_of
from cortex_eval.core import Result, RunRecord

Cases = Mapping[str, CaseFigures]


def hold_against(
    run: RunRecord,
    open_results: Callable[[], Iterable[Result]],
    figures: Figures,
    baseline: Baseline,
    settings: GateSettings,
    *,
    left_out: Collection[str] = (),
    read_at: ReadAt | None = None,
) -> tuple[Held, ...]:
    """What a run is worth beside its baseline and, where there is one, the anchor; cases left out decide nothing.

    The results are read once more where the cases of the baseline are known; all that is tested is adjusted together.
    With `read_at`, the first cases that changed have what was asked and replied.
    """
    pasts = [baseline, *([baseline.anchor] if baseline.anchor is not None else [])]
    with_cases = [each for each in pasts if each.stored is not None]
    differing = {id(each): unlike(each.stored.run, run) if each.stored else ALIKE for each in pasts}
    paired: dict[int, tuple[Cases, Cases, Comparison]] = {}
    changes: dict[int, Changes] = {}
    if with_cases:
        now = _without(case_figures(open_results(), critical_scorers=critical_scorers(run)), left_out)
        for each in with_cases:
            was = _without(_cases_of(each, run), left_out)
            other = differing[id(each)]
            found = case_changes(same_cases(was, now), directions_of(was, now), unlike=other)
            changes[id(each)] = _told(found, each, read_at)
            if _wants_pairs(run, each, settings):
                paired[id(each)] = (was, now, _compare(was, now, figures, settings, other))
        both = [compared for *_, compared in paired.values()]
        if len(both) > 1 and all(each.cases for each in both):
            for key, compared in zip(paired, adjusted_together(both), strict=True):
                paired[key] = (*paired[key][:2], compared)
    return tuple(
        replace(
            _hold(run, figures, each, settings, paired.get(id(each)), differing[id(each)]),
            is_anchor=each is baseline.anchor,
            unlike=differing[id(each)],
            not_compared=_not_compared(figures, each, settings, differing[id(each)]),
            changes=changes.get(id(each)),
        )
        for each in pasts
    )


def _told(changes: Changes, past: Baseline, read_at: ReadAt | None) -> Changes:
    before = past.stored.read_at if past.stored is not None else None
    return changes if before is None or read_at is None else with_words(changes, before, read_at)


def _wants_pairs(run: RunRecord, past: Baseline, settings: GateSettings) -> bool:
    """Whether metrics are compared case by case: a sample is never compared with the figures of the whole."""
    return settings.mode == "statistical" or _has_samples(run, past)


def _has_samples(run: RunRecord, past: Baseline) -> bool:
    return is_sample(run) or (past.stored is not None and is_sample(past.stored.run))


def is_sample(run: RunRecord) -> bool:
    """Whether a run has only some of the cases of its dataset."""
    return run.cases < run.dataset.cases


def _cases_of(past: Baseline, run: RunRecord) -> Cases:
    assert past.stored is not None, "asked only of one that is in the store"
    then = past.stored.run
    return case_figures(
        past.stored.read(then.dataset.version != run.dataset.version), critical_scorers=critical_scorers(then)
    )


def _without(cases: Cases, left_out: Collection[str]) -> Cases:
    return {name: each for name, each in cases.items() if name not in left_out} if left_out else cases


def _not_compared(figures: Figures, past: Baseline, settings: GateSettings, other: Unlike) -> tuple[str, ...]:
    """The metrics that the gate would judge if both runs had been scored in the same way."""
    return tuple(
        name
        for name, metric in figures.metrics.items()
        if name in other.metrics and name in past.values and settings.allowance(metric, name) not in (None, Allowance())
    )


def _compare(was: Cases, now: Cases, figures: Figures, settings: GateSettings, other: Unlike) -> Comparison:
    """One-sided, over the metrics of this run that the gate judges."""
    directions = directions_of(was, now)
    allowed = allowed_worsening(settings, directions)
    known = figures.metrics.keys() - other.metrics
    judged = {name: way for name, way in directions.items() if name in allowed and name in known}
    return compare_cases(
        was, now, directions=judged, alternative="worse", level=settings.level, allowed=allowed, unlike=other
    )


def _hold(
    run: RunRecord,
    figures: Figures,
    past: Baseline,
    settings: GateSettings,
    paired: tuple[Cases, Cases, Comparison] | None,
    other: Unlike,
) -> Held:
    samples = _has_samples(run, past)
    if paired is not None and paired[2].cases:
        was, now, found = paired
        strict = compare_with_baseline(figures, past, settings, other)
        changes = {name: _with_pair(name, each, found, is_sample=samples) for name, each in strict.comparison.items()}
        drops = [
            (drop, metric.is_regression or settings.mode == "strict")
            for metric in found.metrics.values()
            if (drop := _drop(metric, figures, past, settings, was, now)) is not None
        ]
        return Held(
            label=replace(past.label, cases=found.cases),
            comparison=changes,
            regressions=tuple(drop for drop, is_sure in drops if is_sure),
            noise=tuple(drop for drop, is_sure in drops if not is_sure),
            paired=found,
            is_strict=settings.mode == "strict",
        )
    if samples:
        return Held(label=past.label, is_strict=settings.mode == "strict", why_not=_why_not(past))
    strict = compare_with_baseline(figures, past, settings, other)
    return Held(
        label=past.label,
        comparison=strict.comparison,
        regressions=strict.regressions,
        is_strict=True,
        remark=_why_strict(past) if settings.mode == "statistical" else "",
    )


def _why_not(past: Baseline) -> str:
    if past.stored is None:
        return "a part of the cases is compared only with the same cases, and of this baseline only figures are known"
    return "a part of the cases is compared only with the same cases, and none is in both runs"


def _why_strict(past: Baseline) -> str:
    known = "shares no case with this run" if past.stored is not None else "has no cases in this store, only figures"
    return (
        f"the strict rule decided, for the baseline {past.name} {known}: a drop beyond its allowance counts, "
        "whether or not it may be noise"
    )


def _with_pair(shown: str, change: Change, found: Comparison, *, is_sample: bool) -> Change:
    """A figure with what the pairs say of it; in a sample, over the pairs alone."""
    by_overall = {OVERALL_NAMES.get(name, name): metric for name, metric in found.metrics.items()}
    metric = by_overall.get(shown)
    if metric is None or metric.a is None or metric.b is None or metric.worsening is None:
        return replace(change, current=None, diff=None, improved=None) if is_sample else change
    if is_sample:
        change = Change(baseline=metric.a, current=metric.b, diff=metric.diff, improved=metric.worsening < -TOLERANCE)
    return replace(
        change,
        low=metric.low,
        high=metric.high,
        p_value=metric.adjusted_p,
        worst=metric.worst,
        best=metric.best,
        smallest_detectable=metric.smallest_detectable,
        pairs=metric.pairs,
    )


def _drop(
    metric: PairedMetric, figures: Figures, past: Baseline, settings: GateSettings, was: Cases, now: Cases
) -> Regression | None:
    """A metric that is worse by more than is allowed over the pairs; None when it is not."""
    allowance = settings.allowance(figures.metrics[metric.name], metric.name)
    if allowance is None or metric.a is None or metric.b is None:
        return None
    found = regression(metric.name, metric.a, metric.b, allowance)
    if found is None:
        return None
    sure = None if settings.mode == "strict" else metric.adjusted_p
    found = replace(found, low=metric.low, high=metric.high, p_value=sure, against=past.name)
    return _with_worst_category(found, was, now)


def _with_worst_category(found: Regression, was: Cases, now: Cases) -> Regression:
    """With the category that cost most: where the differences of its cases add up to most."""
    changes: dict[str, list[float]] = {}
    failed: dict[str, int] = {}
    for name, after in now.items():
        before = was.get(name)
        if before is not None and found.name in before.values and found.name in after.values:
            category = after.category or NO_CATEGORY
            changes.setdefault(category, []).append(after.values[found.name] - before.values[found.name])
            failed[category] = failed.get(category, 0) + (after.verdict is False)
    if not changes or set(changes) == {NO_CATEGORY}:
        return found
    side = 1 if found.diff < 0 else -1
    worst = min(changes, key=lambda name: (side * math.fsum(changes[name]), name))
    diff = math.fsum(changes[worst]) / len(changes[worst])
    return replace(found, worst_category=worst, worst_category_diff=diff, worst_category_failed=failed[worst])
