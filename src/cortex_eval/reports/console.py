"""The summary that a terminal shows: figures first, the verdict last."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from cortex_eval.analysis import Report
from cortex_eval.reports.text import visible
from cortex_eval.reports.words import (
    interval_of,
    main_metric,
    mean_of,
    number,
    plural,
    target_label,
    verdict_words,
    worst_first,
)

WIDTH = 80
CATEGORIES_SHOWN = 8
_COLOURS = {"passed": "32", "inconclusive": "33", "regressed": "31", "below": "31", "error": "31"}


def render_console(report: Report, *, colour: bool = False) -> str:
    """The summary as text of at most 80 columns, with a newline at its end; colour only when asked for."""
    parts = [_header(report), *_metrics(report), *_errors(report), *_categories(report), "", *_verdict(report, colour)]
    return "\n".join(parts) + "\n"


def _header(report: Report) -> str:
    totals, dataset = report.totals, report.run.dataset.name
    counted = f"{totals.cases:,} {plural('case', totals.cases)}"
    if totals.turns != totals.cases:
        counted += f", {totals.turns:,} {plural('turn', totals.turns)}"
    return _cut(f"{visible(dataset)} ({counted}) → {visible(target_label(report))}", WIDTH)


def _metrics(report: Report) -> list[str]:
    if not report.metrics:
        return ["", "  nothing was scored"]
    rows = []
    for name, metric in report.metrics.items():
        remark = f"{metric.errors} {plural('error', metric.errors)}" if metric.errors else ""
        if name == "latency_ms" and report.latency_ms.p95 is not None:
            remark = f"p95 {number(report.latency_ms.p95, 'ms')}"
        rows.append((visible(name), mean_of(metric), interval_of(metric), f"{metric.scored}/{metric.total}", remark))
    return ["", *_aligned(rows, right=(1, 3))]


def _errors(report: Report) -> list[str]:
    if not report.totals.errors:
        return []
    kinds = ", ".join(f"{count} {kind}" for kind, count in list(report.error_kinds.items())[:4])
    count = report.totals.errors
    return ["", *_wrapped(f"{count} {plural('case', count)} without a result ({visible(kinds)})", indent="  ")]


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


def _verdict(report: Report, colour: bool) -> list[str]:
    words = verdict_words(report)
    title = words.title.upper()
    lines = _wrapped(f"{title}  {visible(words.sentence)}", indent="")
    if colour:
        lines[0] = lines[0].replace(title, f"\x1b[1;{_COLOURS[report.gate.verdict]}m{title}\x1b[0m", 1)
    saved = f"Run {report.run.id} saved. {words.next_step}:"
    fits = len(saved) + len(words.command) < WIDTH  # a command that is broken over two lines cannot be copied
    return [*lines, f"{saved} {words.command}"] if fits else [*lines, saved, f"  {words.command}"]


def _aligned(rows: Sequence[tuple[str, str, str, str, str]], *, right: tuple[int, ...]) -> list[str]:
    rows = [(_cut(row[0], 26), *row[1:]) for row in rows]
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        line = f"  {cells[0]}   {cells[1]}  {cells[2]}   {cells[3]}   {cells[4]}"
        lines.append(_cut(line.rstrip(), WIDTH))
    return lines


def _wrapped(text: str, *, indent: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
