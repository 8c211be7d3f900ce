"""Calibration against published worked examples, and the laws that it keeps."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_eval.stats import brier, calibrated_ece, calibration_error, equal_mass_edges, reliability_bins

PAIRS = st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=80)


def test_the_brier_score_of_the_scikit_learn_example():
    # scikit-learn, sklearn.metrics.brier_score_loss, Examples: 0.0375
    assert brier([0.1, 0.9, 0.8, 0.3], [False, True, True, False]) == pytest.approx(0.0375)


def test_the_brier_score_of_a_forecast_of_rain():
    # Wikipedia, Brier score: 70 % and it rains is (0.70 - 1)² = 0.09; 30 % and it rains is 0.49; 50 % is 0.25 anyway.
    assert brier([0.7], [True]) == pytest.approx(0.09)
    assert brier([0.3], [True]) == pytest.approx(0.49)
    assert brier([0.5], [True]) == brier([0.5], [False]) == 0.25


def test_the_calibration_error_of_the_torchmetrics_example():
    # torchmetrics, BinaryCalibrationError, Example: n_bins=2 of equal width, norm='l1' gives 0.2900
    bins = reliability_bins([0.25, 0.25, 0.55, 0.75, 0.75], [False, False, True, True, True], [0.5, 1.0])

    assert calibration_error(bins) == pytest.approx(0.29)


def test_the_reliability_table_of_the_scikit_learn_example():
    # scikit-learn, sklearn.calibration.calibration_curve, Examples: prob_true [0, 0.5, 1], prob_pred [0.2, 0.525, 0.85]
    stated = [0.1, 0.2, 0.3, 0.4, 0.65, 0.7, 0.8, 0.9, 1.0]
    right = [False, False, False, False, True, True, True, True, True]

    bins = reliability_bins(stated, right, [1 / 3, 2 / 3, 1])

    assert [each.accuracy for each in bins] == [0, 0.5, 1]
    assert [each.mean_confidence for each in bins] == pytest.approx([0.2, 0.525, 0.85])


def test_bins_of_equal_mass_hold_as_many_values_each_and_ties_stay_together():
    assert equal_mass_edges([0.1, 0.2, 0.3, 0.4], 2) == [0.2, 0.4]
    assert equal_mass_edges([0.9] * 50, 10) == [0.9]
    stated = [0.5] * 30 + [0.6 + i / 1000 for i in range(70)]
    sizes = [each.n for each in reliability_bins(stated, [True] * 100, equal_mass_edges(stated))]
    assert sizes == [30, 10, 10, 10, 10, 10, 10, 10]


@pytest.mark.parametrize(("n", "bins"), [(1, 1), (19, 1), (20, 2), (99, 9), (100, 10), (5000, 10)])
def test_few_values_get_few_bins(n, bins):
    assert len(equal_mass_edges([i / n for i in range(n)])) == bins


def test_nothing_has_no_calibration():
    assert brier([], []) is None
    assert calibration_error([]) is None
    assert calibrated_ece([], []) is None
    assert equal_mass_edges([]) == []


@given(PAIRS)
def test_the_figures_stay_in_range_and_every_value_is_in_one_bin(pairs):
    stated, right = [each[0] for each in pairs], [each[1] for each in pairs]
    bins = reliability_bins(stated, right, equal_mass_edges(stated))

    assert sum(each.n for each in bins) == len(pairs)
    assert 0 <= calibration_error(bins) <= 1
    assert 0 <= brier(stated, right) <= 1
    # The gap of the whole is never more than that of the parts.
    assert calibration_error(bins) >= abs(sum(stated) - sum(right)) / len(pairs) - 1e-9


@given(PAIRS, st.randoms(use_true_random=False))
def test_the_order_of_results_does_not_matter(pairs, random):
    mixed = random.sample(pairs, len(pairs))

    def figures(rows):
        stated, right = [each[0] for each in rows], [each[1] for each in rows]
        edges = equal_mass_edges(stated)
        return calibration_error(reliability_bins(stated, right, edges)), calibrated_ece(stated, edges, simulations=20)

    one, other = figures(pairs), figures(mixed)
    assert one[0] == pytest.approx(other[0], abs=1e-12)
    assert one[1] == pytest.approx(other[1])


def test_a_single_bin_of_fair_coins_shows_what_the_binomial_says():
    # Mean absolute deviation of Binomial(100, 1/2) over 100 (de Moivre): C(100, 50) · 50 / 2^100 / 100 = 0.0398
    exact = math.comb(100, 50) * 50 / 2**100 / 100

    shown = calibrated_ece([0.5] * 100, [0.5], simulations=1000)

    assert shown.mean == pytest.approx(exact, rel=0.08)
    assert shown.mean < shown.high < 0.12


def test_a_calibrated_system_is_within_what_is_shown_and_an_overconfident_one_is_not():
    generator = np.random.default_rng(7)
    stated = generator.uniform(0.5, 1, 400)
    edges = equal_mass_edges(list(stated))
    by_chance = calibrated_ece(list(stated), edges)

    def shown(true):
        return calibration_error(reliability_bins(list(stated), list(generator.random(400) < true), edges))

    honest = [shown(stated) for _ in range(40)]
    assert sum(each <= by_chance.high for each in honest) >= 34  # 19 of 20 on average
    assert np.mean(honest) == pytest.approx(by_chance.mean, rel=0.15)
    assert shown(stated - 0.2) > by_chance.high


def test_more_values_leave_less_to_chance_and_the_seed_decides_the_rest():
    small, large = ([i / n for i in range(n)] for n in (100, 10_000))
    few, many = (calibrated_ece(each, equal_mass_edges(each)) for each in (small, large))

    assert few.mean > 5 * many.mean
    assert calibrated_ece(small, [1.0], seed=3) == calibrated_ece(small, [1.0], seed=3)
    assert calibrated_ece(small, [1.0], seed=3) != calibrated_ece(small, [1.0], seed=4)
