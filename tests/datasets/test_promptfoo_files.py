"""promptfoo: checks in columns of a CSV, and configurations that are more than a dataset."""

import json

import pytest
from found_problems import only_problem

from cortex_eval.core import CaseCheck, Criterion
from cortex_eval.datasets import cases_from, read_cases, validate_cases, validate_file

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
    assert who.expected.checks == (
        CaseCheck(type="contains", value="me", case_sensitive=True),
        CaseCheck(type="contains_any", value=["a", "b"]),
    )
    assert where.expected.checks == (CaseCheck(type="equals", value="Note: here", case_sensitive=True),)
    assert how.expected.checks == (
        CaseCheck(type="similar", value=["So"], threshold=0.8),
        CaseCheck(type="is_json"),
        CaseCheck(type="not_contains", value="never", case_sensitive=True),
    )
    (note,) = validate_file(path).notes
    assert note == (
        "Checks of promptfoo that nothing here looks at: 1 × javascript. "
        "They are kept in metadata; see docs/migrate.md."
    )


def test_a_column_of_checks_that_fields_names_is_what_fields_says(write):
    path = write("tests.csv", "question,__expected\nWho?,contains: me\n")

    (case,) = read_cases(path, fields={"answer": "__expected"})

    assert (case.expected.answer, case.metadata) == ("contains: me", {})


def checks_of(*asserts, **variables):
    (case,) = cases_from([{"vars": {"question": "?", **variables}, "assert": list(asserts)}])
    return case.expected.checks


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ({"type": "equals", "value": "A"}, [CaseCheck(type="equals", value="A", case_sensitive=True)]),
        ({"type": "not-equals", "value": {"a": 1}}, [CaseCheck(type="not_equals", value={"a": 1})]),
        ({"type": "icontains", "value": "A"}, [CaseCheck(type="contains", value="A")]),
        ({"type": "not-icontains-all", "value": "a, b"}, [CaseCheck(type="not_contains_all", value=["a", "b"])]),
        ({"type": "starts-with", "value": "A"}, [CaseCheck(type="starts_with", value="A", case_sensitive=True)]),
        ({"type": "not-regex", "value": "a+", "weight": 2}, [CaseCheck(type="not_regex", value="a+", weight=2)]),
        ({"type": "is-json", "value": {"type": "object"}}, [CaseCheck(type="json_schema", value={"type": "object"})]),
        ({"type": "contains-json"}, [CaseCheck(type="contains_json")]),
        ({"type": "latency", "threshold": 500}, [CaseCheck(type="max_latency_ms", value=500)]),
        (
            {"type": "cost", "threshold": 0.02, "metric": "price"},
            [CaseCheck(type="max_cost_usd", value=0.02, name="price")],
        ),
        ({"type": "similar:cosine", "value": ["a", "b"]}, [CaseCheck(type="similar", value=["a", "b"])]),
        (
            {"type": "levenshtein", "value": "a", "threshold": 3},
            [CaseCheck(type="levenshtein", value=["a"], threshold=3)],
        ),
        ({"type": "word-count", "value": {"max": 9}}, [CaseCheck(type="max_words", value=9)]),
        (
            {"type": "word-count", "value": 9},
            [CaseCheck(type="min_words", value=9, weight=0.5), CaseCheck(type="max_words", value=9, weight=0.5)],
        ),
        ({"type": "not-word-count", "value": {"min": 9}}, [CaseCheck(type="not_min_words", value=9)]),
    ],
)
def test_an_assert_that_needs_neither_code_nor_a_model_is_a_check(theirs, ours):
    assert checks_of(theirs) == tuple(ours)


def test_a_value_is_filled_with_the_variables_of_its_test():
    template = {"type": "icontains-any", "value": ["{{ city }}", "{{size}} km"]}

    assert checks_of(template, city="Pune", size=4) == (CaseCheck(type="contains_any", value=["Pune", "4 km"]),)


def test_a_set_of_asserts_counts_one_by_one():
    inner = [{"type": "icontains", "value": "a"}, {"type": "is-json"}]

    assert [check.type for check in checks_of({"type": "assert-set", "assert": inner})] == ["contains", "is_json"]
    assert checks_of({"type": "assert-set", "assert": inner, "threshold": 0.5}) == ()


def test_asserts_that_nothing_looks_at_are_counted_once_for_the_dataset():
    asserts = [
        {"type": "javascript", "value": "output.length"},
        {"type": "contains", "value": "file://a.txt"},
        {"type": "contains", "value": "{{ unknown }}"},
        {"type": "contains", "value": "a", "transform": "output.toLowerCase()"},
        {"type": "not-word-count", "value": 9},
        {"type": "llm-rubric", "value": "polite"},
        {"type": "factuality", "value": "so"},
        {"type": "icontains", "value": "a"},
    ]

    found = validate_cases(cases_from([{"vars": {"question": str(i)}, "assert": asserts} for i in range(2)]))

    (note,) = found.notes
    assert "nothing here looks at: 2 × javascript, 6 × contains, 2 × not-word-count." in note


def test_an_assert_with_a_mistake_is_told_with_its_line(write):
    path = write("tests.yaml", "- vars: {question: a}\n- vars: {question: b}\n  assert: [{type: regex, value: '(a'}]\n")

    problem = only_problem(path)

    assert (problem.line, problem.code) == (2, "wrong_check")
    assert "'(a' does not compile" in problem.message


@pytest.mark.parametrize("ending", ["yaml", "json"])
def test_what_default_test_says_holds_for_every_test(write, ending):
    document = {
        "prompts": ["{{question}}"],
        "providers": ["x"],
        "defaultTest": {"vars": {"city": "Pune"}, "assert": [{"type": "icontains", "value": "{{city}}"}]},
        "tests": [
            {"vars": {"question": "a"}},
            {"vars": {"question": "b", "city": "Goa"}, "assert": [{"type": "is-json"}]},
        ],
    }

    first, second = read_cases(write(f"promptfooconfig.{ending}", json.dumps(document)))

    assert first.expected.checks == (CaseCheck(type="contains", value="Pune"),)
    assert second.expected.checks == (CaseCheck(type="contains", value="Goa"), CaseCheck(type="is_json"))
