"""Parquet: one row per turn, a column per scorer, types that data frames take as they are."""

import csv
import io
import sys

import orjson
import pyarrow.parquet
import pytest
from made_results import made_case, made_report, made_result, made_run, simple_results

from cortex_eval.core import InputError, Secret
from cortex_eval.reports import csv_chunks, parquet_chunks, write_artifacts
from cortex_eval.reports import parquet as module


def read(report):
    return pyarrow.parquet.read_table(io.BytesIO(b"".join(parquet_chunks(report))))


def test_there_is_a_row_per_turn_and_a_column_per_scorer():
    case = made_case(0, ("Hello?", "And now?"), category="visit", tier=3, tags=("a", "b"))
    scores = {"exact": {"value": 0.5, "passed": False, "reason": "half"}, "safety": {"value": None}}
    report = made_report(
        [
            made_result(case, turn=0, scores=scores, state="failed"),
            made_result(case, turn=1, scores={}, state="error_target"),
        ]
    )
    first, second = read(report).to_pylist()
    assert (first["case_id"], first["turn"], first["category"], first["tier"]) == ("case_0000", 0, "visit", 3)
    assert (first["suite"], first["target"], first["target_version"]) == ("triage", "helpdesk", "2.3")
    assert (first["input"], first["expected"], first["reply"]) == ("Hello?", "In your inbox.", "It is in your inbox.")
    assert (first["exact"], first["passed"], first["tags"]) == (0.5, False, ["a", "b"])
    assert orjson.loads(first["scores"])["exact"]["reason"] == "half"
    assert (second["exact"], second["overall"], second["passed"], second["reply"]) == (None, None, None, None)
    assert (second["error_kind"], second["error"]) == ("timeout", "no answer in 10 s")


def test_a_scorer_named_like_another_column_keeps_both():
    report = made_report([made_result(made_case(0, language="hi"), scores={"language": 0.9})])
    (row,) = read(report).to_pylist()
    assert (row["language"], row["score_language"]) == ("hi", 0.9)
    (row,) = csv.DictReader(io.StringIO(b"".join(csv_chunks(report)).decode()))
    assert (row["language"], row["score_language"]) == ("hi", "0.9")


def test_columns_have_their_types_even_where_all_is_empty():
    table = read(made_report([], run=made_run(2)))
    assert table.num_rows == 0
    assert [str(table.schema.field(name).type) for name in ("tier", "overall", "passed", "tags")] == [
        "int32",
        "double",
        "bool",
        "list<element: string>",
    ]


def test_rows_come_in_groups_and_none_is_lost(monkeypatch):
    monkeypatch.setattr(module, "ROWS_PER_GROUP", 7)
    data = b"".join(parquet_chunks(made_report(simple_results(20))))
    file = pyarrow.parquet.ParquetFile(io.BytesIO(data))
    assert file.num_row_groups == 3
    assert file.read().column("case_id").to_pylist() == [f"case_{number:04}" for number in range(20)]


def test_secrets_are_masked():
    Secret("hunter2-hunter2")
    report = made_report([made_result(made_case(0, category="hunter2-hunter2"), text="it is hunter2-hunter2")])
    (row,) = read(report).to_pylist()
    assert (row["reply"], row["category"]) == ("it is ***", "***")


def test_a_runs_own_file_is_replaced_and_another_runs_is_left_alone(tmp_path):
    (first,) = write_artifacts(made_report(simple_results(3_000)), tmp_path, ["parquet"])
    (again,) = write_artifacts(made_report(simple_results(2)), tmp_path, ["parquet"])
    (other,) = write_artifacts(made_report(simple_results(1), run=made_run(1, id="b2c4")), tmp_path, ["parquet"])
    assert first.name == "evaluation_20261115_091400.parquet"
    assert first == again
    assert other.name == "evaluation_20261115_091400_helpdesk.parquet"
    assert pyarrow.parquet.read_metadata(first).num_rows == 2


def test_without_pyarrow_one_line_names_the_extra(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match=r"pip install 'cortex-eval\[parquet\]'"):
        write_artifacts(made_report(simple_results(1)), tmp_path, ["parquet"])
    assert list(tmp_path.iterdir()) == []
