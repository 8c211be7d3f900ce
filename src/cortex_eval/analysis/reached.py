"""Figures of some cases in the form in which limits are held against them: errors counted, with an interval."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from cortex_eval.analysis.classification import Classified
from cortex_eval.analysis.confidence import Confidence
from cortex_eval.analysis.expectations import Reached
from cortex_eval.analysis.hallucination import Hallucination
from cortex_eval.analysis.names import SETTING_NAMES, metric_name
from cortex_eval.analysis.report import Latency, Metric
from cortex_eval.analysis.spread import LatencyWarning
from cortex_eval.analysis.tally import Series, Tally
from cortex_eval.core import PARSE_WARNING_MS, TOTAL_WARNING_MS
from cortex_eval.stats import estimate, percentile, wilson

PERCENTILES = {"p50_latency_ms": 0.50, "p95_latency_ms": 0.95, "p99_latency_ms": 0.99}
"""Figures of how long replies took, each with the share of them that came within that time."""


class Method(NamedTuple):
    """How the intervals of one report are made; the same for the whole and for its parts."""

    resample: bool
    has_clusters: bool


class Figures(NamedTuple):
    """What some cases reached; each figure is made when it is asked for."""

    tally: Tally
    metrics: Mapping[str, Metric]
    method: Method
    is_weighted: bool = False
    """The metrics are those of a sample, weighted to the full mix: what is not among them is not known."""
    times: Sequence[float] = ()
    """How long the replies took, in milliseconds; empty: not known."""

    def get(self, name: str) -> Reached | None:
        """The figure of this name, as thresholds spell it; None when these cases do not have it."""
        tally, metric = self.tally, metric_name(name, self.metrics)
        found = self.metrics.get(metric)
        if name in tally.beside and not self.is_weighted:
            return self._of(tally.beside[name], unit="ms" if name.endswith("_ms") else "")
        if name in PERCENTILES and self.times and not self.is_weighted:
            return _quantile(sorted(self.times), PERCENTILES[name], total=tally.turns)
        if found is None:
            return None
        if metric == "intent":
            missed, scored = tally.intent_missed, tally.intent.count - tally.intent_missed
            has_credits = name != metric and tally.intent_hits.total != tally.intent.total
            return self._with_zeros(found, tally.series[metric], missed, scored, full_hits=has_credits)
        if metric == "tool":
            missed, scored = tally.tool_missed, tally.tool.count - tally.tool_missed
            has_credits = name != metric and tally.tool_hits.total != tally.tool.total
            return self._with_zeros(found, tally.series[metric], missed, scored, full_hits=has_credits)
        if metric == "llm_usage_rate":
            stated = tally.llm_invoked.count
            return self._with_zeros(found, tally.series[metric], tally.turns - stated, stated)
        return Reached(found.mean, found.low, found.high, found.scored, found.total, found.unit)

    def _with_zeros(
        self, metric: Metric, series: Series, missed: int, scored: int, *, full_hits: bool = False
    ) -> Reached | None:
        """The rate over all results, those in error taken for 0; `full_hits`: what got a credit is one of them."""
        if not missed and not full_hits:
            return Reached(metric.mean, metric.low, metric.high, metric.scored, metric.total)
        if self.is_weighted:
            return None
        values = array("d", (float(value >= 1) for value in series.values) if full_hits else series.values)
        zeros = round(missed * len(values) / scored)  # repeats are averaged in the series, and not in the counts
        values.extend([0.0] * zeros)
        clusters = array("q", series.clusters)
        clusters.extend(range(-zeros, 0))
        return self._estimated(values, clusters, total=max(metric.total, len(values)))

    def _of(self, series: Series, *, unit: str) -> Reached | None:
        return self._estimated(series.values, series.clusters, total=self.tally.turns, unit=unit)

    def _estimated(self, values: Sequence[float], clusters: Sequence[int], *, total: int, unit: str = "") -> Reached:
        known = clusters if self.method.has_clusters else None
        found = estimate(values, known, bounded=unit == "", resample=self.method.resample)
        assert found.mean is not None, "there are values"
        low = found.low_of_time if unit == "ms" else found.low
        return Reached(found.mean, low, found.high, found.n, total, unit)


def _quantile(ordered: Sequence[float], share: float, *, total: int) -> Reached:
    """The time within which this share of the replies came; an end of its interval may lie beyond them all.

    Conover 1999, 3.2: between two of the sorted values, by the normal approximation of their ranks.
    """
    count, value = len(ordered), percentile(ordered, share)
    assert value is not None, "there are values"
    spread = 1.96 * math.sqrt(count * share * (1 - share))
    first, last = math.ceil(count * share - spread), math.ceil(count * share + spread)
    low = ordered[first - 1] if first >= 1 else None
    return Reached(value, low, ordered[last - 1] if last <= count else None, count, total, "ms")


def figures_of_run(
    tally: Tally,
    latency: Latency,
    confidence: Confidence | None,
    classification: Mapping[str, Classified],
    hallucination: Mapping[str, Hallucination],
) -> dict[str, float]:
    """Figures of the run that are no metrics, by the names that thresholds call them by; see docs/gates.md."""
    found: dict[str, float | None] = {
        "p50_latency_ms": latency.p50,
        "p95_latency_ms": latency.p95,
        "p99_latency_ms": latency.p99,
    }
    found |= {name: sum(series.values) / len(series.values) for name, series in tally.beside.items()}
    if confidence is not None:
        found |= {"ece": confidence.ece, "brier": confidence.brier}
    for name, each in classification.items():
        macro = {"macro_f1": each.macro.f1, "macro_precision": each.macro.precision, "macro_recall": each.macro.recall}
        found |= _named(name, {**macro, "weighted_f1": each.weighted.f1}, is_only=len(classification) == 1)
    for name, pooled in hallucination.items():
        rates = {"hallucinated_claims": pooled.rate, "hallucinated_replies": pooled.any_rate}
        found |= _named(name, rates, is_only=len(hallucination) == 1)
    return {name: value for name, value in found.items() if value is not None}


def _named(scorer: str, figures: Mapping[str, float | None], *, is_only: bool) -> dict[str, float | None]:
    """The figures of a scorer by its name, and by their own alone where no other scorer has the like."""
    named = {f"{scorer}.{name}": value for name, value in figures.items()}
    return {**named, **figures} if is_only else named


def with_credits(tally: Tally) -> dict[str, float]:
    """Intents and tools under both names: `intent` with the credits for near ones, `intent_accuracy` without."""
    found: dict[str, float] = {}
    for name, rate, hits in (("intent", tally.intent, tally.intent_hits), ("tool", tally.tool, tally.tool_hits)):
        has_scores = name in tally.series and len(tally.series[name].values)
        if has_scores and rate.value is not None and hits.value is not None:
            found |= {name: rate.value, SETTING_NAMES[name]: hits.value}
    return found


def latency_warnings(tally: Tally, latencies: Sequence[float]) -> tuple[LatencyWarning, ...]:
    """Parsing and whole replies that took too long; none of what took no longer than it may."""
    parsed = tally.beside.get("parse_time_ms")
    found = []
    for name, times, limit in (
        ("parse_time_ms", parsed.values if parsed else (), PARSE_WARNING_MS),
        ("total_time_ms", latencies, TOTAL_WARNING_MS),
    ):
        over = _count_over(times, limit)
        interval = wilson(over, len(times)) if over else None
        if interval is not None:
            found.append(
                LatencyWarning(
                    name="parse_time_ms" if name == "parse_time_ms" else "total_time_ms",
                    limit_ms=limit,
                    over=over,
                    of=len(times),
                    share=over / len(times),
                    low=interval.low,
                    high=interval.high,
                    worst_ms=max(times),
                )
            )
    return tuple(found)


def _count_over(times: Iterable[float], limit: float) -> int:
    return sum(1 for each in times if each > limit)
