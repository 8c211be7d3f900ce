"""A comparison of runs as a terminal and as a pull request show it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from cortex_eval.analysis import CaseChange, Comparison, Versus
from cortex_eval.core import redact
from cortex_eval.reports.text import as_code, cut, in_a_line, visible
from cortex_eval.reports.versus_words import (
    ADJUSTED,
    bounds_sentences,
    category_outcome,
    change,
    critical_count,
    figure,
    interval,
    outcome,
    repeat_sentence,
    replies_shown,
    run_label,
    steps,
    system,
    verdict_sentences,
)

WIDTH = 80
CATEGORIES_SHOWN = 8
CASES_SHOWN = 15
REPLIES_SHOWN = 5
"""Newly broken cases that are shown with what was replied before and now."""
WORDS_SHOWN = 120
"""Characters of a question or a reply in a Markdown table."""
_COLOURS = {
    "nothing to compare": "31",
    "worse": "31",
    "new critical failures": "31",
    "within allowance": "33",
    "better": "32",
    "cannot tell": "33",
    "no difference seen": "0",
}
_LISTS = (
    ("newly_broken", "Newly broken"),
    ("newly_in_error", "In error now"),
    ("newly_fixed", "Newly fixed"),
    ("flaky", "Flaky"),
)


def render_versus_console(versus: Versus, *, colour: bool = False) -> str:
    """The comparison as text of at most 80 columns; the verdict is last."""
    lines = list(_heads(versus))
    for note in versus.notes:
        lines += ["", *_wrapped(visible(note), "  ")]
    for place, found in enumerate(versus.comparisons, 1):
        lines += _console_comparison(found, run_label(place))
    title = versus.verdict.upper()
    said = _wrapped(f"{title}  {visible(' '.join(verdict_sentences(versus)))}", "")
    if colour:
        said[0] = said[0].replace(title, f"\x1b[1;{_COLOURS[versus.verdict]}m{title}\x1b[0m", 1)
    if any(each.differing for found in versus.comparisons for each in found.metrics.values()):
        lines += ["", *_wrapped(ADJUSTED, "  ")]
    lines += ["", *said]
    lines += [f"{step.label}: {step.command}" for step in steps(versus)]
    return "\n".join(lines) + "\n"


def render_versus_markdown(versus: Versus) -> str:
    """The comparison as Markdown for a pull request; foreign text stands in code spans, where nothing acts."""
    lines = [f"## {versus.verdict.capitalize()}", "", _plain(" ".join(verdict_sentences(versus))), ""]
    lines += ["| | Run | Target | Dataset | Started (UTC) |", "|---|---|---|---|---|"]
    for place, run in enumerate(versus.runs):
        started = (run.started or run.created)[:16].replace("T", " ")
        cells = (run_label(place), as_code(run.id), as_code(system(run)), as_code(run.dataset.name), started)
        lines.append(f"| {' | '.join(cells)} |")
    lines += [line for note in versus.notes for line in ("", _plain(note))]
    for place, found in enumerate(versus.comparisons, 1):
        lines += ["", *_markdown_comparison(found, run_label(place))]
    lines += [
        "",
        f"Exit code {versus.exit_code}. Intervals are of 95 %, each alone. {ADJUSTED}",
    ]
    return redact("\n".join(lines) + "\n")


def _heads(versus: Versus) -> Iterator[str]:
    for place, run in enumerate(versus.runs):
        started = (run.started or run.created)[:16].replace("T", " ")
        yield cut(
            f"{run_label(place)}  {run.id}  {started}  {visible(run.dataset.name)} → {visible(system(run))}", WIDTH
        )


def _console_comparison(found: Comparison, label: str) -> list[str]:
    rows = [
        (
            visible(each.name),
            figure(each, each.a),
            figure(each, each.b),
            change(each, each.diff),
            interval(each),
            outcome(each, found),
        )
        for each in found.metrics.values()
    ]
    lines = ["", *_aligned([("", "A", label, "change", "95 %", ""), *rows])]
    told = bounds_sentences(found)
    told += [repeat_sentence(name, each) for name, each in (("A", found.repeats_a), (label, found.repeats_b)) if each]
    for text in told:
        lines += ["", *_wrapped(visible(text), "  ")]
    lines += _console_categories(found)
    for field, title in _LISTS:
        lines += _console_cases(title, getattr(found, field))
    return lines


def _console_categories(found: Comparison) -> list[str]:
    moved = [each for each in found.categories if each.metric.diff or each.newly_broken or each.newly_fixed]
    if not moved:
        return []
    rows = [
        (
            visible(each.category),
            figure(each.metric, each.metric.a),
            figure(each.metric, each.metric.b),
            change(each.metric, each.metric.diff),
            "",
            category_outcome(each, found),
        )
        for each in moved[:CATEGORIES_SHOWN]
    ]
    is_worse = any(each.newly_broken or (each.metric.diff or 0) < 0 for each in moved)
    title = f"  {moved[0].metric.name} by category{', what got worse first' if is_worse else ''}"
    lines = ["", title, *_aligned(rows)]
    rest = len(moved) - CATEGORIES_SHOWN
    return [*lines, f"  … and {rest} more"] if rest > 0 else lines


def _console_cases(title: str, cases: Sequence[CaseChange]) -> list[str]:
    if not cases:
        return []
    critical = sum(each.is_critical for each in cases)
    all_critical = critical == len(cases)
    lines = ["", f"  {critical_count(f'{title}: {len(cases):,}', len(cases), critical)}"]
    shown = cases[:CASES_SHOWN]
    width = min(30, max(len(visible(each.case_id)) for each in shown))
    for place, each in enumerate(shown):
        remark = "critical: " if each.is_critical and not all_critical else ""
        remark += f"{visible(each.why)}{_flaky(each) if title != 'Flaky' else ''}"
        lines.append(cut(f"  {cut(visible(each.case_id), width).ljust(width)}  {remark}", WIDTH))
        lines += _console_words(each, with_replies=title == "Newly broken" and place < REPLIES_SHOWN)
    rest = len(cases) - CASES_SHOWN
    return [*lines, f"  … and {rest:,} more: --json has all"] if rest > 0 else lines


def _flaky(change: CaseChange) -> str:
    """What else is known of a case that cannot be relied on."""
    if any(change.asked_again):
        return f" (asked again: passed {sum(change.asked_again)} of {len(change.asked_again)})"
    return " (flaky before)" if change.is_flaky else ""


def _console_words(change: CaseChange, *, with_replies: bool) -> Iterator[str]:
    """What was asked in a line, and what was replied then and now in a line each."""
    if change.question is None:
        return
    yield f"    {in_a_line(change.question, WIDTH - 4)}"
    if with_replies:
        was, now = replies_shown(change, WIDTH - 9)
        yield f"    was: {in_a_line(was, WIDTH - 9)}"
        yield f"    now: {in_a_line(now, WIDTH - 9)}"


def _markdown_comparison(found: Comparison, label: str) -> list[str]:
    lines = [
        f"| Metric | A | {label} | Change | 95 % interval | Verdict | Pairs |",
        "|---|---:|---:|---:|---|---|---:|",
    ]
    for each in found.metrics.values():
        cells = (as_code(each.name), figure(each, each.a), figure(each, each.b), change(each, each.diff))
        lines.append(f"| {' | '.join((*cells, interval(each), outcome(each, found), str(each.pairs)))} |")
    for text in bounds_sentences(found):
        lines += ["", _plain(text)]
    moved = [each for each in found.categories if each.metric.diff or each.newly_broken or each.newly_fixed]
    if moved:
        lines += ["", f"| Category | A | {label} | Change | |", "|---|---:|---:|---:|---|"]
        for row in moved:
            means = (figure(row.metric, row.metric.a), figure(row.metric, row.metric.b))
            cells = (as_code(row.category), *means, change(row.metric, row.metric.diff))
            lines.append(f"| {' | '.join((*cells, category_outcome(row, found)))} |")
    for field, title in _LISTS:
        lines += _markdown_cases(title, getattr(found, field))
    return lines


def _markdown_cases(title: str, cases: Sequence[CaseChange]) -> list[str]:
    if not cases:
        return []
    summary = critical_count(f"{title}: {len(cases)}", len(cases), sum(each.is_critical for each in cases))
    shown = cases[: 4 * CASES_SHOWN]
    has_words = any(each.question is not None for each in shown)
    heads = ["Case", *(["Question", "Was", "Now"] if has_words else []), "Category", "Why"]
    lines = ["", f"<details><summary>{summary}</summary>", "", f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for each in shown:
        marks = " (critical)" if each.is_critical else ""
        why = as_code(each.why) + (_flaky(each) if title != "Flaky" else "")
        said = (each.question or "–", *replies_shown(each, WORDS_SHOWN))
        words = [as_code(text, WORDS_SHOWN) for text in said] if has_words else []
        category = as_code(each.category) if each.category else "–"
        lines.append(f"| {' | '.join((as_code(each.case_id) + marks, *words, category, why))} |")
    rest = len(cases) - len(shown)
    more = [f"| … and {rest} more |{' |' * (len(heads) - 1)}"] if rest > 0 else []
    return [*lines, *more, "", "</details>"]


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    rows = [(cut(row[0], 22), *row[1:]) for row in rows]
    widths = [max(len(row[column]) for row in rows) for column in range(6)]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if column in (0, 4, 5) else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append(
            cut(f"  {'  '.join(each for each, width in zip(cells, widths, strict=True) if width)}".rstrip(), WIDTH)
        )
    return lines


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)


def _plain(sentence: str) -> str:
    """A sentence of ours; it may hold a metric's or category's name, whose marks must not act."""
    sentence = visible(sentence)
    for mark in "\\`*_[]<>|":
        sentence = sentence.replace(mark, "\\" + mark)
    return sentence
