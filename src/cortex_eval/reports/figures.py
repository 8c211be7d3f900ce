"""What a run shows beside its metrics, in sentences that every rendering can use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from cortex_eval.analysis import (
    KINDS,
    Classified,
    Confidence,
    Coverage,
    Expectation,
    Hallucination,
    Parity,
    Report,
    mistaken_pairs,
)
from cortex_eval.core import language_label
from cortex_eval.reports.words import number, plural

SIGNS = {">=": "≥", ">": ">", "<=": "≤", "<": "<"}
COVERAGE_COLUMNS = ("single", "multi", "context", "entities", "edge")
"""Short names of `KINDS`, in their order."""
PAIRS_SHOWN = 3


class Line(NamedTuple):
    """A sentence with the word that it is about."""

    label: str
    sentence: str


def figure_lines(report: Report) -> Iterator[Line]:
    """Every figure beside the metrics in a line each; nothing of what a run does not have."""
    if (sentence := latency_sentence(report)) is not None:
        yield Line("latency", sentence)
    if report.confidence is not None:
        yield Line("confidence", confidence_sentence(report.confidence))
    for name, classified in report.classification.items():
        yield Line("mistaken", mistaken_sentence(name, classified))
    for name, hallucination in report.hallucination.items():
        yield Line("claims", hallucination_sentence(name, hallucination))
    for each in report.parity:
        if each.metric == "overall_score":
            yield Line("languages", parity_sentence(each))
    if report.expectations:
        yield Line("hoped for", hoped_sentence(report))
    if report.coverage is not None and report.coverage.by == "intent":
        yield Line("coverage", coverage_sentence(report.coverage))


def latency_sentence(report: Report) -> str | None:
    """Percentiles of the times to a reply, and how many took too long; None when there was no reply."""
    latency = report.latency_ms
    if latency.p50 is None or latency.p95 is None or latency.p99 is None:
        return None
    words = f"p50 {latency.p50:,.0f}, p95 {latency.p95:,.0f}, p99 {latency.p99:,.0f} ms"
    for each in report.latency_warnings:
        what = "parsings" if each.name == "parse_time_ms" else "replies"
        words += f"; {each.over:,} of {each.of:,} {what} over {each.limit_ms:,.0f} ms"
        words += f" ({_share(each.share, each.low, each.high)}), the slowest {each.worst_ms:,.0f} ms"
    return words


def confidence_sentence(confidence: Confidence) -> str:
    """How far stated confidence can be trusted, and whether what is off may be chance."""
    high = confidence.ece_if_calibrated_high
    # As many digits as it takes to tell the two apart.
    decimals = next((each for each in range(2, 7) if f"{confidence.ece:.{each}f}" != f"{high:.{each}f}"), 3)
    if confidence.ece <= high:
        judged = f"no more than chance shows (up to {high:.{decimals}f})"
    else:
        way = "too sure" if confidence.mean > confidence.accuracy else "too unsure"
        off = abs(confidence.mean - confidence.accuracy) > 0.01
        judged = f"more than chance shows ({high:.{decimals}f})" + (f", {way} of itself" if off else "")
    means = f"states {confidence.mean:.2f}, is right {confidence.accuracy:.2f}"
    ece = f"{confidence.ece:.{decimals}f}"
    return f"ECE {ece}, {judged}; Brier {confidence.brier:.2f}; {means}; n {confidence.n:,}"


def mistaken_sentence(name: str, found: Classified, *, limit: int = PAIRS_SHOWN) -> str:
    """The labels that were most often taken for others, and how even the classes fare."""
    words = f"{name}: macro F1 {found.macro.f1:.2f} over {classes_of(found)}"
    pairs = [
        f"{each.expected} as {each.found} {each.count} of {each.of}" for each in mistaken_pairs(found, limit=limit)
    ]
    return f"{words}; {', '.join(pairs)}" if pairs else f"{words}; none"


def classes_of(found: Classified) -> str:
    """How many classes there are, in words."""
    count = len(found.confusion)
    return f"{count:,} {'class' if count == 1 else 'classes'}"


def hallucination_sentence(name: str, found: Hallucination) -> str:
    """How much of what was claimed stands in no source, over claims and over replies."""
    claims = f"{found.hallucinated:,} of {found.claims:,} hallucinated ({_share(found.rate, found.low, found.high)})"
    share = _share(found.any_rate, found.any_low, found.any_high)
    return f"{name}: {claims}; {found.with_any:,} of {found.replies:,} replies have one ({share})"


def parity_sentence(each: Parity) -> str:
    """How far one language lies from another in one metric."""
    other = language_label(each.other) if each.other else "unnamed"
    pair = f"{other} against {language_label(each.base) if each.base else 'what was not run'}"
    left = f", {each.unpaired} unpaired" if each.unpaired else ""
    if each.gap is None:
        return f"{pair}: no pairs to compare{left}"
    interval = "" if each.low is None or each.high is None else f" [{_signed(each.low)}, {_signed(each.high)}]"
    count = f"{each.pairs:,} {plural('pair', each.pairs)}"
    return f"{pair}: {each.metric} {_signed(each.gap)}{interval} over {count}{left}"


def hoped_sentence(report: Report) -> str:
    """How many expectations are met, and which are surely not."""
    outcomes = [each.outcome for each in report.expectations]
    counts = [(outcomes.count("met"), "met"), (outcomes.count("not met"), "not met")]
    counts.append((outcomes.count("cannot tell"), "with too few cases to tell"))
    words = ", ".join(f"{count} {word}" for count, word in counts if count)
    missed = [expectation_words(each) for each in report.expectations if each.outcome == "not met"]
    return f"{words}: {'; '.join(missed)}" if missed else words


def expectation_words(each: Expectation) -> str:
    """A figure beside what was hoped for."""
    where = "" if each.tier is None else f"tier {each.tier} "
    return f"{where}{each.name} {number(each.value, each.unit)} ({SIGNS[each.comparison]} {_limit(each)})"


def expectation_limit(each: Expectation) -> str:
    """What was hoped for, such as ≥ 0.85."""
    return f"{SIGNS[each.comparison]} {_limit(each)}"


def coverage_sentence(coverage: Coverage) -> str:
    """How much of the matrix is tried out."""
    count = len(coverage.rows)
    several = "intents" if coverage.by == "intent" else "categories"
    rows = f"{count:,} {several if count != 1 else 'intent' if coverage.by == 'intent' else 'category'}"
    if not coverage.gaps:
        return f"{rows}, {'each ' if count != 1 else ''}tried in all {len(KINDS)} ways"
    return f"{coverage.gaps:,} of {coverage.cells:,} cells empty ({rows} × {len(KINDS)} ways to ask)"


def _limit(each: Expectation) -> str:
    return f"{each.limit:,.0f} {each.unit}" if each.unit else f"{each.limit:.2f}"


def _share(rate: float, low: float, high: float) -> str:
    decimals = 0 if high - low >= 0.03 else 1
    return f"{100 * rate:.{decimals}f} % [{100 * low:.{decimals}f}, {100 * high:.{decimals}f}]"


def _signed(value: float) -> str:
    return f"{'+' if value > 0 else '−' if value < 0 else ''}{abs(value):.2f}"
