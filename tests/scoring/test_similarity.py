"""How close a reply is to an expected answer, whatever was asked."""

import pytest

from cortex_eval.core import Case, Expected, InputError, Reply, Turn
from cortex_eval.scoring.embedding import can_embed
from cortex_eval.scoring.semantic import Relevance
from cortex_eval.scoring.similarity import Similarity

needs_model = pytest.mark.skipif(not can_embed(), reason="the extra embed is not installed")
QUESTION = "May I take ibuprofen with aspirin?"


def case(*answers: str, **fields) -> Case:
    return Case(id="1", turns=(Turn(text=QUESTION, expected=Expected(answers=answers)),), **fields)


@needs_model
async def test_a_reply_that_repeats_the_question_is_not_like_the_answer():
    asked, reply = case("Better not without asking a doctor."), Reply(text=f"You ask: {QUESTION}")

    similarity, relevance = await Similarity().score(asked, reply), await Relevance().score(asked, reply)

    assert similarity.value == pytest.approx(relevance.evidence["expected"], abs=1e-4)
    assert similarity.value < relevance.value - 0.3
    assert similarity.reason == f"Closeness to the expected answer by meaning: {similarity.value:.2f}."
    assert similarity.evidence == {"method": "embedding"}


@needs_model
async def test_the_nearest_of_several_answers_counts():
    score = await Similarity().score(case("Never.", "Ask a doctor first."), Reply(text="Please ask a doctor first."))

    assert score.value > 0.8
    assert "the nearest expected answer" in score.reason


async def test_words_are_compared_when_embeddings_are_turned_off_or_not_installed(monkeypatch):
    asked, reply = case("ask a doctor"), Reply(text="ask your doctor first")

    off = await Similarity(use_embedding_similarity=False).score(asked, reply)
    monkeypatch.setattr("cortex_eval.scoring.similarity.can_embed", lambda: False)
    absent = await Similarity().score(asked, reply)

    assert off.value == absent.value == pytest.approx(2 * 2 / (2 + 3))
    assert "lexical fall-back: use_embedding_similarity is off" in off.reason
    assert "lexical fall-back: the embedding model is not installed" in absent.reason
    assert (Similarity().fingerprint, Similarity().scores_by) == (
        "lexical",
        "shared words (without cortex-eval[embed])",
    )


async def test_without_an_answer_it_does_not_apply_and_an_empty_reply_is_nothing():
    assert (await Similarity().score(case(), Reply(text="a"))).value is None
    assert (await Similarity().score(case("a"), Reply(text=" "))).value == 0.0


def test_an_unknown_model_is_told_before_anything_runs():
    with pytest.raises(InputError, match="embedding model"):
        Similarity(embedding_model="none")
