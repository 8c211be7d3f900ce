"""From a stream of results to the report of a run."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, NamedTuple

from cortex_eval.analysis.classification import Confusions
from cortex_eval.analysis.collect import Collector, Key, Tally
from cortex_eval.analysis.compare import Baseline, Figures, compare_with_baseline
from cortex_eval.analysis.confidence import Confidences
from cortex_eval.analysis.gaps import gap_notes, unscored_of
from cortex_eval.analysis.gate import Evidence, GateSettings, decide
from cortex_eval.analysis.report import Group, Latency, Metric, Report, Totals
from cortex_eval.core import Direction, Result, RunRecord
from cortex_eval.stats import BOOTSTRAP_LIMIT, estimate, percentile

NO_GROUP = "(none)"
"""The name of the cases that state no category, tier or language while others do."""
_OF_CASES = ("pass_rate", "overall_score")
_LAST = ("pass_rate", "overall_score", "latency_ms", "llm_usage_rate")


class _Method(NamedTuple):
    """How the intervals of one report are made; the same for the whole and for its parts."""

    resample: bool
    has_clusters: bool


def summarise(
    run: RunRecord,
    open_results: Callable[[], Iterable[Result]],
    *,
    gate: GateSettings,
    passing_threshold: float,
    baseline: Baseline | None = None,
    is_partial: bool = False,
) -> Report:
    """The report of a run, in one pass over its results; nothing but numbers is held while reading."""
    collected = Collector()
    confidences, confusions = Confidences(), Confusions()
    collected.read(confidences.noting(confusions.noting(open_results())))
    whole = _merged(collected.tallies.values())
    method = _Method(resample=whole.cases <= BOOTSTRAP_LIMIT, has_clusters=collected.has_clusters)
    metrics = _metrics(whole, method=method)
    unscored = unscored_of(whole, run)
    overall = _overall(whole)
    categories = _groups(collected.tallies, 0, method=method)
    category_metrics = _category_metrics(collected.tallies)
    totals = _totals(whole, metrics)
    figures = Figures(metrics=metrics, overall=overall, categories=categories, category_metrics=category_metrics)
    compared = compare_with_baseline(figures, baseline, gate) if baseline else None
    evidence = Evidence(
        totals=totals,
        expected_cases=max(run.cases, totals.cases),
        is_partial=is_partial or whole.pending > 0,
        metrics=metrics,
        values=figures.values,
        regressions=compared.regressions if compared else (),
        is_compared=compared is not None,
        paused=run.paused,
    )
    return Report(
        run=run,
        timestamp=run.finished or run.started or run.created,
        totals=totals,
        metrics=metrics,
        overall=overall,
        category_metrics=category_metrics,
        categories=categories,
        tiers=_groups(collected.tallies, 1, method=method),
        languages=_groups(collected.tallies, 2, method=method),
        latency_ms=_latency(collected),
        target_usage=collected.target_use.summed(),
        judge_usage=collected.judge_use.summed(),
        cache_hits=collected.cache_hits,
        asked=collected.asked,
        answered_first=collected.first_attempt,
        error_kinds=dict(sorted(collected.error_kinds.items(), key=lambda each: -each[1])),
        error_messages=collected.error_messages,
        unscored=unscored,
        gate=decide(evidence, gate, passing_threshold=passing_threshold),
        baseline=baseline.label if baseline else None,
        baseline_comparison=compared.comparison if compared else None,
        regressions=evidence.regressions,
        notes=(*gap_notes(whole, run, metrics, unscored), *_notes(method, cases=whole.cases)),
        confidence=confidences.summed(no_category=NO_GROUP),
        classification=confusions.summed(),
        open_results=open_results,
    )


def _merged(tallies: Iterable[Tally]) -> Tally:
    parts = list(tallies)
    if len(parts) == 1:
        return parts[0]  # a copy of a hundred thousand figures would be for nothing
    merged = Tally()
    for tally in parts:
        merged.merge(tally)
    return merged


def _metrics(tally: Tally, *, method: _Method) -> dict[str, Metric]:
    """Scorers in their own order, then the figures of the run; what was never scored is absent."""
    names = [name for name in tally.series if name not in _LAST] + [name for name in _LAST if name in tally.series]
    metrics = {}
    for name in names:
        series = tally.series[name]
        unit = "ms" if name == "latency_ms" else ""
        clusters = series.clusters if method.has_clusters else None
        found = estimate(series.values, clusters, bounded=unit == "", resample=method.resample)
        if found.mean is None:
            continue
        is_of_cases = name in _OF_CASES or series.is_case_level
        direction: Direction = "lower" if name in ("latency_ms", "llm_usage_rate") else "higher"
        metrics[name] = Metric(
            mean=found.mean,
            low=found.low,
            high=found.high,
            scored=found.n,
            total=tally.cases if is_of_cases else tally.places,
            errors=tally.errors if name in _OF_CASES else series.errors,
            unit=unit,
            direction=direction,
        )
    return metrics


def _totals(tally: Tally, metrics: Mapping[str, Metric]) -> Totals:
    return Totals(
        cases=tally.cases,
        turns=tally.turns,
        passed=tally.passed,
        failed=tally.failed,
        errors=tally.errors,
        pass_rate=metrics["pass_rate"].mean if "pass_rate" in metrics else None,
        overall_score=metrics["overall_score"].mean if "overall_score" in metrics else None,
    )


def _overall(tally: Tally) -> dict[str, float]:
    """The seed's figures (its §4.5): over results, not over cases; absent where nothing was scored."""
    found = {
        "overall_intent_accuracy": _rate_with_errors(tally, "intent"),
        "overall_entity_f1": tally.entities.value,
        "overall_tool_accuracy": _rate_with_errors(tally, "tool"),
        "overall_avg_latency_ms": tally.total_ms.value,
        "overall_llm_usage_rate": _llm_usage(tally),
    }
    return {name: value for name, value in found.items() if value is not None}


def _rate_with_errors(tally: Tally, name: str) -> float | None:
    series = tally.series.get(name)
    value: float | None = getattr(tally, name).value
    return value if series is not None and len(series.values) else None


def _llm_usage(tally: Tally) -> float | None:
    return tally.llm_invoked.total / tally.turns if tally.llm_invoked.count else None


def _category_metrics(tallies: Mapping[Key, Tally]) -> dict[str, dict[str, Any]]:
    """By category in the seed's field names (its §2.4); what was not scored is absent."""
    metrics = {}
    for name, tally in _by(tallies, 0).items():
        intent = _rate_with_errors(tally, "intent")
        fields: dict[str, Any] = {
            "total_tests": tally.turns,
            "intent_correct": tally.intent_correct if intent is not None else None,
            "intent_accuracy": intent,
            "entity_precision_avg": tally.precision.value,
            "entity_recall_avg": tally.recall.value,
            "entity_f1_avg": tally.entities.value,
            "tool_accuracy": _rate_with_errors(tally, "tool"),
            "avg_confidence": tally.confidence.value,
            "avg_parse_time_ms": tally.parse_ms.value,
            "avg_total_time_ms": tally.total_ms.value,
            "llm_usage_rate": _llm_usage(tally),
            "error_count": tally.error_rows,
            "errors": tally.error_list,
        }
        metrics[name] = {field: value for field, value in fields.items() if value is not None}
    return metrics


def _by(tallies: Mapping[Key, Tally], place: int) -> dict[str, Tally]:
    """The tallies merged by one part of their key, in its order; empty when no case states that part."""
    parts: dict[Hashable, list[Tally]] = {}
    for key, tally in tallies.items():
        parts.setdefault(key[place], []).append(tally)
    if set(parts) == {None}:
        return {}
    named: list[Any] = sorted(part for part in parts if part is not None)
    if None in parts:
        named.append(None)
    return {NO_GROUP if part is None else str(part): _merged(parts[part]) for part in named}


def _groups(tallies: Mapping[Key, Tally], place: int, *, method: _Method) -> dict[str, Group]:
    groups = {}
    for name, tally in _by(tallies, place).items():
        metrics = _metrics(tally, method=method)
        groups[name] = Group(totals=_totals(tally, metrics), metrics=metrics)
    return groups


def _latency(collected: Collector) -> Latency:
    ordered = sorted(collected.latencies)
    return Latency(
        mean=sum(ordered) / len(ordered) if ordered else None,
        p50=percentile(ordered, 0.50),
        p95=percentile(ordered, 0.95),
        p99=percentile(ordered, 0.99),
        first_attempt_success=collected.first_attempt / collected.asked if collected.asked else None,
    )


def _notes(method: _Method, *, cases: int) -> tuple[str, ...]:
    if method.resample:
        return ()
    same = f"with {cases:,} cases the bootstrap gives the same at far greater cost"
    return (f"Intervals of means are cluster-robust normal ones: {same}.",)
