"""Reading a YAML file that people wrote: values with their lines, `${VARIABLES}`, and every mistake with its place."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from cortex_eval.core import InputError, Problem

VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
LARGEST_FILE = 5 * 1024 * 1024
MOST_NODES = 100_000
"""Aliases are followed; a file that grows beyond this while they are is a bomb."""
DEEPEST = 64

KeyPath = tuple[str | int, ...]


@dataclass(slots=True, kw_only=True)
class Document:
    """A YAML file, read: plain values, and where each of them stands."""

    path: Path
    values: dict[str, Any]
    lines: dict[KeyPath, int] = field(default_factory=dict)
    unset: dict[KeyPath, str] = field(default_factory=dict)
    """Places that name an environment variable that is not set, with its name."""
    from_environment: set[KeyPath] = field(default_factory=set)

    def line_of(self, path: KeyPath) -> int | None:
        """The line of a value, or of the nearest thing around it that has one."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path)

    def problem(self, path: KeyPath, message: str) -> Problem:
        """A mistake at this place."""
        return Problem(file=str(self.path), line=self.line_of(path), field=".".join(map(str, path)), message=message)


def read_document(path: Path, environment: Mapping[str, str]) -> Document:
    """The file as values; all that is wrong with it as YAML is raised as one InputError."""
    text = _read_text(path)
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        what = "a tab is used to indent; use blanks" if "\\t" in str(error.problem) else error.problem or error.context
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


def read_environment(folder: Path) -> dict[str, str]:
    """The variables of this process, and below them those of a `.env` file in the folder."""
    values: dict[str, str] = {}
    file = folder / ".env"
    if file.is_file():
        for line in file.read_text(encoding="utf-8").splitlines():
            name, equals, value = line.strip().removeprefix("export ").partition("=")
            if equals and not name.startswith("#"):
                values[name.strip()] = value.strip().strip("\"'")
    return {**values, **os.environ}


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

    def _mapping(self, node: yaml.MappingNode, path: KeyPath) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":
                merged = self.read(value_node, path)
                for each in merged if isinstance(merged, list) else [merged]:
                    values = {**each, **values}
                continue
            key = str(key_node.value)
            place = (*path, key)
            if key in values and place in self.document.lines:
                self.problems.append(
                    self.document.problem(
                        place, f"{key!r} is given twice (again on line {key_node.start_mark.line + 1})."
                    )
                )
            self.document.lines[place] = key_node.start_mark.line + 1
            values[key] = self.read(value_node, place)
        return values

    def _scalar(self, node: yaml.ScalarNode, path: KeyPath) -> Any:
        text = str(node.value)
        if "${" in text and node.tag == "tag:yaml.org,2002:str":
            text = VARIABLE.sub(lambda match: self._variable(match, path), text)
            if VARIABLE.fullmatch(str(node.value)) and node.style is None and path not in self.document.unset:
                tag = yaml.SafeLoader("").resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]
                return self._construct(tag, text, path)
            return text
        return self._construct(node.tag, text, path)

    def _variable(self, match: re.Match[str], path: KeyPath) -> str:
        name, default = match.groups()
        value: str | None = self.environment.get(name, default)
        if value is None:
            self.document.unset[path] = name
            return match[0]
        self.document.from_environment.add(path)
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
