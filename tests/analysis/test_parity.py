import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_results import made_case, made_result

from cortex_eval.analysis import parity
from cortex_eval.stats import estimate


def pair(number: int, english: float, hindi: float | None, **fields):
    """The results of one case in English and its parallel in Hindi."""
    base = made_case(2 * number, language="en", **fields)
    other = made_case(2 * number + 1, language="hi", parallel_of=base.id)
    return [
        made_result(base, 2 * number, scores={"accuracy": english}),
        made_result(other, 2 * number + 1, scores={} if hindi is None else {"accuracy": hindi}),
    ]


def accuracy(results):
    return next(each for each in parity(results) if each.metric == "accuracy")


def test_the_gap_is_the_mean_difference_over_the_pairs_with_the_interval_of_the_differences():
    english, hindi = [0.9, 0.8, 0.7, 0.95, 0.6], [0.7, 0.75, 0.4, 0.9, 0.55]
    results = [each for i, values in enumerate(zip(english, hindi, strict=True)) for each in pair(i, *values)]

    found = accuracy(results)

    gaps = [second - first for first, second in zip(english, hindi, strict=True)]
    expected = estimate(gaps, bounded=False)
    assert (found.base, found.other, found.pairs, found.unpaired) == ("en", "hi", 5, 0)
    assert found.gap == pytest.approx(sum(gaps) / 5)
    assert (found.low, found.high) == (pytest.approx(expected.low), pytest.approx(expected.high))
    assert found.base_mean == pytest.approx(sum(english) / 5)
    assert found.gap == pytest.approx(found.other_mean - found.base_mean)
    assert found.high < 0


def test_repeats_are_averaged_by_case_first():
    base, other = pair(0, 0.5, 1.0)
    again = made_result(base.case, 0, scores={"accuracy": 1.0}, repeat=1)

    found = accuracy([base, again, other])

    assert found.pairs == 1
    assert found.gap == pytest.approx(1.0 - 0.75)


def test_a_pair_with_one_side_unscored_is_counted_and_not_compared():
    found = accuracy([*pair(0, 0.9, 0.8), *pair(1, 0.9, None), *pair(2, 0.7, 0.7)])

    assert (found.pairs, found.unpaired) == (2, 1)
    assert found.base_mean == pytest.approx(0.8)


def test_without_any_pair_nothing_is_known_and_nothing_is_zero():
    (found,) = [each for each in parity(pair(0, 0.9, None)) if each.metric == "accuracy"]

    assert (found.pairs, found.gap, found.low, found.base_mean) == (0, None, None, None)
    assert parity([made_result(made_case(0), 0, scores={"accuracy": 1.0})]) == ()


def test_pairs_of_one_cluster_are_not_independent():
    apart = [each for i in range(6) for each in pair(i, 0.9, 0.5 + 0.4 * (i // 3))]
    together = [each for i in range(6) for each in pair(i, 0.9, 0.5 + 0.4 * (i // 3), cluster_id=f"c{i // 3}")]

    wide, narrow = accuracy(together), accuracy(apart)

    assert wide.gap == pytest.approx(narrow.gap)
    assert wide.high - wide.low > narrow.high - narrow.low


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=8), st.randoms())
def test_the_order_of_results_does_not_matter(values, order):
    results = [each for i, each_pair in enumerate(values) for each in pair(i, *each_pair)]
    shuffled = results[:]
    order.shuffle(shuffled)

    assert accuracy(shuffled).gap == pytest.approx(accuracy(results).gap)
    assert -1 <= accuracy(results).gap <= 1
