"""The small pieces that every section of the HTML report is put together from."""

from __future__ import annotations

import html
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from urllib.parse import quote

from cortex_eval.analysis import Report
from cortex_eval.reports.text import as_html, visible

LABELS = {
    "pass_rate": "Pass rate",
    "overall_score": "Overall score",
    "latency_ms": "Mean latency",
    "llm_usage_rate": "LLM usage",
    "intent": "Intent accuracy",
    "entities": "Entity F1",
    "tool": "Tool accuracy",
    "max_latency_ms": "Mean latency, at most",
    **{f"{each}_latency_ms": f"{each} of latency" for each in ("p50", "p95", "p99")},
    **{f"max_{each}_latency_ms": f"{each} of latency, at most" for each in ("p50", "p95", "p99")},
    "parse_time_ms": "Time to parse",
}
"""Metrics by the names that people know them by; the others have their own, in words."""
LONGEST_NAME = 60
"""Characters of a name of a suite or a target in a file name."""
_CAPITALS = {"f1": "F1", "llm": "LLM", "bleu": "BLEU", "rouge": "ROUGE", "chrf": "chrF", "json": "JSON"}
_IDENTIFIER = re.compile(r"[a-z][a-z0-9_]*")
_KINDS = {"critical": "t-fail", "high": "t-fail", "medium": "t-warn", "low": "t-none"}


def safe_name(text: str) -> str:
    """A name of a suite or a target as part of a file name.

    Names that would look alike, because they are long or not in Latin letters, have a checksum behind them.
    """
    kept = re.sub(r"[^\w.-]+", "-", text, flags=re.ASCII).strip(".-")
    is_lossy = len(kept) > LONGEST_NAME or not text.isascii()
    return (kept[:LONGEST_NAME] or "target") + (f"-{zlib.crc32(text.encode(errors='replace')):08x}" if is_lossy else "")


def subject_of(report: Report) -> str:
    """What a page is about, as part of a file name: the suite, and the target where that has another name."""
    names = dict.fromkeys(safe_name(each) for each in (report.run.suite, report.run.target_name))
    return "_".join(names)


@cache
def label_of(metric: str) -> str:
    """The name of a metric as a reader knows it; not yet HTML."""
    if metric in LABELS or not _IDENTIFIER.fullmatch(metric):
        return LABELS.get(metric, metric)
    first, *rest = metric.split("_")
    return " ".join([_CAPITALS.get(first, first.capitalize()), *(_CAPITALS.get(each, each) for each in rest)])


def ended(sentence: str) -> str:
    """The sentence with a full stop, where it has no end of its own."""
    return sentence if sentence.rstrip("”\"')").endswith((".", "!", "?", "…", "।")) else f"{sentence}."


def section(title: str, content: str, *, is_wide: bool = True, anchor: str = "", lead: str = "") -> str:
    """A section with its heading; `anchor` is what a link on the page leads to, `lead` a sentence below the heading."""
    attributes = f' id="{anchor}"' if anchor else ""
    attributes += ' class="wide"' if is_wide else ""
    below = f'<p class="note lead">{lead}</p>' if lead else ""
    return f"<section{attributes}><h2>{title}</h2>{below}{content}</section>"


def table(
    heads: Sequence[str],
    rows: str,
    *,
    numeric: Iterable[int] = (),
    label: str = "",
    told: Mapping[str, str] | None = None,
) -> str:
    """A table that scrolls inside itself; the columns of `numeric` are aligned right.

    `told` is what a head means, by its name; the first one is that of the rows, and is not looked up.
    """
    right, meanings = frozenset(numeric), told or {}
    head = "".join(
        f"<th scope=col{' class=n' if place in right else ''}{titled(meanings.get(name, '') if place else '')}>"
        f"{as_html(name)}</th>"
        for place, name in enumerate(heads)
    )
    named = f' aria-label="{in_attribute(label)}"' if label else ""
    return (
        f'<div class="scroll"><table class="num"{named}><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def with_code(words: str) -> str:
    """Words in which a part between backticks is code, as docstrings have it."""
    parts = as_html(words).split("`")
    if len(parts) % 2 == 0:  # one of them has no partner
        return "`".join(parts)
    return "".join(f"<code>{part}</code>" if place % 2 else part for place, part in enumerate(parts))


def cases_address(case_ids: Iterable[str]) -> str:
    """The address on the page that lists these cases and no others.

    An id is quoted twice: the list is taken apart at its commas after the address was read.
    """
    return "#ids=" + ",".join(quote(quote(visible(each), safe=""), safe="") for each in case_ids)


def signed(value: float, form: str = ".2f") -> str:
    """A difference, with a sign that is as wide as the plus; what rounds to nothing has none."""
    shown = format(value, f"+{form}")
    return shown.replace("-", "−") if shown.strip("+-0.") else shown[1:]


def titled(words: str) -> str:
    """The attribute that shows these words when a pointer rests on an element; nothing for none."""
    return f' title="{in_attribute(words)}"' if words else ""


def in_attribute(text: str) -> str:
    """The text as the value of an attribute, where no mark may stand around what cannot be seen."""
    return html.escape(visible(text))


def bar(share: float, *, is_low: bool = False) -> str:
    """A bar for a share of 0 to 1; the figure itself stands beside it."""
    width = round(min(max(share, 0.0), 1.0) * 100, 1)
    return (
        f'<svg class="bar{" low" if is_low else ""}" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="base" width="100" height="8" rx="4"/>'
        f'<rect class="fill" width="{width:g}" height="8" rx="4"/></svg>'
    )


def mark(ok: bool, words: tuple[str, str] = ("yes", "no")) -> str:
    """Whether something is met, in a sign and a word."""
    return f'<span class="tag t-pass">✓ {words[0]}</span>' if ok else f'<span class="tag t-fail">✕ {words[1]}</span>'


def level(word: str) -> str:
    """A severity or a priority."""
    return f'<span class="tag {_KINDS.get(word, "t-none")}">{as_html(word)}</span>'


def figure(chart: str | None, numbers: str, *, caption: str = "") -> str:
    """A chart with its numbers one click away; without the chart, the numbers themselves."""
    if chart is None:
        return f"<figure>{numbers}</figure>"
    below = f'<figcaption class="note">{caption}</figcaption>' if caption else ""
    more = f"<details class=numbers><summary>The numbers</summary>{numbers}</details>"
    return f'<figure class="card chart">{chart}{below}{more}</figure>'
