"""A dropped or an added *not*, and another number of the same thing, are told from what says the same."""

import json
import re
from pathlib import Path

import pytest
from grounded_texts import METHODS, score

from cortex_eval.scoring.claims import sentences
from cortex_eval.scoring.grounding import Faithfulness, HallucinationRate
from cortex_eval.scoring.negation import has_negation, verdict
from cortex_eval.scoring.quantities_changed import changed_amount
from cortex_eval.scoring.support import EmbeddedSupport, Question

KQA = Path(__file__).parents[3] / "shared" / "data" / "kqa" / "questions_w_answers.jsonl"

DROPPED = [
    ("Do not put ice on a burn.", "Put ice on a burn."),
    ("Do not put ice, butter or oil on a burn.", "Put butter on a burn."),
    ("Do not stop insulin when you are ill.", "Stop insulin when you are ill."),
    ("Do not take aspirin with warfarin.", "Take aspirin with warfarin."),
    ("Don't take aspirin with warfarin.", "Take aspirin with warfarin."),
    ("Never give honey to infants.", "Give honey to infants."),
    ("Ibuprofen is not safe in late pregnancy.", "Ibuprofen is safe in late pregnancy."),
    ("You must not eat for 8 hours before surgery.", "You must eat for 8 hours before surgery."),
    ("Do not eat or drink before surgery.", "Drink before surgery."),
    ("It is not safe to eat raw eggs.", "Eat raw eggs."),
    ("Avoid taking aspirin with warfarin.", "Take aspirin with warfarin."),
    ("Neither ice nor butter should be put on a burn.", "Ice should be put on a burn."),
    ("Aspirin should not be taken with warfarin.", "Take aspirin with warfarin."),
    ("बर्फ़ जले पर न लगाएँ।", "बर्फ़ जले पर लगाएँ।"),
    ("यह दवा गर्भावस्था में सुरक्षित नहीं है।", "यह दवा गर्भावस्था में सुरक्षित है।"),
]
SAME = [
    ("Never forget to take your insulin.", "Take your insulin."),
    ("Do not take ibuprofen without food.", "Take ibuprofen with food."),
    ("If you do not feel better, take aspirin.", "Take aspirin."),
    ("Take aspirin if you do not feel better.", "Take aspirin."),
    ("Do not use ice but cool running water.", "Use cool running water."),
    ("It treats adults and does not treat children.", "It treats adults."),
    ("Do not put ice on a burn.", "Never put ice on a burn."),
    ("Paracetamol is not only safe but cheap.", "Paracetamol is safe."),
    ("Do not take more than 4 tablets a day.", "Take 4 tablets a day."),
    ("Do not drive for 24 hours after the operation.", "You can drive 24 hours after the operation."),
    ("Take aspirin or not as you like.", "Take aspirin as you like."),
]


@pytest.mark.parametrize("use_embeddings", METHODS)
@pytest.mark.parametrize(("passage", "claim"), DROPPED)
def test_a_claim_that_drops_a_negation_of_the_passage_is_not_supported(passage, claim, use_embeddings):
    found = score(Faithfulness(use_embeddings=use_embeddings), claim, [passage])
    rate = score(HallucinationRate(use_embeddings=use_embeddings), claim, [passage])

    assert found.value <= 0.1
    assert "the passage denies it" in found.reason
    assert rate.measure == 1


@pytest.mark.parametrize("use_embeddings", METHODS)
@pytest.mark.parametrize(("claim", "passage"), DROPPED)
def test_a_claim_that_adds_a_negation_is_not_supported(claim, passage, use_embeddings):
    assert score(Faithfulness(use_embeddings=use_embeddings), claim, [passage]).value < 0.5


@pytest.mark.parametrize(("passage", "claim"), SAME)
def test_a_negation_of_something_else_is_no_opposite(passage, claim):
    assert verdict(claim, [passage]) in ("agrees", "")
    assert score(Faithfulness(use_embeddings=False), claim, [passage]).value > 0.4


def test_what_another_sentence_says_without_the_negation_is_said():
    passages = ["Do not put ice on a burn of a child.", "Adults may put ice on a burn."]

    assert verdict("Put ice on a burn.", passages) == "agrees"
    assert verdict("Put ice on a burn.", passages[:1]) == "is denied"
    assert verdict("Do not put ice on a burn.", passages[1:]) == "denies"


def test_what_there_is_no_evidence_for_is_denied():
    assert verdict("Honey cures a cold.", ["There is no evidence that honey cures a cold."]) == "is denied"


def test_a_question_says_nothing():
    assert verdict("Put ice on a burn.", ["Should you not put ice on a burn?"]) == ""


def test_two_negations_cancel_each_other():
    assert not has_negation("Do not forget your insulin.")
    assert has_negation("Do not skip your insulin.")


@pytest.mark.parametrize("use_embeddings", METHODS)
@pytest.mark.parametrize(
    ("passage", "claim"),
    [
        ("Adults take two tablets a day. Children take one tablet a day.", "Children take two tablets a day."),
        ("Take half a tablet in the evening.", "Take one tablet in the evening."),
        (
            "Take the tablet twice a day with food. It lasts three months.",
            "Take the tablet three times a day with food.",
        ),
        ("Cool the burn for 20 minutes. See a doctor after 10 days.", "Cool the burn for 10 minutes."),
    ],
)
def test_another_number_of_the_same_thing_is_not_supported_and_is_named(passage, claim, use_embeddings):
    found = score(Faithfulness(use_embeddings=use_embeddings), claim, [passage])

    assert found.value < 0.2
    assert "where the passage has" in found.reason


@pytest.mark.parametrize(
    ("passage", "claim"),
    [
        ("Take one or two tablets a day.", "Take two tablets a day."),
        ("Wait for at least 20 minutes before you eat.", "Wait for 30 minutes before you eat."),
        ("About 3, 800 people live in the town.", "About 3,800 people live in the town."),
        (
            "Adults take one tablet in the morning. Adults take two tablets at night.",
            "Adults take two tablets at night.",
        ),
    ],
)
def test_ranges_bounds_and_numbers_of_other_sentences_are_no_other_numbers(passage, claim):
    assert changed_amount(claim, [f"{each}." for each in passage.split(".") if each]) is None


@pytest.mark.skipif(not KQA.is_file(), reason="the data sets are not here")
def test_a_not_that_is_dropped_from_what_physicians_wrote_is_noticed():
    with KQA.open(encoding="utf-8", newline="\n") as file:
        answers = [json.loads(line)["Free_form_answer"] for line in file]
    pairs = [
        (sentence.text, re.sub(r"\b(?:do )?not ", "", sentence.text), answer)
        for answer in answers
        for sentence in sentences(answer)
        if len(re.findall(r"\bnot\b", sentence.text)) == 1 and len(sentence.text.split()) <= 30
    ]
    support = EmbeddedSupport(use_embeddings=False)

    true = support.support_many([Question(said, (answer,)) for said, _, answer in pairs])
    false = support.support_many([Question(dropped, (answer,)) for _, dropped, answer in pairs])

    assert len(pairs) > 25
    assert all(each.probability > 0.5 for each in true)
    assert sum(each.probability < 0.2 for each in false) >= 0.9 * len(pairs)
