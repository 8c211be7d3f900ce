"""A YAML file as it is written: where things stand in it, and how one change is put into it and nothing else."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from cortex_eval import datasets
from cortex_eval.core import InputError, KeyPath, StorageError

MERGE = "tag:yaml.org,2002:merge"
AS_TEXT = ("tag:yaml.org,2002:str", "tag:yaml.org,2002:timestamp")
CHANGED = "was changed by somebody else meanwhile. Nothing was written; try again."


class Change(NamedTuple):
    """What stands between two places in the text is replaced."""

    start: int
    end: int
    text: str


class Found(NamedTuple):
    """Where a list stands, or would stand."""

    parent: yaml.MappingNode
    key: yaml.Node | None
    """None: it is not there."""
    value: yaml.Node | None
    before: yaml.Node | None
    """The value before it."""

    @property
    def indent(self) -> str:
        """Before every key of what is around it, where each has its own line."""
        return " " * int(self.parent.value[0][0].start_mark.column)

    @property
    def last(self) -> tuple[yaml.Node, yaml.Node]:
        """The last key of what is around it, with its value."""
        key, value = self.parent.value[-1]
        return key, value


class Text(NamedTuple):
    """A file as it is written."""

    real: Path
    path: Path
    """As people call it."""
    all: str
    root: yaml.Node | None
    values: Any  # Any: what people wrote, as `_values` has it

    @classmethod
    def read(cls, real: Path, path: Path) -> Text:
        """The text of a file that was read as a project file a moment ago."""
        try:
            text = real.read_bytes().decode("utf-8")
            root = yaml.compose(text, Loader=yaml.SafeLoader)
            return cls(real, path, text, root, _values(root))
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror}.") from error
        except (UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
            raise InputError(f"{path} {CHANGED}") from error

    @property
    def newline(self) -> str:
        """How its lines end."""
        return "\r\n" if "\r\n" in self.all else "\n"

    def find(self, place: KeyPath) -> Found | None:
        """Where the list stands; None when what should be around it is not there, or empty."""
        here = self.root
        for key in place[:-1]:
            pair = _pair(here, key)
            here = pair[1] if pair else None
        if not isinstance(here, yaml.MappingNode) or not here.value:
            return None
        pair = _pair(here, place[-1])
        if pair is None:
            return Found(here, None, None, None)
        at = here.value.index(pair)
        return Found(here, *pair, here.value[at - 1][1] if at else None)

    def items_at(self, place: KeyPath) -> list[Any]:
        """The items of the list, as `_values` has them."""
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

    def write(self, place: KeyPath, items: Sequence[Any], change: Change | None, advice: str) -> None:
        """Make the change, if it does just what it should."""
        if change is not None:
            new = self.all[: change.start] + change.text + self.all[change.end :]
            wanted = [_with(self.values, place, list(items)), *([] if items else [_with(self.values, place, None)])]
            try:
                is_right = _values(yaml.compose(new, Loader=yaml.SafeLoader)) in wanted
            except (yaml.YAMLError, RecursionError):
                is_right = False
            if is_right:
                return self._put(new)
        where = ".".join(map(str, place))
        raise InputError(f"{self.path}: {where} is written in a way that is not changed from here. {advice}")

    def _put(self, new: str) -> None:
        """Put the text in the file at once, with the rights and the owner that it had."""
        try:
            was = self.real.stat()
            if not was.st_mode & 0o222 or not os.access(self.real, os.W_OK):
                raise StorageError(f"{self.path} is read-only. Nothing was changed.")
            with datasets.atomic_file(self.real) as file:
                file.write(new.encode())
                with suppress(OSError):  # only root can give a file away
                    os.fchown(file.fileno(), was.st_uid, was.st_gid)
                os.fchmod(file.fileno(), stat.S_IMODE(was.st_mode))
                if self.real.read_bytes() != self.all.encode():
                    raise InputError(f"{self.path} {CHANGED}")
        except OSError as error:
            raise StorageError(f"{self.path} cannot be written: {error.strerror}. Nothing was changed.") from error


def _values(node: yaml.Node | None) -> Any:  # Any: what people wrote, here and below
    """What a node holds, to be compared: keys and days are text, numbers and words such as `yes` have their kind.

    What `<<` brings stands with the rest.
    """
    if isinstance(node, yaml.SequenceNode):
        return [_values(each) for each in node.value]
    if isinstance(node, yaml.MappingNode):
        merged: dict[str, Any] = {}
        for key, value in node.value:
            if key.tag == MERGE:
                for each in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                    merged = {**_values(each), **merged} if isinstance(each, yaml.MappingNode) else merged
        return merged | {str(key.value): _values(value) for key, value in node.value if key.tag != MERGE}
    return None if node is None else node.value if node.tag in AS_TEXT else (node.tag, node.value)


def _pair(node: yaml.Node | None, key: str | int) -> tuple[yaml.Node, yaml.Node] | None:
    if not isinstance(node, yaml.MappingNode):
        return None
    return next((pair for pair in node.value if pair[0].value == key), None)


def _with(values: Any, place: KeyPath, items: list[Any] | None) -> Any:
    """The values with this list in this place, or without one, and all else as it was, also what aliases share."""
    name, *rest = place
    if rest:
        return {**values, name: _with(values[name], tuple(rest), items)}
    if items is None:
        return {key: each for key, each in values.items() if key != name}
    return {**values, name: items}


@contextmanager
def held(path: Path) -> Iterator[Path]:
    """The file behind a name; whoever else changes files in its folder from here waits meanwhile."""
    import fcntl  # not everywhere, and not needed to read a project

    real = path.resolve()
    try:
        folder = os.open(real.parent, os.O_RDONLY)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from error
    try:
        with suppress(OSError):  # some network disks have no locks: then only what is seen when writing is refused
            fcntl.flock(folder, fcntl.LOCK_EX)  # let go when it is closed, or its process dies
        yield real
    finally:
        os.close(folder)
