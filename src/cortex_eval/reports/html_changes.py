"""What the verdict of the HTML report rests on: the gate, what changed against the baseline, cases that need a word."""

from __future__ import annotations

from collections.abc import Mapping

from cortex_eval.analysis import (
    OVERALL_NAMES,
    BaselineLabel,
    CaseChange,
    Change,
    Check,
    Report,
    broken_words,
    chance,
    rounded_up,
)
from cortex_eval.core import redact
from cortex_eval.reports.html_parts import cases_address, label_of, level, mark, section, signed, table
from cortex_eval.reports.text import as_html, cut, name_as_html
from cortex_eval.reports.versus_words import reply_shown
from cortex_eval.reports.words import ADJUSTED_P, number, plural, sign_of

CASES_SHOWN = 50
WORDS_SHOWN = 160
"""Characters of a question or a reply in the table of newly broken cases."""
_OPEN_WORDS = {"noise": "? may be chance", "evidence": "? too few cases", "scoring": "? other scoring"}
_CHECK_NAMES = {
    "regression.critical": "Not worse: critical cases",
    "regression": "Not worse",
    "noise": "Not worse",
    "baseline": "Cases of both runs",
    "evidence": "Enough evidence",
}
"""Checks by names that agree with whether they are met: a regression that is there is a check that is not."""
_METRICS = {overall: name for name, overall in OVERALL_NAMES.items()}


def changes_section(report: Report) -> str:
    """What got worse, what the gate checked, and what went wrong on the way."""
    parts = [
        _newly_broken(report),
        _regressions(report),
        _second_looks(report),
        _gate(report),
        _comparison(report, report.baseline, report.baseline_comparison, "compared"),
        _comparison(report, report.anchor, report.anchor_comparison, "anchor"),
        _quarantine(report),
        _error_kinds(report),
    ]
    return f'<div class="cols">{"".join(parts)}</div>'


def _newly_broken(report: Report) -> str:
    """The cases that passed in the baseline and fail now, each with a link to what was said."""
    changes, against = report.case_changes, report.baseline
    if changes is None or not changes.newly_broken or against is None:
        return ""
    rows, shown = "", changes.newly_broken[:CASES_SHOWN]
    has_words = any(each.question is not None for each in shown)
    for each in shown:
        marks = ' <span class="tag t-fail">critical</span>' if each.is_critical else ""
        link = f'<a href="{cases_address([each.case_id])}">{name_as_html(each.case_id)}</a>'
        rows += (
            f"<tr><th scope=row>{link}{marks}</th>{_said(each) if has_words else ''}"
            f"<td>{as_html(each.category or '–')}</td><td>{as_html(each.why)}</td></tr>"
        )
    left = len(changes.newly_broken) - CASES_SHOWN
    below = f'<p class="note">And {left:,} more: <i>Newly broken</i> above the list of cases.</p>' if left > 0 else ""
    lead = f"{as_html(broken_words(changes, against.name))}."
    said = ("Question", "Reply before", "Reply now") if has_words else ()
    body = table(("Case", *said, "Category", "What moved"), rows, label="Newly broken") + below
    return section("Newly broken", body, anchor="broken", lead=lead)


def _said(change: CaseChange) -> str:
    """What was asked, and what was replied in the baseline and in this run, as cells."""
    replies = (reply_shown(change.reply_before), reply_shown(change.reply_after))
    return "".join(
        f"<td class=said>{as_html(cut(' '.join(text.split()), WORDS_SHOWN))}</td>"
        for text in (change.question or "–", *replies)
    )


def _gate(report: Report) -> str:
    checks = report.gate.checks
    rows = "".join(
        f"<tr><th scope=row>{name_as_html(_check_label(check.name))}</th><td>{_met(check, report)}</td>"
        f"<td>{as_html(check.reason)}</td></tr>"
        for check in checks
    )
    body = table(("Check", "Met", "Why"), rows, label="Gate")
    if all(sign_of(check, report) == "✓" for check in checks):
        told = f"{len(checks)} {plural('check', len(checks))}, {'all met' if len(checks) > 1 else 'met'}"
        body = f"<details class=more><summary>{told}</summary>{body}</details>"
    return section("Gate", body, anchor="gate", lead="The checks that decide whether the run passes.")


def _check_label(name: str) -> str:
    """A check as a reader knows it: what kind it is, and of what."""
    if name in _CHECK_NAMES:
        return _CHECK_NAMES[name]
    return ": ".join(_CHECK_NAMES.get(part) or label_of(part) for part in name.split("."))


def _met(check: Check, report: Report) -> str:
    """Met or not; what may be chance or cannot be known is neither."""
    if sign_of(check, report) != "?":
        return mark(check.ok)
    kind = check.name.removeprefix("anchor.").partition(".")[0]
    return f'<span class="tag t-warn">{_OPEN_WORDS.get(kind, "! look at it")}</span>'


def _regressions(report: Report) -> str:
    if not report.regressions:
        return ""
    several = len({each.against for each in report.regressions}) > 1
    is_tested = any(each.p_value is not None for each in report.regressions)
    rows = ""
    for each in report.regressions:
        unit = report.metrics[each.name].unit
        against = f' <span class="flat">against {as_html(each.against)}</span>' if several else ""
        worst = as_html(each.worst_category) if each.worst_category else "–"
        rows += (
            f"<tr><th scope=row>{name_as_html(label_of(each.name))}{against}</th>"
            f"<td>{level(each.severity)}</td><td class=n>{number(each.baseline, unit)}</td>"
            f"<td class=n>{number(each.current, unit)}</td>"
            f'<td class="n down">{_arrow(each.diff, unit)}{_interval(each.low, each.high, unit)}</td>'
            f"<td class=n>{number(each.allowed, unit)}</td>"
            f"{f'<td class=n>{_p(each.p_value)}</td>' if is_tested else ''}<td>{worst}</td></tr>"
        )
    heads = ["Metric", "Severity", "Baseline", "Now", "Change", "Allowed", *(["Adjusted p"] if is_tested else [])]
    body = table((*heads, "Worst category"), rows, numeric=range(2, len(heads)), label="Regressions")
    return section("Regressions", body, lead=ADJUSTED_P if is_tested else "")


def _comparison(report: Report, label: BaselineLabel | None, changes: Mapping[str, Change] | None, anchor: str) -> str:
    """Every metric beside a baseline, with how sure the difference is where cases could be compared one by one."""
    if label is None or not changes:
        return ""
    is_paired = any(each.pairs for each in changes.values())
    rows = ""
    for key, each in changes.items():
        name = _METRICS.get(key, key)
        unit = report.metrics[name].unit if name in report.metrics else ""
        shown = "–" if each.diff is None else _arrow(each.diff, unit)
        shown = "not compared" if each.not_compared else shown
        tone = "flat" if shown in ("–", "▬") or each.improved is None else "up" if each.improved else "down"
        rows += (
            f"<tr><th scope=row>{name_as_html(label_of(name))}</th><td class=n>{number(each.baseline, unit)}</td>"
            f'<td class=n>{number(each.current, unit)}</td><td class="n {tone}">{shown}'
            f"{_interval(each.low, each.high, unit)}</td>"
        )
        if is_paired:
            rows += (
                f"<td class=n>{_p(each.p_value)}</td><td class=n>{_seen(each.smallest_detectable, unit)}</td>"
                f"<td class=n>{'–' if each.pairs is None else f'{each.pairs:,}'}</td>"
            )
        rows += "</tr>"
    heads = ("Metric", "Then", "Now", "Change", *(("Adjusted p", "Would be seen", "Pairs") if is_paired else ()))
    seen = "A change for the worse of the size under <i>Would be seen</i> is found four times in five."
    lead = f"{ADJUSTED_P} {seen}" if is_paired else ""
    body = table(heads, rows, numeric=range(1, len(heads)), label=f"Against {label.name}")
    return section(f"Against {as_html(label.name)}", body, anchor=anchor, lead=lead)


def _second_looks(report: Report) -> str:
    """Critical cases that broke, and what asking again showed."""
    rows = ""
    for each in report.second_looks[:CASES_SHOWN]:
        passed = sum(each.passes)
        again = f"{passed} of {len(each.passes)} passed" if each.passes else "no answer"
        tag = (
            '<span class="tag t-fail">✕ broken</span>' if each.is_broken else '<span class="tag t-warn">! flaky</span>'
        )
        rows += (
            f'<tr><th scope=row><a href="{cases_address([each.case_id])}">{name_as_html(each.case_id)}</a></th>'
            f"<td>{tag}</td><td>{again}</td>"
            f"<td>{as_html(each.category or '–')}</td><td>{as_html(each.against)}</td></tr>"
        )
    if not rows:
        return ""
    heads = ("Case", "Verdict", "Asked again", "Category", "Passed in")
    lead = "They passed before and failed now, and were therefore asked again."
    return section("Critical cases that broke", table(heads, rows, label="Critical cases that broke"), lead=lead)


def _quarantine(report: Report) -> str:
    """Cases that were asked and decide nothing."""
    rows = "".join(
        f"<tr><th scope=row>{name_as_html(each.case_id)}</th><td>{each.outcome}</td><td>{as_html(each.reason)}</td>"
        f"<td>{as_html(each.until or '–')}</td></tr>"
        for each in report.quarantine[:CASES_SHOWN]
    )
    if not rows:
        return ""
    lead = "They are in none of the figures on this page and decide nothing."
    body = table(("Case", "This time", "Why", "Until"), rows, label="Quarantine")
    return section("In quarantine", body, anchor="quarantine", lead=lead)


def _error_kinds(report: Report) -> str:
    if not report.error_kinds:
        return ""
    rows = "".join(
        f"<tr><th scope=row>{name_as_html(kind)}</th><td class=n>{count:,}</td>"
        f"<td>{as_html(cut(redact(report.error_messages.get(kind, '')), 300))}</td></tr>"
        for kind, count in report.error_kinds.items()
    )
    return section("Errors", table(("Kind", "Turns", "The first says"), rows, numeric=(1,), label="Errors"))


def _arrow(diff: float, unit: str) -> str:
    if abs(diff) < (0.5 if unit else 0.005):
        return "▬"
    return f"{'▲' if diff > 0 else '▼'} {number(abs(diff), unit)}"


def _interval(low: float | None, high: float | None, unit: str) -> str:
    if low is None or high is None:
        return ""
    form = ",.0f" if unit else ".2f"
    return f' <span class="flat">[{signed(low, form)}, {signed(high, form)}]</span>'


def _p(p_value: float | None) -> str:
    return "–" if p_value is None else as_html(chance(p_value).removeprefix("adjusted p "))


def _seen(size: float | None, unit: str) -> str:
    return "–" if size is None else f"{rounded_up(size)} {unit}".rstrip()
