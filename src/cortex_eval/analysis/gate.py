"""The gate: may this run be released, and if not, why not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from cortex_eval.analysis.expectations import Expectations
from cortex_eval.analysis.held import Held, comparison_checks, smallest_detectable_drop
from cortex_eval.analysis.names import metric_name
from cortex_eval.analysis.numbers import TOLERANCE, apart, number, share
from cortex_eval.analysis.report import Metric, Totals
from cortex_eval.analysis.verdict import Check, Gate, SecondLook, Verdict

EXIT_CODES: Mapping[Verdict, int] = {"passed": 0, "inconclusive": 0, "regressed": 1, "below": 2, "error": 3}
INCONCLUSIVE_FAILS = 2
"""With `inconclusive: fail`: nothing is known to be worse, but the evidence that is asked for is not there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """How much worse a metric may get against the baseline."""

    drop: float | None = None
    rise: float | None = None
    """For metrics of which less is better, such as latency."""
    high: float | None = None
    """Beyond this the severity is high instead of medium."""


LESS_IS_BETTER = ("ece", "brier", "hallucinated_claims", "hallucinated_replies")
"""Figures of the run that are no metrics; their limits are upper ones with and without `max_`, as those of times."""
ANY_RATE = Allowance(drop=0.02, high=0.05)
"""For every rate without an allowance of its own."""
ANY_RATE_OF_FAULTS = Allowance(rise=0.02, high=0.05)
"""The same for rates of which less is better, such as `hallucination_rate`."""


def _default_regression() -> Mapping[str, Allowance]:
    return {
        "intent_accuracy": Allowance(drop=0.02, high=0.05),
        "entity_f1": Allowance(drop=0.05, high=0.10),
        "tool_accuracy": Allowance(drop=0.02, high=0.05),
        "latency_ms": Allowance(rise=100, high=200),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantined:
    """A case that is not to decide, for now."""

    case: str
    reason: str
    until: str | None = None
    """The last day, such as 2026-12-31; None: until it is taken off the list."""

    def holds_at(self, moment: str) -> bool:
        """Whether it still holds for a run of that time."""
        return self.until is None or moment[:10] <= self.until


@dataclass(frozen=True, slots=True, kw_only=True)
class GateSettings:
    """What a run must reach, and how much worse than its baseline it may be."""

    mode: Literal["statistical", "strict"] = "statistical"
    level: float = 0.05
    thresholds: Mapping[str, float] = field(default_factory=dict)
    """Lowest mean of a metric; the highest for names that start with `max_`, and for what is better when less."""
    regression: Mapping[str, Allowance] = field(default_factory=_default_regression)
    max_error_rate: float = 0.0
    """Share of cases that may end in an error."""
    inconclusive: Literal["warn", "fail"] = "warn"
    baseline: str | None = None
    anchor: str | None = None
    """A pinned baseline, held against too; None: the one that is named `anchor`, if there is one."""
    auto: Literal["on-release"] | None = None
    """When the baseline moves to a run by itself; the anchor never does."""
    quarantine: tuple[Quarantined, ...] = ()
    fail_under: float | None = None
    """Lowest overall score; None: not asked for."""
    expectations: Expectations | None = None
    """What is hoped for: shown with how it stands, and without a say in the verdict; None: the defaults."""

    def allowance(self, metric: Metric, name: str) -> Allowance | None:
        """How much worse this metric may get; None: it is not judged."""
        for asked, allowance in self.regression.items():
            if name in (asked, metric_name(asked)):
                return allowance
        if metric.unit or name == "llm_usage_rate":
            return None
        return ANY_RATE if metric.direction == "higher" else ANY_RATE_OF_FAULTS


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What the gate looks at."""

    totals: Totals
    expected_cases: int
    is_partial: bool
    metrics: Mapping[str, Metric]
    values: Mapping[str, float]
    """The figure of each metric that is judged, by its name in `metrics`."""
    held: tuple[Held, ...] = ()
    """What it was compared with: the baseline and the anchor, as far as there are such."""
    second_looks: tuple[SecondLook, ...] = ()
    set_aside: tuple[Check, ...] = ()
    """What is to be said of cases in quarantine."""
    paused: str = ""
    """Why the run stopped before its end."""


def decide(evidence: Evidence, settings: GateSettings, *, passing_threshold: float) -> Gate:
    """The verdict with all its checks; errors come before thresholds, thresholds before regressions.

    What is left is passed only when a drop as large as is allowed would have been seen; otherwise nobody knows.
    """
    trouble = _error_checks(evidence, settings)
    limits = _threshold_checks(evidence, settings, passing_threshold)
    compared = comparison_checks(evidence.held, evidence.second_looks)
    missed = [check for check in compared if not check.ok]
    verdict: Verdict = "inconclusive" if missed else "passed"
    if not all(check.ok for check in trouble):
        verdict = "error"
    elif not all(check.ok for check in limits):
        verdict = "below"
    elif any(check.name.startswith("regression.") for check in missed):
        verdict = "regressed"
    is_failure = verdict == "inconclusive" and settings.inconclusive == "fail"
    return Gate(
        verdict=verdict,
        exit_code=INCONCLUSIVE_FAILS if is_failure else EXIT_CODES[verdict],
        checks=(*trouble, *limits, *compared, *evidence.set_aside),
        smallest_detectable_drop=smallest_detectable_drop(evidence.held),
    )


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
    reason = f"{totals.errors} of {totals.cases} cases ended in an error (allowed {share(limit)})"
    checks.append(Check(name="error_rate", value=rate, limit=limit, ok=rate <= limit + TOLERANCE, reason=reason))
    for asked in settings.thresholds:
        name = metric_name(asked.removeprefix("max_"), evidence.metrics)
        metric = evidence.metrics.get(name)
        if metric is not None and metric.total and metric.errors / metric.total > limit + TOLERANCE:
            if name in ("pass_rate", "overall_score"):  # their errors are the cases' errors, told above
                continue
            reason = f"{name} gave no answer for {metric.errors} of {metric.total} (allowed {share(limit)})"
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
    plain = asked if asked in evidence.metrics else asked.removeprefix("max_")
    name = metric_name(plain, evidence.metrics)
    metric = evidence.metrics.get(name)
    is_less = plain.rpartition(".")[2] in LESS_IS_BETTER or plain.endswith("_ms")
    is_upper = plain != asked or is_less or (metric is not None and metric.direction == "lower")
    value = evidence.values.get(plain, evidence.values.get(name))
    if value is None:
        reason = f"{asked} was not scored in this run, so its limit of {number(limit)} cannot be met"
        return Check(name=asked, value=None, limit=limit, ok=False, reason=reason)
    ok = value <= limit + TOLERANCE if is_upper else value >= limit - TOLERANCE
    reason = f"{plain} {_against(value, limit, is_upper=is_upper, ok=ok)}"
    has_credits = value != evidence.values.get(name)
    if (
        metric is not None
        and metric.unit == ""
        and evidence.totals.errors
        and not has_credits
        and value < metric.mean - TOLERANCE
    ):
        reason += f"; errors count as not correct, without them it is {number(metric.mean)}"
    return Check(name=asked, value=value, limit=limit, ok=ok, reason=reason)


def _against(value: float, limit: float, *, is_upper: bool, ok: bool) -> str:
    if abs(value - limit) <= TOLERANCE:
        return f"{number(value)} is just at the limit of {number(limit)}"
    shown, bound = apart(value, limit)
    if ok:
        return f"{shown} is within the limit of {bound}" if is_upper else f"{shown} reaches {bound}"
    return f"{shown} is above the limit of {bound}" if is_upper else f"{shown} is under {bound}"
