"""A judge's text becomes a verdict only when it is exactly one, whole and in range; nothing else becomes a number."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cortex_eval.core import JudgeError
from cortex_eval.scoring.verdict import read_verdict, verdict_schema

# name → (scale, what the judge said, the kind of the error)
MALFORMED = {
    # JR01: no JSON at all
    "JR01 prose with a score": ("score", "Score: 0.8 because it names the clinic.", "unparseable"),
    "JR01 empty": ("score", "", "unparseable"),
    "JR01 blank": ("score", " \n\t ", "unparseable"),
    "JR01 refusal": ("score", "I'm sorry, but I can't help with that.", "unparseable"),
    "JR01 a verdict in words": ("binary", "pass", "unparseable"),
    "JR01 a bold verdict": ("binary", "**Verdict: PASS**", "unparseable"),
    "JR01 yaml": ("score", "reason: good\nscore: 0.9", "unparseable"),
    "JR01 xml": ("score", "<score>0.9</score>", "unparseable"),
    "JR01 a fraction": ("score", "8/10", "unparseable"),
    "JR01 single quotes": ("score", "{'score': 0.8}", "unparseable"),
    "JR01 bare keys": ("score", "{score: 0.8}", "unparseable"),
    "JR01 a comma too many": ("score", '{"score": 0.8,}', "unparseable"),
    "JR01 a comma too few": ("score", '{"reason": "good" "score": 0.8}', "unparseable"),
    "JR01 a decimal comma": ("score", '{"score": 0,8}', "unparseable"),
    "JR01 a leading dot": ("score", '{"score": .8}', "unparseable"),
    "JR01 a leading plus": ("score", '{"score": +0.8}', "unparseable"),
    "JR01 python's True": ("binary", '{"verdict": True}', "unparseable"),
    "JR01 a sum": ("score", '{"score": 0.4 + 0.4}', "unparseable"),
    "JR01 a comment": ("score", '{"score": 0.8 // good\n}', "unparseable"),
    "JR01 a brace too many": ("score", '{"score": 0.8}}', "unparseable"),
    "JR01 an empty fence": ("score", "```json\n```", "unparseable"),
    "JR01 nested beyond reason": ("score", '{"a":' * 100_000 + "1" + "}" * 100_000, "unparseable"),
    # JR03: JSON, but not a verdict
    "JR03 a word for a score": ("score", '{"score": "high"}', "wrong_type"),
    "JR03 a number in quotes": ("score", '{"score": "0.8"}', "wrong_type"),
    "JR03 null": ("score", '{"score": null}', "wrong_type"),
    "JR03 true": ("score", '{"score": true}', "wrong_type"),
    "JR03 false": ("score", '{"score": false}', "wrong_type"),
    "JR03 a list": ("score", '{"score": [0.8]}', "wrong_type"),
    "JR03 an object": ("score", '{"score": {"value": 0.8}}', "wrong_type"),
    "JR03 no score": ("score", '{"reason": "good"}', "wrong_type"),
    "JR03 nothing": ("score", "{}", "wrong_type"),
    "JR03 another key": ("score", '{"rating": 0.8}', "wrong_type"),
    "JR03 another case": ("score", '{"Score": 0.8}', "wrong_type"),
    "JR03 one level down": ("score", '{"result": {"score": 0.8}}', "wrong_type"),
    "JR03 the other scale": ("score", '{"verdict": "pass"}', "wrong_type"),
    "JR03 a score for a verdict": ("binary", '{"score": 1}', "wrong_type"),
    "JR03 a number as verdict": ("binary", '{"verdict": 1}', "wrong_type"),
    "JR03 a truth value as verdict": ("binary", '{"verdict": true}', "wrong_type"),
    "JR03 a third verdict": ("binary", '{"verdict": "mostly pass"}', "wrong_type"),
    "JR03 both verdicts": ("binary", '{"verdict": "pass|fail"}', "wrong_type"),
    "JR03 an empty verdict": ("binary", '{"verdict": ""}', "wrong_type"),
    "JR03 a list of objects": ("score", '[{"score": 0.8}]', "wrong_type"),
    "JR03 only a number": ("score", "0.8", "wrong_type"),
    "JR03 JSON inside a string": ("score", '"{\\"score\\": 0.8}"', "wrong_type"),
    "JR03 a reason that is no text": ("score", '{"reason": 5, "score": 0.8}', "wrong_type"),
    # JR04: never clamped, never rescaled
    "JR04 eight of ten": ("score", '{"score": 8}', "out_of_range"),
    "JR04 per cent": ("score", '{"score": 80.0}', "out_of_range"),
    "JR04 below": ("score", '{"score": -0.1}', "out_of_range"),
    "JR04 a hair above": ("score", '{"score": 1.0000001}', "out_of_range"),
    "JR04 a hair below": ("score", '{"score": -1e-12}', "out_of_range"),
    "JR04 thousands of digits": ("score", '{"score": ' + "9" * 5000 + "}", "out_of_range"),
    # JR05
    "JR05 NaN": ("score", '{"score": NaN}', "not_finite"),
    "JR05 Infinity": ("score", '{"score": Infinity}', "not_finite"),
    "JR05 minus Infinity": ("score", '{"score": -Infinity}', "not_finite"),
    "JR05 a number beyond floats": ("score", '{"score": 1e999}', "not_finite"),
    "JR05 behind a preamble": ("score", 'Here: {"score": NaN}', "not_finite"),
    # JR06
    "JR06 cut in the number": ("score", '{"score":0.', "truncated"),
    "JR06 cut behind the number": ("score", '{"reason": "good", "score": 0.8', "truncated"),
    "JR06 cut in the reason": ("score", '{"reason": "it names the {clinic}, and \\"', "truncated"),
    "JR06 cut in a fence": ("binary", '```json\n{"reason": "good", "verdict": "pa', "truncated"),
    "JR06 cut while thinking": ("binary", '<think>The verdict is {"verdict": "pass"}', "truncated"),
    # JR07
    "JR07 two scores": ("score", '{"score": 0.2}\n{"score": 0.9}', "ambiguous"),
    "JR07 two equal scores": ("score", '{"score": 0.9} {"score": 0.9}', "ambiguous"),
    "JR07 two fences": ("binary", '```json\n{"verdict": "pass"}\n```\n```\n{"verdict": "fail"}\n```', "ambiguous"),
    "JR07 the same key twice": ("score", '{"score": 0.2, "score": 0.9}', "ambiguous"),
    "JR07 an example first": ("score", 'As in {"score": 1} I say {"score": 0}', "ambiguous"),
    "JR07 the second is cut": ("score", '{"score": 0.2} or rather {"score": 0.', "ambiguous"),
    "JR07 the second is bad": ("score", '{"score": 0.2} or rather {score: 0.9}', "ambiguous"),
}

OF_THE_OTHER_SCALE = {"JR03 the other scale", "JR03 a score for a verdict"}


def test_P16_there_are_at_least_60_malformed_verdicts():
    assert len(MALFORMED) >= 60


@pytest.mark.parametrize("name", MALFORMED)
def test_P16_a_malformed_verdict_is_an_error_of_its_kind_and_never_a_number(name):
    scale, text, kind = MALFORMED[name]

    with pytest.raises(JudgeError) as caught:
        read_verdict(text, scale)

    assert caught.value.kind == kind
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("name", sorted(MALFORMED.keys() - OF_THE_OTHER_SCALE))
def test_P16_the_other_scale_makes_no_number_of_it_either(name):
    scale, text, _ = MALFORMED[name]

    with pytest.raises(JudgeError):
        read_verdict(text, "binary" if scale == "score" else "score")


@pytest.mark.parametrize("finish", ["length", "content_filter", "refusal"])
def test_JR06_an_answer_that_was_cut_or_declined_is_none_even_when_an_object_is_whole(finish):
    with pytest.raises(JudgeError) as caught:
        read_verdict('{"reason": "good", "score": 0.8}', "score", finish_reason=finish)

    assert caught.value.kind == ("truncated" if finish == "length" else "unparseable")


GOOD = {
    "plain": ('{"reason": "good", "score": 0.8}', 0.8),
    "JR02 in a fence": ('```json\n{"reason": "good", "score": 0.8}\n```', 0.8),
    "JR02 in a fence without a name": ('```\n{"reason": "good", "score": 0.8}\n```', 0.8),
    "JR02 behind a preamble": ('Here is my verdict:\n\n{"reason": "good", "score": 0.8}', 0.8),
    "JR02 before an afterthought": ('{"reason": "good", "score": 0.8}\nI hope this helps!', 0.8),
    "JR02 behind thinking": ('<think>{"score": 0}? No.</think>\n{"reason": "good", "score": 0.8}', 0.8),
    "braces inside the reason": ('{"reason": "good", "x": "it says {\\"score\\": 1}", "score": 0.8}', 0.8),
    "a further key": ('{"reason": "good", "score": 0.8, "confidence": 0.3}', 0.8),
    "a raw line break": ('{"reason": "good\n", "score": 0.8}', 0.8),
    "a byte order mark": ('\ufeff{"reason": "good", "score": 0.8}', 0.8),
    "whole numbers": ('{"reason": "good", "score": 1}', 1.0),
    "zero is a verdict": ('{"reason": "good", "score": 0}', 0.0),
    "minus zero": ('{"reason": "good", "score": -0.0}', 0.0),
}


@pytest.mark.parametrize("name", GOOD)
def test_JR02_exactly_one_object_is_read_wherever_it_stands(name):
    text, value = GOOD[name]

    verdict = read_verdict(text, "score", finish_reason="stop")

    assert verdict == (value, "good")
    assert str(verdict.value) != "-0.0"


@pytest.mark.parametrize(("word", "value"), [("pass", 1.0), ("fail", 0.0), (" PASS ", 1.0), ("Fail", 0.0)])
def test_a_binary_verdict_is_one_or_zero(word, value):
    assert read_verdict(json.dumps({"reason": "so", "verdict": word}), "binary").value == value


def test_half_a_character_in_the_reason_can_be_stored():
    assert read_verdict('{"reason": "\\ud83d", "score": 1}', "score").reason.encode() == b"?"


@given(st.floats(0, 1), st.text(max_size=60), st.text(alphabet=st.characters(exclude_characters="{}<"), max_size=40))
@example(0.0, "", "Infinity")
@example(0.5, "", "9" * 40)
@example(0.5, "", "[Infinity")
def test_whatever_a_judge_writes_around_it_one_object_reads_back_equal(score, reason, around):
    text = f"{around}\n{json.dumps({'reason': reason, 'score': score})}\n{around}"

    assert read_verdict(text, "score").value == score


@given(st.text(max_size=200))
def test_any_text_is_a_verdict_in_range_or_a_judge_error(text):
    for scale in ("binary", "score"):
        with suppress(JudgeError):
            assert 0 <= read_verdict(text, scale).value <= 1


@given(st.data())
def test_P15_a_verdict_that_is_cut_anywhere_is_none(data):
    whole = json.dumps({"reason": 'it says "{no}"', "score": 0.8})
    cut = whole[: data.draw(st.integers(0, len(whole) - 1))]

    with pytest.raises(JudgeError) as caught:
        read_verdict(cut, "score")

    assert caught.value.kind == ("truncated" if cut else "unparseable")


@pytest.mark.parametrize("scale", ["binary", "score"])
def test_the_schema_wants_the_reason_before_the_verdict_and_nothing_else(scale):
    schema = verdict_schema(scale)

    assert next(iter(schema["properties"])) == "reason"
    assert schema["required"] == list(schema["properties"])
    assert schema["additionalProperties"] is False
