"""The report as one HTML file that needs nothing else: no server, no internet, no JavaScript to be read."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from string import Template

from cortex_eval.analysis import OVERALL_NAMES, SETTING_NAMES, Change, Group, Metric, Report, Unscored, metric_name
from cortex_eval.core import redact
from cortex_eval.reports.calls import call_rows, cost_of
from cortex_eval.reports.html_cases import cases_section
from cortex_eval.reports.text import as_html, cut, name_as_html
from cortex_eval.reports.words import (
    counted_cases,
    figure_rows,
    interval_of,
    main_metric,
    mean_of,
    moment,
    number,
    plural,
    target_label,
    unscored_remark,
    verdict_words,
    worst_first,
)

_TONES = {"passed": ("v-pass", "✓"), "inconclusive": ("v-warn", "?")}
_FAILED_TONE = ("v-fail", "✕")
_LABELS = {
    "pass_rate": "Pass rate",
    "overall_score": "Overall score",
    "latency_ms": "Mean latency",
    "llm_usage_rate": "LLM usage",
    "intent": "Intent accuracy",
    "entities": "Entity F1",
    "tool": "Tool accuracy",
}
_COLUMNS_SHOWN = 5


def render_html(report: Report) -> str:
    """The page; all foreign text in it is text, and its content policy lets nothing in from outside."""
    style, script = _page("report.css"), _page("report.js")
    words = verdict_words(report)
    return Template(_page("report.html")).substitute(
        policy=(
            f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; img-src data:; "
            "base-uri 'none'; form-action 'none'"
        ),
        style=style,
        script=script,
        run_id=as_html(report.run.id),
        title=as_html(f"{report.run.suite} · run {report.run.id} · {words.title.lower()}"),
        heading=as_html(f"{report.run.suite} on {target_label(report)}"),
        facts=_facts(report),
        verdict=_verdict(report),
        cards=_cards(report),
        why=_why(report),
        groups=_groups(report),
        calls=_calls(report),
        cases=cases_section(report),
        footer=_footer(report),
    )


@cache
def _page(name: str) -> str:
    return (Path(__file__).parent / "page" / name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"


def _facts(report: Report) -> str:
    run, totals = report.run, report.totals
    when = moment(report.timestamp)
    parts = [f"Run <code>{as_html(run.id)}</code>", f"{when.day} {when:%b %Y, %H:%M} UTC"]
    parts.append(f"{counted_cases(report)}, {totals.turns:,} {plural('turn', totals.turns)}")
    parts.append(f"dataset {as_html(run.dataset.name)} <code>{as_html(run.dataset.version[:8])}</code>")
    if report.baseline is not None:
        made = f" (run {as_html(report.baseline.run_id)})" if report.baseline.run_id else ""
        parts.append(f"baseline <b>{as_html(report.baseline.name)}</b>{made}")
    if (took_s := run.manifest.get("calls", {}).get("took_s")) is not None:
        parts.append(_duration(took_s))
    if (cost := cost_of(report.target_usage, report.judge_usage)) is not None:
        parts.append(as_html(cost))
    return " · ".join(parts)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def _verdict(report: Report) -> str:
    words = verdict_words(report)
    tone, mark = _TONES.get(report.gate.verdict, _FAILED_TONE)
    totals = report.totals
    counts = f"{totals.passed:,} passed, {totals.failed:,} failed, {totals.errors:,} in error"
    sentences = "".join(f"<p>{as_html(sentence)}</p>" for sentence in (words.sentence, *words.beside))
    steps = "".join(f"<small>{step.label}: <code>{as_html(step.command)}</code></small>" for step in words.steps)
    return (
        f'<section class="verdict {tone}" aria-label="Verdict"><b>{mark} {words.title}</b><div>'
        f'{sentences}<small class="num">{counts}. Exit code {report.exit_code}.</small>{steps}</div></section>'
    )


def _cards(report: Report) -> str:
    limits = _limits(report)
    first = ("overall_score", "pass_rate")
    rows = figure_rows(report)
    rows.sort(key=lambda row: first.index(row[0]) if row[0] in first else len(first))
    cards = "".join(
        _empty_card(name, figure) if isinstance(figure, Unscored) else _card(report, name, figure, limits.get(name))
        for name, figure in rows
    )
    if not cards:
        return '<p class="empty">Nothing was scored in this run.</p>'
    notes = "".join(f'<p class="note">{as_html(note)}</p>' for note in report.notes)
    return f'<section class="cards num" aria-label="Scores">{cards}</section>{notes}'


def _empty_card(name: str, unscored: Unscored) -> str:
    detail = f"0/{unscored.total} · {unscored_remark(unscored)}"
    return (
        f'<div class="card"><h3>{as_html(_LABELS.get(name, name))}</h3><div class="v">–</div>'
        f'<div class="d flat">{detail}</div></div>'
    )


def _card(report: Report, name: str, metric: Metric, limit: float | None) -> str:
    detail = f"{interval_of(metric)} · {metric.scored}/{metric.total}".removeprefix(" · ")
    if name == "latency_ms":
        detail += f" · p50 {number(report.latency_ms.p50, 'ms')} · p95 {number(report.latency_ms.p95, 'ms')}"
    if metric.errors and name not in ("pass_rate", "overall_score"):
        detail += f" · {metric.errors} {plural('error', metric.errors)}"
    if limit is not None:
        detail += f" · limit {number(limit, metric.unit)}"
    change = (report.baseline_comparison or {}).get(OVERALL_NAMES.get(name, name))
    return (
        f'<div class="card"><h3>{as_html(_LABELS.get(name, name))}</h3><div class="v">{mean_of(metric)}</div>'
        f"{_whisker(metric, limit)}"
        f'<div class="d flat">{_change(change, metric)}{detail}</div></div>'
    )


def _whisker(metric: Metric, limit: float | None) -> str:
    """Dot and whisker on a line: 0 to 1 for scores, 0 to the largest figure otherwise."""
    top = 1.0 if not metric.unit else 1.15 * max(metric.mean, metric.high or 0.0, limit or 0.0, 1.0)

    def at(value: float) -> float:
        return round(min(max(value / top, 0.0), 1.0) * 100, 2)

    low, high = (at(value if value is not None else metric.mean) for value in (metric.low, metric.high))
    parts = '<rect class="base" x="0" y="7" width="100" height="2"/>'
    parts += f'<rect class="span" x="{low}" y="5" width="{round(max(high - low, 0.4), 2)}" height="6"/>'
    parts += f'<rect class="dot" x="{round(at(metric.mean) - 0.7, 2)}" y="2" width="1.4" height="12"/>'
    if limit is not None:
        parts += f'<rect class="limit" x="{round(at(limit) - 0.4, 2)}" y="0" width="0.8" height="16"/>'
    label = f"{mean_of(metric)}, 95 % interval {interval_of(metric) or 'unknown'}"
    label += f", limit {number(limit, metric.unit)}" if limit is not None else ""
    box = 'viewBox="0 0 100 16" preserveAspectRatio="none"'
    return f'<svg class="whisk" {box} role="img" aria-label="{label}">{parts}</svg>'


def _change(change: Change | None, metric: Metric) -> str:
    if change is None or change.diff is None:
        return ""
    amount = number(abs(change.diff), metric.unit)
    if abs(change.diff) < (0.5 if metric.unit else 0.005):
        return '<span class="flat" title="as the baseline">▬</span> '
    arrow = "▲" if change.diff > 0 else "▼"
    tone, word = ("up", "better") if change.improved else ("down", "worse")
    return f'<span class="{tone}" title="{word} than the baseline">{arrow} {amount}</span> '


def _limits(report: Report) -> dict[str, float]:
    return {
        metric_name(check.name.removeprefix("max_"), report.metrics): check.limit
        for check in report.gate.checks
        if check.limit is not None and not check.name.startswith(("regression", "error_rate", "complete"))
    }


def _why(report: Report) -> str:
    rows = "".join(
        f"<tr><th scope=row>{name_as_html(check.name)}</th><td>{_mark(check.ok)}</td>"
        f"<td>{as_html(check.reason)}</td></tr>"
        for check in report.gate.checks
    )
    gate = _section("Gate", _table(("Check", "Met", "Why"), rows))
    return f'<div class="cols">{_regressions(report)}{gate}{_error_kinds(report)}</div>'


def _section(title: str, content: str, *, is_wide: bool = True) -> str:
    return f"<section{' class=wide' if is_wide else ''}><h2>{title}</h2>{content}</section>"


def _table(heads: Sequence[str], rows: str, *, numeric: range = range(0)) -> str:
    """A table that scrolls inside itself; the columns of `numeric` are aligned right."""
    head = "".join(
        f"<th scope=col{' class=n' if place in numeric else ''}>{as_html(name)}</th>"
        for place, name in enumerate(heads)
    )
    return f'<div class="scroll"><table class="num"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def _regressions(report: Report) -> str:
    if not report.regressions:
        return ""
    rows = ""
    for each in report.regressions:
        unit = report.metrics[each.name].unit
        arrow = "▲" if each.diff > 0 else "▼"
        worst = as_html(each.worst_category) if each.worst_category else "–"
        kind = "t-fail" if each.severity == "high" else "t-warn"
        rows += (
            f"<tr><th scope=row>{name_as_html(SETTING_NAMES.get(each.name, each.name))}</th>"
            f'<td><span class="tag {kind}">{each.severity}</span></td><td class=n>{number(each.baseline, unit)}</td>'
            f"<td class=n>{number(each.current, unit)}</td>"
            f'<td class="n down">{arrow} {number(abs(each.diff), unit)}</td>'
            f"<td class=n>{number(each.allowed, unit)}</td><td>{worst}</td></tr>"
        )
    heads = ("Metric", "Severity", "Baseline", "Now", "Change", "Allowed", "Worst category")
    return _section("Regressions", _table(heads, rows, numeric=range(2, 6)))


def _error_kinds(report: Report) -> str:
    if not report.error_kinds:
        return ""
    rows = "".join(
        f"<tr><th scope=row>{name_as_html(kind)}</th><td class=n>{count:,}</td>"
        f"<td>{as_html(cut(redact(report.error_messages.get(kind, '')), 300))}</td></tr>"
        for kind, count in report.error_kinds.items()
    )
    return _section("Errors", _table(("Kind", "Turns", "The first says"), rows, numeric=range(1, 2)))


def _mark(ok: bool) -> str:
    return '<span class="tag t-pass">✓ yes</span>' if ok else '<span class="tag t-fail">✕ no</span>'


def _groups(report: Report) -> str:
    tables = [
        _group_table(report, title, groups, is_wide=is_wide)
        for title, groups, is_wide in (
            ("category", report.categories, True),
            ("tier", report.tiers, False),
            ("language", report.languages, False),
        )
        if len(groups) > 1
    ]
    return f'<div class="cols">{"".join(tables)}</div>' if tables else ""


def _group_table(report: Report, title: str, groups: Mapping[str, Group], *, is_wide: bool) -> str:
    main = main_metric(report) or ""
    others = [name for name in report.metrics if name not in (main, "latency_ms", "llm_usage_rate")]
    others = others[: _COLUMNS_SHOWN if is_wide else 2]
    names = [_LABELS.get(name, name) for name in (main, *others)]
    heads = [title.title(), *names, "Cases", "Failed", "Errors"]
    ordered = worst_first(report, dict(groups)) if title == "category" else list(groups.items())
    limit = _limits(report).get(main)
    rows = "".join(_group_row(name, group, main, others, limit) for name, group in ordered)
    return _section(f"By {title}", _table(heads, rows, numeric=range(2, len(heads))), is_wide=is_wide)


def _group_row(name: str, group: Group, main: str, others: list[str], limit: float | None) -> str:
    metric, totals = group.metrics.get(main), group.totals
    shown = "–"
    if metric is not None:
        low = " low" if limit is not None and metric.mean < limit - 1e-9 else ""
        bar = '<rect class="base" width="100" height="8" rx="4"/>'
        bar += f'<rect class="fill" width="{metric.mean * 100:.1f}" height="8" rx="4"/>'
        shown = (
            f'<svg class="bar{low}" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">{bar}</svg>'
            f'{mean_of(metric)} <span class="flat">{interval_of(metric)}</span>'
        )
    cells = "".join(
        f"<td class=n>{mean_of(group.metrics[each]) if each in group.metrics else '–'}</td>" for each in others
    )
    counts = "".join(f"<td class=n>{count:,}</td>" for count in (totals.cases, totals.failed, totals.errors))
    return f"<tr><th scope=row>{name_as_html(name)}</th><td class=v>{shown}</td>{cells}{counts}</tr>"


def _calls(report: Report) -> str:
    rows = "".join(
        f"<tr><th scope=row>{row.label}</th><td class=n>{as_html(row.figure)}</td><td>{as_html(row.remark)}</td></tr>"
        for row in call_rows(report)
    )
    return _section("Calls", _table(("What", "Figure", "Remark"), rows, numeric=range(1, 2))) if rows else ""


def _footer(report: Report) -> str:
    parts = ["Brackets are 95 % intervals; a mean over fewer than all cases says so as scored/total."]
    if report.cache_hits:
        noun = "reply" if report.cache_hits == 1 else "replies"
        parts.append(f"{report.cache_hits:,} {noun} came from the cache.")
    return " ".join(parts)
