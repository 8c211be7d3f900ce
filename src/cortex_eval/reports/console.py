"""The summary that a terminal shows: figures first, the verdict last."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from cortex_eval.analysis import Report, Unscored
from cortex_eval.reports.calls import calls_sentence
from cortex_eval.reports.critical import LEAD, critical_items
from cortex_eval.reports.error_analysis import top_fixes, top_fixes_lines
from cortex_eval.reports.figures import figure_lines
from cortex_eval.reports.text import cut, visible
from cortex_eval.reports.words import (
    CRITICAL_BROKEN,
    broken_sentence,
    counted_cases,
    figure_rows,
    interval_of,
    main_metric,
    mean_of,
    plural,
    target_label,
    telling_checks,
    unscored_remark,
    verdict_words,
    worst_first,
)

WIDTH = 80
CATEGORIES_SHOWN = 8
ERROR_KINDS_SHOWN = 4
MESSAGE_SHOWN = 500
"""Characters of an error message: what it says is what to do, and a page of HTML in it is not."""
_COLOURS = {"passed": "32", "inconclusive": "33", "regressed": "31", "below": "31", "error": "31"}


def render_console(report: Report, *, colour: bool = False, failed_are_shown: bool = False) -> str:
    """The summary as text of at most 80 columns, with a newline at its end; colour only when asked for.

    `failed_are_shown`: the failed cases stand beside it, so that it need not say how to see them.
    """
    parts = [
        _header(report),
        *_metrics(report),
        *_notes(report),
        *_calls(report),
        *_errors(report),
        *_categories(report),
        *_figures(report),
        *top_fixes_lines(report),
        "",
    ]
    parts += _verdict(report, colour=colour, failed_are_shown=failed_are_shown)
    return "\n".join(parts) + "\n"


def _header(report: Report) -> str:
    totals, dataset = report.totals, report.run.dataset.name
    counted = counted_cases(report)
    if totals.turns != totals.cases:
        counted += f", {totals.turns:,} {plural('turn', totals.turns)}"
    return cut(f"{visible(dataset)} ({counted}) → {visible(target_label(report))}", WIDTH)


def _metrics(report: Report) -> list[str]:
    rows: list[tuple[str, str, str, str, str]] = []
    for name, metric in figure_rows(report):
        if isinstance(metric, Unscored):
            rows.append((visible(name), "–", "", f"0/{metric.total}", unscored_remark(metric)))
            continue
        remark = f"{metric.errors} {plural('error', metric.errors)}" if metric.errors else ""
        rows.append((visible(name), mean_of(metric), interval_of(metric), f"{metric.scored}/{metric.total}", remark))
    return ["", *(_aligned(rows, right=(1, 3)) if rows else ["  nothing was scored"])]


def _notes(report: Report) -> list[str]:
    if not report.notes:
        return []
    return ["", *(line for note in report.notes for line in _note(visible(note)))]


def _note(note: str) -> list[str]:
    """A note in lines; a command at its end is in one of them, for broken over two it cannot be copied."""
    told, found, command = note.rpartition(": cortex ")
    if not found or ". " in command:  # it is not the end
        return _wrapped(note, indent="  ")
    lines = _wrapped(f"{told}:", indent="  ")
    command = f"cortex {command}"
    fits = len(lines[-1]) + len(command) < WIDTH
    return [*lines[:-1], f"{lines[-1]} {command}"] if fits else [*lines, f"    {command}"]


def _calls(report: Report) -> list[str]:
    sentence = calls_sentence(report)
    return ["", *_wrapped(visible(sentence), indent="  ")] if sentence else []


def _errors(report: Report) -> list[str]:
    if not report.totals.errors:
        return []
    count, kinds = report.totals.errors, list(report.error_kinds.items())
    first = ". Mend the set-up first:" if any(each.is_setup for each in report.patterns) else ""
    lines = ["", f"  {count:,} {plural('case', count)} without a result{first}"]
    for kind, turns in kinds[:ERROR_KINDS_SHOWN]:
        message = " ".join(visible(report.error_messages.get(kind, "")).split())
        if any(message in note for note in report.notes):  # a scorer's error, told above
            message = ""
        lines += _wrapped(
            f"{turns:,} {visible(kind)}   {cut(message, MESSAGE_SHOWN)}".rstrip(), indent="  ", hanging="    "
        )
    rest = len(kinds) - ERROR_KINDS_SHOWN
    return [*lines, f"  … and {rest} more {plural('kind', rest)} of error"] if rest > 0 else lines


def _categories(report: Report) -> list[str]:
    groups = worst_first(report, dict(report.categories))
    name = main_metric(report)
    if len(groups) < 2 or name is None:
        return []
    rows = []
    for category, group in groups[:CATEGORIES_SHOWN]:
        metric, totals = group.metrics.get(name), group.totals
        failed = ", ".join(
            f"{count} {word}" for count, word in ((totals.failed, "failed"), (totals.errors, "in error")) if count
        )
        figures = (mean_of(metric), interval_of(metric)) if metric else ("–", "")
        rows.append((visible(category), *figures, f"{totals.cases} {plural('case', totals.cases)}", failed))
    lines = ["", f"  {name} by category, worst first", *_aligned(rows, right=(1, 3))]
    rest = len(groups) - CATEGORIES_SHOWN
    return [*lines, f"  … and {rest} more {'category' if rest == 1 else 'categories'}"] if rest > 0 else lines


def _figures(report: Report) -> list[str]:
    """What a run shows beside its metrics, a line or two each."""
    lines: list[str] = []
    for label, sentence in figure_lines(report):
        lines += _wrapped(f"{label.ljust(11)} {visible(sentence)}", indent="  ", hanging=" " * 14)
    return ["", *lines] if lines else []


def _verdict(report: Report, *, colour: bool, failed_are_shown: bool) -> list[str]:
    words = verdict_words(report, failed_are_shown=failed_are_shown)
    title = words.title.upper()
    first, *further = _apart(report, words.sentences)
    lines = _wrapped(f"{title}  {visible(first)}", indent="")
    if colour:
        lines[0] = lines[0].replace(title, f"\x1b[1;{_COLOURS[report.gate.verdict]}m{title}\x1b[0m", 1)
    for sentence in further:
        lines += _wrapped(visible(sentence), indent="")
    for sentence in words.beside:
        lines += _critical(report) if sentence.startswith(LEAD) else _wrapped(visible(sentence), indent="")
    before = f"Run {report.run.id} saved. "
    if not words.steps:
        lines.append(before.rstrip())
    for step in words.steps:
        label = f"{before}{step.label}:"
        fits = len(label) + len(step.command) < WIDTH  # a command that is broken over two lines cannot be copied
        lines += [f"{label} {step.command}"] if fits else [label, f"  {step.command}"]
        before = ""
    return lines


def _apart(report: Report, sentences: Sequence[str]) -> list[str]:
    """What happened; cases that broke stand in a line of their own, for nobody should have to look for them."""
    *first, last = sentences
    if first and last == broken_sentence(report):
        return [" ".join(first), f"Newly broken: {last}"]
    if first and any(check.name == CRITICAL_BROKEN for check in telling_checks(report)[:1]):
        return [sentences[0], " ".join(sentences[1:])]
    return [" ".join(sentences)]


def _critical(report: Report) -> list[str]:
    """What failed that must not, a line or two each; what the fixes above say of it is not said again."""
    items = [visible(each) for each in critical_items(report, [fix.action for fix in top_fixes(report)])]
    if len(items) == 1:
        return _wrapped(f"{LEAD}{items[0]}.", indent="")
    return [LEAD.rstrip(), *(line for each in items for line in _wrapped(each, indent="  ", hanging="    "))]


def _aligned(rows: Sequence[tuple[str, str, str, str, str]], *, right: tuple[int, ...]) -> list[str]:
    rows = [(cut(row[0], 26), *row[1:]) for row in rows]
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        line = f"  {cells[0]}   {cells[1]}  {cells[2]}   {cells[3]}   {cells[4]}"
        lines.append(cut(line.rstrip(), WIDTH))
    return lines


def _wrapped(text: str, *, indent: str, hanging: str | None = None) -> list[str]:
    further = indent if hanging is None else hanging
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=further, break_on_hyphens=False)
