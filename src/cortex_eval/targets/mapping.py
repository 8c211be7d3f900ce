"""Describing a service in the project file: what to send, and where in its answer things are."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import fields
from typing import Any

from cortex_eval.core import InputError, Reply, TargetError, ToolCall, did_you_mean, short_repr, to_json
from cortex_eval.targets.base import Conversation

PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
PATH_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+|\*)\]|\['([^']+)'\]")

EVERY = None
"""The step `[*]`."""

SENDABLE = (
    "case_id",
    "category",
    "context",
    "input",
    "language",
    "messages",
    "passages",
    "session_id",
    "turn_number",
    "user_id",
)
READABLE = tuple(
    f.name
    for f in fields(Reply)
    if f.name not in ("attachments", "attempts", "cached", "metadata", "raw", "spans", "total_time_ms", "usage")
)
READABLE_SET = frozenset(READABLE)
LISTS = ("contexts", "citations", "tool_calls")
_WANTED = {
    dict: "an object",
    bool: "true or false",
    str: "a text",
    (int, float): "a number",
}
_PATH_EXAMPLES = {list: "one item of it ({path}[0]), or text in each of them ({path}[*].text)", dict: "a field of it ({path}.text)"}


def check_template(template: object, *, field: str, also: tuple[str, ...] = ()) -> None:
    """Raise InputError for a placeholder that does not exist; `also` are those that only this kind of target has."""
    if isinstance(template, str):
        known = (*SENDABLE, *also)
        for name in PLACEHOLDER.findall(template):
            if name not in known:
                raise InputError(f"{field}: there is no placeholder {{{name}}}. {did_you_mean(name, known)}")
    elif isinstance(template, Mapping):
        for value in template.values():
            check_template(value, field=field, also=also)
    elif isinstance(template, (list, tuple)):
        for value in template:
            check_template(value, field=field, also=also)


def fill_template(template: Any, values: Mapping[str, Any]) -> Any:
    """The request body: a string that is just `{name}` becomes the value itself, others get its text; one pass."""
    if isinstance(template, str):
        whole = PLACEHOLDER.fullmatch(template)
        if whole:
            return values[whole[1]]
        return PLACEHOLDER.sub(lambda match: _as_text(values[match[1]]), template)
    if isinstance(template, Mapping):
        return {key: fill_template(value, values) for key, value in template.items()}
    if isinstance(template, (list, tuple)):
        return [fill_template(value, values) for value in template]
    return template


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
        "passages": list(case.passages),
        "session_id": turns.session_id,
        "turn_number": case.turn + 1,
        "user_id": user_id,
    }


class Path:
    """Where in an answer a value is: `$.answer`, `$.sources[*].text`, `$['a b'][0]`."""

    def __init__(self, text: str, *, field: str) -> None:
        self.text = text
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

    def find(self, value: Any) -> Any:
        """What is there; `KeyError` when nothing is."""
        return self._find(value, 0)

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


def compile_paths(mapping: Mapping[str, str], *, field: str) -> dict[str, Path]:
    """The paths of a `reply:` block; unknown reply fields are InputErrors that offer the nearest one."""
    for name in mapping:
        if name not in READABLE:
            raise InputError(f"{field}: a reply has no {name!r}. {did_you_mean(name, READABLE)}")
    return {name: Path(path, field=f"{field}.{name}") for name, path in mapping.items()}


def read_plain_reply(body: Any, *, where: str) -> Reply:
    """The reply in an answer that uses our own field names. `text` must be there; the rest is taken when it is."""
    if not isinstance(body, dict) or "text" not in body:
        keys = sorted(body) if isinstance(body, dict) else type(body).__name__
        raise TargetError(f"{where} gave no 'text'; it gave {short_repr(keys, 200)}.", kind="missing_field")
    names = body.keys() & READABLE_SET
    found = {name: _fit(name, body[name], where) for name in names if body[name] is not None or name == "text"}
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
            found[name] = _fit(name, value, where)
    return Reply(**found, raw=body)


def _fit(name: str, value: Any, where: str) -> Any:
    """The value as the reply holds it; `TargetError` when it cannot be that."""
    if name == "text" and isinstance(value, str):
        return value
    if name in LISTS:
        items = value if isinstance(value, list) else [value]
        if name == "tool_calls":
            return tuple(_tool_call(item, where) for item in items)
        return tuple(_as_text(item) for item in items)
    if name in ("entities", "arguments"):
        return _expect(value, dict, name, where)
    if name in ("confidence", "parse_time_ms", "first_token_ms"):
        return float(_expect(value, (int, float), name, where))
    if name == "llm_invoked":
        return _expect(value, bool, name, where)
    return _expect(value, str, name, where)


def _tool_call(item: Any, where: str) -> ToolCall:
    if isinstance(item, str):
        return ToolCall(name=item)
    name = _expect(item, dict, "tool_calls", where).get("name")
    return ToolCall(name=_expect(name, str, "tool_calls.name", where), arguments=item.get("arguments"))


def _expect(value: Any, kind: type | tuple[type, ...], name: str, where: str) -> Any:
    if isinstance(value, kind) and not (isinstance(value, bool) and kind is not bool):
        return value
    raise TargetError(f"{where} gave {short_repr(value)} as {name}, which cannot be that.", kind="wrong_type")
