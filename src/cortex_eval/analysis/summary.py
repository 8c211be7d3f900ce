"""From a stream of results to the report of a run."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from cortex_eval.analysis.collect import TAG_SETS_KEPT, Collector, Key
from cortex_eval.analysis.compare import Baseline, Figures
from cortex_eval.analysis.expectations import judged
from cortex_eval.analysis.gaps import gap_notes, unscored_of
from cortex_eval.analysis.gate import Evidence, decide
from cortex_eval.analysis.gate_settings import GateSettings
from cortex_eval.analysis.held import Held
from cortex_eval.analysis.patterns_find import diagnose
from cortex_eval.analysis.patterns_names import respelt_classes
from cortex_eval.analysis.quarantine import Quarantine
from cortex_eval.analysis.reached import Figures as Reachable
from cortex_eval.analysis.reached import Method, figures_of_run, latency_warnings, with_credits
from cortex_eval.analysis.report import Group, Latency, Metric, Report, Totals
from cortex_eval.analysis.reweight import Weights, selection_notes
from cortex_eval.analysis.spread import latency_bins
from cortex_eval.analysis.sums import Sums
from cortex_eval.analysis.tally import Tally
from cortex_eval.analysis.verdict import SecondLook
from cortex_eval.core import Direction, Result, RunRecord
from cortex_eval.stats import BOOTSTRAP_LIMIT, estimate, percentile

if TYPE_CHECKING:
    from cortex_eval.analysis.changes import ReadAt
    from cortex_eval.analysis.parallel import Parity

NO_GROUP = "(none)"
"""The name of the cases that state no category, tier or language while others do."""
_OF_CASES = ("pass_rate", "overall_score")
_LAST = ("pass_rate", "overall_score", "latency_ms", "llm_usage_rate")


def summarise(
    run: RunRecord,
    open_results: Callable[[], Iterable[Result]],
    *,
    gate: GateSettings,
    passing_threshold: float,
    baseline: Baseline | None = None,
    second_looks: tuple[SecondLook, ...] = (),
    is_partial: bool = False,
    sums: Sums | None = None,
    read_at: ReadAt | None = None,
) -> Report:
    """The report of a run, in one pass over its results; nothing but numbers is held while reading.

    `sums` is what they add up to, if that is known. Only where cases are parallel to others, or are compared one by one
    with those of the baseline, are the results read a second time. `second_looks` are the critical cases that were
    asked again. `read_at` reads the few cases of which is told what was said before and now.
    """
    if sums is None:
        sums = Sums(run, gate)
        sums.add(open_results())
    collected, failures, quarantine = sums.collected, sums.failures, sums.quarantine
    set_aside = quarantine.set_aside()
    diagnosis = diagnose(failures, locations=run.manifest.get("fix_locations"))
    whole = _merged(collected.tallies.values())
    method = Method(resample=whole.cases <= BOOTSTRAP_LIMIT, has_clusters=collected.has_clusters)
    weights = Weights.of(run, collected.tallies)
    metrics = _metrics(whole, method=method, weights=weights)
    unscored = unscored_of(whole, run)
    weighted = weights.scaled(whole) if weights else whole
    overall = _overall(weighted)
    categories = _groups(collected.tallies, 0, method=method)
    category_metrics = _category_metrics(collected.tallies)
    totals = _totals(whole, metrics)
    confidence, classification = sums.confidences.summed(no_category=NO_GROUP), sums.confusions.summed()
    coverage = collected.coverages.summed()
    hallucination, latency = sums.hallucinations.summed(), _latency(collected)
    figures = Figures(metrics=metrics, overall=overall, categories=categories, category_metrics=category_metrics)
    held = _held_against(run, open_results, figures, baseline, gate, quarantine, read_at)
    against, anchor = next(iter(held), None), next((each for each in held if each.is_anchor), None)
    evidence = Evidence(
        totals=totals,
        expected_cases=max(run.cases - len(set_aside), totals.cases),
        is_partial=is_partial or whole.pending > 0,
        metrics=metrics,
        values=figures.values
        | figures_of_run(whole, latency, confidence, classification, hallucination)
        | with_credits(weighted),
        held=held,
        second_looks=second_looks,
        set_aside=quarantine.checks(),
        is_weighted=weights is not None,
        timed=len(collected.latencies),
        turns=whole.turns,
        paused=run.paused,
    )
    tallies_by_tier = _by(collected.tallies, 1)
    tiers = _grouped(tallies_by_tier, method=method)
    reached = Reachable(whole, metrics, method, weights is not None, collected.latencies)
    by_tier = {
        name: Reachable(tally, tiers[name].metrics, method, times=_times(tally, run))
        for name, tally in tallies_by_tier.items()
    }
    return Report(
        run=run,
        timestamp=run.finished or run.started or run.created,
        totals=totals,
        metrics=metrics,
        overall=overall,
        category_metrics=category_metrics,
        categories=categories,
        tiers=tiers,
        languages=_groups(collected.tallies, 2, method=method),
        latency_ms=latency,
        target_usage=collected.target_use.summed(),
        judge_usage=collected.judge_use.summed(),
        cache_hits=collected.cache_hits,
        asked=collected.asked,
        answered_first=collected.first_attempt,
        error_kinds=dict(sorted(collected.error_kinds.items(), key=lambda each: -each[1])),
        error_messages=collected.error_messages,
        unscored=unscored,
        gate=decide(evidence, gate, passing_threshold=passing_threshold),
        baseline=against.label if against else None,
        baseline_comparison=against.comparison if against else None,
        anchor=anchor.label if anchor else None,
        anchor_comparison=anchor.comparison if anchor else None,
        regressions=tuple(found for each in held for found in each.regressions),
        case_changes=against.changes if against else None,
        second_looks=second_looks,
        quarantine=set_aside,
        notes=(
            *quarantine.notes(),
            *selection_notes(run, weights),
            *gap_notes(whole, run, metrics, unscored),
            *_notes(method, cases=whole.cases),
            *_tag_notes(collected),
            *_check_notes(collected, run),
        ),
        confidence=confidence,
        classification=respelt_classes(classification, coverage, failures.stated, failures.counting.kinds),
        tags={} if collected.has_too_many_tags else _grouped(_by_tag(collected.tallies), method=method),
        expectations=judged(gate.expectations, reached, by_tier),
        latency_warnings=latency_warnings(whole, collected.latencies),
        coverage=coverage,
        parity=_parity(open_results()) if collected.has_pairs else (),
        hallucination=hallucination,
        patterns=diagnosis.patterns,
        critical_failures=diagnosis.critical,
        slices=diagnosis.slices,
        confusions=diagnosis.confusions,
        passed_numbers=failures.passed_numbers(),
        let_through=collected.let_through.summed(),
        open_results=open_results,
    )


def _held_against(
    run: RunRecord,
    open_results: Callable[[], Iterable[Result]],
    figures: Figures,
    baseline: Baseline | None,
    gate: GateSettings,
    quarantine: Quarantine,
    read_at: ReadAt | None,
) -> tuple[Held, ...]:
    if baseline is None:
        return ()
    from cortex_eval.analysis.against import hold_against  # with all that compares case by case

    return hold_against(run, open_results, figures, baseline, gate, left_out=quarantine.entries, read_at=read_at)


def _parity(results: Iterable[Result]) -> tuple[Parity, ...]:
    from cortex_eval.analysis.parallel import parity

    return parity(results)


def _merged(tallies: Iterable[Tally]) -> Tally:
    parts = list(tallies)
    if len(parts) == 1:
        return parts[0]  # a copy of a hundred thousand figures would be for nothing
    merged = Tally()
    for tally in parts:
        merged.merge(tally)
    return merged


def _metrics(tally: Tally, *, method: Method, weights: Weights | None = None) -> dict[str, Metric]:
    """Scorers in their own order, then the figures of the run; what was never scored is absent."""
    names = [name for name in tally.series if name not in _LAST] + [name for name in _LAST if name in tally.series]
    metrics = {}
    for name in names:
        series = tally.series[name]
        unit = "ms" if name == "latency_ms" else ""
        clusters = series.clusters if method.has_clusters else None
        if weights is None:
            found = estimate(series.values, clusters, bounded=unit == "", resample=method.resample)
        else:
            found = weights.estimate(name, bounded=unit == "", has_clusters=method.has_clusters)
        if found.mean is None:
            continue
        is_of_cases = name in _OF_CASES or series.is_case_level
        direction: Direction = "lower" if name in ("latency_ms", "llm_usage_rate") else series.direction
        metrics[name] = Metric(
            mean=found.mean,
            low=found.low_of_time if unit == "ms" else found.low,
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
        "overall_intent_accuracy": _accuracy(tally, "intent"),
        "overall_entity_f1": tally.entities.value,
        "overall_tool_accuracy": _accuracy(tally, "tool"),
        "overall_avg_latency_ms": tally.total_ms.value,
        "overall_llm_usage_rate": _llm_usage(tally),
    }
    return {name: value for name, value in found.items() if value is not None}


def _accuracy(tally: Tally, name: Literal["intent", "tool"]) -> float | None:
    """Full hits over all results that expect one, errors among them; None when none was scored."""
    series = tally.series.get(name)
    if series is None or not len(series.values):
        return None
    return tally.intent_hits.value if name == "intent" else tally.tool_hits.value


def _llm_usage(tally: Tally) -> float | None:
    return tally.llm_invoked.total / tally.turns if tally.llm_invoked.count else None


def _category_metrics(tallies: Mapping[Key, Tally]) -> dict[str, dict[str, Any]]:
    """By category in the seed's field names (its §2.4); what was not scored is absent."""
    metrics = {}
    for name, tally in _by(tallies, 0).items():
        intent = _accuracy(tally, "intent")
        fields: dict[str, Any] = {
            "total_tests": tally.turns,
            "intent_correct": int(tally.intent_hits.total) if intent is not None else None,
            "intent_accuracy": intent,
            "entity_precision_avg": _mean_beside(tally, "entity_precision"),
            "entity_recall_avg": _mean_beside(tally, "entity_recall"),
            "entity_f1_avg": tally.entities.value,
            "tool_accuracy": _accuracy(tally, "tool"),
            "avg_confidence": tally.confidence.value,
            "avg_parse_time_ms": _mean_beside(tally, "parse_time_ms"),
            "avg_total_time_ms": tally.total_ms.value,
            "llm_usage_rate": _llm_usage(tally),
            "error_count": tally.error_rows,
            "errors": tally.error_list,
        }
        metrics[name] = {field: value for field, value in fields.items() if value is not None}
    return metrics


def _mean_beside(tally: Tally, name: str) -> float | None:
    series = tally.beside.get(name)
    return sum(series.values) / len(series.values) if series else None


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


def _by_tag(tallies: Mapping[Key, Tally]) -> dict[str, Tally]:
    """The tallies merged by tag; those of several tags are in each of them."""
    parts: dict[str, list[Tally]] = {}
    for key, tally in tallies.items():
        for tag in dict.fromkeys(key[3]):
            parts.setdefault(tag, []).append(tally)
    return {tag: _merged(parts[tag]) for tag in sorted(parts)}


def _groups(tallies: Mapping[Key, Tally], place: int, *, method: Method) -> dict[str, Group]:
    return _grouped(_by(tallies, place), method=method)


def _grouped(tallies: Mapping[str, Tally], *, method: Method) -> dict[str, Group]:
    groups = {}
    for name, tally in tallies.items():
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
        bins=latency_bins(ordered),
    )


def _times(tally: Tally, run: RunRecord) -> Sequence[float]:
    """How long the replies of some cases took; with repeats, only the means of those are known."""
    return tally.series["latency_ms"].values if run.repeats == 1 and "latency_ms" in tally.series else ()


def _check_notes(collected: Collector, run: RunRecord) -> Iterable[str]:
    planned = run.manifest.get("scorers")
    if collected.with_checks and planned and all(each.get("kind") != "checks" for each in planned.values()):
        have = "1 case has checks" if collected.with_checks == 1 else f"{collected.with_checks:,} cases have checks"
        yield f"{have} of their own, and no scorer looks at them: add checks to the scorers of {run.suite}."


def _tag_notes(collected: Collector) -> tuple[str, ...]:
    if not collected.has_too_many_tags:
        return ()
    return (f"There are more than {TAG_SETS_KEPT} different sets of tags, so nothing is told by tag.",)


def _notes(method: Method, *, cases: int) -> tuple[str, ...]:
    if method.resample:
        return ()
    same = f"with {cases:,} cases the bootstrap gives the same at far greater cost"
    return (f"Intervals of means are cluster-robust normal ones: {same}.",)
