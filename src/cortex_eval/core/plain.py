"""Values as JSON: only what is not at its default is written."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any

import orjson
from msgspec import NODEFAULT, Struct

from cortex_eval.core.redact import Secret


def to_json(value: object, *, sort_keys: bool = False) -> bytes:
    """A value as compact JSON, without the fields that are at their defaults."""
    option = orjson.OPT_PASSTHROUGH_DATACLASS
    return orjson.dumps(value, default=to_plain, option=option | orjson.OPT_SORT_KEYS if sort_keys else option)


def content_id(canonical: bytes) -> str:
    """An id for a case that has none: the same content gets the same id."""
    return hashlib.sha256(canonical).hexdigest()[:12]


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


def to_plain(value: object) -> object:
    """What JSON can hold of a value, one level deep."""
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
