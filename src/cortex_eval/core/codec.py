"""Values to JSON and back: only what is not at its default is written, and it reads back equal."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from threading import Lock
from typing import Any, TypeVar

import orjson
from msgspec import Struct, ValidationError, convert, json, structs

from cortex_eval.core.case import Case, Expected
from cortex_eval.core.plain import to_json, to_plain
from cortex_eval.core.result import Reply, Score, Usage

T = TypeVar("T", bound=Struct)


def case_from_json(data: bytes | str) -> Case:
    """The case that `to_json` wrote."""
    return _decoder(Case).decode(data)


def case_from_mapping(row: Mapping[str, Any]) -> Case:
    """The case with these canonical fields."""
    return _converted(row, Case)


def expected_from_mapping(row: Mapping[str, Any]) -> Expected:
    """The expectation with these canonical fields."""
    return _converted(row, Expected)


def reply_from_json(data: bytes | str) -> Reply:
    """The reply that `to_json` wrote; a field that cannot be what it should is left out, such as a masked amount."""
    try:
        return _decoder(Reply).decode(data)
    except ValidationError:
        return Reply(**_sound_fields(orjson.loads(data)))


def _sound_fields(row: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in row.items():
        with suppress(ValidationError, AttributeError):  # of another type, or of a later version
            found[name] = getattr(convert({name: value}, Reply), name)
    return found


def read_back(kind: type[T], value: T) -> tuple[T, int]:
    """A value as it comes back from the store, and its size in bytes as JSON.

    TypeError or ValueError for what foreign code put into it and JSON cannot hold, or does not belong there.
    """
    data = to_json(value)
    try:
        return _decoder(kind).decode(data), len(data)
    except ValidationError as error:
        wrong, _, where = str(error).partition(" - at ")
        raise ValueError(f"{where.strip('`').removeprefix('$.') or 'it'}: {wrong}") from None


def usage_from_mapping(row: Mapping[str, Any]) -> Usage:
    """Tokens and money with these canonical fields."""
    return _converted(row, Usage)


_made: dict[type, json.Decoder[Any]] = {}
_making = Lock()
"""What msgspec knows of a type is seen by other threads while it is half made, and the process crashes."""


def _decoder(kind: type[T]) -> json.Decoder[T]:
    """What reads values of this kind; made when it is first needed."""
    found = _made.get(kind)
    if found is None:
        with _making:
            found = _made.get(kind) or json.Decoder(kind)
            _made[kind] = found
    return found


def _converted(row: Mapping[str, Any], kind: type[T]) -> T:
    _decoder(kind)  # so that it is made under the lock
    return convert(row, kind)


def reply_to_json(reply: Reply) -> tuple[bytes, bytes | None]:
    """A reply as it is stored: all but the target's own payload, and that payload."""
    plain = to_plain(reply)
    assert isinstance(plain, dict)
    raw = plain.pop("raw", None)
    return to_json(plain), None if raw is None else to_json(raw)


def score_from_mapping(name: str, row: Mapping[str, Any]) -> Score:
    """The score with these stored fields."""
    return Score(**{"value": None, **row, "name": name})


def changed(value: T, **fields: Any) -> T:  # Any: the value's own fields
    """The same case, reply or score with other fields."""
    return structs.replace(value, **fields)
