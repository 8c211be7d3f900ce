"""Slices: what fails more often than the rest is found, and chance is not taken for it."""

from __future__ import annotations

import random
from typing import Any

import pytest
from made_results import made_case, made_report, made_result

from cortex_eval.analysis import Report
from cortex_eval.analysis.patterns_slices import fisher_greater
from cortex_eval.core import Case, Expected, Result, Turn


def played(number: int, *, is_good: bool, texts: tuple[str, ...] = ("Where is my bill?",), **fields: Any) -> Result:
    state, value = ("passed", 1.0) if is_good else ("failed", 0.0)
    return made_result(made_case(number, texts, **fields), number, state=state, scores={"accuracy": value})


def report_of(rate: dict[str, float], *, cases: int = 400, seed: int = 1) -> Report:
    """Cases by category, each of which fails with its own probability."""
    draw, names = random.Random(seed), list(rate)
    rows = []
    for number in range(cases):
        category = names[number % len(names)]
        rows.append(played(number, is_good=draw.random() >= rate[category], category=category))
    return made_report(rows)


def test_the_exact_test_gives_fishers_own_example():
    # Fisher, The Design of Experiments (1935), ch. II: eight cups, four of them with milk first.
    assert fisher_greater(4, 4, 4, 8) == pytest.approx(1 / 70)
    assert fisher_greater(3, 4, 4, 8) == pytest.approx(17 / 70)
    assert fisher_greater(0, 4, 4, 8) == pytest.approx(1.0)


def test_a_category_that_fails_more_often_is_found_with_its_interval():
    (found,) = report_of({"a": 0.1, "b": 0.1, "c": 0.5, "d": 0.1}).slices

    assert found.facts == (("category", "c"),)
    assert found.cases == 100
    assert found.low < found.rate < found.high
    assert found.rate > 3 * found.rest_rate
    assert found.p_value < 0.001
    assert found.gain == pytest.approx((found.failed - found.cases * found.rest_rate) / 400)


@pytest.mark.slow
def test_chance_alone_is_rarely_a_finding():
    rate = dict.fromkeys("abcdefgh", 0.2)

    false = sum(bool(report_of(rate, cases=160, seed=seed).slices) for seed in range(100))

    assert false <= 9, "5 % at most, and what 100 draws add to that"


def test_fewer_than_five_cases_are_no_slice():
    rows = [played(i, is_good=i >= 4, category="rare" if i < 4 else "other") for i in range(100)]

    assert made_report(rows).slices == ()


def test_two_facts_together_are_told_when_each_alone_says_less():
    rows = []
    for number in range(400):
        category, language = "ab"[number % 2], ("en", "hi")[number // 2 % 2]
        is_both = (category, language) == ("b", "hi")
        rows.append(played(number, is_good=number // 4 % 10 != 0 and not is_both, category=category, language=language))

    first = made_report(rows).slices[0]

    assert set(first.facts) == {("category", "b"), ("language", "hi")}
    assert (first.cases, first.rate) == (100, 1.0)


def test_facts_that_hold_for_the_same_cases_are_one_slice():
    rows = [
        played(i, is_good=i >= 30 or i % 3 == 0, category="x" if i < 30 else "y", tags=("z",) if i < 30 else ())
        for i in range(200)
    ]

    (found,) = made_report(rows).slices

    assert found.same_as == ("tag z",)


def test_a_language_that_fails_more_often_is_a_pattern_too():
    rows = [
        played(i, is_good=i % 2 == 0 if i < 60 else i % 20 != 0, language="hi" if i < 60 else "en") for i in range(200)
    ]

    found = [each for each in made_report(rows).patterns if each.type == "language_gap"]

    assert [each.title for each in found] == ["Questions in Hindi (hi) fail more often"]
    assert found[0].count == 30
    assert found[0].gain == pytest.approx((30 - 60 * 7 / 140) / 200)


def test_long_questions_that_fail_more_often_are_a_pattern_too():
    rows = [played(i, is_good=i >= 20, texts=("word " * (60 if i < 20 else 5) + "end",)) for i in range(100)]

    (found,) = [each for each in made_report(rows).patterns if each.type == "question_length"]

    assert (found.title, found.priority) == ("Questions of 31–100 words fail more often", "low")


def test_a_question_with_quotes_in_it_is_measured_whole():
    text = 'She said "call me" and hung up, ' + "again and again " * 15
    rows = [played(i, is_good=i >= 20, texts=(text if i < 20 else "Short one",)) for i in range(100)]

    assert made_report(rows).slices[0].facts == (("length", "31–100 words"),)


def test_expected_entities_and_intents_are_looked_at():
    rows = []
    for number in range(100):
        entities = {"software": "STAR"} if number < 30 else {"organism": "yeast"}
        expected = Expected(intent="EXPLAIN" if number % 2 else "DEBUG", entities=entities)
        rows.append(played(number, is_good=number >= 30, expected=expected))

    first = made_report(rows).slices[0]

    assert first.facts == (("entity", "software"),)


def test_a_turn_that_fails_more_often_is_found_among_turns():
    rows = []
    for number in range(60):
        turns = tuple(Turn(text=f"Turn {turn}") for turn in range(3))
        case = Case(id=f"talk_{number:03}", turns=turns)
        for turn in range(3):
            is_good = not (turn == 2 and number % 2)
            state = "passed" if is_good else "failed"
            rows.append(made_result(case, number, turn=turn, state=state, scores={"accuracy": float(is_good)}))

    (found,) = [each for each in made_report(rows).slices if each.unit == "turns"]

    assert (found.facts, found.cases, found.failed) == ((("turn", "3"),), 60, 30)


def test_cases_that_hang_together_count_for_fewer():
    def report(*, clusters: bool) -> Report:
        """Two of ten conversations fail as a whole, both in one category."""
        return made_report(
            played(
                number,
                is_good=number >= 20,
                category="x" if number < 40 else "y",
                cluster_id=f"talk {number // 10}" if clusters else None,
            )
            for number in range(100)
        )

    assert [each.title for each in report(clusters=False).slices] == ["category x"]
    assert report(clusters=True).slices == ()
