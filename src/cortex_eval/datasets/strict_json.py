"""JSON without its traps: no repeated keys, no NaN, no endless nesting, no numbers that lose digits."""

from __future__ import annotations

import json
import math
from json import JSONDecodeError
from typing import Any

import orjson

from cortex_eval.datasets.problems import MAX_DEPTH, Mistake, quoted

_PLAIN = frozenset({str, int, bool, type(None)})
_SMALLEST, _LARGEST = -(2**63), 2**64 - 1
"""What every database and every JSON reader around us holds exactly."""


def decode(text: str) -> Any:  # Any: JSON
    """The value that a text holds; `Mistake` when it is not strict JSON, `JSONDecodeError` when it is no JSON."""
    text = text.strip(" \t\r\n")  # what JSON calls blank; `str.strip` alone would take U+00A0 and the like
    if (row := _plain_row(text)) is not None:
        return row
    value, end = decode_from(text, 0)
    if end != len(text):
        raise JSONDecodeError("Extra data", text, end)
    return value


def _plain_row(text: str) -> dict[str, Any] | None:  # Any: JSON
    """The row of most datasets, an object of texts and whole numbers, read at a quarter of the cost; None: look closer.

    As many `":` as keys: none is there twice. What orjson does not take, or not exactly, is looked at closely.
    """
    try:
        row: dict[str, Any] = orjson.loads(text)
    except ValueError:
        return None
    if type(row) is not dict or text.count('":') != len(row):
        return None
    for value in row.values():
        if type(value) not in _PLAIN:
            return None
    return row


def decode_from(text: str, start: int) -> tuple[Any, int]:  # Any: JSON
    """The value that begins at `start`, and where it ends."""
    _decoder.doubts = False
    _decoder.repeated = None
    try:
        value, end = _decoder.raw_decode(text, start)
    except RecursionError:
        raise _too_deep() from None
    try:
        if text.count("[", start, end) + text.count("{", start, end) > MAX_DEPTH and depth(value) > MAX_DEPTH:
            raise _too_deep()
        if _decoder.doubts:
            _decoder.check(value)
    except Mistake as mistake:
        mistake.end = end
        raise
    return value, end


def check_numbers(value: object) -> None:
    """Every number is finite and fits into 64 bits; a `Mistake` names the path of the first that does not."""
    for path, number in _numbers(value, ""):
        if isinstance(number, float):
            if not math.isfinite(number):
                where = path or "the value"
                raise Mistake(
                    f"{where} is {_spelled(number)}, which is not a number JSON can hold.",
                    field=path,
                    code="not_finite",
                )
        elif not _SMALLEST <= number <= _LARGEST:
            raise Mistake(
                f"{path or 'the value'} is an integer of more than 64 bits ({quoted(number, 30)}); write it as text.",
                field=path,
                code="too_large",
            )


def depth(value: object) -> int:
    """How deep lists and mappings are nested; 0 for a plain value."""
    deepest = 0
    stack = [(value, 0)]
    while stack:
        held, level = stack.pop()
        deepest = max(deepest, level)
        if isinstance(held, dict):
            stack.extend((each, level + 1) for each in held.values())
            deepest = max(deepest, level + 1)
        elif isinstance(held, list | tuple):
            stack.extend((each, level + 1) for each in held)
            deepest = max(deepest, level + 1)
    return deepest


class _Decoder(json.JSONDecoder):
    """The standard decoder (its C scanner), with an ear for what JSON does not allow."""

    def __init__(self) -> None:
        self.doubts = False
        self.repeated: str | None = None
        super().__init__(
            object_pairs_hook=self._object,
            parse_constant=self._constant,
            parse_float=self._float,
            parse_int=self._int,
        )

    def check(self, value: object) -> None:
        """Turn the doubts that came up on the way into a `Mistake`, or dispel them."""
        if self.repeated is not None:
            raise Mistake(f"the key {quoted(self.repeated)} is there twice.", field=self.repeated, code="duplicate_key")
        check_numbers(value)

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:  # Any: JSON
        found = dict(pairs)
        if len(found) != len(pairs):
            keys = [key for key, _ in pairs]
            self.doubts = True
            self.repeated = next(key for key in found if keys.count(key) > 1)
        return found

    def _constant(self, name: str) -> float:
        self.doubts = True
        return float(name)

    def _float(self, text: str) -> float:
        value = float(text)
        if math.isinf(value):
            self.doubts = True
        return value

    def _int(self, text: str) -> int:
        if len(text) <= 18:
            return int(text)
        self.doubts = True
        return int(text) if len(text) <= 1000 else 10**1000  # Python refuses to read very long ones; the check names it


_decoder = _Decoder()


def _too_deep() -> Mistake:
    return Mistake(f"lists and objects are nested more than {MAX_DEPTH} deep.", code="too_deep")


def _numbers(value: object, path: str) -> Any:  # Any: an iterator of (path, int | float)
    if isinstance(value, bool):
        return
    if isinstance(value, int | float):
        yield path, value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from _numbers(each, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list | tuple):
        for index, each in enumerate(value):
            yield from _numbers(each, f"{path}[{index}]")


def _spelled(number: float) -> str:
    return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"
