"""Tests of paired differences against published worked examples, SciPy, and the laws that they keep."""

import math
from itertools import combinations, pairwise, product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cortex_eval.stats import (
    ClusterSums,
    Interval,
    cluster_normal_interval,
    cluster_sums,
    difference_interval,
    holm,
    mcnemar_exact,
    noise_of,
    pairs_for,
    pairs_needed,
    pass_at_k,
    pass_hat_k,
    repeat_variance,
    sign_flip_test,
    smallest_difference,
)

SHARES = Interval(-1.0, 1.0)
DARWIN = (49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48)
"""Fisher 1935, The Design of Experiments, section 21: crossed less self-fertilised maize, in eighths of an inch."""


def test_the_sign_flip_test_gives_fishers_own_example():
    # Ibid.: 863 of the 32,768 sums are as high as that observed, so that both tails hold 5.267 %
    assert sign_flip_test(DARWIN, "greater") == pytest.approx((863 / 32_768, "exact"))
    assert sign_flip_test(DARWIN) == pytest.approx((2 * 863 / 32_768, "exact"))


@pytest.mark.parametrize(
    ("fallen", "risen", "p_value"),
    [
        (12, 2, 0.0129),  # Armitage & Berry 1994, page 127: two media for tubercle bacilli, as StatsDirect gives it
        (7, 1, 0.0703),  # Fagerland, Lydersen & Laake 2013, table 6: airway hyper-responsiveness
        (0, 0, 1.0),
        (5, 5, 1.0),
    ],
)
def test_mcnemars_exact_test_gives_the_published_p_values(fallen, risen, p_value):
    assert mcnemar_exact(fallen, risen) == pytest.approx(p_value, abs=5e-5)
    assert mcnemar_exact(risen, fallen) == pytest.approx(p_value, abs=5e-5)


@given(
    fallen=st.integers(0, 400),
    risen=st.integers(0, 400),
    same=st.integers(0, 50),
    size=st.sampled_from([1.0, 1 / 3, 0.1, 7.5]),
    alternative=st.sampled_from(["two-sided", "less", "greater"]),
)
def test_with_differences_of_one_size_the_sign_flip_test_is_mcnemars(fallen, risen, same, size, alternative):
    assume(fallen + risen + same > 0)
    found = sign_flip_test([-size] * fallen + [size] * risen + [0.0] * same, alternative)
    assert found.way == "exact"
    assert found.p_value == pytest.approx(mcnemar_exact(fallen, risen, alternative), rel=1e-9)


@given(
    sums=st.lists(st.floats(-2, 2).filter(lambda each: abs(each) > 1e-3), min_size=1, max_size=9),
    alternative=st.sampled_from(["two-sided", "less", "greater"]),
)
def test_few_differences_of_any_size_are_tested_exactly(sums, alternative):
    observed = sum(sums)
    flipped = [sum(s * d for s, d in zip(signs, sums, strict=True)) for signs in product((1, -1), repeat=len(sums))]
    as_extreme = {
        "less": [each <= observed + 1e-9 for each in flipped],
        "greater": [each >= observed - 1e-9 for each in flipped],
        "two-sided": [abs(each) >= abs(observed) - 1e-9 for each in flipped],
    }[alternative]
    assert sign_flip_test(sums, alternative).p_value == pytest.approx(sum(as_extreme) / len(flipped))


@pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
def test_the_sign_flip_test_agrees_with_scipy(alternative):
    stats = pytest.importorskip("scipy.stats")
    sums = np.random.default_rng(7).normal(-0.1, 0.4, size=12)
    theirs = stats.permutation_test(
        (sums,), np.sum, permutation_type="samples", n_resamples=math.inf, alternative=alternative
    )
    assert sign_flip_test(sums, alternative).p_value == pytest.approx(theirs.pvalue)
    assert mcnemar_exact(14, 5, alternative) == pytest.approx(
        stats.binomtest(5, 19, 0.5, alternative=alternative).pvalue
    )


def test_many_differences_are_drawn_from_the_seed_and_no_p_value_is_zero():
    sums = np.random.default_rng(3).normal(0.0, 1.0, size=200)
    first, again, other = (sign_flip_test(sums, "less", seed=seed) for seed in (1, 1, 2))
    limit = 0.5 * math.erfc(-float(sums.sum()) / math.hypot(*sums) / math.sqrt(2))
    assert first.way == "monte carlo"
    assert first == again
    assert first != other
    assert first.p_value == pytest.approx(limit, abs=0.02)
    # Phipson & Smyth 2010: the observed signs are one of the flips
    assert sign_flip_test(-np.abs(sums), "less").p_value == 1 / 10_000


def test_beyond_twenty_thousand_differences_the_normal_limit_is_taken():
    sums = np.random.default_rng(5).normal(0.0, 1.0, size=20_001)
    drawn, limit = sign_flip_test(sums[:20_000]), sign_flip_test(sums)
    assert (drawn.way, limit.way) == ("monte carlo", "normal")
    assert limit.p_value == pytest.approx(drawn.p_value, abs=0.03)


def test_without_pairs_nothing_is_tested_and_without_differences_nothing_is_seen():
    assert sign_flip_test([]) == (None, "undefined")
    assert sign_flip_test([0.0] * 40) == (1.0, "exact")


def test_with_few_clusters_nothing_can_be_significant():
    # 2^-4 is above 0.05: four clusters that all fell are no evidence at that level
    assert sign_flip_test([-0.9, -0.8, -0.7, -0.95], "less").p_value == 1 / 16


def test_p_values_of_real_valued_differences_are_no_smaller_than_they_say():
    generator = np.random.default_rng(11)
    found = [sign_flip_test(generator.normal(size=30), "less", seed=each).p_value for each in range(400)]
    for level in (0.05, 0.1, 0.25):
        share = sum(p <= level for p in found) / len(found)
        assert share <= level + 3 * math.sqrt(level * (1 - level) / len(found))


def test_holm_gives_the_published_adjusted_p_values():
    # Wikipedia, "Holm–Bonferroni method": of these, the first and the last are significant at 0.05
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    # SAS/STAT 9.22 User's Guide, PROC MULTTEST, example 60.5: the smallest of 24 becomes 0.8395, all others 1
    raw = [0.28282, 0.30688, 0.71022, 0.77175, 0.78180, 0.88581, 0.54685, 0.84978, 0.24228, 0.58977, 0.03498, 0.41607]
    raw += [0.31631, 0.05254, 0.45061, 0.75758, 0.12496, 0.49485, 0.21572, 0.50505, 0.94372, 0.81260, 0.77596, 0.36889]
    adjusted = holm(raw)
    assert adjusted[10] == pytest.approx(0.8395, abs=5e-5)
    assert set(adjusted) - {adjusted[10]} == {1.0}


@given(st.lists(st.one_of(st.none(), st.floats(0, 1)), max_size=12))
def test_holm_keeps_the_order_never_lowers_and_leaves_out_what_was_not_tested(p_values):
    adjusted = holm(p_values)
    pairs = sorted((p, q) for p, q in zip(p_values, adjusted, strict=True) if p is not None)
    assert [q is None for q in adjusted] == [p is None for p in p_values]
    assert all(p <= q <= 1 for p, q in pairs)
    assert all(one[1] <= two[1] for one, two in pairwise(pairs))
    if pairs:
        assert pairs[0][1] == pytest.approx(min(1.0, len(pairs) * pairs[0][0]))


@pytest.mark.parametrize(
    ("risen", "fallen", "pairs", "low", "high"),
    [
        (1, 7, 21, -0.5083, -0.0134),  # airway hyper-responsiveness (Bentur et al. 2009)
        (6, 16, 161, -0.1195, -0.0032),  # complete response to therapy (Cavo et al. 2012)
    ],
)
def test_single_verdicts_get_the_interval_of_bonett_and_price(risen, fallen, pairs, low, high):
    # The two tables of Fagerland, Lydersen & Laake 2014, Statistics in Medicine 33:2850–2875, by the formula of Bonett
    # & Price 2012 as these authors' R package contingencytables has it in Wald_CI_BonettPrice_paired_2x2
    differences = [1.0] * risen + [-1.0] * fallen + [0.0] * (pairs - risen - fallen)
    up, down = (risen + 1) / (pairs + 2), (fallen + 1) / (pairs + 2)
    half = 1.959964 * math.sqrt((up + down - (up - down) ** 2) / (pairs + 2))
    found = difference_interval(cluster_sums(differences), bounds=SHARES)
    assert found == pytest.approx((up - down - half, up - down + half), abs=1e-6)
    assert found == pytest.approx((low, high), abs=1e-4)


def test_with_many_clusters_the_interval_is_the_cluster_robust_one():
    generator = np.random.default_rng(2)
    clusters = np.repeat(np.arange(2_000), 5)
    values = (generator.normal(-0.05, 0.2, 10_000) + np.repeat(generator.normal(0, 0.2, 2_000), 5)).tolist()
    ours = difference_interval(cluster_sums(values, clusters.tolist()))
    # Liang & Zeger 1986; Miller 2024, eq. 4
    assert ours == pytest.approx(cluster_normal_interval(values, clusters.tolist()), rel=0.02)


def test_ten_equal_copies_of_a_turn_say_no_more_than_one():
    alone = cluster_sums([-1.0, 0.0, 0.0, 1.0, -1.0, 0.0] * 10)
    copied = ClusterSums(sums=tuple(10 * each for each in alone.sums), sizes=(10,) * len(alone.sums))
    assert difference_interval(copied, bounds=SHARES) == pytest.approx(difference_interval(alone, bounds=SHARES))


def test_no_difference_in_any_pair_is_not_certainty():
    few, many = (difference_interval(cluster_sums([0.0] * n), bounds=SHARES) for n in (20, 500))
    assert few.low < -0.1 < 0.1 < few.high
    assert -0.01 < many.low < 0 < many.high < 0.01
    assert difference_interval(cluster_sums([0.0] * 20)) is None, "of milliseconds nobody knows what they could be"
    assert difference_interval(cluster_sums([-0.3]), bounds=SHARES) is None
    assert difference_interval(cluster_sums([]), bounds=SHARES) is None


@given(st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.25, 1.0]), min_size=2, max_size=40))
def test_the_interval_holds_the_difference_and_is_never_of_zero_width(differences):
    found = difference_interval(cluster_sums(differences), bounds=SHARES)
    assert -1 <= found.low <= sum(differences) / len(differences) + 1e-12
    assert sum(differences) / len(differences) - 1e-12 <= found.high <= 1
    assert found.high - found.low > 0.01


@given(n=st.integers(1, 12), passed=st.integers(0, 12), k=st.integers(1, 12))
def test_pass_at_k_and_pass_hat_k_are_the_share_of_all_choices_of_k_tries(n, passed, k):
    # Chen et al. 2021, eq. 1, and Yao et al. 2024 estimate without bias what all choices of k tries would show
    assume(passed <= n)
    tries = [True] * passed + [False] * (n - passed)
    chosen = list(combinations(tries, k)) if k <= n else []
    if not chosen:
        assert pass_at_k(n, passed, k) is pass_hat_k(n, passed, k) is None
        return
    assert pass_at_k(n, passed, k) == pytest.approx(sum(map(any, chosen)) / len(chosen))
    assert pass_hat_k(n, passed, k) == pytest.approx(sum(map(all, chosen)) / len(chosen))


def test_pass_at_k_gives_the_product_formula_of_its_authors():
    # Chen et al. 2021, figure 3: pass@k = 1 − ∏ (1 − k / i) for i from n − c + 1 to n
    n, c, k = 200, 40, 10
    assert pass_at_k(n, c, k) == pytest.approx(1 - np.prod(1 - k / np.arange(n - c + 1, n + 1)))
    assert (pass_at_k(n, c, 1), pass_hat_k(n, c, 1)) == pytest.approx((0.2, 0.2))


def test_the_variance_of_repeats_is_that_of_a_textbook():
    # Snedecor & Cochran 1989, table 13.3.1: calcium in turnip leaves, 4 leaves with 4 determinations each; mean squares
    # 0.2961 among and 0.0066 within leaves, so that the variance of leaves is 0.0724
    leaves = [
        [3.28, 3.09, 3.03, 3.03],
        [3.52, 3.48, 3.38, 3.38],
        [2.88, 2.80, 2.81, 2.76],
        [3.34, 3.38, 3.23, 3.26],
    ]
    found = repeat_variance(leaves)
    assert found.within == pytest.approx(0.0066, abs=5e-5)
    assert found.between == pytest.approx(0.0724, abs=5e-5)
    assert found.share_within == pytest.approx(0.0066 / 0.0790, abs=1e-3)
    assert repeat_variance([[1.0], [0.0]]) is None
    assert repeat_variance([[1.0, 0.0]]) is None
    assert repeat_variance([[1.0, 1.0], [1.0, 1.0]]).share_within is None


@given(differing=st.floats(0.02, 0.9), drop=st.floats(0.01, 0.5), level=st.floats(0.001, 0.1))
def test_for_single_verdicts_the_pairs_needed_are_connors(differing, drop, level):
    assume(drop <= differing)
    noise = noise_of(cluster_sums([1.0, -1.0]))._replace(variance=differing - drop * drop)
    ours = pairs_for(drop, noise, level=level)
    assert ours == pytest.approx(
        pairs_needed(fallen=(differing + drop) / 2, risen=(differing - drop) / 2, level=level), rel=1e-6
    )


def test_what_can_be_seen_does_not_depend_on_what_was_found():
    generator = np.random.default_rng(4)
    noise = generator.normal(0, 0.1, 200)
    still, fallen = (noise_of(cluster_sums((noise + shift).tolist()), largest=1.0) for shift in (0.0, -0.4))
    for each in (still, fallen):
        assert each.variance == pytest.approx(0.01, rel=0.2)
    assert smallest_difference(200, still, level=0.05) == pytest.approx(
        smallest_difference(200, fallen, level=0.05), rel=0.05
    )


def test_the_smallest_difference_is_the_one_that_needs_just_so_many_pairs():
    noise = noise_of(cluster_sums([-1.0] * 5 + [1.0] * 5 + [0.0] * 90), largest=1.0)
    found = smallest_difference(100, noise, level=0.05, largest=1.0)
    assert pairs_for(found, noise, level=0.05) == pytest.approx(100, rel=1e-3)
    assert pairs_for(found / 2, noise, level=0.05) > 200
    assert smallest_difference(4, noise, level=0.05, largest=1.0) is None
    assert noise_of(cluster_sums([])) is None
    assert noise_of(cluster_sums([0.0] * 9)) is None


def test_with_no_difference_yet_a_drop_still_takes_cases_that_fall():
    noise = noise_of(cluster_sums([0.0] * 100), largest=1.0)
    found = smallest_difference(100, noise, level=0.05, largest=1.0)
    assert 0.05 <= found <= 0.08, "six or so of a hundred must fall, for five could all fall by chance"


def test_conversations_that_hang_together_need_more_turns():
    alone = noise_of(cluster_sums([-1.0, 1.0, 0.0, 0.0, 0.0] * 60), largest=1.0)
    together = noise_of(cluster_sums([-1.0, 1.0, 0.0, 0.0, 0.0] * 60, [n // 60 for n in range(300)]), largest=1.0)
    clustered = noise_of(
        cluster_sums([-1.0] * 60 + [1.0] * 60 + [0.0] * 180, [n // 5 for n in range(300)]), largest=1.0
    )
    assert pairs_for(0.1, clustered, level=0.05) > 4 * pairs_for(0.1, alone, level=0.05)
    assert together.per_cluster == 60


def test_no_p_value_of_the_normal_limit_is_zero_on_either_side():
    risen = [1 + math.sqrt(i) % 1 for i in range(20_001)]
    risen[: len(risen) * 45 // 100] = [-each for each in risen[: len(risen) * 45 // 100]]
    fallen = [-each for each in risen]
    for sums, tail in ((risen, "greater"), (fallen, "less"), (risen, "two-sided"), (fallen, "two-sided")):
        found = sign_flip_test(sums, tail)
        assert found.way == "normal"
        assert 0 < found.p_value < 1e-12
    assert sign_flip_test(risen, "greater").p_value == pytest.approx(sign_flip_test(fallen, "less").p_value)
