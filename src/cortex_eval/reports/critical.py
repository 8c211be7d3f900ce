"""What failed that must not, in a sentence: it stands beside every verdict, also beside one that passed."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from cortex_eval.analysis import CriticalFailure, Report, metric_name

FAILURES_NAMED = 3
CASES_NAMED = 3
LEAD = "Critical: "
_REASON = 120


def critical_sentence(report: Report) -> str:
    """Such as `Critical: 2 cases break rule heart-attack of safety (…): a, b; 1 case fails language: c`; or empty."""
    return LEAD + "; ".join(critical_items(report)) if report.critical_failures else ""


def critical_items(report: Report, already: Collection[str] = ()) -> list[str]:
    """Its parts, the gravest first; a reason that is in one of the texts that are there already is not said again."""
    failures = _gravest_first(report)
    told = [_told(each, already) for each in failures[:FAILURES_NAMED]]
    rest = len(failures) - FAILURES_NAMED
    more = [f"and {rest} more critical {'rule or scorer' if rest == 1 else 'rules or scorers'}"] if rest > 0 else []
    return told + more


def passed_all_the_same(report: Report) -> str:
    """That a run passed though critical cases failed, and what would forbid it; empty where a limit looks at them."""
    failures = report.critical_failures
    if report.gate.verdict != "passed" or not failures:
        return ""
    scorers = dict.fromkeys(each.scorer for each in _gravest_first(report))
    limited = {metric_name(check.name.removeprefix("max_"), report.metrics) for check in report.gate.checks}
    if limited & scorers.keys():
        return ""
    count = len({case for each in failures for case in each.cases})
    least = "At least " if any(each.count > len(each.cases) for each in failures) else ""
    told = f"{least}{count:,} critical {'case' if count == 1 else 'cases'} failed all the same"
    stop = f"To stop a release there, write thresholds: {{{_limits(scorers, report)}}}."
    return f"{told}: no limit of this gate forbids that. {stop}"


def _limits(scorers: Iterable[str], report: Report) -> str:
    """The limits that no critical failure of these scorers would meet, as a project file has them."""
    limits = {}
    for name in scorers:
        metric, planned = report.metrics.get(name), (report.run.manifest.get("scorers") or {}).get(name, {})
        best = 0.0 if metric is not None and metric.direction == "lower" else 1.0
        if metric is None or planned.get("threshold") not in (None, best):
            return "pass_rate: 1.0"  # its cases pass with less than the best score, so that no mean could be the limit
        limits[name] = best
    return ", ".join(f"{name}: {best}" for name, best in limits.items())


def _gravest_first(report: Report) -> list[CriticalFailure]:
    """Rules by their severity, then critical scorers; of the same gravity, what most cases fail."""
    return sorted(report.critical_failures, key=lambda each: (not each.is_rule, each.gravity, -each.count))


def _told(failure: CriticalFailure, already: Collection[str]) -> str:
    count, one = failure.count, failure.count == 1
    cases = f"{count:,} {'case' if one else 'cases'}"
    what = f"{'fails' if one else 'fail'} {failure.name}"
    if failure.is_rule:
        what = f"{'breaks' if one else 'break'} rule {failure.name} of {failure.scorer}"
    elif not failure.scorer:
        what = f"tagged {failure.name} {'fails' if one else 'fail'}"
    reason = _cut_at_word(failure.reason.rstrip("."))
    is_said = any(reason in text for text in already)
    why = f" ({reason})" if failure.is_rule and reason and not is_said else ""
    named = ", ".join(failure.cases[:CASES_NAMED])
    return f"{cases} {what}{why}: {named}{' and others' if count > CASES_NAMED else ''}"


def _cut_at_word(reason: str) -> str:
    if len(reason) <= _REASON:
        return reason
    kept = reason[: _REASON - 1]
    if kept.count("(") > kept.count(")"):
        kept = kept[: kept.rindex("(")] or kept  # nobody can read half a bracket within brackets
    return f"{kept.rpartition(' ')[0].rstrip(' ,;:') or kept}…"
