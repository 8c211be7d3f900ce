"""Small changes to lists in a project file that leave every other byte as it is: comments, order, quotes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

from cortex_eval.config.yaml_text import CHANGED, Change, Found, Text, held
from cortex_eval.core import InputError, KeyPath

PLAIN = re.compile(r"[A-Za-z][\w./-]*", re.ASCII)
"""What needs no quotes, if it does not look like something else (yes, null)."""
DAY = re.compile(r"\d{4}-\d\d-\d\d")
JOINERS = "\u200c\u200d"
"""Scripts and emoji are written with them: no text is readable where they are escaped."""
BRACKETED = re.compile(r"[\s,]*")
"""What stands between items in brackets when there is no comment."""

Item = Mapping[str, str]


def append_item(path: Path, place: KeyPath, item: Item) -> int:
    """Add an item to the list at this place, which is made if it is not there; gives the line that it stands on.

    What is around the list must be there, and no item whose first value is the same. `InputError`: that is so, or the
    file is written in a way that this cannot change.
    """
    with held(path) as real:
        text = Text.read(real, path)
        found = text.find(place)
        before = text.items_at(place)
        name, value = next(iter(item.items()))
        if any(isinstance(each, dict) and each.get(name) == value for each in before):
            raise InputError(f"{path}: {'.'.join(map(str, place))} has {value!r} already.")
        change = None if found is None else _appending(text, found, str(place[-1]), item)
        text.write(place, [*before, dict(item)], change, f"Add it by hand: - {_written(item)}")
        assert change is not None, "otherwise nothing was written"
        above = max(change.text.rfind(each) for each in (_written(item), _json(item)))
        return text.all.count("\n", 0, change.start) + change.text.count("\n", 0, above) + 1


def remove_item(path: Path, place: KeyPath, number: int, *, holds: Item) -> None:
    """Take an item off the list at this place, and the list with it when that was all; errors as above.

    It must hold these values, as far as they do not come from variables: else somebody has changed the list.
    """
    with held(path) as real:
        text = Text.read(real, path)
        found = text.find(place)
        items = text.items_at(place)
        is_there = number < len(items) and isinstance(items[number], dict)
        if not is_there or any(_is_other(items[number].get(name), value) for name, value in holds.items()):
            raise InputError(f"{path} {CHANGED}")
        left = [*items[:number], *items[number + 1 :]]
        change = None if found is None else _removing(text, found, number)
        text.write(place, left, change, "Take it off by hand.")


def _is_other(found: object, value: str) -> bool:
    """Whether a value in the file is not this one; which one a variable stands for is not known here."""
    text = found[1] if isinstance(found, tuple) else found
    return text != value and "${" not in str(text)


def _appending(text: Text, found: Found, name: str, item: Item) -> Change | None:
    value = found.value
    is_json = text.all[found.last[0].start_mark.index] == '"'  # or may have to be
    written = _json(item) if is_json else _written(item)
    if found.parent.flow_style and value is None:
        lines = [f"{_quoted(name) if is_json else name}: [", f"  {written}", "]"]
        return _behind_in_flow(text, *found.last, lines)
    if isinstance(value, yaml.SequenceNode) and value.flow_style:
        return _unfolding(text, found, value, _written(item)) or _into_flow(text, value, written)
    if isinstance(value, yaml.SequenceNode):
        return _new_lines(text, _end(value), [f"{' ' * value.start_mark.column}- {_written(item)}"])
    indent = found.indent
    line = f"{indent}  - {_written(item)}"
    if found.key is not None:  # there, and empty
        return _new_lines(text, found.key.end_mark.index, [line])
    last_key, last = found.last
    end = max(_end(last), last_key.end_mark.index)  # an alias stands where its anchor does
    return _new_lines(text, end, [f"{indent}{name}:", line])


def _new_lines(text: Text, after: int, lines: Sequence[str]) -> Change:
    at, newline = text.line_end(after), text.newline
    is_open = at == len(text.all) and not text.all.endswith("\n")
    added = newline.join(lines)
    return Change(at, at, newline + added if is_open else added + newline)


def _into_flow(text: Text, items: yaml.SequenceNode, new: str) -> Change:
    """Behind the last item in brackets, or the first one there."""
    if items.value:
        return _behind_in_flow(text, items.value[-1], items.value[-1], [new])
    start, end = items.start_mark.index + 1, items.end_mark.index - 1
    if text.all[start:end].strip():  # a comment
        return Change(start, start, new)
    line = text.all[text.line_start(start) : start]
    indent = text.newline + line[: len(line) - len(line.lstrip())]
    return Change(start, end, f"{indent}    {new}{indent}  ")


def _behind_in_flow(text: Text, first: yaml.Node, last: yaml.Node, lines: Sequence[str]) -> Change:
    """Behind the last of several in brackets, in lines of its own; a comment stays with what it is about."""
    end, newline = max(_end(last), first.end_mark.index), text.newline
    before = text.all[text.line_start(first.start_mark.index) : first.start_mark.index]
    indent = f"{before[: len(before) - len(before.lstrip())]}  " if before.strip() else before
    new = newline.join(indent + line for line in lines)
    at = text.line_end(end)
    rest = text.all[end:at]
    if not rest.lstrip(" \t,").startswith("#"):
        return Change(end, end, f",{newline}{new}")
    if "," in rest.partition("#")[0]:
        return Change(at, at, f"{new},{newline}")
    return Change(end, at, f",{rest}{new}{newline}")


def _unfolding(text: Text, found: Found, items: yaml.SequenceNode, new: str) -> Change | None:
    """A list in brackets becomes one with a line for each item; None: it has that already, or a form of its own."""
    assert found.key is not None, "it has a value"
    start, end = items.start_mark.index, items.end_mark.index
    kept = [text.all[each.start_mark.index : each.end_mark.index] for each in items.value]
    around = text.all[start + 1 : end - 1]
    for each in kept:
        around = around.replace(each, "", 1)
    head, rest = text.all[found.key.end_mark.index : start], text.all[end : text.line_end(end)]
    is_plain = not BRACKETED.sub("", around) and text.all[start] == "[" and head.strip() == ":"
    if found.parent.flow_style or not is_plain or "\n" in text.all[found.key.start_mark.index : end]:
        return None
    if rest.strip() and not rest.lstrip().startswith("#"):
        return None
    lines = [f"{found.indent}  - {each}" for each in (*kept, new)]
    last = text.newline if rest.endswith("\n") else ""
    colon = found.key.end_mark.index + head.index(":") + 1
    return Change(colon, end + len(rest), text.newline.join([rest.rstrip(), *lines]) + last)


def _removing(text: Text, found: Found, number: int) -> Change | None:
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
        return Change(_without_open_end(text, start, end), end, "")
    assert found.key is not None, "it has a value"
    head = text.line_start(found.key.start_mark.index)
    if text.all[head:start].strip() == f"{found.key.value}:":
        return Change(_without_open_end(text, head, end), end, "")
    colon = found.key.end_mark.index + 1  # a comment stays, and the list with it
    return Change(colon, end, f" []{text.all[colon:start]}")


def _without_open_end(text: Text, start: int, end: int) -> int:
    """The last line of a file that ends without a line break takes the break before it along."""
    is_open = end == len(text.all) and not text.all.endswith("\n")
    return max(start - len(text.newline), 0) if is_open else start


def _removing_in_flow(text: Text, found: Found, items: yaml.SequenceNode, number: int) -> Change | None:
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
    if "#" not in _outside(text.all[start:end], item, start):
        return Change(start, end, "")
    head, tail = text.line_start(item.start_mark.index), text.line_end(_end(item))
    is_alone = text.all[head:tail].strip().rstrip(",") == text.all[item.start_mark.index : _end(item)]
    return Change(head, tail, "") if is_alone else None


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
    is_day = key == "until" and DAY.fullmatch(value)
    return value if is_plain or is_day else _quoted(value)


def _json(item: Item) -> str:
    """The same where the keys around it are quoted, as they are in JSON."""
    return "{" + ", ".join(f"{_quoted(key)}: {_quoted(value)}" for key, value in item.items()) + "}"


def _quoted(value: str) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return "".join(each if each.isprintable() or each in JOINERS else _escaped(each) for each in text)


def _escaped(letter: str) -> str:
    return f"\\u{ord(letter):04x}" if ord(letter) < 0x10000 else f"\\U{ord(letter):08x}"
