"""A judge among several people: who agrees with whom, and whether the judge is as good as a person."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_eval.analysis import Item, Labels, Scored, calibrate
from cortex_eval.stats import cohen_kappa, confusion_of


def panel(n: int, *, judge: float, people: tuple[float, ...], seed: int = 5) -> tuple[list[Scored], Labels]:
    """Everybody sees the same truth, and errs on their own share of items."""
    generator = np.random.default_rng(seed)
    truth = generator.random(n) < 0.5
    said = [truth ^ (generator.random(n) < errs) for errs in (judge, *people)]
    scored = [Scored(Item(f"c{at}"), float(said[0][at])) for at in range(n)]
    ratings = {
        Item(f"c{at}"): {f"dr_{name}": float(each[at]) for name, each in zip("abc", said[1:], strict=False)}
        for at in range(n)
    }
    return scored, Labels(ratings, {})


def test_the_judge_is_shown_with_all_with_each_and_people_with_each_other():
    scored, labels = panel(80, judge=0.1, people=(0.1, 0.2))

    found = calibrate(scored, labels).among

    assert found.measure == "kappa"
    assert [(each.first, each.second) for each in found.pairs] == [
        ("", ""), ("", "dr_a"), ("", "dr_b"), ("dr_a", "dr_b"),
    ]  # fmt: skip
    together, *others = found.pairs
    assert together.agreement.n < 80  # the disputed have no majority
    for each in others:
        assert each.agreement.n == 80
        assert each.agreement.low < each.agreement.value < each.agreement.high
    values = [each.agreement.value for each in others]
    assert found.with_people == pytest.approx((values[0] + values[1]) / 2)
    assert found.between_people == pytest.approx(values[2])
    assert found.difference.value == pytest.approx(found.with_people - found.between_people)


@pytest.mark.parametrize(
    ("judge", "people", "n", "verdict"),
    [
        (0.02, (0.02, 0.02), 400, "as_good"),
        (0.02, (0.25, 0.25), 400, "better"),
        (0.40, (0.05, 0.05), 200, "worse"),
        (0.15, (0.1, 0.1), 25, "unknown"),
    ],
)
def test_the_verdict_follows_the_interval_of_the_difference(judge, people, n, verdict):
    scored, labels = panel(n, judge=judge, people=people)

    assert calibrate(scored, labels).among.verdict == verdict


@pytest.mark.slow
def test_the_interval_of_the_difference_holds_the_truth_about_as_often_as_it_says():
    # Two who err on shares e and f of balanced items agree on 1 - e - f + 2ef of them; kappa is twice that less 1.
    def kappa(e: float, f: float) -> float:
        return 2 * (1 - e - f + 2 * e * f) - 1

    truth = (kappa(0.15, 0.1) + kappa(0.15, 0.2)) / 2 - kappa(0.1, 0.2)
    held = 0
    for seed in range(200):
        found = calibrate(*panel(80, judge=0.15, people=(0.1, 0.2), seed=seed)).among.difference
        held += found.low <= truth <= found.high

    assert 180 <= held <= 199


def test_five_items_on_which_all_agree_do_not_make_a_judge_as_good_as_a_person():
    scored = [Scored(Item(f"c{at}"), float(at % 2)) for at in range(5)]
    labels = Labels({each.item: {"a": each.value, "b": each.value} for each in scored}, {})

    found = calibrate(scored, labels).among

    assert found.difference.value == 0.0
    assert found.difference.low < -0.4
    assert found.verdict == "unknown"


def test_grades_are_compared_by_concordance_as_published():
    # Grades 0.25 apart throughout: Lin 1989, 2·s_ab / (s_a + s_b + (a - b)²), every s being 0.03125.
    grades = {"c0": 0.0, "c1": 0.25, "c2": 0.5, "c3": 0.25}
    scored = [Scored(Item(id_), grade + 0.25) for id_, grade in grades.items()]
    labels = Labels({Item(id_): {"a": grade, "b": grade} for id_, grade in grades.items()}, {})

    found = calibrate(scored, labels).among

    assert found.measure == "concordance"
    assert found.pairs[1].agreement.value == pytest.approx(2 * 0.03125 / (2 * 0.03125 + 0.0625))
    assert found.pairs[3].agreement.value == pytest.approx(1.0)
    assert found.pairs[1].same == 0
    assert found.pairs[3].same == 4


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans()), min_size=4, max_size=30))
def test_of_verdicts_the_averages_are_those_of_cohens_kappa(said):
    scored = [Scored(Item(str(at)), float(judge)) for at, (judge, _, _) in enumerate(said)]
    labels = Labels({Item(str(at)): {"a": float(a), "b": float(b)} for at, (_, a, b) in enumerate(said)}, {})

    found = calibrate(scored, labels).among

    kappa = cohen_kappa(confusion_of([a for _, a, _ in said], [b for _, _, b in said]).table)
    assert found.between_people == (None if kappa is None else pytest.approx(kappa.value))


def test_one_person_or_a_crowd_is_not_compared_in_pairs_and_json_holds_the_verdict():
    scored, labels = panel(30, judge=0.1, people=(0.1, 0.1))
    alone = Labels({item: {"dr_a": each["dr_a"]} for item, each in labels.ratings.items()}, {})
    crowd = Labels({item: {f"w{at}{k}": 1.0 for k in (1, 2)} for at, item in enumerate(labels.ratings)}, {})

    assert calibrate(scored, alone).among is None
    assert calibrate(scored, crowd).among is None
    assert any("60 raters are a crowd" in each for each in calibrate(scored, crowd).notes)
    assert json.loads(json.dumps(calibrate(scored, labels).to_dict()))["among"]["verdict"] in ("unknown", "as_good")


def test_what_people_dispute_is_told_and_counted():
    scored = [Scored(Item(f"c{at}"), float(at % 2)) for at in range(40)]
    ratings = {each.item: {"a": each.value, "b": 1.0 if at < 3 else each.value} for at, each in enumerate(scored)}

    found = calibrate(scored, Labels(ratings, {}))

    assert (found.disputed, found.rated_twice, found.figures["accuracy"].n, found.bias.n) == (2, 40, 38, 40)
    assert any("2 of 40 items, because as many people say pass as fail" in each for each in found.notes)
