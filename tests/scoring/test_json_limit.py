"""JSON of at most so many tokens."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_eval.core import Case, InputError, Reply
from cortex_eval.scoring import scorers
from cortex_eval.scoring.json_form import count_marks

CASE = Case.of("Give me JSON.", id="1")


def build(**settings):
    return scorers.build("json_limit", settings)


async def test_valid_json_within_the_limit_is_one_and_its_tokens_are_the_measure():
    score = await build(max_tokens=9).score(CASE, Reply(text='{"dose": 2}'))

    assert (score.value, score.measure, score.unit, score.direction) == (1.0, 7, "tokens", "lower")
    assert score.reason == "The reply is JSON of 7 tokens, 9 allowed."


async def test_at_most_means_that_the_limit_itself_is_allowed():
    assert (await build(max_tokens=7).score(CASE, Reply(text='{"dose": 2}'))).value == 1.0
    assert (await build(max_tokens=6).score(CASE, Reply(text='{"dose": 2}'))).value == 0.0


@pytest.mark.parametrize("text", ["", "Yes.", "{'a': 1}", '{"a": NaN}', '{"a": 1} {"b": 2}', '```json\n{"a": 1}\n```'])
async def test_what_is_not_json_is_zero_whatever_its_length(text):
    score = await build(max_tokens=1000).score(CASE, Reply(text=text))

    assert score.value == 0.0
    assert score.reason.startswith("The reply is not JSON")


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Take two tablets, daily.", 6),
        ("दवा दिन में दो बार लें।", 7),  # vowel signs belong to their word; the danda is a mark
        ("每天两次。", 5),  # a word for each character
        ("خذ حبتين، يومياً.", 5),
        ("", 0),
        ("a+b=c", 5),
    ],
)
def test_tokens_are_words_and_marks_in_any_script(text, tokens):
    assert count_marks(text) == tokens


@given(st.recursive(st.none() | st.booleans() | st.integers(-99, 99) | st.text(max_size=5), st.lists, max_leaves=5))
def test_there_are_never_fewer_tokens_than_marks_that_json_itself_needs(value):
    text = json.dumps(value, ensure_ascii=False)

    assert count_marks(text) >= text.count("[") + text.count("]")


async def test_a_tokenizer_counts_its_own_tokens(tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    model = tokenizers.Tokenizer(tokenizers.models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    model.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    model.save(str(tmp_path / "tokenizer.json"))

    score = await build(max_tokens=10, tokenizer=str(tmp_path / "tokenizer.json")).score(CASE, Reply(text='{"a": 1}'))

    assert score.measure == 5  # {" a ": 1 }


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "there is no file"), (b"not a tokenizer", "is not a tokenizer.json")],
)
def test_a_tokenizer_that_is_none_is_told_before_the_run(tmp_path, content, message):
    pytest.importorskip("tokenizers")
    if content is not None:
        (tmp_path / "t.json").write_bytes(content)

    with pytest.raises(InputError, match=message):
        build(max_tokens=10, tokenizer=str(tmp_path / "t.json"))


def test_a_limit_below_one_is_refused():
    with pytest.raises(InputError, match="max_tokens"):
        build(max_tokens=0)
