"""A column that is nearly one that is known: it is kept as metadata, and somebody is told."""

import pytest

from cortex_eval.datasets import cases_from, read_cases, validate_file


def notes_of(*rows, **options):
    reader = cases_from(rows, **options)
    list(reader)
    return list(reader.notes)


@pytest.mark.parametrize(
    ("column", "meant"),
    [
        ("anser", "answer"),
        ("answr", "answer"),
        ("Anser", "answer"),
        ("Grund Truth", "ground_truth"),
        ("grund_thruth", "ground_truth"),
        ("expected_anwser", "expected_answer"),
        ("lable", "label"),
        ("catagory", "category"),
        ("langauge", "language"),
        ("rubrik", "rubric"),
    ],
)
def test_a_column_within_a_slip_or_two_of_a_known_one_is_noted(column, meant):
    assert notes_of({"question": "Why?", column: "So."}) == [
        f"The column {column!r} is not known and is kept as metadata. Did you mean {meant!r}?"
    ]


@pytest.mark.parametrize(
    "column",
    [
        "ref",
        "tag",
        "level",
        "content",
        "public",
        "preference",
        "reference_id",
        "source_id",
        "sources",
        "expected_text",
        "answer_2",
        "model",
        "score",
    ],
)
def test_a_column_of_its_own_is_not_taken_for_a_slip(column):
    assert notes_of({"question": "Why?", column: "So."}) == []


@pytest.mark.parametrize(
    "row",
    [
        {"question": "Why?", "ground_truth": "So.", "anser": "x"},
        {"question": "Why?", "expected": {"answer": "So."}, "anser": "x"},
        {"question": "Why?", "questions": "x", "turn": 1, "message": "x"},
        {"messages": [{"role": "user", "content": "Why?"}], "inptu": "x"},
        {"question": "Why?", "tokens": ["Why", "?"], "tags": ["O", "O"]},
    ],
)
def test_a_column_is_not_taken_for_what_the_row_has_already(row):
    assert notes_of(row) == []


def test_a_column_that_fields_names_is_meant_as_it_is():
    row = {"question": "Why?", "anser": "So.", "lable": "x"}

    assert notes_of(row, fields={"expected.answer": "anser", "metadata.lable": "lable"}) == []


def test_it_is_said_once_however_many_rows_and_shapes_there_are():
    rows = [{"id": str(number), "question": "Why?", "anser": "So.", f"x{number}": 1} for number in range(30)]

    assert len(notes_of(*rows)) == 1


def test_rows_that_each_bring_names_of_their_own_are_not_all_looked_at(monkeypatch):
    monkeypatch.setattr("cortex_eval.datasets.names.MAX_LOOKED_AT", 1)

    assert len(notes_of({"question": "Why?", "anser": "So.", "catagory": "x"})) == 1


def test_a_file_is_valid_all_the_same_and_the_note_names_it(write):
    path = write("cases.csv", "question,anser\nWhy?,So.\n")

    found = validate_file(path)

    assert (found.ok, found.cases, found.problems) == (True, 1, ())
    assert found.notes == (
        f"{path}: the column 'anser' is not known and is kept as metadata. Did you mean 'answer'?",
        "No case says what is expected: scorers such as accuracy and contains have nothing to compare with.",
    )
    assert found.to_json()["notes"] == list(found.notes)
    (case,) = read_cases(path)
    assert case.metadata == {"anser": "So."}


def test_a_note_stands_beside_mistakes(write):
    found = validate_file(write("cases.csv", "id,question,anser\na,Why?,So.\na,How?,So.\n"))

    assert not found.ok
    assert len(found.notes) == 1


@pytest.mark.parametrize(
    "row",
    [
        '{"question": "Why?", "ground_truth": "So."}',
        '{"turns": [{"input": "Why?"}, {"input": "How?", "expected": {"intent": "ask"}}]}',
        '{"question": "Why?", "expected": {"entities": {}}}',
    ],
)
def test_anything_that_is_expected_of_any_case_will_do(write, row):
    assert validate_file(write("a.jsonl", '{"question": "And?"}\n' + row + "\n")).notes == ()


def test_what_metadata_calls_expected_is_no_expectation(write):
    row = '{"question": "He said \\"expected\\": 1", "metadata": {"expected": "So."}}'

    (note,) = validate_file(write("a.jsonl", row + "\n")).notes

    assert note.startswith("No case says what is expected")
