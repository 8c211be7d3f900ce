import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cortex_eval.core import InputError, Score
from cortex_eval.scoring import PlannedScorer, Verdict, check_passing_threshold, check_weights, state_of
from cortex_eval.scoring.combine import combine
from cortex_eval.scoring.text import Exact


def planned(name: str, weight: float = 1.0, **fields) -> PlannedScorer:
    return PlannedScorer(name=name, scorer=Exact(), kind="exact", weight=weight, **fields)


def scores(**values: float | None) -> dict[str, Score]:
    return {name: Score(name=name, value=value) for name, value in values.items()}


SEED = [planned("accuracy", 0.4), planned("relevance", 0.3), planned("safety", 0.2), planned("performance", 0.1)]


def test_the_overall_score_is_the_weighted_mean():
    verdict = combine(scores(accuracy=0.5, relevance=0.8, safety=1, performance=0), SEED, passing_threshold=0.7)

    assert verdict.overall == pytest.approx(0.64)
    assert verdict.passed is False
    assert "0.640 is below 0.7" in verdict.reason
    assert state_of(verdict) == "failed"


def test_a_score_at_the_threshold_passes_despite_rounding():
    verdict = combine(scores(accuracy=0.7, relevance=0.7, safety=0.7, performance=0.7), SEED, passing_threshold=0.7)

    assert verdict.passed is True
    assert state_of(verdict) == "passed"


def test_weights_of_scorers_that_do_not_apply_go_to_the_others():
    verdict = combine(scores(accuracy=None, relevance=0.5, safety=1), SEED, passing_threshold=0.7)

    assert verdict.overall == pytest.approx((0.3 * 0.5 + 0.2 * 1) / 0.5)


def test_a_weighted_scorer_without_an_answer_leaves_no_verdict():
    verdict = combine(scores(accuracy=1, safety=1), SEED, passing_threshold=0.7, failed={"relevance"})

    assert (verdict.overall, verdict.passed) == (None, None)
    assert "relevance gave no answer" in verdict.reason
    assert state_of(verdict, {"relevance"}) == "error_judge"


def test_an_unweighted_scorer_without_an_answer_takes_nothing_away():
    verdict = combine(scores(accuracy=1), [planned("accuracy"), planned("tone", 0)], failed={"tone"})

    assert verdict.passed is True
    assert state_of(verdict, {"tone"}) == "passed"


def test_a_critical_scorer_that_fails_fails_the_case():
    plan = [planned("accuracy", 0.9), planned("safety", 0.1, critical=True)]

    verdict = combine(scores(accuracy=1, safety=0), plan, passing_threshold=0.7)

    assert verdict.overall == pytest.approx(0.9)
    assert verdict.passed is False
    assert "safety is critical" in verdict.reason


def test_a_critical_scorer_counts_by_its_own_threshold_and_without_weight():
    strict = planned("safety", 0, critical=True, threshold=0.95)

    assert combine(scores(accuracy=1, safety=0.9), [planned("accuracy"), strict]).passed is False
    assert combine(scores(accuracy=1, safety=0.96), [planned("accuracy"), strict]).passed is True


def test_a_critical_scorer_without_an_answer_leaves_no_verdict_even_without_weight():
    plan = [planned("accuracy"), planned("safety", 0, critical=True)]

    assert combine(scores(accuracy=1), plan, failed={"safety"}).passed is None


def test_a_scorers_own_verdict_goes_before_its_threshold():
    plan = [planned("safety", 1, critical=True)]

    assert combine({"safety": Score(name="safety", value=1.0, passed=False)}, plan).passed is False


def test_when_nothing_applies_there_is_neither_a_pass_nor_a_failure():
    verdict = combine(scores(accuracy=None), SEED, passing_threshold=0.7)

    assert verdict == Verdict(None, None, "No scorer applies.")
    assert state_of(verdict) == "passed"


def test_critical_scorers_alone_can_pass_a_case():
    verdict = combine(scores(safety=1.0), [planned("safety", 0, critical=True)])

    assert (verdict.overall, verdict.passed) == (None, True)


@example([(5e-324, 0.5)])
@given(st.lists(st.tuples(st.floats(0, 10), st.floats(0, 1)), min_size=1, max_size=6))
def test_the_overall_score_lies_between_the_lowest_and_the_highest(pairs):
    plan = [planned(str(i), weight) for i, (weight, _) in enumerate(pairs)]
    values = [value for weight, value in pairs if weight > 0]

    overall = combine({str(i): Score(name=str(i), value=value) for i, (_, value) in enumerate(pairs)}, plan).overall

    if overall is None:
        assert not values
    else:
        assert min(values) - 1e-9 <= overall <= max(values) + 1e-9


def test_weights_that_sum_to_one_stay_and_others_are_scaled_and_said():
    kept = check_weights({"a": 0.4, "b": 0.6})
    scaled = check_weights({"a": 1, "b": 3})

    assert kept == ({"a": 0.4, "b": 0.6}, "")
    assert scaled.weights == {"a": 0.25, "b": 0.75}
    assert "sum to 4" in scaled.note


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"a": -0.1, "b": 1.1}, "metric_weights.a must be a number of 0 or more, not -0.1"),
        ({"a": 0, "b": 0}, "sum to 0"),
        ({}, "sum to 0"),
        ({"a": math.nan}, "not nan"),
        ({"a": math.inf}, "not inf"),
        ({"a": "1"}, "not '1'"),
        ({"a": True}, "not True"),
    ],
)
def test_weights_that_are_none_are_an_input_error(weights, message):
    with pytest.raises(InputError, match=message):
        check_weights(weights)


@pytest.mark.parametrize("value", [1.5, -0.1, "70%", math.nan, True, None])
def test_a_passing_threshold_out_of_range_is_told_with_the_range(value):
    with pytest.raises(InputError, match="from 0 to 1"):
        check_passing_threshold(value)


def test_a_passing_threshold_in_range_is_kept():
    assert check_passing_threshold(1) == 1.0
