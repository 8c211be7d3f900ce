"""promptfoo: checks in columns of a CSV, and configurations that are more than a dataset."""

import json

import pytest
from found_problems import only_problem

from cortex_eval.core import Criterion
from cortex_eval.datasets import read_cases, validate_file

CONFIGURATION = "prompts: ['Answer: {{question}}', file://p.txt]\nproviders: [openai:chat:gpt-4o, 'anthropic:x']\n"


@pytest.mark.parametrize(
    ("tests", "advice"),
    [
        ("tests: file://tests.csv\n", "Check the file of its tests, file://tests.csv;"),
        ("tests:\n- file://tests.csv\n- file://more.csv\n", "Check the file of its tests, file://tests.csv;"),
        ("scenarios:\n- tests: [{vars: {question: x}}]\n", "Put its tests into a file of their own;"),
        ("", "Put its tests into a file of their own;"),
    ],
)
def test_a_configuration_without_its_tests_is_one_mistake_that_says_what_it_is(write, tests, advice):
    problem = only_problem(write("promptfooconfig.yaml", CONFIGURATION + tests))

    assert problem.code == "not_a_dataset"
    assert problem.message == (
        f"this is a promptfoo configuration, no dataset. {advice} docs/migrate.md says what becomes of the rest."
    )


def test_a_configuration_in_json_is_known_too(write):
    document = {"prompts": ["a"], "targets": ["b"], "tests": ["file://a.csv"]}

    assert only_problem(write("promptfooconfig.json", json.dumps(document))).code == "not_a_dataset"


def test_of_a_configuration_with_tests_only_these_are_read_which_is_noted(write):
    path = write("promptfooconfig.yaml", CONFIGURATION + "tests: [{vars: {question: Who?, answer: Me}}]\n")

    found = validate_file(path)

    assert (found.ok, found.cases) == (True, 1)
    assert [each for each in found.notes if "only its tests are read" in each]


def test_categories_called_prompts_are_no_configuration(write):
    (case,) = read_cases(write("cases.yaml", "prompts:\n- input: Who?\n"))

    assert (case.input, case.category) == ("Who?", "prompts")


def test_columns_of_checks_say_what_a_good_reply_holds_and_are_kept_as_checks(write):
    path = write(
        "tests.csv",
        "question,__expected,__expected2,__expected3\n"
        'Who?,contains: me,"llm-rubric: is polite","icontains-any: a, b"\n'
        "Where?,Note: here,javascript: output.length < 9,\n"
        "How?,similar(0.8): So,is-json,not-contains: never\n"
        "Why?,,,\n",
    )

    who, where, how, why = read_cases(path)

    assert (who.expected.checklist, who.expected.rubric) == (("me",), (Criterion(criterion="is polite"),))
    assert who.metadata["assert"][2] == {"type": "icontains-any", "value": ["a", "b"]}
    assert where.expected.answer == "Note: here"
    assert where.metadata["assert"][1] == {"type": "javascript", "value": "output.length < 9"}
    assert how.expected.answer == "So"
    assert how.metadata["assert"] == [
        {"type": "similar", "value": "So", "threshold": 0.8},
        {"type": "is-json"},
        {"type": "not-contains", "value": "never"},
    ]
    assert why.metadata == {}
    assert validate_file(path).notes == ()


def test_a_column_of_checks_that_fields_names_is_what_fields_says(write):
    path = write("tests.csv", "question,__expected\nWho?,contains: me\n")

    (case,) = read_cases(path, fields={"answer": "__expected"})

    assert (case.expected.answer, case.metadata) == ("contains: me", {})
