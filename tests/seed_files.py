"""Files as the seed documents show them, which people have and bring along."""

from __future__ import annotations

from typing import Any

SEED_BASELINE: dict[str, Any] = {
    "timestamp": "2024-12-04T10:30:00",
    "overall_intent_accuracy": 0.85,
    "overall_entity_f1": 0.72,
    "overall_tool_accuracy": 0.90,
    "overall_avg_latency_ms": 450.5,
    "overall_llm_usage_rate": 0.15,
    "category_metrics": {
        "data_discovery": {"intent_accuracy": 0.90, "entity_f1_avg": 0.75, "error_count": 1},
        "workflow_generation": {"intent_accuracy": 0.80, "entity_f1_avg": 0.68, "error_count": 2},
    },
}
"""A baseline made elsewhere: seed 003 §6.1."""
