"""`fields` may call a field by any of its names, and a wrong one is told with what is meant."""

import pytest

from cortex_eval.core import InputError, Reply, ToolCall
from cortex_eval.datasets import cases_from, check_fields, read_cases
from cortex_eval.scoring import scorers


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("expected.answer", "expected.answer"),
        ("answer", "expected.answer"),
        ("ground_truth", "expected.answer"),
        ("Ground Truth", "expected.answer"),
        ("expected", "expected"),
        ("contexts", "passages"),
        ("retrieved_contexts", "passages"),
        ("question", "input"),
        ("expected_tools", "expected.tools"),
        ("metadata.answer", "metadata.answer"),
    ],
)
def test_a_field_is_known_by_all_its_names(name, field):
    assert check_fields({name: "antwort"}) == {field: "antwort"}


@pytest.mark.parametrize("name", ["expected.answer", "answer", "ground_truth", "expected", "reference"])
def test_what_is_named_is_read_under_every_name_of_the_answer(write, name):
    (case,) = read_cases(write("fragen.csv", "frage,antwort\nWo?,Hier\n"), fields={"input": "frage", name: "antwort"})

    assert (case.input, case.expected.answer) == ("Wo?", "Hier")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"anser": "antwort"}, "fields has no 'anser'. Did you mean 'answer'?"),
        ({"Ground-Thruth": "antwort"}, "fields has no 'Ground-Thruth'. Did you mean 'ground_truth'?"),
        ({"frage": "input"}, "The field comes first, then its column: fields: {input: frage}."),
        ({"zzz": "antwort"}, "fields has no 'zzz'. Known: attachments,"),
        ({"answer": "a", "ground_truth": "b"}, "fields names expected.answer twice, as 'a' and as 'b'."),
    ],
)
def test_a_field_that_is_not_there_is_told_with_what_is_meant(fields, said):
    with pytest.raises(InputError) as error:
        check_fields(fields)
    assert said in str(error.value)


CALLS_A_TOOL = Reply(text="Done.", tool_calls=(ToolCall(name="delete_patient"),))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.jsonl", '{"input": "Hello", "expected": {"tools": []}}\n'),
        ("a.jsonl", '{"input": "Hello", "expected_tools": []}\n'),
        ("a.jsonl", '{"turns": [{"input": "Hello", "expected": {"tools": []}}]}\n'),
        ("a.csv", "input,expected_tools\nHello,[]\n"),
        ("a.yaml", "- {input: Hello, expected.tools: []}\n"),
    ],
)
async def test_an_empty_list_of_tools_means_that_none_may_be_called(write, name, text):
    (case,) = read_cases(write(name, text))
    tool = scorers.build("tool", {})

    called, kept_still = await tool.score(case, CALLS_A_TOOL), await tool.score(case, Reply(text="Hello!"))

    assert (called.value, kept_still.value) == (0.0, 1.0)
    assert called.reason == "No tool was to be called; called: delete_patient."


@pytest.mark.parametrize(
    "expected", [{"tool": "search", "tools": []}, {"tools": [], "tool": "search"}], ids=["before", "after"]
)
def test_a_tool_that_is_named_counts_beside_an_empty_list(expected):
    (case,) = cases_from([{"input": "Hello", "expected": expected}])

    assert (case.expected.tool, case.expected.tools, case.metadata) == ("search", (), {})


def test_a_cell_without_anything_says_nothing_of_tools(write):
    (case,) = read_cases(write("a.csv", "input,expected_tools\nHello,\n"))

    assert case.expected.tool is None
