"""Datasets that were written for other tools are read by the names those use."""

import json

import pytest
from found_problems import only_problem, problems_of

from cortex_eval.core import Criterion, ToolCall
from cortex_eval.datasets import cases_from, read_cases, validate_file


def case_of(row, **options):
    (case,) = cases_from([row], **options)
    return case


PROMPTFOO = """
description: Mine
prompts: ["Answer {{question}}"]
providers: [openai:chat]
tests:
  - description: first
    vars: {question: Who?, context: A text., tone: dry}
    assert:
      - {type: equals, value: Me}
      - {type: contains-all, value: [a, b]}
      - {type: llm-rubric, value: is polite}
      - {type: javascript, value: output.length < 9}
  - vars: {topic: cats}
"""


def test_promptfoo_tests_have_vars_and_what_their_checks_say_of_a_good_reply(write):
    first, second = read_cases(write("promptfooconfig.yaml", PROMPTFOO))

    assert (first.input, first.passages, first.description) == ("Who?", ("A text.",), "first")
    assert (first.expected.answer, first.expected.checklist) == ("Me", ("a", "b"))
    assert first.expected.rubric == (Criterion(criterion="is polite"),)
    assert first.metadata["vars.tone"] == "dry"
    assert [check["type"] for check in first.metadata["assert"]][-1] == "javascript"
    assert second.input == "cats"


def test_of_several_vars_that_may_be_asked_one_is_named_by_its_place(write):
    path = write("tests.yaml", "- vars: {topic: cats, tone: sad}\n")

    assert "'vars.topic', 'vars.tone'" in only_problem(path).message
    (case,) = read_cases(path, fields={"input": "vars.topic"})
    assert (case.input, case.metadata) == ("cats", {"vars.tone": "sad"})


def test_deepeval_goldens_keep_the_arguments_of_their_tools():
    golden = {
        "input": "q",
        "actual_output": None,
        "expected_output": "a",
        "context": ["c"],
        "expected_tools": [{"name": "search", "input_parameters": {"n": 1}}],
    }

    case = case_of(golden)

    assert (case.expected.answer, case.passages) == ("a", ("c",))
    assert case.expected.tools == (ToolCall(name="search", arguments={"n": 1}),)


def test_deepeval_test_cases_may_be_written_in_camel_case():
    case = case_of({"input": "q", "expectedOutput": "a", "retrievalContext": ["c"]})

    assert (case.expected.answer, case.passages) == ("a", ("c",))


def test_ragas_messages_know_who_speaks():
    said = [{"type": "human", "content": "Hi"}, {"type": "ai", "content": "Yes?"}, {"type": "human", "content": "Bye"}]

    case = case_of(
        {"user_input": said, "reference": "Goodbye", "reference_tool_calls": [{"name": "f", "args": {"n": 1}}]}
    )

    assert [turn.role for turn in case.history] == ["user", "assistant"]
    assert (case.input, case.expected.answer, case.expected.tools) == (
        "Bye",
        "Goodbye",
        (ToolCall(name="f", arguments={"n": 1}),),
    )


def test_the_answer_of_a_system_is_not_taken_for_the_ground_truths_of_ragas():
    case = case_of({"question": "q", "answer": "the system's", "ground_truths": ["a", "b"]})

    assert case.expected.references == ("a", "b")
    assert case.metadata == {"answer": "the system's"}


@pytest.mark.parametrize(
    "row",
    [
        {"inputs": {"question": "q"}, "outputs": {"answer": "a"}},
        {"inputs": {"question": "q"}, "outputs": {"output": "a"}},
        {"inputs": {"topic": "q"}, "expectations": {"expected_response": "a"}},
        {"input": {"question": "q"}, "expected": {"answer": "a"}},
        {"item": {"question": "q", "answer": "a"}},
        {"input": "q", "expectedOutput": "a"},
        {"input": [{"role": "user", "content": "q"}], "ideal": "a"},
        {"input": "q", "target": "a"},
        {"conversations": [{"from": "human", "value": "q"}, {"from": "gpt", "value": "a"}]},
        {"turns": [{"from": "human", "value": "q"}, {"from": "gpt", "value": "a"}]},
        {"instruction": "q", "input": "", "output": "a"},
        {"question": "q", "answers": {"text": ["a", "a"], "answer_start": [1, 7]}},
        {"question": "q", "answers": [{"text": "a", "answer_start": 1}]},
        {"question": "q", "answers": ["a"]},
        {"Question": "q", "Ground Truth": "a"},
        {"QUESTION": "q", "ANSWER": "a"},
    ],
)
def test_question_and_answer_are_found_under_the_names_of_other_tools(row):
    case = case_of(row)

    assert (case.input, case.expected.references, case.metadata) == ("q", ("a",), {})


@pytest.mark.parametrize(
    "held", [{"outputs": {"answer": "the system's"}}, {"item": {"id": "7", "answer": "x"}}, {"inputs": {"id": "7"}}]
)
def test_a_row_that_asks_by_itself_keeps_its_boxes_closed(held):
    case = case_of({"id": "1", "question": "q", **held})

    assert (case.id, case.expected.answer, case.metadata) == ("1", None, held)


def test_facts_that_must_be_there_are_a_checklist():
    assert case_of({"inputs": {"query": "q"}, "expectations": {"expected_facts": ["x", "y"]}}).expected.checklist == (
        "x",
        "y",
    )


def test_an_instruction_is_asked_with_its_input():
    case = case_of({"instruction": "Translate.", "input": "Hallo", "output": "Hello"})

    assert (case.input, case.expected.answer) == ("Translate.\n\nHallo", "Hello")


def test_the_output_of_a_named_model_is_no_good_answer():
    case = case_of({"instruction": "Name a fruit.", "output": "Apple", "generator": "some-model"})

    assert case.expected.answer is None
    assert case.metadata == {"output": "Apple", "generator": "some-model"}


def test_what_fields_names_is_not_joined_or_opened():
    row = {"instruction": "Translate.", "input": "Hallo", "output": "Hello"}

    assert case_of(row, fields={"input": "input"}).input == "Hallo"
    assert case_of(row, fields={"input": "input"}).metadata["instruction"] == "Translate."


def test_nested_squad_is_one_case_for_each_question(write):
    questions = [
        {"id": "1", "question": "Who?", "answers": [{"text": "A", "answer_start": 0}], "is_impossible": False},
        {"id": "2", "question": "Why?", "answers": [], "is_impossible": True},
    ]
    document = {"version": "2.0", "data": [{"title": "T", "paragraphs": [{"context": "A text.", "qas": questions}]}]}

    first, second = read_cases(write("squad.json", json.dumps(document)))

    assert (first.id, first.input, first.expected.answer, first.passages) == ("1", "Who?", "A", ("A text.",))
    assert (second.expected.answer, second.metadata["is_impossible"]) == (None, True)


def test_broken_squad_is_told_and_not_lost(write):
    path = write("squad.json", json.dumps([{"paragraphs": [{"context": "no questions"}]}]))

    assert "no field holds the input" in only_problem(path).message


def test_other_peoples_answers_are_metadata():
    answers = {"gpt": {"answer_string": "x"}}

    assert case_of({"question": "q", "answers": answers}).metadata == {"answers": answers}


def test_calls_of_an_assistant_after_the_last_question_are_the_expected_tools():
    call = {"id": "1", "type": "function", "function": {"name": "find", "arguments": '{"n": 1}'}}
    said = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": "5"},
        {"role": "assistant", "content": "a"},
    ]

    case = case_of({"messages": said})

    assert case.expected.tools == (ToolCall(name="find", arguments={"n": 1}),)
    assert case.expected.answer == "a"


def test_any_place_in_an_object_can_be_named_and_the_likely_one_is_offered(write):
    body = {"model": "m", "messages": [{"role": "user", "content": "q"}]}
    path = write("batch.jsonl", json.dumps({"custom_id": "r-1", "body": body}))

    assert "fields: {input: body.messages}" in only_problem(path).message
    (case,) = read_cases(path, fields={"input": "body.messages", "id": "custom_id"})
    assert (case.id, case.input) == ("r-1", "q")


def test_a_column_that_may_hold_answers_or_replies_is_asked_about(write):
    found = validate_file(write("a.jsonl", '{"prompt": "q", "completion": "a"}\n'))

    assert found.ok
    assert found.notes[-1].endswith(
        "If 'completion' holds good answers, and no system's replies: fields: {expected.answer: completion}."
    )


def test_a_number_is_a_good_answer_and_read_as_its_digits():
    assert case_of({"question": "2+2?", "answer": 4}).expected.answer == "4"


def test_ids_that_repeat_are_told_with_the_mapping_that_leaves_them_out(write):
    path = write("a.csv", "case_id,question\n1,a\n1,b\n")

    assert "leave the ids out, with fields: {metadata.case_id: case_id}." in only_problem(path).message
    assert validate_file(path, fields={"metadata.case_id": "case_id"}).cases == 2


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("semicolons.csv", "\ufeffid;question;answer\r\n1;Was, bitte?;ja\r\n;;\r\n".encode()),
        ("tabs.csv", "id\tquestion\tanswer\r\n1\tWas, bitte?\tja\r\n".encode("utf-16")),
        ("bars.csv", b"id|question|answer\n1|Was, bitte?|ja\n"),
        ("told.csv", b'sep=;\r\n"id";"question";"answer"\r\n1;Was, bitte?;ja\r\n'),
        ("unmarked.csv", 'id,question,answer\n1,"Was, bitte?",ja\n'.encode("utf-16-le")),
        ("headings.csv", b'ID,Question,Answer\n1,"Was, bitte?",ja\n,,\n\n'),
        ("old.csv", b"id;question;answer\r1;Was, bitte?;ja\r"),
    ],
)
def test_tables_of_spreadsheets_load_as_they_are(write, name, content):
    (case,) = read_cases(write(name, content))

    assert (case.id, case.input, case.expected.answer) == ("1", "Was, bitte?", "ja")


def test_a_mistake_in_a_semicolon_file_keeps_its_line(write):
    path = write("a.csv", "sep=;\nid;input\n1;a\n2;b;c\n")

    problem = only_problem(path)

    told = 'the row has 3 cells, the header has 2. Put a text with a semicolon in quotes ("…").'
    assert (problem.line, problem.message) == (4, told)


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("id,input\n1,Well, yes?\n", 'Put a text with a comma in quotes ("…").'),
        ('"id, old",input\n1,Well, yes?\n', 'Put a text with a comma in quotes ("…").'),
        (
            "id,input,note\n1,Well?\n",
            "Leave no comma out where a cell is empty, and put a text of several lines in quotes",
        ),
        (
            "id;input, short;note\n1;Well?;x\n",
            "Is the semicolon meant to part them? Then put column names with a comma in",
        ),
    ],
)
def test_a_row_that_does_not_fit_says_what_to_do(write, text, remedy):
    assert any(remedy in each.message for each in problems_of(write("a.csv", text)))


@pytest.mark.parametrize("content", ['[{"input": "a"},\n{"input": "b"}]', '[\n{"input": "a"}\n]', '{\n"input": "a"\n}'])
def test_json_named_jsonl_is_told_once_what_it_is(write, content):
    problem = only_problem(write("a.jsonl", content))

    assert problem.line == 1
    assert problem.code == "invalid_json"


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.jsonl", '{"input": "a"},\n', "a comma after the last bracket"),
        ("a.jsonl", '{"input": "a",}\n', "a comma before a closing bracket"),
        ("a.json", '[{"input": "a"},\n]', "a comma before a closing bracket"),
        ("a.json", '[{"inp', "Unterminated string starting at column 3"),
        ("a.yaml", "input: a\n---\ninput: b\n", "expected a single document in the stream, but found another document"),
    ],
)
def test_a_slip_of_the_pen_is_named(write, name, content, reason):
    assert reason in only_problem(write(name, content)).message


def test_a_key_that_is_not_text_is_told():
    with pytest.raises(Exception, match=r"row 1 has the key 1, which is not text\."):
        list(cases_from([{1: "x", "input": "q"}]))
