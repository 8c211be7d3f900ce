"""Making an estimate: by an earlier run, or by prices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

import orjson

from cortex_eval.analysis import allowed_worsening
from cortex_eval.config import AsksModel, Plan
from cortex_eval.core import Direction, RunRecord, to_json
from cortex_eval.estimate.calls import Count, Known, measure
from cortex_eval.estimate.figures import Estimate, Limit, Side, Visible, total_of
from cortex_eval.estimate.hosts import hosts_of
from cortex_eval.estimate.work import plan_work
from cortex_eval.outcome import find_baseline
from cortex_eval.scoring import PlannedScorer
from cortex_eval.stats import POWER, smallest_detectable_drop
from cortex_eval.storage import Store

RUNS_LOOKED_AT = 50
NO_CALLS = Side(0, 0, 0, Decimal(0), "")
UNKNOWN_RATE = 0.5
"""Taken for the pass rate when nothing is known of it: about where the smallest visible drop is largest."""


def estimate_run(plan: Plan, store: Store) -> Estimate:
    """What carrying out this plan would take, by an earlier run or by prices; nobody is asked, nothing is kept."""
    work = plan_work(plan, store)
    runs = _earlier_runs(plan, store)
    earlier = next((run for run in runs if _latency_ms(run) is not None), runs[0] if runs else None)
    texts = measure(plan, work)
    calls = work.calls
    asked = Side(calls, calls, *_better(_by_runs(runs, "target", calls), texts.target.known()))
    if not calls:
        asked = NO_CALLS
    judged = _judge_side(plan, runs, texts.judge)
    latency_ms = _latency_ms(earlier) if earlier else None
    one_by_one = max(calls / plan.at_once, float(work.longest))
    paced_s = 60 * calls / plan.patience.requests_per_minute if plan.patience.requests_per_minute else 0.0
    return Estimate(
        suite=plan.suite,
        dataset=plan.dataset_name,
        target=plan.target_name,
        cases=len(work.ordinals),
        of=work.of,
        repeats=plan.repeats,
        reused=work.taken,
        scorers=tuple(each.name for each in plan.scorers),
        at_once=plan.at_once,
        asked=asked,
        judged=judged,
        latency_ms=latency_ms,
        seconds=None if latency_ms is None else max(one_by_one * latency_ms / 1000, paced_s),
        seconds_at_1s=max(one_by_one, paced_s),
        by_run=earlier.id if earlier else None,
        hosts=tuple(hosts_of(plan)),
        is_offline=plan.is_offline,
        budgets=tuple(_budgets(plan, asked, judged)),
        visible=_visible(plan, store, earlier, work.pairs),
        notes=tuple(dict.fromkeys((*plan.notes, *work.notes))),
    )


def _visible(plan: Plan, store: Store, earlier: RunRecord | None, pairs: int) -> Visible:
    """What a comparison would show; a baseline that is not there is an InputError, as it is in the run."""
    baseline = find_baseline(store, plan.gate, plan.suite, config=plan.request.get("config"))
    level = plan.gate.level
    against = f"the baseline {plan.gate.baseline}" if baseline else "another run of these cases"
    rate, rate_of = (baseline.values.get("pass_rate") if baseline else None), f"of {against}"
    if rate is None and earlier is not None:
        rate, rate_of = earlier.summary.get("totals", {}).get("pass_rate"), f"of run {earlier.id}"
    if rate is None:
        rate, rate_of = UNKNOWN_RATE, "assumed: no earlier run tells it"
    tests = _judged_metrics(plan)
    drop = smallest_detectable_drop(pairs, rate=rate, level=level / tests)
    if 0.5**pairs > level / tests:  # the smallest p-value that so many signs can have
        drop = None
    return Visible(drop, POWER, level, pairs, rate, rate_of, against, tests)


def _judged_metrics(plan: Plan) -> int:
    """How many metrics the gate would hold against a baseline."""
    directions: dict[str, Direction] = {each.name: "higher" for each in plan.scorers}
    directions |= {"pass_rate": "higher", "overall_score": "higher", "latency_ms": "lower"}
    return max(1, len(allowed_worsening(plan.gate, directions)))


def _earlier_runs(plan: Plan, store: Store) -> list[RunRecord]:
    """Finished runs of this suite against this target as it is set up now, newest first."""
    settings = orjson.loads(to_json(plan.identity()["target"]))["settings"]
    return [
        run
        for run in store.runs.all(limit=RUNS_LOOKED_AT, suite=plan.suite)
        if run.target_name == plan.target_name
        and run.manifest.get("target", {}).get("settings") == settings
        and run.status == "completed"
    ]


def _latency_ms(run: RunRecord) -> float | None:
    mean: float | None = run.summary.get("latency_ms", {}).get("mean")
    return mean


def _judge_side(plan: Plan, runs: Sequence[RunRecord], count: Count) -> Side:
    judges = [each for each in plan.scorers if isinstance(each.scorer, AsksModel)]
    if judges and not count.calls:
        return NO_CALLS
    same = [run for run in runs if all(_judged_by(run, each) for each in judges)]
    return Side(count.calls, count.at_most, *_better(_by_runs(same, "judge", count.verdicts), count.known()))


def _judged_by(run: RunRecord, judge: PlannedScorer) -> bool:
    then: Mapping[str, Any] = run.manifest.get("scorers", {}).get(judge.name, {})
    return then.get("fingerprint") == judge.fingerprint


def _better(by_run: Known, by_prices: Known) -> Known:
    """What an earlier run says, else what prices say; where neither knows the cost, whoever knows the tokens."""
    known = [each for each in (by_run, by_prices) if each.cost_usd is not None]
    known += [each for each in (by_run, by_prices) if each.tokens is not None]
    return known[0] if known else by_prices


def _by_runs(runs: Sequence[RunRecord], whose: str, times: int) -> Known:
    """What so many replies or verdicts would take by the newest run that has some of its own; one that was scored
    again or took over all of another has none."""
    for run in runs:
        used: Mapping[str, Any] = run.summary.get("usage", {}).get(whose) or {}
        if used.get("replies"):
            return _by_run(run, used, times, noun={"target": "replies", "judge": "verdicts"}[whose])
    return Known(None, None, "")


def _by_run(run: RunRecord, used: Mapping[str, Any], times: int, *, noun: str) -> Known:
    replies, cost = int(used["replies"]), used.get("cost") or {}
    tokens = (used["input_tokens"] + used["output_tokens"]) * times // replies
    priced = replies - int(used["unpriced"])
    cost_usd = Decimal(cost["USD"]) * times / priced if list(cost) == ["USD"] and priced else None
    return Known(tokens or None, cost_usd, f"the mean of {priced or replies:,} {noun} in run {run.id}")


def _exact(count: int | None) -> Decimal | None:
    return None if count is None else Decimal(count)


def _budgets(plan: Plan, asked: Side, judged: Side) -> Iterator[Limit]:
    budget, calls = plan.budget, asked.calls + judged.calls
    tokens = total_of(_exact(asked.tokens), _exact(judged.tokens), judged.calls)
    for name, limit, expected in (
        ("budget_usd", budget.usd, total_of(asked.cost_usd, judged.cost_usd, judged.calls)),
        ("budget_calls", budget.calls, Decimal(calls)),
        ("budget_tokens", budget.tokens, tokens),
    ):
        if limit is not None:
            is_over = expected is not None and expected > limit
            after = int(calls * Decimal(limit) / expected) if expected is not None and is_over else None
            yield Limit(name, Decimal(limit), expected, after)
