import csv
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_eval.core import Case, Expected, InputError, Reply, Turn
from cortex_eval.datasets import cases_from
from cortex_eval.scoring import scorers
from cortex_eval.scoring.classification import PRAKRITI, Classification, label_key

DATA = Path(__file__).parents[3] / "shared/data"
SEVEN = ["Vata", "Pitta", "Kapha", "Vata-Pitta", "Pitta-Kapha", "Vata-Kapha", "Tridosha"]


def case(label: str | None, **fields: object) -> Case:
    return Case(id="1", turns=(Turn(text="?", expected=Expected(label=label)),), **fields)


async def found(text: str, expected: str = "Vata") -> str | None:
    score = await Classification().score(case(expected), Reply(text=text))
    label: str | None = score.evidence["found_label"]
    return label


def test_the_seven_classes_of_seed_002_ship():
    assert list(PRAKRITI) == SEVEN


@pytest.mark.parametrize(
    "label",
    [
        "vata pitta",
        "Vata-Pitta",
        "VATA_PITTA",
        "vata+pitta",
        "Vata / Pitta",
        "Pitta-Vata",
        "Vata–Pitta dosha",
        "Vata and Pitta",
        "vatapitta",
        "वात-पित्त",
        "वात और पित्त",
        "Vata-Pitta Prakriti",
    ],
)
async def test_spellings_of_one_class_are_the_same(label):
    score = await Classification().score(case("vata pitta"), Reply(label=label))

    assert score.value == 1
    assert score.evidence["expected_label"] == score.evidence["found_label"] == "Vata-Pitta"


@pytest.mark.parametrize("expected", SEVEN)
@pytest.mark.parametrize("label", SEVEN)
async def test_each_class_is_right_for_itself_only(expected, label):
    assert (await Classification().score(case(expected), Reply(label=label.upper()))).value == (expected == label)


async def test_a_disputed_case_is_set_aside_and_one_without_a_label_does_not_apply():
    disputed = await Classification().score(case(None, is_disputed=True), Reply(label="Vata"))
    unlabelled = await Classification().score(case(None), Reply(label="Vata"))

    assert (disputed.value, unlabelled.value) == (None, None)
    assert disputed.reason == "Set aside: the experts differ on this case."


async def test_three_experts_who_differ_set_their_case_aside_from_the_file_on():
    agreed, disputed = cases_from(
        [
            {"id": "a", "scenario": "dry skin", "expert_1": "Vata", "expert_2": "vata", "expert_3": "Pitta"},
            {"id": "b", "scenario": "mixed", "expert_1": "Vata", "expert_2": "Kapha", "expert_3": "Pitta"},
        ]
    )

    assert (await Classification().score(agreed, Reply(label="VATA"))).value == 1
    assert (await Classification().score(disputed, Reply(label="Vata"))).value is None


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("Vata", "Vata"),
        ("**Prakriti:** Pitta", "Pitta"),
        ("Your Prakriti is Vata-Pitta. Vata governs movement; Pitta governs digestion.", "Vata-Pitta"),
        ("Your constitution is primarily Kapha, with some Vata.", "Kapha"),
        ("You show signs of a Kapha imbalance. Kapha is heavy.", "Kapha"),
        ("The three doshas are Vata, Pitta, and Kapha. You show Kapha.", "Kapha"),
        ("You are not Vata but Pitta.", "Pitta"),
        ("Both Vata and Kapha are high.", "Vata-Kapha"),
        ("A Vata-Pitta-Kapha constitution.", "Tridosha"),
        ("आपकी प्रकृति वात-पित्त है।", "Vata-Pitta"),
        ("It could be Vata or Pitta.", None),
        ("Are you a Vata type, Pitta type, or Kapha type?", None),
        ("Vata is high. Pitta is high.", None),
        ("Vatala foods and Pittaloka", None),
        ("Drink water.", None),
        ("", None),
    ],
)
async def test_a_label_is_found_in_the_text_only_where_the_text_decides(text, label):
    assert await found(text) == label


async def test_a_text_that_names_several_classes_has_not_decided():
    score = await Classification().score(case("Vata"), Reply(text="Vata is high. Pitta is high."))

    assert score.value == 0
    assert score.reason == "The reply names several classes (Vata, Pitta) and decides on none; expected Vata."


async def test_a_stated_label_counts_before_the_text_and_the_text_can_be_left_out():
    stated = await Classification().score(case("Vata"), Reply(label="Kapha", text="Vata"))
    apart = await Classification(from_text=False).score(case("Vata"), Reply(text="Vata"))

    assert (stated.value, apart.value) == (0, 0)
    assert stated.evidence["source"] == "label"


async def test_unknown_is_no_label_and_right_where_it_is_expected():
    wrong = await Classification().score(case("Vata"), Reply(label="Unknown"))
    right = await Classification().score(case("Unknown"), Reply(label="unknown"))
    silent = await Classification().score(case("Unknown"), Reply(text="I cannot tell."))

    assert (wrong.value, right.value, silent.value) == (0, 1, 1)
    assert wrong.evidence["found_label"] is None
    assert "it says 'Unknown'" in wrong.reason


async def test_classes_of_ones_own_replace_the_shipped_ones():
    scorer = Classification(labels={"urgent": ("red", "emergency"), "routine": ("green",)})

    assert (await scorer.score(case("urgent"), Reply(label="RED"))).value == 1
    assert (await scorer.score(case("urgent"), Reply(text="This is an emergency."))).value == 1
    assert (await scorer.score(case("routine"), Reply(text="This is an emergency."))).value == 0


def test_a_spelling_of_two_classes_is_told_before_the_run():
    with pytest.raises(InputError, match=r"'red' stands for 'urgent' and for 'late'"):
        scorers.build("classification", {"labels": {"urgent": ["red"], "late": ["red"]}})


@given(st.text(max_size=60))
async def test_any_text_gets_a_verdict(text):
    score = await Classification().score(case("Vata"), Reply(text=text))

    assert score.value in (0, 1)


@pytest.mark.skipif(not (DATA / "prakriti").exists(), reason="the Prakriti table is not here")
def test_every_label_of_the_prakriti_table_is_one_of_the_seven():
    known = {label_key(spelling) for label, others in PRAKRITI.items() for spelling in (label, *others)}
    with (DATA / "prakriti/prakriti.csv").open(encoding="utf-8", newline="") as file:
        labels = {row["Dosha"] for row in csv.DictReader(file)}

    assert len(labels) == 6
    assert {label_key(label) for label in labels} <= known


@pytest.mark.skipif(not (DATA / "ayurmind_eval").exists(), reason="the AyurMind outputs are not here")
async def test_recorded_labels_give_the_accuracy_that_can_be_counted_by_hand():
    lines = (DATA / "ayurmind_eval/results/results_single_agent_rag.jsonl").read_text("utf-8").split("\n")
    rows = [json.loads(line) for line in lines if line]
    scores = [
        await Classification().score(case(row["ground_truth_prakriti"]), Reply(label=row["predicted_prakriti"]))
        for row in rows
    ]

    right = sum(row["ground_truth_prakriti"] == row["predicted_prakriti"] for row in rows)
    assert sum(score.value for score in scores) == right
