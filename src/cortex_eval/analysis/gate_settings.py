"""What a gate is told: limits, how much worse things may get, whom it does not listen to, and what people hope for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from cortex_eval.analysis.names import metric_name
from cortex_eval.core import Direction


class HasDirection(Protocol):
    """A metric, as far as an allowance depends on it."""

    @property
    def unit(self) -> str:
        """Empty: a share or a score of 0..1."""

    @property
    def direction(self) -> Direction:
        """Which way is better."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectations:
    """What a project hopes for; None: the seed's numbers, of which only those apply whose figure the run has."""

    overall: Mapping[str, float] | None = None
    """Lowest mean by figure; the highest for names that start with `max_`."""
    tiers: Mapping[str, Mapping[str, float]] | None = None
    """The same by tier."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """How much worse a metric may get against the baseline."""

    drop: float | None = None
    rise: float | None = None
    """For metrics of which less is better, such as latency."""
    high: float | None = None
    """Beyond this the severity is high instead of medium."""


ANY_RATE = Allowance(drop=0.02, high=0.05)
"""For every rate without an allowance of its own."""
ANY_RATE_OF_FAULTS = Allowance(rise=0.02, high=0.05)
"""The same for rates of which less is better, such as `hallucination_rate`."""


def _default_regression() -> Mapping[str, Allowance]:
    return {
        "intent_accuracy": Allowance(drop=0.02, high=0.05),
        "entity_f1": Allowance(drop=0.05, high=0.10),
        "tool_accuracy": Allowance(drop=0.02, high=0.05),
        "latency_ms": Allowance(rise=100, high=200),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantined:
    """A case that is not to decide, for now."""

    case: str
    reason: str
    until: str | None = None
    """The last day, such as 2026-12-31; None: until it is taken off the list."""

    def holds_at(self, moment: str) -> bool:
        """Whether it still holds for a run of that time."""
        return self.until is None or moment[:10] <= self.until


@dataclass(frozen=True, slots=True, kw_only=True)
class GateSettings:
    """What a run must reach, and how much worse than its baseline it may be."""

    mode: Literal["statistical", "strict"] = "statistical"
    level: float = 0.05
    thresholds: Mapping[str, float] = field(default_factory=dict)
    """Lowest mean of a metric; the highest for names that start with `max_`, and for what is better when less."""
    regression: Mapping[str, Allowance] = field(default_factory=_default_regression)
    max_error_rate: float = 0.0
    """Share of cases that may end in an error."""
    inconclusive: Literal["warn", "fail"] = "warn"
    baseline: str | None = None
    may_lack_baseline: bool = False
    """What is named is named by the project file alone, and may not have been made yet: a run then goes on without."""
    anchor: str | None = None
    """A pinned baseline, held against too; None: the one that is named `anchor`, if there is one."""
    auto: Literal["on-release"] | None = None
    """When the baseline moves to a run by itself; the anchor never does."""
    quarantine: tuple[Quarantined, ...] = ()
    fail_under: float | None = None
    """Lowest overall score; None: not asked for."""
    shared_in: str = ""
    """The project file whose gate this is, when it holds for several suites; empty: it is of one."""
    expectations: Expectations | None = None
    """What is hoped for: shown with how it stands, and without a say in the verdict; None: the defaults."""

    def allowance(self, metric: HasDirection, name: str) -> Allowance | None:
        """How much worse this metric may get; None: it is not judged."""
        for asked, allowance in self.regression.items():
            if name in (asked, metric_name(asked)):
                return allowance
        if metric.unit or name == "llm_usage_rate":
            return None
        return ANY_RATE if metric.direction == "higher" else ANY_RATE_OF_FAULTS
