"""The report: one value that says how a run went, and that every rendering is made from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from cortex_eval.analysis.classification import Classified
from cortex_eval.analysis.commonest import commonest_error, not_passed
from cortex_eval.analysis.confidence import Confidence
from cortex_eval.analysis.coverage import Coverage
from cortex_eval.analysis.expectations import Expectation
from cortex_eval.analysis.hallucination import Hallucination
from cortex_eval.analysis.let_through import LetThrough
from cortex_eval.analysis.parallel import Parity
from cortex_eval.analysis.patterns import ConfusedPair, CriticalFailure, PassedNumbers, Pattern, Slice
from cortex_eval.analysis.rows import flat_row, result_row
from cortex_eval.analysis.spread import LatencyBin, LatencyWarning
from cortex_eval.analysis.trend import Stability, Trend
from cortex_eval.analysis.verdict import BaselineLabel, Change, Gate, Regression, SecondLook, SetAside
from cortex_eval.core import Direction, InputError, Result, RunRecord

if TYPE_CHECKING:  # a run without a baseline has none
    from cortex_eval.analysis.changes import Changes

SCHEMA = "cortex.report/1"
Grouping = Literal["category", "tier", "language", "tag"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A mean with its 95 % interval and how much it rests on."""

    mean: float
    low: float | None
    high: float | None
    """None: the spread is unknown, as of a single latency."""
    scored: int
    total: int
    errors: int = 0
    """Where the scorer gave no answer; a reply that never came is in the totals."""
    unit: str = ""
    """Empty: a share or a score of 0..1."""
    direction: Direction = "higher"
    """Which way is better."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unscored:
    """A scorer that gave no number in the whole run, and therefore has no mean."""

    total: int
    errors: int = 0
    """Where it failed to answer; 0: it had nothing to say about any of them."""
    reason: str = ""
    """Its most common reason, or its first error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """What became of the cases; a case with an error is neither passed nor failed."""

    cases: int
    turns: int
    """Results: one per turn and repeat."""
    passed: int
    failed: int
    errors: int
    pass_rate: float | None
    overall_score: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The cases that share a category, a tier or a language."""

    totals: Totals
    metrics: Mapping[str, Metric]


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """Time to a reply, over all replies; percentiles interpolate linearly between the two nearest."""

    mean: float | None = None
    p50: float | None = None
    p95: float | None = None
    p99: float | None = None
    first_attempt_success: float | None = None
    """Share of the turns asked that were answered at the first attempt."""
    bins: tuple[LatencyBin, ...] = ()
    """The histogram."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenUse:
    """Tokens and money of all replies that stated them."""

    replies: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    cost: Mapping[str, str] | None = None
    """Decimal amount by currency; None: no price is known, which is not 0."""
    unpriced: int = 0
    """Replies with tokens and without a price."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """What a run called, and how that went; None: nobody put it down, as in a run that was killed."""

    asked: int = 0
    """Turns that the target was asked for, however often; those from the cache are not among them."""
    answered_first: int = 0
    """Turns that were answered at the first attempt."""
    made: int | None = None
    """All calls, to the target and to judges, retries included."""
    at_least: bool = False
    """Whether there were more of them: a part of the run was killed, and only its results are counted."""
    may_repeat: int | None = None
    """Calls that an earlier part of the run, which was cut off, may have made already."""
    outages: int | None = None
    """How often the target was down."""
    waited_s: float | None = None
    """For limits, retries and a target that is down: the waiting of all calls added up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """How a run went. Numbers that were not scored are absent or None, never 0."""

    run: RunRecord
    timestamp: str
    totals: Totals
    metrics: Mapping[str, Metric]
    overall: Mapping[str, float]
    """The `overall_…` figures: errors count as not correct where the seed says so."""
    category_metrics: Mapping[str, Mapping[str, Any]]
    """By category, in the field names of the report file."""
    categories: Mapping[str, Group]
    tiers: Mapping[str, Group]
    languages: Mapping[str, Group]
    latency_ms: Latency
    target_usage: TokenUse | None
    judge_usage: TokenUse | None
    cache_hits: int
    asked: int = 0
    answered_first: int = 0
    """As in `Calls`."""
    error_kinds: Mapping[str, int]
    """Turns in error by state and kind, most frequent first."""
    gate: Gate
    error_messages: Mapping[str, str] = field(default_factory=dict)
    """The first message of each of these kinds."""
    unscored: Mapping[str, Unscored] = field(default_factory=dict)
    """Scorers that are not among the metrics, because they never applied or never answered."""
    baseline: BaselineLabel | None = None
    baseline_comparison: Mapping[str, Change] | None = None
    anchor: BaselineLabel | None = None
    """The pinned baseline that it was compared with too; None: there is none."""
    anchor_comparison: Mapping[str, Change] | None = None
    regressions: tuple[Regression, ...] = ()
    """Against the baseline first, then against the anchor."""
    case_changes: Changes | None = None
    """Cases whose verdict is not that of the baseline; None: its cases are not known, or there is no baseline."""
    second_looks: tuple[SecondLook, ...] = ()
    """Critical cases that broke, with what asking again showed; flaky ones first."""
    quarantine: tuple[SetAside, ...] = ()
    """Cases that are in none of these figures and decide nothing."""
    notes: tuple[str, ...] = ()
    """What a reader of the numbers should know, such as how intervals were made."""
    confidence: Confidence | None = None
    """How far stated confidences can be trusted; None when no reply states one."""
    classification: Mapping[str, Classified] = field(default_factory=dict)
    """Confusion matrix and figures by class, of every scorer that compares labels."""
    patterns: tuple[Pattern, ...] = ()
    """Why cases fail, in the order of mending; empty when none failed for a reason that others share."""
    critical_failures: tuple[CriticalFailure, ...] = ()
    """What failed that must not: rules of severity critical first, then critical scorers by how many cases."""
    slices: tuple[Slice, ...] = ()
    """Which cases fail more often than the rest, beyond chance."""
    confusions: tuple[ConfusedPair, ...] = ()
    """What was taken for what most often."""
    passed_numbers: PassedNumbers | None = None
    """Replies that passed with another number than the expected answer; None: none was found."""
    let_through: LetThrough | None = None
    """Cases that passed although a scorer failed them; None: there is none."""
    stability: Stability | None = None
    """How many verdicts are those of the run before; None: there was none."""
    trend: Trend | None = None
    """The runs before and this one, as charts draw them; None: not looked up."""
    tags: Mapping[str, Group] = field(default_factory=dict)
    """By tag; a case with several counts in each of them. Empty when no case has one."""
    expectations: tuple[Expectation, ...] = ()
    """What was hoped for beside what came: first over the whole run, then tier by tier. They decide nothing."""
    latency_warnings: tuple[LatencyWarning, ...] = ()
    """Only where at least one reply took too long."""
    coverage: Coverage | None = None
    """What the cases of this run try out; None when they state neither intents nor categories."""
    parity: tuple[Parity, ...] = ()
    """Gap between languages by metric, over pairs of parallel cases; empty when there are none."""
    hallucination: Mapping[str, Hallucination] = field(default_factory=dict)
    """Hallucinated claims over the run, by the scorer that counted them."""
    open_results: Callable[[], Iterable[Result]] = field(compare=False, repr=False)
    """A fresh stream of the results, as often as it is called."""

    def __repr__(self) -> str:
        totals, score = self.totals, self.metrics.get("overall_score")
        parts = [f"{totals.passed} of {totals.cases} {'case' if totals.cases == 1 else 'cases'} passed"]
        if totals.errors:
            why = commonest_error(self.error_kinds, self.error_messages)
            parts.append(f"{totals.errors} in error" + (f" ({why})" if why else ""))
        if score is not None:
            interval = "" if score.low is None else f" [{score.low:.2f}, {score.high:.2f}]"
            parts.append(f"overall_score {score.mean:.2f}{interval}")
        named = "" if self.passed else not_passed(self.results, totals.failed + totals.errors)
        told = f"{self.gate.verdict}: {', '.join(parts)}, run {self.run.id}"
        return f"Report({told}{'; not passed: ' if named else ''}{named})"

    @property
    def passed(self) -> bool:
        """Whether the gate let the run through."""
        return self.gate.verdict == "passed"

    @property
    def exit_code(self) -> int:
        """What a command that made this report exits with."""
        return self.gate.exit_code

    @property
    def calls(self) -> Calls:
        """What the run called, and how that went; one that only scores another's replies has asked for nothing."""
        kept = self.run.manifest.get("calls", {})
        is_rescored = self.run.manifest.get("parent") is not None
        return Calls(
            asked=0 if is_rescored else self.asked,
            answered_first=0 if is_rescored else self.answered_first,
            made=kept.get("made"),
            at_least=kept.get("at_least", False),
            may_repeat=kept.get("may_repeat"),
            outages=kept.get("outages"),
            waited_s=kept.get("waited_s"),
        )

    @property
    def hosts(self) -> Mapping[str, int] | None:
        """Calls by host and port, of those that Cortex made itself; None: nobody put it down."""
        return self.run.manifest.get("hosts")

    @property
    def results(self) -> Iterable[Result]:
        """Every result, read afresh."""
        return self.open_results()

    @property
    def overall_intent_accuracy(self) -> float | None:
        """Correct intents over all results; a target error is not correct."""
        return self.overall.get("overall_intent_accuracy")

    @property
    def overall_entity_f1(self) -> float | None:
        """Mean F1 of the entities over the results that were scored."""
        return self.overall.get("overall_entity_f1")

    @property
    def overall_tool_accuracy(self) -> float | None:
        """Correct tools over the results that expect one."""
        return self.overall.get("overall_tool_accuracy")

    @property
    def overall_avg_latency_ms(self) -> float | None:
        """Mean time to a reply."""
        return self.overall.get("overall_avg_latency_ms")

    @property
    def overall_llm_usage_rate(self) -> float | None:
        """Replies that needed the language model over all results."""
        return self.overall.get("overall_llm_usage_rate")

    def by(self, grouping: Grouping) -> Mapping[str, Group]:
        """The same figures for each category, tier, language or tag; empty when no case states one."""
        groups = {"category": self.categories, "tier": self.tiers, "language": self.languages, "tag": self.tags}
        if grouping not in groups:
            raise InputError(f"A report has no groups by {grouping!r}. Known: {', '.join(groups)}.")
        return groups[grouping]

    def to_dict(self, *, results: bool = False) -> dict[str, Any]:
        """The report file as an object of plain values; with `results`, every result is read into it."""
        document = report_document(self)
        if results:
            document["results"] = [result_row(result) for result in self.open_results()]
        return document

    def to_dataframe(self) -> Any:  # Any: a pandas.DataFrame, and pandas is not a dependency
        """One row per turn with a column per scorer, as a pandas DataFrame."""
        try:
            pandas = import_module("pandas")
        except ImportError as error:
            raise InputError("to_dataframe() needs pandas. Install it with: pip install pandas") from error
        return pandas.DataFrame([flat_row(result) for result in self.open_results()])


def report_document(report: Report) -> dict[str, Any]:
    """The report file without its results."""
    run, compared, pinned = report.run, report.baseline_comparison, report.anchor_comparison
    return {
        "schema": SCHEMA,
        "timestamp": report.timestamp,
        "run": {
            "id": run.id,
            "suite": run.suite,
            "status": run.status,
            "started": run.started,
            "finished": run.finished,
            "dataset": {"name": run.dataset.name, "version": run.dataset.version, "cases": run.dataset.cases},
            "target": {"name": run.target_name, "kind": run.target_kind, "version": run.target_version},
            "repeats": run.repeats,
            "engine": run.manifest.get("engine", "local"),
            "manifest": dict(run.manifest),
        },
        "total_tests": report.totals.turns,
        "totals": asdict(report.totals),
        "metrics": {name: asdict(metric) for name, metric in report.metrics.items()},
        "unscored": {name: asdict(each) for name, each in report.unscored.items()},
        **report.overall,
        "category_metrics": {name: dict(fields) for name, fields in report.category_metrics.items()},
        "categories": _groups(report.categories),
        "tiers": _groups(report.tiers),
        "languages": _groups(report.languages),
        "tags": _groups(report.tags),
        "latency_ms": asdict(report.latency_ms),
        "latency_warnings": [asdict(each) for each in report.latency_warnings],
        "expectations": [asdict(each) for each in report.expectations],
        "usage": {
            "target": asdict(report.target_usage) if report.target_usage else None,
            "judge": asdict(report.judge_usage) if report.judge_usage else None,
        },
        "calls": asdict(report.calls),
        "hosts": None if report.hosts is None else dict(report.hosts),
        "cache_hits": report.cache_hits,
        "error_kinds": dict(report.error_kinds),
        "error_messages": dict(report.error_messages),
        "baseline": asdict(report.baseline) if report.baseline else None,
        "baseline_comparison": None if compared is None else {name: asdict(each) for name, each in compared.items()},
        "anchor": asdict(report.anchor) if report.anchor else None,
        "anchor_comparison": None if pinned is None else {name: asdict(each) for name, each in pinned.items()},
        "regressions": [asdict(regression) for regression in report.regressions],
        "second_looks": [{**asdict(each), "is_broken": each.is_broken} for each in report.second_looks],
        "quarantine": [asdict(each) for each in report.quarantine],
        "gate": asdict(report.gate),
        "patterns": [pattern.to_dict() for pattern in report.patterns],
        "critical_failures": [asdict(each) for each in report.critical_failures],
        "slices": [each.to_dict() for each in report.slices],
        "notes": list(report.notes),
        **_of_some_runs(report),
    }


def _of_some_runs(report: Report) -> dict[str, Any]:
    """What is there only where replies state confidences, labels were compared, and so on."""
    some = ("confidence", "let_through", "passed_numbers", "stability")
    found: dict[str, Any] = {name: asdict(each) for name in some if (each := getattr(report, name)) is not None}
    if report.case_changes is not None:
        found["case_changes"] = report.case_changes.to_dict()
    if report.classification:
        found["classification"] = {name: asdict(each) for name, each in report.classification.items()}
    if report.coverage is not None:
        found["coverage"] = report.coverage.to_dict()
    if report.parity:
        found["parity"] = [asdict(each) for each in report.parity]
    if report.hallucination:
        found["hallucination"] = {name: asdict(each) for name, each in report.hallucination.items()}
    if report.trend is not None:
        found["trend"] = report.trend.to_dict()
    return found


def _groups(groups: Mapping[str, Group]) -> dict[str, Any]:
    return {
        name: {**asdict(group.totals), "metrics": {each: asdict(metric) for each, metric in group.metrics.items()}}
        for name, group in groups.items()
    }
