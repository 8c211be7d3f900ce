"""Checks of single cases, as people write them: `{contains: "112"}`, or `{type: contains, value: "112", weight: 2}`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

from cortex_eval.core import CaseCheck, InputError, did_you_mean
from cortex_eval.datasets.compiling import check_pattern, compile_schema
from cortex_eval.datasets.problems import Mistake, quoted

NOT = "not_"
OPTIONS = ("value", "threshold", "weight", "name", "case_sensitive")
_FOLDED = ("contains", "contains_all", "contains_any", "equals", "starts_with", "ends_with")
"""Types for which upper and lower case are the same unless the check says otherwise."""
_SHARES = ("similar", "edit_similarity")
_EXAMPLE = '[{"contains": "112"}, {"max_words": 80}]'
_OTHER_NAMES = {
    **{f"i{name}": name for name in ("contains", "contains_all", "contains_any", "equals")},
    "length": "max_words",
    "latency": "max_latency_ms",
    "cost": "max_cost_usd",
}
"""Names that are no types, and the ones that may be meant: the first four are types of promptfoo."""


def read_checks(value: Any, field: str) -> list[dict[str, Any]]:  # Any: JSON, here and below
    """The checks of a turn in their canonical form; a mistake names the one that is wrong."""
    if isinstance(value, Mapping):
        value = [value]
    if not isinstance(value, list | tuple):
        raise _wrong(field, f"must be a list of checks such as {_EXAMPLE}, not {quoted(value)}.")
    return [check for index, each in enumerate(value) for check in _read(each, f"{field}[{index}]")]


def what_is_wrong(check: CaseCheck) -> str:
    """What is wrong with a check that Python handed over; empty: nothing."""
    held: dict[str, Any] = {"type": check.type, "value": check.value, "weight": check.weight}
    held |= {"threshold": check.threshold} if check.threshold is not None else {}
    held |= {"case_sensitive": True} if check.case_sensitive else {}
    try:
        canonical = _canonical(held, "check")
    except Mistake as mistake:
        return mistake.message
    if canonical["type"] != check.type:
        return f"there is no check {quoted(check.type)}. Write {canonical['type']!r}."
    if isinstance(check.value, str) and isinstance(canonical.get("value"), int | float):
        return f"{check.type} needs a number, not {quoted(check.value)}."
    return ""


def _read(value: Any, place: str) -> Iterator[dict[str, Any]]:
    """One check, or several that are written as one object: `{contains: "112", max_words: 80}`."""
    if isinstance(value, str):
        value = {"type": value}
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise _wrong(place, f"must be a check such as {{contains: text}}, not {quoted(value)}.")
    if "type" in value:
        if unknown := next((key for key in value if key not in ("type", *OPTIONS)), None):
            raise _wrong(place, f"has {quoted(unknown)}. {did_you_mean(unknown, ('type', *OPTIONS))}")
        yield _canonical(value, place)
        return
    types = [key for key in value if key not in OPTIONS]
    shared = {key: held for key, held in value.items() if key in OPTIONS}
    if not types:
        raise _wrong(place, f"has no type. {did_you_mean('', CHECK_TYPES)}")
    if "value" in shared or (shared and len(types) > 1):
        for each in types:
            _type(each, place)  # a name that is no type is told first: it may be an option
        raise _wrong(place, f"has {', '.join(types)} and {', '.join(shared)}: write {{type: {types[0]}, value: …}}.")
    for each in types:
        yield _canonical({"type": each, "value": value[each], **shared}, place)


def _canonical(given: Mapping[str, Any], place: str) -> dict[str, Any]:
    """The check as it is stored: what is at its default is left out."""
    kind = _type(given["type"], place)
    base = kind.removeprefix(NOT)
    check: dict[str, Any] = {"type": kind}
    value = CHECK_TYPES[base](given.get("value"), f"{place}.{kind}")
    if value is not None:
        check["value"] = value
    if (threshold := given.get("threshold")) is not None:
        check["threshold"] = _threshold(threshold, base, place)
    weight = given.get("weight")
    if weight is not None and (not _is_number(weight) or not 0 <= weight < math.inf):
        raise _wrong(f"{place}.weight", f"must be a number of 0 or more, not {quoted(weight)}.")
    if weight not in (None, 1):
        check["weight"] = float(weight)
    name = given.get("name")
    if name is not None and not isinstance(name, str):
        raise _wrong(f"{place}.name", f"must be text, not {quoted(name)}.")
    if name and not name.isspace():
        check["name"] = name
    is_strict = given.get("case_sensitive", False)
    if not isinstance(is_strict, bool):
        raise _wrong(f"{place}.case_sensitive", f"must be true or false, not {quoted(is_strict)}.")
    if is_strict and base not in _FOLDED:
        hint = " A pattern tells upper from lower case unless it begins with (?i)." if base == "regex" else ""
        raise _wrong(f"{place}.case_sensitive", f"is for {', '.join(_FOLDED)}, not for {base}.{hint}")
    if is_strict:
        check["case_sensitive"] = True
    return check


def _type(found: Any, place: str) -> str:
    """The type in its one spelling: `not-contains` is `not_contains`, and `icontains` is `contains`."""
    plain = found.strip().replace("-", "_").replace(" ", "_").casefold() if isinstance(found, str) else ""
    is_not, base = plain.startswith(NOT), plain.removeprefix(NOT)
    if base in _OTHER_NAMES and base.startswith("i"):
        base = _OTHER_NAMES[base]
    if base in CHECK_TYPES:
        return f"{NOT if is_not else ''}{base}"
    near = get_close_matches(base, (*CHECK_TYPES, *OPTIONS), n=1)
    meant = _OTHER_NAMES.get(base) or (near[0] if near else "")
    meant = f"{NOT}{meant}" if is_not and meant in CHECK_TYPES else meant
    offered = f"Did you mean {meant!r}?" if meant else did_you_mean("", CHECK_TYPES)
    raise _wrong(place, f"there is no check {quoted(found)}. {offered}")


def _threshold(found: Any, base: str, place: str) -> float:
    if base not in (*_SHARES, "levenshtein"):
        raise _wrong(f"{place}.threshold", f"is for {', '.join(_SHARES)} and levenshtein; {base} takes a value only.")
    most = 1 if base in _SHARES else math.inf
    if not _is_number(found) or not 0 <= found <= most or math.isinf(found):
        wanted = "a number from 0 to 1" if base in _SHARES else "a number of characters, 0 or more"
        raise _wrong(f"{place}.threshold", f"must be {wanted}, not {quoted(found)}.")
    return float(found)


def _text(value: Any, place: str) -> str:
    if isinstance(value, list):
        raise _wrong(place, "takes one text. For several: contains_all or contains_any.")
    if _is_number(value):
        return str(value)
    if not isinstance(value, str) or not value.strip():
        raise _wrong(place, f"needs a text, not {quoted(value)}." if value is not None else "needs a text.")
    return value


def _texts(value: Any, place: str) -> list[str]:
    listed = value if isinstance(value, list | tuple) else [value]
    if not listed:
        raise _wrong(place, "needs a text or a list of texts, and the list is empty.")
    return [_text(each, f"{place}[{index}]" if listed is value else place) for index, each in enumerate(listed)]


def _whole(value: Any, place: str) -> Any:
    """A text, or any other JSON that the reply must be."""
    return _text(value, place) if value is None or isinstance(value, str) or _is_number(value) else value


def _pattern(value: Any, place: str) -> str:
    pattern = _text(value, place)
    if problem := _pattern_problem(pattern):
        raise _wrong(place, problem)
    return pattern


@lru_cache(maxsize=4096)
def _pattern_problem(pattern: str) -> str:
    try:
        check_pattern(pattern)
    except InputError as error:
        return str(error)
    return ""


def _schema(value: Any, place: str) -> Any:
    if not isinstance(value, Mapping | bool):
        raise _wrong(place, f"needs a JSON Schema, not {quoted(value)}.")
    try:
        compile_schema(value)
    except InputError as error:
        raise _wrong(place, f"does not hold: {error}") from None
    return value


def _nothing(value: Any, place: str) -> None:
    if value not in (None, True, ""):
        other = "For a form: json_schema." if isinstance(value, Mapping) else "For the opposite: not_ before its name."
        raise _wrong(place, f"takes no value, and has {quoted(value)}. {other}")


def _count(value: Any, place: str) -> int:
    number = _number(value, place)
    if not number.is_integer():
        raise _wrong(place, f"needs a whole number, not {quoted(value)}.")
    return int(number)


def _number(value: Any, place: str) -> float:
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            raise _wrong(place, f"needs a number, not {quoted(value)}.") from None
    if not _is_number(value) or not 0 <= value < math.inf:
        wanted = f"needs a number of 0 or more, not {quoted(value)}." if value is not None else "needs a number."
        raise _wrong(place, wanted)
    return float(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _wrong(place: str, message: str) -> Mistake:
    return Mistake(f"{place}{':' if message.startswith('there') else ''} {message}", field=place, code="wrong_check")


CHECK_TYPES: dict[str, Callable[[Any, str], Any]] = {
    "contains": _text,
    "contains_all": _texts,
    "contains_any": _texts,
    "equals": _whole,
    "starts_with": _text,
    "ends_with": _text,
    "regex": _pattern,
    "is_json": _nothing,
    "contains_json": _nothing,
    "json_schema": _schema,
    "min_words": _count,
    "max_words": _count,
    "max_latency_ms": _number,
    "max_cost_usd": _number,
    "similar": _texts,
    "edit_similarity": _texts,
    "levenshtein": _texts,
}
"""What a check may look for, and what reads its value; `not_` may stand before any of them."""
