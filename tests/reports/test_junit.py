"""JUnit XML: valid, counted as the report counts, and harmless whatever a target said."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from made_results import made_case, made_report, made_result, made_run, simple_results

from cortex_eval.core import Failure, Secret
from cortex_eval.reports import junit_chunks, write_artifacts

SCHEMA = etree.XMLSchema(etree.parse(Path(__file__).with_name("junit.xsd")))


def read(report):
    root = etree.fromstring(b"".join(junit_chunks(report)))
    SCHEMA.assertValid(root)
    return root


def mixed_report():
    """Two categories in turn, with every outcome that a case can have."""
    scores = {"exact": {"value": 0.2, "passed": False, "reason": "said no\nand no again"}, "safety": {"value": 1.0}}
    results = []
    for number, state in enumerate(("passed", "failed", "error_target", "pending", "error_judge", "passed")):
        case = made_case(number, category="billing" if number % 2 else "visit", tier=2, language="en")
        failed = {"exact": {"error": {"kind": "no_verdict", "message": "not JSON"}}} if state == "error_judge" else {}
        own = scores if state == "failed" else failed if state.startswith("error") else {"exact": 0.9}
        results.append(made_result(case, number, state=state, scores=own))
    return made_report(results)


def test_there_is_a_suite_per_category_and_a_case_per_case():
    root = read(mixed_report())
    suites = root.findall("testsuite")
    assert [suite.get("name") for suite in suites] == ["billing", "visit"]
    assert [case.get("name") for case in suites[0]][1:] == ["case_0001", "case_0003", "case_0005"]
    assert suites[0].find("testcase").get("classname") == "triage.billing"
    assert suites[0].find("testcase").get("time") == "0.200"


def test_the_counts_are_those_of_the_report():
    report = mixed_report()
    root = read(report)
    assert root.get("tests") == str(report.totals.cases) == "6"
    assert root.get("failures") == str(report.totals.failed) == "1"
    assert root.get("errors") == str(report.totals.errors) == "2"
    for suite in root:
        cases = suite.findall("testcase")
        assert suite.get("tests") == str(len(cases))
        for element, attribute in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
            assert suite.get(attribute) == str(len([case for case in cases if case.find(element) is not None]))


def test_a_failure_names_the_scorers_that_failed_and_why():
    failure = read(mixed_report()).find(".//failure")
    assert failure.get("message") == "exact 0.20: said no and no again"
    assert failure.text == "exact 0.20: said no\nand no again"


def test_an_error_is_an_error_and_never_a_failure():
    errors = read(mixed_report()).findall(".//error")
    told = {error.get("type"): error.text for error in errors}
    assert told["error_target.timeout"] == "timeout: no answer in 10 s"
    assert told["error_judge.error_judge"] == "exact: no_verdict: not JSON"


def test_a_case_that_was_not_finished_is_skipped_and_not_passed():
    (skipped,) = read(mixed_report()).findall(".//skipped")
    assert "not finished" in skipped.get("message")


def test_suites_have_their_metrics_and_cases_their_scores_as_properties():
    root = read(mixed_report())
    of_suite = {each.get("name"): each.get("value") for each in root.find("testsuite/properties")}
    assert of_suite["cortex.run"] == "7f3a"
    assert of_suite["cortex.verdict"] == "error"
    assert of_suite["metric.pass_rate"].startswith("0.5 [")
    assert of_suite["metric.pass_rate"].endswith(" 2/3")
    of_case = {each.get("name"): each.get("value") for each in root.find("testsuite/testcase/properties")}
    assert of_case == {"tier": "2", "language": "en", "overall": "0.6", "score.exact": "0.2", "score.safety": "1"}


def test_a_conversation_with_repeats_is_one_case_that_shows_all_of_it():
    case = made_case(0, ("Hello?", "And now?"))
    rows = [
        made_result(
            case,
            turn=turn,
            repeat=repeat,
            state="failed" if (turn, repeat) == (1, 1) else "passed",
            scores={"exact": 0.1 if (turn, repeat) == (1, 1) else 0.9},
        )
        for repeat in range(2)
        for turn in range(2)
    ]
    report = made_report(rows, run=made_run(1, repeats=2))
    (suite,) = read(report)
    (found,) = suite.findall("testcase")
    assert suite.get("name") == "(none)"
    assert found.find("failure").text == "repeat 2, turn 2: exact 0.10"
    assert found.find("system-out").text.count("User: And now?") == 2
    assert "Repeat 2\nUser: Hello?" in found.find("system-out").text


def test_a_case_that_failed_by_its_overall_score_says_so():
    report = made_report([made_result(made_case(0), state="failed", scores={"exact": {"value": 0.5}})])
    assert read(report).find(".//failure").get("message") == "overall 0.50 is under the passing threshold"


@given(st.text(min_size=1, max_size=60))
def test_whatever_a_target_says_the_file_can_be_read(text):
    case = made_case(0, (text,), id=text, category=text)
    scores = {"exact": {"value": 0.0, "passed": False, "reason": text}}
    root = read(made_report([made_result(case, state="failed", scores=scores, text=text)]))
    assert len(root.findall(".//testcase")) == 1


def test_markup_is_text_and_secrets_are_masked():
    Secret("hunter2-hunter2")
    text = "]]></system-out><script>alert(1)</script> & \x00\x1b[31m hunter2-hunter2"
    error = Failure("status", "Bearer hunter2-hunter2 was refused")
    report = made_report(
        [
            made_result(made_case(0), 0, text=text),
            made_result(made_case(1), 1, state="error_target", scores={}, error=error),
        ]
    )
    written = b"".join(junit_chunks(report))
    said = etree.fromstring(written).find(".//system-out").text
    assert "<script>alert(1)</script> & \\x00\\x1b[31m ***" in said
    assert b"hunter2" not in written


def test_the_file_has_the_promised_name_and_belongs_to_its_run(tmp_path):
    (path,) = write_artifacts(made_report(simple_results(3)), tmp_path, ["junit"])
    (again,) = write_artifacts(made_report(simple_results(2)), tmp_path, ["junit"])
    assert path == again
    assert path.name == "junit_20261115_091400.xml"
    assert etree.parse(path).getroot().get("tests") == "2"


def test_a_run_without_results_is_a_valid_file():
    assert read(made_report([], run=made_run(3))).get("tests") == "0"


@pytest.mark.parametrize("count", [1, 700])
def test_every_case_is_there_once_in_the_order_of_the_dataset(count):
    results = [made_result(made_case(i, category="a" if i % 3 else "b"), i) for i in range(count)]
    root = read(made_report(results))
    for suite in root:
        names = [case.get("name") for case in suite.findall("testcase")]
        assert names == sorted(names)
    assert len({case.get("name") for case in root.iter("testcase")}) == count
