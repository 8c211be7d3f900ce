"""Confusion matrix and figures by class."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_results import made_case, made_report, made_result

from cortex_eval.analysis import classification as module
from cortex_eval.analysis import classified, classify

LABELS = st.sampled_from(["Vata", "Pitta", "Kapha"])
PAIRS = st.lists(st.tuples(st.none() | LABELS, st.none() | LABELS | st.just("Unheard of")), min_size=1, max_size=60)


def row(number, expected, found, name="classification"):
    evidence = {"expected_label": expected, "found_label": found}
    return made_result(
        made_case(number), number, scores={name: {"value": float(expected == found), "evidence": evidence}}
    )


def test_the_figures_of_the_scikit_learn_example():
    # scikit-learn, sklearn.metrics.classification_report, Examples: y_true [0, 1, 2, 2, 2], y_pred [0, 0, 2, 2, 1]
    found = classify(Counter(zip("01222", "00221", strict=True)))

    assert found.accuracy == 0.6
    assert [(each.precision, each.recall) for each in found.classes.values()] == [
        (0.5, 1.0),
        (0.0, 0.0),
        (1.0, pytest.approx(2 / 3)),
    ]
    assert [round(each.f1, 2) for each in found.classes.values()] == [0.67, 0.0, 0.8]
    macro, weighted = found.macro, found.weighted
    assert [round(each, 2) for each in (macro.precision, macro.recall, macro.f1)] == [0.5, 0.56, 0.49]
    assert [round(each, 2) for each in (weighted.precision, weighted.recall, weighted.f1)] == [0.7, 0.6, 0.61]
    assert found.confusion == {"0": {"0": 1}, "1": {"0": 1}, "2": {"1": 1, "2": 2}}


def test_no_label_is_a_column_of_its_own_and_undefined_is_not_zero():
    found = classify({("Vata", None): 2, ("Pitta", "Pitta"): 1, ("Pitta", "Mars"): 1})

    assert found.confusion["Vata"] == {"(none)": 2}
    assert found.classes["Vata"].precision is None
    assert found.classes["Vata"].f1 == 0
    assert (found.classes["Mars"].recall, found.classes["Mars"].precision) == (None, 0)
    assert found.macro.precision == 1  # of Pitta alone: Vata was never found, and Mars never expected
    assert found.macro.recall == 0.25


def test_no_label_is_a_class_where_it_was_to_be_given():
    found = classify({(None, None): 3, (None, "Vata"): 1, ("Vata", None): 1, ("Vata", "Vata"): 5})

    assert found.accuracy == 0.8
    assert (found.classes["(none)"].precision, found.classes["(none)"].recall) == (0.75, 0.75)
    assert found.confusion["(none)"] == {"(none)": 3, "Vata": 1}


@given(PAIRS)
def test_the_parts_add_up_and_weighted_recall_is_the_accuracy(pairs):
    found = classify(Counter(pairs))

    assert found.scored == len(pairs) == sum(sum(line.values()) for line in found.confusion.values())
    assert found.weighted.recall == pytest.approx(found.accuracy)
    assert 0 <= found.low <= found.accuracy <= found.high <= 1
    assert 0 <= found.macro.f1 <= 1


def test_the_report_holds_every_scorer_that_compares_labels():
    rows = [row(0, "Vata", "Vata"), row(1, "Vata", "Pitta"), row(2, "Pitta", None)]
    rows.append(row(3, "SEARCH", "SCAN", name="intent"))
    set_aside = {"value": None, "reason": "Set aside: the experts differ on this case."}
    rows.append(made_result(made_case(4), 4, scores={"classification": set_aside}))

    document = made_report(rows).to_dict()["classification"]

    assert document["classification"]["scored"] == 3
    assert document["classification"]["confusion"] == {"Pitta": {"(none)": 1}, "Vata": {"Pitta": 1, "Vata": 1}}
    assert document["classification"]["classes"]["Vata"]["recall"] == 0.5
    assert document["intent"]["confusion"] == {"SEARCH": {"SCAN": 1}}
    assert classified(rows)["intent"].scored == 1


def test_a_target_that_invents_labels_does_not_fill_the_memory(monkeypatch):
    monkeypatch.setattr(module, "LABELS_KEPT", 3)

    found = classified(row(i, "Vata", f"made up {i}") for i in range(10))["classification"]

    assert found.confusion["Vata"] == {"made up 0": 1, "made up 1": 1, "made up 2": 1, "(other)": 7}


def test_a_label_that_is_spelt_as_no_label_is_added_to_it_and_not_lost():
    found = classify({(None, "Vata"): 2, ("(none)", "Vata"): 3})
    assert found.scored == 5
    assert found.confusion == {"(none)": {"Vata": 5}}
