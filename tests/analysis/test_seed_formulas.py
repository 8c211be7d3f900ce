"""Seed 003's aggregation, §2.4 and §4.5, computed by hand from the rows that a user can see."""

from __future__ import annotations

from statistics import fmean

import pytest
from made_results import made_case, made_report, made_result

from cortex_eval.analysis import GateSettings
from cortex_eval.core import Expected, Failure, Reply
from cortex_eval.reports import seed_row


def row(number, category, intent, f1, tool=None, *, state="passed", precision=1.0, recall=1.0, **reply):
    case = made_case(number, category=category, expected=Expected(intent="A", tool="t" if tool is not None else None))
    if state == "error_target":
        return made_result(case, number, state=state, scores={}, error=Failure("timeout", "no answer"))
    entities = {"value": f1, "evidence": {"precision": precision, "recall": recall}}
    scores = {"intent": {"value": intent}, "entities": entities, "tool": {"value": tool}}
    error = Failure("unparseable", "no verdict") if state == "error_judge" else None
    return made_result(case, number, scores=scores, state=state, error=error, reply=Reply(text="x", **reply))


ROWS = [
    row(0, "data", 1.0, 1.0, 1.0, confidence=0.9, llm_invoked=False, parse_time_ms=10.0, total_time_ms=100.0),
    row(1, "data", 1.0, 0.5, recall=0.25, confidence=0.7, llm_invoked=True, parse_time_ms=30.0, total_time_ms=300.0),
    row(2, "data", 0.5, 0.8, 0.5, confidence=0.5, llm_invoked=False, parse_time_ms=20.0, total_time_ms=200.0),
    row(3, "data", 0.0, 0.0, 0.0, state="error_target"),
    row(4, "jobs", 1.0, 0.2, 1.0, state="error_judge", confidence=0.1, llm_invoked=True, parse_time_ms=9e3),
    row(5, "jobs", 0.0, 0.4, precision=0.5, confidence=0.3, llm_invoked=False, parse_time_ms=40.0, total_time_ms=80.0),
]


def by_hand(rows):
    """The seed's own expressions over the rows in its field names."""
    results = [seed_row(each) for each in rows]
    fine = [r for r in results if r["error"] is None]
    with_tool = [r for r in results if r["expected_tool"] is not None]
    return {
        "total_tests": len(results),
        "intent_correct": sum(bool(r["intent_correct"]) for r in results),
        "intent_accuracy": sum(bool(r["intent_correct"]) for r in results) / len(results),
        "entity_precision_avg": fmean(r["entity_precision"] for r in fine),
        "entity_recall_avg": fmean(r["entity_recall"] for r in fine),
        "entity_f1_avg": fmean(r["entity_f1"] for r in fine),
        "tool_accuracy": sum(bool(r["tool_correct"]) for r in with_tool) / len(with_tool),
        "avg_confidence": fmean(r["confidence"] for r in fine),
        "avg_parse_time_ms": fmean(r["parse_time_ms"] for r in fine),
        "avg_total_time_ms": fmean(r["total_time_ms"] for r in fine),
        "llm_usage_rate": sum(bool(r["llm_invoked"]) for r in results) / len(results),
        "error_count": sum(r["error"] is not None for r in results),
    }


@pytest.mark.parametrize("category", ["data", "jobs"])
def test_a_category_has_the_seeds_figures_under_the_seeds_names(category):
    found = dict(made_report(ROWS).category_metrics[category])

    errors = found.pop("errors")
    assert found == pytest.approx(by_hand([each for each in ROWS if each.category == category]))
    assert len(errors) == found["error_count"]


def test_the_overall_figures_are_the_seeds_over_all_results():
    report, hand = made_report(ROWS), by_hand(ROWS)

    assert report.overall == pytest.approx(
        {
            "overall_intent_accuracy": hand["intent_accuracy"],
            "overall_entity_f1": hand["entity_f1_avg"],
            "overall_tool_accuracy": hand["tool_accuracy"],
            "overall_avg_latency_ms": hand["avg_total_time_ms"],
            "overall_llm_usage_rate": hand["llm_usage_rate"],
        }
    )
    assert report.to_dict()["total_tests"] == 6


def test_credit_for_a_near_intent_counts_in_the_metric_and_not_in_the_accuracy():
    rows = [row(0, "a", 1.0, 1.0), row(1, "a", 0.5, 1.0)]

    report = made_report(rows, gate=GateSettings(thresholds={"intent": 0.75, "intent_accuracy": 0.6}))

    assert report.metrics["intent"].mean == 0.75
    assert report.overall_intent_accuracy == report.category_metrics["a"]["intent_accuracy"] == 0.5
    assert {check.name: check.value for check in report.gate.checks if check.limit and check.name != "error_rate"} == {
        "intent": 0.75,
        "intent_accuracy": 0.5,
    }
