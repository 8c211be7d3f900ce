"""What a judge's text says, read strictly: one JSON object with a verdict in range, or an error that says why not.

Nothing is guessed, clamped or rescaled: a text that could be read in two ways is not read at all.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, NamedTuple

from cortex_eval.core import JudgeError, short_repr, shorten

Scale = Literal["binary", "score"]
"""Pass or fail, which judges do best; or a number from 0 to 1."""
KEYS: Mapping[Scale, str] = {"binary": "verdict", "score": "score"}
VERDICTS = {"pass": 1.0, "fail": 0.0}
FORMS: Mapping[Scale, str] = {
    "binary": '{"reason": "what decides it, in one to three sentences", "verdict": "pass" or "fail"}',
    "score": '{"reason": "what decides it, in one to three sentences", "score": a number from 0 (worst) to 1 (best)}',
}
"""What each scale asks for, in words: for models that nobody holds to a schema."""
LONGEST_REASON = 4000
"""Characters that are kept of a judge's reason."""

_THINKING, _END_OF_THINKING = "<think>", "</think>"
_LONGEST_INTEGER = 30
"""Digits; no score is longer, and Python refuses to read very long ones."""


class JudgeVerdict(NamedTuple):
    """What one judge says of one reply."""

    value: float
    """From 0 to 1; on the binary scale 0 or 1."""
    reason: str


class _Flaw(Exception):  # noqa: N818  # never leaves this file
    """The text is JSON of the kind that cannot be taken at its word."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@cache  # the same object each time, so that a model need look at it only once
def verdict_schema(scale: Scale) -> Mapping[str, Any]:
    """The JSON Schema of a verdict; the reason comes first, so that it is found before the verdict is given."""
    if scale == "binary":
        return choice_schema(KEYS[scale], tuple(VERDICTS))
    # No minimum and maximum: not every service takes them, and `read_verdict` looks anyway.
    return _reasoned(KEYS[scale], {"type": "number", "description": "From 0 (worst) to 1 (best)."})


@cache
def choice_schema(key: str, choices: tuple[str, ...]) -> Mapping[str, Any]:
    """The JSON Schema of a reason and, under this key, one of these words."""
    return _reasoned(key, {"type": "string", "enum": list(choices)})


def read_verdict(text: str, scale: Scale, *, finish_reason: str | None = None) -> JudgeVerdict:
    """The verdict in a judge's text; `JudgeError` with its kind when there is not exactly one, whole and in range."""
    if scale == "binary":
        return read_choice(text, KEYS[scale], VERDICTS, finish_reason=finish_reason)
    found = read_object(text, finish_reason=finish_reason)
    return JudgeVerdict(_read_number(_held(found, KEYS[scale], text), text), _read_reason(found, text))


def read_choice(text: str, key: str, choices: Mapping[str, float], *, finish_reason: str | None = None) -> JudgeVerdict:
    """The word under this key and what it is worth; errors as in `read_verdict`."""
    return read_worth(read_object(text, finish_reason=finish_reason), key, choices, text)


def read_worth(found: Mapping[str, Any], key: str, choices: Mapping[str, float], text: str) -> JudgeVerdict:
    """The same in an object that stands in a judge's text."""
    return JudgeVerdict(_read_word(_held(found, key, text), choices, text), _read_reason(found, text))


def no_verdict(kind: str, why: str, text: str) -> JudgeError:
    """The error of a judge's text that cannot be read, with what it said."""
    said = f" It said: {shorten(text.strip())!r}" if text.strip() else ""
    return JudgeError(f"The judge's answer is no verdict: {shorten(why)}.{said}", kind=kind)


def read_object(text: str, *, finish_reason: str | None = None) -> dict[str, Any]:
    """The one JSON object in a judge's text, be it in a ```json fence or behind a preamble.

    `JudgeError` of the kind `truncated` when it was cut, `ambiguous` when there are several, `not_finite` when a number
    in it is none, `wrong_type` when there is JSON of another type, and `unparseable` otherwise.
    """
    if finish_reason == "length":
        raise no_verdict("truncated", "it was cut at its token limit (max_tokens)", text)
    if finish_reason in ("content_filter", "refusal"):
        raise no_verdict("unparseable", "the model or its service declined to answer", text)
    answer = _without_thinking(text)
    try:
        value = _decoder.decode(answer)
    except json.JSONDecodeError:
        value = _object_within(answer, text)
    except RecursionError:
        raise no_verdict("unparseable", "it is nested too deep", text) from None
    except _Flaw as flaw:
        if answer.startswith("{") or "{" not in answer:
            raise no_verdict(flaw.kind, str(flaw), text) from None
        value = _object_within(answer, text)  # the flaw is in the preamble
    if not isinstance(value, dict):
        raise no_verdict("wrong_type", "it is JSON, but not an object", text)
    return value


def _without_thinking(text: str) -> str:
    """The answer behind the <think> block that some open models begin with."""
    answer = text.strip().removeprefix("\ufeff").lstrip()
    if not answer.startswith(_THINKING):
        return answer
    _, is_over, rest = answer.partition(_END_OF_THINKING)
    if not is_over:
        raise no_verdict("truncated", "it was cut while the model was still thinking", text)
    return rest.strip()


def _object_within(answer: str, text: str) -> Any:  # Any: JSON
    """The only object in a text that is not all JSON."""
    start = answer.find("{")
    if start < 0:
        raise no_verdict("unparseable", "there is no JSON object in it", text)
    try:
        value, end = _decoder.raw_decode(answer, start)
    except (json.JSONDecodeError, RecursionError):
        if _is_cut(answer, start):
            raise no_verdict("truncated", "its JSON has no end", text) from None
        raise no_verdict("unparseable", "what stands in braces is not JSON", text) from None
    except _Flaw as flaw:
        raise no_verdict(flaw.kind, str(flaw), text) from None
    if "{" in answer[end:]:
        raise no_verdict("ambiguous", "there is more than one object in it", text)
    if "}" in answer[:start] + answer[end:]:
        raise no_verdict("unparseable", "its braces do not match", text)
    return value


def _is_cut(text: str, start: int) -> bool:
    """Whether the object that begins here has no closing brace; braces inside of texts do not count."""
    depth, is_quoted, is_escaped = 0, False, False
    for letter in text[start:]:
        if is_escaped:
            is_escaped = False
        elif is_quoted:
            is_escaped, is_quoted = letter == "\\", letter != '"'
        elif letter == '"':
            is_quoted = True
        elif letter in "{}":
            depth += 1 if letter == "{" else -1
            if depth == 0:
                return False
    return True


def _reasoned(key: str, value: Mapping[str, Any]) -> Mapping[str, Any]:
    reason = {"type": "string", "description": "What decides it, in one to three sentences."}
    return {
        "type": "object",
        "properties": {"reason": reason, key: value},
        "required": ["reason", key],
        "additionalProperties": False,
    }


def _held(found: Mapping[str, Any], key: str, text: str) -> object:
    if key not in found:
        raise no_verdict("wrong_type", f"there is no {key!r} in it", text)
    return found[key]


def _read_reason(found: Mapping[str, Any], text: str) -> str:
    reason = found.get("reason", "")
    if not isinstance(reason, str):
        raise no_verdict("wrong_type", "its 'reason' is not text", text)
    return shorten(reason.strip(), LONGEST_REASON)


def _read_word(value: object, choices: Mapping[str, float], text: str) -> float:
    word = value.strip().lower() if isinstance(value, str) else ""
    if word not in choices:
        known = " or ".join(map(repr, choices))
        raise no_verdict("wrong_type", f"the verdict is {short_repr(value)}, not {known}", text)
    return choices[word]


def _read_number(value: object, text: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise no_verdict("wrong_type", f"the score is {short_repr(value)}, not a number", text)
    if not 0 <= value <= 1:
        raise no_verdict("out_of_range", f"the score is {short_repr(value)}, not from 0 to 1", text)
    return float(value) + 0.0  # -0.0 becomes 0.0


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Flaw("ambiguous", "it says the same key twice")
    return found


def _float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise _Flaw("not_finite", f"{shorten(text, 40)} is not a finite number")
    return value


def _integer(text: str) -> int:
    if len(text) > _LONGEST_INTEGER:
        raise _Flaw("out_of_range", "it has a number of more digits than any score has")
    return int(text)


_decoder = json.JSONDecoder(
    object_pairs_hook=_object,
    parse_float=_float,
    parse_int=_integer,
    parse_constant=_float,
    strict=False,  # a line break inside a text is not written as JSON wants it, and still cannot mean anything else
)
