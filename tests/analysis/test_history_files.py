"""History made elsewhere is read as it is told, and a file that is wrong is told with its field."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from made_results import made_report, simple_results

from cortex_eval.analysis import GateSettings, Quarantined, past_run, read_history
from cortex_eval.core import InputError, to_json
from seed_files import SEED_BASELINE

HISTORY = Path(__file__).parents[3] / "shared" / "data" / "biopipelines_history"


def test_result(test_id: str, *, right: bool, **fields: object) -> dict[str, object]:
    return {
        "test_id": test_id,
        "category": "data",
        "query": f"Find {test_id}",
        "expected_intent": "SEARCH",
        "actual_intent": "SEARCH" if right else "",
        "intent_correct": right,
        "entity_f1": 0.5,
        "tool_correct": False,
        "parse_time_ms": 10.0,
        "total_time_ms": 100.0,
        "error": None,
        **fields,
    }


test_result.__test__ = False  # type: ignore[attr-defined]  # named as in the seed


def evaluation(*results: dict[str, object], **fields: object) -> dict[str, object]:
    return {**SEED_BASELINE, "total_tests": len(results) or 100, "test_results": list(results), **fields}


def write(path: Path, document: object) -> Path:
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in document), encoding="utf-8")  # type: ignore[attr-defined]
    else:
        path.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
    return path


def read_one(path: Path):
    (run,) = read_history([path], suite="bio", target="agent")
    return run


def test_a_baseline_file_gives_its_figures_and_no_interval_that_it_cannot_have(tmp_path):
    point = read_one(write(tmp_path / "baseline.json", SEED_BASELINE)).point

    assert (point.suite, point.target, point.source) == ("bio", "agent", "imported")
    assert (point.run_id, point.finished) == ("imported-20241204-103000", "2024-12-04T10:30:00.000+00:00")
    assert {name: figure.mean for name, figure in point.metrics.items()} == {
        "intent": 0.85,
        "entities": 0.72,
        "tool": 0.90,
        "latency_ms": 450.5,
        "llm_usage_rate": 0.15,
    }
    assert all(figure.low is None for figure in point.metrics.values())
    assert (point.cases, point.pass_rate, point.overall_score, point.stability) == (None, None, None, None)
    assert point.errors == 3


def test_an_evaluation_with_results_gives_verdicts_pass_rate_and_percentiles(tmp_path):
    results = [
        test_result("t1", right=True, total_time_ms=100.0),
        test_result("t2", right=True, expected_tool="ncbi", tool_correct=False, total_time_ms=200.0),
        test_result("t3", right=True, error="boom"),
        test_result("t4", right=False, total_time_ms=300.0),
    ]
    run = read_one(write(tmp_path / "evaluation_20241204_103000.json", evaluation(*results, git_branch="main")))

    assert run.verdicts == {"t1": True, "t2": False, "t3": False, "t4": False}
    assert run.point.pass_rate == 0.25
    assert run.point.low < 0.25 < run.point.high
    assert (run.point.latency_p50, run.point.cases, run.point.git_branch) == (200.0, 4, "main")
    assert run.point.metrics["intent"].mean == 0.85, "what the file says stands, the results give the interval"
    assert run.point.metrics["intent"].low is not None
    assert past_run(json.loads(json.dumps(run.to_body()))) == run


def test_the_dataset_is_told_apart_by_its_tests(tmp_path):
    one = read_one(write(tmp_path / "a.json", evaluation(test_result("t1", right=True))))
    same = read_one(write(tmp_path / "b.json", evaluation(test_result("t1", right=False))))
    other = read_one(write(tmp_path / "c.json", evaluation(test_result("t1", right=True, query="Else"))))

    assert one.point.dataset_version == same.point.dataset_version != other.point.dataset_version


def test_rows_of_a_history_database_are_put_together_by_their_run(tmp_path):
    run_row = {"run_id": "run_1", "timestamp": "2025-01-01T00:00:00", "total_tests": 2, "intent_accuracy": 0.5}
    run_row |= {"git_commit": "abc", "git_branch": None, "category_metrics": json.dumps({"data": {"error_count": 1}})}
    rows = [{**test_result(f"t{n}", right=n == 0), "run_id": "run_1", "is_flaky": n} for n in range(2)]
    files = [write(tmp_path / "runs.jsonl", [run_row]), write(tmp_path / "test_results.jsonl", rows)]

    (run,) = read_history(files, suite="bio", target="agent")

    assert (run.point.run_id, run.point.git_commit, run.point.git_branch) == ("run_1", "abc", "")
    assert (run.point.pass_rate, run.point.errors, run.point.flaky) == (0.5, 1, 1)


def test_several_files_come_oldest_first_and_times_with_a_zone_are_utc(tmp_path):
    files = [
        write(tmp_path / "new.json", {**SEED_BASELINE, "timestamp": "2025-02-01T00:30:00+02:00"}),
        write(tmp_path / "old.json", {**SEED_BASELINE, "timestamp": "2025-01-31T22:00:00"}),
    ]

    assert [run.point.finished[:16] for run in read_history(files, suite="s", target="t")] == [
        "2025-01-31T22:00",
        "2025-01-31T22:30",
    ]


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({**SEED_BASELINE, "overall_intent_accuracy": "85 %"}, "overall_intent_accuracy must be a number, not '85 %'"),
        ({**SEED_BASELINE, "overall_entity_f1": 72}, "overall_entity_f1 must be from 0 to 1, not 72"),
        ({**SEED_BASELINE, "overall_avg_latency_ms": -1}, "overall_avg_latency_ms must be 0 or more, not -1"),
        ({**SEED_BASELINE, "timestamp": "yesterday"}, "timestamp must be a time such as"),
        ({key: value for key, value in SEED_BASELINE.items() if key != "timestamp"}, "timestamp is missing"),
        ({"timestamp": "2025-01-01"}, "overall_intent_accuracy is missing"),
        ({**SEED_BASELINE, "category_metrics": 7}, "category_metrics must be a list or an object"),
        (evaluation({"test_id": "t1"}), "test_results.0.intent_correct is missing"),
        (evaluation(test_result("t1", right=True, intent_correct="yes")), "test_results.0.intent_correct must be true"),
        (evaluation(test_result("t1", right=True, entity_f1=3)), "test_results.0.entity_f1 must be from 0 to 1"),
        ("{'timestamp': 1}", "is not JSON"),
        ("[1]", "holds 1 where a run should be"),
        ({"schema": "cortex.report/1", "timestamp": "2025-01-01"}, "report is not whole"),
    ],
)
def test_what_is_wrong_is_told_in_one_line_with_file_and_field(tmp_path, document, said):
    path = write(tmp_path / "evaluation.json", document)

    with pytest.raises(InputError) as caught:
        read_history([path], suite="bio", target="agent")

    assert str(caught.value).startswith(f"{path}: ")
    assert said in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_a_run_that_names_no_suite_needs_one(tmp_path):
    with pytest.raises(InputError, match="--suite NAME"):
        read_history([write(tmp_path / "b.json", SEED_BASELINE)])


def test_a_file_that_is_not_there_is_told_with_the_others(tmp_path):
    files = [tmp_path / "gone.json", write(tmp_path / "bad.json", {**SEED_BASELINE, "timestamp": 7})]

    with pytest.raises(InputError) as caught:
        read_history(files, suite="bio", target="agent")

    assert len(caught.value.problems) == 2


def test_cases_in_quarantine_have_no_verdict_in_a_report_of_ours(tmp_path):
    gate = GateSettings(quarantine=(Quarantined(case="case_0001", reason="flaky"),))
    document = made_report(simple_results(3), gate=gate).to_dict(results=True)

    run = read_one(write(tmp_path / "evaluation.json", to_json(document).decode()))

    assert run.verdicts == {"case_0000": True, "case_0002": True}


@pytest.mark.skipif(not HISTORY.is_dir(), reason="the shared history is not here")
def test_the_history_of_another_tool_is_one_run_with_its_thirty_tests():
    (run,) = read_history(sorted(HISTORY.glob("*.jsonl")), suite="bioagent", target="bio")

    assert run.point.run_id == "run_20251204_165500_74013d58"
    assert (run.point.cases, len(run.verdicts), run.point.errors) == (30, 30, 30)
    assert run.point.pass_rate == 0.0
    assert run.point.high > 0
    assert run.point.metrics["latency_ms"].mean == pytest.approx(1102.232, abs=0.001)
