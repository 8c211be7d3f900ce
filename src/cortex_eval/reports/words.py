"""The words and numbers that every rendering shares, so that none says what another does not."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime
from typing import NamedTuple

from cortex_eval.analysis import Check, Group, Metric, Report, Verdict
from cortex_eval.core import RunRecord

TITLES: dict[Verdict, str] = {
    "passed": "Passed",
    "regressed": "Regression",
    "below": "Below threshold",
    "error": "Error",
    "inconclusive": "Inconclusive",
}


class VerdictWords(NamedTuple):
    """A verdict in words."""

    title: str
    sentence: str
    """What happened, the number and the limit."""
    next_step: str
    command: str


def verdict_words(report: Report) -> VerdictWords:
    """The verdict as every rendering says it."""
    verdict = report.gate.verdict
    run = report.run.id
    if verdict == "passed" and not report.totals.failed:
        next_step, command = "Compare later runs with it", f"cortex baseline set {run}"
    elif verdict == "passed":
        next_step, command = "See what failed", f"cortex runs show {run} --failed"
    elif verdict == "error":
        next_step, command = "Ask again what is missing", f"cortex run --resume {run}"
    else:
        next_step, command = "See them", f"cortex runs show {run} --failed"
    return VerdictWords(TITLES[verdict], _sentence(report), next_step, with_config(command, report.run))


def with_config(command: str, run: RunRecord) -> str:
    """The command with the project file that the run was started with, if it was named then."""
    config = run.manifest.get("request", {}).get("config")
    return f"{command} --config {shlex.quote(str(config))}" if config else command


def _sentence(report: Report) -> str:
    telling = telling_checks(report)
    words = ". ".join(check.reason for check in telling[:3]) + "."
    if len(telling) > 3:
        words += f" And {len(telling) - 3} more."
    if report.gate.verdict == "regressed":
        first = report.regressions[0]
        if first.worst_category is not None:
            failed = first.worst_category_failed or 0
            words += f" Worst: {first.worst_category}, {failed} failed {plural('case', failed)}."
    return words


def telling_checks(report: Report) -> list[Check]:
    """The checks that made the verdict: those that failed first, or those that had a limit to reach."""
    verdict = report.gate.verdict
    failed = [check for check in report.gate.checks if not check.ok]
    if verdict == "error":
        return [check for check in failed if check.name == "complete" or check.name.startswith("error_rate")]
    if verdict == "passed":
        return [check for check in report.gate.checks if check.limit is not None and check.name != "error_rate"]
    is_drop = verdict == "regressed"
    return [
        check
        for check in failed
        if check.name.startswith("regression.") == is_drop and not check.name.startswith("error_rate")
    ]


def plural(noun: str, count: int) -> str:
    """The noun in the number that the count asks for."""
    return noun if count == 1 else f"{noun}s"


def number(value: float | None, unit: str = "") -> str:
    """A figure as people read it: a score with two decimals, milliseconds whole, a dash for what is not known."""
    if value is None:
        return "–"
    return f"{value:,.0f} {unit}" if unit else f"{value:.2f}"


def mean_of(metric: Metric) -> str:
    """The mean, with a third decimal only when the interval is narrow enough to deserve it."""
    if metric.unit:
        return number(metric.mean, metric.unit)
    return f"{metric.mean:.{_decimals(metric)}f}"


def interval_of(metric: Metric) -> str:
    """The interval in brackets; empty when it is not known."""
    if metric.low is None or metric.high is None:
        return ""
    if metric.unit:
        return f"[{metric.low:,.0f}, {metric.high:,.0f}]"
    decimals = _decimals(metric)
    return f"[{metric.low:.{decimals}f}, {metric.high:.{decimals}f}]"


def _decimals(metric: Metric) -> int:
    return 3 if metric.low is not None and metric.high is not None and metric.high - metric.low < 0.01 else 2


def main_metric(report: Report) -> str | None:
    """The metric that groups are ranked by."""
    return next((name for name in ("overall_score", "pass_rate") if name in report.metrics), None)


def worst_first(report: Report, groups: dict[str, Group]) -> list[tuple[str, Group]]:
    """The groups from the lowest mean up; those without a mean come first, for nothing is known of them."""
    name = main_metric(report)

    def rank(each: tuple[str, Group]) -> float:
        metric = each[1].metrics.get(name or "")
        return metric.mean if metric else -1.0

    return sorted(groups.items(), key=rank)


def moment(timestamp: str) -> datetime:
    """A stored time, in UTC."""
    read = datetime.fromisoformat(timestamp)
    return read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)


def target_label(report: Report) -> str:
    """The target with its version."""
    return " ".join(part for part in (report.run.target_name, report.run.target_version) if part)
