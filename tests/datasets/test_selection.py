"""Which cases are played: exact by name, fair by chance, and the same again with the same seed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_eval.core import Case, InputError
from cortex_eval.datasets import Facts, Selection, quick, read_cases

CASES = [
    Facts(
        i,
        f"case_{i:03}",
        category,
        tier=i % 5 + 1,
        language="hi" if i % 4 == 0 else "en",
        tags=("smoke",) if i % 10 == 0 else (),
    )
    for i, category in enumerate(["billing"] * 30 + ["triage"] * 10 + [None] * 5)
]


def test_everything_is_played_once_in_a_shuffled_order():
    chosen = Selection(seed=1).choose(CASES)

    assert sorted(chosen.ordinals) == list(range(45))
    assert chosen.ordinals != list(range(45))
    assert (chosen.matching, chosen.total) == (45, 45)
    assert set(chosen.probabilities.values()) == {1.0}
    assert Selection(seed=9).is_everything


def test_the_seed_gives_the_order_again():
    assert Selection(seed=1).choose(CASES) == Selection(seed=1).choose(CASES)
    assert Selection(seed=1).choose(CASES).ordinals != Selection(seed=2).choose(CASES).ordinals


@pytest.mark.parametrize(
    ("selection", "count"),
    [
        (Selection(categories=("triage",)), 10),
        (Selection(categories=("triage", "billing")), 40),
        (Selection(tiers=(1,)), 9),
        (Selection(tags=("smoke",)), 5),
        (Selection(languages=("hi",), categories=("billing",)), 8),
        (Selection(case_ids=("case_003", "case_040")), 2),
        (Selection(failed_of=frozenset({"case_001", "gone"})), 1),
        (Selection(limit=7), 7),
        (Selection(limit=700), 45),
        (Selection(categories=("triage",), limit=3), 3),
    ],
)
def test_within_a_field_any_value_fits_and_across_fields_all_must(selection, count):
    chosen = selection.choose(CASES)

    assert len(chosen.ordinals) == count
    assert all(selection.matches(CASES[ordinal]) for ordinal in chosen.ordinals)


def test_a_quick_run_draws_two_cases_of_each_category():
    chosen = quick(Selection(seed=3)).choose(CASES)
    categories = [CASES[ordinal].category for ordinal in chosen.ordinals]

    assert {category: categories.count(category) for category in categories} == {"billing": 2, "triage": 2, None: 2}
    assert chosen.probabilities == {"billing": 2 / 30, "triage": 2 / 10, "": 2 / 5}


def test_a_limit_on_a_quick_run_is_in_the_probabilities():
    chosen = quick(Selection(limit=3)).choose(CASES)

    assert len(chosen.ordinals) == 3
    assert chosen.probabilities["triage"] == pytest.approx(2 / 10 * 3 / 6)


@given(st.integers(1, 6), st.integers(1, 60), st.integers(0, 99))
def test_probabilities_add_up_to_the_number_of_cases(per_category, limit, seed):
    chosen = Selection(per_category=per_category, limit=limit, seed=seed).choose(CASES)
    sizes = {"billing": 30, "triage": 10, "": 5}

    assert len(set(chosen.ordinals)) == len(chosen.ordinals)
    assert sum(sizes[category] * share for category, share in chosen.probabilities.items()) == pytest.approx(
        len(chosen.ordinals)
    )


def test_every_case_is_drawn_as_often_as_its_probability_says():
    draws = [quick(Selection(seed=seed)).choose(CASES).ordinals for seed in range(600)]
    share = sum(35 in ordinals for ordinals in draws) / 600

    assert share == pytest.approx(0.2, abs=0.06)


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        (Selection(categories=("biling",)), r"no category 'biling'. Did you mean 'billing'\?"),
        (Selection(case_ids=("case_0003",)), r"no case 'case_0003'. Did you mean 'case_"),
        (Selection(case_ids=("zzz",)), r"no case 'zzz'. There are 45 others."),
        (Selection(tags=("smok",)), r"Did you mean 'smoke'\?"),
        (Selection(languages=("fr",)), r"no language 'fr'. Known: en, hi."),
        (Selection(categories=("triage",), case_ids=("case_001",)), "No case fits: category triage and case case_001"),
        (Selection(failed_of=frozenset()), "No case fits: one of 0 failed cases"),
    ],
)
def test_a_name_that_the_dataset_does_not_know_offers_the_nearest(selection, message):
    with pytest.raises(InputError, match=message):
        selection.choose(CASES)


def test_all_unknown_names_are_told_at_once():
    with pytest.raises(InputError) as caught:
        Selection(categories=("x",), tags=("y",)).choose(CASES)

    assert [problem.field for problem in caught.value.problems] == ["category", "tag"]


def test_impossible_numbers_are_refused():
    with pytest.raises(InputError) as caught:
        Selection(limit=0, per_category=-1, tiers=(6,))

    assert [problem.field for problem in caught.value.problems] == ["limit", "per_category", "tier"]


def test_rows_of_a_file_and_cases_can_be_selected_from(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("id,input,category,tags\n1,a,x,p;q\n2,b,y,\n3,c,x,q\n")
    selection = Selection(categories=("x",), tags=("p",))

    assert selection.choose(read_cases(path).rows()).ordinals == [0]
    assert selection.matches(Case.of("a", id="1", category="x", tags=("p",)))
