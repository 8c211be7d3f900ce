"""Scorers that never applied or failed do not vanish: the report says so, and why."""

from made_results import made_case, made_report, made_result, made_run, simple_results

from cortex_eval.analysis import Report
from cortex_eval.core import CaseCheck, Expected, Secret

NO_ANSWER = {"value": None, "reason": "The case has no expected answer."}
RAISED = {"error": {"kind": "raised", "message": "The scorer 'raises' raised TypeError: no\n len()."}}


def _report(rows, **planned):
    scorers = {name: {"weight": weight, "critical": False} for name, weight in planned.items()}
    return made_report(rows, run=made_run(len({row.case_id for row in rows}), manifest={"scorers": scorers}))


def _rows(count, **scores):
    return [made_result(made_case(i), i, scores=scores) for i in range(count)]


def test_a_scorer_with_weight_that_never_applied_is_told_with_its_usual_reason():
    rows = _rows(12, accuracy=NO_ANSWER, relevance=0.9)
    rows[0] = made_result(made_case(0), 0, scores={"accuracy": {"value": None, "reason": "rare"}, "relevance": 0.9})
    report = _report(rows, accuracy=0.5, relevance=0.5)
    assert "accuracy" not in report.metrics
    assert (report.unscored["accuracy"].total, report.unscored["accuracy"].errors) == (12, 0)
    assert report.notes == (
        "accuracy applied to none of the 12 cases: The case has no expected answer. Its weight went to the others.",
    )
    document = report.to_dict()
    assert "accuracy" not in document["metrics"]
    assert document["unscored"]["accuracy"]["reason"] == "The case has no expected answer."


def test_nothing_took_over_the_weight_when_nothing_else_was_scored():
    (note,) = _report(_rows(1, accuracy=NO_ANSWER), accuracy=1.0).notes
    assert note == "accuracy applied to none of the 1 case: The case has no expected answer."


def test_a_scorer_without_weight_that_never_applied_is_left_out():
    report = _report(_rows(3, tool=NO_ANSWER, accuracy=0.9), tool=0, accuracy=1.0)
    assert (dict(report.unscored), report.notes) == ({}, ())


def test_a_scorer_that_weighs_nothing_because_it_was_forgotten_is_told_when_it_never_applied():
    scorers = {"tool": {"weight": 0.0, "critical": False}, "accuracy": {"weight": 1.0, "critical": False}}
    run = made_run(3, manifest={"scorers": scorers, "unweighted": ["tool"]})
    report = made_report(_rows(3, tool=NO_ANSWER, accuracy=0.9), run=run)
    assert report.unscored["tool"].total == 3
    assert report.notes == ("tool applied to none of the 3 cases: The case has no expected answer.",)


def test_one_answer_is_enough_to_be_a_metric():
    rows = [*_rows(2, accuracy=NO_ANSWER, relevance=0.9), made_result(made_case(2), 2)]
    report = _report(rows, accuracy=0.5, relevance=0.5)
    assert (report.metrics["accuracy"].scored, dict(report.unscored), report.notes) == (1, {}, ())


def test_a_scorer_that_always_failed_is_told_even_without_weight():
    report = _report(_rows(12, raises=RAISED, accuracy=0.9), raises=0, accuracy=1.0)
    assert (report.unscored["raises"].total, report.unscored["raises"].errors) == (12, 12)
    assert report.notes == (
        "raises gave no answer on 12 of 12 results: The scorer 'raises' raised TypeError: no len().",
    )


def test_a_scorer_that_failed_now_and_then_is_told_with_its_first_error():
    rows = [*simple_results(3), made_result(made_case(3), 3, scores={"accuracy": RAISED}, state="error_judge")]
    report = made_report(rows)
    assert report.metrics["accuracy"].errors == 1
    assert report.notes[0].startswith("accuracy gave no answer on 1 of 4 results: The scorer 'raises' raised")


def test_turns_and_repeats_are_counted_as_they_are_in_the_metrics():
    case = made_case(0, ("one", "two"))
    rows = [
        made_result(case, 0, turn=turn, repeat=repeat, scores={"accuracy": NO_ANSWER, "raises": RAISED, "words": 1.0})
        for repeat in (0, 1)
        for turn in (0, 1)
    ]
    report = _report(rows, accuracy=0.5, words=0.5)
    assert report.metrics["words"].total == 2
    assert report.unscored["accuracy"].total == 2
    assert report.notes[0].startswith("accuracy applied to none of the 2 turns")
    assert report.notes[1].startswith("raises gave no answer on 2 of 2 turns")


def test_categories_are_told_together():
    rows = [made_result(made_case(i, category="ab"[i % 2]), i, scores={"accuracy": NO_ANSWER}) for i in range(6)]
    assert "none of the 6 cases" in _report(rows, accuracy=1.0).notes[0]


def test_reasons_that_differ_by_case_do_not_fill_the_report():
    rows = [
        made_result(made_case(i), i, scores={"accuracy": {"value": None, "reason": f"{i} " + "x" * 900}})
        for i in range(60)
    ]
    (note,) = _report(rows, accuracy=1.0).notes
    assert len(note) < 400


def test_half_a_secret_is_not_left_by_the_cut():
    secret = Secret("hunter2-hunter2-hunter2")
    long = "x" * 290 + " " + secret.reveal()
    rows = _rows(2, raises={"error": {"kind": "raised", "message": long}}, accuracy=0.9)
    assert "hunter2" not in _report(rows, accuracy=1.0).notes[0]


def test_the_first_message_of_each_kind_of_error_is_kept():
    rows = [made_result(made_case(i), i, state="error_target", scores={}) for i in range(3)]
    report = made_report(rows)
    assert report.error_messages == {"error_target: timeout": "no answer in 10 s"}


def test_checks_of_cases_that_no_scorer_looks_at_are_told():
    checked = Expected(checks=(CaseCheck(type="contains", value="112"),))
    rows = [made_result(made_case(i, expected=checked if i < 2 else Expected()), i) for i in range(3)]
    told = "2 cases have checks of their own, and no scorer looks at them: add checks to the scorers of chat."

    def report_with(kind: str) -> Report:
        return made_report(rows, run=made_run(3, suite="chat", manifest={"scorers": {"accuracy": {"kind": kind}}}))

    assert told in report_with("accuracy").notes
    assert told not in report_with("checks").notes


def test_a_report_is_told_in_one_line():
    rows = [made_result(made_case(0), 0), made_result(made_case(1), 1, scores={"accuracy": 0.1}, state="failed")]
    assert repr(made_report(rows)) == (
        "Report(below: 1 of 2 cases passed, overall_score 0.50 [0.00, 1.00], run 7f3a; "
        "not passed: case_0001 'Where is my bill?')"
    )
    lost = made_report([made_result(made_case(0), 0, state="error_target", scores={})])
    told = "Report(error: 0 of 1 case passed, 1 in error (timeout: no answer in 10 s), run 7f3a; not passed: case_0000 "
    assert str(lost).startswith(told)
