"""Stated confidence over a run: what counts as right, what is left out, what the report holds."""

import random

import pytest
from made_results import made_case, made_report, made_result

from cortex_eval.analysis import confidence_of
from cortex_eval.core import Expected, Reply

ASKED = Expected(intent="SEARCH")


def row(number, confidence, *, intent=None, passed=True, category=None, **fields):
    scores = {"accuracy": 0.9 if passed else 0.1} | ({} if intent is None else {"intent": intent})
    reply = Reply(text="Here.", confidence=confidence, total_time_ms=100.0)
    case = made_case(number, expected=ASKED, category=category)
    return made_result(
        case, number, scores=scores, reply=reply, state=fields.pop("state", "passed" if passed else "failed"), **fields
    )


def test_right_is_the_intent_where_one_is_expected_and_the_pass_elsewhere():
    rows = [row(0, 0.9, intent=1.0, passed=False), row(1, 0.9, intent=0.0), row(2, 0.8), row(3, 0.8, passed=False)]

    found = made_report(rows).confidence

    assert found.judged_by == {"intent": 2, "passed": 2}
    assert (found.n, found.accuracy, found.mean) == (4, 0.5, pytest.approx(0.85))
    assert found.brier == pytest.approx((0.01 + 0.81 + 0.04 + 0.64) / 4)
    assert found.ece == pytest.approx(0.35)


def test_partial_credit_for_a_near_intent_is_not_right():
    assert confidence_of([row(0, 0.6, intent=0.5)]).accuracy == 0


def test_what_is_no_probability_or_was_not_judged_is_left_out_and_counted():
    rows = [row(0, 0.9), row(1, 87.0), row(2, -0.1), row(3, 0.5, state="error_judge")]

    found = made_report(rows).confidence

    assert (found.n, found.left_out) == (1, 3)


def test_a_run_without_confidences_has_no_such_figures():
    report = made_report([made_result(made_case(0), 0)])

    assert report.confidence is None
    assert "confidence" not in report.to_dict()
    assert "classification" not in report.to_dict()


def test_an_overconfident_run_shows_more_than_chance_and_an_honest_one_does_not():
    generator = random.Random(1)
    stated = [0.5 + generator.random() / 2 for _ in range(300)]
    honest = [row(i, value, passed=generator.random() < value) for i, value in enumerate(stated)]
    boaster = [row(i, value, passed=generator.random() < value - 0.25) for i, value in enumerate(stated)]

    fair, vain = made_report(honest).confidence, made_report(boaster).confidence

    assert fair.ece <= fair.ece_if_calibrated_high
    assert vain.ece > 2 * vain.ece_if_calibrated_high
    assert len(vain.bins) == 10
    assert all(each.accuracy_low <= each.accuracy <= each.accuracy_high for each in vain.bins)
    assert sum(each.n for each in vain.bins) == vain.n == 300


def test_the_same_results_give_the_same_figures_and_the_seed_is_stored():
    rows = [row(i, i / 40, passed=i % 3 > 0) for i in range(40)]

    document = made_report(rows).to_dict()["confidence"]

    assert document == made_report(rows).to_dict()["confidence"]
    assert (document["seed"], document["simulations"]) == (0, 1000)
    assert document["bins"][0].keys() >= {"low", "high", "n", "mean_confidence", "accuracy", "accuracy_low"}


def test_confidence_spreads_by_category():
    rows = [row(i, i / 10, category="billing") for i in range(10)]
    rows += [row(10 + i, 1.0, category="triage", passed=False) for i in range(5)]
    rows.append(row(20, 0.5))

    categories = made_report(rows).confidence.categories

    assert list(categories) == ["billing", "triage", "(none)"]
    assert categories["billing"].histogram == (1,) * 10
    assert categories["billing"].p50 == pytest.approx(0.45)
    assert (categories["triage"].mean, categories["triage"].accuracy) == (1, 0)
    assert categories["triage"].histogram[-1] == 5
