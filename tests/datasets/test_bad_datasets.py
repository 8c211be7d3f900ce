# the ids of the reliability promises keep their capitals
"""Every kind of broken dataset is told with its place, and nothing of it is used."""

import gzip
import io
import json
import resource
import time
import zipfile

import pytest

from cortex_eval.core import InputError
from cortex_eval.datasets import MAX_FILE_BYTES, read_cases, shown_name, validate_file
from cortex_eval.datasets import files as files_module


def problems_of(path, **options):
    found = validate_file(path, **options)
    assert not found.ok
    assert found.version is None
    return found.problems


def only_problem(path, **options):
    (problem,) = problems_of(path, **options)
    return problem


@pytest.fixture
def write(tmp_path):
    def write_file(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write_file


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


def test_DU02_a_csv_without_input_lists_its_columns_and_the_nearest_name(write):
    problem = only_problem(write("a.csv", "id,qestion,answer\n1,Why?,So.\n2,How?,Thus.\n"))

    assert problem.code == "missing_column"
    assert problem.line == 1
    assert "'id', 'qestion', 'answer'" in problem.message
    assert "Did you mean 'question' by 'qestion'?" in problem.message
    assert "fields: {input: qestion}" in problem.message


def test_DU02_a_semicolon_file_is_told_to_use_commas(write):
    assert "separated by commas" in only_problem(write("a.csv", "id;input\n1;Why?\n")).message


def test_DU02_rows_of_jsonl_without_input_are_told_once_and_counted(write):
    problem = only_problem(write("a.jsonl", "".join(f'{{"id": "{number}", "x": 1}}\n' for number in range(3))))

    assert problem.line == 1
    assert problem.message.endswith("The same holds for 2 more rows.")


def test_DU03_repeated_ids_are_listed_with_their_rows(write):
    rows = "".join(f"c{i % 7},Question {i}?\n" for i in range(21))
    problem = only_problem(write("a.csv", "id,input\n" + rows))

    assert problem.code == "duplicate_id"
    assert "7 ids are there more than once" in problem.message
    assert "'c0' in rows 2, 9, 16;" in problem.message
    assert "'c4' in rows 6, 13, 20;" in problem.message
    assert "'c5'" not in problem.message


def test_DU03_ids_of_numbers_and_of_digits_are_the_same_id(write):
    assert only_problem(write("a.jsonl", '{"id": 1, "input": "a"}\n{"id": "1", "input": "b"}\n')).code == "duplicate_id"


@pytest.mark.parametrize("others", ["{i},plain text", '{i},"quoted, text"', '"{i}",""', '{i},",starts with a comma"'])
def test_DU04_an_unclosed_quote_names_its_line(write, others):
    rows = [others.format(i=i) for i in range(3, 1001)]
    path = write("a.csv", "\n".join(["id,input", '2,"this never ends', *rows]) + "\n")

    problem = only_problem(path)

    assert problem.code == "unclosed_quote"
    assert problem.line == 2
    assert "line 2" in problem.message


def test_DU04_an_unclosed_quote_is_found_although_what_it_swallows_is_larger_than_a_cell(write):
    rows = [f"{i},{'x' * 3000}" for i in range(3, 1001)]

    assert only_problem(write("a.csv", "\n".join(["id,input", '2,"open', *rows]))).code == "unclosed_quote"


def test_DU04_the_line_of_the_quote_is_told_when_its_row_began_earlier(write):
    problem = only_problem(write("a.csv", 'id,input,note\n1,"two\nlines","never closed\n2,b,c\n'))

    assert (problem.code, problem.line) == ("unclosed_quote", 3)


def test_DU04_text_after_a_closing_quote_is_a_problem_of_its_row(write):
    problem = only_problem(write("a.csv", 'id,input\n1,"a"b\n2,c\n'))

    assert (problem.code, problem.line) == ("stray_quote", 2)


def test_DU05_rows_of_the_wrong_width_tell_both_widths(write):
    path = write("a.csv", 'id,input,note\n1,"a\nb",c\n2,d\n3,e,f,g\n')

    few, many = problems_of(path)

    assert (few.code, few.line) == ("row_width", 4)
    assert "2 cells, the header has 3" in few.message
    assert (many.code, many.line) == ("row_width", 5)
    assert "4 cells, the header has 3" in many.message


def test_DU06_a_column_that_is_there_twice_is_named(write):
    first, _ = problems_of(write("a.csv", "id,input,note,input\n1,a,b,c\n"))

    assert (first.code, first.field, first.line) == ("duplicate_column", "input", 1)


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


def test_DU11_a_broken_line_of_a_thousand_is_named(write):
    lines = [json.dumps({"id": str(i), "input": f"Question {i}?"}) for i in range(1, 1001)]
    lines[499] = '{"id": "500", "input": '
    path = write("a.jsonl", "\n".join(lines))

    problem = only_problem(path)
    assert (problem.code, problem.line) == ("invalid_json", 500)

    reader = read_cases(path, skip_invalid=True)
    assert len(list(reader)) == 999
    assert [(each.code, each.line) for each in reader.problems] == [("invalid_json", 500)]
    assert reader.cases == 999


def test_DU11_nothing_is_handed_over_after_the_first_problem(write):
    path = write("a.jsonl", '{"id": "1", "input": "a"}\n{"broken\n{"id": "3", "input": "c"}\n{"broken again\n')
    handed: list[str] = []

    with pytest.raises(InputError) as caught:
        handed.extend(row.id for row in read_cases(path).rows())

    assert handed == ["1"]
    assert [problem.line for problem in caught.value.problems] == [2, 4]


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e400", "-1.5e999"])
def test_DU12_numbers_that_are_not_finite_are_told_by_path(write, number):
    path = write("a.json", f'[{{"input": "a"}},\n{{"input": "b", "metadata": {{"x": [1, {number}]}}}}]')

    problem = only_problem(path)

    assert (problem.code, problem.line, problem.field) == ("not_finite", 2, "metadata.x[1]")


@pytest.mark.parametrize("number", [".nan", ".inf", "-.inf"])
def test_DU12_yaml_numbers_that_are_not_finite_are_told_by_path(write, number):
    problem = only_problem(write("a.yaml", f"- input: a\n- input: b\n  metadata: {{x: {number}}}\n"))

    assert (problem.code, problem.line, problem.field) == ("not_finite", 2, "metadata.x")


def test_DU12_an_integer_that_would_lose_digits_is_told(write):
    problem = only_problem(write("a.jsonl", '{"input": "a", "n": 123456789012345678901234567890}\n'))

    assert (problem.code, problem.field) == ("too_large", "n")


def test_DU13_a_repeated_key_is_named(write):
    problem = only_problem(write("a.jsonl", '{"id": "a", "id": "b", "input": "x"}\n'))
    assert (problem.code, problem.field, problem.line) == ("duplicate_key", "id", 1)

    problem = only_problem(write("a.yaml", "- input: x\n  id: a\n  id: b\n"))
    assert (problem.code, problem.field, problem.line) == ("duplicate_key", "id", 3)


def test_DU13_a_mistake_in_one_element_does_not_hide_those_after_it(write):
    path = write("a.json", '[{"id": "a", "id": "b", "input": "x"},\n{"input": ""},\n{"input": "y", "tier": NaN}]')

    assert [(each.code, each.line) for each in problems_of(path)] == [
        ("duplicate_key", 1),
        ("empty_input", 2),
        ("not_finite", 3),
    ]


@pytest.mark.parametrize("name", ["a.json", "a.jsonl", "a.yaml"])
@pytest.mark.parametrize(
    "content", ["[" * 100_000, '{"input": "a", "x": ' + "[" * 70 + "]" * 70 + "}", '{"a":' * 100_000]
)
def test_DU14_endless_nesting_is_refused_at_once(write, name, content):
    path = write(name, content)
    start = time.perf_counter()

    problem = only_problem(path)

    assert problem.code == "too_deep"
    assert time.perf_counter() - start < 1


def test_DU14_sixty_levels_are_fine(write):
    content = '{"input": "a", "x": ' + "[" * 60 + "]" * 60 + "}"

    assert validate_file(write("a.jsonl", content)).ok


def test_DU15_a_yaml_tag_is_refused_and_nothing_runs(write, tmp_path):
    witness = tmp_path / "witness"
    path = write("a.yaml", f"- input: a\n  x: !!python/object/apply:os.system ['touch {witness}']\n")

    problem = only_problem(path)

    assert (problem.code, problem.line) == ("yaml_tag", 2)
    assert not witness.exists()


def test_DU16_an_alias_bomb_is_refused_without_filling_the_memory(write):
    levels = ["a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]"]
    levels += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 10)]
    path = write("a.yaml", "\n".join(levels) + "\ncases: [{input: x, y: *a9}]\n")
    validate_file(write("warm.yaml", "- input: a\n"))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    problem = only_problem(path)

    assert problem.code == "alias_limit"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50 * 1024


def test_DU16_a_large_text_behind_many_aliases_is_refused_too(write):
    path = write("a.yaml", f"text: &t {'x' * 900_000}\ncases:\n- input: q\n  y: [{', '.join(['*t'] * 900)}]\n")

    assert only_problem(path).code == "alias_limit"


def test_DU16_a_few_aliases_and_merges_are_fine(write):
    path = write("a.yaml", "base: &b {category: c, language: en}\ncases:\n- {<<: *b, id: 1, input: q, language: hi}\n")

    (case,) = read_cases(path)

    assert (case.category, case.language) == ("c", "hi")


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


@pytest.mark.parametrize(
    ("row", "field", "code"),
    [
        ({"input": ""}, "input", "empty_input"),
        ({"input": "  \n"}, "input", "empty_input"),
        ({"input": None, "id": "x"}, "input", "empty_input"),
        ({"input": 7}, "input", "wrong_value"),
        ({"question": "q", "ground_truth": 7}, "ground_truth", "wrong_value"),
        ({"question": "q", "ground_truth": {"a": 1}}, "ground_truth", "wrong_value"),
        ({"input": "q", "tier": 0}, "tier", "wrong_value"),
        ({"input": "q", "tier": 6}, "tier", "wrong_value"),
        ({"input": "q", "tier": "hardest"}, "tier", "wrong_value"),
        ({"input": "q", "tags": [1]}, "tags[0]", "wrong_value"),
        ({"input": "q", "expected_entities": "x"}, "expected_entities", "wrong_value"),
        ({"input": "q", "expected": {"anser": "x"}}, "expected.anser", "wrong_value"),
        ({"input": "q", "rubrics": [{"criterion": "c", "points": "many"}]}, "rubrics[0].points", "wrong_value"),
        ({"turns": [{"query": "a"}, {"query": ""}]}, "turns[1].input", "empty_input"),
        ({"turns": [{"query": "a", "expected_intent": []}]}, "turns[0].expected_intent", "wrong_value"),
        ({"messages": [{"role": "assistant", "content": "a"}]}, "messages", "empty_input"),
        ({"messages": [{"role": "usr", "content": "a"}]}, "messages[0].role", "wrong_value"),
        ({"input": "q", "requires_context": "perhaps"}, "requires_context", "wrong_value"),
    ],
)
def test_a_value_that_is_not_of_its_kind_is_told_by_field(write, row, field, code):
    problem = only_problem(write("a.jsonl", "\n" + json.dumps(row)))

    assert (problem.field, problem.code, problem.line) == (field, code, 2)


def test_every_mistake_of_a_file_is_told_at_once(write):
    path = write("a.jsonl", '{"input": ""}\n{"input": "a", "tier": 9, "tags": 1}\n{"id": true, "input": "b"}\n{\n')

    assert [(each.line, each.field) for each in problems_of(path)] == [
        (1, "input"),
        (2, "tier"),
        (2, "tags"),
        (3, "id"),
        (4, ""),
    ]


def test_past_a_hundred_problems_the_rest_is_counted(write):
    problems = problems_of(write("a.jsonl", '{"input": ""}\n' * 150))

    assert len(problems) == 101
    assert "50 more problems" in problems[-1].message


def test_a_secret_in_a_row_is_not_quoted(write):
    from cortex_eval.core import Secret

    Secret("sk-planted-value-123")
    problem = only_problem(write("a.jsonl", '{"input": "q", "ground_truth": {"k": "sk-planted-value-123"}}'))

    assert "sk-planted-value-123" not in problem.message


def test_a_missing_file_and_a_folder_are_told(tmp_path):
    assert only_problem(tmp_path / "no.csv").code == "not_found"
    (tmp_path / "folder.csv").mkdir()
    assert "folder" in only_problem(tmp_path / "folder.csv").message


def test_jsonl_named_json_is_told_what_it_is(write):
    assert "name it .jsonl" in only_problem(write("a.json", '{"input": "a"}\n{"input": "b"}\n')).message


def test_the_machine_readable_answer_has_its_fixed_keys(write):
    good = validate_file(write("a.jsonl", '{"id": "1", "input": "a"}\n')).to_json()
    bad = validate_file(write("b.jsonl", '{"id": "1"}\n')).to_json()

    assert (good["ok"], good["errors"], good["cases"]) == (True, [], 1)
    assert len(good["version"]) == 64
    assert bad["ok"] is False
    assert set(bad["errors"][0]) == {"file", "line", "field", "message", "code"}
    json.dumps([good, bad])


def told(problems):
    return [(problem.line, problem.code) for problem in problems]


def test_every_mistake_of_a_row_is_told_and_an_empty_question_too(write):
    path = write("cases.csv", "id,question,tier\na,,9\nb,Hello?,1\n")

    assert told(problems_of(path)) == [(2, "wrong_value"), (2, "empty_input")]


def test_a_question_that_cannot_be_read_is_one_mistake_and_not_two(write):
    path = write("cases.jsonl", '{"id": "a", "input": 5, "tier": 9}\n')

    assert sorted(problem.field for problem in problems_of(path)) == ["input", "tier"]


def test_an_id_that_is_there_twice_is_told_with_the_other_mistakes_of_its_rows(write):
    path = write("cases.csv", "id,question,tier\na,Hello?,9\nb,Hello?,1\na,Hi?,1\nb,,1\n")

    found = problems_of(path)

    assert told(found) == [(2, "wrong_value"), (5, "empty_input"), (4, "duplicate_id")]
    assert "2 ids are there more than once: 'a' in rows 2, 4; 'b' in rows 3, 5." in found[-1].message


def test_a_row_that_is_skipped_takes_up_no_id(write):
    path = write("cases.csv", "id,question,tier\na,Hello?,9\na,Hi?,1\n")

    assert [case.id for case in read_cases(path, skip_invalid=True)] == ["a"]


@pytest.mark.parametrize("name", ["case.csv", "cases.jsonl", "cases.yaml"])
def test_a_file_that_is_not_there_offers_one_of_nearly_that_name(write, name):
    path = write("cases.csv", "id,question\na,Hello?\n")

    assert only_problem(path.with_name(name)).message.endswith("Did you mean 'cases.csv'?")


def test_a_file_that_is_nowhere_near_is_only_told(tmp_path):
    assert only_problem(tmp_path / "gone" / "cases.csv").message.endswith("no such file or directory.")
