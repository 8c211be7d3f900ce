"""The gate: may this run be released, and if not, why not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cortex_eval.analysis.gate_settings import GateSettings
from cortex_eval.analysis.held import Held, comparison_checks, smallest_detectable_drop
from cortex_eval.analysis.names import is_upper_limit, metric_name
from cortex_eval.analysis.numbers import TOLERANCE, apart, number, share
from cortex_eval.analysis.report import Metric, Totals
from cortex_eval.analysis.verdict import Check, Gate, SecondLook, Verdict

EXIT_CODES: Mapping[Verdict, int] = {"passed": 0, "inconclusive": 0, "regressed": 1, "below": 2, "error": 3}
INCONCLUSIVE_FAILS = 2
"""With `inconclusive: fail`: nothing is known to be worse, but the evidence that is asked for is not there."""


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
    is_weighted: bool = False
    """Whether figures are weighted from a sample to the full mix."""
    timed: int = 0
    turns: int = 0
    """Replies whose time is known, which limits on latency rest on, and the turns that there are."""
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
    is_upper = plain != asked or is_upper_limit(plain) or (metric is not None and metric.direction == "lower")
    value = evidence.values.get(plain, evidence.values.get(name))
    if value is None:
        reason = f"{asked} was not scored in this run, so its limit of {number(limit)} cannot be met"
        return Check(name=asked, value=None, limit=limit, ok=False, reason=reason)
    ok = value <= limit + TOLERANCE if is_upper else value >= limit - TOLERANCE
    reason = f"{'mean ' * (name == 'latency_ms')}{plain} {_against(value, limit, is_upper=is_upper, ok=ok)}"
    if plain.endswith("latency_ms"):
        reason += f" (over {evidence.timed:,} of {evidence.turns:,} {'reply' if evidence.turns == 1 else 'replies'})"
    has_credits = value != evidence.values.get(name)
    if name == "pass_rate" and evidence.is_weighted:
        totals = evidence.totals
        reason += f"; {totals.passed} of {totals.cases} passed, which is weighted to the full mix"
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
