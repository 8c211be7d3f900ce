"""JSON, JSON lines and CSV."""

import csv
import io

import orjson
import pytest
from made_results import made_case, made_report, made_result, simple_results

from cortex_eval.core import Expected, Reply, Secret
from cortex_eval.datasets import restored
from cortex_eval.reports import csv_chunks, json_chunks, jsonl_chunks, row_bytes


def _agent_report():
    case = made_case(
        0,
        ("find RNA-seq data", "download it"),
        expected=Expected(intent="DATA_SEARCH", entities={"data_type": "RNA-seq"}, tool="search_data"),
        category="data_discovery",
        context={"user": "u1"},
    )
    scores = {
        "intent": {"value": 1.0},
        "entities": {"value": 0.67, "evidence": {"precision": 1.0, "recall": 0.5}},
        "tool": {"value": 0.0},
    }
    reply = Reply(
        text="Found 3.",
        intent="DATA_SEARCH",
        entities={"data_type": "rna-seq"},
        tool="other",
        confidence=0.8,
        llm_invoked=False,
        parse_time_ms=4.0,
        total_time_ms=20.0,
    )
    return made_report(
        [
            made_result(case, 0, scores=scores, reply=reply),
            made_result(case, 0, turn=1, state="error_target", scores={}),
        ]
    )


@pytest.mark.parametrize("count", [0, 1, 3, 600])
def test_the_file_is_the_same_object_as_to_dict(count):
    report = made_report(simple_results(count))
    read = orjson.loads(b"".join(json_chunks(report)))
    assert read == orjson.loads(orjson.dumps(report.to_dict(results=True)))
    assert len(read["results"]) == count


def test_a_row_holds_what_the_report_file_promises():
    row = orjson.loads(row_bytes(next(iter(_agent_report().results))))
    assert list(row) == [
        "case_id",
        "turn",
        "repeat",
        "category",
        "tier",
        "language",
        "input",
        "expected",
        "state",
        "attempts",
        "timestamp",
        "error",
        "reply",
        "scores",
        "overall",
        "passed",
    ]
    assert row["input"] == "find RNA-seq data"
    assert row["expected"]["intent"] == "DATA_SEARCH"
    assert row["reply"]["confidence"] == 0.8
    assert row["scores"]["entities"]["evidence"] == {"precision": 1.0, "recall": 0.5}


def test_an_error_row_has_no_reply_and_its_reason():
    row = orjson.loads(row_bytes(list(_agent_report().results)[1]))
    assert row["reply"] is None
    assert row["error"] == {"kind": "timeout", "message": "no answer in 10 s"}
    assert (row["overall"], row["passed"]) == (None, None)


def test_the_seeds_dialect_has_the_seeds_fields():
    read = orjson.loads(b"".join(json_chunks(_agent_report(), dialect="seed003")))
    assert "results" not in read
    first, second = read["test_results"]
    assert first == {
        "test_id": "case_0000",
        "category": "data_discovery",
        "query": "find RNA-seq data",
        "expected_intent": "DATA_SEARCH",
        "actual_intent": "DATA_SEARCH",
        "intent_correct": True,
        "expected_entities": {"data_type": "RNA-seq"},
        "actual_entities": {"data_type": "rna-seq"},
        "entity_precision": 1.0,
        "entity_recall": 0.5,
        "entity_f1": 0.67,
        "expected_tool": "search_data",
        "actual_tool": "other",
        "tool_correct": False,
        "confidence": 0.8,
        "parse_time_ms": 4.0,
        "total_time_ms": 20.0,
        "llm_invoked": False,
        "error": None,
        "context": {"user": "u1"},
    }
    assert second["error"] == "timeout: no answer in 10 s"
    assert second["intent_correct"] is None


def test_json_lines_hold_the_same_rows():
    report = made_report(simple_results(300))
    lines = b"".join(jsonl_chunks(report)).splitlines()
    assert [orjson.loads(line) for line in lines] == orjson.loads(b"".join(json_chunks(report)))["results"]


def test_the_table_has_a_column_per_scorer_and_no_formula():
    case = made_case(0, ("=1+1",))
    report = made_report([made_result(case, 0, scores={"accuracy": 0.25}, text="@SUM(A1)", state="failed")])
    (row,) = csv.DictReader(io.StringIO(b"".join(csv_chunks(report)).decode(), newline=""))
    assert row["accuracy"] == "0.25"
    assert (row["input"], row["reply"]) == ("'=1+1", "'@SUM(A1)")
    assert restored(row["input"]) == "=1+1"


def test_no_known_secret_reaches_a_file():
    secret = Secret("s3cr3t-token-91")
    report = made_report([made_result(made_case(0), 0, text=f"the key is {secret.reveal()}")])
    for chunks in (json_chunks(report), jsonl_chunks(report), csv_chunks(report)):
        written = b"".join(chunks)
        assert b"s3cr3t" not in written
        assert b"***" in written


def test_foreign_text_is_kept_byte_for_byte_in_json():
    text = "<img src=x onerror=alert(1)> \u202e क्\u200dष {{7*7}}"
    report = made_report([made_result(made_case(0), 0, text=text)])
    assert orjson.loads(b"".join(jsonl_chunks(report)))["reply"]["text"] == text
