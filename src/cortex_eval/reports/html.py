"""The report as one HTML file that needs nothing else: no server, no internet, no JavaScript to be read."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from cortex_eval.analysis import OVERALL_NAMES, Change, Metric, Report, Unscored
from cortex_eval.reports.calls import call_rows, cost_of
from cortex_eval.reports.charts import charts_of
from cortex_eval.reports.charts_draw import HOW_TO_GET_THEM, Drawing, can_draw
from cortex_eval.reports.critical import LEAD, critical_items
from cortex_eval.reports.html_changes import changes_section
from cortex_eval.reports.html_groups import coverage_section, groups_section, limits_of
from cortex_eval.reports.html_insights import (
    claims_section,
    confidence_section,
    confusions_section,
    fixes_section,
    latency_section,
    slices_section,
    trend_section,
)
from cortex_eval.reports.html_list import ListedCases, cases_section
from cortex_eval.reports.html_parts import label_of, section, subject_of, table, titled, with_code
from cortex_eval.reports.meanings import HOW_TO_READ, meanings_of
from cortex_eval.reports.passed_numbers import passed_numbers_section
from cortex_eval.reports.text import as_html, visible
from cortex_eval.reports.words import (
    counted_cases,
    figure_rows,
    interval_of,
    mean_of,
    moment,
    number,
    plural,
    target_label,
    unscored_remark,
    verdict_words,
    with_config,
)

LONG_RUN_S = 10.0
"""A run that took this long is worth the second that charts and every conversation take."""
_TONES = {"passed": ("v-pass", "✓"), "inconclusive": ("v-warn", "?")}
_FAILED_TONE = ("v-fail", "✕")


def render_html(report: Report, *, charts: bool = True, noted: ListedCases | None = None) -> str:
    """The page; all foreign text in it is text, and its content policy lets nothing in from outside."""
    return "".join(_pieces(report, charts=charts, noted=noted))


def html_chunks(report: Report, *, charts: bool = True, noted: ListedCases | None = None) -> Iterator[bytes]:
    """The same in pieces. `noted` is what went by while the figures were made, for a quick page without charts."""
    for piece in _pieces(report, charts=charts, noted=noted):
        yield piece.encode("utf-8", "replace")


def is_quick_run(report: Report) -> bool:
    """Whether a run was over so soon that its page should not take a second more."""
    took_s: float | None = report.run.manifest.get("calls", {}).get("took_s")
    return took_s is not None and took_s < LONG_RUN_S


def _pieces(report: Report, *, charts: bool, noted: ListedCases | None) -> Iterator[str]:
    drawing = Drawing(charts_of(report)) if charts and noted is None and can_draw() else None
    cases = list(cases_section(report, noted))  # made while the charts are drawn elsewhere
    meanings = meanings_of(report)  # so are these: it may have to load the scorers
    drawn = drawing.collect() if drawing else {}
    yield _head(report)
    yield f'<body>\n<a class="skip" href="#cases">Skip to the cases</a>\n<main>\n{_header(report)}\n'
    parts = [
        _verdict(report),
        _cards(report, meanings),
        fixes_section(report),
        passed_numbers_section(report),
        slices_section(report.slices),
        changes_section(report),
        groups_section(report),
        trend_section(report, drawn),
        confusions_section(report),
        confidence_section(report.confidence, drawn),
        claims_section(report.hallucination),
        f'<div class="cols">{latency_section(report, drawn)}{_calls(report)}</div>',
        coverage_section(report.coverage),
    ]
    parts.insert(1, _jumps("".join(parts), report))
    yield "\n".join(part for part in parts if part)
    yield from cases
    footer = _footer(report, has_charts=bool(drawn) or not charts, is_quick=noted is not None)
    yield f'<footer class="sub">{footer}</footer>\n</main>\n'
    yield f"{_page('keys.html')}<script>{_page('report.js')}</script>\n</body>\n</html>\n"


@cache
def _page(name: str) -> str:
    return (Path(__file__).parent / "page" / name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"


def _head(report: Report) -> str:
    style, paper, script = _page("report.css"), _paper(report), _page("report.js")
    policy = (
        f"default-src 'none'; style-src {_hash(style)} {_hash(paper)}; script-src {_hash(script)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    title = as_html(f"{report.run.suite} · run {report.run.id} · {verdict_words(report).title.lower()}")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n'
        f'<meta name="cortex-run" content="{as_html(report.run.id)}">\n'
        f'<meta name="cortex-subject" content="{subject_of(report)}">\n<link rel="icon" href="data:,">\n'
        f"<title>{title}</title>\n<style>{style}</style><style>{paper}</style>\n</head>\n"
    )


def _paper(report: Report) -> str:
    """What stands on the edge of every printed page: which run it is; the page numbers are the same for all."""
    words = visible(f"{_subject(report)} · run {report.run.id} · {verdict_words(report).title.lower()}")
    inert = "".join(each if each.isalnum() or each == " " else f"\\{ord(each):x} " for each in words)
    return f'@page {{ @top-left {{ content: "{inert}"; }} }}'


def _header(report: Report) -> str:
    heading = as_html(_subject(report))
    theme = '<button type="button" id="theme" class="js">Colours: auto</button>'
    return f'<header><h1>{heading}</h1>{theme}<p class="sub num">{_facts(report)}</p></header>'


def _subject(report: Report) -> str:
    """What was played against what, in one name where both have the same."""
    run, target = report.run, target_label(report)
    return target if run.suite == run.target_name else f"{run.suite} on {target}"


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
    tone, sign = _TONES.get(report.gate.verdict, _FAILED_TONE)
    has_grave = report.let_through is not None and report.let_through.is_grave
    if report.gate.verdict == "passed" and (report.critical_failures or has_grave):
        tone = "v-warn"  # no limit forbids it; nobody should take it for all clear at a glance
    totals = report.totals
    counts = f"{totals.passed:,} passed, {totals.failed:,} failed, {totals.errors:,} in error"
    sentences = _headline(words.sentences) + "".join(
        _critical(report) if sentence.startswith(LEAD) else f"<p>{as_html(sentence)}</p>" for sentence in words.beside
    )
    steps = "".join(f"<small>{step.label}: <code>{as_html(step.command)}</code></small>" for step in words.steps)
    return (
        f'<section class="verdict {tone}" aria-label="Verdict"><b>{sign} {words.title}</b><div>'
        f'{sentences}<small class="num">{counts}. Exit code {report.exit_code}.</small>{steps}</div></section>'
    )


def _headline(sentences: Sequence[str]) -> str:
    """What happened in a paragraph; of more than two sentences, a line for each."""
    if len(sentences) <= 2:
        return f"<p>{as_html(' '.join(sentences))}</p>"
    first, *rest = sentences
    return f"<p>{as_html(first)}</p><ul>{''.join(f'<li>{as_html(each)}</li>' for each in rest)}</ul>"


def _critical(report: Report) -> str:
    items = "".join(f"<li>{as_html(each)}</li>" for each in critical_items(report))
    return f"<p>{LEAD.strip()}</p><ul>{items}</ul>"


def _jumps(content: str, report: Report) -> str:
    """Links to the sections that are there."""
    names = {
        "setup": "Set-up",
        "fixes": "Fixes",
        "numbers": "Look at the numbers",
        "slices": "Where it fails",
        "broken": "Newly broken",
        "gate": "Gate",
        "compared": "Against the baseline",
        "quarantine": "Quarantine",
        "parts": "Groups",
        "trend": "Over the runs",
        "confusions": "Confusions",
        "confidence": "Confidence",
        "latency": "Latency",
        "coverage": "Coverage",
    }
    links = "".join(f'<a href="#{anchor}">{name}</a>' for anchor, name in names.items() if f'id="{anchor}"' in content)
    cases = report.totals.cases
    last = f'<a href="#cases">{cases:,} {plural("case", cases)}</a>'
    return f'<nav class="jumps" aria-label="On this page">{links}{last}</nav>'


def _cards(report: Report, meanings: dict[str, str]) -> str:
    limits = limits_of(report)
    first = ("overall_score", "pass_rate")
    rows = figure_rows(report)
    rows.sort(key=lambda row: first.index(row[0]) if row[0] in first else len(first))
    cards = "".join(
        _empty_card(name, figure, meanings.get(name, ""))
        if isinstance(figure, Unscored)
        else _card(report, name, figure, limits.get(name), meanings.get(name, ""))
        for name, figure in rows
    )
    if not cards:
        return '<p class="empty">Nothing was scored in this run.</p>'
    notes = "".join(f'<p class="note">{as_html(note)}</p>' for note in report.notes)
    return f'<section class="cards num" aria-label="Scores">{cards}</section>{_legend(meanings)}{notes}'


def _legend(meanings: dict[str, str]) -> str:
    """How to read the figures, and what each of them means."""
    alike: dict[str, list[str]] = {}  # scorers of one kind mean the same: once is enough
    for name, words in meanings.items():
        alike.setdefault(words, []).append(label_of(name))
    told = "".join(
        f"<div><dt>{as_html(', '.join(names))}:</dt> <dd>{with_code(words)}</dd></div>"
        for words, names in alike.items()
    )
    return f'<p class="note how">{HOW_TO_READ}</p>' + (f'<dl class="legend">{told}</dl>' if told else "")


def _empty_card(name: str, unscored: Unscored, meaning: str) -> str:
    detail = f"0/{unscored.total:,} · {unscored_remark(unscored)}"
    return (
        f'<div class="card"><h3{titled(meaning)}>{as_html(label_of(name))}</h3><div class="v">–</div>'
        f'<div class="d flat">{detail}</div></div>'
    )


def _card(report: Report, name: str, metric: Metric, limit: float | None, meaning: str) -> str:
    detail = f"{interval_of(metric)} · {metric.scored:,}/{metric.total:,}".removeprefix(" · ")
    if name == "latency_ms":
        detail += f" · p50 {number(report.latency_ms.p50, 'ms')} · p95 {number(report.latency_ms.p95, 'ms')}"
    if metric.errors and name not in ("pass_rate", "overall_score"):
        detail += f" · {metric.errors:,} {plural('error', metric.errors)}"
    if limit is not None:
        detail += f" · limit {number(limit, metric.unit)}"
    change = (report.baseline_comparison or {}).get(OVERALL_NAMES.get(name, name))
    return (
        f'<div class="card"><h3{titled(meaning)}>{as_html(label_of(name))}</h3><div class="v">{mean_of(metric)}</div>'
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


def _calls(report: Report) -> str:
    rows = "".join(
        f"<tr><th scope=row>{row.label}</th><td class=n>{as_html(row.figure)}</td><td>{as_html(row.remark)}</td></tr>"
        for row in call_rows(report)
    )
    if not rows:
        return ""
    heads = ("What", "Figure", "Remark")
    return section("Calls", table(heads, rows, numeric=(1,), label="Calls"), is_wide=False, anchor="calls")


def _footer(report: Report, *, has_charts: bool, is_quick: bool) -> str:
    parts = ['<span class="paper">Calls, coverage, tags and evidence are on the page itself.</span>']
    if report.cache_hits:
        noun = "reply" if report.cache_hits == 1 else "replies"
        parts.append(f"{report.cache_hits:,} {noun} came from the cache.")
    if not has_charts:
        if not can_draw():
            parts.append(f"Charts need one more package: <code>{as_html(HOW_TO_GET_THEM)}</code>")
        elif is_quick:
            command = with_config(f"cortex report {report.run.id}", report.run)
            parts.append(f"Charts: <code>{as_html(command)}</code>")
    return " ".join(parts)
