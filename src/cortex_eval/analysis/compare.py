"""A run beside its baseline: what changed, and what got worse than is allowed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from cortex_eval.analysis.gate_settings import Allowance, GateSettings
from cortex_eval.analysis.likeness import ALIKE, Unlike
from cortex_eval.analysis.names import CATEGORY_NAMES, OVERALL_NAMES, metric_name
from cortex_eval.analysis.numbers import TOLERANCE
from cortex_eval.analysis.report import Group, Metric, Report
from cortex_eval.analysis.verdict import BaselineLabel, Change, Regression
from cortex_eval.core import InputError, Problem, Result, RunRecord, short_repr

BASELINE_SCHEMA = "cortex.baseline/1"


class StoredRun(NamedTuple):
    """A run whose cases can be read."""

    run: RunRecord
    read: Callable[[bool], Iterable[Result]]
    """Its results, case by case; with their cases or without."""
    read_at: Callable[[Sequence[int]], Iterable[Result]] | None = None
    """Those of the cases at these places of its dataset, with their cases; None: what was said is not told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """The figures that later runs are held against."""

    name: str = "default"
    values: Mapping[str, float]
    """By metric, under its name in `report.metrics`."""
    categories: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """The same by category, where known."""
    run_id: str | None = None
    timestamp: str | None = None
    stored: StoredRun | None = field(default=None, compare=False, repr=False)
    """The run that it is of, where that is in this store; None: only figures are known."""
    anchor: Baseline | None = None
    """The pinned one that a run is held against too."""

    @property
    def label(self) -> BaselineLabel:
        """Which baseline this is, without its figures."""
        return BaselineLabel(name=self.name, run_id=self.run_id, timestamp=self.timestamp)


class Compared(NamedTuple):
    """What a comparison found."""

    comparison: Mapping[str, Change]
    regressions: tuple[Regression, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What of a run is compared."""

    metrics: Mapping[str, Metric]
    overall: Mapping[str, float]
    categories: Mapping[str, Group] = field(default_factory=dict)
    category_metrics: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def values(self) -> dict[str, float]:
        """The figure of each metric that gates and baselines use: the `overall_…` one where there is one."""
        return {name: self.overall.get(OVERALL_NAMES.get(name, ""), each.mean) for name, each in self.metrics.items()}

    def category_values(self, category: str) -> dict[str, float]:
        """The same within one category."""
        fields = self.category_metrics.get(category, {})
        return {
            name: fields.get(CATEGORY_NAMES.get(name, ""), each.mean)
            for name, each in self.categories[category].metrics.items()
        }


def figures_of(report: Report) -> Figures:
    """What of a finished report is compared."""
    return Figures(
        metrics=report.metrics,
        overall=report.overall,
        categories=report.categories,
        category_metrics=report.category_metrics,
    )


def baseline_of(report: Report) -> dict[str, Any]:
    """The report as a `baseline.json`: the seed's fields, every metric's mean, and the run that it came from."""
    figures = figures_of(report)
    kept = ("total_tests", "intent_accuracy", "entity_f1_avg", "tool_accuracy", "avg_total_time_ms", "error_count")
    return {
        "schema": BASELINE_SCHEMA,
        "timestamp": report.timestamp,
        "run_id": report.run.id,
        "suite": report.run.suite,
        "target": {"name": report.run.target_name, "version": report.run.target_version},
        "dataset": {"name": report.run.dataset.name, "version": report.run.dataset.version},
        **report.overall,
        "category_metrics": {
            name: {each: fields[each] for each in kept if each in fields}
            for name, fields in report.category_metrics.items()
        },
        "metrics": {
            name: {"mean": each.mean, "low": each.low, "high": each.high, "scored": each.scored, "total": each.total}
            for name, each in report.metrics.items()
        },
        "categories": {name: figures.category_values(name) for name in report.categories},
    }


def read_baseline(document: object, *, name: str = "default", source: str = "baseline") -> Baseline:
    """The baseline that a `baseline.json` holds, ours or one made elsewhere; a report file will do too."""
    if not isinstance(document, Mapping):
        raise InputError(f"{source}: a baseline is a JSON object, not {short_repr(document)}.")
    problems: list[Problem] = []

    def number(value: object, field: str) -> float | None:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            message = f"{field} must be a number, not {short_repr(value)}."
            problems.append(Problem(file=source, field=field, message=message))
            return None
        return float(value)

    values = _read_values(document, number)
    categories = _read_categories(document, number)
    if problems:
        raise InputError(problems)
    if not values:
        names = ", ".join(OVERALL_NAMES.values())
        raise InputError(f"{source}: no figures in it. A baseline has 'metrics' or some of {names}.")
    run = document.get("run")
    run_id = document.get("run_id") or (run.get("id") if isinstance(run, Mapping) else None)
    timestamp = document.get("timestamp")
    return Baseline(
        name=name,
        values=values,
        categories=categories,
        run_id=str(run_id) if run_id else None,
        timestamp=str(timestamp) if timestamp else None,
    )


def compare_with_baseline(
    figures: Figures, baseline: Baseline, settings: GateSettings, unlike: Unlike = ALIKE
) -> Compared:
    """Every metric of the baseline beside this run's, and the ones that fell by more than is allowed.

    What is `unlike` was not scored in the same way in both, and stands there without a difference.
    """
    comparison: dict[str, Change] = {}
    regressions: list[Regression] = []
    current = figures.values
    for name, before in baseline.values.items():
        shown = OVERALL_NAMES.get(name, name)
        now = current.get(name)
        if now is None:
            comparison[shown] = Change(baseline=before, current=None, diff=None, improved=None)
            continue
        if name in unlike.metrics:
            why = unlike.words(baseline.name)
            comparison[shown] = Change(baseline=before, current=now, diff=None, improved=None, not_compared=why)
            continue
        diff = now - before
        metric = figures.metrics[name]
        gain = diff if metric.direction == "higher" else -diff
        comparison[shown] = Change(baseline=before, current=now, diff=diff, improved=gain > TOLERANCE)
        allowance = settings.allowance(metric, name)
        found = regression(name, before, now, allowance) if allowance else None
        if found is not None:
            found = replace(found, against=baseline.name)
            regressions.append(_with_worst_category(found, figures, baseline))
    return Compared(comparison, tuple(regressions))


def regression(name: str, before: float, now: float, allowance: Allowance) -> Regression | None:
    """The strict rule: worse by more than the allowance; None when it is not."""
    worse, allowed = (before - now, allowance.drop) if allowance.drop is not None else (now - before, allowance.rise)
    if allowed is None or worse <= allowed + TOLERANCE:
        return None
    return Regression(
        metric=OVERALL_NAMES.get(name, name),
        name=name,
        severity="high" if allowance.high is not None and worse > allowance.high + TOLERANCE else "medium",
        baseline=before,
        current=now,
        diff=now - before,
        allowed=allowed,
    )


def _with_worst_category(found: Regression, figures: Figures, baseline: Baseline) -> Regression:
    changes = []
    for category in figures.categories:
        before = baseline.categories.get(category, {}).get(found.name)
        now = figures.category_values(category).get(found.name)
        if before is not None and now is not None:
            changes.append((now - before, category))
    if not changes:
        return found
    diff, category = min(changes) if found.diff < 0 else max(changes)
    failed = figures.categories[category].totals.failed
    return replace(found, worst_category=category, worst_category_diff=diff, worst_category_failed=failed)


def _read_values(document: Mapping[str, Any], number: Any) -> dict[str, float]:  # Any: the closure of read_baseline
    values: dict[str, float] = {}
    metrics = document.get("metrics")
    for name, entry in metrics.items() if isinstance(metrics, Mapping) else ():
        mean = number(entry.get("mean") if isinstance(entry, Mapping) else entry, f"metrics.{name}")
        if mean is not None:
            values[metric_name(str(name))] = mean
    for name, overall in OVERALL_NAMES.items():
        if document.get(overall) is not None and (value := number(document[overall], overall)) is not None:
            values[name] = value
    return values


def _read_categories(document: Mapping[str, Any], number: Any) -> dict[str, dict[str, float]]:  # Any: as above
    categories: dict[str, dict[str, float]] = {}
    by_field = {category: name for name, category in CATEGORY_NAMES.items()}
    ours, seeds = document.get("categories"), document.get("category_metrics")
    for category, entry in ours.items() if isinstance(ours, Mapping) else ():
        figures = entry.get("metrics", entry) if isinstance(entry, Mapping) else {}
        for name, value in figures.items():
            value = value.get("mean") if isinstance(value, Mapping) else value
            if (read := number(value, f"categories.{category}.{name}")) is not None:
                categories.setdefault(str(category), {})[metric_name(str(name))] = read
    for category, entry in seeds.items() if isinstance(seeds, Mapping) else ():
        for name, value in entry.items() if isinstance(entry, Mapping) else ():
            known = by_field.get(name)
            if (
                known
                and value is not None
                and (read := number(value, f"category_metrics.{category}.{name}")) is not None
            ):
                categories.setdefault(str(category), {})[known] = read
    return categories
