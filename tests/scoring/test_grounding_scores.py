"""Faithfulness and the rate of hallucinations: their values, labels and evidence, and what has no value."""

import json

import pytest
from grounded_texts import ADRAK, GINGER, GULAB, HEART, METHODS, case, score
from hypothesis import given
from hypothesis import strategies as st

from cortex_eval.analysis import pooled_rate
from cortex_eval.core import InputError, Reply
from cortex_eval.scoring import plan_scorer, run_scorer
from cortex_eval.scoring.grounding import Faithfulness, HallucinationRate, calibrated_minimum, sources_of

PERFECT = [
    (GINGER, "It eases nausea in early pregnancy. Adults take 250 mg of dried ginger four times a day."),
    (GINGER, "Curcumin is poorly absorbed; black pepper raises its absorption."),
    (HEART, "The clinic in Baker Street opened in 1987 and has 40 beds. Its director is Anna Keller."),
    (HEART, "- Visits are free on Mondays.\n- Its director is Anna Keller.\n"),
    (ADRAK, "अदरक पाचन में सहायक है। यह मतली को कम करता है।"),
    (GULAB, "त्रिफला तीन फलों से बनता है: आंवला, हरड़ और बहेड़ा। यह कब्ज में लाभ देता है।"),
]
HALLUCINATED = [
    (GINGER, "It eases nausea in early pregnancy. Saffron cures diabetes within three weeks."),
    (GINGER, "Honey lowers the blood pressure of elderly men overnight."),
    (HEART, "The hospital was founded by Queen Victoria in 1851 after the war in Crimea."),
    (HEART, "Its director is Anna Keller. The staff speak Portuguese and Japanese fluently."),
    (ADRAK, "अदरक पाचन में सहायक है। केसर तीन सप्ताह में मधुमेह ठीक कर देता है।"),
    (GULAB, "नीम की पत्तियाँ बालों को काला करती हैं और आँखों की रोशनी बढ़ाती हैं।"),
]


@pytest.mark.parametrize("use_embeddings", METHODS)
@pytest.mark.parametrize(
    "answer", ["It eases nausea in early pregnancy. [1]", "It eases nausea in early pregnancy. (source: Charaka 1.2)"]
)
def test_a_mark_changes_nothing_in_how_far_a_sentence_is_supported(answer, use_embeddings):
    scorer = HallucinationRate(use_embeddings=use_embeddings)

    marked, plain = score(scorer, answer, GINGER), score(scorer, "It eases nausea in early pregnancy.", GINGER)

    assert (marked.value, marked.measure) == (plain.value, plain.measure)
    assert [each["support"] for each in marked.evidence["claims"]] == [
        each["support"] for each in plain.evidence["claims"]
    ]


@pytest.mark.parametrize("use_embeddings", METHODS)
@pytest.mark.parametrize(("passages", "answer"), PERFECT)
def test_an_answer_that_is_perfect_gets_1(passages, answer, use_embeddings):
    assert score(Faithfulness(use_embeddings=use_embeddings), answer, passages).value == 1


@pytest.mark.parametrize("use_embeddings", METHODS)
@pytest.mark.parametrize(("passages", "answer"), HALLUCINATED)
def test_an_answer_that_is_known_to_be_hallucinated_gets_0(passages, answer, use_embeddings):
    assert score(Faithfulness(use_embeddings=use_embeddings), answer, passages).value == 0


def test_a_single_claim_has_its_own_probability():
    assert calibrated_minimum([0.3]) == pytest.approx(0.3)
    assert calibrated_minimum([0.04]) == 0
    assert calibrated_minimum([0.96]) == 1


def test_labels_tell_quotes_paraphrases_and_inventions_apart():
    evidence = score(
        Faithfulness(use_embeddings=False),
        "It eases nausea in early pregnancy. Early pregnancy nausea is eased by ginger. The moon is made of cheese.",
        GINGER,
    ).evidence

    assert [claim["label"] for claim in evidence["claims"]] == ["grounded", "paraphrased", "hallucinated"]
    assert evidence["labels"] == {"grounded": 1, "paraphrased": 1, "inferred": 0, "hallucinated": 1}


def test_the_evidence_is_where_it_says():
    answer = "Intro.\n- Its absorption is raised by black pepper.\n- Adults take 250 mg of dried ginger."
    evidence = score(Faithfulness(use_embeddings=False), answer, GINGER).evidence

    for claim in evidence["claims"]:
        place = claim["evidence"]
        assert GINGER[place["number"]][place["start"] : place["end"]] == place["text"]
        assert answer[claim["start"] : claim["end"]] == claim["claim"]
    assert [claim["evidence"]["number"] for claim in evidence["claims"][1:]] == [1, 0]


@pytest.mark.parametrize("scorer", [Faithfulness(), HallucinationRate()])
@pytest.mark.parametrize(
    ("answer", "passages", "state"),
    [
        ("", GINGER, "empty"),
        ("I don't know.", GINGER, "refusal"),
        ("Hello!", GINGER, "no_claim"),
        ("Ginger eases nausea.", (), "no_passages"),
        ("Ginger eases nausea.", ("   ",), "no_passages"),
    ],
)
def test_what_cannot_be_looked_up_has_no_value_and_says_why(scorer, answer, passages, state):
    found = score(scorer, answer, passages)

    assert (found.value, found.evidence) == (None, {"state": state})
    assert found.reason


def test_passages_without_words_support_nothing():
    assert score(Faithfulness(use_embeddings=False), "Ginger eases nausea.", ("…",)).value == 0


def test_contexts_of_the_reply_go_before_passages_of_the_case_and_documents_are_added():
    book, other = "The whole text of a book.", "And that of another one."
    one = case(("of the case",), context={"documents": [book]}, metadata={"source_documents": [{"text": other}]})

    assert sources_of(one, Reply(text="?")).all == ("of the case", book, other)
    assert sources_of(one, Reply(text="?", contexts=("retrieved",))).passages == ("retrieved",)


def test_the_name_of_a_document_is_no_document():
    one = case(metadata={"documents": ["handbook.pdf", "policy 7"], "document": "a"})

    assert sources_of(one, Reply(text="?")).all == ()


def test_a_claim_that_only_the_document_supports_is_not_hallucinated():
    found = score(
        HallucinationRate(use_embeddings=False),
        "Its director is Anna Keller.",
        GINGER,
        context={"documents": list(HEART)},
    )

    assert found.measure == 0
    assert found.evidence["claims"][0]["evidence"]["in"] == "document"


def test_the_rate_is_the_share_of_hallucinated_claims():
    found = score(
        HallucinationRate(use_embeddings=False),
        "It eases nausea in early pregnancy. Turmeric contains curcumin. The moon is made of cheese.",
        GINGER,
    )

    assert found.measure == pytest.approx(1 / 3)
    assert found.value == pytest.approx(2 / 3)
    assert found.direction == "lower"
    assert "moon" in found.reason


def test_a_long_answer_does_not_fail_by_its_length_alone():
    answer = " ".join(GINGER + HEART)

    assert score(Faithfulness(use_embeddings=False), answer, GINGER + HEART).value == 1
    assert calibrated_minimum([0.9] * 12) > calibrated_minimum([0.9])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.floats(0, 1))
def test_the_calibrated_minimum_stays_in_range_and_rises_with_the_minimum(probabilities, other):
    value = calibrated_minimum(probabilities)
    raised = [max(each, other) for each in probabilities]

    assert 0 <= value <= 1
    assert calibrated_minimum(raised) >= value
    assert calibrated_minimum(probabilities[::-1]) == value


@given(st.text(max_size=120), st.lists(st.text(max_size=120), max_size=3))
def test_any_text_gets_a_score_in_range_that_json_can_hold(answer, passages):
    for scorer in (Faithfulness(use_embeddings=False), HallucinationRate(use_embeddings=False)):
        found = score(scorer, answer, tuple(passages))
        assert found.value is None or 0 <= found.value <= 1
        json.dumps(found.evidence)


def test_hindi_is_compared_by_words_and_says_so():
    found = score(Faithfulness(), "अदरक पाचन में सहायक है।", ADRAK)

    assert found.evidence["method"] == "lexical"


def test_the_pooled_rate_knows_that_claims_of_one_answer_go_together():
    spread = pooled_rate([(1, 4)] * 20)
    lumped = pooled_rate([(4, 4)] * 5 + [(0, 4)] * 15)

    assert spread.rate.mean == lumped.rate.mean == 0.25
    assert lumped.rate.high - lumped.rate.low > spread.rate.high - spread.rate.low
    assert (spread.answers_with_any.mean, lumped.answers_with_any.mean) == (1.0, 0.25)
    assert (lumped.claims, lumped.hallucinated) == (80, 20)


def test_the_pooled_rate_of_nothing_is_undefined():
    assert pooled_rate([(0, 0)]).rate.mean is None


def test_who_looks_up_must_be_known():
    with pytest.raises(InputError, match="embedded"):
        Faithfulness(by="crystal ball")


async def test_the_scorers_are_registered_and_run():
    one, reply = case(GINGER), Reply(text="It eases nausea in early pregnancy.")

    assert (
        await run_scorer(plan_scorer("faithfulness", settings={"use_embeddings": False}), one, reply)
    ).passed is True
    assert (
        await run_scorer(plan_scorer("hallucination_rate", settings={"use_embeddings": False}), one, reply)
    ).measure == 0


def test_the_reason_promises_no_more_than_the_value():
    def told(scorer, answer):
        return score(scorer(use_embeddings=False), answer, GINGER).reason

    other_order = "Early pregnancy nausea is eased by ginger."
    assert told(Faithfulness, "It eases nausea in early pregnancy.") == "The claim is in the passages."
    assert told(Faithfulness, other_order).startswith("The claim is probably in the passages: a chance of 0.")
    assert told(Faithfulness, "The moon is made of cheese.") == "Not in the passages: “The moon is made of cheese.”."


def test_reasons_are_in_the_singular_and_the_plural_where_they_should_be():
    def told(answer):
        return score(HallucinationRate(use_embeddings=False), answer, GINGER).reason

    true, other, wrong = (
        "Turmeric contains curcumin.",
        "It eases nausea in early pregnancy.",
        "The moon is made of cheese.",
    )
    assert told(true) == "The claim is in the passages."
    assert told(wrong) == f"The claim is not in the passages: “{wrong}”."
    assert told(f"{true} {wrong}") == f"1 of 2 claims is not in the passages: “{wrong}”."
    assert told(f"{true} {other}") == "0 of 2 claims are not in the passages."
