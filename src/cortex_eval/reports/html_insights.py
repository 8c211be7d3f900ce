"""What the figures mean in the HTML report: fixes, confusions, confidence, latency, and how all that went over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cortex_eval.analysis import Classified, Confidence, Hallucination, Pattern, Report, Slice
from cortex_eval.reports.error_analysis import (
    CRITICAL,
    OVERLAP,
    gain_words,
    points_overlap,
    setup_patterns,
    together_words,
    top_patterns,
)
from cortex_eval.reports.html_parts import bar, cases_address, ended, figure, label_of, level, section, table
from cortex_eval.reports.text import as_html, name_as_html
from cortex_eval.reports.words import moment, number, plural

SLICES_SHOWN = 8
CLASSES_SHOWN = 16
"""Classes of a confusion matrix; of more than that, the ones that are confused most."""
CONFUSIONS_SHOWN = 8
RUNS_LISTED = 40
_CLASS_WORDS = (
    "Precision: of the replies that gave this class, the share that was right. Recall: of those that should have "
    "given it, the share that did. F1: both in one figure, from 0 to 1."
)
_NO_ANSWERS = "These cases have no result, and say nothing about the answers: they win no points."

_TREND_COLUMNS = {
    "Pass rate": "the share of cases that passed, with its 95 % interval",
    "Overall": "the mean of all scores, each with its weight",
    "p50": "half of the replies came within this time",
    "p95": "95 of 100 replies came within this time",
    "Same verdict": "the share of cases that passed or failed as they did in the run before",
    "Flaky": "cases with another verdict than before, although nothing had changed",
    "Remark": "why a run cannot be compared with the one before, and its branch",
}
"""What the columns of the table of runs mean."""

Drawn = Mapping[str, str]
"""Charts by name, as SVG; empty where none could be drawn."""


def fixes_section(report: Report) -> str:
    """What keeps cases from a result, the three fixes to begin with, and the other patterns one click away."""
    setup, first = setup_patterns(report), top_patterns(report)
    told = (
        section("Mend the set-up first", "".join(map(_setup, setup)), anchor="setup", lead=_NO_ANSWERS) if setup else ""
    )
    if not first:
        return told
    others = [pattern for pattern in report.patterns if pattern not in first and not pattern.is_setup]
    body = "".join(_fix(pattern) for pattern in first) + _other_fixes(others)
    is_critical = any(pattern.is_critical for pattern in report.patterns)
    order = "What is critical comes first; then by" if is_critical else "Ranked by"
    lead = f"{order} the points of the pass rate that a fix alone would win back."
    lead += f" Critical: {CRITICAL}." if is_critical else ""
    lead += f" {OVERLAP}." if points_overlap(first + others) else ""
    return told + section("Fix these first", body, anchor="fixes", lead=lead)


def _setup(pattern: Pattern) -> str:
    cases = plural("case", pattern.count)
    return (
        f'<div class="fix num"><div class="gain critical">{pattern.count:,}<span>{cases}</span></div><div>'
        f"<p><b>{as_html(pattern.title)}</b> {_show(pattern)}</p>"
        f"<p>{as_html(pattern.action)}</p></div></div>"
    )


def _other_fixes(patterns: list[Pattern]) -> str:
    if not patterns:
        return ""
    body = "".join(_fix(pattern) for pattern in patterns)
    count = len(patterns)
    words = f"{count} more {plural('pattern', count)}"
    return f"<details class=more><summary>{words}</summary>{body}</details>"


def _fix(pattern: Pattern) -> str:
    where = f" in <code>{as_html(pattern.location)}</code>" if pattern.location else ""
    cases = "" if pattern.is_critical else f" ({pattern.count:,} {plural('case', pattern.count)})"  # told at its left
    together = together_words(pattern)
    joint = f'<p class="note">Alone it wins no points; {as_html(ended(together))}</p>' if together else ""
    is_more = pattern.is_critical and pattern.gain
    also = f'<p class="note">Mending it wins back {gain_words(pattern.gain)}.</p>' if is_more else ""
    cause = f'<p class="note">Likely cause: {as_html(pattern.root_cause)}</p>'
    evidence = f'<p class="note">Seen: {as_html(pattern.evidence)}</p>' if pattern.evidence else ""
    if pattern.type == "safety_rule":  # its title and what to do say both
        cause = evidence = ""
    return (
        f'<div class="fix num">{_worth(pattern)}<div>'
        f"<p><b>{as_html(pattern.title)}</b>{cases} {_show(pattern)}</p>"
        f"<p>{as_html(pattern.action)}{where}</p>"
        f"{cause}{also}{joint}{evidence}</div>"
        f"{level('critical' if pattern.is_critical else pattern.priority)}</div>"
    )


def _worth(pattern: Pattern) -> str:
    """What mending it wins back; of what is critical, how many cases fail by it."""
    if pattern.is_critical:
        cases = plural("case", pattern.count)
        return f'<div class="gain critical">{pattern.count:,}<span>{cases}</span></div>'
    points = f"+{pattern.gain * 100:.1f}" if pattern.gain else "0"
    return f'<div class="gain{"" if pattern.gain else " flat"}">{points}<span>points</span></div>'


def _show(pattern: Pattern) -> str:
    """A link that filters the cases below; ids are part of an address there, and inert."""
    if not pattern.cases:
        return ""
    every = "Show it" if pattern.count == 1 else "Show them"
    words = every if len(pattern.cases) >= pattern.count else f"Show {len(pattern.cases)} of them"
    return f'<a class="js" href="{cases_address(pattern.cases)}">{words}</a>'


def slices_section(slices: Sequence[Slice]) -> str:
    """Which cases fail more often than the rest, beyond chance."""
    rows = "".join(
        f"<tr><th scope=row>{as_html(each.title)}</th>"
        f"<td class=v>{bar(each.rate, is_low=True)}{each.rate:.2f} "
        f'<span class="flat">[{each.low:.2f}, {each.high:.2f}]</span></td>'
        f"<td class=n>{each.rest_rate:.2f}</td><td class=n>{each.failed:,}/{each.cases:,}</td>"
        f"<td class=n>{_chance(each.p_value)}</td></tr>"
        for each in slices[:SLICES_SHOWN]
    )
    if not rows:
        return ""
    heads = ("What they share", "Fail", "All others", "Failed", "Chance")
    lead = "Groups that fail more often than the rest. Chance: how likely such a group is when nothing is behind it."
    body = table(heads, rows, numeric=range(2, 5), label="Where it fails more often")
    return section("Where it fails more often", body, anchor="slices", lead=lead)


def _chance(p_value: float) -> str:
    return "&lt; 0.001" if p_value < 0.001 else f"{p_value:.3f}"


def confusions_section(report: Report) -> str:
    """Which labels are taken for which, for every scorer that compares labels."""
    several = len(report.classification) > 1
    parts = "".join(_confusion(name, each, several) for name, each in report.classification.items())
    if not parts:
        return ""
    lead = "Rows are what was expected, columns what was found."
    return section("What is taken for what", parts, anchor="confusions", lead=lead)


def _confusion(name: str, found: Classified, is_titled: bool) -> str:
    labels = _labels(found)
    title = f"<h3>{name_as_html(label_of(name))}</h3>" if is_titled else ""
    accuracy = f"{found.accuracy:.2f} [{found.low:.2f}, {found.high:.2f}], {found.correct:,} of {found.scored:,} right"
    left = len(found.classes) - len(labels)
    part = f" The {len(labels)} of {len(found.classes)} classes that are confused most." if left > 0 else ""
    summary = (
        f'<p class="note num">{accuracy}; macro F1, in which every class counts alike, {found.macro.f1:.2f}.{part}</p>'
    )
    pairs = _pairs(found)
    worst = f"<div>{_worst_pairs(pairs)}{_classes(found)}</div>"
    return f'{title}{summary}<div class="confused"><div>{_matrix(found, labels)}</div>{worst}</div>'


def _pairs(found: Classified) -> list[tuple[int, str, str]]:
    """The confusions, most frequent first."""
    pairs = [
        (count, expected, got)
        for expected, row in found.confusion.items()
        for got, count in row.items()
        if got != expected
    ]
    return sorted(pairs, key=lambda each: (-each[0], each[1], each[2]))


def _labels(found: Classified) -> list[str]:
    names = list(dict.fromkeys([*found.confusion, *(got for row in found.confusion.values() for got in row)]))
    if len(names) <= CLASSES_SHOWN:
        return sorted(names, key=lambda name: (name not in found.confusion, name))
    wrong = dict.fromkeys(names, 0)
    for count, expected, got in _pairs(found):
        wrong[expected] += count
        wrong[got] += count
    return sorted(sorted(names, key=lambda name: (-wrong[name], name))[:CLASSES_SHOWN])


def _matrix(found: Classified, labels: list[str]) -> str:
    rows = [label for label in labels if label in found.confusion]
    most = max((count for row in found.confusion.values() for count in row.values()), default=1)
    body = ""
    for expected in rows:
        row = found.confusion[expected]
        cells = "".join(_cell(row.get(got, 0), most, is_right=got == expected) for got in labels)
        body += f"<tr><th scope=row>{name_as_html(expected)}</th>{cells}</tr>"
    head = "".join(f"<th scope=col><span>{as_html(label)}</span></th>" for label in labels)
    return (
        f'<div class="scroll"><table class="confusion num" aria-label="Confusion matrix">'
        f"<thead><tr><th scope=col>expected ↓ found →</th>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _cell(count: int, most: int, *, is_right: bool) -> str:
    if not count:
        return "<td></td>"
    shade = min(4, 1 + int(4 * count / (most + 1)))
    return f'<td class="{"right" if is_right else "wrong"} s{shade}">{count:,}</td>'


def _worst_pairs(pairs: list[tuple[int, str, str]]) -> str:
    if not pairs:
        return '<p class="note">Nothing was taken for something else.</p>'
    rows = "".join(
        f"<tr><th scope=row>{name_as_html(expected)}</th><td>{name_as_html(got)}</td><td class=n>{count:,}</td></tr>"
        for count, expected, got in pairs[:CONFUSIONS_SHOWN]
    )
    return table(("Expected", "Found", "Times"), rows, numeric=(2,), label="Most frequent confusions")


def _classes(found: Classified) -> str:
    rows = "".join(
        f"<tr><th scope=row>{name_as_html(name)}</th><td class=n>{number(each.precision)}</td>"
        f"<td class=n>{number(each.recall)}</td><td class=n>{each.f1:.2f}</td><td class=n>{each.expected:,}</td></tr>"
        for name, each in sorted(found.classes.items(), key=lambda each: each[1].f1)
    )
    heads = ("Class", "Precision", "Recall", "F1", "Expected")
    body = table(heads, rows, numeric=range(1, 5), label="Figures by class")
    told = f'<p class="note">{_CLASS_WORDS}</p>'
    return f"<details class=more><summary>Precision and recall by class</summary>{told}{body}</details>"


def confidence_section(confidence: Confidence | None, drawn: Drawn) -> str:
    """Whether stated confidence can be trusted."""
    if confidence is None:
        return ""
    reliability = "".join(
        f"<tr><th scope=row>{each.low:.2f} to {each.high:.2f}</th><td class=n>{each.mean_confidence:.2f}</td>"
        f"<td class=v>{bar(each.accuracy)}{each.accuracy:.2f} "
        f'<span class="flat">[{each.accuracy_low:.2f}, {each.accuracy_high:.2f}]</span></td>'
        f"<td class=n>{each.n:,}</td></tr>"
        for each in confidence.bins
    )
    steps = len(confidence.histogram) or 1
    most = max(confidence.histogram, default=1) or 1
    spread = "".join(
        f"<tr><th scope=row>{place / steps:.1f} to {(place + 1) / steps:.1f}</th>"
        f"<td class=v>{bar(count / most)}{count:,}</td></tr>"
        for place, count in enumerate(confidence.histogram)
    )
    first = table(("Stated", "On average", "Right", "Replies"), reliability, numeric=(1, 3), label="Reliability")
    second = table(("Stated", "Replies"), spread, label="Distribution")
    charts = figure(drawn.get("reliability"), first, caption="On the dashed line, confidence is what it says.")
    charts += figure(drawn.get("confidence"), second, caption="How many replies state which confidence.")
    body = f'<div class="cols even">{charts}</div>'
    return section("Can its confidence be trusted?", body, anchor="confidence", lead=_trust(confidence))


def _trust(confidence: Confidence) -> str:
    """In words: how far confidence and truth are apart, and whether that can be chance."""
    gap = confidence.mean - confidence.accuracy
    tends = "it promises more than it keeps" if gap > 0 else "it is better than it says"
    apart = f"On average {tends}: it states {confidence.mean:.2f} and is right in {confidence.accuracy:.2f}."
    is_real = confidence.ece > confidence.ece_if_calibrated_high + 1e-9
    meaning = (
        f"more than the {confidence.ece_if_calibrated_high:.3f} that chance allows with {confidence.n:,} replies"
        if is_real
        else f"which a perfectly calibrated system could show with {confidence.n:,} replies too"
    )
    error = f"The calibration error (ECE) is {confidence.ece:.3f}, {meaning}"
    return f"{apart} {error}; Brier score {confidence.brier:.3f} (0 is best)."


def latency_section(report: Report, drawn: Drawn) -> str:
    """How long replies take."""
    latency = report.latency_ms
    if latency.p50 is None or not latency.bins:
        return ""
    most = max(each.count for each in latency.bins) or 1
    edges = (
        [each.low for each in latency.bins] if len(latency.bins) > 1 else [latency.bins[0].low, latency.bins[0].high]
    )
    digits = next((few for few in range(3) if all(abs(edge - round(edge, few)) < 1e-9 for edge in edges)), 3)
    rows = "".join(
        f"<tr><th scope=row>{each.low:,.{digits}f} to {each.high:,.{digits}f} ms</th>"
        f"<td class=v>{bar(each.count / most)}{each.count:,}</td></tr>"
        for each in latency.bins
    )
    facts = "".join(
        f"<div><dt>{name}</dt><dd>{_ms(value)}</dd></div>"
        for name, value in (
            ("half within (p50)", latency.p50),
            ("95 % within (p95)", latency.p95),
            ("99 % within (p99)", latency.p99),
            (_mean_label(report), latency.mean),
        )
    )
    warnings = "".join(
        f'<p class="note"><span class="tag t-warn">! slow</span> {each.over:,} of {each.of:,} replies took more than '
        f"{number(each.limit_ms, 'ms')} {'to parse' if each.name == 'parse_time_ms' else 'in all'}; "
        f"the slowest {number(each.worst_ms, 'ms')}.</p>"
        for each in report.latency_warnings
    )
    chart = figure(drawn.get("latency"), table(("Time", "Replies"), rows, label="Histogram"))
    body = f'<div class="whole"><dl class="facts num">{facts}</dl>{warnings}{chart}</div>'
    return section("Time to a reply", body, is_wide=False, anchor="latency")


def _ms(value: float | None) -> str:
    return f"{value:.2f} ms" if value is not None and value < 10 else number(value, "ms")


def _mean_label(report: Report) -> str:
    """The mean of the replies as drawn is not that of a sample weighted to the full mix, which a card shows."""
    weighted, mean = report.metrics.get("latency_ms"), report.latency_ms.mean
    is_same = weighted is None or mean is None or abs(weighted.mean - mean) < 0.5
    return "mean" if is_same else "mean as drawn"


def trend_section(report: Report, drawn: Drawn) -> str:
    """How the suite did over its runs; nothing when this is the first one."""
    trend = report.trend
    if trend is None or len(trend.points) < 2:
        return ""
    rows = ""
    for place, point in reversed(list(enumerate(trend.points))[-RUNS_LISTED:]):
        day = moment(point.finished)
        commit = f" <code>{as_html(point.git_commit[:8])}</code>" if point.git_commit else ""
        is_sample = "quick" if point.is_quick else "part" if point.is_partial else ""
        remarks = [is_sample, trend.why_anew(place), point.git_branch]
        shown = "–"
        if point.pass_rate is not None:
            low_high = (
                f"[{point.low:.2f}, {point.high:.2f}]" if point.low is not None and point.high is not None else ""
            )
            shown = f'{bar(point.pass_rate)}{point.pass_rate:.2f} <span class="flat">{low_high}</span>'
        stable = "–" if point.stability is None else f"{point.stability:.2f}"
        rows += (
            f"<tr><th scope=row>{day.day} {day:%b %Y, %H:%M} <code>{as_html(point.run_id[:8])}</code>{commit}</th>"
            f"<td class=v>{shown}</td><td class=n>{number(point.overall_score)}</td>"
            f"<td class=n>{number(point.latency_p50, 'ms')}</td><td class=n>{number(point.latency_p95, 'ms')}</td>"
            f"<td class=n>{stable}</td><td class=n>{'–' if point.flaky is None else point.flaky}</td>"
            f"<td>{as_html(', '.join(filter(None, remarks)))}</td></tr>"
        )
    heads = ("Run", "Pass rate", "Overall", "p50", "p95", "Same verdict", "Flaky", "Remark")
    legend = "".join(f"<div><dt>{name}:</dt> <dd>{words}</dd></div>" for name, words in _TREND_COLUMNS.items())
    listed = table(heads, rows, numeric=range(2, 7), label="Runs", told=_TREND_COLUMNS)
    listed += f'<dl class="legend">{legend}</dl>'
    if not drawn.keys() & {"trend", "stability", "speed"}:
        return section("Over the runs", listed, anchor="trend", lead=_stability(report))
    counted = "; the number in it counts flaky cases" if any(point.flaky for point in trend.points) else ""
    charts = "".join(
        f'<figure class="card chart"><h3>{title}</h3>{drawn[name]}'
        f'<figcaption class="note">{caption}</figcaption></figure>'
        for name, title, caption in (
            ("trend", "Pass rate", "The band is the 95 % interval; the line breaks where cases or scoring changed."),
            (
                "stability",
                "Test stability",
                f"A bar is the share of cases with the verdict of the run before{counted}.",
            ),
            (
                "speed",
                "Time to a reply",
                "Half of the replies came within the solid line (p50), 95 of 100 within the dashed one (p95).",
            ),
        )
        if name in drawn
    )
    runs = f"<details class=more><summary>The runs as a table</summary>{listed}</details>"
    body = f'<div class="cols even three">{charts}</div>{runs}'
    return section("Over the runs", body, anchor="trend", lead=_stability(report))


def _stability(report: Report) -> str:
    stability = report.stability
    if stability is None or stability.share is None:
        return ""
    flaky = f" {stability.flaky:,} {plural('case', stability.flaky)} flaky." if stability.flaky is not None else ""
    return (
        f"{stability.same:,} of {stability.compared:,} cases have the verdict that they had in run "
        f"{as_html(stability.against)}.{flaky}"
    )


def claims_section(found: Mapping[str, Hallucination]) -> str:
    """How much of what replies claim stands in no source."""
    rows = "".join(
        f"<tr><th scope=row>{name_as_html(label_of(name))}</th>"
        f"<td class=v>{bar(each.rate, is_low=each.hallucinated > 0)}{each.rate:.2f} "
        f'<span class="flat">[{each.low:.2f}, {each.high:.2f}]</span></td>'
        f"<td class=n>{each.hallucinated:,}/{each.claims:,}</td>"
        f'<td class=n>{each.any_rate:.2f} <span class="flat">[{each.any_low:.2f}, {each.any_high:.2f}]</span></td>'
        f"<td class=n>{each.with_any:,}/{each.replies:,}</td></tr>"
        for name, each in found.items()
    )
    if not rows:
        return ""
    heads = ("Scorer", "Claims without a source", "Claims", "Replies with any", "Replies")
    return section("Claims that no source supports", table(heads, rows, numeric=range(2, 5), label="Claims"))
