"""The report as JUnit XML, as GitHub, GitLab and Jenkins read it: a test suite per category, a test case per case."""

from __future__ import annotations

import html
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from cortex_eval.analysis import Metric, Report, figure_of, result_row
from cortex_eval.core import Result
from cortex_eval.reports.text import cut, visible
from cortex_eval.reports.words import moment, number, target_label

NO_CATEGORY = "(none)"
LONGEST_SAID = 4_000
"""Characters of one thing said: viewers show a conversation, they do not archive it."""
NOT_FINISHED = "not finished: the run was stopped before this case was done"
Outcome = Literal["passed", "failed", "error", "skipped"]


@dataclass(slots=True)
class _Suite:
    """The cases of one category: where each lies in the temporary file, and how many came to what."""

    places: list[tuple[int, int]] = field(default_factory=list)
    counts: dict[Outcome, int] = field(default_factory=lambda: {"passed": 0, "failed": 0, "error": 0, "skipped": 0})
    seconds: float = 0.0


def junit_chunks(report: Report) -> Iterator[bytes]:
    """The report as one XML document, in pieces; the counts are those of the report's totals.

    A case in quarantine is there too, as skipped. Suites state their counts before their cases, and cases come in the
    dataset's order: they wait in a temporary file.
    """
    with tempfile.TemporaryFile() as file:
        suites: dict[str, _Suite] = {}
        reasons = {each.case_id: f"in quarantine: {each.reason}" for each in report.quarantine}
        for rows in cases_of(report):
            set_aside = reasons.get(rows[0].case_id)
            outcome = "skipped" if set_aside else outcome_of(rows)
            written = _test_case(report, rows, outcome, set_aside or NOT_FINISHED).encode()
            suite = suites.setdefault(rows[0].category or NO_CATEGORY, _Suite())
            suite.places.append((file.tell(), len(written)))
            suite.counts[outcome] += 1
            suite.seconds += _seconds(rows)
            file.write(written)
        yield _head(report, list(suites.values())).encode()
        for name in sorted(suites, key=lambda each: (each == NO_CATEGORY, each)):
            suite = suites[name]
            yield _suite_head(report, name, suite).encode()
            for start, length in suite.places:
                file.seek(start)
                yield file.read(length)
            yield b" </testsuite>\n"
        yield b"</testsuites>\n"


def cases_of(report: Report) -> Iterator[list[Result]]:
    """The results of each case together: its turns, and its repeats."""
    rows: list[Result] = []
    for result in report.open_results():
        if rows and result.case_id != rows[0].case_id:
            yield rows
            rows = []
        rows.append(result)
    if rows:
        yield rows


def outcome_of(rows: list[Result]) -> Outcome:
    """What became of a case: an error before what is not finished, that before a failure."""
    states = {row.state for row in rows}
    if "error_target" in states or "error_judge" in states:
        return "error"
    if "pending" in states or "cancelled" in states:
        return "skipped"
    return "failed" if "failed" in states else "passed"


def missed_scores(scores: Mapping[str, Mapping[str, Any]]) -> list[str]:  # Any: JSON
    """The scorers that a reply did not pass, each with its value and its reason."""
    return [
        f"{name} {number(score.get('value'))}" + (f": {score['reason']}" if score.get("reason") else "")
        for name, score in scores.items()
        if score.get("passed") is False
    ]


def _head(report: Report, found: list[_Suite]) -> str:
    facts = {
        "name": f"{report.run.suite} on {target_label(report)}",
        "tests": sum(len(each.places) for each in found),
        "failures": sum(each.counts["failed"] for each in found),
        "errors": sum(each.counts["error"] for each in found),
        "time": f"{sum(each.seconds for each in found):.3f}",
    }
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites{_attributes(facts)}>\n'


def _suite_head(report: Report, name: str, suite: _Suite) -> str:
    facts = {
        "name": name,
        "tests": len(suite.places),
        "failures": suite.counts["failed"],
        "errors": suite.counts["error"],
        "skipped": suite.counts["skipped"],
        "time": f"{suite.seconds:.3f}",
        "timestamp": f"{moment(report.timestamp):%Y-%m-%dT%H:%M:%S}",
    }
    run = report.run
    group = report.categories.get(name)
    properties = {
        "cortex.run": run.id,
        "cortex.suite": run.suite,
        "cortex.target": target_label(report),
        "cortex.dataset": f"{run.dataset.name} {run.dataset.version[:12]}",
        "cortex.verdict": report.gate.verdict,
        "cortex.exit_code": report.exit_code,
        **{f"metric.{each}": _figure(metric) for each, metric in (group or report).metrics.items()},
    }
    return f" <testsuite{_attributes(facts)}>\n{_properties(properties, indent='  ')}"


def _figure(metric: Metric) -> str:
    interval = "" if metric.low is None else f" [{metric.low:.4g}, {metric.high:.4g}]"
    return f"{metric.mean:.4g}{f' {metric.unit}' if metric.unit else ''}{interval} {metric.scored}/{metric.total}"


def _test_case(report: Report, rows: list[Result], outcome: Outcome, why_skipped: str) -> str:
    first = rows[0]
    facts = {
        "name": first.case_id,
        "classname": f"{report.run.suite}.{first.category or NO_CATEGORY}",
        "time": f"{_seconds(rows):.3f}",
    }
    read = [result_row(row) for row in rows]
    said = "\n".join(line for row in read for line in _conversation(row, repeats=report.run.repeats))
    parts = [_properties(_case_properties(read), indent="   "), _verdict(read, outcome, why_skipped)]
    return (
        f"  <testcase{_attributes(facts)}>\n{''.join(parts)}   <system-out>{_text(said)}</system-out>\n  </testcase>\n"
    )


def _case_properties(rows: list[dict[str, Any]]) -> dict[str, object]:  # Any: JSON
    """What is known of a case beside its outcome; the mean of each scorer over its turns and repeats."""
    first = rows[0]
    values: dict[str, list[float]] = {}
    for row in rows:
        if row["overall"] is not None:
            values.setdefault("overall", []).append(row["overall"])
        for name, score in row["scores"].items():
            if (value := figure_of(score)) is not None:
                values.setdefault(f"score.{name}", []).append(value)
    about = {name: first[name] for name in ("tier", "language") if first[name] is not None}
    return {**about, **{name: f"{sum(each) / len(each):.4g}" for name, each in values.items()}}


def _verdict(rows: list[dict[str, Any]], outcome: Outcome, why_skipped: str) -> str:  # Any: JSON
    if outcome == "skipped":
        return f"   <skipped{_attributes({'message': why_skipped})}/>\n"
    if outcome == "passed":
        return ""
    if outcome == "error":
        found = [row for row in rows if row["state"].startswith("error")]
        lines = [line for row in found for line in _error_lines(row)]
        kind = next((row["error"]["kind"] for row in found if row["error"]), found[0]["state"])
        return _told("error", f"{found[0]['state']}.{kind}", lines)
    failed = [row for row in rows if row["state"] == "failed"]
    lines = [f"{_place(row, rows)}{line}" for row in failed for line in _why(row)]
    return _told("failure", "below_threshold", lines)


def _error_lines(row: dict[str, Any]) -> list[str]:  # Any: JSON
    error = row["error"]
    lines = [f"{error['kind']}: {error['message']}"] if error else []
    lines += [
        f"{name}: {score['error'].get('kind')}: {score['error'].get('message')}"
        for name, score in row["scores"].items()
        if score.get("error")
    ]
    return lines or [row["state"]]


def _why(row: dict[str, Any]) -> list[str]:  # Any: JSON
    return missed_scores(row["scores"]) or [f"overall {number(row['overall'])} is under the passing threshold"]


def _place(row: dict[str, Any], rows: list[dict[str, Any]]) -> str:  # Any: JSON
    turn = f"turn {row['turn'] + 1}: " if any(each["turn"] for each in rows) else ""
    return (f"repeat {row['repeat'] + 1}, " if any(each["repeat"] for each in rows) else "") + turn


def _told(element: str, kind: str, lines: list[str]) -> str:
    facts = {"message": cut(" ".join(lines[0].split()), 200), "type": kind}
    return f"   <{element}{_attributes(facts)}>{_text(chr(10).join(lines))}</{element}>\n"


def _conversation(row: dict[str, Any], *, repeats: int) -> Iterator[str]:  # Any: JSON
    if repeats > 1 and row["turn"] == 0:
        yield f"Repeat {row['repeat'] + 1}"
    yield f"User: {cut(row['input'] or '', LONGEST_SAID)}"
    if row["expected"].get("answer"):
        yield f"Expected: {cut(row['expected']['answer'], LONGEST_SAID)}"
    if row["reply"] is not None:
        yield f"Reply: {cut(row['reply']['text'], LONGEST_SAID)}"
    for name, score in row["scores"].items():
        if score.get("value") is not None:
            reason = f"  {cut(str(score['reason']), 500)}" if score.get("reason") else ""
            yield f"  {name} {number(figure_of(score))}{reason}"


def _seconds(rows: list[Result]) -> float:
    return sum(row.latency_ms or 0.0 for row in rows) / 1000


def _properties(values: Mapping[str, object], *, indent: str) -> str:
    if not values:
        return ""
    lines = [f"{indent} <property{_attributes({'name': name, 'value': value})}/>\n" for name, value in values.items()]
    return f"{indent}<properties>\n{''.join(lines)}{indent}</properties>\n"


def _attributes(values: Mapping[str, object]) -> str:
    return "".join(f' {name}="{_text(" ".join(str(value).split()))}"' for name, value in values.items())


def _text(text: str) -> str:
    """Text without secrets, in which nothing acts; what XML cannot hold is an escape such as `\\x00`."""
    return html.escape(visible(text))
