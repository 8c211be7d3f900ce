"""Agreement against published worked examples, recorded tables and laws."""

from __future__ import annotations

import csv
import json
import math
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_eval.stats import (
    Confusion,
    best_threshold,
    cohen_kappa,
    confusion_of,
    cross_table,
    fleiss_kappa,
    gwet_ac1,
    krippendorff_alpha,
    pearson,
    randolph_kappa,
    spearman,
)

DATA = Path(__file__).parents[3] / "shared" / "data"
with_data = pytest.mark.skipif(not DATA.is_dir(), reason="the public data sets are not beside the repository")

labels = st.lists(st.booleans(), min_size=1, max_size=60)
pairs = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=60)


def tables() -> dict[str, dict]:
    return {each["name"]: each for each in json.loads((DATA / "agreement_tables" / "tables.json").read_text("utf-8"))}


def references() -> dict:
    return json.loads((DATA / "expected" / "reference_values.json").read_text("utf-8"))


def counts_of(rows, categories=None):
    known = sorted({each for row in rows for each in row}) if categories is None else categories
    return [[Counter(row)[each] for each in known] for row in rows]


# Worked examples


def test_cohens_kappa_of_fifty_grant_proposals():
    """Two readers, 20 yes-yes, 5 yes-no, 10 no-yes, 15 no-no: the example of most textbooks; kappa is 0.4."""
    kappa = cohen_kappa([[20, 5], [10, 15]])

    assert (kappa.observed, kappa.by_chance, kappa.value) == pytest.approx((0.7, 0.5, 0.4), abs=1e-12)


def test_cohens_kappa_and_its_interval_as_sas_prints_them():
    """PROC FREQ on a 3 × 3 table, as recorded in the tests of statsmodels."""
    plain, linear = (cohen_kappa([[0, 4, 1], [0, 8, 0], [0, 1, 5]], weights=each) for each in ("none", "linear"))

    assert (plain.value, plain.low, plain.high) == pytest.approx((0.4842, 0.2137, 0.7547), abs=5e-5)
    assert (linear.value, linear.low, linear.high) == pytest.approx((0.4701, 0.1845, 0.7558), abs=5e-5)


def test_fleiss_kappa_of_fourteen_raters_and_ten_subjects():
    """The worked example of the encyclopedia's article on Fleiss' kappa: 0.210."""
    counts = [
        [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
    ]  # fmt: skip

    assert fleiss_kappa(counts) == pytest.approx(0.20993070442195522, abs=1e-12)


def test_krippendorffs_alpha_of_three_coders_with_gaps():
    """The worked example of the encyclopedia's article on Krippendorff's alpha: 0.691 nominal, 0.811 interval."""
    coders = [
        [None, None, None, None, None, 3, 4, 1, 2, 1, 1, 3, 3, None, 3],
        [1, None, 2, 1, 3, 3, 4, 3, None, None, None, None, None, None, None],
        [None, None, 2, 1, 3, 4, 4, None, 2, 1, 1, 3, 3, None, 4],
    ]
    units = list(zip(*coders, strict=True))

    found = [krippendorff_alpha(units, scale) for scale in ("nominal", "interval", "ordinal")]

    assert found == pytest.approx([0.691358024691358, 0.8108448928121059, 0.8067214199413153], abs=1e-12)


def test_gwets_ac1_where_kappa_collapses():
    """Gwet 2008, table 1: 118 yes-yes, 5 + 2 disputes, no no-no. Kappa is below 0, AC1 is 0.94."""
    rows = [["yes", "yes"]] * 118 + [["yes", "no"]] * 5 + [["no", "yes"]] * 2

    assert cohen_kappa([[118, 5], [2, 0]]).value == pytest.approx(-0.0234, abs=5e-4)
    assert gwet_ac1(counts_of(rows)) == pytest.approx(0.9408, abs=5e-4)


# Recorded tables


@with_data
@pytest.mark.parametrize("name", ["fleiss_wikipedia_10x5", "randolph_3", "randolph_4", "randolph_5", "randolph_6"])
def test_recorded_tables_of_counts(name):
    table = tables()[name]
    expected = table.get("recomputed", {}) | {k: v for k, v in table["expected"].items() if "randolph" in k}

    if "fleiss_kappa" not in expected:
        expected["fleiss_kappa"] = table["expected"]["fleiss_kappa"]
    assert fleiss_kappa(table["data"]) == pytest.approx(expected["fleiss_kappa"], abs=1e-6)
    if "randolph_free_marginal_kappa" in expected:
        assert randolph_kappa(table["data"]) == pytest.approx(expected["randolph_free_marginal_kappa"], abs=1e-6)


@with_data
def test_one_category_only_is_undefined_and_not_one():
    table = tables()["fleiss_undefined_all_one_category"]["data"]

    assert fleiss_kappa(table) is None
    assert randolph_kappa(table) == 1.0


@with_data
def test_recorded_psychiatric_diagnoses():
    table = tables()["fleiss_1971_psychiatric_diagnoses"]

    found = fleiss_kappa(counts_of(table["data"]))

    expected = table.get("recomputed", table["expected"])["fleiss_kappa"]
    assert found == pytest.approx(expected, abs=table.get("tolerance", 1e-6))


@with_data
def test_recorded_anxiety_ratings_of_two_raters_with_weights():
    table = tables()["irr_anxiety"]
    second, third = ([row[rater] for row in table["data"]] for rater in (1, 2))
    counts = cross_table(second, third)

    for kind, key in (
        ("none", "unweighted"),
        ("linear", "linear_observed_levels"),
        ("quadratic", "quadratic_observed_levels"),
    ):
        expected = table["expected"][f"cohen_kappa_raters_2_3_{key}"]
        assert cohen_kappa(counts, weights=kind).value == pytest.approx(expected, abs=1e-6)


@with_data
def test_likert_ratings_of_three_experts_as_other_libraries_have_them():
    rows = [json.loads(line) for line in (DATA / "summeval" / "summaries.jsonl").read_text("utf-8").split("\n") if line]
    for dimension, expected in references()["summeval"]["by_dimension"].items():
        ratings = [[each[dimension] for each in row["expert_annotations"]] for row in rows]
        first, second = ([row[rater] for row in ratings] for rater in (0, 1))
        counts = cross_table(first, second)
        assert fleiss_kappa(counts_of(ratings)) == pytest.approx(expected["fleiss_kappa_experts"], abs=1e-6)
        for scale in ("nominal", "ordinal", "interval"):
            assert krippendorff_alpha(ratings, scale) == pytest.approx(expected[f"alpha_{scale}"], abs=1e-6)
        assert cohen_kappa(counts).value == pytest.approx(expected["cohen_kappa_experts_1_2"], abs=1e-6)
        quadratic = cohen_kappa(cross_table(first, second, [1, 2, 3, 4, 5]), weights="quadratic")
        assert quadratic.value == pytest.approx(expected["cohen_quadratic_experts_1_2"], abs=1e-6)


@with_data
@pytest.mark.parametrize(
    "name", ["completions_gpt4.csv", "completions_llama2new.csv", "completions_mistralinstruct.csv"]
)
def test_two_labels_of_refusals_as_other_libraries_have_them(name):
    with (DATA / "xstest" / name).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))

    kappa = cohen_kappa(cross_table([row["annotation_1"] for row in rows], [row["annotation_2"] for row in rows]))

    expected = references()["xstest"][name]
    assert (kappa.value, kappa.observed, kappa.n) == pytest.approx(
        (expected["cohen_kappa"], expected["observed_agreement"], expected["n"]), abs=1e-6
    )


# Laws


@given(pairs)
def test_two_raters_agree_as_much_in_either_order(rated):
    first, second = zip(*rated, strict=True)

    one, other = cohen_kappa(cross_table(first, second)), cohen_kappa(cross_table(second, first))

    assert (one is None) == (other is None)
    if one and other:
        assert one.value == pytest.approx(other.value)
        assert -1 <= one.low <= one.value <= one.high <= 1


@given(pairs)
def test_raters_who_always_agree_have_a_kappa_of_one(rated):
    first = [each for each, _ in rated]

    kappa = cohen_kappa(cross_table(first, first))

    assert kappa is None if len(set(first)) < 2 else kappa.value == pytest.approx(1.0)


@given(labels, labels)
def test_the_figures_of_a_confusion_are_what_their_words_say(judged, people):
    n = min(len(judged), len(people))
    judged, people = judged[:n], people[:n]
    found = confusion_of(judged, people)

    assert found.n == n
    both = sum(a and b for a, b in zip(judged, people, strict=True))
    assert found.precision == (both / sum(judged) if any(judged) else None)
    assert found.recall == (both / sum(people) if any(people) else None)
    if found.precision and found.recall:
        assert found.f1 == pytest.approx(2 * found.precision * found.recall / (found.precision + found.recall))
        low, high = found.f1_interval
        assert 0 <= low <= found.f1 <= high <= 1


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=2, max_size=40))
def test_no_threshold_agrees_better_than_the_best_one(scored):
    scores, people = [list(each) for each in zip(*scored, strict=True)]
    best = best_threshold(scores, people)
    if best is None:
        assert len(set(people)) == 1
        return

    for threshold in (*scores, 0.5):
        kappa = cohen_kappa(confusion_of([each >= threshold for each in scores], people).table)
        assert kappa is None or kappa.value <= best.kappa + 1e-9


def test_the_best_threshold_lies_between_the_scores_that_it_parts():
    best = best_threshold([0.9, 0.8, 0.3, 0.1], [True, True, False, False])

    assert (best.threshold, best.kappa) == (pytest.approx(0.55), 1.0)
    assert best.confusion == Confusion(2, 0, 0, 2)


def test_correlations_of_a_small_example():
    """Ranks with a tie: Spearman is Pearson of the mean ranks."""
    assert pearson([1, 2, 3, 4], [2, 4, 6, 8.5]) == pytest.approx(10.75 / math.sqrt(5 * 23.1875), abs=1e-12)
    assert spearman([1, 2, 2, 3], [10, 20, 30, 40]) == pytest.approx(math.sqrt(0.9), abs=1e-12)
    assert pearson([1, 1, 1], [1, 2, 3]) is None


def test_raters_who_never_disagreed_on_ten_items_are_not_certain_to_agree():
    # At most 1 − 0.05^(1/10) = 0.2589 of all items may be otherwise (Hanley & Lippman-Hand 1983); chance is 0.5.
    agreed = cohen_kappa([[5, 0], [0, 5]])
    assert (agreed.value, agreed.low, agreed.high) == (1.0, pytest.approx(1 - 0.2589 / 0.5, abs=1e-3), 1.0)
    sure = cohen_kappa([[500, 0], [0, 500]])
    assert 0.99 < sure.low < 1
    constant = cohen_kappa([[5, 5], [0, 0]])
    assert constant.low < constant.value == 0 < constant.high
