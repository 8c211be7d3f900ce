"""Describing a service in the project file: what to send, and where in its answer things are."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from difflib import get_close_matches
from typing import Any, NamedTuple

from cortex_eval.core import InputError, Reply, TargetError, ToolCall, did_you_mean, short_repr, shorten, to_json
from cortex_eval.targets.conversation import Conversation
from cortex_eval.targets.replies import tool_call_from

PLACEHOLDER = re.compile(r"\{([a-z_]+(?:\.[\w-]+(?: [\w-]+)*)*)\}")
WITH_FIELDS = ("context", "metadata")
"""Placeholders of which one field may be named: `{context.age}`."""
PATH_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+|\*)\]|\['([^']+)'\]")

DIVIDED = re.compile(r"(\$.*?)\s*/\s*(\d+(?:\.\d+)?)\s*")

EVERY = None
"""The step `[*]`."""
TELLING = 5
"""Answers without what a path leads to, and none with it, after which it is told."""

SENDABLE = (
    "case_id",
    "category",
    "context",
    "input",
    "language",
    "messages",
    "metadata",
    "passages",
    "session_id",
    "turn_number",
    "user_id",
)
READABLE = tuple(
    name
    for name in Reply.__struct_fields__
    if name not in ("attachments", "attempts", "cached", "metadata", "raw", "spans", "total_time_ms", "usage")
)
READABLE_SET = frozenset(READABLE)
LISTS = ("contexts", "citations", "tool_calls")
NUMBERS = ("confidence", "parse_time_ms", "first_token_ms")
_WANTED: Mapping[Any, str] = {dict: "an object", bool: "true or false", str: "a text", (int, float): "a number"}
_GIVEN: Mapping[type, str] = {
    dict: "an object",
    list: "a list",
    bool: "true or false",
    str: "a text",
    type(None): "null",
}


def check_template(template: object, *, field: str, also: tuple[str, ...] = ()) -> None:
    """Raise InputError for a placeholder that does not exist; `also` are those that only this kind of target has."""
    if isinstance(template, str):
        known = (*SENDABLE, *also)
        for name in PLACEHOLDER.findall(template):
            head, dot, _ = name.partition(".")
            if dot and head not in WITH_FIELDS and head in known:
                raise InputError(f"{field}: {{{head}}} has no fields; only {{context.…}} and {{metadata.…}} have.")
            if head not in known:
                raise InputError(f"{field}: there is no placeholder {{{name}}}. {did_you_mean(head, known)}")
    elif isinstance(template, Mapping):
        for value in template.values():
            check_template(value, field=field, also=also)
    elif isinstance(template, (list, tuple)):
        for value in template:
            check_template(value, field=field, also=also)


def fill_template(template: Any, values: Mapping[str, Any]) -> Any:
    """The request body: a string that is just `{name}` becomes the value itself, others get its text; one pass.

    `TargetError` when a case does not have a field that is named, such as `{context.age}`.
    """
    if isinstance(template, str):
        whole = PLACEHOLDER.fullmatch(template)
        if whole:
            return _value(whole[1], values)
        return PLACEHOLDER.sub(lambda match: _as_text(_value(match[1], values)), template)
    if isinstance(template, Mapping):
        return {key: fill_template(value, values) for key, value in template.items()}
    if isinstance(template, (list, tuple)):
        return [fill_template(value, values) for value in template]
    return template


def _value(name: str, values: Mapping[str, Any]) -> Any:
    head, dot, rest = name.partition(".")
    here = values[head]
    if dot and isinstance(here, Mapping) and rest in here:  # a column may have a dot in its name
        return here[rest]
    for step in rest.split(".") if dot else ():
        if not isinstance(here, Mapping) or step not in here:
            known = ", ".join(map(repr, here)) if isinstance(here, Mapping) and here else "none"
            message = f"The request needs {{{name}}}, and the case has no {step!r} there. It has: {shorten(known)}."
            raise TargetError(message, kind="bad_request")
        here = here[step]
    return here


def _as_text(value: Any) -> str:
    """Text as it is, anything else as JSON."""
    return value if isinstance(value, str) else to_json(value).decode()


def sendable(turns: Conversation, *, user_id: str) -> dict[str, Any]:
    """Everything that a request template may name."""
    case = turns.case
    return {
        "case_id": case.id,
        "category": case.category or "",
        "context": turns.context,
        "input": turns.text,
        "language": case.language or "",
        "messages": [{"role": turn.role, "content": turn.text} for turn in turns],
        "metadata": case.metadata,
        "passages": list(case.passages),
        "session_id": turns.session_id,
        "turn_number": case.turn + 1,
        "user_id": user_id,
    }


class Path:
    """Where in an answer a value is: `$.answer`, `$.sources[*].text`, `$['a b'][0]`; a number may be `$.pct / 100`."""

    def __init__(self, text: str, *, field: str) -> None:
        text, divisor = _divided(text, field)
        self.text, self.field = text, field
        self.divisor = divisor
        """What a number that is there is divided by; 1: it stays as it is."""
        self._was_found, self._misses, self._why_not = False, 0, ""
        self._steps: list[str | int | None] = []
        rest = text.removeprefix("$")
        position = 0
        while position < len(rest):
            match = PATH_STEP.match(rest, position)
            if not text.startswith("$") or match is None:
                raise InputError(
                    f"{field}: {text!r} is not a path. Write $.answer, $.sources[*].text or $.choices[0].text."
                )
            name, index, quoted = match.groups()
            self._steps.append(EVERY if index == "*" else int(index) if index else name or quoted)
            position = match.end()

    @property
    def has_wildcard(self) -> bool:
        """Whether it leads to several values, as `$.messages[*].text` does."""
        return EVERY in self._steps

    def find(self, value: Any) -> Any:
        """What is there; `KeyError` when nothing is."""
        try:
            found = self._find(value, 0)
        except KeyError:
            self._note_miss(value)
            raise
        if not self._was_found:
            self._was_found = found != []  # as of a wildcard for which no entry has anything
            self._note_miss(value)
        return found

    @property
    def remark(self) -> str:
        """Where it led in answers that had nothing there, and what to write instead, if many did and none had it."""
        if self._was_found or self._misses < TELLING:
            return ""
        return f"{self.field}: no reply had anything at {self.text}: {self._why_not}"

    def _note_miss(self, answer: Any) -> None:
        if self._was_found or self._misses >= TELLING:
            return
        if why_not := self._explain(answer):
            self._misses, self._why_not = self._misses + 1, why_not

    def _explain(self, here: Any) -> str:
        """Where in an answer it ends, and what to write instead; empty: at an empty list or null, as may be normal."""
        at = "$"
        for number, step in enumerate(self._steps):
            rest = "".join(map(_written, self._steps[number + 1 :]))
            if here is None or here == []:
                return ""
            if isinstance(here, list) and isinstance(step, str):
                return f"{at} is a list. Write {at}[*]{_written(step)}{rest}"
            if isinstance(here, list) and step is not EVERY and int(step) >= len(here):
                return f"{at} has {len(here)} in it, counted from 0."
            if isinstance(here, dict) and not isinstance(step, str):
                return f"{at} is no list, but has {short_repr(sorted(here), 120)}."
            if not isinstance(here, list | dict):
                return f"{at} is {_GIVEN.get(type(here), 'a number')}, with nothing in it. Write {at}"
            if isinstance(here, dict) and step not in here:
                near = get_close_matches(str(step), here, n=1)
                offered = f" Did you mean {at}{_written(near[0])}{rest}?" if near else ""
                return f"{at} has {short_repr(sorted(here), 120)}.{offered}"
            key: Any = 0 if step is EVERY else step  # Any: of a list or of an object
            here, at = here[key], at + _written(step)
        return ""

    def _find(self, value: Any, start: int) -> Any:
        for number, step in enumerate(self._steps[start:], start):
            if step is EVERY:
                if not isinstance(value, list):
                    raise KeyError(self.text)
                return list(self._find_in_each(value, number + 1))
            has_it = step in value if isinstance(value, dict) else isinstance(value, list) and step in range(len(value))
            if not has_it:  # "abc"[0] is no answer
                raise KeyError(self.text)
            value = value[step]
        return value

    def _find_in_each(self, items: list[Any], start: int) -> Iterator[Any]:
        for each in items:
            with suppress(KeyError):  # as JSONPath has it: those that have none are left out
                yield self._find(each, start)


def _written(step: str | int | None) -> str:
    """A step as it stands in a path."""
    if isinstance(step, str):
        return f"['{step}']" if set(step) & set(".[]") else f".{step}"
    return f"[{'*' if step is EVERY else step}]"


def _divided(text: str, field: str) -> tuple[str, float]:
    """The path without the number that its value is divided by, and that number."""
    match = DIVIDED.fullmatch(text)
    if match is None:
        return text, 1.0
    if float(match[2]) == 0 or field.rpartition(".")[2] not in NUMBERS:
        raise InputError(f"{field}: only {', '.join(NUMBERS)} can be divided, and by more than 0, not {text!r}.")
    return match[1], float(match[2])


def compile_paths(mapping: Mapping[str, str], *, field: str) -> dict[str, Path]:
    """The paths of a `reply:` block; unknown reply fields are InputErrors that offer the nearest one."""
    for name in mapping:
        if name not in READABLE:
            raise InputError(f"{field}: a reply has no {name!r}. {did_you_mean(name, READABLE)}")
    return {name: Path(path, field=f"{field}.{name}") for name, path in mapping.items()}


def remarks_on(paths: Mapping[str, Path], written: Mapping[str, str]) -> list[str]:
    """What to tell of those paths that somebody wrote and that no answer had anything at."""
    return [path.remark for name, path in paths.items() if name in written and path.remark]


def read_plain_reply(body: Any, *, where: str) -> Reply:
    """The reply in an answer that uses our own field names. `text` must be there; the rest is taken when it is."""
    if not isinstance(body, dict) or "text" not in body:
        keys = sorted(body) if isinstance(body, dict) else type(body).__name__
        raise TargetError(f"{where} gave no 'text'; it gave {short_repr(keys, 200)}.", kind="missing_field")
    if len(body) == 1 and isinstance(text := body["text"], str):
        return Reply(text=text)  # as most do
    names = body.keys() & READABLE_SET
    found = {
        name: _fit(name, body[name], _Place(where, f"$.{name}"))
        for name in names
        if body[name] is not None or name == "text"
    }
    return Reply(**found, raw=body if len(names) < len(body) else None)


def read_reply(body: Any, paths: Mapping[str, Path], *, where: str) -> Reply:
    """The reply in an answer. `text` must be there; the rest is taken when it is."""
    found: dict[str, Any] = {}
    for name, path in paths.items():
        try:
            value = path.find(body)
        except KeyError:
            if name == "text":
                keys = sorted(body) if isinstance(body, dict) else type(body).__name__
                raise TargetError(
                    f"{where} gave nothing at {path.text}; it gave {short_repr(keys, 200)}.", kind="missing_field"
                ) from None
            continue
        if value is not None or name == "text":
            found[name] = _fit(name, value, _Place(where, path.text, path.divisor, path.has_wildcard))
    return Reply(**found, raw=body)


class _Place(NamedTuple):
    """Where a value was found."""

    where: str
    """The address of the service, or the name of the program."""
    path: str
    divisor: float = 1.0
    has_wildcard: bool = False


def _fit(name: str, value: Any, place: _Place) -> Any:
    """The value as the reply holds it; `TargetError` when it cannot be that."""
    if name == "text" and isinstance(value, str):
        return value
    if name == "text" and place.has_wildcard and isinstance(value, list) and all(isinstance(v, str) for v in value):
        return "\n".join(value)
    if name in LISTS:
        items = value if isinstance(value, list) else [value]
        if name == "tool_calls":
            return tuple(_tool_call(item, place) for item in items)
        return tuple(_as_text(item) for item in items)
    if name in ("entities", "arguments"):
        return _expect(value, dict, name, place)
    if name in NUMBERS:
        number = float(_expect(value, (int, float), name, place)) / place.divisor
        if name == "confidence" and not 0 <= number <= 1:
            raise _no_confidence(number, place)
        return number
    if name == "llm_invoked":
        return _expect(value, bool, name, place)
    return _expect(value, str, name, place)


def _tool_call(item: Any, place: _Place) -> ToolCall:
    if (call := tool_call_from(item)) is not None:
        return call
    raise TargetError(
        f"reply.tool_calls must be names, or objects with a name and arguments, and {place.path} is something else in "
        f"the answer of {place.where}. It gave: {short_repr(item)}",
        kind="wrong_type",
    )


def _expect(value: Any, kind: type | tuple[type, ...], name: str, place: _Place) -> Any:
    if isinstance(value, kind) and not (isinstance(value, bool) and kind is not bool):
        return value
    given = _GIVEN.get(type(value), "a number")
    raise TargetError(
        f"reply.{name} must be {_WANTED[kind]}, and {place.path} is {given} in the answer of {place.where}. "
        f"{_remedy(value, name, place)} It gave: {short_repr(value)}",
        kind="wrong_type",
    )


def _remedy(value: Any, name: str, place: _Place) -> str:
    """How to point a path at what can be used."""
    if isinstance(value, list) and value:
        every = place.path if place.has_wildcard else f"{place.path}[*]"
        inner = _step_to_text(value[0])
        if name == "text":
            one = "" if place.has_wildcard else f" at one of it ({place.path}[0]{inner}), or"
            return f"Point reply.text{one} at the texts in it ({every}{inner}), which are then joined by newlines."
        return f"Point reply.{name} at one of it, such as {place.path}[0]{inner}."
    if isinstance(value, dict) and (inner := _step_to_text(value)):
        return f"Point reply.{name} at a field of it, such as {place.path}{inner}."
    return f"Point reply.{name} of the project file at another field{'.' if name == 'text' else ', or leave it out.'}"


def _step_to_text(value: Any) -> str:
    """The step from an object or a list to the longest text in it; empty: there is none, or it is text itself."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    texts = {key: len(each) for key, each in items if isinstance(each, str)}
    if not texts:
        return ""
    longest = max(texts, key=texts.__getitem__)
    return f"[{longest}]" if isinstance(longest, int) else f".{longest}"


def _no_confidence(number: float, place: _Place) -> TargetError:
    remedy = (
        f'If it is a percentage, write reply: {{confidence: "{place.path} / 100"}}.'
        if place.divisor == 1 and 1 < number <= 100
        else "Point reply.confidence at another field, or leave it out."
    )
    return TargetError(
        f"reply.confidence must be a number from 0 to 1, and {place.path} gives {number:g} in the answer of "
        f"{place.where}. {remedy}",
        kind="wrong_type",
    )
