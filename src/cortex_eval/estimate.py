"""What a run would take, before anybody is asked: calls, tokens, money, time, hosts, and the drop that it could see."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import orjson

from cortex_eval.analysis import allowed_worsening
from cortex_eval.config import AsksModel, IsModel, Plan
from cortex_eval.core import Case, Direction, Reply, RunRecord, TargetError, Usage, to_json
from cortex_eval.datasets import CaseRow
from cortex_eval.manifest import read_rows
from cortex_eval.net import Guard, host_of
from cortex_eval.outcome import find_baseline
from cortex_eval.scoring import PlannedScorer
from cortex_eval.stats import POWER, smallest_detectable_drop
from cortex_eval.storage import Store
from cortex_eval.targets import conversation_at

if TYPE_CHECKING:
    from cortex_eval.llm import ModelSettings, Prices

CHARACTERS_A_TOKEN = 4
"""Of English text, by the rule of thumb that services give; other scripts have fewer."""
TOKENS_OUT = 256
"""Of a reply, when the target does not limit it."""
RUNS_LOOKED_AT = 50
UNKNOWN_RATE = 0.5
"""Taken for the pass rate when nothing is known of it: about where the smallest visible drop is largest."""


class Side(NamedTuple):
    """What the target would take, or all judges together."""

    calls: int
    """When every reply comes at the first attempt, and every verdict can be read."""
    at_most: int
    """With every verdict asked for as often as a judge may; retries of failed calls not counted."""
    tokens: int | None
    cost_usd: Decimal | None
    """None: not known, which is not 0."""
    by: str
    """What tokens and cost rest on, in words; empty when neither is known."""


class Host(NamedTuple):
    """Somebody who would be called."""

    host: str
    who: tuple[str, ...]
    """Whose address it is: names of the target and of models."""
    refused: str | None
    """`offline`: --offline would refuse it; `forbidden_address`: no run may call it; None: neither."""


class Limit(NamedTuple):
    """A budget, and whether the run would stay within it."""

    name: str
    limit: Decimal
    expected: Decimal | None
    stops_after_calls: int | None
    """None: it is enough, or that is not known."""


class Visible(NamedTuple):
    """The smallest fall of the pass rate that a comparison would show."""

    drop: float | None
    """None: with so few cases not even a fall to 0."""
    power: float
    level: float
    pairs: int
    """Cases, or clusters of them."""
    pass_rate: float
    pass_rate_of: str
    """Where that rate is from, in words."""
    against: str
    tests: int = 1
    """Metrics that the gate would judge together and that share the level, by the hardest of Holm's steps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What a plan would do."""

    suite: str
    dataset: str
    target: str
    cases: int
    of: int
    """Cases in the dataset."""
    repeats: int
    scorers: tuple[str, ...]
    at_once: int
    asked: Side
    judged: Side
    latency_ms: float | None
    """Mean of one call, by the earlier run."""
    seconds: float | None
    """Without judges, whose time no run puts down."""
    seconds_at_1s: float
    by_run: str | None
    hosts: tuple[Host, ...]
    is_offline: bool
    budgets: tuple[Limit, ...]
    visible: Visible

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it; sums of money are text."""
        plain = asdict(self) | {"offline": self.is_offline, "smallest_detectable_drop": self.visible._asdict()}
        plain["calls"] = {
            "target": self.asked.calls,
            "judge": self.judged.calls,
            "judge_at_most": self.judged.at_most,
        }
        sides = {"target": self.asked, "judge": self.judged}
        plain["tokens"] = {name: side.tokens for name, side in sides.items()}
        plain["cost_usd"] = {name: side.cost_usd for name, side in sides.items()} | {"total": self.cost_usd}
        plain["by"] = {name: side.by or None for name, side in sides.items()}
        plain["hosts"] = [each._asdict() for each in self.hosts]
        plain["budgets"] = [each._asdict() for each in self.budgets]
        for name in ("asked", "judged", "visible", "is_offline"):
            del plain[name]
        return plain

    @property
    def cost_usd(self) -> Decimal | None:
        """Of target and judges together; None when a part of it is not known."""
        return _sum(self.asked.cost_usd, self.judged.cost_usd, self.judged.calls)


@runtime_checkable
class Measured(Protocol):
    """A judge that can say beforehand how much text a model of its would be told."""

    def characters(self, case: Case, replies: Sequence[Reply]) -> Sequence[int]:
        """In each call for this score; empty: the model would not be asked."""


def estimate_run(plan: Plan, store: Store) -> Estimate:
    """What carrying out this plan would take, by an earlier run or by prices; nobody is asked, nothing is kept."""
    chosen = _choose(plan)
    earlier = _earlier_run(plan, store)
    texts = _measure(plan, set(chosen.ordinals))
    calls = chosen.turns * plan.repeats
    asked = Side(calls, calls, *_better(_by_run(earlier, "target", calls), texts.target.known()))
    judged = _judge_side(plan, earlier, texts.judge)
    latency_ms = earlier.summary.get("latency_ms", {}).get("mean") if earlier else None
    paced_s = 60 * calls / plan.patience.requests_per_minute if plan.patience.requests_per_minute else 0.0
    return Estimate(
        suite=plan.suite,
        dataset=plan.dataset_name,
        target=plan.target_name,
        cases=len(chosen.ordinals),
        of=chosen.of,
        repeats=plan.repeats,
        scorers=tuple(each.name for each in plan.scorers),
        at_once=plan.at_once,
        asked=asked,
        judged=judged,
        latency_ms=latency_ms,
        seconds=None if latency_ms is None else max(calls * latency_ms / 1000 / plan.at_once, paced_s),
        seconds_at_1s=max(calls / plan.at_once, paced_s),
        by_run=earlier.id if earlier else None,
        hosts=tuple(hosts_of(plan)),
        is_offline=plan.is_offline,
        budgets=tuple(_budgets(plan, asked, judged)),
        visible=_visible(plan, store, earlier, chosen.pairs),
    )


class _Chosen(NamedTuple):
    ordinals: Sequence[int]
    of: int
    turns: int
    pairs: int
    """Cases that say something on their own: clusters, where cases belong to one."""


def _choose(plan: Plan) -> _Chosen:
    turns: list[int] = []
    clusters: dict[int, str] = {}

    def counted() -> Iterator[CaseRow]:
        for row in read_rows(plan.dataset).rows():
            turns.append(row.turns)
            if row.cluster_id is not None:
                clusters[row.ordinal] = row.cluster_id
            yield row

    chosen = plan.selection.choose(counted())
    pairs = len({clusters.get(ordinal, ordinal) for ordinal in chosen.ordinals})
    return _Chosen(chosen.ordinals, chosen.total, sum(turns[each] for each in chosen.ordinals), pairs)


def _visible(plan: Plan, store: Store, earlier: RunRecord | None, pairs: int) -> Visible:
    """What a comparison would show; a baseline that is not there is an InputError, as it is in the run."""
    baseline, level = find_baseline(store, plan.gate, plan.suite), plan.gate.level
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


def _earlier_run(plan: Plan, store: Store) -> RunRecord | None:
    """The newest finished run of this suite against this target as it is set up now."""
    settings = orjson.loads(to_json(plan.identity()["target"]))["settings"]
    for run in store.runs.all(limit=RUNS_LOOKED_AT, suite=plan.suite):
        then = run.manifest.get("target", {})
        is_same = run.target_name == plan.target_name and then.get("settings") == settings
        if is_same and run.status == "completed":
            return run
    return None


class _Count:
    """Calls to language models, with the tokens and the money that they would take, added up."""

    def __init__(self) -> None:
        self.calls = self.at_most = self.longest = 0
        self.tokens: int | None = 0
        self.cost_usd: Decimal | None = Decimal(0)
        self.tables: set[str] = set()

    def add(self, characters: int | None, tokens_out: int, prices: Prices | None, *, attempts: int = 1) -> None:
        """One more call; what it would be told may not be known."""
        self.calls, self.at_most, self.longest = self.calls + 1, self.at_most + attempts, max(self.longest, tokens_out)
        if characters is None:
            self.tokens = self.cost_usd = None
            return
        used = Usage(input_tokens=math.ceil(characters / CHARACTERS_A_TOKEN), output_tokens=tokens_out)
        money = prices.cost(used) if prices else None
        self.tokens = None if self.tokens is None else self.tokens + used.input_tokens + used.output_tokens
        self.cost_usd = None if self.cost_usd is None or money is None else self.cost_usd + money.amount
        self.tables |= {prices.table} if prices else set()

    def known(self) -> _Known:
        """What is known of tokens and money, and by which rule."""
        if not self.calls or self.tokens is None:
            return _Known(None, None, "")
        rule = f"{CHARACTERS_A_TOKEN} characters a token in, {self.longest:,} tokens out"
        tables = sorted("the project file" if each == "settings" else f"the table {each}" for each in self.tables)
        by = rule if self.cost_usd is None else f"prices of {' and '.join(tables)}; {rule}"
        return _Known(self.tokens, self.cost_usd, by)


class _Counts(NamedTuple):
    target: _Count
    judge: _Count


def _measure(plan: Plan, ordinals: set[int]) -> _Counts:
    """Every call to a language model that the plan would make."""
    target, judges = plan.target, [each for each in plan.scorers if isinstance(each.scorer, AsksModel)]
    counts = _Counts(_Count(), _Count())
    if not judges and not isinstance(target, IsModel):
        return counts
    from cortex_eval.llm import prices_of  # projects without models need not load it

    prices = prices_of(target.model_settings) if isinstance(target, IsModel) else None
    judged_at = {
        each.name: [prices_of(chosen.settings) for chosen in each.scorer.jury()]
        for each in judges
        if isinstance(each.scorer, AsksModel)
    }
    tokens_out = getattr(target, "max_tokens", None) or TOKENS_OUT
    said = "x" * (CHARACTERS_A_TOKEN * tokens_out)
    for row in read_rows(plan.dataset).rows():
        if row.ordinal not in ordinals:
            continue
        case = row.case
        replies = [Reply(text=said, contexts=case.passages or (said,))] * row.turns
        for turn in [each for each in range(row.turns) for _ in range(plan.repeats)]:
            if isinstance(target, IsModel):
                size = target.characters(conversation_at(case, turn, replies[:turn], session_id=""))
                counts.target.add(size, tokens_out, prices)
            for judge in judges:
                if judge.level == "turn" or turn == row.turns - 1:
                    _add_verdict(counts.judge, judge, case.at(turn), replies[: turn + 1], judged_at[judge.name])
    return counts


def _add_verdict(
    count: _Count, judge: PlannedScorer, case: Case, replies: Sequence[Reply], jury: Sequence[Prices | None]
) -> None:
    scorer = judge.scorer
    tokens_out, attempts = getattr(scorer, "max_tokens", TOKENS_OUT), getattr(scorer, "attempts", 1)
    sizes = scorer.characters(case, replies) if isinstance(scorer, Measured) else [None]
    for prices in jury:
        for size in sizes:
            count.add(size, tokens_out, prices, attempts=attempts)


def _judge_side(plan: Plan, earlier: RunRecord | None, count: _Count) -> Side:
    judges = [each for each in plan.scorers if isinstance(each.scorer, AsksModel)]
    kept = earlier.manifest.get("scorers", {}) if earlier else {}
    is_same = all(kept.get(each.name, {}).get("fingerprint") == each.fingerprint for each in judges)
    by_run = _by_run(earlier if is_same else None, "judge", count.calls)
    return Side(count.calls, count.at_most, *_better(by_run, count.known()))


class _Known(NamedTuple):
    tokens: int | None
    cost_usd: Decimal | None
    by: str


def _better(by_run: _Known, by_prices: _Known) -> _Known:
    """What an earlier run says, else what prices say; where neither knows the cost, whoever knows the tokens."""
    known = [each for each in (by_run, by_prices) if each.cost_usd is not None]
    known += [each for each in (by_run, by_prices) if each.tokens is not None]
    return known[0] if known else by_prices


def _by_run(earlier: RunRecord | None, whose: str, calls: int) -> _Known:
    used: Mapping[str, Any] = (earlier.summary.get("usage", {}).get(whose) if earlier else None) or {}
    if earlier is None or not used.get("replies"):
        return _Known(None, None, "")
    replies, cost = int(used["replies"]), used.get("cost") or {}
    tokens = (used["input_tokens"] + used["output_tokens"]) * calls // replies
    priced = replies - int(used["unpriced"])
    cost_usd = Decimal(cost["USD"]) * calls / priced if list(cost) == ["USD"] and priced else None
    noun = {"target": "replies", "judge": "verdicts"}[whose]
    return _Known(tokens or None, cost_usd, f"the mean of {priced or replies:,} {noun} in run {earlier.id}")


def _sum(target: Decimal | None, judge: Decimal | None, judge_calls: int) -> Decimal | None:
    if target is None or (judge is None and judge_calls):
        return None
    return target + (judge or 0)


def _exact(count: int | None) -> Decimal | None:
    return None if count is None else Decimal(count)


def _budgets(plan: Plan, asked: Side, judged: Side) -> Iterator[Limit]:
    budget, calls = plan.budget, asked.calls + judged.calls
    tokens = _sum(_exact(asked.tokens), _exact(judged.tokens), judged.calls)
    for name, limit, expected in (
        ("budget_usd", budget.usd, _sum(asked.cost_usd, judged.cost_usd, judged.calls)),
        ("budget_calls", budget.calls, Decimal(calls)),
        ("budget_tokens", budget.tokens, tokens),
    ):
        if limit is not None:
            is_over = expected is not None and expected > limit
            after = int(calls * Decimal(limit) / expected) if expected is not None and is_over else None
            yield Limit(name, Decimal(limit), expected, after)


def hosts_of(plan: Plan) -> Iterator[Host]:
    """Whom the target and the judges would call by themselves; what foreign code calls is its own affair."""
    found: dict[str, list[str]] = {}
    if isinstance(url := getattr(plan.target, "api_url", None), str):
        found[host_of(url)] = [plan.target_name]
    elif isinstance(plan.target, IsModel):
        found[_host_of_model(plan.target.model_settings)] = [plan.target_name]
    for judge in plan.scorers:
        if isinstance(judge.scorer, AsksModel):
            for chosen in judge.scorer.jury():
                found.setdefault(_host_of_model(chosen.settings), []).append(chosen.name)
    guard = Guard(is_offline=True, named=plan.named_hosts)
    for host, who in found.items():
        refused = None
        try:
            guard.pass_on(f"https://{host}/")
        except TargetError as error:
            refused = error.kind
        if host:  # else a model in this process
            yield Host(host, tuple(dict.fromkeys(who)), refused)


def _host_of_model(settings: ModelSettings) -> str:
    from cortex_eval.llm import make_model

    return host_of(settings.base_url) if settings.base_url else make_model(settings).host
