import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_eval.core import Case, Reply
from cortex_eval.scoring import can_embed
from cortex_eval.scoring.embedding import Tokens
from cortex_eval.scoring.summary import Summary, matched

METHODS = [
    False,
    pytest.param(True, marks=pytest.mark.skipif(not can_embed(), reason="the extra `embed` is not installed")),
]
REPORT = (
    "The clinic in Baker Street opened in 1998 and has twelve beds. Its director is Anna Keller. Most patients come "
    "from the villages around it. In 2021 a flood closed it for three weeks."
)
REFERENCE = "A clinic of twelve beds, opened in 1998, was closed for three weeks by a flood in 2021."


def case(*, passages=(REPORT,), reference: str | None = REFERENCE) -> Case:
    return Case.of("Sum up the report.", reference, id="1", passages=passages)


def value(text: str, use_embeddings: bool, **kept: object) -> float | None:
    return Summary(use_embeddings=use_embeddings).score_batch([(case(**kept), Reply(text=text))])[0].value


@pytest.mark.parametrize("use_embeddings", METHODS)
def test_a_good_summary_is_above_one_that_misses_the_point_and_that_above_an_invention(use_embeddings):
    good = value("The clinic opened in 1998 with twelve beds; a flood closed it in 2021.", use_embeddings)
    beside_the_point = value("Its director is Anna Keller.", use_embeddings)
    invented = value("The hospital burned down and the mayor was arrested in Paris.", use_embeddings)

    assert good > beside_the_point > invented


@pytest.mark.parametrize("use_embeddings", METHODS)
def test_the_reference_itself_has_full_closeness(use_embeddings):
    score = Summary(use_embeddings=use_embeddings).score_batch([(case(passages=()), Reply(text=REFERENCE))])[0]

    assert score.value == pytest.approx(1.0, abs=1e-5)
    assert set(score.evidence) == {"closeness"}


def test_without_a_reference_it_is_the_support_and_without_either_there_is_no_value():
    copied = "Its director is Anna Keller."

    assert value(copied, False, reference=None) > 0.9
    assert value(copied, False, reference=None, passages=()) is None
    assert value("", False) == 0.0, "an empty reply is no summary"


def test_a_hindi_summary_is_compared_by_words_and_said_so():
    hindi = Case.of("सार लिखें।", "क्लिनिक 1998 में खुला।", id="1", passages=("क्लिनिक 1998 में खुला। इसमें बारह बिस्तर हैं।",))

    score = Summary().score_batch([(hindi, Reply(text="क्लिनिक 1998 में खुला।"))])[0]

    assert score.value > 0.9
    assert "by words" in score.reason


def test_matching_is_the_papers_formula_by_hand():
    one = Tokens(np.zeros(2, np.float32), np.array([[1, 0], [0, 1]], np.float32))
    other = Tokens(np.zeros(2, np.float32), np.array([[1, 0]], np.float32))
    precision, recall = (1 + 0) / 2, 1.0  # each piece of `one` against `other`, and the other way

    assert matched(one, other) == pytest.approx(2 * precision * recall / (precision + recall))


pieces = st.lists(st.tuples(*[st.floats(-1, 1, width=32)] * 3), min_size=1, max_size=5)


@given(pieces, pieces)
def test_matching_is_symmetric_and_within_its_range(one, other):
    def tokens(rows):
        made = np.array(rows, np.float32)
        return Tokens(made[0], made / np.maximum(np.linalg.norm(made, axis=1, keepdims=True), 1e-6))

    there, back = matched(tokens(one), tokens(other)), matched(tokens(other), tokens(one))

    assert math.isclose(there, back, abs_tol=1e-5)
    assert 0.0 <= there <= 1.0 + 1e-5
