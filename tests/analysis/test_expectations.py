"""What was hoped for beside what came: met, not met, or too few cases to tell."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_results import made_case, made_report, made_result, simple_results

from cortex_eval.analysis import Expectations, GateSettings
from cortex_eval.analysis.expectations import Limit, Reached, outcome_of
from cortex_eval.core import Expected, Reply


def agent(count, right, *, tier=None, start=0, **reply):
    """Results of which so many have the right intent."""
    return [
        made_result(
            made_case(start + i, tier=tier, expected=Expected(intent="A")),
            start + i,
            scores={"intent": float(i < right)},
            reply=Reply(text="x", total_time_ms=10.0, **reply),
        )
        for i in range(count)
    ]


def found(report, name, tier=None):
    return [each for each in report.expectations if (each.name, each.tier) == (name, tier)]


@pytest.mark.parametrize(
    ("right", "outcome"), [(300, "met"), (290, "met"), (255, "cannot tell"), (200, "not met"), (0, "not met")]
)
def test_an_expectation_is_met_only_when_the_whole_interval_is_on_its_side(right, outcome):
    (each,) = found(made_report(agent(300, right)), "intent_accuracy")

    assert (each.limit, each.comparison, each.outcome) == (0.85, ">=", outcome)
    assert (each.scored, each.total) == (300, 300)
    assert each.low <= each.value <= each.high


def test_ten_right_out_of_ten_are_too_few_for_ninety_five_percent():
    (each,) = found(made_report(agent(10, 10, tier=1)), "intent_accuracy", "1")

    assert (each.value, each.limit, each.outcome) == (1.0, 0.95, "cannot tell")


def test_each_tier_has_its_own_targets_and_only_for_what_was_scored():
    rows = [*agent(200, 200, tier=1), *agent(200, 120, tier=5, start=200)]

    report = made_report(rows)

    assert [(each.name, each.tier, each.limit) for each in report.expectations] == [
        ("intent_accuracy", None, 0.85),
        ("intent_accuracy", "1", 0.95),
        ("intent_accuracy", "5", 0.75),
    ]
    assert [each.outcome for each in report.expectations] == ["not met", "met", "not met"]


def test_a_run_without_such_figures_has_no_expectations():
    assert made_report(simple_results(5)).expectations == ()


def test_a_target_error_counts_as_a_miss_and_widens_nothing_away():
    lost = [
        made_result(made_case(100 + i, expected=Expected(intent="A")), 100 + i, state="error_target", scores={})
        for i in range(50)
    ]

    report = made_report([*agent(50, 50), *lost])

    (each,) = found(report, "intent_accuracy")
    assert each.value == report.overall_intent_accuracy == 0.5
    assert (each.scored, each.outcome) == (100, "not met")


def test_the_language_model_is_used_less_often_than_both_limits_allow():
    rows = [*agent(20, 20, llm_invoked=True, parse_time_ms=600.0)]
    rows += agent(80, 80, start=20, llm_invoked=False, parse_time_ms=600.0)

    report = made_report(rows)

    assert [(each.comparison, each.limit, each.outcome) for each in found(report, "llm_usage_rate")] == [
        ("<=", 0.15, "cannot tell"),
        ("<", 0.20, "cannot tell"),
    ]
    (parse,) = found(report, "parse_time_ms")
    assert (parse.value, parse.unit, parse.comparison, parse.limit) == (600, "ms", "<=", 500)


def test_what_a_project_hopes_for_replaces_the_defaults_and_is_told_even_when_it_was_not_scored():
    hoped = Expectations(overall={"accuracy": 0.5, "max_latency_ms": 1000, "tool_accuracy": 0.9}, tiers={})

    report = made_report([*agent(5, 5, tier=1), *simple_results(300)], gate=GateSettings(expectations=hoped))

    assert [(each.name, each.comparison, each.value is None, each.outcome) for each in report.expectations] == [
        ("accuracy", ">=", False, "met"),
        ("latency_ms", "<=", False, "met"),
        ("tool_accuracy", ">=", True, "cannot tell"),
    ]


def test_expectations_never_change_the_verdict():
    hoped = Expectations(overall={"intent_accuracy": 1.0})

    assert made_report(agent(300, 250), gate=GateSettings(expectations=hoped), passing_threshold=0.5).passed


@given(low=st.floats(0, 1), width=st.floats(0, 1), limit=st.floats(0, 1), sign=st.sampled_from([">=", ">", "<=", "<"]))
def test_more_room_never_turns_met_into_not_met(low, width, limit, sign):
    asked = Limit("x", sign, limit)
    point = outcome_of(Reached(low, low, low, 1, 1), asked)
    wide = outcome_of(Reached(low, low - width, low + width, 1, 1), asked)

    assert point != "cannot tell"
    assert wide in (point, "cannot tell")


def timed(times, *, tier=None):
    return [
        made_result(made_case(i, tier=tier), i, scores={"exact": 1.0}, reply=Reply(text="x", total_time_ms=float(each)))
        for i, each in enumerate(times)
    ]


@pytest.mark.parametrize(("limit", "outcome"), [(980, "met"), (950, "cannot tell"), (900, "not met")])
@pytest.mark.parametrize("name", ["max_p95_latency_ms", "p95_latency_ms"])
def test_slow_replies_have_an_interval_between_two_of_them(name, limit, outcome):
    gate = GateSettings(expectations=Expectations(overall={name: limit}, tiers={"1": {name: limit}}))

    report = made_report(timed(range(1, 1001), tier=1), gate=gate)

    for each in report.expectations:
        assert (each.name, each.comparison, each.unit) == ("p95_latency_ms", "<=", "ms")
        assert each.value == report.latency_ms.p95
        # Ranks 936.5 and 963.5 of 1000, rounded up: 950 less and more 1.96 times the root of 1000 * 0.95 * 0.05.
        assert (each.low, each.high) == (937, 964)
        assert (each.scored, each.total, each.outcome) == (1000, 1000, outcome)
    assert [each.tier for each in report.expectations] == [None, "1"]


def test_of_few_replies_nobody_knows_how_slow_the_slowest_are_but_they_can_be_too_slow():
    gate = GateSettings(expectations=Expectations(overall={"max_p99_latency_ms": 100.0}, tiers={}))

    (slow,), (fast,) = (made_report(timed([each] * 20), gate=gate).expectations for each in (500, 10))

    assert (slow.value, slow.low, slow.high, slow.outcome) == (500, 500, None, "not met")
    assert (fast.value, fast.low, fast.high, fast.outcome) == (10, 10, None, "cannot tell")


def test_a_time_that_is_hoped_for_is_an_upper_limit_as_in_the_gate():
    gate = GateSettings(expectations=Expectations(overall={"latency_ms": 100.0, "pass_rate": 0.5}, tiers={}))

    found = made_report(timed([10, 11] * 20), gate=gate).expectations

    assert [(each.name, each.comparison, each.outcome) for each in found] == [
        ("latency_ms", "<=", "met"),
        ("pass_rate", ">=", "met"),
    ]
