"""Replies that pass with another number than the expected answer: found in its place, and nowhere else."""

from __future__ import annotations

from typing import Any

import pytest
from made_results import made_case, made_report, made_result, made_run

from cortex_eval.analysis import Report
from cortex_eval.analysis.patterns_passed import PassedReplies, other_number
from cortex_eval.core import Expected, Reply, Result

DOSE, ASKED = "Take 500 mg of paracetamol every 6 hours.", "How much paracetamol may I take?"


def answered(reply: str, number: int = 0, *, expected: Expected | str = DOSE, **fields: Any) -> Result:
    expected = Expected(answer=expected) if isinstance(expected, str) else expected
    return made_result(made_case(number, (ASKED,), expected=expected), number, text=reply, **fields)


def report_on(*rows: Result, kind: str = "relevance") -> Report:
    return made_report(rows, run=made_run(len(rows), manifest={"scorers": {"accuracy": {"kind": kind}}}))


@pytest.mark.parametrize(
    ("expected", "reply", "found"),
    [
        (DOSE, "You may take 650 mg of paracetamol every 6 hours.", ("500 mg", "650 mg")),
        (DOSE, "You may take 500 g of paracetamol every 6 hours.", ("500 mg", "500 g")),
        (DOSE, "You may take 500 mg of paracetamol every four hours.", ("6 hours", "4 hours")),
        ("500 mg", "The usual dose is 650 mg.", ("500 mg", "650 mg")),
        ("Call 104 for help at night.", "Call 108 for help at night.", ("104", "108")),
        ("Call 1-800-273-8255 at once.", "Please call 1-800-273-8254.", ("1-800-273-8255", "1-800-273-8254")),
        ("The clinic opens at 9 am on weekdays.", "On weekdays the clinic opens at 10 am.", ("9 am", "10 am")),
        (
            "Symptoms begin 18 to 36 hours after the meal.",
            "Symptoms begin 18 to 72 hours after it.",
            ("36 hours", "72 hours"),
        ),
        ("५०० मिलीग्राम दवा खाने के बाद लें।", "६५० मिलीग्राम दवा खाने के बाद लें।", ("500 मिलीग्राम", "650 मिलीग्राम")),
    ],
)
def test_another_number_in_the_place_of_the_expected_one_is_found(expected, reply, found):
    assert other_number((expected,), reply, ASKED) == found


@pytest.mark.parametrize(
    ("expected", "reply"),
    [
        (DOSE, "Take one 500 mg tablet of paracetamol every six hours."),
        (DOSE, "Take 0.5 g of paracetamol every 360 minutes."),
        (DOSE, "Take paracetamol as your doctor says."),
        (DOSE, "1. Take 500 mg of paracetamol.\n2. Wait 6 hours.\n3. Take it again [3]."),
        (DOSE, "Take 500 mg of paracetamol every 6 hours, at most 4 g. Drink 2 litres of water."),
        (DOSE, "Take half a gram of paracetamol every 6 hours, 3 times."),
        ("Call 1-800-273-8255 at any time.", "You can call (800) 273 8255 at any time."),
        ("The clinic opens from 9 am to 5 pm.", "The clinic opens from 09:00 to 17:00."),
        ("The visit is on March 12, 2024.", "The visit is on 2024-03-12."),
        ("It lasts 7 to 10 days.", "It lasts about 8 days."),
        ("It lasts 1 to 5 days.", "It lasts about 24 hours."),
        ("Fever begins above 98.6 °F.", "Fever begins above 99 °F."),
        ("The vaccine is given in 2019 and later.", "Drink 8 glasses of water."),
    ],
)
def test_the_same_number_written_differently_or_another_thing_said_is_no_alarm(expected, reply):
    assert other_number((expected,), reply, ASKED) is None


def test_a_reply_that_agrees_with_one_of_several_answers_is_no_alarm():
    reply = "Take 650 mg of paracetamol every 6 hours."

    assert other_number((DOSE, reply), reply, ASKED) is None


def test_a_report_lists_cases_that_passed_with_another_number():
    wrong, right = "Take 650 mg of paracetamol every 6 hours.", "Every six hours take 500 mg of paracetamol."

    report = report_on(answered(wrong, 0), answered(right, 1), answered(wrong, 2, state="failed"), answered(wrong, 3))

    found = report.passed_numbers
    assert found is not None
    assert [each.case for each in found.cases] == ["case_0000", "case_0003"]
    assert report.to_dict()["passed_numbers"] == {
        "count": 2,
        "cases": tuple(
            {"case": case, "question": ASKED, "expected": "500 mg", "said": "650 mg"}
            for case in ("case_0000", "case_0003")
        ),
    }


def test_nothing_is_said_where_no_number_is_wrong_or_no_lenient_scorer_let_it_pass():
    wrong = answered("Take 650 mg of paracetamol every 6 hours.")

    assert report_on(answered("Rest.", expected="Rest at home.")).passed_numbers is None
    assert "passed_numbers" not in report_on(answered("Rest.", expected="Rest at home.")).to_dict()
    assert report_on(wrong, kind="regex").passed_numbers is None
    failed_by_it = {"accuracy": {"value": 0.1, "passed": False}, "safety": 1.0}
    row = answered("Take 650 mg of paracetamol every 6 hours.", scores=failed_by_it)
    assert report_on(row).passed_numbers is None


def test_fifty_are_kept_and_all_are_counted():
    report = report_on(*(answered("Take 650 mg of paracetamol every 6 hours.", i) for i in range(130)))

    assert report.passed_numbers is not None
    assert (report.passed_numbers.count, len(report.passed_numbers.cases)) == (130, 50)
    assert report.passed_numbers.cases[-1].case == "case_0049"


def test_a_turn_of_a_conversation_and_a_case_with_many_digits_behind_its_answer_are_looked_at():
    case = made_case(0, ("Hello?", ASKED), expected=Expected(answer=DOSE))
    rows = [
        made_result(case, turn=0, text=DOSE),
        made_result(case, turn=1, text="Take 650 mg of paracetamol every 6 hours."),
    ]
    tagged = made_case(1, expected=Expected(answer="In your inbox."), metadata={"page": "12"})

    report = report_on(*rows, made_result(tagged, 1, text="In your inbox, 3 days later."))

    assert report.passed_numbers is not None
    assert [(each.case, each.question) for each in report.passed_numbers.cases] == [("case_0000", ASKED)]


@pytest.mark.parametrize(
    ("expected", "reply", "is_looked_at"),
    [
        ("5 mg", "Take 5 mg.", False),
        ("5 mg", "5 mg", False),
        ("5 mg", "Take 5 mg, twice.", False),
        ("5 mg", "Take 15 mg.", True),
        ("5 mg", "Take 0.5 mg.", True),
        ("5 mg", "Take 5 mgs.", True),
        ("5", "Take 5.5 mg.", True),
        ("5", "At 5:30.", True),
        ('5 "mg"', 'Take 5 "mg".', False),
        ("5 mg", 'They say "take 6 mg", no more.', True),
        (Expected(answer="6 mg", answers=("5 mg",)), "Take 5 mg.", False),
        (Expected(answer="6 mg", answers=("7 mg",)), "Take 5 mg.", True),
    ],
)
def test_a_reply_with_the_expected_answer_in_it_as_it_is_is_not_looked_at(expected, reply, is_looked_at, monkeypatch):
    looked_at = []
    monkeypatch.setattr(PassedReplies, "_look_at", lambda _self, held: looked_at.append(held.reply))

    with_source = Reply(text=reply, contexts=("The leaflet", "Take 5 mg."))
    expected = Expected(answer=expected) if isinstance(expected, str) else expected
    report_on(made_result(made_case(0, (ASKED,), expected=expected), reply=with_source))

    assert looked_at == ([reply] if is_looked_at else [])
