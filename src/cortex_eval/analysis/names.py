"""The names that a metric goes by: the scorer's own, the project file's, and the report's `overall_…`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class SeedMetric(NamedTuple):
    """A metric that is known under several names."""

    metric: str
    """As in `report.metrics`."""
    setting: str
    """As in thresholds and regression settings."""
    overall: str
    """As a field of the report file and of `baseline.json`."""
    category: str
    """As a field of `category_metrics`."""


SEED_METRICS = (
    SeedMetric("intent", "intent_accuracy", "overall_intent_accuracy", "intent_accuracy"),
    SeedMetric("entities", "entity_f1", "overall_entity_f1", "entity_f1_avg"),
    SeedMetric("tool", "tool_accuracy", "overall_tool_accuracy", "tool_accuracy"),
    SeedMetric("latency_ms", "latency_ms", "overall_avg_latency_ms", "avg_total_time_ms"),
    SeedMetric("llm_usage_rate", "llm_usage_rate", "overall_llm_usage_rate", "llm_usage_rate"),
)

RUN_FIGURES = (
    *("entity_precision", "entity_recall", "parse_time_ms", "p50_latency_ms", "p95_latency_ms", "p99_latency_ms"),
    *("ece", "brier", "macro_f1", "macro_precision", "macro_recall", "weighted_f1"),
    *("hallucinated_claims", "hallucinated_replies"),
)
"""Figures of a run that are no metrics and may have a limit too; docs/gates.md says what each is."""
LESS_IS_BETTER = ("ece", "brier", "hallucinated_claims", "hallucinated_replies")
"""Those of them, beside times, whose limits are upper ones with and without `max_`."""
OVERALL_NAMES = {each.metric: each.overall for each in SEED_METRICS}
CATEGORY_NAMES = {each.metric: each.category for each in SEED_METRICS}
SETTING_NAMES = {each.metric: each.setting for each in SEED_METRICS}
_CANONICAL = {name: each.metric for each in SEED_METRICS for name in each[:3]}


def metric_name(name: str, known: Iterable[str] = ()) -> str:
    """The name in `report.metrics` of a metric that people may call otherwise; one that exists keeps its name."""
    return name if name in known else _CANONICAL.get(name, name)


def is_upper_limit(name: str) -> bool:
    """Whether a limit of this name is the most that is allowed: `max_…`, times, and figures of what is wrong."""
    return name.startswith("max_") or name.endswith("_ms") or name.rpartition(".")[2] in LESS_IS_BETTER
