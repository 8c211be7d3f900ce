"""Weighted means: right by hand, and an interval that holds the truth as often as it says."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_eval.stats import estimate, kish_n, weighted_estimate, weighted_mean


def test_kish_n_of_a_worked_example():
    # Kish 1965, §11.7: n / (1 + cv²) of the weights. Weights 1, 1, 4: mean 2, variance 2, cv² 0.5, so 3 / 1.5 = 2.
    assert kish_n([1, 1, 4]) == pytest.approx(2.0)
    assert kish_n([3.0] * 7) == pytest.approx(7.0)
    assert kish_n([]) == 0


def test_each_stratum_counts_by_its_share_of_the_whole():
    # 90 easy cases, all right, and 10 hard ones, all wrong: two of each drawn. The sample says 0.5, the whole is 0.9.
    values, weights = [1.0, 1.0, 0.0, 0.0], [45.0, 45.0, 5.0, 5.0]

    found = weighted_estimate(values, weights)

    assert weighted_mean(values, weights) == pytest.approx(0.9)
    assert found.mean == pytest.approx(0.9)
    assert found.effective_n == pytest.approx(100**2 / (2 * 45**2 + 2 * 5**2))
    assert found.low < 0.9 < found.high


def test_equal_weights_of_a_rate_change_nothing():
    values = [1.0] * 7 + [0.0] * 3
    plain, weighted = estimate(values), weighted_estimate(values, [5.0] * 10)

    assert (weighted.mean, weighted.low, weighted.high) == pytest.approx((plain.mean, plain.low, plain.high))


def test_nothing_scored_is_undefined_and_equal_scores_are_not_certain():
    assert weighted_estimate([], []).mean is None
    certain = weighted_estimate([0.5, 0.5, 0.5], [1.0, 2.0, 3.0])
    assert certain.low < 0.5 < certain.high
    assert weighted_estimate([120.0], [2.0], bounded=False).low is None


def test_clusters_make_the_interval_wider():
    rng = random.Random(1)
    passes = [float(rng.random() < 0.7) for _ in range(40)]
    values = [value for value in passes for _ in range(5)]
    clusters = [number for number in range(40) for _ in range(5)]
    weights = [1.0 + number % 2 for number in clusters]

    apart, together = weighted_estimate(values, weights), weighted_estimate(values, weights, clusters)

    assert together.high - together.low > 1.5 * (apart.high - apart.low)


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0.1, 50), st.integers(0, 5)), min_size=1, max_size=40),
    st.booleans(),
)
def test_the_interval_holds_the_mean_and_stays_between_zero_and_one(rows, has_clusters):
    values, weights, clusters = (list(column) for column in zip(*rows, strict=True))
    found = weighted_estimate(values, weights, clusters if has_clusters else None)

    assert found.mean is not None
    assert 0 <= found.low <= found.mean + 1e-9
    assert found.mean - 1e-9 <= found.high <= 1
    assert 1 <= found.effective_n <= len(values) + 1e-9


@pytest.mark.parametrize("kind", ["rate", "score"])
def test_the_interval_holds_the_truth_about_as_often_as_it_says(kind):
    """Strata of 300, 60 and 40 cases with different truths, 25 drawn of each, 300 times."""
    rng = random.Random(7)
    strata = [(300, 0.9), (60, 0.6), (40, 0.3)]
    whole = [
        [float(rng.random() < p) if kind == "rate" else min(1.0, max(0.0, rng.gauss(p, 0.2))) for _ in range(n)]
        for n, p in strata
    ]
    truth = sum(map(sum, whole)) / 400
    held = 0
    for _ in range(300):
        drawn = [rng.sample(part, 25) for part in whole]
        weights = [len(part) / 25 for part in whole for _ in range(25)]
        found = weighted_estimate([value for part in drawn for value in part], weights)
        held += found.low <= truth <= found.high
    assert held / 300 >= 0.93


def test_few_weighted_scores_are_as_uncertain_as_few_unweighted_ones():
    values = [0.2, 0.9, 0.6]
    weighted, plain = weighted_estimate(values, [1.0, 1.0, 1.0]), estimate(values)
    assert (weighted.low, weighted.high) == (pytest.approx(plain.low, abs=0.05), pytest.approx(plain.high, abs=0.05))
