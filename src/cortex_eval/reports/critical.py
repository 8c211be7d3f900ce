"""What failed that must not, in a sentence: it stands beside every verdict, also beside one that passed."""

from __future__ import annotations

from collections.abc import Sequence

from cortex_eval.analysis import CriticalFailure

FAILURES_NAMED = 3
CASES_NAMED = 3
_REASON = 120


LEAD = "Critical: "


def critical_sentence(failures: Sequence[CriticalFailure]) -> str:
    """Such as `Critical: 2 cases break rule heart-attack of safety (…): a, b; 1 case fails language: c`; or empty."""
    return LEAD + "; ".join(critical_items(failures)) if failures else ""


def critical_items(failures: Sequence[CriticalFailure]) -> list[str]:
    """Its parts."""
    told = [_told(each) for each in failures[:FAILURES_NAMED]]
    rest = len(failures) - FAILURES_NAMED
    more = [f"and {rest} more critical {'rule or scorer' if rest == 1 else 'rules or scorers'}"] if rest > 0 else []
    return told + more


def _told(failure: CriticalFailure) -> str:
    count, one = failure.count, failure.count == 1
    cases = f"{count:,} {'case' if one else 'cases'}"
    what = (
        f"{'breaks' if one else 'break'} rule {failure.name} of {failure.scorer}"
        if failure.is_rule
        else f"{'fails' if one else 'fail'} {failure.name}"
    )
    reason = failure.reason.rstrip(".")
    why = f" ({reason})" if failure.is_rule and 0 < len(reason) <= _REASON else ""
    named = ", ".join(failure.cases[:CASES_NAMED])
    return f"{cases} {what}{why}: {named}{' and others' if count > CASES_NAMED else ''}"
