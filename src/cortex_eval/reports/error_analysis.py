"""The error analysis as people read it: patterns in the order of mending, and their words for every rendering."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import NamedTuple

from cortex_eval.analysis import ConfusedPair, Pattern, PatternChange, Report, Slice, percent
from cortex_eval.core import language_label
from cortex_eval.reports.passed_numbers import passed_numbers_lines
from cortex_eval.reports.text import cut, visible
from cortex_eval.reports.words import counted_cases, plural, target_label, with_config

WIDTH = 80
PATTERNS_SHOWN = 10
PAIRS_SHOWN = 10
CASES_SHOWN = 8
TOP = 3
CRITICAL = "no case with it passes, however good the rest is"
"""What it means that something is critical."""
OVERLAP = "Points overlap: a case may count for several fixes, and is won back once"
"""Where two patterns are about the same cases: nobody should add their points up."""
EFFECTS = {"added": "new", "grew": "grew", "removed": "gone", "shrank": "shrank", "same": "as before"}


class Fix(NamedTuple):
    """One thing to do, in words."""

    action: str
    where: str
    """Empty: no place is known."""
    gain: str
    """Such as `+5.4 points`, or `critical`."""
    cases: str
    """Such as `19 cases`."""
    title: str
    """What is wrong."""


def top_fixes(report: Report, limit: int = TOP) -> list[Fix]:
    """What to mend first, in words."""
    return [
        Fix(each.action, each.location or "", wins_words(each), counted(each.count), each.title)
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
    return f"+{100 * gain:.1f} points" if gain >= 0.0005 else "under 0.1 points" if gain > 0 else "no points"


def points_overlap(patterns: Sequence[Pattern]) -> bool:
    """Whether the points of these patterns do not add up: two that win something back share a case."""
    seen: set[str] = set()
    for each in patterns:
        if each.gain and not seen.isdisjoint(each.cases):
            return True
        seen.update(each.cases if each.gain else ())
    return False


def wins_words(pattern: Pattern) -> str:
    """What mending a pattern is worth, in a word or two; what is critical never says that it wins nothing."""
    if pattern.is_critical:
        return f"critical, {gain_words(pattern.gain)}" if pattern.gain else "critical"
    return gain_words(pattern.gain) if pattern.gain else "only with others" if pattern.needs else "no points alone"


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
    others = other_patterns(report)
    for number, pattern in enumerate(others[:PATTERNS_SHOWN], 1):
        parts += ["", *_pattern_lines(number, pattern)]
    if rest := others[PATTERNS_SHOWN:]:
        parts += ["", *_wrapped(_rest_words(rest), "", "  ")]
    parts += _together_lines(others)
    parts += [*_pair_lines(report.confusions), *_slice_lines(report.slices), *passed_numbers_lines(report)]
    if report.patterns:
        command = with_config(f"cortex runs show {report.run.id} --failed", report.run)
        parts += ["", f"Read the cases: {command}"]
    return "\n".join(parts) + "\n"


def _head(report: Report) -> list[str]:
    bad = report.totals.failed + report.totals.errors
    name = f"{visible(report.run.dataset.name)} ({counted_cases(report)}) → {visible(target_label(report))}"
    lines = [cut(f"{name}, run {report.run.id}", WIDTH)]
    if not bad:
        return [*lines, _none_failed(report)]
    failed = f"{bad:,} of {counted(report.totals.cases)} did not pass."
    if not report.patterns:
        return [*lines, f"{failed} No two fail for the same reason."]
    count = len(report.patterns) - len(setup_patterns(report))
    if not count:
        return [*lines, failed]
    first = "what is critical first, then " if any(each.is_critical for each in report.patterns) else ""
    ranked = f"{count} {plural('pattern', count)}, {first}by what a fix would win back of the pass rate"
    others = other_patterns(report)
    overlap = f" {OVERLAP}." if points_overlap(others) else ""
    return [*lines, *_wrapped(f"{failed} {ranked}{_legend(others[:PATTERNS_SHOWN])}.{overlap}", "", "")]


def _none_failed(report: Report) -> str:
    """What a run without failures tells, which may have judged only some of its cases, or none."""
    passed, planned = report.totals.passed, max(report.run.cases, report.totals.cases)
    if not passed:
        return "No case has a verdict: there is nothing to explain."
    if passed < planned:
        return f"{passed:,} of {counted(planned)} {'has' if passed == 1 else 'have'} a verdict: passed, all of them."
    return "Every case passed" + (": there is nothing to explain." if not report.passed_numbers else ".")


def _legend(patterns: Sequence[Pattern]) -> str:
    """What `critical` means, where it is said."""
    return f" (“critical”: {CRITICAL})" if any(each.is_critical for each in patterns) else ""


def _setup_lines(report: Report) -> list[str]:
    """What an error itself says is what to do: in full."""
    found = setup_patterns(report)
    lines = ["", "Mend the set-up first: these cases say nothing about the answers."] if found else []
    for each in found:
        lines += _wrapped(f"{counted(each.count)}, {each.about[0] if each.about else each.type}", "  ", "  ")
        lines += _wrapped(visible(each.action), "    ", "    ")
        lines += [f"    {rescoring(report)}"] if each.type == "judge_error" else []
    return lines


def rescoring(report: Report) -> str:
    """The command that scores the replies of this run again."""
    return with_config(f"cortex rescore {report.run.id}", report.run)


def _pattern_lines(number: int, pattern: Pattern) -> list[str]:
    shown = ", ".join(visible(case) for case in pattern.cases[:CASES_SHOWN])
    more = pattern.count - min(CASES_SHOWN, len(pattern.cases))
    facts = [pattern.type, counted(pattern.count), f"{pattern.priority} priority", wins_words(pattern)]
    if pattern.is_critical:
        facts = [pattern.type, *critical_facts(pattern), counted(pattern.count)]
        facts += [gain_words(pattern.gain)] if pattern.gain else []
    rows = [
        ("likely cause", cause_words(pattern)),
        ("fix", pattern.action),
        ("where", pattern.location or ""),
        ("seen", seen_words(pattern)),
        ("cases", shown + (f" and {more:,} more" if more > 0 else "")),
    ]
    lines = _wrapped(visible(pattern.title), f"{number:2}. ", "    ")
    lines += _wrapped(" · ".join(facts), "    ", "    ")
    for label, text in rows:
        if text:
            lines += _wrapped(visible(text), f"    {label:12} ", " " * 17)
    return lines


def critical_facts(pattern: Pattern) -> list[str]:
    """That a pattern is critical; of a lesser rule of a critical scorer, by which of both."""
    is_lesser = pattern.severity not in ("", "critical")
    return ["critical scorer", f"severity {pattern.severity}"] if is_lesser else ["critical"]


def cause_words(pattern: Pattern) -> str:
    """The likely cause; empty of a broken rule, whose title and fix say it."""
    return "" if pattern.type == "safety_rule" else pattern.root_cause


def seen_words(pattern: Pattern) -> str:
    """The figures behind a pattern, with the severity where the head does not say it."""
    severity = f"severity {pattern.severity}" if pattern.severity and not pattern.is_critical else ""
    return "; ".join(filter(None, (severity, pattern.evidence)))


def _rest_words(patterns: Sequence[Pattern]) -> str:
    """How many are not shown, and which of them wins most."""
    count, best = len(patterns), max(patterns, key=lambda each: each.gain)
    most = f" (“{visible(best.title.rstrip('.'))}” {gain_words(best.gain)})" if best.gain else ""
    return f"… and {count} more {plural('pattern', count)}{most}, in the file and with --json"


class Joint(NamedTuple):
    """Patterns that win something back only together with others."""

    partners: tuple[str, ...]
    """Their titles."""
    wins: tuple[tuple[int, float], ...]
    """Patterns by number, and what each wins together with the partners."""


def joints(patterns: Sequence[Pattern], shown: int) -> list[Joint]:
    """What the first patterns win only together with others; a pair is told once, whichever names the other."""
    found: dict[tuple[str, ...], list[tuple[int, float]]] = {}
    told: set[frozenset[str]] = set()
    for number, each in enumerate(patterns[:shown], 1):
        if each.needs and (group := frozenset((each.title, *each.needs))) not in told:
            told.add(group)
            found.setdefault(each.needs, []).append((number, each.joint_gain))
    return [Joint(partners, tuple(wins)) for partners, wins in found.items()]


def _together_lines(patterns: Sequence[Pattern]) -> list[str]:
    groups = joints(patterns, PATTERNS_SHOWN)
    if not groups:
        return []
    lines = ["", "Only together: cases with several faults pass when all of them are mended"]
    for each in groups:
        wins = ", ".join(f"{number} ({gain_words(gain)})" for number, gain in each.wins)
        lines += _wrapped(visible(f"{wins} with {_partners(each, patterns)}"), "  ", "      ")
    return lines


def _partners(joint: Joint, patterns: Sequence[Pattern]) -> str:
    """Their titles, with their numbers where they are shown."""
    numbers = {each.title: number for number, each in enumerate(patterns[:PATTERNS_SHOWN], 1)}
    return " and ".join(
        f"{numbers[title]}, “{title.rstrip('.')}”" if title in numbers else f"“{title.rstrip('.')}”"
        for title in joint.partners
    )


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
        lines += _wrapped(f"{rates}, {percent(each.rest_rate)} elsewhere: {visible(slice_title(each))}", "  ", "      ")
    return lines


def slice_title(found: Slice) -> str:
    """What the cases of a slice share, in words that name a language."""
    return " and ".join(
        f"{name} {language_label(value) if name == 'language' else value}" for name, value in found.facts
    )


def _change_lines(changes: Sequence[PatternChange], since: str) -> list[str]:
    """What became of the patterns, for the terminal."""
    moved = [each for each in changes if each.effect != "same"]
    lines = [f"Since run {since}" if since else "Since the run before"]
    if not moved:
        return [*lines, "  Every pattern is as it was."]
    for each in moved:
        noise = ", may be noise" if each.may_be_noise else ""
        line = f"{each.before} → {each.after} {plural('case', each.after)}{noise}: {each.title}"
        lines += _wrapped(visible(line), f"  {EFFECTS[each.effect]:6} ", " " * 9)
    same = len(changes) - len(moved)
    return [*lines, f"  {same} {plural('pattern', same)} as before"] if same else lines


def other_patterns(report: Report) -> list[Pattern]:
    """All but those of the set-up, in the order of mending."""
    return [each for each in report.patterns if not each.is_setup]


def top_fixes_lines(report: Report) -> list[str]:
    """The first three fixes for the terminal; nothing when there are none."""
    fixes = top_fixes(report)
    if not fixes:
        return []
    is_critical = any(each.is_critical for each in top_patterns(report))
    first = "critical first, then " if is_critical else ""
    lines = ["", f"  Top fixes, {first}by what they would win back of the pass rate"]
    lines += [f"  (“critical”: {CRITICAL})"] if is_critical else []
    lines += [f"  {OVERLAP}"] if points_overlap(top_patterns(report)) else []
    width = max(len(fix.gain) for fix in fixes)
    for fix in fixes:
        about = ", ".join(part for part in (fix.cases, visible(fix.where)) if part)
        lines += _wrapped(
            f"{visible(fix.action.rstrip('.'))} ({about})", f"  {fix.gain.rjust(width)}  ", " " * (width + 4)
        )
    return lines


def counted(count: int) -> str:
    """Cases, in words."""
    return f"{count:,} {plural('case', count)}"


def _wrapped(text: str, first: str, then: str) -> list[str]:
    return textwrap.wrap(
        " ".join(text.split()), WIDTH, initial_indent=first, subsequent_indent=then, break_on_hyphens=False
    )
