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
from msgspec import NODEFAULT, Struct, structs

from cortex_eval.core.case import Attachment, Case, Criterion, Expected, ToolCall, Turn
from cortex_eval.core.redact import Secret
from cortex_eval.core.result import Money, Reply, Score, Span, Usage

T = TypeVar("T", bound=Struct)


def to_json(value: object, *, sort_keys: bool = False) -> bytes:
    """A value as compact JSON, without the fields that are at their defaults."""
    option = orjson.OPT_PASSTHROUGH_DATACLASS
    return orjson.dumps(value, default=_to_plain, option=option | orjson.OPT_SORT_KEYS if sort_keys else option)


def case_from_json(data: bytes | str) -> Case:
    """The case that `to_json` wrote."""
    return case_from_mapping(orjson.loads(data))


def case_from_mapping(row: dict[str, Any]) -> Case:
    """The case with these canonical fields; the mapping is used up."""
    row["turns"] = tuple(_turn(turn) for turn in row["turns"])
    if "history" in row:
        row["history"] = tuple(_turn(turn) for turn in row["history"])
    for name in ("passages", "tags", "experts"):
        if name in row:
            row[name] = tuple(row[name])
    return Case(**row)


def expected_from_mapping(row: Mapping[str, Any]) -> Expected:
    """The expectation with these canonical fields."""
    read: dict[str, Any] = dict(row)
    if "answers" in read:
        read["answers"] = tuple(read["answers"])
    if "tools" in read:
        read["tools"] = tuple(ToolCall(**call) for call in read["tools"])
    if "checklist" in read:
        read["checklist"] = tuple(read["checklist"])
    if "rubric" in read:
        read["rubric"] = tuple(Criterion(**{**line, "tags": tuple(line.get("tags", ()))}) for line in read["rubric"])
    return Expected(**read)


def reply_from_json(data: bytes | str) -> Reply:
    """The reply that `to_json` wrote."""
    row: dict[str, Any] = orjson.loads(data)
    if "tool_calls" in row:
        row["tool_calls"] = tuple(ToolCall(**call) for call in row["tool_calls"])
    if "usage" in row:
        row["usage"] = usage_from_mapping(row["usage"])
    if "attachments" in row:
        row["attachments"] = tuple(Attachment(**each) for each in row["attachments"])
    if "spans" in row:
        row["spans"] = tuple(Span(**each) for each in row["spans"])
    for name in ("contexts", "citations"):
        if name in row:
            row[name] = tuple(row[name])
    return Reply(**row)


def usage_from_mapping(row: Mapping[str, Any]) -> Usage:
    """Tokens and money with these canonical fields."""
    cost = row.get("cost")
    return Usage(**{**row, "cost": Money(**{**cost, "amount": Decimal(cost["amount"])}) if cost else None})


def reply_to_json(reply: Reply) -> tuple[bytes, bytes | None]:
    """A reply as it is stored: all but the target's own payload, and that payload."""
    plain = _to_plain(reply)
    assert isinstance(plain, dict)
    raw = plain.pop("raw", None)
    return to_json(plain), None if raw is None else to_json(raw)


def score_from_mapping(name: str, row: Mapping[str, Any]) -> Score:
    """The score with these stored fields."""
    return Score(**{"value": None, **row, "name": name})


def _turn(row: dict[str, Any]) -> Turn:
    if "expected" in row:
        row["expected"] = expected_from_mapping(row["expected"])
    if "attachments" in row:
        row["attachments"] = tuple(Attachment(**each) for each in row["attachments"])
    return Turn(**row)


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
