"""From results to a report: what is counted, averaged, left out."""

import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_results import FINISHED, made_case, made_report, made_result, made_run, simple_results

from cortex_eval.core import Expected, Failure, InputError, Money, Reply, Usage


def test_a_metric_carries_its_mean_interval_and_how_much_it_rests_on():
    rows = [*simple_results(9), made_result(made_case(9), 9, scores={"accuracy": 0.4}, state="failed")]
    metric = made_report(rows).metrics["accuracy"]
    assert metric.mean == pytest.approx(0.85)
    assert metric.low < 0.85 < metric.high
    assert (metric.scored, metric.total, metric.errors) == (10, 10, 0)


def test_an_error_is_neither_passed_nor_failed():
    rows = [*simple_results(3), made_result(made_case(3), 3, state="error_target", scores={})]
    report = made_report(rows)
    totals = report.totals
    assert (totals.cases, totals.passed, totals.failed, totals.errors) == (4, 3, 0, 1)
    assert totals.pass_rate == 1.0
    assert report.metrics["accuracy"].scored == 3
    assert report.metrics["accuracy"].total == 4
    assert report.error_kinds == {"error_target: timeout": 1}


def test_a_judge_that_failed_is_counted_and_not_averaged():
    broken = {"accuracy": 0.8, "faithfulness": {"error": {"kind": "unparseable", "message": "no verdict"}}}
    rows = [
        made_result(made_case(0), 0, scores={"accuracy": 0.8, "faithfulness": 0.5}),
        made_result(made_case(1), 1, scores=broken, state="error_judge"),
    ]
    metrics = made_report(rows).metrics
    assert metrics["faithfulness"].mean == 0.5
    assert (metrics["faithfulness"].scored, metrics["faithfulness"].errors) == (1, 1)
    assert metrics["accuracy"].scored == 2


def test_a_scorer_with_nothing_to_say_is_absent_not_zero():
    rows = [made_result(made_case(0), 0, scores={"tool": {"value": None}, "accuracy": 0.5})]
    report = made_report(rows)
    assert "tool" not in report.metrics
    assert report.overall_tool_accuracy is None
    assert "overall_tool_accuracy" not in report.to_dict()


def test_a_conversation_passes_when_all_its_turns_do_and_scores_their_mean():
    case = made_case(0, ("one", "two"))
    good = [made_result(case, 0, turn=t, scores={"accuracy": v}) for t, v in ((0, 1.0), (1, 0.8))]
    other = made_case(1, ("one", "two"))
    bad = [
        made_result(other, 1, turn=0, scores={"accuracy": 1.0}),
        made_result(other, 1, turn=1, scores={"accuracy": 0.0}, state="failed"),
    ]
    report = made_report([*good, *bad])
    assert (report.totals.passed, report.totals.failed) == (1, 1)
    assert (report.totals.cases, report.totals.turns) == (2, 4)
    assert report.metrics["overall_score"].mean == pytest.approx((0.9 + 0.5) / 2)
    assert report.metrics["accuracy"].total == 4
    assert report.metrics["pass_rate"].total == 2


def test_turns_of_one_conversation_are_not_taken_for_independent():
    alone = made_report([made_result(made_case(i), i, scores={"accuracy": float(i % 10 < 5)}) for i in range(40)])
    rows = []
    for number in range(10):
        case = made_case(number, ("a", "b", "c", "d"))
        rows += [made_result(case, number, turn=t, scores={"accuracy": float(number < 5)}) for t in range(4)]
    together = made_report(rows)
    assert together.metrics["accuracy"].mean == alone.metrics["accuracy"].mean
    width = together.metrics["accuracy"].high - together.metrics["accuracy"].low
    assert width > 1.5 * (alone.metrics["accuracy"].high - alone.metrics["accuracy"].low)


def test_cases_that_share_a_cluster_widen_the_interval():
    def results(cluster):
        return [
            made_result(made_case(i, cluster_id=cluster(i)), i, scores={"accuracy": float(i // 4 % 2)})
            for i in range(40)
        ]

    alone = made_report(results(lambda i: None)).metrics["accuracy"]
    clustered = made_report(results(lambda i: f"patient {i // 4}")).metrics["accuracy"]
    assert clustered.high - clustered.low > alone.high - alone.low


def test_repeats_are_averaged_per_case_first():
    often, once = made_case(0), made_case(1)
    rows = [made_result(often, 0, repeat=r, scores={"accuracy": v}) for r, v in enumerate((1.0, 0.0, 0.5))]
    rows.append(made_result(once, 1, scores={"accuracy": 1.0}))
    report = made_report(rows)
    assert report.metrics["accuracy"].mean == pytest.approx(0.75)
    assert report.metrics["accuracy"].scored == 2


def test_a_case_that_passes_only_sometimes_has_a_share_of_a_pass():
    case = made_case(0)
    rows = [
        made_result(case, 0, repeat=0, scores={"accuracy": 1.0}),
        made_result(case, 0, repeat=1, scores={"accuracy": 0.1}, state="failed"),
    ]
    totals = made_report(rows).totals
    assert totals.pass_rate == 0.5
    assert (totals.passed, totals.failed) == (0, 1)


def test_a_score_of_the_whole_conversation_counts_by_case():
    case = made_case(0, ("a", "b", "c"))
    whole = {"value": 0.7, "level": "case"}
    rows = [made_result(case, 0, turn=t, scores={"accuracy": 1.0}) for t in range(2)]
    rows.append(made_result(case, 0, turn=2, scores={"accuracy": 1.0, "coherence": whole}))
    metrics = made_report(rows).metrics
    assert (metrics["coherence"].scored, metrics["coherence"].total) == (1, 1)
    assert metrics["accuracy"].total == 3


def _agent(number, *, intent, tool=None, f1=1.0, state="passed", **reply):
    expected = Expected(intent="A", tool="t" if tool is not None else None)
    case = made_case(number, expected=expected, category="jobs" if number % 2 else "data")
    if state == "error_target":
        return made_result(case, number, state=state, scores={}, error=Failure("timeout", "no answer"))
    entities = {"value": f1, "evidence": {"precision": 1.0, "recall": 0.5}}
    scores = {"intent": {"value": intent}, "entities": entities, "tool": {"value": tool}}
    return made_result(case, number, scores=scores, reply=Reply(text="x", total_time_ms=100.0, **reply))


def test_the_seeds_figures_divide_as_the_seed_says():
    rows = [
        _agent(0, intent=1.0, tool=1.0, confidence=0.9, llm_invoked=True, parse_time_ms=10.0),
        _agent(1, intent=1.0, f1=0.5, confidence=0.5, llm_invoked=False, parse_time_ms=30.0),
        _agent(2, intent=0.0, tool=0.0, confidence=0.1, llm_invoked=False, parse_time_ms=20.0),
        _agent(3, intent=0.0, tool=0.0, state="error_target"),
    ]
    report = made_report(rows)
    assert report.overall_intent_accuracy == pytest.approx(2 / 4)
    assert report.overall_entity_f1 == pytest.approx((1 + 0.5 + 1) / 3)
    assert report.overall_tool_accuracy == pytest.approx(1 / 3)
    assert report.overall_llm_usage_rate == pytest.approx(1 / 4)
    assert report.overall_avg_latency_ms == 100.0
    assert report.metrics["intent"].mean == pytest.approx(2 / 3)
    jobs = report.category_metrics["jobs"]
    assert jobs == {
        "total_tests": 2,
        "intent_correct": 1,
        "intent_accuracy": 0.5,
        "entity_precision_avg": 1.0,
        "entity_recall_avg": 0.5,
        "entity_f1_avg": 0.5,
        "avg_confidence": 0.5,
        "avg_parse_time_ms": 30.0,
        "avg_total_time_ms": 100.0,
        "llm_usage_rate": 0.0,
        "error_count": 1,
        "errors": [{"case_id": "case_0003", "turn": 0, "kind": "timeout", "message": "no answer"}],
    }
    assert report.category_metrics["data"]["tool_accuracy"] == 0.5


def test_groups_hold_their_own_figures_and_sum_to_the_whole():
    rows = [
        made_result(made_case(i, category="ab"[i % 2], tier=1 + i % 3, language="hi"), i, scores={"accuracy": i / 10})
        for i in range(9)
    ]
    report = made_report(rows)
    assert sum(group.totals.cases for group in report.by("category").values()) == 9
    assert list(report.by("tier")) == ["1", "2", "3"]
    assert report.by("category")["a"].metrics["accuracy"].mean == pytest.approx(0.4)
    assert report.by("language")["hi"].metrics["accuracy"].mean == report.metrics["accuracy"].mean
    with pytest.raises(InputError, match="colour"):
        report.by("colour")


def test_groups_that_nobody_states_are_empty_and_partly_stated_ones_keep_the_rest():
    assert made_report(simple_results(2)).by("category") == {}
    rows = [made_result(made_case(0, category="a"), 0), made_result(made_case(1), 1)]
    assert list(made_report(rows).by("category")) == ["a", "(none)"]


def test_no_time_is_below_zero_however_few_there_are():
    report = made_report([made_result(made_case(n), n, latency_ms=time) for n, time in enumerate((1.0, 900.0))])

    latency = report.metrics["latency_ms"]
    assert (latency.mean, latency.low) == (450.5, 0.0)
    assert latency.high > 900


def test_latency_interpolates_and_first_attempts_are_counted():
    rows = [
        made_result(made_case(i), i, reply=Reply(text="x", total_time_ms=float(ms)), attempts=attempts)
        for i, (ms, attempts) in enumerate([(15, 1), (20, 1), (35, 3), (40, 1), (50, 1)])
    ]
    latency = made_report(rows).latency_ms
    assert latency.p50 == 35
    assert latency.p95 == pytest.approx(48)
    assert latency.mean == 32
    assert latency.first_attempt_success == 0.8


def test_tokens_and_money_are_summed_and_an_unknown_price_stays_unknown():
    def use(cost):
        return Reply(text="x", total_time_ms=1.0, usage=Usage(input_tokens=10, output_tokens=5, cost=cost))

    priced = Money(amount=Decimal("0.10"), currency="EUR")
    rows = [made_result(made_case(i), i, reply=use(cost)) for i, cost in enumerate([priced, priced, None])]
    usage = made_report(rows).target_usage
    assert (usage.input_tokens, usage.output_tokens, usage.replies) == (30, 15, 3)
    assert usage.cost == {"EUR": "0.20"}
    assert usage.unpriced == 1
    assert made_report(rows[2:]).target_usage.cost is None
    assert made_report(simple_results(1)).target_usage is None


def test_a_run_without_results_has_no_numbers():
    report = made_report([], run=made_run(3))
    assert report.metrics == {}
    assert report.totals.pass_rate is None
    assert report.gate.verdict == "error"


def test_pending_cases_are_not_counted_as_anything_and_the_run_does_not_pass():
    rows = [*simple_results(2), made_result(made_case(2), 2, state="pending", scores={}, reply=None, attempts=0)]
    report = made_report(rows)
    assert (report.totals.passed, report.totals.failed, report.totals.errors) == (2, 0, 0)
    assert report.gate.verdict == "error"


def test_results_can_be_read_again_and_do_not_count_in_equality():
    rows = simple_results(3)
    report = made_report(rows)
    assert len(list(report.results)) == len(list(report.results)) == 3
    assert report == made_report(rows)
    assert "open_results" not in repr(report)


def test_the_object_of_the_report_file_has_its_fields():
    report = made_report(simple_results(2), run=made_run(2, manifest={"seed": 1}))
    document = report.to_dict(results=True)
    assert document["schema"] == "cortex.report/1"
    assert document["timestamp"] == FINISHED
    assert document["run"]["dataset"] == {"name": "triage.jsonl", "version": "4c19e2" + "0" * 58, "cases": 2}
    assert document["run"]["target"] == {"name": "helpdesk", "kind": "chatbot", "version": "2.3"}
    assert document["run"]["manifest"] == {"seed": 1}
    assert set(document["metrics"]["accuracy"]) == {
        "mean",
        "low",
        "high",
        "scored",
        "total",
        "errors",
        "unit",
        "direction",
    }
    assert set(document["results"][0]["reply"]) == {
        "text",
        "intent",
        "entities",
        "tool",
        "arguments",
        "confidence",
        "llm_invoked",
        "contexts",
        "parse_time_ms",
        "total_time_ms",
    }
    assert "results" not in report.to_dict()


def test_a_data_frame_is_made_when_pandas_is_there_and_its_absence_is_named(monkeypatch):
    report = made_report(simple_results(2))
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=list))
    assert [row["accuracy"] for row in report.to_dataframe()] == [0.9, 0.9]
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match="pip install pandas"):
        report.to_dataframe()


@given(st.permutations(range(8)))
def test_the_order_of_cases_does_not_matter(order):
    rows = [made_result(made_case(i, category="ab"[i % 2]), i, scores={"accuracy": i / 8}) for i in range(8)]
    one = made_report(rows)
    other = made_report([rows[i] for i in order])
    assert other.totals == one.totals
    assert other.metrics["accuracy"].mean == pytest.approx(one.metrics["accuracy"].mean)


@pytest.mark.slow
def test_ten_thousand_results_are_summarised_without_numpy():
    code = (
        "import sys\n"
        "from made_results import *\n"
        "cases = [made_case(i, category=str(i % 12)) for i in range(10000)]\n"
        "rows = [made_result(case, i, scores={'accuracy': i % 7 / 7}) for i, case in enumerate(cases)]\n"
        "report = made_report(rows)\n"
        "assert report.metrics['accuracy'].scored == 10000 and report.notes\n"
        "assert 'numpy' not in sys.modules, 'numpy was imported'\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parent)
