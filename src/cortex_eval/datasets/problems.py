"""Everything that is wrong with a dataset, gathered so that it can be told at once."""

from __future__ import annotations

import unicodedata
from collections.abc import Hashable
from pathlib import PurePosixPath

from cortex_eval.core import InputError, Problem, shorten

MAX_FILE_BYTES = 100 * 1024 * 1024
MAX_ROWS = 1_000_000
MAX_CELL_BYTES = 1024 * 1024
MAX_COLUMNS = 200
MAX_DEPTH = 64
MAX_ALIASES = 1_000
MAX_PROBLEMS = 100
MAX_NAME = 100


class Mistake(Exception):  # noqa: N818  # not an error of Cortex: it never leaves this room
    """One value of one row is not what it should be."""

    def __init__(self, message: str, *, field: str = "", code: str = "wrong_value") -> None:
        super().__init__(message)
        self.message = message
        self.field = field
        self.code = code
        self.line: int | None = None
        self.end: int | None = None
        """Where the text goes on after the value that holds the mistake, if it can be read on."""


class UnreadableError(Exception):
    """The rest of the file cannot be read; the reason is already among the problems."""


class Problems:
    """The first problems of one dataset, and how many more there are."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.found: list[Problem] = []
        self.more = 0
        self.notes: list[str] = []
        """What the author should know, though it is no mistake."""
        self._repeats: dict[Hashable, list[int]] = {}

    def __len__(self) -> int:
        return len(self.found) + self.more

    def add(self, message: str, *, code: str, line: int | None = None, field: str = "") -> None:
        """Note a problem; past the first hundred they are only counted."""
        if len(self.found) >= MAX_PROBLEMS:
            self.more += 1
            return
        self.found.append(Problem(message=message, file=self.file, line=line, field=shorten(field), code=code))

    def is_repeated(self, key: Hashable) -> bool:
        """Whether a problem that many rows share was told before; then it is only counted, in its message.

        The caller adds it right away when it was not.
        """
        if key in self._repeats:
            self._repeats[key][1] += 1
            return True
        self._repeats[key] = [len(self.found), 0]
        return False

    def stop(self, message: str, *, code: str, line: int | None = None, field: str = "") -> UnreadableError:
        """Note a problem after which nothing more can be read; to be raised."""
        self.add(message, code=code, line=line, field=field)
        return UnreadableError(message)

    def listed(self) -> tuple[Problem, ...]:
        """Every problem that is told, with a last line for those that are only counted."""
        told = list(self.found)
        for place, more in self._repeats.values():
            if more and place < len(told):
                first = told[place]
                message = f"{first.message} The same holds for {more} more {'row' if more == 1 else 'rows'}."
                told[place] = Problem(
                    message=message, file=first.file, line=first.line, field=first.field, code=first.code
                )
        if self.more:
            told.append(Problem(message=f"… and {self.more} more problems.", file=self.file, code="more_problems"))
        return tuple(told)

    def error(self) -> InputError:
        """All of it as the error that a caller sees."""
        return InputError(self.listed())


def shown_name(name: str) -> str:
    """A file name that someone sent, fit to be shown: no folders, no control characters, not too long."""
    last = PurePosixPath(name.replace("\\", "/")).name or name
    shown = "".join(c if unicodedata.category(c)[0] != "C" else c.encode("unicode_escape").decode() for c in last)
    return shown if len(shown) <= MAX_NAME else shown[: MAX_NAME - 1] + "…"


def quoted(value: object, width: int = 80) -> str:
    """What was found, redacted and cut, for a message."""
    return shorten(repr(value), width)


def is_too_long(text: str) -> bool:
    """Whether a text takes more than a cell may hold."""
    if len(text) * 4 <= MAX_CELL_BYTES:  # no character takes more than four bytes
        return False
    return len(text.encode("utf-8", "surrogatepass")) > MAX_CELL_BYTES
