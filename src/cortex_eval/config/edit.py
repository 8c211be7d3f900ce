"""Small changes to lists in a project file that leave every other byte as it is: comments, order, quotes."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from cortex_eval import datasets
from cortex_eval.core import InputError, KeyPath, StorageError

PLAIN = re.compile(r"[A-Za-z][\w./-]*", re.ASCII)
"""What needs no quotes, if it does not look like something else (yes, null)."""
DAY = re.compile(r"\d{4}-\d\d-\d\d")

Item = Mapping[str, str]


def append_item(path: Path, place: KeyPath, item: Item) -> int:
    """Add an item to the list at this place, which is made if it is not there; gives the line that it stands on.

    What is around the list must be there. `InputError`: the file is written in a way that this cannot change.
    """
    text = _Text.read(path)
    found = text.find(place)
    items = [*text.items_at(place), dict(item)]
    change = None if found is None else _appending(text, found, str(place[-1]), item)
    text.write(place, items, change, f"Add it by hand: - {_written(item)}")
    assert change is not None, "otherwise nothing was written"
    added = change.text.rstrip()
    return text.all.count("\n", 0, change.start) + added.count("\n") + 1


def remove_item(path: Path, place: KeyPath, number: int) -> None:
    """Take an item off the list at this place, and the list with it when that was all; errors as above."""
    text = _Text.read(path)
    found = text.find(place)
    items = text.items_at(place)
    left = [*items[:number], *items[number + 1 :]]
    change = None if found is None else _removing(text, found, number)
    text.write(place, left, change, "Take it off by hand.")


class _Change(NamedTuple):
    """What stands between two places in the text is replaced."""

    start: int
    end: int
    text: str


class _Found(NamedTuple):
    """Where a list stands, or would stand."""

    parent: yaml.MappingNode
    key: yaml.Node | None
    """None: it is not there."""
    value: yaml.Node | None
    before: yaml.Node | None
    """The value before it."""

    @property
    def last(self) -> tuple[yaml.Node, yaml.Node]:
        """The last key of what is around it, with its value."""
        key, value = self.parent.value[-1]
        return key, value


class _Text(NamedTuple):
    """A file as it is written."""

    path: Path
    all: str
    root: yaml.Node | None
    values: Any  # Any: what people wrote

    @classmethod
    def read(cls, path: Path) -> _Text:
        """The text of a file that was read as a project file a moment ago."""
        try:
            text = path.read_bytes().decode("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{path} cannot be read: {error}.") from error
        return cls(path, text, yaml.compose(text, Loader=yaml.SafeLoader), yaml.safe_load(text))

    @property
    def newline(self) -> str:
        """How its lines end."""
        return "\r\n" if "\r\n" in self.all else "\n"

    def find(self, place: KeyPath) -> _Found | None:
        """Where the list stands; None when what should be around it is not there, or empty."""
        here = self.root
        for key in place[:-1]:
            pair = _pair(here, key)
            here = pair[1] if pair else None
        if not isinstance(here, yaml.MappingNode) or not here.value:
            return None
        pair = _pair(here, place[-1])
        if pair is None:
            return _Found(here, None, None, None)
        at = here.value.index(pair)
        return _Found(here, *pair, here.value[at - 1][1] if at else None)

    def items_at(self, place: KeyPath) -> list[Any]:
        """The items of the list as YAML has them."""
        here = self.values
        for key in place:
            here = here.get(key) if isinstance(here, dict) else None
        return list(here) if isinstance(here, list) else []

    def line_start(self, index: int) -> int:
        """Where the line begins that this place is in."""
        return self.all.rfind("\n", 0, index) + 1

    def line_end(self, index: int) -> int:
        """Where the next line begins; right here, when a line begins here."""
        if index and self.all[index - 1] == "\n":
            return index
        found = self.all.find("\n", index)
        return len(self.all) if found < 0 else found + 1

    def rest_of_line(self, index: int) -> str:
        """What follows in the same line, comments included."""
        return self.all[index : self.line_end(index)].strip()

    def write(self, place: KeyPath, items: Sequence[Any], change: _Change | None, advice: str) -> None:
        """Make the change, if it does just what it should."""
        if change is not None:
            new = self.all[: change.start] + change.text + self.all[change.end :]
            wanted = [_with(self.values, place, list(items)), *([] if items else [_with(self.values, place, None)])]
            try:
                is_right = _told(yaml.safe_load(new)) in map(_told, wanted)
            except (yaml.YAMLError, RecursionError):
                is_right = False
            if is_right:
                return _replace(self.path, new)
        where = ".".join(map(str, place))
        raise InputError(f"{self.path}: {where} is written in a way that is not changed from here. {advice}")


def _pair(node: yaml.Node | None, key: str | int) -> tuple[yaml.Node, yaml.Node] | None:
    if not isinstance(node, yaml.MappingNode):
        return None
    return next((pair for pair in node.value if pair[0].value == key), None)


def _with(values: Any, place: KeyPath, items: list[Any] | None) -> Any:  # Any: what people wrote, here and below
    """The values with this list in this place, or without one, and all else as it was, also what aliases share."""
    name, *rest = place
    if rest:
        return {**values, name: _with(values[name], tuple(rest), items)}
    if items is None:
        return {key: each for key, each in values.items() if key != name}
    return {**values, name: items}


def _told(values: Any) -> str:
    """Values in a form that can be compared: whether a day is a date or text makes no difference."""
    return json.dumps(values, default=str, ensure_ascii=False)


def _appending(text: _Text, found: _Found, name: str, item: Item) -> _Change | None:
    value = found.value
    is_json = text.all[found.last[0].start_mark.index] == '"'  # or may have to be
    written = _json(item) if is_json else _written(item)
    if found.parent.flow_style and value is None:
        return _after_in_flow(text, *found.last, f"{_quoted(name) if is_json else name}: [{written}]")
    if isinstance(value, yaml.SequenceNode) and value.flow_style:
        if value.value:
            return _after_in_flow(text, value.value[-1], value.value[-1], written)
        return _Change(value.start_mark.index + 1, value.start_mark.index + 1, written)
    if isinstance(value, yaml.SequenceNode):
        return _new_lines(text, _end(value), [f"{' ' * value.start_mark.column}- {_written(item)}"])
    indent = " " * found.parent.value[0][0].start_mark.column
    line = f"{indent}  - {_written(item)}"
    if found.key is not None:  # there, and empty
        return _new_lines(text, found.key.end_mark.index, [line])
    last_key, last = found.last
    end = max(_end(last), last_key.end_mark.index)  # an alias stands where its anchor does
    return _new_lines(text, end, [f"{indent}{name}:", line])


def _new_lines(text: _Text, after: int, lines: Sequence[str]) -> _Change:
    at, newline = text.line_end(after), text.newline
    is_open = at == len(text.all) and not text.all.endswith("\n")
    added = newline.join(lines)
    return _Change(at, at, newline + added if is_open else added + newline)


def _after_in_flow(text: _Text, first: yaml.Node, last: yaml.Node, new: str) -> _Change:
    """Behind the last of several in brackets; in a line of its own if that one is."""
    end = max(_end(last), first.end_mark.index)
    indent = text.all[text.line_start(first.start_mark.index) : first.start_mark.index]
    is_alone = not indent.strip() and text.rest_of_line(end) in ("", ",")
    return _Change(end, end, f",{text.newline}{indent}{new}" if is_alone else f", {new}")


def _removing(text: _Text, found: _Found, number: int) -> _Change | None:
    items = found.value
    if not isinstance(items, yaml.SequenceNode):
        return None
    if items.flow_style:
        return _removing_in_flow(text, found, items, number)
    item = items.value[number]
    start, end = text.line_start(item.start_mark.index), text.line_end(_end(item))
    if text.all[start : item.start_mark.index].strip() != "-":
        return None
    if len(items.value) > 1:
        return _Change(start, end, "")
    assert found.key is not None, "it has a value"
    head = text.line_start(found.key.start_mark.index)
    if text.all[head:start].strip() == f"{found.key.value}:":
        return _Change(_without_open_end(text, head, end), end, "")
    colon = found.key.end_mark.index + 1  # a comment stays, and the list with it
    return _Change(colon, end, f" []{text.all[colon:start]}")


def _without_open_end(text: _Text, start: int, end: int) -> int:
    """The last line of a file that ends without a line break takes the break before it along."""
    is_open = end == len(text.all) and not text.all.endswith("\n")
    return max(start - len(text.newline), 0) if is_open else start


def _removing_in_flow(text: _Text, found: _Found, items: yaml.SequenceNode, number: int) -> _Change | None:
    item, inner = items.value[number], (items.start_mark.index + 1, items.end_mark.index - 1)
    if len(items.value) > 1:
        if number:
            start, end = _end(items.value[number - 1]), _end(item)
        else:
            start, end = item.start_mark.index, items.value[1].start_mark.index
    elif found.parent.flow_style and found.before is not None:
        start, end = _end(found.before), items.end_mark.index
    else:
        start, end = inner
    return None if "#" in _outside(text.all[start:end], item, start) else _Change(start, end, "")


def _outside(cut: str, item: yaml.Node, start: int) -> str:
    """What goes beside the item itself: a comment there must not."""
    own = slice(max(item.start_mark.index - start, 0), max(item.end_mark.index - start, 0))
    return cut[: own.start] + cut[own.stop :]


def _end(node: yaml.Node) -> int:
    """Where the last character of a value stands: blank lines and comments behind it are not part of it."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(last[1]) if isinstance(last, tuple) else _end(last)
    return int(node.end_mark.index)


def _written(item: Item) -> str:
    """An item as people write it: `{case: t-17, reason: "why", until: 2026-12-31}`."""
    return "{" + ", ".join(f"{key}: {_scalar(key, value)}" for key, value in item.items()) + "}"


def _scalar(key: str, value: str) -> str:
    is_plain = PLAIN.fullmatch(value) and yaml.safe_load(value) == value and key != "reason"
    return value if is_plain or DAY.fullmatch(value) else _quoted(value)


def _json(item: Item) -> str:
    """The same where the keys around it are quoted, as they are in JSON."""
    return "{" + ", ".join(f"{_quoted(key)}: {_quoted(value)}" for key, value in item.items()) + "}"


def _quoted(value: str) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if text.isprintable() else "".join(each if each.isprintable() else _escaped(each) for each in text)


def _escaped(letter: str) -> str:
    return f"\\u{ord(letter):04x}" if ord(letter) < 0x10000 else f"\\U{ord(letter):08x}"


def _replace(path: Path, text: str) -> None:
    """Put the text in the file at once, with the rights that it had; a link stays one."""
    path = path.resolve()
    try:
        rights = stat.S_IMODE(path.stat().st_mode)
        with datasets.atomic_file(path) as file:
            file.write(text.encode())
            os.fchmod(file.fileno(), rights)
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror}. Nothing was changed.") from error
