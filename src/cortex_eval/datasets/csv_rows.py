"""Rows of a CSV file, with the line where each begins and no row ever lost in silence."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from cortex_eval.datasets.opening import text_lines
from cortex_eval.datasets.problems import MAX_CELL_BYTES, MAX_COLUMNS, Problems, is_too_long, quoted

NEUTRALISED = re.compile(r"'+\s*[=+\-@\t\r]")
"""A cell that our own export kept from being taken for a formula."""
_QUOTED = re.compile(r'"[^"]*(?:""[^"]*)*"')
SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
_SEPARATOR = re.compile(r"sep=([,;\t|])\s*")
_PIECES = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$")


class RawRow(NamedTuple):
    """One row as it stands in its file."""

    line: int | None
    """Where it begins; None when the row does not come from lines."""
    values: dict[str, object]


def read_csv(path: Path, encoding: str | None, problems: Problems, *, delimiter: str = ",") -> Iterator[RawRow]:
    """The rows of a CSV file; rows of the wrong width and the like are left out and noted."""
    csv.field_size_limit(max(csv.field_size_limit(), MAX_CELL_BYTES))  # the module's own limit is 128 KiB
    text = text_lines(path, encoding, problems)
    first = next(text, "")
    if said := _SEPARATOR.fullmatch(first):  # a line that spreadsheets write for each other
        first, delimiter = "\n", said[1]
    elif delimiter == ",":
        delimiter = _separator_of(first)
    lines = _Lines(chain([first], text))
    rows = _rows(lines, delimiter, problems)
    columns = _header(next(rows, None), problems)
    for line, cells in rows:
        if len(cells) != len(columns):
            problems.add(_wrong_width(cells, columns, delimiter), code="row_width", line=line)
        elif _fits(columns, cells, line, problems):
            yield RawRow(line, dict(zip(columns, map(restored, cells), strict=True)))


def _wrong_width(cells: list[str], columns: list[str], delimiter: str) -> str:
    """What is said of a row that does not fit the header, with what is most likely to mend it."""
    told = f"the row has {len(cells)} cell{'' if len(cells) == 1 else 's'}, the header has {len(columns)}."
    names, separator = "".join(columns), SEPARATORS[delimiter]
    meant = max(SEPARATORS.keys() - {delimiter}, key=names.count)
    if names.count(meant) >= len(columns) - 1 > 0:
        remedy = f"Is the {SEPARATORS[meant]} meant to part them? Then put column names with a {separator} in quotes"
        return f'{told} {remedy} ("…").'
    if len(cells) > len(columns):
        return f'{told} Put a text with a {separator} in quotes ("…").'
    return f'{told} Leave no {separator} out where a cell is empty, and put a text of several lines in quotes ("…").'


def _separator_of(header: str) -> str:
    """A comma, or what a header without commas has in its place: spreadsheets of many countries write semicolons."""
    names = _QUOTED.sub("", header.partition("\r")[0])
    return "," if "," in names else max(",;\t|", key=names.count)


def restored(cell: str) -> str:
    """The text of a cell before our own export put a ' in front of it."""
    return cell[1:] if cell[:1] == "'" and NEUTRALISED.match(cell) else cell


def neutralised(cell: str) -> str:
    """The text of a cell such that no spreadsheet takes it for a formula; `restored` gives it back exactly."""
    return "'" + cell if NEUTRALISED.match("'" + cell) else cell


class _Lines:
    """Feeds the csv reader, and remembers the lines of the row that it is reading."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._pieces = _numbered(lines)
        self.held: list[str] = []
        self.start = 1
        self.last = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        number, piece = next(self._pieces)
        if not self.held:
            self.start = number
        self.last = number
        self.held.append(piece)
        return piece


def _numbered(lines: Iterator[str]) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(lines, start=1):
        if "\r" not in line or (line.find("\r") == len(line) - 2 and line[-1] == "\n"):
            yield number, line
        elif line.endswith("\n"):  # a lone \r inside a cell
            yield from ((number, piece) for piece in _PIECES.findall(line))
        else:  # lines that end with \r alone, as old spreadsheets write them
            yield from enumerate(_PIECES.findall(line), start=number)


def _rows(lines: _Lines, delimiter: str, problems: Problems) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(lines, strict=True, delimiter=delimiter)
    while True:
        lines.held.clear()
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            _explain(error, lines, delimiter, problems)
            continue
        if len(lines.held) > 1 and _bad_quote("".join(lines.held), delimiter) is not None:
            raise _unclosed(lines, delimiter, problems)
        if any(cells):
            yield lines.start, cells


def _explain(error: csv.Error, lines: _Lines, delimiter: str, problems: Problems) -> None:
    """Say what the csv reader stumbled over; raises when the rows after it cannot be told apart."""
    if "field larger" in str(error):
        for _ in lines:  # does the quote close at all?
            pass
        if _bad_quote("".join(lines.held), delimiter) is not None:
            raise _unclosed(lines, delimiter, problems)
        raise problems.stop("a cell is larger than 1 MiB.", code="too_large", line=lines.start)
    if len(lines.held) > 1 or "unexpected end" in str(error):
        raise _unclosed(lines, delimiter, problems)
    problems.add(
        "text follows the closing quote of a cell. Write a quote inside a quoted cell twice.",
        code="stray_quote",
        line=lines.start,
    )


def _unclosed(lines: _Lines, delimiter: str, problems: Problems) -> Exception:
    text = "".join(lines.held)
    before = text[: _bad_quote(text, delimiter) or 0]
    line = lines.start + before.count("\n" if "\n" in text else "\r")
    message = f"a quote is opened on line {line} and not closed: the rows after it cannot be told apart. Close it."
    return problems.stop(message, code="unclosed_quote", line=line)


def _bad_quote(text: str, delimiter: str) -> int | None:
    """Where the quote stands that is not properly closed; None when all of them are.

    A quote that was never closed can meet the opening quote of a later cell and look closed. Then text follows it,
    or a quote turns up in a cell that has none around it: in a row of several lines that is taken for a mistake.
    """
    plain_cell = re.compile(rf"[^{re.escape(delimiter)}\r\n]*")
    several_lines: int | None = None
    place = 0
    while place < len(text):
        cell = _QUOTED.match(text, place) if text[place] == '"' else plain_cell.match(text, place)
        if cell is None:
            return place
        end = cell.end()
        if text[place] == '"':
            if end < len(text) and text[end] not in (delimiter, "\r", "\n"):
                return place if several_lines is None else several_lines
            if several_lines is None and "\n" in cell[0]:
                several_lines = place
        elif several_lines is not None and '"' in cell[0]:
            return several_lines
        if text[end : end + 1] in ("\r", "\n"):
            several_lines = None
        place = end + 1
    return None


def _header(first: tuple[int, list[str]] | None, problems: Problems) -> list[str]:
    if first is None:
        raise problems.stop("the file holds no rows.", code="dataset_empty")
    line, cells = first
    columns = [restored(cell).strip() or f"column_{place}" for place, cell in enumerate(cells, start=1)]
    if len(columns) > MAX_COLUMNS:
        message = f"the header has {len(columns)} columns; at most {MAX_COLUMNS} are read."
        raise problems.stop(message, code="too_large", line=line)
    twice = sorted({column for column in columns if columns.count(column) > 1})
    if twice:
        for column in twice:
            problems.add(
                f"the column {quoted(column)} is there twice.", code="duplicate_column", line=line, field=column
            )
        raise problems.stop("rename one of each, so that no cell is lost.", code="duplicate_column", line=line)
    return columns


def _fits(columns: list[str], cells: list[str], line: int, problems: Problems) -> bool:
    before = len(problems)
    for column, cell in zip(columns, cells, strict=True):
        if "\0" in cell:
            problems.add(
                f"the cell in column {quoted(column)} holds a NUL byte.", code="nul_byte", line=line, field=column
            )
        if is_too_long(cell):
            problems.add(
                f"the cell in column {quoted(column)} is larger than 1 MiB.", code="too_large", line=line, field=column
            )
    return len(problems) == before
