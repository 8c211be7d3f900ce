"""The project file as people write it: every key, its type and its range. Nothing of it travels further inward."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic_core import PydanticCustomError


DEFAULT_OUTPUT = "reports/evaluation"
FROM_ENVIRONMENT = {"type": "string", "pattern": r"^\$\{.*\}$"}
"""What an editor should also accept where a number is due."""


def _number(low: float, high: float, *, whole: bool = False) -> Callable[[object], float]:
    wanted = f"a {'whole ' if whole else ''}number from {low:g} to {high:g}"

    def check(value: object) -> float:
        if isinstance(value, (int, float)) and not isinstance(value, bool) and low <= value <= high:
            if not whole:
                return float(value)
            if value == int(value):
                return int(value)
        raise PydanticCustomError("range", "must be {wanted}", {"wanted": wanted})

    return check


def _real(low: float, high: float) -> Any:  # Any: an annotated type is not a type to the checker
    schema = {"anyOf": [{"type": "number", "minimum": low, "maximum": high}, FROM_ENVIRONMENT]}
    return Annotated[float, BeforeValidator(_number(low, high)), WithJsonSchema(schema)]


def _whole(low: int, high: int) -> Any:  # Any: as above
    schema = {"anyOf": [{"type": "integer", "minimum": low, "maximum": high}, FROM_ENVIRONMENT]}
    return Annotated[int, BeforeValidator(_number(low, high, whole=True)), WithJsonSchema(schema)]


if TYPE_CHECKING:
    Share = float
    Seconds = float
    Delay = float
    Pause = float
    Amount = float
    Level = float
    Limit = float
    AtOnce = int
    Retries = int
    Seed = int
    PerCategory = int
    Repeats = int
else:
    Share = _real(0, 1)
    Seconds = _real(0.001, 3600)
    Delay = _real(0, 3600)
    Pause = _real(0, 1_000_000)
    Amount = _real(0, 1_000_000_000)
    Level = _real(0.0001, 0.5)
    Limit = _real(-1_000_000_000, 1_000_000_000)
    AtOnce = _whole(1, 10_000)
    Retries = _whole(0, 100)
    Seed = _whole(0, 2**31)
    PerCategory = _whole(1, 100_000)
    Repeats = _whole(1, 1_000)


class Strict(BaseModel):
    """Unknown keys are mistakes, and a string is not a number."""

    model_config = ConfigDict(extra="forbid", strict=True, populate_by_name=True)


class ServiceModel(BaseModel):
    """One system under test. Further keys are the settings of its kind."""

    model_config = ConfigDict(extra="allow", strict=True)

    kind: str | None = Field(None, description="What it is; a service named like a kind is that kind.")
    version: str | int | float | None = Field(None, description="Of your service. Stated: replies may be cached.")
    timeout_seconds: Seconds = Field(30.0, description="Limit of one attempt.")


class ExecutionModel(Strict):
    """How the run is carried out."""

    max_concurrent_tests: AtOnce = Field(10, description="Cases in flight at once.")
    retry_count: Retries = Field(2, description="Further attempts after a failure.")
    retry_delay_seconds: Delay = Field(1.0, description="Before the second attempt; then doubled.")
    pause_limit_seconds: Pause = Field(600.0, description="How long a dead target is waited for.")
    engine: Literal["local", "ray"] = "local"
    budget_usd: Amount | None = None
    seed: Seed = Field(0, description="Order of asking and samples.")


class AllowanceModel(Strict):
    """How much worse a metric may get."""

    drop: Amount | None = None
    rise: Amount | None = None
    high: Amount | None = None


class GateModel(Strict):
    """When a run passes."""

    mode: Literal["statistical", "strict"] = "statistical"
    level: Level = 0.05
    thresholds: dict[str, Limit] = {}
    regression: dict[str, AllowanceModel] = {}
    max_error_rate: Share = 0.0
    inconclusive: Literal["warn", "fail"] = "warn"
    baseline: str | None = None


class QuickModel(Strict):
    """A small sample that still has something of everything."""

    per_category: PerCategory = 2


class DatasetModel(Strict):
    """A dataset with the names of its columns."""

    path: str
    fields: dict[str, str] = {}
    encoding: str | None = None


class SuiteModel(Strict):
    """A named run: a dataset, one or several targets, scorers."""

    dataset: str | DatasetModel
    service: str | None = Field(None, alias="target")
    services: list[str] = Field([], alias="targets")
    scorers: list[str | dict[str, dict[str, Any] | None]] | None = None
    fields: dict[str, str] = {}
    quick: QuickModel = QuickModel()
    repeat: Repeats = 1
    passing_threshold: Share | None = None
    gate: GateModel | None = None


class ModelModel(Strict):
    """An LLM that judges may use."""

    base_url: str | None = None
    model: str
    api_key: str | None = None


class DatabaseModel(Strict):
    """Where everything is kept."""

    type: Literal["sqlite", "postgresql"] = "sqlite"
    path: str | None = None
    url: str | None = None


class DashboardModel(Strict):
    """Where the HTML report goes beside the dated one; the template is ours, so `template_path` is not used."""

    template_path: str | None = None
    output_path: str | None = None
    include_charts: bool = True


class ProjectModel(Strict):
    """The project file `cortex.yaml`."""

    services: dict[str, ServiceModel] = Field({}, alias="targets", description="The systems under test.")
    execution: ExecutionModel = ExecutionModel()
    models: dict[str, ModelModel] = {}
    metrics: dict[str, Any] = Field(
        {}, description="Scorers by name with their settings, and metric_weights and passing_threshold."
    )
    gate: GateModel = GateModel()
    suites: dict[str, SuiteModel] = {}
    database: str | DatabaseModel = DatabaseModel()
    plugins: list[str] = []
    aggregation: dict[str, Any] = Field({}, description="Read for compatibility; has no effect.")
    dashboard: DashboardModel = DashboardModel()
    output_dir: str = Field(DEFAULT_OUTPUT, description="Where reports are written.")


class ScorerModel(BaseModel):
    """What every scorer's block may hold beside its own settings."""

    model_config = ConfigDict(extra="allow", strict=True)

    kind: str | None = None
    weight: Amount | None = None
    threshold: Share | None = None
    critical: bool = False


class WeightsModel(Strict):
    """The part of `metrics` that is not a scorer."""

    metric_weights: dict[str, Amount] | None = None
    passing_threshold: Share = 0.7
