"""A file that cannot be a dataset is told so before its rows matter; what only looks odd is read as it is."""

import gzip
import io
import json
import time
import zipfile

import pytest
from found_problems import only_problem

from cortex_eval.datasets import MAX_FILE_BYTES, read_cases, shown_name
from cortex_eval.datasets import files as files_module


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", ""),
        ("a.csv", "id,input\n"),
        ("a.csv", "\n\n"),
        ("a.jsonl", ""),
        ("a.jsonl", "\n\n"),
        ("a.json", "[]"),
        ("a.json", '{"cases": []}'),
        ("a.json", '{"data_discovery": []}'),
        ("a.yaml", ""),
        ("a.yaml", "# nothing\n"),
        ("a.yaml", "[]"),
    ],
)
def test_DU01_a_dataset_without_cases_is_called_empty(write, name, content):
    assert only_problem(write(name, content)).code == "dataset_empty"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.json", "a.yaml"])
def test_DU07_files_with_a_byte_order_mark_load(write, encoding, name):
    content = {
        "a.csv": "input,note\nक्या है?,x\n",
        "a.jsonl": '{"input": "क्या है?", "note": "x"}\n',
        "a.json": '[{"input": "क्या है?", "note": "x"}]',
        "a.yaml": "- {input: क्या है?, note: x}\n",
    }[name]
    data = content.encode(encoding)
    if encoding == "utf-16-be":
        data = b"\xfe\xff" + data

    (case,) = read_cases(write(name, data))

    assert case.input == "क्या है?"
    assert case.metadata == {"note": "x"}


def test_DU08_bytes_of_another_encoding_are_told_by_offset(write):
    path = write("a.csv", b"id,input\n1,fine\n2,don\x92t\n")

    problem = only_problem(path)

    assert problem.code == "encoding"
    assert "byte 21 (0x92)" in problem.message
    assert "encoding: windows-1252" in problem.message
    assert problem.line == 3


def test_DU08_a_declared_encoding_is_read(write):
    cases = list(read_cases(write("a.csv", b"id,input\n2,don\x92t\n"), encoding="windows-1252"))

    assert cases[0].input == "don’t"


def test_DU08_an_unknown_encoding_offers_a_known_one(write):
    problem = only_problem(write("a.csv", "id,input\n1,a\n"), encoding="window-1252")

    assert "Did you mean 'windows-1252'?" in problem.message


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.json", "a.yaml"])
def test_DU09_a_text_of_200000_characters_loads(write, name):
    text = "आ" * 200_000
    row = json.dumps({"input": text}, ensure_ascii=False)
    content = {"a.csv": f"input\n{text}\n", "a.jsonl": row, "a.json": f"[{row}]", "a.yaml": f"- {row}\n"}[name]

    (case,) = read_cases(write(name, content))

    assert case.input == text


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.json"])
def test_DU09_a_text_over_one_mebibyte_does_not(write, name):
    text = "आ" * 400_000  # three bytes each
    row = json.dumps({"id": "1", "input": text}, ensure_ascii=False)
    content = {"a.csv": f'id,input\n1,"{text}"\n', "a.jsonl": row, "a.json": f"[{row}]"}[name]

    assert only_problem(write(name, content)).code == "too_large"


def test_DU09_a_plain_cell_over_one_mebibyte_is_no_unclosed_quote(write):
    path = write("a.csv", f'id,input\n0,"two\nlines"\n1,{"x" * 1_100_000}\n2,5" tall\n')

    problem = only_problem(path)

    assert (problem.code, problem.line) == ("too_large", 4)


def test_DU10_a_nul_byte_is_told_with_row_and_column(write):
    problem = only_problem(write("a.csv", "id,input,note\n1,a,b\n2,c,d\0e\n"))

    assert (problem.code, problem.line, problem.field) == ("nul_byte", 3, "note")


def test_DU10_an_escaped_nul_in_json_is_told_too(write):
    problem = only_problem(write("a.jsonl", '{"input": "a", "metadata": {"deep": ["x", "y\\u0000"]}}\n'))

    assert (problem.code, problem.line, problem.field) == ("nul_byte", 1, "metadata.deep[1]")


def test_DU10_the_words_backslash_u0000_are_no_nul(write):
    (case,) = read_cases(write("a.jsonl", '{"input": "a \\\\u0000 b"}\n'))

    assert case.input == "a \\u0000 b"


def xlsx():
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("xl/workbook.xml", "<workbook/>")
    return held.getvalue()


def archive():
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as file:
        file.writestr("cases.csv", "id,input\n1,a\n")
    return held.getvalue()


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "PNG"),
        (xlsx(), "XLSX"),
        (archive(), "ZIP"),
        (b"%PDF-1.7\n", "PDF"),
        (gzip.compress(b"id,input\n1,a\n", mtime=0), "gzip"),
        (b"PAR1\0\0", "Parquet"),
    ],
    ids=["png", "xlsx", "zip", "pdf", "gzip", "parquet"],
)
@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.json", "a.yaml"])
def test_DU17_another_type_of_file_is_named(write, content, found, name):
    problem = only_problem(write(name, content))

    assert problem.code == "wrong_type"
    assert found in problem.message


def test_DU17_a_csv_called_parquet_is_named(write):
    assert only_problem(write("a.parquet", "id,input\n1,a\n")).code == "wrong_type"


def test_DU17_an_unknown_ending_lists_the_known_ones(write):
    problem = only_problem(write("a.txt", "hello"))

    assert problem.code == "wrong_type"
    assert ".jsonl" in problem.message


def test_DU18_a_file_one_byte_over_the_limit_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "a.csv"
    with path.open("wb") as file:
        file.truncate(MAX_FILE_BYTES + 1)
    start = time.perf_counter()

    problem = only_problem(path)

    assert problem.code == "too_large"
    assert "100 MiB" in problem.message
    assert time.perf_counter() - start < 2


def test_DU18_too_many_rows_and_columns_are_refused(write, monkeypatch):
    monkeypatch.setattr(files_module, "MAX_ROWS", 10)
    path = write("a.csv", "input\n" + "".join(f"q{i}\n" for i in range(11)))
    assert only_problem(path).code == "too_large"

    header = ",".join(["input", *(f"c{i}" for i in range(200))])
    assert only_problem(write("b.csv", f"{header}\n")).code == "too_large"
    assert only_problem(write("b.jsonl", json.dumps(dict.fromkeys(header.split(","), "x")))).code == "too_large"


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        ("../../etc/cron.d/x.csv", "x.csv"),
        ("C:\\x", "x"),
        ("C:\\data\\y.csv", "y.csv"),
        ("a\x1b[31m\u202etxt.csv", "a\\x1b[31m\\u202etxt.csv"),
    ],
)
def test_DU19_a_file_name_is_shown_without_folders_and_escaped(sent, shown):
    assert shown_name(sent) == shown


def test_DU19_a_long_file_name_is_cut():
    assert len(shown_name("n" * 300 + ".csv")) == 100


def test_DU19_messages_use_the_name_that_was_given(write):
    assert only_problem(write("a.csv", ""), name="upload.csv").file == "upload.csv"


TEXTS = ["{{7*7}}", "${HOME}", "<script>alert(1)</script>", "=1+1", "  =1", "-2+3", "@SUM(A1)", "+1", "{%x%}", "$(id)"]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.yaml", "a.json"])
def test_DU20_text_is_kept_byte_for_byte(write, text, name):
    row = json.dumps({"id": "1", "input": text, "expected": {"answer": text}, "note": text})
    content = {
        "a.csv": f'id,input,expected.answer,note\n1,"{text}","{text}","{text}"\n',
        "a.jsonl": row,
        "a.json": f"[{row}]",
        "a.yaml": f"- {row}",
    }[name]

    (case,) = read_cases(write(name, content))

    assert (case.input, case.expected.answer, case.metadata["note"]) == (text, text, text)


def test_a_missing_file_and_a_folder_are_told(tmp_path):
    assert only_problem(tmp_path / "no.csv").code == "not_found"
    (tmp_path / "folder.csv").mkdir()
    assert "folder" in only_problem(tmp_path / "folder.csv").message


def test_jsonl_named_json_is_told_what_it_is(write):
    assert "name it .jsonl" in only_problem(write("a.json", '{"input": "a"}\n{"input": "b"}\n')).message


@pytest.mark.parametrize("name", ["case.csv", "cases.jsonl", "cases.yaml"])
def test_a_file_that_is_not_there_offers_one_of_nearly_that_name(write, name):
    path = write("cases.csv", "id,question\na,Hello?\n")

    assert only_problem(path.with_name(name)).message.endswith("Did you mean 'cases.csv'?")


def test_a_file_that_is_nowhere_near_is_only_told(tmp_path):
    assert only_problem(tmp_path / "gone" / "cases.csv").message.endswith("no such file or directory.")
