"""Replies that passed with another number than the expected answer, for a reader to look at: text, Markdown, page."""

from __future__ import annotations

from cortex_eval.analysis import Report
from cortex_eval.reports.html_parts import cases_address, section, table
from cortex_eval.reports.text import as_code, as_html, in_a_line, name_as_html, visible

TITLE = "Passed, but look at the numbers"
SHOWN = 10
"""In the terminal."""
_WIDTH = 80
_QUESTION = 200
"""Of a question on the page."""


def passed_numbers_lines(report: Report) -> list[str]:
    """For the terminal, of at most 80 columns; nothing when there is none."""
    found = report.passed_numbers
    if found is None:
        return []
    lines = ["", TITLE, f"  {_lead(found.count)}"]
    for each in found.cases[:SHOWN]:
        said = f"expected {visible(each.expected)}, said {visible(each.said)}"
        lines.append(f"  {in_a_line(visible(each.case), _WIDTH - 6 - len(said))}: {said}")
        lines.append(f"      {in_a_line(visible(each.question), _WIDTH - 6)}")
    more = found.count - min(SHOWN, len(found.cases))
    return [*lines, f"  … and {more:,} more, in the file and with --json"] if more > 0 else lines


def passed_numbers_markdown(report: Report) -> list[str]:
    """As a table for the Markdown file; nothing when there is none."""
    found = report.passed_numbers
    if found is None:
        return []
    lines = [f"## {TITLE}", "", _lead(found.count), "", "| Case | Question | Expected | Said |", "|---|---|---|---|"]
    for each in found.cases:
        cells = (each.case, each.question, each.expected, each.said)
        lines.append(f"| {' | '.join(as_code(cell) for cell in cells)} |")
    more = found.count - len(found.cases)
    return [*lines, "", *([f"And {more:,} more.", ""] if more > 0 else [])]


def passed_numbers_section(report: Report) -> str:
    """As a section of the page; empty when there is none."""
    found = report.passed_numbers
    if found is None:
        return ""
    rows = "".join(
        f'<tr><th scope=row><a class="js" href="{cases_address((each.case,))}">{name_as_html(each.case)}</a></th>'
        f"<td>{as_html(in_a_line(each.question, _QUESTION))}</td>"
        f"<td>{as_html(each.expected)}</td><td>{as_html(each.said)}</td></tr>"
        for each in found.cases
    )
    more = found.count - len(found.cases)
    rest = f'<p class="note">And {more:,} more.</p>' if more > 0 else ""
    body = table(("Case", "Question", "Expected", "Said"), rows, label=TITLE) + rest
    return section(TITLE, body, anchor="numbers", lead=_lead(found.count))


def _lead(count: int) -> str:
    replies = "1 reply passed and states" if count == 1 else f"{count:,} replies passed and state"
    return f"{replies} another number than the expected answer."
