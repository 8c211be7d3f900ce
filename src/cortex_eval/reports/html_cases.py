"""The cases of the HTML report: the conversation on the left, the scores with their reasons on the right."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from cortex_eval.analysis import Report, result_row
from cortex_eval.core import Result, redact
from cortex_eval.reports.text import as_html, cut, name_as_html
from cortex_eval.reports.words import number, plural

CASES_SHOWN = 500
PASSED_SHOWN = 100
"""Of those that passed, when not all cases fit."""
TEXT_SHOWN = 20_000
"""Characters of one text; the rest is in the JSON file."""
_TAGS = {
    "failed": ("t-fail", "✕ failed"),
    "error": ("t-warn", "! error"),
    "passed": ("t-pass", "✓ passed"),
    "other": ("t-none", "– no verdict"),
}
_ORDER = ("error", "failed", "other", "passed")


@dataclass(slots=True)
class _Shown:
    """One case with its results."""

    rows: list[Result] = field(default_factory=list)

    @property
    def state(self) -> str:
        states = {row.state for row in self.rows}
        if any(state.startswith("error") for state in states):
            return "error"
        if any(row.passed is False for row in self.rows):
            return "failed"
        return "passed" if any(row.passed for row in self.rows) else "other"

    @property
    def overall(self) -> float | None:
        values = [row.overall for row in self.rows if row.overall is not None]
        return sum(values) / len(values) if values and self.state != "error" else None


def cases_section(report: Report) -> str:
    """The cases, failed and errored first, with filters."""
    shown = _chosen(report)
    if not shown:
        return '<section><h2>Cases</h2><p class="empty">This run has no results.</p></section>'
    left = report.totals.cases - len(shown)
    note = ""
    if left > 0:
        note = (
            f'<p class="note">{len(shown)} of {report.totals.cases:,} cases are on this page, failed and errored ones '
            "first. All are in the JSON file beside it, and in "
            f"<code>cortex runs show {as_html(report.run.id)}</code>.</p>"
        )
    body = "".join(_case(each, is_open=number == 0 and each.state != "passed") for number, each in enumerate(shown))
    empty = '<p class="empty" id="no-case" hidden>No case fits these filters.</p>'
    return f'<section id="cases"><h2>Cases</h2>{_filters(shown)}{note}{empty}{body}</section>'


def _chosen(report: Report) -> list[_Shown]:
    """At most 500 cases, those with a problem before the others; only these are held."""
    problems: list[_Shown] = []
    others: list[_Shown] = []
    expected = min(report.totals.failed + report.totals.errors, CASES_SHOWN)
    room = CASES_SHOWN if report.totals.cases <= CASES_SHOWN else PASSED_SHOWN
    for case in _by_case(report):
        kept, limit = (problems, CASES_SHOWN) if case.state in ("error", "failed") else (others, room)
        if len(kept) < limit:
            kept.append(case)
        if len(problems) >= expected and len(others) >= room:
            break  # the rest would not be shown
    chosen = [*problems, *others][:CASES_SHOWN]
    return sorted(chosen, key=lambda each: (_ORDER.index(each.state), each.overall if each.overall is not None else 0))


def _by_case(report: Report) -> Iterator[_Shown]:
    current = _Shown()
    for result in report.open_results():
        if current.rows and current.rows[0].case_id != result.case_id:
            yield current
            current = _Shown()
        current.rows.append(result)
    if current.rows:
        yield current


def _filters(shown: list[_Shown]) -> str:
    counts = {state: sum(each.state == state for each in shown) for state in _ORDER}
    labels = (("", "All", len(shown)), ("failed", "Failed", counts["failed"]), ("error", "Errors", counts["error"]))
    chips = "".join(
        f'<button type="button" value="{value}" aria-pressed="{str(not value).lower()}">{label} {count}</button>'
        for value, label, count in (*labels, ("passed", "Passed", counts["passed"]))
    )
    picks = ""
    for name in ("category", "tier", "language"):
        values = sorted({str(found) for each in shown if (found := getattr(each.rows[0], name)) is not None})
        if len(values) > 1:
            options = "".join(f'<option value="{as_html(value)}">{as_html(value)}</option>' for value in values)
            every = f'<option value="">{name.title()}: all</option>'
            picks += f'<select name="{name}" aria-label="{name}">{every}{options}</select>'
    search = '<input type="search" placeholder="Search the cases ( / )" aria-label="Search the cases">'
    return f'<div class="filters num" id="filters" hidden>{chips}{picks}{search}</div>'


def _case(case: _Shown, *, is_open: bool) -> str:
    first = case.rows[0]
    kind, label = _TAGS[case.state]
    asked = next((row for row in case.rows if row.passed is False or row.error), first)
    said = result_row(asked)["input"] or ""
    data = f' data-state="{case.state}"' + "".join(
        f' data-{name}="{as_html(str(value))}"'
        for name in ("category", "tier", "language")
        if (value := getattr(first, name)) is not None
    )
    body = "".join(_turn(row, case) for row in case.rows)
    return (
        f'<details class="case"{data}{" open" if is_open else ""}><summary><span class="tag {kind}">{label}</span>'
        f'<code>{as_html(first.case_id)}</code><span class="ask">{as_html(cut(redact(said), 300))}</span>'
        f'<span class="n num">{number(case.overall)}</span></summary>{_labels(first)}{body}</details>'
    )


def _labels(first: Result) -> str:
    parts = [
        f"{name} {as_html(str(value))}"
        for name in ("category", "tier", "language")
        if (value := getattr(first, name)) is not None
    ]
    parts += [as_html(tag) for tag in first.tags]
    return f'<div class="labels">{" · ".join(parts)}</div>' if parts else ""


def _turn(result: Result, case: _Shown) -> str:
    row = result_row(result)
    several = len(case.rows) > 1
    title = f"Turn {result.turn + 1}" + (f", repeat {result.repeat + 1}" if case.rows[-1].repeat else "")
    heading = f"<h4>{title}</h4>" if several else ""
    talk = f'<p class="say u">{_shown(row["input"] or "")}</p>'
    reply = row["reply"]
    if reply is not None:
        talk += f'<p class="say">{_shown(reply["text"]) or "<span class=soft>(an empty reply)</span>"}</p>'
    if row["error"] is not None:
        error = row["error"]
        talk += f'<p class="say e">No result: {as_html(error["kind"])}. {_shown(error["message"])}</p>'
    talk += _wanted(row["expected"], reply or {})
    facts = []
    if result.latency_ms is not None:
        facts.append(number(result.latency_ms, "ms"))
    if result.attempts > 1:
        facts.append(f"{result.attempts} attempts")
    if result.cached:
        facts.append("from the cache")
    below = f'<p class="note num">{" · ".join(facts)}</p>' if facts else ""
    scores = f'<div class="scores">{_scores(row["scores"])}{below}</div>'
    return f'<div class="turnset">{heading}<div>{talk}</div>{scores}</div>'


def _wanted(expected: Mapping[str, Any], reply: Mapping[str, Any]) -> str:
    lines = []
    for name, value in expected.items():
        text = value if isinstance(value, str) else orjson.dumps(value).decode()
        got = reply.get(name)
        found = ""
        if got is not None and got != value:
            found = f"; got {_shown(got if isinstance(got, str) else orjson.dumps(got).decode())}"
        label = "Expected" if name == "answer" else f"Expected {as_html(name)}"
        lines.append(f"<p class=want>{label}: {_shown(text)}{found}</p>")
    return "".join(lines)


def _scores(scores: Mapping[str, Mapping[str, Any]]) -> str:
    if not scores:
        return '<p class="note">Nothing was scored.</p>'
    rows = "".join(
        f"<tr><th scope=row>{name_as_html(name)}</th><td>{_score_tag(score)}</td><td>{_shown(_reason(score))}</td></tr>"
        for name, score in scores.items()
    )
    head = "<thead><tr><th scope=col>Scorer</th><th scope=col>Score</th><th scope=col>Why</th></tr></thead>"
    return f'<div class="scroll"><table class="num">{head}<tbody>{rows}</tbody></table></div>'


def _score_tag(score: Mapping[str, Any]) -> str:
    if "error" in score:
        return '<span class="tag t-warn">! error</span>'
    value, passed = score.get("value"), score.get("passed")
    if value is None:
        return '<span class="tag t-none">– n/a</span>'
    kind, mark = ("t-none", "") if passed is None else ("t-pass", "✓ ") if passed else ("t-fail", "✕ ")
    return f'<span class="tag {kind}">{mark}{number(value)}</span>'


def _reason(score: Mapping[str, Any]) -> str:
    error = score.get("error")
    if isinstance(error, Mapping):
        return f"{error.get('kind', 'error')}: {error.get('message', '')}"
    reason = str(score.get("reason", ""))
    measure, unit = score.get("measure"), str(score.get("unit", ""))
    if measure is None or _says(reason, measure, unit):
        return reason
    measured = (f"{measure:,.0f}" if abs(measure) >= 100 else f"{measure:.3g}") + f" {unit}".rstrip()
    return f"{measured}; {reason}" if reason else measured


def _says(reason: str, measure: float, unit: str) -> bool:
    """Whether the reason has the measure in it, rounded in one of the usual ways."""
    forms = {format(measure, form) for form in ("g", ".0f", ",.0f", ".1f", ".2f", ".3f", ".3g")}
    numbers = "|".join(re.escape(form) for form in forms)
    return re.search(rf"(?<![\w.,])(?:{numbers})(?![\d]|[.,]\d)\s*{re.escape(unit)}", reason) is not None


def _shown(text: str) -> str:
    text = redact(text)
    if len(text) <= TEXT_SHOWN:
        return as_html(text)
    left = len(text) - TEXT_SHOWN
    more = f"… {left:,} more {plural('character', left)} in the JSON file"
    return f'{as_html(text[:TEXT_SHOWN])}<span class="soft">{more}</span>'
