"""Answers are taken apart into claims; refusals, advice and marks of sources are none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_eval.scoring.claims import sentences, take_apart, without_references


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Take 2.5 mg twice. Dr. Rao said so, e.g. in the U.S. guide. It works!", 3),
        ("1. Boil water.\n2. Add 5 g of ginger.\n- Drink it warm", 3),
        ("अदरक पाचन में सहायक है। डॉ. शर्मा ने 2.5 ग्राम बताया।", 2),
        ("He arrived at 5 p.m. The door was shut.", 2),
        ('He said "yes." Then he left.', 2),
        ("the team won . the coach left .", 2),
        ("这是真的。那也是。", 2),
        ("", 0),
        ("***\n---\n", 0),
    ],
)
def test_text_is_split_into_sentences(text, expected):
    assert len(sentences(text)) == expected


@given(st.text(max_size=200))
def test_a_sentence_is_where_it_says_and_sentences_do_not_overlap(text):
    end = 0
    for sentence in sentences(text):
        assert text[sentence.start : sentence.end] == sentence.text
        assert sentence.start >= end
        end = sentence.end


@pytest.mark.parametrize(
    ("answer", "state"),
    [
        ("", "empty"),
        ("…", "empty"),
        ("Unable to answer based on the given passages.", "refusal"),
        ("I'm sorry. I don't have enough information to answer that.", "refusal"),
        ("The passages do not mention the price.", "refusal"),
        ("मुझे नहीं पता।", "refusal"),
        ("इस बारे में जानकारी उपलब्ध नहीं है।", "refusal"),
        ("Hello! How can I help you?", "no_claim"),
        ("Well spotted.", "no_claim"),
        ("That's a great question! Let's see.", "no_claim"),
        ("I'm sorry to hear that. Take care of yourself.", "no_claim"),
        ("Please consult your doctor.", "advice"),
        ("Always consult a qualified healthcare provider before starting any new treatment.", "advice"),
        ("Thanks! This is not a substitute for professional medical advice.", "advice"),
        ("I am not a doctor. See a specialist if symptoms persist or get worse.", "advice"),
        ("In an emergency, call 112.", "advice"),
        ("नमस्ते! कृपया डॉक्टर से सलाह लें।", "advice"),
        ("यह चिकित्सा सलाह का विकल्प नहीं है।", "advice"),
        ("I cannot diagnose this. Please see a doctor.", "refusal"),
        ("American", "claims"),
        ("I do not recommend aspirin.", "claims"),
        ("The passages do not mention the price. The clinic is in Rome.", "claims"),
        ("Sorry, ginger cures cancer.", "claims"),
        ("Well spotted, aspirin cures cancer.", "claims"),
        ("Consult your doctor before taking ashwagandha, which cures diabetes.", "claims"),
        ("Ask your doctor about 20 mg of prednisone.", "claims"),
        ("See a doctor because the fever is caused by malaria.", "claims"),
        ("Your doctor prescribes aspirin.", "claims"),
        ("Ginger is not a substitute for insulin.", "claims"),
        ("It is not a replacement for insulin.", "claims"),
    ],
)
def test_refusals_and_answers_without_a_claim_are_states_of_their_own(answer, state):
    assert take_apart(answer).state == state


def test_standing_advice_beside_claims_is_kept_apart_from_them():
    found = take_apart("Ginger eases nausea. Please consult your doctor before taking it.")

    assert [claim.text for claim in found.claims] == ["Ginger eases nausea."]
    assert [each.text for each in found.advice] == ["Please consult your doctor before taking it."]


def test_only_sentences_that_state_something_are_claims():
    found = take_apart("Sure! Here are the facts:\n1. Ginger eases nausea.\n2. Is it safe?\nI hope this helps.")

    assert [claim.text for claim in found.claims] == ["Ginger eases nausea."]


@pytest.mark.parametrize(
    "claim",
    [
        "Ginger eases nausea (passage 1 and 3).",
        "Ginger eases nausea [2].",
        "Based on the given passages, Ginger eases nausea.",
        "According to passage 2, Ginger eases nausea.",
        "Ginger eases nausea, as mentioned in passage 2.",
    ],
)
def test_where_a_claim_says_that_it_is_from_is_no_part_of_it(claim):
    assert without_references(claim).replace(" .", ".") == "Ginger eases nausea."


MARKED = [
    "Turmeric helps digestion. [1]",
    "Turmeric helps digestion [1].",
    "Turmeric helps digestion.[1][2]",
    "Turmeric helps digestion. [1], [2-4]",
    "Turmeric helps digestion. [^1]",
    "Turmeric helps digestion. [1](https://example.org/turmeric)",
    "Turmeric helps digestion. 【4:0†source】",
    "Turmeric helps digestion. [doc1]",
    "Turmeric helps digestion. (Passage 1)",
    "Turmeric helps digestion. (source: Charaka 1.2)",
    "Turmeric helps digestion (source: Ch. Sam. Su. 1.2).",
    "Turmeric helps digestion. (Ref: Charaka Sam. Su. 1.2)",
    "Turmeric helps digestion.\n[1]",
    "Turmeric helps digestion.\n(Source: Charaka 1.2)",
]


@pytest.mark.parametrize("answer", MARKED)
def test_a_mark_of_a_source_belongs_to_the_sentence_before_it_and_is_no_claim(answer):
    found = take_apart(answer)

    assert [without_references(claim.text).replace(" .", ".") for claim in found.claims] == [
        "Turmeric helps digestion."
    ]
    (claim,) = found.claims
    assert answer[claim.start : claim.end] == claim.text
    assert "\n" in answer or not answer[claim.end :].strip("."), "the mark is part of the sentence"
    with_next = take_apart(f"{answer} Ginger eases nausea. [2]")
    assert [without_references(each.text).replace(" .", ".") for each in with_next.claims] == [
        "Turmeric helps digestion.",
        "Ginger eases nausea.",
    ]


@pytest.mark.parametrize(
    ("answer", "state"),
    [
        ("Please consult your doctor. [1]", "advice"),
        ("Is it safe? [2]", "no_claim"),
        ("The passages do not mention the price. [1]", "refusal"),
        ("Hello! [1]", "no_claim"),
    ],
)
def test_what_claims_nothing_claims_nothing_with_a_mark_either(answer, state):
    assert take_apart(answer).state == state


@pytest.mark.parametrize(
    "answer",
    [
        "[2, 4, 6]",
        "[5]",
        "The even numbers are: [2, 4, 6]",
        "It is sorted.\n[1, 2, 3]",
        "[[1, 2], [3, 4]]",
        "Take it (with food). It helps (a little).",
        "【注意】 Take it with food.",
        "[1] Boil water.\n[2] Add ginger.",
    ],
)
def test_brackets_that_are_no_mark_of_a_source_stay_what_they_are(answer):
    assert take_apart(answer).claims == tuple(sentences(answer))


def test_an_answer_with_thousands_of_marks_keeps_each_with_its_sentence():
    taken = take_apart("Ginger is warm [1]. Honey is sweet. [2]\n" * 3_000)
    assert [each.text for each in taken.claims[:2]] == ["Ginger is warm [1].", "Honey is sweet. [2]"]
    assert len(taken.claims) == 6_000
    assert taken.claims[-1].end == 3_000 * len("Ginger is warm [1]. Honey is sweet. [2]\n") - 1


def test_a_unit_of_one_letter_can_end_a_sentence_and_an_initial_cannot():
    assert [each.text for each in sentences("Take 6 g. Children take 3 g.")] == ["Take 6 g.", "Children take 3 g."]
    assert len(sentences("It was J. Smith.")) == 1
