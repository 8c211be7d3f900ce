"""Values to JSON and back: only what is not at its default is written, and it reads back equal."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar

import orjson
from msgspec import NODEFAULT, Struct, convert, json, structs

from cortex_eval.core.case import Case, Expected
from cortex_eval.core.redact import Secret
from cortex_eval.core.result import Reply, Score, Usage

T = TypeVar("T", bound=Struct)


def to_json(value: object, *, sort_keys: bool = False) -> bytes:
    """A value as compact JSON, without the fields that are at their defaults."""
    option = orjson.OPT_PASSTHROUGH_DATACLASS
    return orjson.dumps(value, default=_to_plain, option=option | orjson.OPT_SORT_KEYS if sort_keys else option)


def case_from_json(data: bytes | str) -> Case:
    """The case that `to_json` wrote."""
    return _decoder(Case).decode(data)


def case_from_mapping(row: Mapping[str, Any]) -> Case:
    """The case with these canonical fields."""
    return convert(row, Case)


def expected_from_mapping(row: Mapping[str, Any]) -> Expected:
    """The expectation with these canonical fields."""
    return convert(row, Expected)


def reply_from_json(data: bytes | str) -> Reply:
    """The reply that `to_json` wrote."""
    return _decoder(Reply).decode(data)


def usage_from_mapping(row: Mapping[str, Any]) -> Usage:
    """Tokens and money with these canonical fields."""
    return convert(row, Usage)


_made: dict[type, json.Decoder[Any]] = {}


def _decoder(kind: type[T]) -> json.Decoder[T]:
    """What reads values of this kind; made when it is first needed."""
    found = _made.get(kind)
    if found is None:
        found = _made[kind] = json.Decoder(kind)
    return found


def reply_to_json(reply: Reply) -> tuple[bytes, bytes | None]:
    """A reply as it is stored: all but the target's own payload, and that payload."""
    plain = _to_plain(reply)
    assert isinstance(plain, dict)
    raw = plain.pop("raw", None)
    return to_json(plain), None if raw is None else to_json(raw)


def score_from_mapping(name: str, row: Mapping[str, Any]) -> Score:
    """The score with these stored fields."""
    return Score(**{"value": None, **row, "name": name})


def changed(value: T, **fields: Any) -> T:  # Any: the value's own fields
    """The same case, reply or score with other fields."""
    return structs.replace(value, **fields)


@cache
def _defaults(kind: Any) -> tuple[Callable[[Any], tuple[Any, ...]], tuple[tuple[str, object], ...]]:
    """What gets the fields of a value, and what each is called and is by default."""

    if issubclass(kind, Struct):
        named = struct_defaults(kind)
    else:
        named = {
            f.name: f.default if f.default_factory is dataclasses.MISSING else f.default_factory()
            for f in dataclasses.fields(kind)
        }
    names = [*named]
    get = attrgetter(*names) if len(names) > 1 else lambda value: (getattr(value, names[0]),)
    return get, tuple(named.items())


def struct_defaults(kind: type[Struct]) -> dict[str, object]:
    """The fields of a struct with their defaults, NODEFAULT where one has none.

    `structs.fields` looks the types up too, which fails where one is imported only for the type checker.
    """
    names, defaults = kind.__struct_fields__, kind.__struct_defaults__
    found = (*(NODEFAULT,) * (len(names) - len(defaults)), *defaults)
    return {
        name: each.factory() if type(each).__name__ == "Factory" else each
        for name, each in zip(names, found, strict=True)
    }


def _to_plain(value: object) -> object:
    if isinstance(value, Struct) or (hasattr(value, "__dataclass_fields__") and not isinstance(value, type)):
        kind: Any = type(value)  # mypy takes no class for hashable
        get, named = _defaults(kind)
        return {
            name: held
            for held, (name, default) in zip(get(value), named, strict=True)
            if held is not default and held != default
        }
    if isinstance(value, (Decimal, Path, Secret)):
        return str(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")
