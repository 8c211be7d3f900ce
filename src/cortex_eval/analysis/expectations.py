"""What people hope a run to reach, overall and by tier, and whether it does: met, not met, or too few cases to tell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from cortex_eval.analysis.gate_settings import Expectations
from cortex_eval.analysis.names import is_upper_limit

Comparison = Literal[">=", ">", "<=", "<"]
Outcome = Literal["met", "not met", "cannot tell"]


class Limit(NamedTuple):
    """A figure and the number that it is held against."""

    name: str
    """As in thresholds, such as `intent_accuracy`, without `max_`."""
    comparison: Comparison
    value: float


# Seed 003's Appendix C, and the fallback to a language model of its §4.4.
OVERALL: tuple[Limit, ...] = (
    Limit("intent_accuracy", ">=", 0.85),
    Limit("entity_precision", ">=", 0.80),
    Limit("entity_recall", ">=", 0.75),
    Limit("entity_f1", ">=", 0.75),
    Limit("tool_accuracy", ">=", 0.90),
    Limit("parse_time_ms", "<=", 500),
    Limit("llm_usage_rate", "<=", 0.15),
    Limit("llm_usage_rate", "<", 0.20),
)
# Seed 003's §10.4.
TIERS: Mapping[str, tuple[Limit, ...]] = {
    "1": (Limit("intent_accuracy", ">=", 0.95),),
    "2": (Limit("intent_accuracy", ">=", 0.90), Limit("entity_f1", ">=", 0.80)),
    "3": (Limit("intent_accuracy", ">=", 0.85), Limit("entity_f1", ">=", 0.70)),
    "4": (Limit("intent_accuracy", ">=", 0.80), Limit("entity_f1", ">=", 0.65), Limit("coherence", ">", 0.7)),
    "5": (Limit("intent_accuracy", ">=", 0.75), Limit("entity_f1", ">=", 0.60), Limit("recovery", ">", 0.80)),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """One figure beside what was hoped for; it says how things stand and decides nothing."""

    name: str
    """As in thresholds, such as `intent_accuracy`."""
    tier: str | None
    """None: over the whole run."""
    comparison: Comparison
    limit: float
    value: float | None
    """None: the run does not have this figure."""
    low: float | None
    high: float | None
    """The 95 % interval of the value; None: not known, and of the slowest replies there may be too few for an end."""
    scored: int
    total: int
    """Results that it rests on, of those that it could rest on; for intents and tools, target errors are among both."""
    unit: str
    outcome: Outcome
    """`met` and `not met` only when the whole interval lies on that side of the limit."""


class Reached(NamedTuple):
    """A figure of a run, or of one tier."""

    value: float
    low: float | None
    high: float | None
    scored: int
    total: int
    unit: str = ""


class HasFigures(Protocol):
    """Some cases whose figures can be asked for."""

    def get(self, name: str) -> Reached | None:
        """The figure of this name; None when there is none."""


def judged(hoped: Expectations | None, whole: HasFigures, tiers: Mapping[str, HasFigures]) -> tuple[Expectation, ...]:
    """Every expectation beside its figure; a default one only where the run has that figure."""
    hoped = hoped or Expectations()
    found = list(_beside(None, hoped.overall, OVERALL, whole))
    stated = hoped.tiers
    for tier in tiers if stated is None else dict.fromkeys((*tiers, *stated)):
        own = None if stated is None else stated.get(tier, {})
        found += _beside(tier, own, TIERS.get(tier, ()), tiers.get(tier))
    return tuple(found)


def outcome_of(reached: Reached, limit: Limit) -> Outcome:
    """Where the interval lies; without one, which a single time is, nobody can tell."""
    best, worst = reached.high, reached.low
    if limit.comparison in ("<=", "<"):
        best, worst = worst, best
    if worst is not None and _holds(worst, limit):
        return "met"
    return "not met" if best is not None and not _holds(best, limit) else "cannot tell"


def _beside(
    tier: str | None, stated: Mapping[str, float] | None, defaults: tuple[Limit, ...], figures: HasFigures | None
) -> Iterator[Expectation]:
    limits = defaults if stated is None else tuple(_read(name, value) for name, value in stated.items())
    for limit in limits:
        reached = figures.get(limit.name) if figures else None
        if reached is None and stated is None:
            continue
        yield Expectation(
            name=limit.name,
            tier=tier,
            comparison=limit.comparison,
            limit=limit.value,
            value=reached.value if reached else None,
            low=reached.low if reached else None,
            high=reached.high if reached else None,
            scored=reached.scored if reached else 0,
            total=reached.total if reached else 0,
            unit=reached.unit if reached else "ms" if limit.name.endswith("_ms") else "",
            outcome=outcome_of(reached, limit) if reached else "cannot tell",
        )


def _read(name: str, value: float) -> Limit:
    return Limit(name.removeprefix("max_"), "<=" if is_upper_limit(name) else ">=", value)


def _holds(value: float, limit: Limit) -> bool:
    match limit.comparison:
        case ">=":
            return value >= limit.value
        case ">":
            return value > limit.value
        case "<=":
            return value <= limit.value
        case "<":
            return value < limit.value
