"""Checks of single cases: short and long forms, every format, and what is wrong with one told with its place."""

import json
import re
from pathlib import Path

import pytest
from found_problems import only_problem, problems_of

from cortex_eval.core import Case, CaseCheck, Expected, Turn
from cortex_eval.datasets import cases_from, read_cases, validate_cases, write_cases
from cortex_eval.datasets.checks import CHECK_TYPES
from cortex_eval.scoring.checks import LOOKS

SCORERS_PAGE = (Path(__file__).parents[2] / "docs" / "scorers.md").read_text("utf-8")


def checks_of(checks):
    (case,) = cases_from([{"input": "?", "expected": {"checks": checks}}])
    return case.expected.checks


def mistake_of(checks):
    (problem,) = validate_cases(cases_from([{"input": "?", "checks": checks}])).problems
    return problem.message


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ({"contains": "112"}, CaseCheck(type="contains", value="112")),
        ({"type": "contains", "value": 112}, CaseCheck(type="contains", value="112")),
        ({"not-icontains": "x"}, CaseCheck(type="not_contains", value="x")),
        ({"contains": "A", "case_sensitive": True}, CaseCheck(type="contains", value="A", case_sensitive=True)),
        ("is_json", CaseCheck(type="is_json")),
        ({"is_json": True}, CaseCheck(type="is_json")),
        ({"max_words": "80"}, CaseCheck(type="max_words", value=80)),
        ({"max_cost_usd": 0.01, "weight": 0}, CaseCheck(type="max_cost_usd", value=0.01, weight=0)),
        ({"equals": {"a": [1]}}, CaseCheck(type="equals", value={"a": [1]})),
        (
            {"similar": "yes", "threshold": 0.5, "weight": 2, "name": "agrees"},
            CaseCheck(type="similar", value=["yes"], threshold=0.5, weight=2, name="agrees"),
        ),
        (
            {"type": "levenshtein", "value": "abc", "threshold": 12},
            CaseCheck(type="levenshtein", value=["abc"], threshold=12),
        ),
    ],
)
def test_a_check_is_written_short_or_long(written, read):
    assert checks_of([written]) == (read,)


def test_several_types_in_one_object_are_several_checks():
    assert checks_of({"contains": "112", "max_words": 80}) == (
        CaseCheck(type="contains", value="112"),
        CaseCheck(type="max_words", value=80),
    )


@pytest.mark.parametrize(
    ("checks", "message"),
    [
        ([{"contain": "x"}], "checks[0]: there is no check 'contain'. Did you mean 'contains'?"),
        ([{"not_contain": "x"}], "checks[0]: there is no check 'not_contain'. Did you mean 'not_contains'?"),
        ([{"contains": "x"}, {"latency": 3}], "checks[1]: there is no check 'latency'. Did you mean 'max_latency_ms'?"),
        ([{"contains": "x", "wieght": 3}], "checks[0]: there is no check 'wieght'. Did you mean 'weight'?"),
        ([{"type": "regex", "valeu": "x"}], "checks[0] has 'valeu'. Did you mean 'value'?"),
        ([{"regex": "(a"}], "checks[0].regex '(a' does not compile: missing ) at position 2."),
        ([{"type": "contains"}], "checks[0].contains needs a text."),
        ([{"contains": ["a"]}], "checks[0].contains takes one text. For several: contains_all or contains_any."),
        ([{"contains_any": []}], "checks[0].contains_any needs a text or a list of texts, and the list is empty."),
        ([{"max_latency_ms": "fast"}], "checks[0].max_latency_ms needs a number, not 'fast'."),
        ([{"max_words": 2.5}], "checks[0].max_words needs a whole number, not 2.5."),
        (
            [{"is_json": False}],
            "checks[0].is_json takes no value, and has False. For the opposite: not_ before its name.",
        ),
        ([{"similar": "a", "threshold": 75}], "checks[0].threshold must be a number from 0 to 1, not 75."),
        (
            [{"max_words": 3, "threshold": 3}],
            "checks[0].threshold is for similar, edit_similarity and levenshtein; max_words takes a value only.",
        ),
        ([{"contains": "a", "weight": -1}], "checks[0].weight must be a number of 0 or more, not -1."),
        ([{"weight": 1}], f"checks[0] has no type. Known: {', '.join(sorted(CHECK_TYPES))}."),
        (7, 'checks must be a list of checks such as [{"contains": "112"}, {"max_words": 80}], not 7.'),
        ([7], "checks[0] must be a check such as {contains: text}, not 7."),
    ],
)
def test_what_is_wrong_with_a_check_is_told_with_the_nearest_name(checks, message):
    assert mistake_of(checks) == message


def test_a_pattern_is_not_asked_about_its_case():
    assert "begins with (?i)" in mistake_of([{"regex": "a", "case_sensitive": True}])


def test_a_schema_that_is_none_or_leads_outside_is_a_mistake():
    assert "this is not a JSON Schema" in mistake_of([{"json_schema": {"type": 5}}])
    assert "leads outside, and nothing is fetched" in mistake_of([{"json_schema": {"$ref": "http://x.example/s"}}])


def test_a_mistake_has_its_file_and_line(write):
    path = write("cases.yaml", "- input: a\n  checks: [{contains: x}]\n- input: b\n  checks: [{contians: x}]\n")

    problem = only_problem(path)

    assert (problem.file, problem.line, problem.field, problem.code) == (str(path), 3, "checks[0]", "wrong_check")


def test_a_turn_has_checks_of_its_own(write):
    rows = [
        {"turns": [{"input": "a", "checks": [{"contains": "x"}]}, {"input": "b", "expected": {"checks": [{"x": 1}]}}]}
    ]
    path = write("cases.json", json.dumps(rows))

    (problem,) = problems_of(path)

    assert problem.message.startswith("turns[1].expected.checks[0]: there is no check 'x'.")


def test_a_cell_holds_checks_as_json(write):
    path = write("cases.csv", 'input,checks\na,"[{""contains"": ""112""}, {""max_words"": 9}]"\nb,\n')

    first, second = read_cases(path)

    assert [check.type for check in first.expected.checks] == ["contains", "max_words"]
    assert second.expected.checks == ()


@pytest.mark.parametrize("ending", ["jsonl", "json", "yaml", "csv", "tsv", "parquet"])
def test_checks_are_written_and_read_back_in_every_format(tmp_path, ending):
    (case,) = cases_from(
        [{"input": "?", "checks": [{"json_schema": {"type": "object"}}, {"not_regex": "a,b"}, "is_json"]}]
    )
    path = tmp_path / f"cases.{ending}"

    write_cases([case], path)

    assert list(read_cases(path)) == [case]


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (CaseCheck(type="contain", value="a"), "there is no check 'contain'. Did you mean 'contains'?"),
        (CaseCheck(type="icontains", value="a"), "there is no check 'icontains'. Write 'contains'."),
        (CaseCheck(type="max_words", value="9"), "max_words needs a number, not '9'."),
        (CaseCheck(type="regex", value="("), "does not compile"),
    ],
)
def test_a_check_of_a_case_made_in_python_is_looked_at_too(check, message):
    case = Case(id="1", turns=(Turn(text="?", expected=Expected(checks=(check,))),))

    (problem,) = validate_cases(cases_from([case])).problems

    assert message in problem.message


def test_a_case_with_nothing_but_checks_says_what_is_expected():
    assert validate_cases(cases_from([{"input": "?", "checks": [{"contains": "a"}]}])).notes == ()


def test_every_type_that_is_read_is_looked_for_and_is_on_the_page():
    section = SCORERS_PAGE.partition("\n## checks\n")[2].partition("\n## ")[0]

    assert set(CHECK_TYPES) == {*LOOKS, "similar"}
    assert [name for name in CHECK_TYPES if f"`{name}`" not in section] == []


def test_the_example_on_the_page_loads(tmp_path):
    example = re.search(r"\n## checks\n.*?```yaml dataset\n(.*?)```", SCORERS_PAGE, re.DOTALL)
    assert example is not None
    path = tmp_path / "cases.yaml"
    path.write_text(example[1], "utf-8")

    cases = list(read_cases(path))

    assert [len(case.expected.checks) for case in cases] == [5, 2, 2]
    assert all(not case.metadata for case in cases)
