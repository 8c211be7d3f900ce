"""Reading what people wrote into dataclasses and structs: types, ranges, unknown keys; every mistake with its place.

Pydantic would do this too, for a quarter of a second at every start of the command line.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from msgspec import NODEFAULT, Struct

from cortex_eval.core.errors import InputError, Problem, did_you_mean
from cortex_eval.core.plain import struct_defaults
from cortex_eval.core.redact import Secret, is_secret, shorten

T = TypeVar("T")
KeyPath = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Range:
    """The numbers that a setting may have, as in `Annotated[float, Range(0, 1)]`."""

    low: float
    high: float


class Spelled(str):
    """Text that may spell a number or a truth value: what a variable of the environment holds."""

    __slots__ = ()

    def value_for(self, kind: object) -> object:
        """The value of this kind that it spells, or the text itself."""
        if kind is bool:
            return {"true": True, "false": False}.get(self.lower(), self)
        try:
            return float(self) if kind in (int, float) else self
        except ValueError:
            return self


class Mistake(NamedTuple):
    """Something that cannot be what it should be."""

    path: KeyPath
    message: str
    kind: Literal["unknown", "missing", "wrong"]

    def problem(self, owner: str) -> Problem:
        """The same for whoever looks after this owner's settings."""
        code = "unknown_key" if self.kind == "unknown" else "invalid"
        return Problem(field=".".join([owner, *map(str, self.path[-1:])]), message=self.message, code=code)


class _Wrong:
    """What stands in for a value that could not be read."""


WRONG = _Wrong()


def read_settings(cls: type[T], values: Mapping[str, Any], path: KeyPath = ()) -> tuple[T | None, list[Mistake]]:
    """A dataclass from the keys of a mapping, and everything that is wrong with them.

    A field with a wrong value gets its default, so that later steps can find more mistakes; None when it has none.
    `field(metadata={"alias": …})` names a second spelling; `{"rest": True}` marks the field that takes unknown keys.
    """
    mistakes: list[Mistake] = []
    read = _read_fields(cls, values, path, mistakes)
    return (None if isinstance(read, _Wrong) else cast("T", read)), mistakes


def check_settings(cls: type, settings: Mapping[str, Any], *, owner: str, also: Sequence[str] = ()) -> dict[str, Any]:
    """The settings of a dataclass, with every value of the right type; raises InputError with a problem per field.

    `also` names keys that may stand beside them, for those who misspelt one.
    """
    mistakes: list[Mistake] = []
    known = _settable(cls)
    found: dict[str, Any] = {}
    for key, value in settings.items():
        if key not in known:
            message = f"{owner} has no setting {key!r}. {did_you_mean(str(key), [*known, *also])}"
            mistakes.append(Mistake((key,), message, "unknown"))
            continue
        found[key] = _read(_hints(cls)[key], value, (owner, key), mistakes)
    for name, each in known.items():
        if name not in settings and not each.has_default:
            mistakes.append(Mistake((owner, name), f"{owner}.{name} is missing.", "missing"))
    if mistakes:
        raise InputError([each.problem(owner) for each in mistakes])
    return found


def short_repr(value: object, width: int = 80) -> str:
    """A value as it was found, redacted and cut to a readable length."""
    return shorten(repr(value), width)


def wanted(hint: Any) -> str:  # Any: a type, or what typing makes of one
    """What a value should be, in words."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        limits = [each for each in arguments[1:] if isinstance(each, Range)]
        base = wanted(arguments[0])
        return f"{base} from {limits[0].low:g} to {limits[0].high:g}" if limits else base
    if origin in (Union, UnionType):
        words = [wanted(each) for each in arguments if each is not NoneType]
        return " or ".join(dict.fromkeys(words))
    if origin is Literal:
        return " or ".join(repr(each) for each in arguments)
    kind = origin or hint
    simple = {bool: "true or false", int: "a whole number", float: "a number", str: "text", Path: "a path"}
    if kind in simple:
        return simple[kind]
    if isinstance(kind, type) and (is_dataclass(kind) or issubclass(kind, (Struct, Mapping))):
        return "keys and values"
    if isinstance(kind, type) and issubclass(kind, (Sequence, set, frozenset)):
        return "a list"
    return getattr(kind, "__name__", str(kind)).lower()


def _read(hint: Any, value: Any, path: KeyPath, mistakes: list[Mistake]) -> Any:
    """The value as the hint wants it; WRONG, with a mistake noted, when it cannot be that."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any or hint is object:
        return value
    if origin is Annotated:
        return _read_limited(hint, value, path, mistakes)
    if origin in (Union, UnionType):
        return _read_union(hint, value, path, mistakes)
    if origin is Literal:
        kind = str if isinstance(value, Spelled) else type(value)
        is_one = any(value == each and kind is type(each) for each in arguments)
        return value if is_one else _wrong(hint, value, path, mistakes)
    kind = origin or hint
    has_fields = is_dataclass(kind) or (isinstance(kind, type) and issubclass(kind, Struct))
    if has_fields and isinstance(value, Mapping):
        return _read_fields(cast("type", kind), value, path, mistakes)
    if isinstance(kind, type) and issubclass(kind, Mapping) and isinstance(value, Mapping):
        item = arguments[1] if arguments else Any
        read = {key: _read(item, each, (*path, key), mistakes) for key, each in value.items()}
        return {key: each for key, each in read.items() if each is not WRONG}
    if kind is not str and isinstance(kind, type) and issubclass(kind, Sequence):
        is_list = isinstance(value, (list, tuple))  # a text is a sequence too, of letters
        return _read_list(kind, arguments, value, path, mistakes) if is_list else _wrong(hint, value, path, mistakes)
    return _read_plain(hint, kind, value, path, mistakes)


def _read_plain(hint: Any, kind: Any, value: Any, path: KeyPath, mistakes: list[Mistake]) -> Any:
    value = value.value_for(kind) if isinstance(value, Spelled) else value
    if kind is float and isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    if kind is Path and isinstance(value, (str, Path)):
        return Path(value)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind is int and is_number and math.isfinite(value) and value == int(value):
        return int(value)
    if kind in (int, float) or not isinstance(kind, type) or not isinstance(value, kind):
        return _wrong(hint, value, path, mistakes)
    return value


def _read_limited(hint: Any, value: Any, path: KeyPath, mistakes: list[Mistake]) -> Any:
    base, *notes = get_args(hint)
    inner: list[Mistake] = []
    read = _read(base, value, path, inner)
    limits = [each for each in notes if isinstance(each, Range)]
    if inner or any(not each.low <= read <= each.high for each in limits):
        return _wrong(hint, value, path, mistakes)
    return read


def _read_union(hint: Any, value: Any, path: KeyPath, mistakes: list[Mistake]) -> Any:
    branches = get_args(hint)
    if value is None and NoneType in branches:
        return None
    closest: list[Mistake] | None = None
    for branch in branches:
        inner: list[Mistake] = []
        read = _read(branch, value, path, inner)
        if not inner:
            return read
        if any(len(each.path) > len(path) for each in inner):
            closest = inner  # it has the right form, and says what is wrong inside
    if closest is None:
        return _wrong(hint, value, path, mistakes)
    mistakes += closest
    return WRONG


def _read_list(kind: type, arguments: Any, value: Sequence[Any], path: KeyPath, mistakes: list[Mistake]) -> Any:
    item = arguments[0] if arguments else Any
    read = [_read(item, each, (*path, number), mistakes) for number, each in enumerate(value)]
    sound = [each for each in read if each is not WRONG]
    return sound if issubclass(kind, list) else tuple(sound)


def _read_fields(cls: type, values: Mapping[str, Any], path: KeyPath, mistakes: list[Mistake]) -> Any:
    known = _settable(cls)
    aliases = {each.metadata["alias"]: name for name, each in known.items() if "alias" in each.metadata}
    rest = next((name for name, each in known.items() if each.metadata.get("rest")), None)
    found: dict[str, Any] = {}
    others: dict[str, Any] = {}
    for key, value in values.items():
        name = aliases.get(key, key)
        if name in known and name != rest:
            found[name] = _read(_hints(cls)[name], value, (*path, key), mistakes)
        elif rest is not None:
            others[key] = value
        else:
            where = ".".join(map(str, (*path, key)))
            names = [*(name for name in known), *aliases]
            mistakes.append(
                Mistake((*path, key), f"there is no key {where!r}. {did_you_mean(str(key), names)}", "unknown")
            )
    if rest is not None:
        found[rest] = others
    found = {name: value for name, value in found.items() if value is not WRONG}
    missing = [name for name, each in known.items() if name not in found and not each.has_default]
    for name in missing:
        if name not in values:
            where = ".".join(map(str, (*path, name)))
            mistakes.append(Mistake((*path, name), f"{where} is missing.", "missing"))
    return WRONG if missing else cls(**found)


def _wrong(hint: Any, value: Any, path: KeyPath, mistakes: list[Mistake]) -> _Wrong:
    where = ".".join(map(str, path))
    is_hidden = isinstance(value, Secret) or is_secret(path[-1])
    shown = "what is there (it is not shown)" if is_hidden else shorten(short_repr(value))
    mistakes.append(Mistake(path, f"{where}: must be {wanted(hint)}, not {shown}.", "wrong"))
    return WRONG


@cache
def _hints(cls: type) -> dict[str, Any]:
    try:
        return get_type_hints(cls, include_extras=True)
    except NameError as error:
        raise InputError(
            f"The settings of {cls.__module__}.{cls.__qualname__} cannot be checked: {error.name!r} is not known when "
            "it runs. Import it outside of `if TYPE_CHECKING:`."
        ) from error


class _Key(NamedTuple):
    """A field that people may give a value."""

    has_default: bool
    metadata: Mapping[str, Any]


@cache
def _settable(cls: type) -> dict[str, _Key]:
    if issubclass(cls, Struct):
        return {name: _Key(default is not NODEFAULT, {}) for name, default in struct_defaults(cls).items()}
    return {
        each.name: _Key(each.default is not MISSING or each.default_factory is not MISSING, each.metadata)
        for each in fields(cast("Any", cls))  # Any: no type says that a class is a dataclass
        if each.init
    }
