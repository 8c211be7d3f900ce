"""Reading a YAML file that people wrote: values with their lines, `${VARIABLES}`, and every mistake with its place."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from cortex_eval.core import (
    InputError,
    KeyPath,
    Problem,
    Secret,
    Spelled,
    hide_header,
    hide_password,
    is_likely_secret,
    is_secret,
)

VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
LARGEST_FILE = 5 * 1024 * 1024
MOST_NODES = 100_000
"""Aliases are followed; a file that grows beyond this while they are is a bomb."""
DEEPEST = 64
ENVIRONMENT_FILE = ".env"
SHORTEST_KEY = 8
"""Of variables that the project file does not name."""
AS_WRITTEN = ("version",)
"""Keys whose value is text however it looks: version 2.10 is not 2.1."""


@dataclass(slots=True, kw_only=True)
class Document:
    """A YAML file, read: plain values, and where each of them stands."""

    path: Path
    values: dict[str, Any]
    lines: dict[KeyPath, int] = field(default_factory=dict)
    files: dict[KeyPath, Path] = field(default_factory=dict)
    """Blocks that stand in another file, by where they were laid into this one."""
    unset: dict[KeyPath, str] = field(default_factory=dict)
    """Places that name an environment variable that is not set, with its name."""
    from_environment: set[KeyPath] = field(default_factory=set)

    def line_of(self, path: KeyPath) -> int | None:
        """The line of a value, or of the nearest thing around it that has one."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path)

    def file_of(self, path: KeyPath) -> Path:
        """The file that a value stands in."""
        return next((file for place, file in self.files.items() if path[: len(place)] == place), self.path)

    def value_at(self, path: KeyPath) -> Any:
        """The value at this place; None when nothing is there."""
        here: Any = self.values
        for key in path:
            try:
                here = here[key]
            except (KeyError, IndexError, TypeError):
                return None
        return here

    def problem(self, path: KeyPath, message: str) -> Problem:
        """A mistake at this place."""
        name = ".".join(map(str, path))
        return Problem(file=str(self.file_of(path)), line=self.line_of(path), field=name, message=message)

    def include(self, key: str, other: Document) -> None:
        """Lay another file's blocks under a key of this one; what this file says itself wins."""
        within = (key,) if isinstance(other.values.get(key), dict) else ()
        own = self.values.get(key)
        if own is not None and not isinstance(own, dict):
            return  # told as a mistake of its own
        blocks = other.values[key] if within else other.values
        added = {name: block for name, block in blocks.items() if name not in (own or {})}
        self.values[key] = {**added, **(own or {})}
        self.files.update(dict.fromkeys([(key, name) for name in added], other.path))

        def is_added(path: KeyPath) -> bool:
            return path[: len(within)] == within and len(path) > len(within) and path[len(within)] in added

        def moved(path: KeyPath) -> KeyPath:
            return (key, *path[len(within) :])

        self.lines.update({moved(path): line for path, line in other.lines.items() if is_added(path)})
        self.unset.update({moved(path): name for path, name in other.unset.items() if is_added(path)})
        self.from_environment |= {moved(path) for path in other.from_environment if is_added(path)}


def read_document(path: Path, environment: Mapping[str, str]) -> Document:
    """The file as values; all that is wrong with it as YAML is raised as one InputError."""
    text = _read_text(path)
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        what = error.problem or error.context
        if "\\t" in str(what):
            what = "a tab is used to indent; use blanks"
        elif "<block end>" in str(what):
            what = "this line is not indented like those that it belongs to"
        elif "another document" in str(what):
            what = "a project file is one document, and here begins a second one"
        elif "${" in "".join(text.splitlines()[line - 1 : line]):
            what = f"{what}. Inside of {{ }} and [ ], put ${{VARIABLE}} in quotes"
        raise InputError(
            Problem(file=str(path), line=line, message=f"column {column}: not valid YAML: {what}.")
        ) from error
    except (yaml.YAMLError, RecursionError) as error:
        raise InputError(Problem(file=str(path), line=1, message=f"not valid YAML: {error}")) from error
    document = Document(path=path, values={})
    if node is None:
        return document
    if not isinstance(node, yaml.MappingNode):
        raise InputError(Problem(file=str(path), line=1, message="must hold keys and values, such as `services:`."))
    reader = _Reader(document, environment)
    document.values = reader.read(node, ())
    if reader.problems:
        raise InputError(reader.problems)
    return document


def read_given(values: Mapping[str, Any], environment: Mapping[str, str]) -> Document:  # Any: as in a YAML file
    """Blocks that Python hands over, read as if they stood in a file: variables filled in, secrets known."""
    document = Document(path=Path(), values={})
    document.values = _Reader(document, environment).take(dict(values), ())
    return document


def read_environment(folder: Path) -> dict[str, str]:
    """The variables of this process, and below them those of a `.env` file in the folder."""
    values: dict[str, str] = {}
    file = folder / ENVIRONMENT_FILE
    if file.is_file():
        for line in _read_text(file).splitlines():
            name, equals, value = line.strip().removeprefix("export ").partition("=")
            if equals and not name.startswith("#"):
                values[name.strip()] = _unquoted(value.strip())
    found = {**values, **os.environ}
    for name, value in found.items():
        # Also what the project file does not name: a target in Python may quote it. Short values may be no keys.
        if is_likely_secret(name) and len(value) >= SHORTEST_KEY and not value.isalpha() and not os.path.exists(value):  # noqa: PTH110
            _hide(value)
    return found


def _hide(value: str) -> None:
    """A value that is a key, or an address with one; it is masked from now on wherever it turns up."""
    if hide_password(value) == value:
        Secret(value)


def _unquoted(value: str) -> str:
    is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if is_quoted else value.partition(" #")[0].rstrip()


def _read_text(path: Path) -> str:
    full = path.absolute()
    if full.is_dir():
        raise InputError(f"{full} is a folder, not a project file. Name the file with --config.")
    try:
        data = full.read_bytes()
    except FileNotFoundError:
        raise InputError(
            f"There is no project file {full}. Make one with `cortex init`, or name yours with --config."
        ) from None
    except OSError as error:
        raise InputError(f"{full} cannot be read: {error.strerror}.") from error
    if len(data) > LARGEST_FILE:
        raise InputError(f"{full} is larger than {LARGEST_FILE // 1024 // 1024} MiB; that is no project file.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{full} is not UTF-8 (byte {error.start}). Save it as UTF-8.") from error


class _Reader:
    """Turns YAML nodes into values, noting lines, unset variables and mistakes on the way."""

    def __init__(self, document: Document, environment: Mapping[str, str]) -> None:
        self.document = document
        self.environment = environment
        self.problems: list[Problem] = []
        self.nodes = 0

    def read(self, node: yaml.Node, path: KeyPath) -> Any:
        """The value of a node; its line is noted under its path."""
        self.nodes += 1
        self.document.lines.setdefault(path, node.start_mark.line + 1)
        if self.nodes > MOST_NODES or len(path) > DEEPEST:
            raise InputError(
                Problem(file=str(self.document.path), line=self.document.line_of(path), code="alias_limit",
                        message="too many aliases, or nested too deeply.")
            )  # fmt: skip
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.read(each, (*path, number)) for number, each in enumerate(node.value)]
        assert isinstance(node, yaml.ScalarNode)
        return self._scalar(node, path)

    def take(self, value: Any, path: KeyPath) -> Any:  # Any: what Python handed over
        """The same of a value that stands in no file."""
        if len(path) > DEEPEST:
            raise InputError(f"{path[0]}: nested too deeply.")
        if isinstance(value, Mapping):
            return {str(key): self.take(each, (*path, str(key))) for key, each in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.take(each, (*path, number)) for number, each in enumerate(value)]
        is_text = isinstance(value, str)
        return self._scalar(yaml.ScalarNode("tag:yaml.org,2002:str", value, style='"'), path) if is_text else value

    def _mapping(self, node: yaml.MappingNode, path: KeyPath) -> dict[str, Any]:
        values: dict[str, Any] = {}
        own: set[str] = set()  # what a merge brings may be said again, otherwise
        for key_node, value_node in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":
                merged = self.read(value_node, path)
                for each in merged if isinstance(merged, list) else [merged]:
                    if isinstance(each, dict):
                        values = {**each, **values}
                    else:
                        self.problems.append(self.document.problem(path, "`<<` takes keys and values only."))
                continue
            if not isinstance(key_node, yaml.ScalarNode):
                line = key_node.start_mark.line + 1
                message = "a key must be a plain word."
                self.problems.append(Problem(file=str(self.document.path), line=line, message=message))
                continue
            key = str(key_node.value)
            place = (*path, key)
            if key in own:
                self.problems.append(
                    self.document.problem(
                        place, f"{key!r} is given twice (again on line {key_node.start_mark.line + 1})."
                    )
                )
            own.add(key)
            self.document.lines[place] = key_node.start_mark.line + 1
            values[key] = self.read(value_node, place)
        return values

    def _scalar(self, node: yaml.ScalarNode, path: KeyPath) -> Any:
        text = str(node.value)
        if "${" in text and node.tag == "tag:yaml.org,2002:str":
            text = VARIABLE.sub(lambda match: self._variable(match, path), text)
            self._hide(text, path)
            is_whole = VARIABLE.fullmatch(str(node.value)) and path not in self.document.unset
            if not is_whole or _is_text(path):
                return text
            if node.style is not None:
                return Spelled(text)  # inside of { } it has to be quoted, so quotes do not say that it is text
            tag = yaml.SafeLoader("").resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]
            return self._construct(tag, text, path)
        is_number = node.tag in ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
        if is_number or node.tag == "tag:yaml.org,2002:str":
            self._hide(text, path)
        return text if is_number and _is_text(path) else self._construct(node.tag, text, path)

    def _hide(self, text: str, path: KeyPath) -> None:
        """Make known what is secret here before any mistake can be told."""
        hide_password(text)
        if not path or path in self.document.unset:
            return
        is_header = path[-2:-1] == ("headers",)
        if is_secret(path[-1]) or (is_header and is_likely_secret(str(path[-1]))):
            hide_header(text)
        elif is_header and path in self.document.from_environment:
            Secret(text)

    def _variable(self, match: re.Match[str], path: KeyPath) -> str:
        name, default = match.groups()
        value: str | None = self.environment.get(name, default)
        if value is None:
            self.document.unset[path] = name
            return match[0]
        self.document.from_environment.add(path)
        if is_likely_secret(name):
            _hide(value)
        return value

    def _construct(self, tag: str, text: str, path: KeyPath) -> Any:
        if not tag.startswith("tag:yaml.org,2002:") or tag.startswith("tag:yaml.org,2002:python"):
            self.problems.append(self.document.problem(path, f"the tag {tag!r} is not allowed here."))
            return None
        if tag == "tag:yaml.org,2002:timestamp":
            return text
        try:
            return yaml.SafeLoader("").construct_object(yaml.ScalarNode(tag, text))
        except (yaml.YAMLError, ValueError):
            self.problems.append(self.document.problem(path, f"{text!r} cannot be read."))
            return None


def _is_text(path: KeyPath) -> bool:
    """Whether a value is text although it may look like a number: keys of services, and versions."""
    return bool(path) and (is_secret(path[-1]) or path[-1] in AS_WRITTEN)
