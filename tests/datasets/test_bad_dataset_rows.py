"""Every mistake in a row is told with its line and field, all of them at once, and nothing of the dataset is used."""

import json

import pytest
from found_problems import only_problem, problems_of

from cortex_eval.datasets import read_cases, validate_file


def test_DU03_repeated_ids_are_listed_with_their_rows(write):
    rows = "".join(f"c{i % 7},Question {i}?\n" for i in range(21))
    problem = only_problem(write("a.csv", "id,input\n" + rows))

    assert problem.code == "duplicate_id"
    assert "7 ids are there more than once" in problem.message
    assert "'c0' in rows 2, 9, 16;" in problem.message
    assert "'c4' in rows 6, 13, 20;" in problem.message
    assert "'c5'" not in problem.message
    assert problem.message.endswith(
        "Give each case an id of its own, or leave the ids out, with fields: {metadata.id: id}."
    )


def test_DU03_ids_of_numbers_and_of_digits_are_the_same_id(write):
    assert only_problem(write("a.jsonl", '{"id": 1, "input": "a"}\n{"id": "1", "input": "b"}\n')).code == "duplicate_id"


@pytest.mark.parametrize(
    ("row", "field", "code"),
    [
        ({"input": ""}, "input", "empty_input"),
        ({"input": "  \n"}, "input", "empty_input"),
        ({"input": None, "id": "x"}, "input", "empty_input"),
        ({"input": 7}, "input", "wrong_value"),
        ({"question": "q", "ground_truth": True}, "ground_truth", "wrong_value"),
        ({"question": "q", "choices": ["a", "b"], "answer": 1}, "answer", "wrong_value"),
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
