"""Baselines: written, read back, made elsewhere, and broken ones."""

import orjson
import pytest
from made_results import made_case, made_report, made_result, simple_results

from cortex_eval.analysis import baseline_of, read_baseline
from cortex_eval.core import InputError, to_json
from seed_files import SEED_BASELINE


def _report(value=0.8, **options):
    rows = [
        made_result(made_case(i, category="ab"[i % 2]), i, scores={"intent": float(i < 10 * value), "accuracy": value})
        for i in range(10)
    ]
    return made_report(rows, **options)


def test_a_baseline_made_elsewhere_loads():
    baseline = read_baseline(SEED_BASELINE, name="main")
    assert baseline.values == {
        "intent": 0.85,
        "entities": 0.72,
        "tool": 0.90,
        "latency_ms": 450.5,
        "llm_usage_rate": 0.15,
    }
    assert baseline.categories["data_discovery"] == {"intent": 0.90, "entities": 0.75}
    assert (baseline.name, baseline.run_id, baseline.timestamp) == ("main", None, "2024-12-04T10:30:00")


def test_a_baseline_reads_back_as_the_report_it_came_from():
    report = _report()
    document = orjson.loads(to_json(baseline_of(report)))
    assert document["overall_intent_accuracy"] == pytest.approx(0.8)
    assert document["run_id"] == "7f3a"
    again = _report(baseline=read_baseline(document))
    assert again.regressions == ()
    assert {change.diff for change in again.baseline_comparison.values()} == {0.0}


def test_a_report_file_will_do_as_a_baseline():
    report = _report()
    baseline = read_baseline(orjson.loads(to_json(report.to_dict())))
    assert baseline.values["intent"] == pytest.approx(0.8)
    assert baseline.categories["a"]["accuracy"] == pytest.approx(0.8)
    assert baseline.run_id == "7f3a"


def test_the_comparison_says_what_changed_and_which_way_is_better():
    report = _report(baseline=read_baseline({"overall_intent_accuracy": 0.7, "overall_avg_latency_ms": 300}))
    change = report.baseline_comparison["overall_intent_accuracy"]
    assert (change.baseline, change.improved) == (0.7, True)
    assert change.diff == pytest.approx(0.1)
    assert report.baseline_comparison["overall_avg_latency_ms"].improved is True


def test_what_is_no_longer_scored_is_shown_without_a_number():
    report = _report(baseline=read_baseline({"overall_tool_accuracy": 0.9, "overall_intent_accuracy": 0.8}))
    assert report.baseline_comparison["overall_tool_accuracy"].current is None
    assert report.passed


def test_the_worst_category_of_a_regression_is_named():
    rows = [
        made_result(made_case(i, category="ab"[i % 2]), i, scores={"intent": float(i % 2)}, state="passed")
        for i in range(6)
    ]
    document = {
        "overall_intent_accuracy": 0.95,
        "category_metrics": {"a": {"intent_accuracy": 0.95}, "b": {"intent_accuracy": 0.95}},
    }
    report = made_report(rows, baseline=read_baseline(document), passing_threshold=0.0)
    (found,) = report.regressions
    assert (found.worst_category, found.worst_category_diff) == ("a", -0.95)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], "a JSON object"),
        ({}, "no figures"),
        ({"timestamp": "2024"}, "no figures"),
        ({"overall_intent_accuracy": "85%"}, "overall_intent_accuracy must be a number, not '85%'"),
        ({"overall_intent_accuracy": True}, "must be a number"),
        ({"overall_intent_accuracy": float("nan")}, "must be a number"),
        ({"metrics": {"accuracy": {"mean": None}}}, "metrics.accuracy must be a number"),
    ],
)
def test_a_broken_baseline_is_refused_with_its_field(document, message):
    with pytest.raises(InputError, match=message):
        read_baseline(document)


def test_everything_wrong_with_a_baseline_is_told_at_once():
    with pytest.raises(InputError) as caught:
        read_baseline({"overall_intent_accuracy": "a", "overall_entity_f1": "b"}, source="baseline.json")
    assert [problem.field for problem in caught.value.problems] == ["overall_intent_accuracy", "overall_entity_f1"]
    assert all(problem.file == "baseline.json" for problem in caught.value.problems)


def test_without_a_baseline_nothing_is_compared():
    report = made_report(simple_results(2))
    assert report.baseline_comparison is None
    assert report.to_dict()["baseline_comparison"] is None
