"""Cases with a place of their own in a report: critical ones that were asked again, and those in quarantine."""

from __future__ import annotations

from cortex_eval.analysis import Report, SecondLook
from cortex_eval.reports.text import as_code, as_plain

_AGAIN = ("Critical cases asked again", ("Case", "Category", "Passed in", "Asked again", "Outcome"))
_QUARANTINE = ("Quarantine", ("Case", "Category", "Outcome", "Why", "Until"))


def set_aside_markdown(report: Report) -> list[str]:
    """Both as lines of a document; none when there are no such cases."""
    lines: list[str] = []
    for (title, heads), rows in ((_AGAIN, _again_rows(report)), (_QUARANTINE, _quarantine_rows(report))):
        if rows:
            lines += [f"## {title}", "", f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
            lines += [f"| {' | '.join([as_code(row[0]), *map(as_plain, row[1:])])} |" for row in rows]
            lines.append("")
    return lines


def _again_rows(report: Report) -> list[tuple[str, ...]]:
    return [
        (each.case_id, each.category or "–", each.against, _verdicts(each), "broken" if each.is_broken else "flaky")
        for each in report.second_looks
    ]


def _verdicts(look: SecondLook) -> str:
    return ", ".join("passed" if each else "failed" for each in look.passes) or "no answer"


def _quarantine_rows(report: Report) -> list[tuple[str, ...]]:
    return [
        (each.case_id, each.category or "–", each.outcome, each.reason, each.until or "–") for each in report.quarantine
    ]
