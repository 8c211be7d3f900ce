"""A dataset that already holds the answers is scored as it is; rows without ids are found by their questions."""

from __future__ import annotations

import csv
import json

import pytest

from cortex_eval import InputError, evaluate
from cortex_eval.targets import RecordedTarget, targets

RAGAS = [
    {
        "user_input": "Where was Einstein born?",
        "response": "Einstein was born in Ulm.",
        "retrieved_contexts": ["Einstein was born in Ulm in 1879."],
        "reference": "In Ulm.",
    },
    {"user_input": "When?", "response": "In 1905.", "retrieved_contexts": ["Born in 1879."], "reference": "1879"},
]
DEEPEVAL = [
    {
        "input": "Where was Einstein born?",
        "actual_output": "Einstein was born in Ulm.",
        "expected_output": "Ulm",
        "context": ["Ulm is a city."],
        "retrieval_context": ["Einstein was born in Ulm in 1879."],
        "tools_called": [{"name": "search", "input_parameters": {"q": "Einstein"}}],
    }
]


def replies_of(report):
    assert report.totals.errors == 0, report
    return [(each.reply.text, each.reply.contexts) for each in report.results]


@pytest.mark.parametrize("named", [None, "ragas.json"])
def test_a_ragas_file_is_scored_as_it_is(tmp_path, monkeypatch, named):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ragas.json").write_text(json.dumps(RAGAS))

    report = evaluate("ragas.json", RecordedTarget(path=named), ["contains", "faithfulness"], store=None)

    assert replies_of(report) == [(each["response"], tuple(each["retrieved_contexts"])) for each in RAGAS]
    assert report.metrics["faithfulness"].scored == 2


@pytest.mark.slow
def test_the_same_by_the_command_line_alone(make_project):
    project = make_project(RAGAS, {"kind": "recorded"}, scorers=["rouge"])

    done = project.cortex("run", "suite", "--json")

    assert json.loads(done.stdout)["totals"]["errors"] == 0, done.stderr


def test_rows_in_python_hold_their_answers_too():
    assert replies_of(evaluate(RAGAS, RecordedTarget(), ["rouge"], store=None))[1] == ("In 1905.", ("Born in 1879.",))


def test_what_was_retrieved_and_called_comes_from_a_deepeval_file():
    [result] = evaluate(DEEPEVAL, RecordedTarget(), ["contains"], store=None).results

    assert result.reply.contexts == ("Einstein was born in Ulm in 1879.",)
    assert [(each.name, each.arguments) for each in result.reply.tool_calls] == [("search", {"q": "Einstein"})]


def test_a_csv_holds_its_answers_with_lists_as_json(tmp_path):
    path = tmp_path / "ragas.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(RAGAS[0]))
        writer.writeheader()
        writer.writerows({**row, "retrieved_contexts": json.dumps(row["retrieved_contexts"])} for row in RAGAS)

    assert replies_of(evaluate(path, RecordedTarget(path=path), ["rouge"], store=None))[0][1] == (
        "Einstein was born in Ulm in 1879.",
    )


def test_a_column_of_ones_own_is_named_and_fields_of_the_dataset_hold():
    rows = [{"Frage": "Wo?", "Antwort": "In Ulm.", "Soll": "Ulm"}]

    report = evaluate(
        rows, RecordedTarget(fields={"text": "Antwort"}), ["contains"], store=None,
        fields={"input": "Frage", "expected.answer": "Soll"},
    )  # fmt: skip

    assert report.metrics["contains"].mean == 1.0


def test_a_row_without_an_answer_is_told_and_the_others_are_scored():
    rows = [RAGAS[0], {**RAGAS[1], "response": None}, {"id": "x", "user_input": "Who?", "said": "He."}]

    first, second, third = evaluate(rows, RecordedTarget(), ["language"], store=None).results

    assert (first.error, second.state, second.error.kind) == (None, "error_target", "not_recorded")
    assert second.error.message.endswith("holds no answer beside what is expected.")
    assert third.error.message == (
        "The row of case 'x' holds no answer beside what is expected. If it is in one of 'said', name it: "
        "fields: {text: COLUMN}."
    )


def test_what_is_expected_is_never_taken_for_the_answer():
    [result] = evaluate([{"question": "2 + 2?", "answer": "4"}], RecordedTarget(), ["exact"], store=None).results

    assert result.state == "error_target"


def test_rows_of_another_file_are_found_by_their_questions(tmp_path):
    (tmp_path / "answers.jsonl").write_text(
        "\n".join(json.dumps(each) for each in [{"question": " 2 + 2? ", "answer": "4"}, {"id": "b", "answer": "9"}])
    )
    target = targets.build("recorded", {"path": str(tmp_path / "answers.jsonl")})
    cases = [{"question": "2 + 2?", "expected": "4"}, {"id": "b", "question": "3 * 3?", "expected": "9"}]

    report = evaluate(cases, target, ["exact"], store=None)

    assert (report.totals.errors, report.metrics["exact"].mean) == (0, 1.0)


def test_the_column_of_the_question_can_be_named(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps([{"Frage": "Wo?", "Antwort": "Hier."}]))
    target = RecordedTarget(path=tmp_path / "a.json", fields={"input": "Frage", "text": "Antwort"})

    assert replies_of(evaluate([{"question": "Wo?"}], target, ["language"], store=None)) == [("Hier.", ())]


def test_a_question_that_is_there_twice_and_a_row_with_neither_are_told(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(json.dumps([{"question": "Q?", "text": "a"}, {"question": "Q?", "text": "b"}, {"text": "c"}]))

    with pytest.raises(InputError) as error:
        evaluate([{"question": "Q?"}], RecordedTarget(path=path), ["language"], store=None)

    assert "a.json:2: the question 'Q?' is here a second time" in str(error.value)
    assert "a.json:3: the row has no 'id' or" in str(error.value)
    assert "and no question" in str(error.value)
