"""The project file as people write it: every key, its type and its range."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, Literal

from cortex_eval.core import Range

DEFAULT_OUTPUT = "reports/evaluation"

Share = Annotated[float, Range(0, 1)]
Amount = Annotated[float, Range(0, 1_000_000_000)]
AT_ONCE = Range(1, 10_000)
REPEATS = Range(1, 1_000)
RETRIES = Range(0, 100)
SECONDS = Range(0.001, 3600)


def _key(description: str, default: Any = None, *, alias: str | None = None) -> Any:  # Any: as `dataclasses.field`
    metadata = {"description": description} | ({"alias": alias} if alias else {})
    if isinstance(default, (dict, list)):
        return field(default_factory=type(default), metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceModel:
    """One system under test. Further keys are the settings of its kind."""

    kind: str | None = _key("What it is; a service named like a kind is that kind.")
    version: str | int | float | None = _key("Of your service. Stated: replies may be cached.")
    timeout_seconds: Annotated[float, SECONDS] | None = _key("Limit of one attempt; 120 when not given.")
    connect_seconds: Annotated[float, SECONDS] = _key("Limit for reaching it.", 5.0)
    idle_seconds: Annotated[float, SECONDS] | None = _key(
        "Limit without a byte from it; timeout_seconds when only that is given, else 30."
    )
    requests_per_minute: Annotated[float, Range(0.001, 1_000_000)] | None = _key("Calls are spaced to keep to this.")
    tokens_per_minute: Annotated[float, Range(1, 1_000_000_000)] | None = _key("Of replies that tell their tokens.")
    settings: Mapping[str, Any] = field(default_factory=dict, metadata={"rest": True})


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionModel:
    """How the run is carried out."""

    max_concurrent_tests: Annotated[int, AT_ONCE] = _key("Cases in flight at once.", 10)
    retry_count: Annotated[int, RETRIES] = _key("Further attempts after a failure.", 2)
    retry_delay_seconds: Annotated[float, Range(0, 3600)] = _key("Before the second attempt; then doubled.", 1.0)
    pause_limit_seconds: Annotated[float, Range(0, 1_000_000)] = _key("How long a dead target is waited for.", 600.0)
    engine: Literal["local", "ray"] = "local"
    budget_usd: Annotated[float, Range(0, 1_000_000_000)] | None = _key(
        "What a run may cost, judges included; it pauses before it costs more."
    )
    budget_calls: Annotated[int, Range(0, 1_000_000_000)] | None = _key("Calls that a run may make.")
    budget_tokens: Annotated[int, Range(0, 1_000_000_000_000)] | None = _key("Tokens that a run may use.")
    seed: Annotated[int, Range(0, 2**31)] = _key("Order of asking and samples.", 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowanceModel:
    """How much worse a metric may get."""

    drop: Amount | None = None
    rise: Amount | None = None
    high: Amount | None = None


Limits = Mapping[str, Annotated[float, Range(-1_000_000_000, 1_000_000_000)]]
_THRESHOLDS = (
    "Lowest mean of a metric, by its name; with max_ the highest. "
    "max_latency_ms is of the mean time to a reply, max_p95_latency_ms of the 95th percentile."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectationsModel:
    """What is hoped for, beside what must be: shown with how it stands, without a say in the verdict."""

    overall: Limits | None = None
    tiers: Mapping[str, Limits] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GateModel:
    """When a run passes."""

    mode: Literal["statistical", "strict"] = "statistical"
    level: Annotated[float, Range(0.0001, 0.5)] = 0.05
    thresholds: Limits = field(default_factory=dict, metadata={"description": _THRESHOLDS})
    regression: Mapping[str, AllowanceModel] = field(default_factory=dict)
    max_error_rate: Share = 0.0
    inconclusive: Literal["warn", "fail"] = "warn"
    baseline: str | None = None
    anchor: str | None = _key("A pinned baseline that runs are held against too.")
    auto: Literal["on-release"] | None = _key("When a run that was let through becomes the baseline by itself.")
    expectations: ExpectationsModel | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuickModel:
    """A small sample that still has something of everything."""

    per_category: Annotated[int, Range(1, 100_000)] = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetModel:
    """A dataset with the names of its columns."""

    path: str
    fields: Mapping[str, str] = field(default_factory=dict)
    encoding: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantineModel:
    """A case that is asked and shown, and does not decide for now."""

    case: str
    reason: str
    until: str | None = _key("The last day, such as 2026-12-31.")


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteModel:
    """A named run: a dataset, one or several targets, scorers."""

    dataset: str | DatasetModel
    service: str | None = field(default=None, metadata={"alias": "target"})
    services: Sequence[str] = field(default=(), metadata={"alias": "targets"})
    scorers: Sequence[str | Mapping[str, Mapping[str, Any] | None]] | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    encoding: str | None = None
    quick: QuickModel = QuickModel()
    repeat: Annotated[int, REPEATS] = 1
    passing_threshold: Share | None = None
    gate: GateModel | None = None
    quarantine: Sequence[QuarantineModel] = _key("Flaky cases that do not decide.", ())


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelModel:
    """An LLM that judges may use."""

    base_url: str | None = _key("Of another server than the provider's own.")
    model: str
    api_key: str | None = _key("When it is not in the provider's usual variable.")
    timeout_seconds: Annotated[float, SECONDS] | None = _key("Limit of one attempt; 120 when not given.")
    requests_per_minute: Annotated[float, Range(0.001, 1_000_000)] | None = _key("Calls are spaced to keep to this.")
    tokens_per_minute: Annotated[float, Range(1, 1_000_000_000)] | None = _key("Of all judges that use it.")
    prices: Mapping[str, Amount] | None = _key("US dollars per million tokens: input, output, cached_input.")


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseModel:
    """Where everything is kept."""

    type: Literal["sqlite", "postgresql"] = "sqlite"
    path: str | None = None
    url: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DashboardModel:
    """Where the HTML report goes beside the dated one; the template is ours, so `template_path` is not used."""

    template_path: str | None = None
    output_path: str | None = None
    include_charts: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectModel:
    """The project file `cortex.yaml`."""

    services: Mapping[str, ServiceModel] = _key("The systems under test.", {}, alias="targets")
    execution: ExecutionModel = ExecutionModel()
    models: Mapping[str, ModelModel] = field(default_factory=dict)
    metrics: Mapping[str, Any] = _key("Scorers by name with settings, and metric_weights and passing_threshold.", {})
    gate: GateModel = field(default_factory=GateModel)
    suites: Mapping[str, SuiteModel] = field(default_factory=dict)
    database: str | DatabaseModel = DatabaseModel()
    plugins: Sequence[str] = ()
    aggregation: Mapping[str, Any] = _key("Read for compatibility; has no effect.", {})
    dashboard: DashboardModel = DashboardModel()
    output_dir: str = _key("Where reports are written.", DEFAULT_OUTPUT)
    fix_locations: Mapping[str, str] = _key(
        "Where to mend what fails: a path for a pattern type, root cause, category, intent, entity type and the like.",
        {},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorerModel:
    """What every scorer's block may hold beside its own settings."""

    kind: str | None = None
    weight: Amount | None = None
    threshold: Share | None = None
    critical: bool | None = None
    settings: Mapping[str, Any] = field(default_factory=dict, metadata={"rest": True})


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightsModel:
    """The part of `metrics` that is not a scorer."""

    metric_weights: Mapping[str, Amount] | None = None
    passing_threshold: Share = 0.7


def keys_of(model: type) -> list[str]:
    """The keys that a block of this kind may have beside its settings."""
    return [each.name for each in fields(model) if not each.metadata.get("rest")]
