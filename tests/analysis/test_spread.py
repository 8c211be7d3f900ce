"""Histograms of times."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from cortex_eval.analysis.spread import latency_bins


@given(st.lists(st.floats(0.001, 1e6), min_size=1, max_size=300))
def test_every_time_is_in_one_bin(times):
    bins = latency_bins(sorted(times))
    assert sum(each.count for each in bins) == len(times)
    assert len(bins) <= 22
    assert all(each.low < each.high for each in bins)
    assert all(left.high == right.low for left, right in pairwise(bins))


def test_one_outlier_does_not_hide_the_rest():
    bins = latency_bins(sorted([100.0 + i for i in range(200)] + [60_000.0]))
    assert len(bins) > 10
    assert bins[-1].high == 60_000


def test_times_that_differ_by_next_to_nothing_come_to_an_end():
    assert sum(each.count for each in latency_bins([1e6, 1e6 + 1e-9, 1e6 + 2e-9])) == 3


def test_equal_times_share_a_bin_and_nothing_has_none():
    assert [each.count for each in latency_bins([200.0] * 5)] == [5]
    assert latency_bins([]) == ()
