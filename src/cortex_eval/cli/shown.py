"""What commands show of runs: a report read back, facts for a list, cases with their replies."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import chain
from typing import TYPE_CHECKING, Any

from cortex_eval import analysis, reports
from cortex_eval.cli.options import advised, cut, cut_at_word, out, print_json, table, when
from cortex_eval.core import InputError, Reply, Result, RunRecord, to_json
from cortex_eval.outcome import find_baseline, report_on
from cortex_eval.storage import Store

if TYPE_CHECKING:  # their rooms are imported when they are needed
    from cortex_eval.analysis import GateSettings, Report

WIDTH = 80
NARROWEST = 6
"""Columns that the name of a suite or a target has at least."""
TEXT_SHOWN, MOST_SHOWN = 200, 2_000
"""Characters of a text in a list of cases, and of a case that was asked for; an error is never cut sooner."""
ALL_RESULTS, FAILED_RESULTS = "r.state != 'pending'", "r.state NOT IN ('passed', 'pending')"
"""Which results are shown, as the store reads them."""


def gate_of(record: RunRecord) -> GateSettings:
    """The gate that a run was judged by."""
    kept = dict(record.manifest.get("gate", {}))
    if "regression" in kept:
        kept["regression"] = {name: analysis.Allowance(**each) for name, each in kept["regression"].items()}
    if "quarantine" in kept:
        kept["quarantine"] = tuple(analysis.Quarantined(**each) for each in kept["quarantine"])
    if kept.get("expectations") is not None:
        kept["expectations"] = analysis.Expectations(**kept["expectations"])
    return analysis.GateSettings(**kept)


def report_of(store: Store, name: str) -> Report:
    """The report of a run, made anew from what is stored."""
    record = store.runs.find(name)
    gate = gate_of(record)
    baseline = find_baseline(store, gate, record.suite, record)
    return report_on(store, record.id, gate, baseline, is_partial=record.status != "completed")


def print_report(report: Report, *, as_json: bool, with_results: bool = False, failed_are_shown: bool = False) -> None:
    """The report on stdout, as people or as machines read it."""
    if as_json:
        print_json(report.to_dict(results=with_results))
    else:
        out(reports.render_console(report, colour=has_colour(), failed_are_shown=failed_are_shown), nl=False)


def has_colour() -> bool:
    """Whether results may be coloured."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


def is_resumable(record: RunRecord) -> bool:
    """Whether there is something left of a run that nobody is at."""
    return record.status in ("paused", "cancelled") or (record.status == "completed" and not record.is_settled)


def run_facts(record: RunRecord) -> dict[str, Any]:  # Any: JSON
    """A run in a line."""
    return {
        "id": record.id,
        "started": record.started or record.created,
        "suite": record.suite,
        "target": " ".join(filter(None, (record.target_name, record.target_version))),
        "status": record.status,
        "paused": record.paused or None,
        "cases": record.cases,
        "repeats": record.repeats,
        "score": record.summary.get("totals", {}).get("overall_score"),
        "verdict": record.summary.get("gate", {}).get("verdict"),
    }


def run_table(facts: Sequence[dict[str, Any]]) -> str:  # Any: JSON
    """What `run_facts` found as a table that fits a terminal: the names give way to what came of a run."""
    outcomes = [_outcome(each) for each in facts]
    columns = [["id", *(each["id"] for each in facts)], ["2026-01-31 12:00"], outcomes]
    columns.append(["cases", *map(_cases, facts)])
    room = WIDTH - sum(max(map(len, column)) for column in columns) - 5 * len("  ")
    widths = _shared(room, *(max(reports.width_of(each[name]) for each in facts) for name in ("suite", "target")))
    rows = [
        [
            each["id"],
            when(each["started"]),
            cut(each["suite"], widths[0]),
            cut(each["target"], widths[1]),
            _cases(each),
            outcome,
        ]
        for each, outcome in zip(facts, outcomes, strict=True)
    ]
    return table(rows, header=["id", "started (UTC)", "suite", "target", "cases", "outcome"], right=(4,))


def _shared(room: int, first: int, second: int) -> tuple[int, int]:
    """The widths of two columns that want so much: the shorter one gets it, the longer one what is left."""
    if first + second <= room:
        return first, second
    half = max(NARROWEST, room // 2)
    if first <= half:
        return first, max(NARROWEST, room - first)
    return (room - second, second) if second <= half else (half, half)


def _cases(fact: Mapping[str, Any]) -> str:  # Any: JSON
    """How many, and how often each is asked where that is more than once."""
    return f"{fact['cases']} × {fact['repeats']}" if fact["repeats"] > 1 else str(fact["cases"])


def _outcome(fact: Mapping[str, Any]) -> str:  # Any: JSON
    """Score and verdict of a run that was finished, else how it stands."""
    if fact["paused"] and fact["status"] == "paused":
        return f"paused: {fact['paused'].partition(':')[0]}"
    if fact["verdict"] is None or fact["status"] != "completed":
        return str(fact["status"])
    return f"{'–' if fact['score'] is None else format(fact['score'], '.3f')} {fact['verdict']}"


def check_cases(store: Store, record: RunRecord, wanted: Sequence[str]) -> None:
    """`InputError` for a case that the run did not play."""
    if not wanted:
        return
    known = {result.case_id for result in store.results.read(record.id, with_cases=False)}
    for case_id in wanted:
        if case_id not in known:
            near = get_close_matches(case_id, known, n=1, cutoff=0.6)
            every = advised(f"cortex runs show {record.id} --replies")
            hint = f"Did you mean {near[0]!r}?" if near else f"See them all: {every}"
            raise InputError(f"Run {record.id} has no case {case_id!r}. {hint}")


def print_cases(store: Store, report: Report, *, failed: bool, only: Sequence[str] = ()) -> None:
    """The cases of a run with what was said, on stdout: all, those that `failed`, or `only` some, whole."""
    where = FAILED_RESULTS if failed else ALL_RESULTS
    lines = case_lines(store, report, where=where, only=only)
    first = next(lines, None)
    if not only:
        out("")  # the summary stands before them
    if first is None and failed:
        out("None of these cases failed." if only else "No case failed.")
    for line in chain([first], lines) if first is not None else ():
        out(line)


def case_lines(store: Store, report: Report, *, where: str, only: Sequence[str] = ()) -> Iterator[str]:
    """Results with what was asked, what came, and why it failed; those of the cases `only` whole."""
    record, quarantined = report.run, {each.case_id for each in report.quarantine}
    for result in store.results.read(record.id, where=where):
        if only and result.case_id not in only:
            continue
        turn = f" turn {result.turn + 1}" if len(result.case.turns) > 1 else ""
        repeat = f" repeat {result.repeat + 1}" if record.repeats > 1 else ""
        overall = "" if result.overall is None else f"  {result.overall:.2f}"
        mark = "  (in quarantine)" if result.case_id in quarantined else ""
        yield f"{cut(result.case_id, 50)}{turn}{repeat}  {result.state}{overall}{mark}"
        lines = list(_told(result, is_whole=bool(only)))
        width = max(len(name) for name, _ in lines)
        for name, text in lines:
            kept = MOST_SHOWN if only or name == "error" else TEXT_SHOWN
            yield textwrap.fill(
                cut_at_word(text, kept),
                80,
                initial_indent=f"  {name.ljust(width)}  ",
                subsequent_indent=" " * (width + 4),
            )
        yield ""


def _told(result: Result, *, is_whole: bool) -> Iterator[tuple[str, str]]:
    """What there is to say of one result, each part with its name; `is_whole`: also the scores that passed."""
    case, reply = result.case, result.reply
    yield "asked", case.input
    if case.expected.answer:
        yield "expected", case.expected.answer
    if reply is not None:
        yield "replied", reply.text if reply.text.strip() else "(blank)" if reply.text else "(no text)"
        yield from _stated(reply)
    if result.error is not None:
        yield "error", f"{result.error.kind}: {result.error.message}"
    for name, score in result.scores.items():
        if is_whole or score.get("passed") is False:
            yield cut(name, 20), f"{_value(score)}  {score.get('reason', '')}"


def _stated(reply: Reply) -> Iterator[tuple[str, str]]:
    """What of an answer was read beside its text, so that one sees whether the paths of `reply:` are right."""
    for name in ("intent", "label", "tool", "language", "transcript", "model"):
        if (value := getattr(reply, name)) is not None:
            yield name, str(value)
    if reply.confidence is not None:
        yield "confidence", f"{reply.confidence:.2f}"
    for name in ("entities", "arguments"):
        if value := getattr(reply, name):
            yield name, to_json(value).decode()
    if reply.tool_calls:
        yield "tool_calls", ", ".join(call.name for call in reply.tool_calls)
    for name in ("contexts", "citations"):
        if texts := getattr(reply, name):
            yield name, f"{len(texts)}: {' / '.join(texts)}"


def _value(score: dict[str, Any]) -> str:  # Any: JSON
    value = analysis.figure_of(score)
    return "–" if value is None else f"{value:.2f}"
