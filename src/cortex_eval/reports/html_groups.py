"""The parts of a run in the HTML report: categories, tiers with what was hoped for, languages, tags, coverage."""

from __future__ import annotations

from collections.abc import Mapping

from cortex_eval.analysis import Coverage, Expectation, Group, Metric, Parity, Report, metric_name
from cortex_eval.core import language_name
from cortex_eval.reports.html_parts import bar, label_of, section, signed, table
from cortex_eval.reports.meanings import meanings_of
from cortex_eval.reports.text import as_html, name_as_html
from cortex_eval.reports.words import interval_of, main_metric, mean_of, number, plural, worst_first

_COLUMNS_SHOWN = {"category": 4, "tier": 2, "language": 0, "tag": 4}
"""Of scorers, beside the figure that groups are ranked by."""
TAGS_SHOWN = 20
COVERAGE_SHOWN = 30
PAIRS_THAT_TELL = 3
"""With fewer, the interval of a gap between two languages holds nearly every gap there can be."""
_OUTCOMES = {"met": ("t-pass", "✓ met"), "not met": ("t-fail", "✕ not met"), "cannot tell": ("t-warn", "? cannot tell")}
_SIGNS = {">=": "≥", "<=": "≤", ">": ">", "<": "<"}
_KIND_NAMES = {
    "single_turn": "Single turn",
    "multi_turn": "Multi-turn",
    "context": "Needs context",
    "entity_heavy": "Many entities",
    "edge_case": "Edge cases",
}


def groups_section(report: Report) -> str:
    """By category, tier, language and tag, where there is more than one of them."""
    shown = "".join(
        _group_section(report, title, groups)
        for title, groups in (("category", report.categories), ("tier", report.tiers))
        if len(groups) > 1
    )
    narrow = _group_section(report, "language", report.languages) if len(report.languages) > 1 else ""
    shown += narrow + _expectations_section(report) + _parity_section(report.parity)
    if len(report.tags) > 1:
        shown += _group_section(report, "tag", report.tags)
    return f'<div class="cols" id="parts">{shown}</div>' if shown else ""


_NO_LIMITS = ("regression", "noise", "evidence", "error_rate", "complete")
"""Checks whose limit is not one of a metric."""


def limits_of(report: Report) -> dict[str, float]:
    """The lowest value, or the highest, that the gate allows, by metric."""
    return {
        metric_name(check.name.removeprefix("max_"), report.metrics): check.limit
        for check in report.gate.checks
        if check.limit is not None and not check.name.startswith(_NO_LIMITS)
    }


def coverage_section(coverage: Coverage | None) -> str:
    """What the cases of this run try out, and what they leave out."""
    if coverage is None:
        return ""
    tried = {kind for row in coverage.rows.values() for kind, count in row.counts.items() if count}
    kinds = [kind for kind in _KIND_NAMES if kind in tried]
    never = [_KIND_NAMES[kind].lower() for kind in _KIND_NAMES if kind not in tried]
    none = f"No case at all: {', '.join(never)}." if never else ""
    if len(kinds) < 2:  # then the table of groups has it all
        told = f"All turns are of one kind: {_KIND_NAMES[kinds[0]].lower()}. " if kinds else ""
        return section("What the cases cover", f'<p class="note">{told}{none}</p>', anchor="coverage")
    rows = ""
    for name, row in list(coverage.rows.items())[:COVERAGE_SHOWN]:
        counts: Mapping[str, int] = row.counts  # its keys are Literals
        cells = "".join(
            f"<td class=n>{counts[kind]:,}</td>" if counts[kind] else '<td class="n gap">– none</td>' for kind in kinds
        )
        rows += f"<tr><th scope=row>{name_as_html(name)}</th>{cells}<td class=n>{row.turns:,}</td></tr>"
    what = "Intent" if coverage.by == "intent" else "Category"
    heads = (what, *(_KIND_NAMES[kind] for kind in kinds), "Turns")
    lead = (
        f"{coverage.gaps:,} of {coverage.cells:,} combinations are never tried. A turn can count in several columns."
        if coverage.gaps
        else "Every combination is tried at least once. A turn can count in several columns."
    )
    lead += f" {none}" if none else ""
    left = len(coverage.rows) - COVERAGE_SHOWN
    below = f'<p class="note">And {left:,} more, in the JSON file.</p>' if left > 0 else ""
    body = table(heads, rows, numeric=range(1, len(heads)), label="Coverage")
    return section("What the cases cover", f'<div class="matrix">{body}</div>{below}', anchor="coverage", lead=lead)


def _group_section(report: Report, title: str, groups: Mapping[str, Group]) -> str:
    main = main_metric(report) or ""
    others = [name for name in report.metrics if name not in (main, "latency_ms", "llm_usage_rate")]
    others = others[: _COLUMNS_SHOWN[title]]
    hoped = _hoped_by_tier(report) if title == "tier" else {}
    heads = [title.title(), *(label_of(name) for name in (main, *others)), "Cases", "Failed", "Errors"]
    numeric = range(2, len(heads))
    heads += ["Hoped for"] if hoped else []
    ordered = worst_first(report, dict(groups)) if title in ("category", "tag") else list(groups.items())
    limit = limits_of(report).get(main)
    rows = "".join(
        _group_row(
            language_name(name) if title == "language" else name,
            group,
            main,
            others,
            limit,
            hoped.get(name, "–") if hoped else None,
        )
        for name, group in ordered[: TAGS_SHOWN if title == "tag" else None]
    )
    more = len(ordered) - TAGS_SHOWN if title == "tag" else 0
    below = f'<p class="note">And {more:,} more {plural("tag", more)}, in the JSON file.</p>' if more > 0 else ""
    told = {label_of(name): words for name, words in meanings_of(report).items()}
    body = table(heads, rows, numeric=numeric, label=f"By {title}", told=told) + below
    if title == "tag":
        body = f"<details class=more><summary>{len(ordered):,} tags, worst first</summary>{body}</details>"
    return section(f"By {title}", body, is_wide=title != "language", anchor=f"by-{title}")


def _group_row(name: str, group: Group, main: str, others: list[str], limit: float | None, hoped: str | None) -> str:
    metric, totals = group.metrics.get(main), group.totals
    cells = "".join(
        f"<td class=n>{mean_of(group.metrics[each]) if each in group.metrics else '–'}</td>" for each in others
    )
    counts = "".join(f"<td class=n>{count:,}</td>" for count in (totals.cases, totals.failed, totals.errors))
    last = "" if hoped is None else f"<td>{hoped}</td>"
    barred = f"<td class=v>{_barred(metric, limit)}</td>"
    return f"<tr><th scope=row>{name_as_html(name)}</th>{barred}{cells}{counts}{last}</tr>"


def _barred(metric: Metric | None, limit: float | None) -> str:
    if metric is None:
        return "–"
    is_low = limit is not None and metric.mean < limit - 1e-9
    return f'{bar(metric.mean, is_low=is_low)}{mean_of(metric)} <span class="flat">{interval_of(metric)}</span>'


def _hoped_by_tier(report: Report) -> dict[str, str]:
    """What was hoped for of each tier, and whether it came."""
    found: dict[str, list[str]] = {}
    for each in report.expectations:
        if each.tier is not None:
            found.setdefault(each.tier, []).append(f"<div class=hope>{_hope(each)} {_outcome(each)}</div>")
    return {tier: "".join(lines) for tier, lines in found.items()}


def _expectations_section(report: Report) -> str:
    """What was hoped for of the whole run; it decides nothing, the gate does."""
    rows = ""
    for each in report.expectations:
        if each.tier is not None:
            continue
        shown = "–" if each.value is None else number(each.value, each.unit)
        if each.low is not None and each.high is not None and each.value is not None:
            low, high = (number(value, each.unit) for value in (each.low, each.high))
            shown += f' <span class="flat">[{low}, {high}]</span>'
        sign = _SIGNS[each.comparison]
        rows += (
            f"<tr><th scope=row>{name_as_html(label_of(each.name))}</th><td class=n>{shown}</td>"
            f"<td class=n>{sign} {number(each.limit, each.unit)}</td><td>{_outcome(each)}</td></tr>"
        )
    if not rows:
        return ""
    heads = ("Figure", "Reached", "Hoped for", "")
    lead = "Met or not met only when the whole interval lies on one side; the gate decides by its own limits."
    body = table(heads, rows, numeric=(1, 2), label="Hoped for")
    return section("Hoped for", body, is_wide=False, lead=lead)


def _hope(each: Expectation) -> str:
    return f"{name_as_html(label_of(each.name))} {_SIGNS[each.comparison]} {number(each.limit, each.unit)}"


def _outcome(each: Expectation) -> str:
    kind, words = _OUTCOMES[each.outcome]
    return f'<span class="tag {kind}">{words}</span>'


def _parity_section(gaps: tuple[Parity, ...]) -> str:
    """How far one language lies from another, over the same cases in both."""
    rows = ""
    for each in gaps:
        if each.gap is None or each.base_mean is None or each.other_mean is None or each.pairs < PAIRS_THAT_TELL:
            continue
        between = f"[{signed(each.low)}, {signed(each.high)}]" if each.low is not None and each.high is not None else ""
        is_worse, is_better = (each.high or 0) < 0, (each.low or 0) > 0
        tone = "down" if is_worse else "up" if is_better else "flat"
        arrow = "▼" if is_worse else "▲" if is_better else "▬"
        rows += (
            f"<tr><th scope=row>{name_as_html(label_of(each.metric))}</th>"
            f"<td>{as_html(language_name(each.base or '?'))} → {as_html(language_name(each.other or '?'))}</td>"
            f"<td class=n>{number(each.base_mean)}</td><td class=n>{number(each.other_mean)}</td>"
            f'<td class="n {tone}">{arrow} {signed(each.gap)} <span class="flat">{between}</span></td>'
            f"<td class=n>{each.pairs:,}</td></tr>"
        )
    if not rows:
        most = max((each.pairs for each in gaps), default=0)
        words = (
            f"Only {most:,} {plural('case', most)} of this run {'is' if most == 1 else 'are'} there in two languages"
        )
        note = f'<p class="note">{words}: too few to compare them.</p>'
        return section("Between languages", note) if 0 < most < PAIRS_THAT_TELL else ""
    heads = ("Metric", "Languages", "First", "Second", "Gap", "Pairs")
    lead = "The same cases in two languages, pair by pair. An arrow only where the whole interval is on one side."
    return section("Between languages", table(heads, rows, numeric=range(2, 6), label="Between languages"), lead=lead)
