"""The gate: may this run be released, and if not, why not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from cortex_eval.analysis.names import SETTING_NAMES, metric_name
from cortex_eval.analysis.report import Check, Gate, Metric, Regression, Totals, Verdict

TOLERANCE = 1e-9
"""A difference of exactly the allowed amount is allowed, whatever binary fractions make of it."""
EXIT_CODES: Mapping[Verdict, int] = {"passed": 0, "inconclusive": 0, "regressed": 1, "below": 2, "error": 3}


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """How much worse a metric may get against the baseline."""

    drop: float | None = None
    rise: float | None = None
    """For metrics of which less is better, such as latency."""
    high: float | None = None
    """Beyond this the severity is high instead of medium."""


ANY_RATE = Allowance(drop=0.02, high=0.05)
"""For every rate without an allowance of its own."""


def _default_regression() -> Mapping[str, Allowance]:
    return {
        "intent_accuracy": Allowance(drop=0.02, high=0.05),
        "entity_f1": Allowance(drop=0.05, high=0.10),
        "tool_accuracy": Allowance(drop=0.02, high=0.05),
        "latency_ms": Allowance(rise=100, high=200),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class GateSettings:
    """What a run must reach, and how much worse than its baseline it may be."""

    mode: Literal["statistical", "strict"] = "statistical"
    level: float = 0.05
    thresholds: Mapping[str, float] = field(default_factory=dict)
    """Lowest mean of a metric; the highest for names that start with `max_`."""
    regression: Mapping[str, Allowance] = field(default_factory=_default_regression)
    max_error_rate: float = 0.0
    """Share of cases that may end in an error."""
    inconclusive: Literal["warn", "fail"] = "warn"
    baseline: str | None = None
    fail_under: float | None = None
    """Lowest overall score; None: not asked for."""

    def allowance(self, metric: Metric, name: str) -> Allowance | None:
        """How much worse this metric may get; None: it is not judged."""
        for asked, allowance in self.regression.items():
            if name in (asked, metric_name(asked)):
                return allowance
        return ANY_RATE if metric.unit == "" and metric.direction == "higher" else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What the gate looks at."""

    totals: Totals
    expected_cases: int
    is_partial: bool
    metrics: Mapping[str, Metric]
    values: Mapping[str, float]
    """The figure of each metric that is judged, by its name in `metrics`."""
    regressions: tuple[Regression, ...] = ()
    is_compared: bool = False
    """Whether there was a baseline."""
    paused: str = ""
    """Why the run stopped before its end."""


def decide(evidence: Evidence, settings: GateSettings, *, passing_threshold: float) -> Gate:
    """The verdict with all its checks; errors come before thresholds, thresholds before regressions."""
    trouble = _error_checks(evidence, settings)
    limits = _threshold_checks(evidence, settings, passing_threshold)
    drops = [_regression_check(each) for each in evidence.regressions]
    verdict: Verdict = "passed"
    if not all(check.ok for check in trouble):
        verdict = "error"
    elif not all(check.ok for check in limits):
        verdict = "below"
    elif drops:
        verdict = "regressed"
    checks = [*trouble, *limits, *drops]
    if evidence.is_compared:
        checks.extend(_comparison_notes(evidence, settings))
    return Gate(verdict=verdict, exit_code=EXIT_CODES[verdict], checks=tuple(checks))


def _error_checks(evidence: Evidence, settings: GateSettings) -> list[Check]:
    totals, limit = evidence.totals, settings.max_error_rate
    checks = []
    if totals.cases == 0:
        reason = evidence.paused or "no case was run, so nothing is known"
        return [Check(name="complete", value=0, limit=evidence.expected_cases, ok=False, reason=reason)]
    if evidence.is_partial or totals.cases < evidence.expected_cases:
        finished = totals.passed + totals.failed + totals.errors
        reason = f"only {finished} of {evidence.expected_cases} cases were finished, and a partial run never passes"
        reason = f"{evidence.paused} ({reason})" if evidence.paused else reason
        checks.append(
            Check(name="complete", value=finished, limit=evidence.expected_cases, ok=False, reason=reason),
        )
    rate = totals.errors / totals.cases
    reason = f"{totals.errors} of {totals.cases} cases ended in an error (allowed {_share(limit)})"
    checks.append(Check(name="error_rate", value=rate, limit=limit, ok=rate <= limit + TOLERANCE, reason=reason))
    for asked in settings.thresholds:
        name = metric_name(asked.removeprefix("max_"), evidence.metrics)
        metric = evidence.metrics.get(name)
        if metric is not None and metric.total and metric.errors / metric.total > limit + TOLERANCE:
            if name in ("pass_rate", "overall_score"):  # their errors are the cases' errors, told above
                continue
            reason = f"{name} gave no answer for {metric.errors} of {metric.total} (allowed {_share(limit)})"
            value = metric.errors / metric.total
            checks.append(Check(name=f"error_rate.{name}", value=value, limit=limit, ok=False, reason=reason))
    return checks


def _threshold_checks(evidence: Evidence, settings: GateSettings, passing_threshold: float) -> list[Check]:
    checks = [_threshold_check(asked, limit, evidence) for asked, limit in settings.thresholds.items()]
    if settings.fail_under is not None:
        checks.append(_threshold_check("overall_score", settings.fail_under, evidence))
    if not checks:
        checks.append(_threshold_check("overall_score", passing_threshold, evidence))
    return checks


def _threshold_check(asked: str, limit: float, evidence: Evidence) -> Check:
    is_upper = asked.startswith("max_") and asked not in evidence.metrics
    name = metric_name(asked.removeprefix("max_") if is_upper else asked, evidence.metrics)
    value = evidence.values.get(name)
    if value is None:
        reason = f"{asked} was not scored in this run, so its limit of {_number(limit)} cannot be met"
        return Check(name=asked, value=None, limit=limit, ok=False, reason=reason)
    ok = value <= limit + TOLERANCE if is_upper else value >= limit - TOLERANCE
    reason = f"{asked.removeprefix('max_') if is_upper else asked} {_against(value, limit, is_upper=is_upper, ok=ok)}"
    metric = evidence.metrics.get(name)
    if metric is not None and metric.unit == "" and evidence.totals.errors and value < metric.mean - TOLERANCE:
        reason += f"; errors count as not correct, without them it is {_number(metric.mean)}"
    return Check(name=asked, value=value, limit=limit, ok=ok, reason=reason)


def _regression_check(regression: Regression) -> Check:
    name = SETTING_NAMES.get(regression.name, regression.name)
    rose = regression.diff > 0
    was, now = _apart(regression.baseline, regression.current)
    reason = f"{name} {'rose' if rose else 'fell'} {was} → {now} (allowed {_number(regression.allowed)})"
    limit = regression.allowed if rose else -regression.allowed
    return Check(name=f"regression.{name}", value=regression.diff, limit=limit, ok=False, reason=reason)


def _comparison_notes(evidence: Evidence, settings: GateSettings) -> list[Check]:
    notes = []
    if not evidence.regressions:
        reason = "no metric is worse than the baseline by more than is allowed"
        notes.append(Check(name="regression", value=None, limit=None, ok=True, reason=reason))
    if settings.mode == "statistical":
        reason = "the strict rule decided: a drop beyond its allowance counts, whether or not it may be noise"
        notes.append(Check(name="mode", value=None, limit=None, ok=True, reason=reason))
    return notes


def _against(value: float, limit: float, *, is_upper: bool, ok: bool) -> str:
    if abs(value - limit) <= TOLERANCE:
        return f"{_number(value)} is just at the limit of {_number(limit)}"
    shown, bound = _apart(value, limit)
    if ok:
        return f"{shown} is within the limit of {bound}" if is_upper else f"{shown} reaches {bound}"
    return f"{shown} is above the limit of {bound}" if is_upper else f"{shown} is under {bound}"


def _apart(one: float, other: float) -> tuple[str, str]:
    """Both numbers with as many decimals as it takes to see that they differ."""
    if min(abs(one), abs(other)) >= 10 and round(one) != round(other):
        return _number(one), _number(other)
    for decimals in range(2, 7):
        first, second = f"{one:,.{decimals}f}", f"{other:,.{decimals}f}"
        if first != second or one == other:
            break
    return first, second


def _number(value: float) -> str:
    if abs(value) >= 10:
        return f"{value:,.0f}"
    short = f"{value:.2f}"
    return short if abs(float(short) - value) < TOLERANCE or abs(value) >= 0.1 else f"{value:.3g}"


def _share(value: float) -> str:
    return "none" if value == 0 else f"{value:.1%}"
