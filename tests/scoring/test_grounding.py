import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_eval.analysis import pooled_rate
from cortex_eval.core import Case, InputError, Reply
from cortex_eval.scoring import can_embed, plan_scorer, run_scorer
from cortex_eval.scoring.claims import sentences, take_apart, without_references
from cortex_eval.scoring.facts import missing_quantities, names, numbers_of, opposed, stem
from cortex_eval.scoring.grounding import (
    Faithfulness,
    HallucinationRate,
    calibrated_minimum,
    sources_of,
)
from cortex_eval.scoring.support import EmbeddedSupport, Question, parameters

METHODS = [
    False,
    pytest.param(True, marks=pytest.mark.skipif(not can_embed(), reason="the extra `embed` is not installed")),
]
GINGER = (
    (
        "Ginger is the root of Zingiber officinale. It eases nausea in early pregnancy. Adults take 250 mg of dried "
        "ginger four times a day. People who take warfarin should not use ginger without asking their doctor."
    ),
    "Turmeric contains curcumin. Curcumin is poorly absorbed; black pepper raises its absorption.",
)
HEART = (
    (
        "The clinic in Baker Street opened in 1987 and has 40 beds. Its director is Anna Keller. It treats patients "
        "with heart failure and does not treat children. Visits are free on Mondays."
    ),
)
ADRAK = (
    (
        "अदरक पाचन में सहायक है। यह मतली को कम करता है। वयस्क प्रतिदिन 2 ग्राम सूखी अदरक ले सकते हैं। "
        "रक्त पतला करने वाली दवा लेने वाले लोग डॉक्टर से पूछे बिना अदरक न लें।"
    ),
)
GULAB = ("त्रिफला तीन फलों से बनता है: आंवला, हरड़ और बहेड़ा। इसे रात में गर्म पानी के साथ लिया जाता है। यह कब्ज में लाभ देता है।",)

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


def case(passages=(), **fields) -> Case:
    return Case.of("What should I know?", None, id="1", passages=passages, **fields)


def score(scorer, answer: str, passages=(), **fields):
    return scorer.score_batch([(case(passages, **fields), Reply(text=answer))])[0]


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


def test_numbers_are_compared_across_spellings_scripts_and_units():
    assert missing_quantities("1000 mg for five days", numbers_of(["1,000 mg, 5 days"])) == []
    assert missing_quantities("२.५ ग्राम", numbers_of(["2.5 ग्राम"])) == []
    assert missing_quantities("350°F", numbers_of(["350 degrees"])) == []
    assert missing_quantities("20°C", numbers_of(["20°F"])) == ["20°c"]
    assert missing_quantities("5 g", numbers_of(["5 mg"])) == ["5 g"]
    assert missing_quantities("in 1986", numbers_of(["in 1987"])) == ["1986"]


def test_names_stems_and_opposites():
    assert names("The director Anna Keller met Rao. Then they left.") == ["anna", "keller", "rao"]
    assert stem("studies") == stem("study")
    assert stem("बच्चों") == stem("बच्चे")
    assert opposed(["it", "raises", "pressure"], ["it", "lowers", "pressure"]) == [("raises", "lowers")]
    assert opposed(["raises"], ["raises", "lowers"]) == []


@pytest.mark.parametrize("use_embeddings", METHODS)
@pytest.mark.parametrize(("passages", "answer"), PERFECT)
def test_an_answer_that_is_perfect_gets_1(passages, answer, use_embeddings):
    assert score(Faithfulness(use_embeddings=use_embeddings), answer, passages).value == 1


@pytest.mark.parametrize("use_embeddings", METHODS)
@pytest.mark.parametrize(("passages", "answer"), HALLUCINATED)
def test_an_answer_that_is_known_to_be_hallucinated_gets_0(passages, answer, use_embeddings):
    assert score(Faithfulness(use_embeddings=use_embeddings), answer, passages).value == 0


@pytest.mark.parametrize("use_embeddings", METHODS)
@pytest.mark.parametrize(
    ("good", "bad", "passages"),
    [
        (
            "Adults take 250 mg of dried ginger four times a day.",
            "Adults take 900 mg of dried ginger four times a day.",
            GINGER,
        ),
        ("Black pepper raises its absorption.", "Black pepper lowers its absorption.", GINGER),
        ("Its director is Anna Keller.", "Its director is Anna Fischer.", HEART),
        ("The clinic has 40 beds.", "The clinic has 400 beds.", HEART),
        ("वयस्क प्रतिदिन 2 ग्राम सूखी अदरक ले सकते हैं।", "वयस्क प्रतिदिन 20 ग्राम सूखी अदरक ले सकते हैं।", ADRAK),
        ("यह मतली को कम करता है।", "यह मतली को कम नहीं करता है।", ADRAK),
    ],
)
def test_a_changed_number_name_or_negation_costs_support_and_is_named(good, bad, passages, use_embeddings):
    support = EmbeddedSupport(use_embeddings)
    right, wrong = support.support(good, passages), support.support(bad, passages)

    assert wrong.probability < 0.5 < right.probability
    assert wrong.conflicts
    assert not right.conflicts


@pytest.mark.parametrize("use_embeddings", METHODS)
def test_a_dropped_negation_costs_support_and_is_named(use_embeddings):
    support = EmbeddedSupport(use_embeddings)
    right, wrong = (support.support(f"It does {word}treat children.", HEART) for word in ("not ", ""))

    assert wrong.probability < right.probability - 0.1
    assert wrong.conflicts == ("the passage denies it",)


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


@given(st.permutations(GINGER + HEART + ADRAK))
def test_the_order_of_the_passages_does_not_matter(passages):
    support = EmbeddedSupport(use_embeddings=False)
    claim = "Curcumin is poorly absorbed."

    assert support.support(claim, passages).probability == support.support(claim, GINGER + HEART + ADRAK).probability


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


def test_the_parameters_say_how_and_on_what_they_were_fitted():
    assert {"version", "fitted", "claims", "answers"} <= parameters().keys()
    assert parameters()["answers"]["supported"]["mean"] > parameters()["answers"]["unsupported"]["mean"]


async def test_the_scorers_are_registered_and_run():
    one, reply = case(GINGER), Reply(text="It eases nausea in early pregnancy.")

    assert (
        await run_scorer(plan_scorer("faithfulness", settings={"use_embeddings": False}), one, reply)
    ).passed is True
    assert (
        await run_scorer(plan_scorer("hallucination_rate", settings={"use_embeddings": False}), one, reply)
    ).measure == 0


@pytest.mark.skipif(not can_embed(), reason="the extra `embed` is not installed")
def test_many_claims_at_once_get_what_each_gets_alone():
    support = EmbeddedSupport()
    questions = [Question("Curcumin is poorly absorbed.", GINGER), Question("Its director is Anna Keller.", HEART)]

    together = support.support_many(questions)

    for question, found in zip(questions, together, strict=True):
        assert support.support(question.claim, question.passages).probability == pytest.approx(
            found.probability, abs=1e-4
        )


DATA = Path(__file__).parents[3] / "shared" / "data" / "qags" / "mturk_cnndm.jsonl"


@pytest.mark.skipif(not DATA.is_file(), reason="the data sets are not here")
def test_on_qags_words_alone_rank_better_than_plain_containment():
    from cortex_eval.scoring.words import words

    support, rows = EmbeddedSupport(use_embeddings=False), []
    with DATA.open(encoding="utf-8", newline="\n") as file:
        for line in list(file)[:60]:
            row = json.loads(line)
            known = set(words(row["article"]))
            for part in row["summary_sentences"]:
                claimed = words(part["sentence"])
                yes = sum(each["response"] == "yes" for each in part["responses"])
                plain = sum(word in known for word in claimed) / len(claimed)
                rows.append((2 * yes > 3, plain, support.support(part["sentence"], [row["article"]]).probability))

    def auroc(column: int) -> float:
        pairs = [(good[column], bad[column]) for good in rows if good[0] for bad in rows if not bad[0]]
        return sum((one > other) + (one == other) / 2 for one, other in pairs) / len(pairs)

    assert auroc(2) > auroc(1) + 0.05
