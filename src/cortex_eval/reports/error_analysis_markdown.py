"""The error analysis as the Markdown file that stands among the reports."""

from __future__ import annotations

from collections.abc import Sequence

from cortex_eval.analysis import ConfusedPair, Pattern, PatternChange, Report, Slice, percent
from cortex_eval.core import redact
from cortex_eval.reports.error_analysis import (
    CRITICAL,
    EFFECTS,
    OVERLAP,
    PAIRS_SHOWN,
    cause_words,
    counted,
    critical_facts,
    gain_words,
    joints,
    other_patterns,
    points_overlap,
    rescoring,
    seen_words,
    setup_patterns,
    slice_title,
    top_fixes,
    top_patterns,
    wins_words,
)
from cortex_eval.reports.passed_numbers import passed_numbers_markdown
from cortex_eval.reports.text import as_code, as_plain
from cortex_eval.reports.words import target_label


def render_analysis_markdown(report: Report, changes: Sequence[PatternChange] | None = None, *, since: str = "") -> str:
    """The analysis as the Markdown file `error_analysis_….md`; foreign text stands in code spans."""
    bad = report.totals.failed + report.totals.errors
    lines = [
        f"# Error analysis: {as_code(report.run.suite)} on {as_code(target_label(report))}",
        "",
        f"Run {as_code(report.run.id)} · {report.timestamp} · dataset {as_code(report.run.dataset.name)}",
        "",
        f"{bad:,} of {counted(report.totals.cases)} did not pass.",
        "",
        *(_change_table(changes, since) if changes is not None else []),
        *_setup_markdown(report),
        *top_fixes_markdown(report),
        *(line for number, each in enumerate(other_patterns(report), 1) for line in _pattern_section(number, each)),
        *_together_section(other_patterns(report)),
        *_pair_table(report.confusions),
        *_slice_table(report.slices),
        *passed_numbers_markdown(report),
    ]
    return redact("\n".join(lines).rstrip() + "\n")


def _setup_markdown(report: Report) -> list[str]:
    found = setup_patterns(report)
    lines = [
        f"- {counted(each.count)}, {as_plain(each.title)}: {as_plain(each.action)}"
        + (f" `{rescoring(report)}`" if each.type == "judge_error" else "")
        for each in found
    ]
    return ["## Mend the set-up first", "", *lines, ""] if lines else []


def top_fixes_markdown(report: Report) -> list[str]:
    """The first three fixes as a table."""
    fixes = top_fixes(report)
    if not fixes:
        return []
    lines = ["## Top fixes", "", "| | Fix | Where | Wins back | Cases |", "|---|---|---|---:|---:|"]
    for number, fix in enumerate(fixes, 1):
        where = as_code(fix.where) if fix.where else "–"
        lines.append(f"| {number} | {as_plain(fix.action)} | {where} | {fix.gain} | {fix.cases} |")
    legend = ["", f"Critical: {CRITICAL}."] if any(each.is_critical for each in top_patterns(report)) else []
    overlap = ["", f"{OVERLAP}."] if points_overlap(other_patterns(report)) else []
    return [*lines, *legend, *overlap, ""]


def _pattern_section(number: int, pattern: Pattern) -> list[str]:
    shown = ", ".join(as_code(case) for case in pattern.cases)
    more = pattern.count - len(pattern.cases)
    score = f", {100 * pattern.score_gain:+.1f} of the overall score" if pattern.score_gain is not None else ""
    level = ", ".join(critical_facts(pattern)) if pattern.is_critical else f"{pattern.priority} priority"
    lines = [
        f"## {number}. {as_plain(pattern.title)}",
        "",
        f"- Type: {as_code(pattern.type)}, {level}",
        *([f"- Likely cause: {as_plain(cause)}"] if (cause := cause_words(pattern)) else []),
        f"- Fix: {as_plain(pattern.action)}",
        f"- Where: {as_code(pattern.location)}" if pattern.location else "- Where: not stated in `fix_locations:`",
        _worth(pattern, score),
    ]
    if seen := seen_words(pattern):
        lines.append(f"- Seen: {as_plain(seen)}")
    lines.append(f"- Cases: {shown}" + (f" and {more:,} more" if more > 0 else ""))
    if len(pattern.confusions) > 1:
        lines += ["", "| Expected | Found | Cases |", "|---|---|---:|"]
        lines += [
            f"| {as_code(each.expected)} | {as_code(each.actual)} | {each.count} |"
            for each in pattern.confusions[:PAIRS_SHOWN]
        ]
    return [*lines, ""]


def _worth(pattern: Pattern, score: str) -> str:
    """What mending it is worth; `score`: what it wins of the overall score."""
    points = f"{gain_words(pattern.gain)} of the pass rate" if pattern.gain else ""
    if not pattern.is_critical:
        return f"- Wins back: {points or wins_words(pattern)}{score}; {counted(pattern.count)}"
    won = f". Wins back: {points or 'nothing alone'}{score}" if points or score else ""
    return f"- Critical, {counted(pattern.count)}: {CRITICAL}{won}"


def _together_section(patterns: Sequence[Pattern]) -> list[str]:
    groups = joints(patterns, len(patterns))
    if not groups:
        return []
    lines = ["## Only together", "", "Cases with several faults pass when all of them are mended.", ""]
    lines += ["| Patterns | With | Together |", "|---|---|---:|"]
    for each in groups:
        partners = " and ".join(f"“{as_plain(title.rstrip('.'))}”" for title in each.partners)
        numbers, gains = zip(*((str(number), gain_words(gain)) for number, gain in each.wins), strict=True)
        lines.append(f"| {', '.join(numbers)} | {partners} | {', '.join(gains)} |")
    return [*lines, ""]


def _pair_table(pairs: Sequence[ConfusedPair]) -> list[str]:
    if not pairs:
        return []
    lines = ["## Taken for something else", "", "| Expected | Found | Cases | Such as |", "|---|---|---:|---|"]
    for each in pairs:
        examples = ", ".join(as_code(case) for case in each.cases[:3])
        lines.append(f"| {as_code(each.expected)} | {as_code(each.actual)} | {each.count} | {examples} |")
    return [*lines, ""]


def _slice_table(slices: Sequence[Slice]) -> list[str]:
    if not slices:
        return []
    lines = [
        "## Where cases fail more often than the rest",
        "",
        "Only what is significant at 5 % after Holm over all that was looked at.",
        "",
        "| | Fail | 95 % interval | Of | Elsewhere | p |",
        "|---|---:|---|---:|---:|---:|",
    ]
    for each in slices:
        same = f" (nearly the same: {', '.join(map(as_code, each.same_as))})" if each.same_as else ""
        p_value = f"{each.p_value:.2g}" if each.p_value >= 1e-6 else "< 1e-6"
        lines.append(
            f"| {as_code(slice_title(each))}{same} "
            f"| {percent(each.rate)} | [{percent(each.low)}, {percent(each.high)}] "
            f"| {each.cases:,} {each.unit} | {percent(each.rest_rate)} | {p_value} |"
        )
    return [*lines, ""]


def _change_table(changes: Sequence[PatternChange], since: str) -> list[str]:
    lines = [
        f"## Since run {as_code(since)}",
        "",
        "| | Pattern | Before | After | p | |",
        "|---|---|---:|---:|---:|---|",
    ]
    for each in changes:
        p_value = "–" if each.p_value is None else f"{each.p_value:.2g}" if each.p_value >= 1e-6 else "< 1e-6"
        noise = "may be noise" if each.may_be_noise else ""
        title = as_plain(each.title)
        lines.append(f"| {EFFECTS[each.effect]} | {title} | {each.before} | {each.after} | {p_value} | {noise} |")
    return [*lines, ""]
