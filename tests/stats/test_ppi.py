"""Prediction-powered inference against the paper's estimator, and whether its intervals hold what they promise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_eval.stats import ppi_mean, ppi_mean_of_drawn

unit = st.floats(0, 1)


def papers_interval(people, judged, unlabelled):
    """Angelopoulos et al. 2023, algorithm 1, in NumPy: θ = mean f(unlabelled) − mean(f − Y), normal interval."""
    people, judged, unlabelled = map(np.asarray, (people, judged, unlabelled))
    rectifier = judged - people
    theta = unlabelled.mean() - rectifier.mean()
    error = np.sqrt(unlabelled.var(ddof=1) / len(unlabelled) + rectifier.var(ddof=1) / len(people))
    return theta, theta - 1.959963984540054 * error, theta + 1.959963984540054 * error


def drawn(generator, n, rest, bias):
    """A judge that passes what people pass with 0.9 + bias, and what they fail with 0.1 + bias."""
    people = generator.random(n + rest) < 0.6
    judged = generator.random(n + rest) < np.where(people, 0.9, 0.1 + bias)
    return people[:n].astype(float), judged[:n].astype(float), judged[n:].astype(float)


@pytest.mark.parametrize("bias", [0.0, 0.2, 0.5])
def test_the_estimate_and_interval_are_those_of_the_paper(bias):
    people, judged, rest = drawn(np.random.default_rng(7), 120, 900, bias)

    found = ppi_mean(list(people), list(judged), list(rest))

    assert (found.value, found.low, found.high) == pytest.approx(papers_interval(people, judged, rest), abs=1e-12)
    assert found.bias == pytest.approx((judged - people).mean())
    assert (found.labelled, found.unlabelled) == (120, 900)


def test_a_small_example_by_hand():
    """Judge on the rest: 0.75. On four labelled items it is 0.25 too high on average. Corrected: 0.5."""
    found = ppi_mean([1, 0, 1, 0], [1, 1, 1, 0], [1, 1, 1, 0])

    assert found.value == pytest.approx(0.5)
    assert found.bias == pytest.approx(0.25)


def test_intervals_hold_the_truth_as_often_as_they_say_though_the_judge_is_biased():
    generator = np.random.default_rng(11)
    held = judge_held = tuned_held = 0
    for _ in range(400):
        people, judged, rest = map(list, drawn(generator, 100, 600, 0.3))
        found, tuned = ppi_mean(people, judged, rest), ppi_mean(people, judged, rest, weight=None)
        held += found.low <= 0.6 <= found.high
        tuned_held += tuned.low <= 0.6 <= tuned.high
        mean, error = np.mean(rest), np.std(rest) / np.sqrt(len(rest))
        judge_held += mean - 1.96 * error <= 0.6 <= mean + 1.96 * error

    assert 0.92 <= held / 400 <= 0.98
    assert 0.92 <= tuned_held / 400 <= 0.98
    assert judge_held / 400 < 0.1  # without the correction


def test_items_drawn_with_known_probabilities_are_weighed_back():
    """Mostly what the judge fails is looked at; the plain correction would be wrong, the weighted one is not."""
    generator = np.random.default_rng(5)
    held = 0
    for _ in range(300):
        people = (generator.random(800) < 0.6).astype(float)
        judged = np.where(generator.random(800) < 0.8, people, 1 - people)
        chance = np.where(judged == 0, 0.5, 0.1)
        labels = [
            real if is_drawn else None for real, is_drawn in zip(people, generator.random(800) < chance, strict=True)
        ]
        found = ppi_mean_of_drawn(list(judged), labels, list(chance))
        held += found.low <= 0.6 <= found.high

    assert 0.92 <= held / 300 <= 0.98


def test_the_tuned_weight_leaves_a_judge_aside_that_knows_nothing():
    generator = np.random.default_rng(3)
    people, noise = generator.random(200) < 0.5, generator.random(1200) < 0.5
    labels, judged, rest = people.astype(float), noise[:200].astype(float), noise[200:].astype(float)

    plain, tuned = (ppi_mean(list(labels), list(judged), list(rest), weight=each) for each in (1.0, None))

    assert tuned.weight < 0.2
    assert tuned.high - tuned.low < plain.high - plain.low


def test_a_judge_that_never_disagreed_is_not_taken_for_perfect():
    found = ppi_mean([1, 0] * 10, [1, 0] * 10, [1, 0] * 500)

    assert found.value == 0.5
    assert found.high - found.low > 2 * (1 - 0.05 ** (1 / 20)) - 1e-9


def test_repeats_of_the_same_cases_do_not_make_it_surer():
    people, judged, rest = [1, 0, 1, 1, 0, 1], [1, 1, 1, 0, 0, 1], [1, 0, 1, 1, 0, 1, 1, 0]
    once = ppi_mean(people, judged, rest)

    often = ppi_mean(
        people * 5, judged * 5, rest * 5, clusters=list(range(6)) * 5, unlabelled_clusters=list(range(8)) * 5
    )

    assert (often.value, often.high - often.low) == pytest.approx((once.value, once.high - once.low))


@given(st.lists(st.tuples(unit, unit), min_size=2, max_size=30), st.lists(unit, min_size=2, max_size=60))
def test_it_stays_between_zero_and_one_and_within_its_interval(labelled, rest):
    people, judged = [list(each) for each in zip(*labelled, strict=True)]

    for weight in (1.0, None):
        found = ppi_mean(people, judged, rest, weight=weight)
        assert 0 <= found.low <= found.value <= found.high <= 1


def test_too_few_items_are_undefined():
    assert ppi_mean([1], [1], [1, 0, 1]) is None
    assert ppi_mean([1, 0], [1, 0], [1]) is None
    assert ppi_mean_of_drawn([1, 0, 1], [None, None, 1], [0.5, 0.5, 0.5]) is None
