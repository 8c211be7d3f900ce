"""How far passages support one claim: numbers, names and negations count, the order of the passages does not."""

import json
from pathlib import Path

import pytest
from grounded_texts import ADRAK, GINGER, HEART, METHODS
from hypothesis import given
from hypothesis import strategies as st

from cortex_eval.scoring import can_embed
from cortex_eval.scoring import support as support_module
from cortex_eval.scoring.facts import missing_quantities, names, numbers_of, opposed, stem
from cortex_eval.scoring.support import EmbeddedSupport, Question, look_up, parameters


def test_numbers_are_compared_across_spellings_scripts_and_units():
    assert missing_quantities("1000 mg for five days", numbers_of(["1,000 mg, 5 days"])) == []
    assert missing_quantities("२.५ ग्राम", numbers_of(["2.5 ग्राम"])) == []
    assert missing_quantities("350°F", numbers_of(["350 degrees"])) == []
    assert missing_quantities("20°C", numbers_of(["20°F"])) == ["20°c"]
    assert missing_quantities("5 g", numbers_of(["5 mg"])) == ["5 g"]
    assert missing_quantities("in 1986", numbers_of(["in 1987"])) == ["1986"]


def test_equal_quantities_and_times_of_day_are_known():
    assert missing_quantities("4000 mg", numbers_of(["4 g"])) == []
    assert missing_quantities("90 minutes", numbers_of(["1.5 hours"])) == []
    assert missing_quantities("4000 mg", numbers_of(["4 mg"])) == ["4000 mg"]
    assert missing_quantities("at 14:00", numbers_of(["at 2 pm"])) == []
    assert missing_quantities("at 2 o'clock", numbers_of(["at 14:00"])) == []
    assert missing_quantities("at 14:00", numbers_of(["at 14"])) == []
    assert missing_quantities("at 2 am", numbers_of(["at 14:00"])) == ["2 am"]
    assert missing_quantities("from 14:00 to 16:30", numbers_of(["from 14:00 to 16:00"])) == ["16:30"]


@pytest.mark.parametrize("use_embeddings", METHODS)
@pytest.mark.parametrize(
    ("passage", "claim"),
    [
        ("Visits are from 14:00 to 16:00.", "Visits are from 2 pm to 4 pm."),
        ("Adults take at most 4 g a day.", "Adults take at most 4000 mg a day."),
        ("Adults take at most 4 g a day.", "Adults take at most 4g a day."),
    ],
)
def test_the_same_quantity_in_other_words_is_as_good_as_a_quotation(passage, claim, use_embeddings):
    found = EmbeddedSupport(use_embeddings).support(claim, [passage])

    assert found.probability > 0.95
    assert not found.conflicts


def test_names_stems_and_opposites():
    assert names("The director Anna Keller met Rao. Then they left.") == ["anna", "keller", "rao"]
    assert stem("studies") == stem("study")
    assert stem("बच्चों") == stem("बच्चे")
    assert opposed(["it", "raises", "pressure"], ["it", "lowers", "pressure"]) == [("raises", "lowers")]
    assert opposed(["raises"], ["raises", "lowers"]) == []


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


@given(st.permutations(GINGER + HEART + ADRAK))
def test_the_order_of_the_passages_does_not_matter(passages):
    support = EmbeddedSupport(use_embeddings=False)
    claim = "Curcumin is poorly absorbed."

    assert support.support(claim, passages).probability == support.support(claim, GINGER + HEART + ADRAK).probability


def test_the_parameters_say_how_and_on_what_they_were_fitted():
    assert {"version", "fitted", "claims", "answers"} <= parameters().keys()
    assert parameters()["answers"]["supported"]["mean"] > parameters()["answers"]["unsupported"]["mean"]


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


def test_what_is_said_again_and_again_is_looked_up_once_and_answered_each_time(monkeypatch):
    asked = []
    monkeypatch.setattr(support_module, "look_up", lambda question: asked.append(question) or look_up(question))
    passages = ("Ginger is warm.",)
    repeated = [Question("Ginger is warm.", passages), Question("Honey is cold.", passages)] * 500
    found = EmbeddedSupport(use_embeddings=False).support_many(repeated)
    assert len(found) == 1_000
    assert len(asked) == 2
    assert found[:2] == EmbeddedSupport(use_embeddings=False).support_many(repeated[:2])
