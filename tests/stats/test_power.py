"""How many pairs a drop needs, against worked examples, and the laws of what can be seen."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_eval.stats import pairs_needed, smallest_detectable_drop


@pytest.mark.parametrize(
    ("fallen", "risen", "level", "power", "pairs"),
    [
        # powerandsamplesize.com, "McNemar's Z-test, 1-Sided", after Connor 1987, page 209
        (0.45, 0.05, 0.05, 0.90, 23),
        # The same site's two-sided example: a one-sided test at half the level
        (0.45, 0.05, 0.025, 0.80, 23),
        # clinicaltrials-tools, "McNemar's Test (Connor 1987)", two-sided
        (0.30, 0.15, 0.025, 0.80, 155),
    ],
)
def test_the_pairs_that_a_drop_needs_as_published(fallen, risen, level, power, pairs):
    assert math.ceil(pairs_needed(fallen=fallen, risen=risen, level=level, power=power)) == pairs


def test_without_a_drop_no_number_of_pairs_is_enough():
    assert pairs_needed(fallen=0.1, risen=0.1, level=0.05) == math.inf


@given(pairs=st.integers(10, 100_000), rate=st.floats(0.01, 1.0), level=st.floats(0.001, 0.2))
def test_the_smallest_drop_is_the_one_that_just_needs_so_many_pairs(pairs, rate, level):
    drop = smallest_detectable_drop(pairs, rate=rate, level=level)
    if drop is None:
        now = 0.0
        assert pairs_needed(fallen=rate * (1 - now), risen=(1 - rate) * now, level=level) > pairs
        return
    assert 0 < drop <= rate
    for size, is_enough in ((drop, True), (drop - 1e-4, False)):
        now = rate - size
        needed = pairs_needed(fallen=rate * (1 - now), risen=(1 - rate) * now, level=level)
        assert (needed <= pairs) is is_enough


@given(pairs=st.integers(20, 10_000), rate=st.floats(0.3, 1.0))
def test_more_cases_show_smaller_drops(pairs, rate):
    some, more = (smallest_detectable_drop(each, rate=rate, level=0.05) for each in (pairs, 2 * pairs))
    assert some is not None
    assert more is not None
    assert more < some


def test_nothing_can_be_seen_in_a_case_or_two_or_when_nothing_passed_before():
    assert smallest_detectable_drop(2, rate=1.0, level=0.05) is None
    assert smallest_detectable_drop(500, rate=0.0, level=0.05) is None


def test_no_drop_is_called_visible_that_no_test_could_call_significant():
    # Four cases that all fall have the p-value 0.5⁴ = 0.0625.
    assert smallest_detectable_drop(4, rate=1.0, level=0.05) is None
    assert smallest_detectable_drop(5, rate=1.0, level=0.05) is not None
