"""Single values of a row, checked by hand: a dataset of ten thousand rows is read in a tenth of a second."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from json import JSONDecodeError
from typing import Any

from cortex_eval.core import CaseCheck, did_you_mean, unboxed
from cortex_eval.datasets.attached import media_type_of
from cortex_eval.datasets.names import ROLES, TIERS
from cortex_eval.datasets.problems import Mistake, quoted
from cortex_eval.datasets.strict_json import decode

Read = Callable[[Any, str], Any]
"""Value and field name in, canonical value out; None: nothing is there. Any: JSON, as people write it."""


def wrong(field: str, wanted: str, found: object) -> Mistake:
    """The mistake of a value that is not of its kind."""
    return Mistake(f"{field} must be {wanted}, not {quoted(found)}.", field=field, code="wrong_value")


def text(value: Any, field: str) -> str | None:
    """A text as it stands; blank is nothing."""
    if type(value) is not str:
        raise wrong(field, "text", value)
    return value if value and not value.isspace() else None


def name(value: Any, field: str) -> str | None:
    """A word such as a category; a number is read as its digits."""
    if type(value) is str:
        return value if value and not value.isspace() else None
    if not is_number(value):
        raise wrong(field, "text", value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # a column of numbers with gaps comes as 1.0, 2.0, …
    return str(value)


def is_number(value: Any) -> bool:
    """Whether a value is a number; true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def answers(value: Any, field: str) -> list[str] | None:
    """Good answers: a list of texts, of `{text}`, or `{text: [...]}`; None when the object holds something else."""
    if isinstance(value, Mapping):
        value = value.get("text")
        if not isinstance(value, list | tuple):
            return None
    elif isinstance(value, list | tuple) and value and all(isinstance(each, Mapping) for each in value):
        value = [each.get("text") for each in value]
        if not all(isinstance(each, str) for each in value):
            return None
    else:
        return texts(value, field)
    return list(dict.fromkeys(texts(value, field)))  # people who marked the same words


def flag(value: Any, field: str) -> bool:
    """True or false, also as a cell says it."""
    if isinstance(value, bool):
        return value
    word = str(value).strip().casefold()
    if word in {"true", "yes", "1"}:
        return True
    if word in {"false", "no", "0", ""}:
        return False
    raise wrong(field, "true or false", value)


def tier(value: Any, field: str) -> int | None:
    """1 to 5, or one of the words for it."""
    if isinstance(value, str):
        word = value.strip().casefold()
        if not word:
            return None
        if word in TIERS:
            return TIERS[word]
        if word.isdecimal():
            value = int(word)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 5:
        raise wrong(field, "1 to 5, or one of " + ", ".join(TIERS), value)
    return value


def is_tier(word: str) -> bool:
    """Whether a text is a number, or one of the words for a tier."""
    return word.strip().casefold() in TIERS or word.strip().lstrip("+-").isdecimal()


def texts(value: Any, field: str) -> list[str]:
    """A list of texts; one text is a list of one."""
    if isinstance(value, str):
        return [value] if value and not value.isspace() else []
    if not isinstance(value, list | tuple):
        raise wrong(field, "a list of texts", value)
    for index, each in enumerate(value):
        if not isinstance(each, str):
            raise wrong(f"{field}[{index}]", "text", each)
    return list(value)


def words(value: Any, field: str) -> list[str]:
    """Tags: a list, or a cell with ; or , between them."""
    if isinstance(value, str):
        return [word.strip() for word in value.replace(";", ",").split(",") if word.strip()]
    return texts(value, field)


def labels(value: Any, field: str) -> list[str | None]:
    """One label per expert; None where an expert gave none."""
    if not isinstance(value, list | tuple):
        raise wrong(field, "a list of labels", value)
    return [None if each is None else name(each, f"{field}[{index}]") for index, each in enumerate(value)]


def mapping(value: Any, field: str) -> dict[str, Any]:  # Any: JSON
    """An object with names for keys."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise wrong(field, "an object with named values", value)
    return dict(value)


def entities(value: Any, field: str) -> dict[str, Any]:  # Any: JSON
    """Names with values, or a list of {slot, value}: a slot that comes several times gets a list."""
    if not isinstance(value, list | tuple):
        return mapping(value, field)
    found: dict[str, list[Any]] = {}  # Any: JSON
    for index, each in enumerate(value):
        place = f"{field}[{index}]"
        pair = mapping(each, place)
        slot = next((pair[key] for key in ("slot", "entity", "name", "type") if isinstance(pair.get(key), str)), None)
        held = pair.get("value", pair.get("text"))
        if slot is None or held is None:
            raise wrong(place, "an object with slot and value", each)
        found.setdefault(slot, []).append(held)
    return {slot: held[0] if len(held) == 1 else held for slot, held in found.items()}


def tools(value: Any, field: str) -> list[dict[str, Any]]:  # Any: JSON
    """Calls in order: names, or {name, arguments}."""
    calls: list[dict[str, Any]] = []  # Any: JSON
    for index, each in enumerate(
        [value] if isinstance(value, str | Mapping) else _sequence(value, field, "a list of tools")
    ):
        place = f"{field}[{index}]"
        if isinstance(each, str) and each:
            calls.append({"name": each})
            continue
        name, arguments = unboxed(mapping(each, place))
        if not isinstance(name, str) or not name:
            raise wrong(f"{place}.name", "the name of a tool", name)
        kept = {} if arguments is None else {"arguments": mapping(arguments, f"{place}.arguments")}
        calls.append({"name": name, **kept})
    return calls


def rubric(value: Any, field: str) -> list[dict[str, Any]]:  # Any: JSON
    """Criteria with points, negative for what must not be there; a plain text is worth one point."""
    lines: list[dict[str, Any]] = []  # Any: JSON
    for index, each in enumerate(_sequence(value, field, "a list of criteria")):
        place = f"{field}[{index}]"
        row = {"criterion": each} if isinstance(each, str) else mapping(each, place)
        criterion = row.get("criterion")
        if not isinstance(criterion, str) or not criterion.strip():
            raise wrong(f"{place}.criterion", "text", criterion)
        line: dict[str, Any] = {"criterion": criterion}  # Any: JSON
        points = row.get("points", 1.0)
        if isinstance(points, bool) or not isinstance(points, int | float) or not math.isfinite(points):
            raise wrong(f"{place}.points", "a number", points)
        if points != 1:
            line["points"] = float(points)
        if row.get("tags"):
            line["tags"] = texts(row["tags"], f"{place}.tags")
        lines.append(line)
    return lines


def checks(value: Any, field: str) -> list[dict[str, Any]]:  # Any: JSON
    """What must hold of the reply, each as its type and value."""
    from cortex_eval.datasets.checks import read_checks  # most datasets have none, and start sooner without it

    return read_checks(value, field)


def wrong_checks(given: Sequence[CaseCheck]) -> list[str]:
    """What is wrong with checks that Python handed over."""
    if not given:
        return []
    from cortex_eval.datasets.checks import what_is_wrong  # as above

    return [wrong for check in given if (wrong := what_is_wrong(check))]


def messages(value: Any, field: str) -> list[dict[str, Any]]:  # Any: JSON
    """What was said, as turns with a role."""
    said: list[dict[str, Any]] = []  # Any: JSON
    for index, each in enumerate(_sequence(value, field, "a list of messages")):
        place = f"{field}[{index}]"
        message = mapping(each, place)
        word = _first(message, "role", "from", "type") or "user"
        role = ROLES.get(word.casefold()) if isinstance(word, str) else None
        if role is None:
            raise Mistake(
                f"{place}.role {quoted(word)} is not known. {did_you_mean(str(word), ROLES)}", field=f"{place}.role"
            )
        content = _content(_first(message, "content", "value", "text"), f"{place}.content")
        said.append({"text": content} if role == "user" else {"text": content, "role": role})
    return said


def attachments(value: Any, field: str) -> list[dict[str, Any]]:  # Any: JSON
    """Attachments by their path, which is pinned later, or by their SHA-256, as an export writes them."""
    kept: list[dict[str, Any]] = []  # Any: JSON
    for index, each in enumerate(_sequence(value, field, "a list of attachments")):
        place = f"{field}[{index}]"
        row = mapping({"path": each} if isinstance(each, str) else each, place)
        if path := row.get("path"):
            path = name(path, f"{place}.path")
            media_type = name(row.get("media_type", media_type_of(str(path))), f"{place}.media_type")
            kept.append({"media_type": media_type, "name": path})
            continue
        for key, kind in (("sha256", str), ("media_type", str), ("size", int)):
            if type(row.get(key)) is not kind:
                raise wrong(f"{place}.{key}", "text" if kind is str else "a whole number", row.get(key))
        line = {key: row[key] for key in ("sha256", "media_type", "size")}
        kept.append({**line, "name": name(row["name"], f"{place}.name")} if row.get("name") else line)
    return kept


def from_cell(read: Read) -> Read:
    """The same reader for a cell, which holds its list or object as JSON."""

    def read_cell(value: Any, field: str) -> Any:  # Any: see Read
        return read(json_cell(value, field), field)

    return read_cell


def json_cell(value: Any, field: str) -> Any:  # Any: see Read
    """What a cell holds as JSON; what is no text, or no list or object, stays as it is."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("[", "{"):
        return value
    try:
        return decode(value)
    except JSONDecodeError as error:
        raise Mistake(
            f"{field} begins like JSON but is not valid: {error.msg} at character {error.pos}.",
            field=field,
            code="invalid_json",
        ) from None


def _first(message: Mapping[str, Any], *names: str) -> Any:  # Any: JSON
    return next((message[name] for name in names if name in message), None)


def _content(value: Any, field: str) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    parts = _sequence(value, field, "text")
    for part in parts:
        if not isinstance(part, Mapping) or not isinstance(part.get("text"), str):
            raise wrong(field, "text, or parts of text", part)
    return "\n".join(part["text"] for part in parts)


def _sequence(value: Any, field: str, wanted: str) -> Sequence[Any]:  # Any: JSON
    if not isinstance(value, list | tuple):
        raise wrong(field, wanted, value)
    return value
