"""Project files that are not right: exit code 4, the place, what to do, and not one call."""

from __future__ import annotations

import json
import re

import pytest

pytestmark = pytest.mark.slow  # each starts the command; together they take long


def refused(project, *arguments, **environment):
    """What the command says about a project that it must not run."""
    done = project.cortex("run", *arguments, **environment)
    assert (done.code, done.out) == (4, "")
    assert getattr(project, "bot", None) is None or project.bot.ledger == []
    return done.err


def with_line(project, line, after):
    """The project file with a line more, and the number of that line."""
    lines = (project.root / "cortex.yaml").read_text().splitlines()
    at = next(number for number, each in enumerate(lines) if after in each) + 1
    project.write("cortex.yaml", "\n".join([*lines[:at], line, *lines[at:]]))
    return at + 1


def test_CF01_a_missing_file_is_named_with_its_full_path(folder):
    message = refused(folder)

    assert message.count("\n") == 1
    assert str(folder.root / "cortex.yaml") in message
    assert "cortex init" in message
    assert str(folder.root / "gone.yaml") in refused(folder, "--config", "gone.yaml")


def test_CF01_a_folder_is_not_a_project_file(folder):
    message = refused(folder, "--config", ".")

    assert message == f"Error: {folder.root} is a folder, not a project file. Name the file with --config.\n"


@pytest.mark.parametrize(
    ("text", "place", "what"),
    [
        ("services:\n  a: [1, 2\n", "cortex.yaml:3: column 1", "expected ',' or ']'"),
        ("services:\n\ta: 1\n", "cortex.yaml:2: column 1", "a tab is used to indent; use blanks"),
        ("a: 1\nb: 'open\n", "cortex.yaml:3: column 1", "end of stream"),
        ("- a\n- b\n", "cortex.yaml:1", "keys and values"),
    ],
    ids=["bracket", "tab", "quote", "list"],
)
def test_CF02_what_is_not_yaml_is_told_with_line_and_column(folder, text, place, what):
    folder.write("cortex.yaml", text)

    message = refused(folder)

    assert f"Error: {place}" in message
    assert what in message


def test_CF03_an_unknown_key_offers_the_nearest(clinic):
    project = clinic()
    line = with_line(project, '"max_concurent_tests": 3,', '"execution"')

    message = refused(project)

    assert message == (
        f"Error: cortex.yaml:{line}: there is no key 'execution.max_concurent_tests'. "
        "Did you mean 'max_concurrent_tests'?\n"
    )


@pytest.mark.parametrize(
    ("blocks", "said"),
    [
        (
            {"execution": {"retry_count": "two"}},
            "execution.retry_count: must be a whole number from 0 to 100, not 'two'.",
        ),
        (
            {"service": {"timeout_seconds": [10]}},
            "services.chatbot.timeout_seconds: must be a number from 0.001 to 3600, not [10].",
        ),
        ({"service": {"test_user_id": 7}}, "services.chatbot.test_user_id: must be text, not 7."),
        ({"plugins": "clinic.py"}, "plugins: must be a list, not 'clinic.py'."),
        ({"dashboard": {"include_charts": "yes"}}, "dashboard.include_charts: must be true or false, not 'yes'."),
        ({"gate": {"mode": "soft"}}, "gate.mode: must be 'statistical' or 'strict', not 'soft'."),
        ({"database": 5}, "database: must be text or keys and values, not 5."),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_CF04_a_wrong_type_is_told_with_key_type_and_value(clinic, blocks, said):
    message = refused(clinic(**blocks))

    assert re.match(r"Error: cortex\.yaml:\d+: ", message)
    assert said in message
    assert message.count("\n") == 1


def test_CF05_an_unset_variable_is_named(clinic):
    message = refused(clinic(service={"api_key": "${CORTEX_API_KEY}"}))

    assert re.search(r"cortex\.yaml:\d+: the environment variable CORTEX_API_KEY is not set", message)


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ({"exact": -1}, "metrics.metric_weights.exact: must be a number from 0"),
        ({"exact": 0, "contains": 0}, "metric_weights sum to 0. At least one weight must be more than 0"),
        ({"exact": "much"}, "must be a number from 0"),
        ({"exakt": 1}, "Did you mean 'exact'?"),
    ],
)
def test_CF06_weights_that_cannot_be_are_refused(clinic, weights, said):
    assert said in refused(clinic(metrics={"metric_weights": weights}))


def test_CF06_weights_that_do_not_sum_to_one_are_normalised_and_it_says_so(clinic):
    project = clinic(
        metrics={"metric_weights": {"exact": 3, "contains": 1}},
        suites={"clinic": {"dataset": "cases.jsonl", "scorers": ["exact", "contains"]}},
    )

    done = project.cortex("run", "--json")

    assert done.code == 0
    assert "metric_weights sum to 4; they are used as exact 0.75, contains 0.25." in done.err
    assert done.json["run"]["manifest"]["scorers"]["exact"]["weight"] == 0.75


@pytest.mark.parametrize("threshold", ["1.5", '"70%"', ".nan", "true"])
def test_CF07_a_passing_threshold_outside_of_its_range_is_refused(clinic, threshold):
    project = clinic(metrics={"passing_threshold": "HERE"})
    text = (project.root / "cortex.yaml").read_text()
    project.write("cortex.yaml", text.replace('"HERE"', threshold))

    assert "metrics.passing_threshold: must be a number from 0 to 1, not " in refused(project)


@pytest.mark.parametrize(
    ("block", "key", "value", "wanted"),
    [
        ("service", "timeout_seconds", 0, "a number from 0.001 to 3600, not 0."),
        ("service", "timeout_seconds", -1, "a number from 0.001 to 3600, not -1."),
        ("service", "timeout_seconds", ".inf", "a number from 0.001 to 3600, not inf."),
        ("execution", "max_concurrent_tests", 0, "a whole number from 1 to 10000, not 0."),
        ("execution", "max_concurrent_tests", 100000, "a whole number from 1 to 10000, not 100000."),
        ("execution", "max_concurrent_tests", 2.5, "a whole number from 1 to 10000, not 2.5."),
    ],
)
def test_CF08_limits_outside_of_their_range_are_refused(clinic, block, key, value, wanted):
    project = clinic(**{block: {key: value}})
    text = (project.root / "cortex.yaml").read_text()
    project.write("cortex.yaml", text.replace('".inf"', ".inf"))

    assert f"{key}: must be {wanted}" in refused(project)


def test_CF09_a_pattern_that_does_not_compile_is_refused_at_load_with_its_position(clinic):
    project = clinic(
        suites={"clinic": {"dataset": "cases.jsonl", "scorers": [{"phone": {"kind": "regex", "pattern": "a(b"}}]}}
    )

    message = refused(project)

    line = next(n for n, each in enumerate((project.root / "cortex.yaml").read_text().splitlines(), 1) if "a(b" in each)
    assert message.startswith(
        f"Error: cortex.yaml:{line}: suites.clinic.scorers.0.phone.pattern 'a(b' does not compile"
    )
    assert "at position" in message


def test_CF10_a_schema_that_refers_outside_is_refused_at_load_and_nothing_is_fetched(clinic):
    schema = {"properties": {"a": {"$ref": "http://127.0.0.1:1/x"}}}
    scorers = [{"form": {"kind": "json_schema", "schema": schema}}]

    message = refused(clinic(suites={"clinic": {"dataset": "cases.jsonl", "scorers": scorers}}))

    assert "suites.clinic.scorers.0.form.schema" in message
    assert "'http://127.0.0.1:1/x' leads outside, and nothing is fetched" in message


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("file:///etc/passwd", "must begin with http:// or https://"),
        ("clinic.example/chat", "must begin with http:// or https://"),
        ("https://", "name a host"),
        ("https://somebody:hunter22@clinic.example/chat", "must not hold a user name or password"),
    ],
)
def test_CF11_an_address_that_is_not_plain_http_is_refused(clinic, url, said):
    project = clinic(service={"api_url": url})

    message = refused(project)

    line = next(n for n, each in enumerate((project.root / "cortex.yaml").read_text().splitlines(), 1) if url in each)
    assert message.startswith(f"Error: cortex.yaml:{line}: services.chatbot.api_url ")
    assert said in message
    assert "hunter22" not in message
    assert "hunter22" not in project.cortex("config", "show").out


def test_every_mistake_is_told_at_once_in_the_order_of_the_file(folder):
    folder.write(
        "cortex.yaml",
        """
services:
  chatbot: {api_url: "ftp://x", timeout_seconds: 0, api_kee: k}
  other: 5
execution: {retry_cont: 1}
metrics:
  exact: {wieght: 1}
  passing_threshold: 2
suites:
  clinic: {dataset: {pth: cases.jsonl}, scorers: [exact, nonsense]}
gate: {mode: lenient, thresholds: {pass_rate: high}}
""",
    )

    message = refused(folder, "clinic")

    lines = message.splitlines()
    assert lines[0] == f"Error: {len(lines) - 1} mistakes; nothing was done."
    numbers = [int(re.match(r"  cortex\.yaml:(\d+): ", line)[1]) for line in lines[1:]]
    assert numbers == sorted(numbers)
    assert set(numbers) == {3, 4, 5, 8, 10, 11}
    for said in ("'timeout_seconds'", "'retry_count'", "'path'", "'statistical' or 'strict'"):
        assert said.strip("'") in message


def test_the_store_is_not_touched_by_a_project_that_is_not_valid(clinic):
    project = clinic(gate={"modus": 1})

    refused(project)

    assert not (project.root / "reports").exists()
    assert json.loads(project.cortex("runs", "list", "--json").out) == []
