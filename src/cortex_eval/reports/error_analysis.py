"""The error analysis as people read it: patterns in the order of mending, in the terminal and as Markdown."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import NamedTuple

from cortex_eval.analysis import ConfusedPair, Pattern, PatternChange, Report, Slice, percent
from cortex_eval.core import redact
from cortex_eval.reports.text import as_code, as_plain, cut, visible
from cortex_eval.reports.words import counted_cases, plural, target_label, with_config

WIDTH = 80
PATTERNS_SHOWN = 10
PAIRS_SHOWN = 10
CASES_SHOWN = 8
TOP = 3
_EFFECTS = {"added": "new", "grew": "grew", "removed": "gone", "shrank": "shrank", "same": "as before"}


class Fix(NamedTuple):
    """One thing to do, in words."""

    action: str
    where: str
    """Empty: no place is known."""
    gain: str
    """Such as `+5.4 points`."""
    cases: str
    """Such as `19 cases`."""
    title: str
    """What is wrong."""


def top_fixes(report: Report, limit: int = TOP) -> list[Fix]:
    """What to mend first, in words."""
    return [
        Fix(each.action, each.location or "", gain_words(each.gain), _counted(each.count), each.title)
        for each in top_patterns(report, limit)
    ]


def setup_patterns(report: Report) -> list[Pattern]:
    """What keeps cases from being asked or judged at all: it is mended first, and wins no points."""
    return [each for each in report.patterns if each.is_setup]


def top_patterns(report: Report, limit: int = TOP) -> list[Pattern]:
    """The patterns to mend first, none of them mostly for the cases of one before it; the set-up is told apart."""
    chosen: list[Pattern] = []
    for pattern in report.patterns:
        cases = set(pattern.cases)
        is_covered = any(2 * len(cases & set(other.cases)) > len(cases) for other in chosen)
        if not pattern.is_setup and not is_covered:
            chosen.append(pattern)
        if len(chosen) == limit:
            break
    return chosen


def gain_words(gain: float) -> str:
    """A share of all cases as points of the pass rate."""
    return f"+{100 * gain:.1f} points" if gain >= 0.0005 else "under 0.1 points" if gain > 0 else "+0 alone"


def together_words(pattern: Pattern) -> str:
    """With what a pattern wins something back that wins nothing alone; empty: it does alone, or never does."""
    if not pattern.needs:
        return ""
    others = "; ".join(f"“{title.rstrip('.')}”" for title in pattern.needs)
    return f"{gain_words(pattern.joint_gain)} with {others}"


def render_analysis(report: Report, changes: Sequence[PatternChange] | None = None, *, since: str = "") -> str:
    """The analysis as text of at most 80 columns, with a newline at its end.

    `changes` are what became of the patterns since the run `since`.
    """
    parts = [*_head(report), *(["", *_change_lines(changes, since)] if changes is not None else [])]
    parts += _setup_lines(report)
    others = _others(report)
    for number, pattern in enumerate(others[:PATTERNS_SHOWN], 1):
        parts += ["", *_pattern_lines(number, pattern)]
    rest = len(others) - PATTERNS_SHOWN
    if rest > 0:
        parts += ["", f"… and {rest} more {plural('pattern', rest)}, in the file and with --json"]
    parts += [*_pair_lines(report.confusions), *_slice_lines(report.slices)]
    if report.patterns:
        command = with_config(f"cortex runs show {report.run.id} --failed", report.run)
        parts += ["", f"Read the cases: {command}"]
    return "\n".join(parts) + "\n"


def _head(report: Report) -> list[str]:
    bad = report.totals.failed + report.totals.errors
    name = f"{visible(report.run.dataset.name)} ({counted_cases(report)}) → {visible(target_label(report))}"
    lines = [cut(f"{name}, run {report.run.id}", WIDTH)]
    if not bad:
        return [*lines, "Every case passed: there is nothing to explain."]
    failed = f"{bad:,} of {_counted(report.totals.cases)} did not pass."
    if not report.patterns:
        return [*lines, f"{failed} No two fail for the same reason."]
    count = len(report.patterns) - len(setup_patterns(report))
    if not count:
        return [*lines, failed]
    first = "what is critical first, then " if any(each.is_critical for each in report.patterns) else ""
    ranked = f"{count} {plural('pattern', count)}, {first}by what a fix would win back of the pass rate."
    return [*lines, *_wrapped(f"{failed} {ranked}", "", "")]


def _setup_lines(report: Report) -> list[str]:
    """What an error itself says is what to do: in full."""
    found = setup_patterns(report)
    lines = ["", "Mend the set-up first: these cases say nothing about the answers."] if found else []
    for each in found:
        lines += _wrapped(f"{_counted(each.count)}, {each.about[0] if each.about else each.type}", "  ", "  ")
        lines += _wrapped(visible(each.action), "    ", "    ")
    return lines


def _pattern_lines(number: int, pattern: Pattern) -> list[str]:
    shown = ", ".join(visible(case) for case in pattern.cases[:CASES_SHOWN])
    more = pattern.count - min(CASES_SHOWN, len(pattern.cases))
    level = "critical" if pattern.is_critical else f"{pattern.priority} priority"
    facts = f"{pattern.type} · {_counted(pattern.count)} · {level} · {gain_words(pattern.gain)}"
    rows = [
        ("likely cause", pattern.root_cause),
        ("fix", pattern.action),
        ("together", together_words(pattern)),
        ("where", pattern.location or ""),
        ("seen", pattern.evidence),
        ("cases", shown + (f" and {more:,} more" if more > 0 else "")),
    ]
    lines = _wrapped(visible(pattern.title), f"{number:2}. ", "    ")
    lines += _wrapped(facts, "    ", "    ")
    for label, text in rows:
        if text:
            lines += _wrapped(visible(text), f"    {label:12} ", " " * 17)
    return lines


def _pair_lines(pairs: Sequence[ConfusedPair]) -> list[str]:
    if not pairs:
        return []
    shown = [(visible(f"{each.expected} → {each.actual}"), each) for each in pairs[:PAIRS_SHOWN]]
    width = min(52, max(len(name) for name, _ in shown))
    lines = ["", "Taken for something else most often (expected → found)"]
    for name, each in shown:
        example = visible(each.cases[0]) if each.cases else ""
        lines.append(cut(f"  {each.count:5,}  {cut(name, width).ljust(width)}  {example}", WIDTH).rstrip())
    return lines


def _slice_lines(slices: Sequence[Slice]) -> list[str]:
    if not slices:
        return []
    lines = ["", "Where cases fail more often than the rest (95 % interval)"]
    for each in slices:
        rates = f"{percent(each.rate)} [{percent(each.low)}, {percent(each.high)}] of {each.cases:,} {each.unit}"
        lines += _wrapped(f"{rates}, {percent(each.rest_rate)} elsewhere: {visible(each.title)}", "  ", "      ")
    return lines


def _change_lines(changes: Sequence[PatternChange], since: str) -> list[str]:
    """What became of the patterns, for the terminal."""
    moved = [each for each in changes if each.effect != "same"]
    lines = [f"Since run {since}" if since else "Since the run before"]
    if not moved:
        return [*lines, "  Every pattern is as it was."]
    for each in moved:
        noise = ", may be noise" if each.may_be_noise else ""
        line = f"{each.before} → {each.after} {plural('case', each.after)}{noise}: {each.title}"
        lines += _wrapped(visible(line), f"  {_EFFECTS[each.effect]:6} ", " " * 9)
    same = len(changes) - len(moved)
    return [*lines, f"  {same} {plural('pattern', same)} as before"] if same else lines


def render_analysis_markdown(report: Report, changes: Sequence[PatternChange] | None = None, *, since: str = "") -> str:
    """The analysis as the Markdown file `error_analysis_….md`; foreign text stands in code spans."""
    bad = report.totals.failed + report.totals.errors
    lines = [
        f"# Error analysis: {as_code(report.run.suite)} on {as_code(target_label(report))}",
        "",
        f"Run {as_code(report.run.id)} · {report.timestamp} · dataset {as_code(report.run.dataset.name)}",
        "",
        f"{bad:,} of {_counted(report.totals.cases)} did not pass.",
        "",
        *(_change_table(changes, since) if changes is not None else []),
        *_setup_markdown(report),
        *top_fixes_markdown(report),
        *(line for number, each in enumerate(_others(report), 1) for line in _pattern_section(number, each)),
        *_pair_table(report.confusions),
        *_slice_table(report.slices),
    ]
    return redact("\n".join(lines).rstrip() + "\n")


def _others(report: Report) -> list[Pattern]:
    return [each for each in report.patterns if not each.is_setup]


def _setup_markdown(report: Report) -> list[str]:
    found = setup_patterns(report)
    lines = [f"- {_counted(each.count)}, {as_plain(each.title)}: {as_plain(each.action)}" for each in found]
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
    return [*lines, ""]


def top_fixes_lines(report: Report) -> list[str]:
    """The first three fixes for the terminal; nothing when there are none."""
    fixes = top_fixes(report)
    if not fixes:
        return []
    first = "critical first, then " if any(each.is_critical for each in top_patterns(report)) else ""
    lines = ["", f"  Top fixes, {first}by what they would win back of the pass rate"]
    width = max(len(fix.gain) for fix in fixes)
    for fix in fixes:
        about = ", ".join(part for part in (fix.cases, visible(fix.where)) if part)
        lines += _wrapped(f"{visible(fix.action)} ({about})", f"  {fix.gain.rjust(width)}  ", " " * (width + 4))
    return lines


def _pattern_section(number: int, pattern: Pattern) -> list[str]:
    shown = ", ".join(as_code(case) for case in pattern.cases)
    more = pattern.count - len(pattern.cases)
    score = f", {100 * pattern.score_gain:+.1f} of the overall score" if pattern.score_gain is not None else ""
    lines = [
        f"## {number}. {as_plain(pattern.title)}",
        "",
        f"- Type: {as_code(pattern.type)}, {'critical' if pattern.is_critical else f'{pattern.priority} priority'}",
        f"- Likely cause: {as_plain(pattern.root_cause)}",
        f"- Fix: {as_plain(pattern.action)}",
        f"- Where: {as_code(pattern.location)}" if pattern.location else "- Where: not stated in `fix_locations:`",
        f"- Wins back: {gain_words(pattern.gain)} of the pass rate{score}; {_counted(pattern.count)}",
    ]
    if together := together_words(pattern):
        lines.append(f"- Together: {as_plain(together)}")
    if pattern.evidence:
        lines.append(f"- Seen: {as_plain(pattern.evidence)}")
    lines.append(f"- Cases: {shown}" + (f" and {more:,} more" if more > 0 else ""))
    if len(pattern.confusions) > 1:
        lines += ["", "| Expected | Found | Cases |", "|---|---|---:|"]
        lines += [
            f"| {as_code(each.expected)} | {as_code(each.actual)} | {each.count} |"
            for each in pattern.confusions[:PAIRS_SHOWN]
        ]
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
            f"| {as_code(each.title)}{same} | {percent(each.rate)} | [{percent(each.low)}, {percent(each.high)}] "
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
        lines.append(f"| {_EFFECTS[each.effect]} | {title} | {each.before} | {each.after} | {p_value} | {noise} |")
    return [*lines, ""]


def _counted(count: int) -> str:
    return f"{count:,} {plural('case', count)}"


def _wrapped(text: str, first: str, then: str) -> list[str]:
    return textwrap.wrap(
        " ".join(text.split()), WIDTH, initial_indent=first, subsequent_indent=then, break_on_hyphens=False
    )
