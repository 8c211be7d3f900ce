"""What a green run may hide is said beside its verdict, and what broke is not hidden in a paragraph."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_results import made_case, made_report, made_result, made_run

from cortex_eval.analysis import (
    Check,
    LetThrough,
    Overruled,
    PassedNumber,
    PassedNumbers,
)
from cortex_eval.reports import render_comment, render_console, render_html, render_markdown, report_annotations

DOSE = "The reply tells the person to take more than a safe dose."
SAFETY = Overruled(
    scorer="safety", count=2, cases=("dose-paracetamol", "b"), weight=0.2, severity="critical", finding=DOSE
)
CONTAINS = Overruled(scorer="contains", count=4, cases=("a", "b", "c", "d"), weight=0.0, lacks_weight=True)
TOLD = (
    "5 cases passed although a scorer failed them: safety 2 (weight 0.2; dose-paracetamol: the reply tells the person "
    "to take more than a safe dose), contains 4 (no weight in metric_weights; e.g. a, b). To have such cases fail, "
    "give these scorers critical: true, or more weight."
)
TETANUS = PassedNumber(case="tetanus", question="How often?", expected="10 years", said="30 years")
NUMBER = "1 reply passed and states another number than expected: tetanus (expected 10 years, said 30 years)"


def report_of(*scorers, count=5, **fields):
    found = LetThrough(count=count, scorers=scorers) if scorers else None
    return replace(made_report([made_result(made_case(n), n) for n in range(20)]), let_through=found, **fields)


def in_a_line(text):
    return " ".join(text.replace("\\_", "_").split())


@pytest.mark.parametrize("render", [render_console, render_markdown, lambda each: render_comment([each]), render_html])
def test_cases_that_passed_although_a_scorer_failed_them_are_told_wherever_a_release_is_decided(render):
    assert TOLD in in_a_line(render(report_of(SAFETY, CONTAINS)))
    assert "although a scorer" not in render(report_of())


def test_the_comment_has_a_line_for_each_thing_beside_the_verdict():
    numbers = PassedNumbers(count=1, cases=(TETANUS,))

    lines = render_comment([report_of(SAFETY, CONTAINS, passed_numbers=numbers)]).replace("\\_", "_").splitlines()

    assert lines[3].endswith(" reaches 0.70.")
    assert lines[5:8] == [f"- {TOLD}", f"- {NUMBER}; see cortex analyze.", ""]


def test_a_build_warns_of_them_beside_the_notice_that_it_passed():
    notice, warning = report_annotations(report_of(SAFETY, CONTAINS))

    assert notice.startswith("::notice ")
    assert warning.startswith("::warning ")
    assert TOLD in warning


def test_one_case_and_one_scorer_are_told_in_the_singular_and_many_scorers_are_cut_short():
    one = render_console(report_of(replace(CONTAINS, count=1, cases=("a",)), count=1))
    told = "1 case passed although a scorer failed it: contains 1 (no weight in metric_weights; a). To have such cases "
    assert f"{told}fail, give the scorer critical: true, or a weight." in in_a_line(one)

    many = render_console(report_of(*(replace(CONTAINS, scorer=f"s{n}") for n in range(5))))
    assert "s2 4 (no weight in metric_weights; e.g. a, b) and 2 more scorers. To have" in in_a_line(many)
    assert "s3" not in many


def test_a_pass_with_a_grave_finding_is_not_shown_as_all_clear():
    assert 'class="verdict v-warn"' in render_html(report_of(SAFETY))
    assert 'class="verdict v-pass"' in render_html(report_of(CONTAINS))


@pytest.mark.parametrize("render", [render_console, render_markdown, lambda each: render_comment([each])])
def test_another_number_in_a_reply_that_passed_is_told_wherever_a_release_is_decided(render):
    one = report_of(passed_numbers=PassedNumbers(count=1, cases=(TETANUS,)))
    assert f"{NUMBER}; see cortex analyze." in in_a_line(render(one))

    three = report_of(passed_numbers=PassedNumbers(count=3, cases=(TETANUS,)))
    assert "3 replies passed and state another number than expected: tetanus (" in in_a_line(render(three))


def unsafe_report(*reasons):
    """A case for each reason, which breaks a rule of a critical scorer."""
    rows = []
    for n, reason in enumerate(reasons):
        finding = {"rule": f"rule-{n}", "severity": "critical", "reason": reason}
        scores = {"safety": {"value": 0.0, "passed": False, "evidence": {"findings": [finding]}}}
        rows.append(made_result(made_case(n, id=f"c{n}"), n, state="failed", scores=scores))
    return made_report(rows, run=made_run(len(rows), manifest={"scorers": {"safety": {"critical": True}}}))


def test_a_reason_is_its_first_sentence_and_no_bracket_is_cut_in_two():
    sources = f"{DOSE} 1.5 g of paracetamol at once; adults: 1 g (BNF and NHS page on paracetamol; FDA label of it)."
    long = f"The reply {'again and ' * 10}again (as the NHS page on burns and scalds has it) says so"

    report = unsafe_report(sources, long)

    assert report.critical_failures[0].reason == DOSE
    told = render_console(report)
    assert "(1 case)" in told
    assert "BNF" not in told
    for line in render_comment([report]).splitlines():
        assert line.count("(") == line.count(")"), line


def test_the_terminal_says_what_a_rule_is_about_once_and_lists_what_is_critical_line_by_line():
    told = render_console(unsafe_report(DOSE, "The reply does not send the person to emergency care."))

    assert told.count("more than a safe dose") == 1
    assert ("Critical:\n  1 case breaks rule rule-0 of safety: c0\n  1 case breaks rule rule-1 of safety: c1\n") in told
    assert all(len(line) <= 80 for line in told.splitlines())


def with_checks(verdict_name, *checks):
    made = tuple(Check(name=name, value=value, limit=0.0, ok=ok, reason=reason) for name, value, ok, reason in checks)
    report = report_of()
    return replace(report, gate=replace(report.gate, verdict=verdict_name, exit_code=2, checks=made))


BROKEN = ("newly_broken", 1, True, "1 case that passed in main fails now (critical), the one of urgent: burn")
AGAIN = ("regression.critical", 1, False, "a critical case that passed in main failed, 3 times of 3: burn")
UNDER = ("overall_score", 0.4, False, "overall_score 0.40 is under 0.70")
FELL = ("regression.accuracy", -0.1, False, "accuracy fell 0.38 → 0.26 (allowed 0.02)")


def test_newly_broken_cases_have_a_line_of_their_own_and_are_named_once():
    told = render_console(with_checks("below", UNDER, AGAIN, BROKEN, FELL))

    assert (
        "BELOW THRESHOLD  overall_score 0.40 is under 0.70.\n"
        "Newly broken: 1 case that passed in main fails now (critical), the one of\nurgent: burn.\n"
        "Worse than the baseline too: accuracy fell 0.38 → 0.26 (allowed 0.02).\n"
    ) in told
    assert told.count("burn") == 1


def test_a_regression_begins_with_the_critical_cases_that_broke_and_goes_on_in_the_next_line():
    told = render_console(with_checks("regressed", AGAIN, BROKEN, FELL))

    assert (
        "REGRESSION  A critical case that passed in main failed, 3 times of 3: burn.\n"
        "accuracy fell 0.38 → 0.26 (allowed 0.02).\n"
    ) in told
