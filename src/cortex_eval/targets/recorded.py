"""A target that answers with replies which were recorded before, found by case id or by question."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, NoReturn, Self

from cortex_eval.core import InputError, Problem, Reply, TargetError, did_you_mean, short_repr, shorten
from cortex_eval.datasets import asking_columns
from cortex_eval.targets.base import Target, targets
from cortex_eval.targets.conversation import Conversation
from cortex_eval.targets.own_replies import row_of
from cortex_eval.targets.replies import canonical_name, checked, reply_from_mapping, settable_names

ID_COLUMNS = ("id", "case_id", "caseId", "test_id")
MOST_PROBLEMS = 20
"""Told at once; a file of another shape would otherwise give one for every line."""

Row = dict[str, Any]  # Any: what the file holds


@targets.register("recorded")
@dataclass
class RecordedTarget(Target):
    """Replies from a file: JSONL, JSON or CSV, one row for each case, or for each turn and repeat of it.

    A row without an id is found by its question. Where the file is the dataset's own, or none is named, the replies
    are the columns that the cases do not use.

    JSONL is read twice: once to check every row and note where it lies, and again row by row when it is asked for, so
    that a file of any size needs memory for its ids alone. JSON and CSV are held whole.
    """

    kind: ClassVar[str] = "recorded"
    takes_time: ClassVar[bool] = False

    path: Path | str | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    """Parts of a reply, and `id`, `input`, `turn`, `repeat`, by the columns that hold them: `{text: bot_said}`."""
    _is_own: bool = field(default=False, init=False, repr=False)
    """The dataset holds the replies."""
    _rows: _Jsonl | _Held | None = field(default=None, init=False, repr=False)

    def asked_from(self, dataset: Path) -> None:
        """The file of the cases, which may hold the replies too."""
        self._is_own = self.path is None or Path(self.path).resolve() == dataset.resolve()

    async def check(self) -> None:
        """Read the file; `InputError` names every line that is wrong."""
        async with self:
            pass

    async def __aenter__(self) -> Self:
        self._check_fields()
        if self.path is not None and not self._is_own:
            self._rows = await asyncio.to_thread(self._load, Path(self.path))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        rows, self._rows = self._rows, None
        if rows is not None:
            rows.close()

    async def ask(self, turns: Conversation) -> Reply:
        """The recorded reply to this turn."""
        if self.path is None or self._is_own:
            meaning = {column: name for name, column in self.fields.items()}
            own = row_of(turns.case, self.fields)
            own = {name: _cell(meaning.get(name, name), held) for name, held in own.items()}
            return read_row(own, self.fields, whose=f"The row of case {turns.case.id!r}")
        assert self._rows is not None, "a target is entered before it is asked: `async with target:`"
        key = Key(turns.case.id, turns.case.turn, turns.repeat)
        row = await asyncio.to_thread(self._rows.find, (key, replace(key, id=asked_by(turns.text))))
        if row is None:
            where = f"case {key.id!r}" + (f", turn {key.turn}" if key.turn else "")
            where += f", repeat {key.repeat}" if key.repeat else ""
            raise TargetError(f"{self.path} holds no reply for {where}.", kind="not_recorded")
        return read_row(row, self.fields, whose=str(self.path))

    def _check_fields(self) -> None:
        known = {*settable_names(), "id", "input", "turn", "repeat"}
        for name in self.fields:
            if name not in known:
                raise InputError(f"fields: {name!r} is no part of a reply. {did_you_mean(name, known)}")

    def _load(self, path: Path) -> _Jsonl | _Held:
        if not path.is_file():
            raise InputError(f"path: there is no file {path.absolute()}.")
        match path.suffix.lower():
            case ".jsonl" | ".ndjson":
                return _Jsonl(path, self.fields)
            case ".json":
                return _Held(path, self.fields, _json_rows)
            case ".csv":
                return _Held(path, self.fields, _csv_rows)
        raise InputError(f"path: {path.name} is of no known format. Recorded replies are .jsonl, .json or .csv.")


@dataclass(frozen=True, slots=True)
class Key:
    """Which reply is meant; a row without turn or repeat serves all of them."""

    id: str
    turn: int | None = None
    repeat: int | None = None

    @property
    def text(self) -> str:
        """As it is kept in an index: most rows have an id and nothing else."""
        return self.id if self.turn is None and self.repeat is None else f"{self.id}\0{self.turn}\0{self.repeat}"

    def candidates(self) -> Iterator[str]:
        """From the most to the least exact."""
        yield self.text
        yield Key(self.id, self.turn).text
        yield Key(self.id, None, self.repeat).text
        yield self.id


def read_row(row: Row, fields: Mapping[str, str], *, whose: str) -> Reply:
    """The reply in a row; `TargetError` when it holds none, or recorded an error instead."""
    if isinstance(held := row.get("reply"), dict) and "text" not in fields:  # a results row of ours
        return checked(reply_from_mapping(held, whose=whose), whose=whose)
    if (failed := row.get("error")) and not _holds_reply(row, fields):
        kind, message = (failed.get("kind"), failed.get("message")) if isinstance(failed, dict) else (None, failed)
        raise TargetError(f"Recorded: {shorten(str(message))}", kind=str(kind or "recorded_error"))
    given = {name: row[column] for name, column in fields.items() if name in settable_names() and column in row}
    used = {*fields.values(), *ID_COLUMNS, "turn", "repeat"}
    rest = {key: value for key, value in row.items() if key not in used and canonical_name(key) not in given}
    return checked(reply_from_mapping({**rest, **given}, whose=whose), whose=whose)


def _holds_reply(row: Row, fields: Mapping[str, str]) -> bool:
    return any(row.get(name) is not None for name in row if canonical_name(name) or name in fields.values())


def key_of(row: Row, fields: Mapping[str, str]) -> Key:
    """Whose reply a row is; `ValueError` says what is wrong with it."""
    columns = (fields["id"],) if "id" in fields else ID_COLUMNS
    value = next((row[column] for column in columns if row.get(column) is not None), None)
    if value is None and (question := _question(row, fields)):
        return Key(asked_by(question), _count(row, fields, "turn"), _count(row, fields, "repeat"))
    if value is None:
        named = " or ".join(map(repr, columns))
        raise ValueError(f"the row has no {named}, and no question; it has {shorten(', '.join(row))}")
    if isinstance(value, bool) or not isinstance(value, (str, int)) or value == "":
        raise ValueError(f"the id must be text or a whole number, not {short_repr(value)}")
    return Key(str(value), _count(row, fields, "turn"), _count(row, fields, "repeat"))


def asked_by(question: str) -> str:
    """What stands for the id of a row that has only its question; no id begins like this."""
    return f"\0{question.strip()}"


def _question(row: Row, fields: Mapping[str, str]) -> str | None:
    """What was asked, in the column that is named for it, or in one that is no part of a reply."""
    others = [each for each in row if canonical_name(each) is None and each not in fields.values()]
    columns = [fields["input"]] if "input" in fields else asking_columns(others)
    return next((each for column in columns if isinstance(each := row.get(column), str) and each.strip()), None)


def _count(row: Row, fields: Mapping[str, str], name: str) -> int | None:
    value = row.get(fields.get(name, name))
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 0):
        return value
    raise ValueError(f"{name} must be a whole number from 0 on, not {short_repr(value)}")


class _Problems:
    """Gathers what is wrong with a file, and raises it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._found: list[Problem] = []

    def add(self, line: int | None, message: str) -> None:
        self._found.append(Problem(file=str(self._path), line=line, message=message))
        if len(self._found) >= MOST_PROBLEMS:
            self.raise_them()

    def raise_them(self) -> None:
        if self._found:
            raise InputError(self._found)

    def check(self, line: int, row: object, fields: Mapping[str, str], seen: Mapping[str, int]) -> Key | None:
        """The row's key, if the row is good."""
        if not isinstance(row, dict):
            self.add(line, f"a row must be an object, not {short_repr(row)}")
            return None
        try:
            key = key_of(row, fields)
            read_row(row, fields, whose="the row")
        except ValueError as error:
            self.add(line, str(error))
            return None
        except TargetError as error:
            if error.kind in ("bad_return", "too_large"):
                self.add(line, str(error))
                return None
        if key.text in seen:
            again = f"turn {key.turn}, repeat {key.repeat}" if key.text != key.id else "no turn and no repeat"
            whose = f"the question {short_repr(key.id[1:])}" if key.id.startswith("\0") else f"case {key.id!r}"
            self.add(line, f"{whose} is here a second time, with {again}")
            return None
        return key


class _Jsonl:
    """Where each row lies in a JSONL file."""

    def __init__(self, path: Path, fields: Mapping[str, str]) -> None:
        self._fields = fields
        self._offsets: dict[str, int] = {}
        self._path = path
        problems = _Problems(path)
        offset = 0
        with path.open("rb") as lines:  # as bytes a line ends at \n alone, not at a U+2028 inside a reply
            for number, line in enumerate(lines, 1):
                start, offset = offset, offset + len(line)
                text = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
                if not text.strip():
                    continue
                try:
                    row = _decoded(text)
                except ValueError as error:
                    problems.add(number, _what_is_wrong(error))
                    continue
                if key := problems.check(number, row, fields, self._offsets):
                    self._offsets[key.text] = start
        if not self._offsets:
            problems.add(None, "there is no reply in it")
        problems.raise_them()
        self._file = os.open(path, os.O_RDONLY)

    def find(self, keys: Iterable[Key]) -> Row | None:
        for text in (each for key in keys for each in key.candidates()):
            offset = self._offsets.get(text)
            if offset is not None:
                return self._row_at(offset, text)
        return None

    def close(self) -> None:
        os.close(self._file)

    def _row_at(self, offset: int, expected: str) -> Row:
        held = bytearray()
        while not (end := held.find(b"\n") + 1) and (part := os.pread(self._file, 65536, offset + len(held))):
            held += part
        try:
            row: Row = json.loads(bytes(held[:end] if end else held).decode("utf-8-sig"))
            if key_of(row, self._fields).text == expected:
                return row
        except (ValueError, AttributeError):
            pass
        raise TargetError(f"{self._path} was changed while it was in use.", kind="not_recorded")


class _Held:
    """All rows of a file that cannot be read in parts."""

    def __init__(
        self,
        path: Path,
        fields: Mapping[str, str],
        read: Callable[[Path, Mapping[str, str]], Iterator[tuple[int, object]]],
    ) -> None:
        problems = _Problems(path)
        seen: dict[str, int] = {}
        self._rows: dict[str, bytes] = {}
        for line, row in read(path, fields):
            if key := problems.check(line, row, fields, seen):
                seen[key.text] = line
                self._rows[key.text] = json.dumps(row).encode()  # far smaller than the objects
        if not self._rows:
            problems.add(None, "there is no reply in it")
        problems.raise_them()

    def find(self, keys: Iterable[Key]) -> Row | None:
        for text in (each for key in keys for each in key.candidates()):
            if text in self._rows:
                row: Row = json.loads(self._rows[text])
                return row
        return None

    def close(self) -> None:
        self._rows = {}


def _json_rows(path: Path, _fields: Mapping[str, str]) -> Iterator[tuple[int, object]]:
    """The rows of a list, of `{replies|results|cases: [...]}`, or of an object of replies by case id."""
    try:
        document = _decoded(path.read_bytes().removeprefix(b"\xef\xbb\xbf"))
    except ValueError as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else None
        raise InputError(Problem(file=str(path), line=line, message=_what_is_wrong(error))) from error
    if isinstance(document, dict):
        listed = next((document[name] for name in ("replies", "results", "cases") if name in document), None)
        by_id = [{"id": key, **(row if isinstance(row, dict) else {"text": row})} for key, row in document.items()]
        document = by_id if listed is None else listed
    if not isinstance(document, list):
        raise InputError(Problem(file=str(path), message="it must hold a list of replies, or replies by case id."))
    yield from enumerate(document, 1)


def _csv_rows(path: Path, fields: Mapping[str, str]) -> Iterator[tuple[int, object]]:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"byte {error.start} is not UTF-8. Save the file as UTF-8."
        raise InputError(Problem(file=str(path), message=message)) from error
    meaning = {column: name for name, column in fields.items()}
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        for cells in reader:
            if None in cells or None in cells.values():
                message = f"the row does not have {len(reader.fieldnames or ())} cells, as the header does."
                raise InputError(Problem(file=str(path), line=reader.line_num, message=message))
            yield (
                reader.line_num,
                {name: _cell(meaning.get(name, name), cell) for name, cell in cells.items() if cell != ""},
            )
    except csv.Error as error:
        raise InputError(Problem(file=str(path), line=reader.line_num, message=f"{error}.")) from error


def _cell(name: str, cell: object) -> object:
    """Text stays text; numbers, lists and objects are read where a reply has them."""
    if not isinstance(cell, str):
        return cell
    if name in ("turn", "repeat"):
        return int(cell) if cell.isdecimal() else cell
    match canonical_name(name):
        case "confidence" | "parse_time_ms" | "total_time_ms" | "first_token_ms":
            try:
                return float(cell)
            except ValueError:
                return cell
        case "llm_invoked":
            return {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}.get(
                cell.lower(), cell
            )
        case "entities" | "arguments" | "contexts" | "citations" | "tool_calls" | "usage" | "metadata":
            try:
                return _decoded(cell.encode()) if cell[0] in "[{" else cell
            except ValueError:
                return cell
    return cell


def _decoded(data: bytes) -> Any:  # Any: JSON
    try:
        return json.loads(data.decode(), object_pairs_hook=_no_repeated_keys, parse_constant=_not_finite)
    except RecursionError:
        raise ValueError("lists and objects are nested too deep") from None


def _no_repeated_keys(pairs: list[tuple[str, Any]]) -> Row:  # Any: JSON
    row = dict(pairs)
    if len(row) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(name for name in names if names.count(name) > 1)!r} is there twice")
    return row


def _not_finite(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number that JSON can hold")


def _what_is_wrong(error: ValueError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.start} of the line is not UTF-8. Save the file as UTF-8."
    if isinstance(error, json.JSONDecodeError):
        return f"this is not JSON: {error.msg} at column {error.colno}."
    return f"{error}."
