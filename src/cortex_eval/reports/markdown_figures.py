"""The Markdown tables of what a run shows beside its metrics."""

from __future__ import annotations

from cortex_eval.analysis import KINDS, Confidence, Coverage, Parity, Report, mistaken_pairs
from cortex_eval.core import language_label
from cortex_eval.reports.figures import (
    COVERAGE_COLUMNS,
    classes_of,
    confidence_sentence,
    coverage_sentence,
    expectation_limit,
    hallucination_sentence,
    latency_sentence,
)
from cortex_eval.reports.text import as_code, as_plain
from cortex_eval.reports.words import number

PAIRS_SHOWN = 10
ROWS_SHOWN = 50


def figure_tables(report: Report) -> list[str]:
    """All of them that this run has, as lines."""
    return [
        *_expectations(report),
        *_latency(report),
        *_confidence(report.confidence),
        *_mistaken(report),
        *_claims(report),
        *_parity(report),
    ]


def coverage_table(coverage: Coverage | None, *, title: str = "## Coverage") -> list[str]:
    """The coverage matrix, gaps marked; nothing when there is none."""
    if coverage is None:
        return []
    head = "Intent" if coverage.by == "intent" else "Category"
    lines = [title, "", as_plain(coverage_sentence(coverage)) + ".", ""]
    lines += [
        f"| {head} | Turns | {' | '.join(COVERAGE_COLUMNS)} |",
        f"|---|---:|{'---:|' * len(KINDS)}",
    ]
    for name, row in list(coverage.rows.items())[:ROWS_SHOWN]:
        cells = [f"{row.counts[kind]:,}" if row.counts[kind] else "gap" for kind in KINDS]
        lines.append(f"| {as_code(name)} | {row.turns:,} | {' | '.join(cells)} |")
    rest = len(coverage.rows) - ROWS_SHOWN
    return [*lines, *(["", f"And {rest:,} more."] if rest > 0 else []), ""]


def _expectations(report: Report) -> list[str]:
    if not report.expectations:
        return []
    lines = ["## Hoped for", "", "They show how things stand, and decide nothing.", ""]
    lines += ["| Where | Figure | Value | 95 % interval | Hoped for | Scored | |", "|---|---|---:|---|---|---:|---|"]
    for each in report.expectations:
        where = "all cases" if each.tier is None else f"tier {as_plain(each.tier)}"
        interval = _interval(each.low, each.high, each.unit)
        cells = [where, as_code(each.name), number(each.value, each.unit), interval, expectation_limit(each)]
        lines.append(f"| {' | '.join(cells)} | {each.scored:,}/{each.total:,} | {each.outcome} |")
    return [*lines, ""]


def _latency(report: Report) -> list[str]:
    sentence = latency_sentence(report)
    return [] if sentence is None else ["## Latency", "", as_plain(sentence) + ".", ""]


def _confidence(confidence: Confidence | None) -> list[str]:
    if confidence is None:
        return []
    lines = ["## Confidence", "", as_plain(confidence_sentence(confidence)) + ".", ""]
    lines += ["| Stated | Mean | Right | 95 % interval | n |", "|---|---:|---:|---|---:|"]
    for each in confidence.bins:
        right = f"{each.accuracy:.2f} | {_interval(each.accuracy_low, each.accuracy_high)}"
        lines.append(f"| {each.low:.2f}–{each.high:.2f} | {each.mean_confidence:.2f} | {right} | {each.n:,} |")
    if confidence.categories:
        lines += ["", "| Category | p10 | p50 | p90 | Mean | Right | n |", "|---|---:|---:|---:|---:|---:|---:|"]
        for name, spread in list(confidence.categories.items())[:ROWS_SHOWN]:
            figures = (spread.p10, spread.p50, spread.p90, spread.mean, spread.accuracy)
            lines.append(f"| {as_code(name)} | {' | '.join(f'{each:.2f}' for each in figures)} | {spread.n:,} |")
    return [*lines, ""]


def _mistaken(report: Report) -> list[str]:
    lines: list[str] = []
    for name, found in report.classification.items():
        accuracy = f"{found.accuracy:.2f} {_interval(found.low, found.high)} ({found.correct:,}/{found.scored:,})"
        means = f"macro F1 {found.macro.f1:.2f}, weighted F1 {found.weighted.f1:.2f}"
        lines += [f"## Mistaken for each other: {as_code(name)}", ""]
        lines += [f"Accuracy {accuracy}, {means}, {classes_of(found)}.", ""]
        pairs = mistaken_pairs(found, limit=PAIRS_SHOWN)
        if pairs:
            lines += ["| Expected | Taken for | Times | Share | 95 % interval |", "|---|---|---:|---:|---|"]
        for each in pairs:
            shares = f"{each.count / each.of:.2f} | {_interval(each.low, each.high)}"
            lines.append(
                f"| {as_code(each.expected)} | {as_code(each.found)} | {each.count:,}/{each.of:,} | {shares} |"
            )
        lines += [""] if pairs else []
    return lines


def _claims(report: Report) -> list[str]:
    if not report.hallucination:
        return []
    said = [f"- {as_plain(hallucination_sentence(name, each))}." for name, each in report.hallucination.items()]
    return ["## Claims", "", *said, ""]


def _parity(report: Report) -> list[str]:
    if not report.parity:
        return []
    lines = [
        "## Languages beside each other",
        "",
        "Over pairs of parallel cases; below 0, the other language is worse.",
        "",
    ]
    lines += [
        "| Metric | Base | Other | Gap | 95 % interval | Pairs | Unpaired |",
        "|---|---:|---:|---:|---|---:|---:|",
    ]
    for each in report.parity:
        base, other = (f"{as_code(language_label(name or '?'))} {number(mean)}" for name, mean in _sides(each))
        gap = "–" if each.gap is None else f"{each.gap:+.2f}"
        cells = [as_code(each.metric), base, other, gap, _interval(each.low, each.high), str(each.pairs)]
        lines.append(f"| {' | '.join(cells)} | {each.unpaired} |")
    return [*lines, ""]


def _sides(each: Parity) -> tuple[tuple[str, float | None], tuple[str, float | None]]:
    return (each.base, each.base_mean), (each.other, each.other_mean)


def _interval(low: float | None, high: float | None, unit: str = "") -> str:
    if low is None or high is None:
        return ""
    return f"[{low:,.0f}, {high:,.0f}]" if unit else f"[{low:.2f}, {high:.2f}]"
