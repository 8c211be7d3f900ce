"""A scorer against people: labels as they are written, what they say, and when the corrected score may be given."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from cortex_eval.analysis import Item, Labels, Scored, calibrate, compare_words, read_labels
from cortex_eval.core import InputError

DATA = Path(__file__).parents[3] / "shared" / "data"


def write(tmp_path: Path, text: str, name: str = "labels.csv") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def labels_of(values: dict[str, float], **probabilities: float) -> Labels:
    ratings = {Item(id_): {"": float(value)} for id_, value in values.items()}
    return Labels(ratings, {Item(id_): share for id_, share in probabilities.items()})


def judged(n: int = 400, *, labelled: int = 120, seed: int = 3) -> tuple[list[Scored], dict[str, float], float]:
    """A judge that passes too much: the truth, and the labels of some items drawn at random."""
    generator = np.random.default_rng(seed)
    people = generator.random(n) < 0.6
    passes = generator.random(n) < np.where(people, 0.95, 0.35)
    scored = [Scored(Item(f"c{at}", 0, 0), float(each), bool(each), f"c{at}") for at, each in enumerate(passes)]
    chosen = generator.choice(n, labelled, replace=False)
    return scored, {f"c{at}": float(people[at]) for at in chosen}, float(people.mean())


# Reading


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("id,label\na,1\nb,0\n", {"a": {"": 1.0}, "b": {"": 0.0}}),
        ("id,label\na,pass\nb,No\n", {"a": {"": 1.0}, "b": {"": 0.0}}),
        ("item,rater,value\na,x,0.25\na,y,1\n", {"a": {"x": 0.25, "y": 1.0}}),
        ("case_id,verdict\na,fail\n", {"a": {"": 0.0}}),
    ],
)
def test_labels_are_read_in_either_form(tmp_path, text, expected):
    found = read_labels(write(tmp_path, text))

    assert {item.id: dict(each) for item, each in found.ratings.items()} == expected


def test_labels_of_turns_are_told_apart_and_json_lines_are_read_too(tmp_path):
    rows = [{"id": "a", "turn": 0, "label": True}, {"id": "a", "turn": 1, "label": False}]
    path = write(tmp_path, "\n".join(map(json.dumps, rows)), "labels.jsonl")

    assert list(read_labels(path).ratings) == [Item("a", 0), Item("a", 1)]


def test_a_likert_scale_is_brought_to_zero_and_one(tmp_path):
    found = read_labels(write(tmp_path, "id,label\na,1\nb,4\nc,5\n"), span=(1, 5))

    assert [each[""] for each in found.ratings.values()] == [0.0, 0.75, 1.0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,label\na,1\n", "needs the columns id and label"),
        ("id,label\na,\n", "the label of 'a' is empty"),
        ("id,label\na,4\n", "not from 0 to 1. Say on which scale people rated: --label-range 1 5"),
        ("id,label\na,1\na,0\n", "'a' has two labels"),
        ("id,label,turn\na,1,first\n", "whole numbers from 0"),
        ("id,label,probability\na,1,0\n", "a probability is a number above 0"),
        ("id,label,probability\na,1,0.5\nb,1,\n", "only some rows have a probability"),
    ],
)
def test_what_is_wrong_with_labels_is_told(tmp_path, text, message):
    with pytest.raises(InputError, match=message.replace("(", r"\(")):
        read_labels(write(tmp_path, text))


# Comparing


def test_agreement_bias_and_the_corrected_score_of_a_judge_that_is_too_kind():
    scored, people, truth = judged()

    found = calibrate(scored, labels_of(people), drawn="random", tuned="no")

    assert (found.items, found.labelled, found.not_found, found.raters) == (400, 120, 0, 1)
    assert found.bias.value > 0.05
    assert found.by_judge.value > truth + 0.05
    assert found.corrected.low <= truth <= found.corrected.high
    assert found.tuned.high - found.tuned.low <= found.corrected.high - found.corrected.low
    assert found.figures["recall"].value > 0.85
    assert found.figures["specificity"].value < 0.8
    assert found.is_sound
    assert {each.state for each in found.conditions} == {"met", "stated"}


def test_without_a_word_on_how_labels_came_about_the_score_is_given_with_a_doubt():
    scored, people, _ = judged()

    found = calibrate(scored, labels_of(people))

    assert found.corrected is not None
    assert not found.is_sound
    assert [each.state for each in found.conditions] == ["met", "unknown", "unknown"]


@pytest.mark.parametrize("how", [{"drawn": "chosen"}, {"tuned": "yes"}])
def test_labels_that_were_chosen_or_used_to_tune_give_no_corrected_score(how):
    scored, people, _ = judged()

    found = calibrate(scored, labels_of(people), **how)

    assert (found.corrected, found.tuned, found.is_sound) == (None, None, False)
    assert found.kappa is not None  # agreement is still shown


def test_labels_of_what_the_judge_failed_are_not_taken_for_drawn_at_random():
    scored, _, _ = judged()
    failed = {each.item.id: 0.0 for each in scored if not each.passed}

    found = calibrate(scored, labels_of(failed), drawn="random", tuned="no")

    by_chance = next(each for each in found.conditions if each.name == "drawn by chance")
    assert by_chance.state == "unknown"
    assert "hardly chance" in by_chance.note
    assert not found.is_sound


def test_labels_drawn_with_probabilities_are_weighed_back():
    generator = np.random.default_rng(9)
    people = generator.random(600) < 0.6
    scored = [
        Scored(Item(f"c{at}"), float(each), None, None)
        for at, each in enumerate(people ^ (generator.random(600) < 0.2))
    ]
    chance = [0.6 if each.value == 0 else 0.15 for each in scored]
    drawn = [at for at in range(600) if generator.random() < chance[at]]
    labels = labels_of({f"c{at}": float(people[at]) for at in drawn}, **{f"c{at}": chance[at] for at in drawn})

    found = calibrate(scored, labels, tuned="no")

    assert found.corrected.low <= people.mean() <= found.corrected.high
    assert abs(found.by_people.value - people.mean()) > 0.05  # what a plain mean of the labels would say
    assert found.is_sound


def test_when_every_item_has_a_label_people_have_the_last_word():
    scored, _, _ = judged(n=50, labelled=10)
    people = {each.item.id: float(at % 2) for at, each in enumerate(scored)}

    found = calibrate(scored, labels_of(people))

    assert (found.corrected.value, found.corrected.unlabelled, found.is_sound) == (0.5, 0, True)


def test_several_raters_are_averaged_and_what_they_dispute_is_set_aside():
    scored = [Scored(Item(id_), value) for id_, value in (("a", 1.0), ("b", 0.0), ("c", 1.0), ("d", 0.0))]
    ratings = {
        Item("a"): {"x": 1.0, "y": 1.0},
        Item("b"): {"x": 0.0, "y": 0.0},
        Item("c"): {"x": 1.0, "y": 0.0},
    }

    found = calibrate(scored, Labels(ratings, {}))

    assert (found.raters, found.disputed, found.labelled) == (2, 1, 3)
    assert found.kappa.value == 1.0
    assert found.people_agree == pytest.approx(
        1 - 2 / (18 / 5)
    )  # one dispute; three of each value make 18 pairs that differ


def test_a_label_that_could_mean_two_turns_is_refused():
    scored = [Scored(Item("a", turn, 0), 1.0) for turn in (0, 1)]

    with pytest.raises(InputError, match="Add a column turn"):
        calibrate(scored, labels_of({"a": 1}))


def test_ids_that_do_not_meet_are_told():
    with pytest.raises(InputError, match="Do the ids of both files agree"):
        calibrate([Scored(Item("a"), 1.0)], labels_of({"b": 1}))


def test_an_item_in_error_is_not_a_score_of_zero():
    scored = [Scored(Item("a"), None), Scored(Item("b"), 1.0), Scored(Item("c"), 0.0)]

    found = calibrate(scored, labels_of({"a": 0, "b": 1, "c": 0}))

    assert (found.items, found.labelled, found.not_found) == (2, 2, 1)
    assert "1 items have no score" in found.notes[1]


def test_everything_fits_into_json():
    scored, people, _ = judged()

    plain = json.loads(json.dumps(calibrate(scored, labels_of(people)).to_dict()))

    assert plain["kappa"]["value"] == pytest.approx(plain["kappa"]["value"])
    assert {"corrected", "tuned", "conditions", "figures", "best", "is_sound"} <= plain.keys()


@pytest.mark.skipif(not DATA.is_dir(), reason="the public data sets are not beside the repository")
def test_a_recorded_judge_of_pairs_agrees_with_people_as_other_libraries_say():
    rows, said = (
        [json.loads(line) for line in (DATA / "pandalm" / name).read_text("utf-8").split("\n") if line]
        for name in ("testset_three_annotators.jsonl", "judge_gpt35.jsonl")
    )
    expected = json.loads((DATA / "expected" / "reference_values.json").read_text("utf-8"))["pandalm"]
    kinds = {"0": "tie", "1": "one", "2": "two", "Tie": "tie"}
    ratings = {
        Item(str(at)): {f"r{k}": kinds[str(row[f"annotator{k}"])] for k in (1, 2, 3)} for at, row in enumerate(rows)
    }
    scored = {Item(str(at)): kinds[each["gpt_result"]] for at, each in enumerate(said) if each["gpt_result"] in kinds}

    found = compare_words(scored, Labels(ratings, {}))

    assert found.accuracy == pytest.approx(expected["gpt35_accuracy_vs_majority"], abs=1e-6)
    assert found.kappa.value == pytest.approx(expected["gpt35_cohen_vs_majority"], abs=1e-6)
    assert found.not_found == expected["gpt35_unusable"]


def test_an_item_that_is_labelled_in_two_ways_is_told_and_no_label_is_lost():
    scored = [Scored(Item("a", 0, 0), 1.0, True, "a"), Scored(Item("b", 0, 0), 0.0, False, "b")]
    twice = Labels({Item("a"): {"x": 1.0}, Item("a", 0): {"y": 0.0}, Item("b"): {"x": 0.0}}, {})
    with pytest.raises(InputError, match="'a' is labelled with its turn or repeat and without"):
        calibrate(scored, twice)
