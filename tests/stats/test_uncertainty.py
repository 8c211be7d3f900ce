"""Intervals against published worked examples, and the laws that they keep."""

import math
import random
import subprocess
import sys

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cortex_eval.stats import (
    BOOTSTRAP_LIMIT,
    Interval,
    all_equal_interval,
    bootstrap_interval,
    cluster_normal_interval,
    design_effect,
    effective_n,
    estimate,
    percentile,
    wilson,
)
from cortex_eval.stats.uncertainty import Z_95, widened


@pytest.mark.parametrize(
    ("passed", "total", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_gives_the_published_limits(passed, total, low, high):
    # Newcombe 1998, Statistics in Medicine 17:857–872, table I, method 3
    assert wilson(passed, total) == pytest.approx((low, high), abs=5e-5)


@given(passed=st.integers(0, 500), failed=st.integers(0, 500))
def test_the_wilson_interval_holds_the_rate_and_stays_between_zero_and_one(passed, failed):
    assume(passed + failed > 0)
    low, high = wilson(passed, passed + failed)
    assert 0 <= low <= passed / (passed + failed) <= high <= 1
    assert low < high


@given(passed=st.integers(0, 200), failed=st.integers(0, 200), effect=st.floats(1, 20))
def test_a_smaller_effective_n_never_narrows_the_interval(passed, failed, effect):
    total = passed + failed
    assume(total > 0)
    plain, clustered = wilson(passed, total), wilson(passed, total, effective_n=total / effect)
    assert clustered.low <= plain.low + 1e-12
    assert clustered.high >= plain.high - 1e-12


def test_a_rate_of_nothing_is_undefined():
    assert wilson(0, 0) is None
    assert all_equal_interval(1.0, 0) is None


def test_nothing_wrong_in_fourteen_leaves_the_published_doubt():
    # Hanley & Lippman-Hand 1983, JAMA 249:1743–1745: 0 of 14, at most 19.3 % at 95 %
    assert all_equal_interval(0.0, 14) == pytest.approx((0.0, 0.193), abs=5e-4)
    assert all_equal_interval(1.0, 14) == pytest.approx((0.807, 1.0), abs=5e-4)


def test_the_normal_interval_rests_on_the_certified_mean_and_deviation():
    # NIST StRD NumAcc1: certified mean 10000002, standard deviation 1, n = 3
    low, high = cluster_normal_interval([10000001.0, 10000003.0, 10000002.0], None)
    assert (low + high) / 2 == pytest.approx(10000002, abs=1e-8)
    assert (high - low) / 2 == pytest.approx(1.959963984540054 / math.sqrt(3), rel=1e-7)


def test_the_bootstrap_spreads_as_the_published_mouse_data():
    # Efron & Tibshirani 1993, table 2.1: the bootstrap standard error of the treated mean (86.86) tends to 23.36
    low, high = bootstrap_interval([94.0, 197.0, 16.0, 38.0, 99.0, 141.0, 23.0], None)
    assert low < 86.86 < high
    assert (high - low) / (2 * 1.96) == pytest.approx(23.36, rel=0.06)


def test_the_bootstrap_is_the_same_for_the_same_seed():
    values = [math.sqrt(i) % 1 for i in range(60)]
    assert bootstrap_interval(values, None, seed=7) == bootstrap_interval(values, None, seed=7)
    assert bootstrap_interval(values, None, seed=7) != bootstrap_interval(values, None, seed=8)


def test_values_copied_within_a_cluster_count_once():
    rng = random.Random(1)
    single = [rng.random() for _ in range(40)]
    copied = [value for value in single for _ in range(5)]
    clusters = [index for index in range(40) for _ in range(5)]

    # Kish 1965: with full correlation the design effect is the cluster size (here with the G/(G−1) correction)
    assert design_effect(copied, clusters) == pytest.approx(199 / 39)
    assert effective_n(copied, clusters) == pytest.approx(40, rel=0.03)
    assert bootstrap_interval(copied, clusters) == pytest.approx(bootstrap_interval(single, None))
    assert cluster_normal_interval(copied, clusters) == pytest.approx(cluster_normal_interval(single, None))


def test_clusters_of_one_change_nothing():
    values = [0.2, 0.4, 0.9]
    assert design_effect(values, [1, 2, 3]) == 1.0
    assert estimate(values, [5, 9, 2]) == estimate(values)


def test_clusters_that_differ_less_than_chance_are_not_rewarded():
    assert design_effect([0.0, 1.0, 0.0, 1.0], [1, 1, 2, 2]) == 1.0


def test_many_clusters_take_the_normal_interval_and_say_why():
    rng = random.Random(2)
    values = [rng.random() for _ in range(BOOTSTRAP_LIMIT + 1)]
    large = estimate(values)
    assert large.method == "normal"
    assert f"{BOOTSTRAP_LIMIT:,}" in large.note
    resampled = bootstrap_interval(values, None)
    assert (large.low, large.high) == pytest.approx(resampled, abs=0.002)


def test_ten_thousand_values_do_not_import_numpy():
    code = (
        "import sys; from cortex_eval.stats import estimate\n"
        "e = estimate([i % 97 / 97 for i in range(10000)])\n"
        "assert e.method == 'normal' and 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_nothing_scored_has_no_mean():
    empty = estimate([])
    assert (empty.mean, empty.low, empty.high, empty.effective_n) == (None, None, None, None)


def test_one_score_keeps_almost_all_doubt():
    one = estimate([0.8])
    assert (one.low, one.high) == pytest.approx((0.04, 0.99))
    assert estimate([0.8, 0.6], [3, 3]).method == "all_equal"


def test_values_that_differ_by_rounding_only_are_as_uncertain_as_equal_ones():
    exact, rounded = estimate([1.0, 1.0]), estimate([1.0, 0.9999998])
    assert rounded.method == "all_equal"
    assert rounded.high - rounded.low >= exact.high - exact.low
    in_clusters = estimate([0.5, 0.5004, 0.5002, 0.5], [1, 1, 2, 2])
    assert (in_clusters.method, in_clusters.effective_n) == ("all_equal", 2.0)
    assert estimate([0.5, 0.502]).method == "bootstrap"


def test_latencies_close_together_are_not_taken_for_equal():
    assert estimate([412.0, 412.0005, 412.0002], bounded=False).method == "bootstrap"


def test_one_unbounded_value_has_no_interval():
    assert estimate([412.0], bounded=False).low is None
    assert estimate([412.0, 412.0], bounded=False).low is None


def test_equal_cluster_means_do_not_print_certainty():
    even = estimate([0.25, 0.75, 0.25, 0.75], [1, 1, 2, 2])
    assert even.method == "all_equal"
    assert even.low < 0.5 < even.high


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.data())
def test_the_interval_holds_the_mean_has_width_and_stays_in_range(values, data):
    clusters = data.draw(st.lists(st.integers(0, 5), min_size=len(values), max_size=len(values)))
    found = estimate(values, clusters)
    assert 0 <= found.low <= found.mean + 1e-12
    assert found.mean - 1e-12 <= found.high <= 1
    assert found.low < found.high
    assert 1 <= found.effective_n <= len(values) + 1e-9


@given(st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=50))
def test_rates_take_wilson(values):
    found = estimate(values)
    assert found.method == "wilson"
    assert (found.low, found.high) == wilson(sum(values), len(values))


def test_percentiles_interpolate_linearly():
    # Hyndman & Fan 1996, type 7, as in R's default: quantile(c(15,20,35,40,50), 0.4) is 29
    assert percentile([15.0, 20.0, 35.0, 40.0, 50.0], 0.4) == pytest.approx(29.0)
    assert percentile([3.0], 0.99) == 3.0
    assert percentile([], 0.5) is None


@pytest.mark.parametrize(
    ("freedom", "quantile"), [(1, 12.7062), (2, 4.3027), (3, 3.1824), (4, 2.7764), (9, 2.2622), (499, 1.9647)]
)
def test_few_clusters_widen_an_interval_by_students_quantile(freedom, quantile):
    # Student's t at 0.975, as tables have it.
    low, high = widened(Interval(-Z_95, Z_95), 0.0, freedom + 1, is_resampled=False)
    assert high == pytest.approx(quantile, rel=0.002)
    assert low == -high


def test_resamples_of_few_values_are_widened_for_their_missing_spread_too():
    # Hesterberg 2015: the bootstrap's variance is that of the sample divided by n, not by n − 1.
    normal = widened(Interval(-1.0, 2.0), 0.0, 5, is_resampled=False)
    drawn = widened(Interval(-1.0, 2.0), 0.0, 5, is_resampled=True)
    assert drawn.high / normal.high == pytest.approx(math.sqrt(5 / 4))
    assert drawn.high == pytest.approx(-2 * drawn.low)


@pytest.mark.parametrize("resample", [True, False])
@pytest.mark.parametrize("n", [3, 5, 10])
def test_intervals_of_few_scores_hold_the_mean_nearly_as_often_as_they_say(n, resample):
    draw = random.Random(n)
    found = [estimate([draw.betavariate(4, 2) for _ in range(n)], resample=resample) for _ in range(150)]
    held = sum(each.low <= 4 / 6 <= each.high for each in found)
    assert held >= 0.88 * len(found)  # without the widening 0.74 of three and 0.84 of five
