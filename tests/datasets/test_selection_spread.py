"""A quick run's sample: something of every category, tiers and languages in about their shares, fair to each case."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from cortex_eval.datasets import Facts, Selection, quick

CASES = [
    Facts(n, f"c{n}", "big" if n < 80 else "small", tier=1 + n % 4, language="hi" if n % 8 < 2 else "en")
    for n in range(100)
]


@given(st.integers(0, 500))
def test_tiers_are_spread_whatever_the_seed(seed):
    chosen = quick(Selection(categories=("big",), seed=seed), per_category=4).choose(CASES)

    assert sorted(CASES[ordinal].tier for ordinal in chosen.ordinals) == [1, 2, 3, 4]


@given(st.integers(0, 500))
def test_languages_are_spread_within_tiers(seed):
    chosen = quick(Selection(categories=("big",), seed=seed), per_category=8).choose(CASES)
    drawn = Counter((CASES[ordinal].tier, CASES[ordinal].language) for ordinal in chosen.ordinals)

    assert drawn == {(1, "en"): 1, (1, "hi"): 1, (2, "en"): 1, (2, "hi"): 1, (3, "en"): 2, (4, "en"): 2}


def test_every_case_is_as_likely_as_the_others_of_its_category():
    counts: Counter[int] = Counter()
    for seed in range(2000):
        counts.update(quick(Selection(seed=seed), per_category=3).choose(CASES).ordinals)

    big = [counts[n] / 2000 for n in range(80)]
    assert sum(big) / 80 == 3 / 80
    assert all(abs(share - 3 / 80) < 0.02 for share in big)  # 4.7 standard errors


def test_the_strata_say_what_they_were_drawn_from():
    chosen = quick(Selection(seed=3), per_category=2).choose(CASES)

    assert {name: tuple(each) for name, each in chosen.strata.items()} == {"big": (80, 2), "small": (20, 2)}
    assert Selection(seed=3).choose(CASES).strata == {}
    assert Selection(limit=10).choose(CASES).strata == {}


@given(st.integers(1, 10), st.integers(1, 30), st.integers(0, 50))
def test_the_strata_add_up_to_what_was_chosen(per_category, limit, seed):
    chosen = Selection(per_category=per_category, limit=limit, seed=seed).choose(CASES)

    assert sum(each.chosen for each in chosen.strata.values()) == len(chosen.ordinals)
    assert sum(each.of for each in chosen.strata.values()) == 100
