"""Broken tables, JSON and YAML are told by their place, and nothing in them runs or fills the memory."""

import json
import resource
import time

import pytest
from found_problems import only_problem, problems_of

from cortex_eval.core import InputError
from cortex_eval.datasets import read_cases, validate_file


def test_DU02_a_csv_without_input_lists_its_columns_and_the_nearest_name(write):
    problem = only_problem(write("a.csv", "id,qestion,answer\n1,Why?,So.\n2,How?,Thus.\n"))

    assert problem.code == "missing_column"
    assert problem.line == 1
    assert "'id', 'qestion', 'answer'" in problem.message
    assert "Did you mean 'question' by 'qestion'?" in problem.message
    assert "fields: {input: qestion}" in problem.message


def test_DU02_a_comma_file_that_is_called_tsv_is_told(write):
    assert "separated by tabs, or the file be named .csv" in only_problem(write("a.tsv", "id,input\n1,Why?\n")).message


@pytest.mark.parametrize(
    ("columns", "hint"),
    [
        ("id,user_query,answer", "fields: {input: user_query}"),
        ("id,description,recomputed", "fields: {input: your_column}"),
        ("id,context,target", "fields: {input: your_column}"),
    ],
)
def test_DU02_a_column_is_offered_for_the_input_only_if_its_name_says_so(write, columns, hint):
    assert hint in only_problem(write("a.csv", f"{columns}\n1,x,y\n")).message


def test_DU02_rows_of_jsonl_without_input_are_told_once_and_counted(write):
    problem = only_problem(write("a.jsonl", "".join(f'{{"id": "{number}", "x": 1}}\n' for number in range(3))))

    assert problem.line == 1
    assert problem.message.endswith("The same holds for 2 more rows.")


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
