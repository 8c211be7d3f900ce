import math
import time

import pytest

from cortex_eval.core import Case, InputError, JudgeError, Reply
from cortex_eval.scoring import scorers
from cortex_eval.scoring.performance import Performance
from cortex_eval.scoring.structure import Regex

CASE = Case.of("?", id="1")


async def value(text: str, pattern: str, **settings) -> float:
    score = await Regex(pattern, **settings).score(CASE, Reply(text=text))
    return score.value


async def test_a_pattern_is_found_and_its_words_are_shown():
    score = await Regex(r"\d+ mg").score(CASE, Reply(text="Take 500 mg now"))

    assert score.value == 1
    assert score.evidence == {"span": [5, 11], "text": "500 mg"}


async def test_a_pattern_that_should_not_match_turns_the_score_around():
    assert await value("call 911", "911", should_match=False) == 0
    assert await value("rest", "911", should_match=False) == 1


@pytest.mark.parametrize(
    ("text", "pattern", "settings"),
    [
        ("Yes", "yes", {"ignore_case": True}),
        ("a\nb", "^b$", {"multiline": True}),
        ("a\nb", "a.b", {"dotall": True}),
        ("  yes \n", "yes|no", {"whole": True}),
        ("yes\n", "yes$", {}),
        ("सीने में दर्द", r"\bदर्द\b", {}),
        ("É", "é", {"ignore_case": True}),
        ("naïve", r"^\w+$", {}),
        ("price: 5", r"(?<=price: )\d", {}),
        ("abab", r"(ab)\1", {}),
    ],
)
async def test_flags_scripts_and_look_around_work_as_in_python(text, pattern, settings):
    assert await value(text, pattern, **settings) == 1


async def test_a_whole_match_covers_all_of_the_reply():
    assert await value("yes and no", "yes", whole=True) == 0


@pytest.mark.parametrize(
    ("pattern", "place"), [("a(b", "at position 3"), ("[z-a]", "at position 4"), ("*", "position 0")]
)
def test_a_pattern_that_does_not_compile_is_told_with_its_position(pattern, place):
    with pytest.raises(InputError, match="does not compile") as caught:
        scorers.build("regex", {"pattern": pattern, "ignore_case": True})

    assert place in str(caught.value)


async def test_nested_repetition_is_answered_at_once_in_linear_time():
    started = time.perf_counter()

    assert await value("a" * 40 + "!", "(a+)+$") == 0
    assert time.perf_counter() - started < 2  # backtracking would take hours


async def test_a_pattern_that_takes_too_long_is_an_error_and_not_a_score():
    started = time.perf_counter()

    with pytest.raises(JudgeError, match="250 ms") as caught:
        await value("a" * 60 + "!", r"(?<!x)(a|aa)+$")

    assert caught.value.kind == "regex_timeout"
    assert time.perf_counter() - started < 2


@pytest.mark.parametrize(("took_ms", "expected"), [(0, 1), (1000, 1), (1250, 0.75), (1500, 0.5), (2000, 0), (9000, 0)])
async def test_the_score_falls_from_the_threshold_to_twice_it(took_ms, expected):
    score = await Performance().score(CASE, Reply(text="x", total_time_ms=took_ms))

    assert score.value == pytest.approx(expected)
    assert (score.measure, score.unit, score.direction) == (took_ms, "ms", "lower")


async def test_slow_parsing_and_slow_replies_are_warned_of():
    slow = await Performance(10_000).score(CASE, Reply(parse_time_ms=1001, total_time_ms=5001))
    fast = await Performance(10_000).score(CASE, Reply(parse_time_ms=1000, total_time_ms=5000))

    assert slow.evidence == {"warnings": ["parse_time_ms 1001 is over 1000", "total_time_ms 5001 is over 5000"]}
    assert fast.evidence is None


async def test_an_unknown_time_is_not_applicable():
    assert (await Performance().score(CASE, Reply(text="x"))).value is None


@pytest.mark.parametrize("took_ms", [-1.0, math.nan, math.inf])
async def test_an_impossible_time_is_an_error(took_ms):
    with pytest.raises(JudgeError, match="cannot be"):
        await Performance().score(CASE, Reply(total_time_ms=took_ms))


@pytest.mark.parametrize("threshold", [0, -5, math.nan, math.inf])
def test_the_threshold_must_be_more_than_zero(threshold):
    with pytest.raises(InputError, match="more than 0"):
        Performance(threshold)
