"""Checklists as people write them: items of plain text, or of parts with patterns; read strictly, compiled once."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

import orjson

from cortex_eval.core import InputError, Problem, did_you_mean, short_repr
from cortex_eval.scoring.patterns import Pattern, PatternError

PART_KEYS = ("name", "any", "examples", "told", "stated", "near")
ITEM_KEYS = ("item", "id", "parts", "or", *PART_KEYS[1:])
NEAR = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One thing that an item asks for."""

    name: str
    patterns: Pattern | None = None
    """None: the words and the meaning of the name are looked for."""
    examples: tuple[str, ...] = ()
    """Sentences in English that have it; a sentence that means the same has it too."""
    told: bool = False
    """Words in a question do not count."""
    stated: bool = False
    """Words that are denied, or stand in a question, do not count."""
    near: int = NEAR
    """How many sentences behind the first part it may stand; *Diet:* and the lines of the list below it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One line of a checklist; it is there when all of its parts are."""

    id: str
    text: str
    parts: tuple[Part, ...]
    instead: Pattern | None = None
    """What is as good as all parts, such as *no herbs are needed*."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checklist:
    """The items of one file, or of the settings."""

    items: tuple[Item, ...]
    digest: str
    """Changes when an item does."""


def plain_item(text: str) -> Item:
    """An item that is only a text: the words and the meaning of it are looked for."""
    return Item(id=text, text=text, parts=(Part(name=text, examples=(text,)),))


def read_checklist(path: Path | None) -> Checklist:
    """The checklist of a JSON file, or the eight items that ship; InputError with everything that is wrong with it."""
    if path is None:
        source, content = (
            "ayurveda.json",
            files("cortex_eval.scoring").joinpath("checklists/ayurveda.json").read_bytes(),
        )
    else:
        try:
            source, content = str(path), path.read_bytes()
        except OSError as error:
            raise InputError(f"completeness.checklist: {path} cannot be read: {error.strerror}.") from error
    try:
        document = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise InputError(Problem(file=source, line=error.lineno, message=f"This is not JSON: {error.msg}.")) from error
    rows = document.get("items") if isinstance(document, dict) else document
    if not isinstance(rows, list):
        raise InputError(Problem(file=source, message='A checklist is a list of items, or {"items": [...]}.'))
    return make_checklist(rows, source=source)


def make_checklist(rows: Sequence[str | Mapping[str, Any]], *, source: str) -> Checklist:  # Any: checked here
    """A checklist from texts and mappings; InputError with everything that is wrong with them."""
    reader = _Reader(source)
    items = tuple(item for number, row in enumerate(rows, start=1) if (item := reader.item(number, row)) is not None)
    names = [item.id for item in items]
    for name in sorted({name for name in names if names.count(name) > 1}):
        reader.complain(name, "there are two items of this id")
    if not rows:
        reader.complain("", "there are no items")
    if reader.problems:
        raise InputError(reader.problems)
    return Checklist(items=items, digest=hashlib.sha256(orjson.dumps(rows)).hexdigest()[:16])


class _Reader:
    """Reads rows and collects what is wrong with them."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.problems: list[Problem] = []

    def item(self, number: int, row: Any) -> Item | None:  # Any: whatever JSON or YAML holds
        if isinstance(row, str) and row.strip():
            return plain_item(row.strip())
        if not isinstance(row, Mapping) or not isinstance(row.get("item"), str) or not row["item"].strip():
            self.complain(f"number {number}", f"an item is a text, or keys with 'item', not {short_repr(row)}")
            return None
        text = row["item"].strip()
        name = row["id"] if isinstance(row.get("id"), str) else text
        self.unknown_keys(name, row, ITEM_KEYS)
        if "parts" in row:
            rows = row["parts"] if isinstance(row["parts"], list) else [None]
            parts = tuple(part for each in rows if (part := self.part(name, each)) is not None)
        else:
            part = self.part(name, {"name": text, **{key: row[key] for key in PART_KEYS[1:] if key in row}})
            parts = (part,) if part is not None else ()
        if not parts:
            self.complain(name, "'parts' must be a list of {name, any, examples}")
            return None
        return Item(id=name, text=text, parts=parts, instead=self.pattern(name, "or", row.get("or")))

    def part(self, item: str, row: Any) -> Part | None:  # Any: whatever JSON or YAML holds
        if not isinstance(row, Mapping) or not isinstance(row.get("name"), str) or not row["name"].strip():
            self.complain(item, f"a part has a 'name', unlike {short_repr(row)}")
            return None
        self.unknown_keys(item, row, PART_KEYS)
        examples = row.get("examples", [])
        if not isinstance(examples, list) or not all(isinstance(each, str) and each.strip() for each in examples):
            self.complain(item, f"'examples' must be a list of sentences, not {short_repr(examples)}")
            examples = []
        patterns = self.pattern(item, "any", row.get("any"))
        if patterns is None and not examples:
            examples = [row["name"]]
        near = row.get("near", NEAR)
        if not isinstance(near, int) or near < 0:
            self.complain(item, f"'near' must be a number of sentences, not {short_repr(near)}")
        return Part(
            name=row["name"],
            patterns=patterns,
            examples=tuple(examples),
            told=row.get("told") is True,
            stated=row.get("stated") is True,
            near=near,
        )

    def pattern(self, item: str, key: str, value: Any) -> Pattern | None:  # Any: whatever JSON or YAML holds
        if value is None:
            return None
        sources = [value] if isinstance(value, str) else value
        if not isinstance(sources, list) or not sources or not all(isinstance(each, str) and each for each in sources):
            self.complain(item, f"'{key}' must be a list of patterns, not {short_repr(value)}")
            return None
        try:
            return Pattern(cast("list[str]", sources))
        except PatternError as error:
            self.complain(item, f"'{key}' has a pattern that does not compile: {error}")
            return None

    def unknown_keys(self, item: str, row: Mapping[str, object], known: Sequence[str]) -> None:
        for key in row:
            if key not in known:
                self.complain(item, f"there is no key {key!r}. {did_you_mean(str(key), known)}")

    def complain(self, item: str, message: str) -> None:
        text = f"{self.source}: item {item}: {message}" if item else f"{self.source}: {message}"
        stop = "" if text.endswith((".", "?")) else "."
        self.problems.append(Problem(file=self.source, field=item, message=text + stop, code="checklist_invalid"))
