"""Reading datasets: cases one by one from a file or from Python values, and everything that is wrong told at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import orjson

from cortex_eval.core import Case, Problem, case_from_json, content_id, read_back, to_json
from cortex_eval.datasets import values
from cortex_eval.datasets.attached import pin_attachments
from cortex_eval.datasets.csv_rows import RawRow, read_csv
from cortex_eval.datasets.json_rows import check_sizes, read_json, read_jsonl
from cortex_eval.datasets.opening import Format, check_file, format_of
from cortex_eval.datasets.parquet_rows import read_parquet
from cortex_eval.datasets.problems import MAX_DEPTH, MAX_ROWS, Mistake, Problems, UnreadableError, quoted
from cortex_eval.datasets.shape import Shapes
from cortex_eval.datasets.strict_json import check_numbers, depth
from cortex_eval.datasets.version import VersionHash
from cortex_eval.datasets.yaml_rows import read_yaml

_STRICT = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME
_CELLS = ("csv", "tsv", "parquet")


class CaseRow(msgspec.Struct, frozen=True):
    """A case ready to be stored, with the facts that cases are selected by."""

    ordinal: int
    """Place in the dataset, from 0."""
    id: str
    json: bytes
    """As `core.to_json` writes the case."""
    turns: int
    category: str | None
    tier: int | None
    language: str | None
    cluster_id: str | None
    tags: tuple[str, ...]
    line: int | None
    """Where it stands in its file."""

    @property
    def case(self) -> Case:
        """The case itself."""
        return case_from_json(self.json)


class CaseReader:
    """The cases of one dataset, to be gone through once.

    Nothing is handed over after the first problem; the rest is still looked at, and then `InputError` tells all of
    it. With `skip_invalid` the sound rows are handed over and `problems` tells what was left out; what makes a file
    unreadable as a whole is an `InputError` even then. Whoever stores cases on the way must undo that on an error.
    """

    def __init__(
        self,
        source: Iterator[RawRow],
        shapes: Shapes,
        problems: Problems,
        *,
        skip_invalid: bool = False,
        folder: Path | None = None,
    ) -> None:
        self._folder = folder or Path()
        """Where the files lie that rows name."""
        self._source = source
        self._shapes = shapes
        self._problems = problems
        self._skip_invalid = skip_invalid
        self._is_read = False
        self._hash = VersionHash()
        self._ids: dict[str, int] = {}
        self._twice: dict[str, list[int]] = {}
        self.cases = 0
        """Cases handed over so far."""

    def __iter__(self) -> Iterator[Case]:
        return (row.case for row in self.rows())

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What was wrong so far; complete once all is read."""
        return self._problems.listed()

    @property
    def notes(self) -> tuple[str, ...]:
        """What is not wrong and yet may not be meant: names that are nearly known; complete once all is read."""
        begin = f"{self._problems.file}: the" if self._problems.file else "The"
        nearly = (
            f"{begin} column {quoted(column)} is not known and is kept as metadata. Did you mean {near!r}?"
            for column, near in self._shapes.misspelt().items()
        )
        return (*self._problems.notes, *self._shapes.notes(), *nearly)

    @property
    def maybe_answer(self) -> str | None:
        """A column that is only kept and that holds good answers in some files; complete once all is read."""
        return self._shapes.maybe_answer()

    @property
    def version(self) -> str:
        """The version of the cases handed over so far; that of the dataset once all is read."""
        return self._hash.version

    def rows(self) -> Iterator[CaseRow]:
        """Every case in its stored form, which is cheaper than the case itself."""
        if self._is_read:
            raise RuntimeError("A CaseReader is gone through once; read the dataset again.")
        self._is_read = True
        rows = 0
        unreadable = False
        try:
            for rows, raw in enumerate(self._source, start=1):
                if rows > MAX_ROWS:
                    raise self._problems.stop(
                        f"there are more than {MAX_ROWS:,} rows.", code="too_large", line=raw.line
                    )
                row = self._row(raw, rows)
                if row is not None:
                    self.cases += 1
                    yield row
        except UnreadableError:
            unreadable = True
        self._tell_repeated_ids()
        self._shapes.check_fields_found(self._problems)
        if not rows and not self._problems:
            self._problems.add("the dataset holds no cases.", code="dataset_empty")
        if len(self._problems) and (unreadable or not self._skip_invalid or not self.cases):
            raise self._problems.error()

    def _row(self, raw: RawRow, number: int) -> CaseRow | None:
        problems = self._problems
        data: dict[str, Any] | None  # Any: a case in canonical fields
        if isinstance(raw, _GivenCase):
            data = raw.canonical(problems)
        else:
            data = self._pinned(self._shapes.read(raw.values, raw.line, problems), raw.line)
        canonical = None if data is None else self._written(data, raw.line)
        place = raw.line or number
        if data is None or canonical is None:
            self._note_id_of_unsound(raw, place)
            return None
        case_id: str | None = data.get("id")
        if case_id is None or (case_id in self._ids and self._borrows_id(raw)):
            case_id = self._free_id(case_id or content_id(canonical))
            data = {**data, "id": case_id}
            canonical = orjson.dumps(data, option=_STRICT | orjson.OPT_SORT_KEYS)
        elif case_id in self._ids:
            self._twice.setdefault(case_id, [self._ids[case_id]]).append(place)
            return None
        self._ids[case_id] = place
        if not self._skip_invalid and (problems or self._twice):
            return None
        self._hash.add(canonical)
        tags = data.get("tags")
        return CaseRow(
            self.cases,
            case_id,
            bytes(memoryview(orjson.dumps(data, option=_STRICT))),  # a copy: what orjson gives holds on to 4 KiB
            len(data["turns"]),
            data.get("category"),
            data.get("tier"),
            data.get("language"),
            data.get("cluster_id"),
            tuple(tags) if tags else (),
            raw.line,
        )

    def _note_id_of_unsound(self, raw: RawRow, place: int) -> None:
        """An id that is there twice is told with the other mistakes of its row; a row that is skipped takes up none."""
        if self._skip_invalid or isinstance(raw, _GivenCase):
            return
        case_id = self._shapes.own_id(raw.values)
        if case_id is not None and case_id in self._ids:
            self._twice.setdefault(case_id, [self._ids[case_id]]).append(place)
        elif case_id is not None:
            self._ids[case_id] = place

    def _pinned(self, data: dict[str, Any] | None, line: int | None) -> dict[str, Any] | None:  # Any: see _row
        try:
            if data is not None:
                pin_attachments(data, self._folder)
        except Mistake as mistake:
            self._problems.add(mistake.message, code=mistake.code, line=line, field=mistake.field)
            return None
        return data

    def _written(self, data: dict[str, Any], line: int | None) -> bytes | None:  # Any: see _row
        """The canonical JSON of a case; None when it holds something that cannot be stored, which is noted."""
        try:
            canonical = orjson.dumps(data, option=_STRICT | orjson.OPT_SORT_KEYS)
        except TypeError as error:
            self._problems.add(f"the row cannot be written as JSON: {error}.", code="wrong_value", line=line)
            return None
        if b"\\u0000" in canonical:
            path = _path_of_nul(data, "")
            if path is not None:
                self._problems.add(f"{path} holds a NUL byte.", code="nul_byte", line=line, field=path)
                return None
        return canonical

    def _borrows_id(self, raw: RawRow) -> bool:
        """Whether an id is one that nobody gave this case alone."""
        if isinstance(raw, _GivenCase):
            case = raw.values["case"]
            assert isinstance(case, Case)
            return case.id == case.content_id
        return self._shapes.borrows_id(raw.values)

    def _free_id(self, first: str) -> str:
        free, count = first, 1
        while free in self._ids:
            count += 1
            free = f"{first}-{count}"
        return free

    def _tell_repeated_ids(self) -> None:
        if not self._twice:
            return
        told = "; ".join(
            f"{quoted(case_id)} in rows {', '.join(map(str, places[:5]))}{', …' if len(places) > 5 else ''}"
            for case_id, places in list(self._twice.items())[:5]
        )
        count = len(self._twice)
        message = (
            f"{count} {'id is' if count == 1 else 'ids are'} there more than once: {told}{'; …' if count > 5 else ''}. "
            f"Give each case an id of its own, or leave the ids out{self._shapes.how_to_leave_ids_out()}."
        )
        self._problems.add(message, code="duplicate_id", line=next(iter(self._twice.values()))[1], field="id")


class _GivenCase(RawRow):
    """A case that Python handed over ready-made."""

    def canonical(self, problems: Problems) -> dict[str, Any] | None:  # Any: a case in canonical fields
        given, before = self.values["case"], len(problems)
        assert isinstance(given, Case)
        try:
            case, _ = read_back(Case, given)
        except (TypeError, ValueError, RecursionError) as error:
            message = f"case {quoted(given.id)} cannot be stored: {error}."
            problems.add(message, code="wrong_value", line=self.line)
            return None
        for index, turn in enumerate(case.turns):
            if not turn.text.strip():
                problems.add(f"case {quoted(case.id)}: turn {index + 1} is blank.", code="empty_input", line=self.line)
            for wrong in values.wrong_checks(turn.expected.checks):
                problems.add(f"case {quoted(case.id)}: {wrong}", code="wrong_check", line=self.line, field="checks")
        if not case.id.strip():
            problems.add(f"row {self.line} is a case without an id.", code="wrong_value", line=self.line, field="id")
        if not case.turns:
            problems.add(f"case {quoted(case.id)} has no turns.", code="empty_input", line=self.line)
        if case.tier is not None and not 1 <= case.tier <= 5:
            message = f"case {quoted(case.id)}: tier must be 1 to 5, not {case.tier}."
            problems.add(message, code="wrong_value", line=self.line, field="tier")
        if len(problems) != before:
            return None
        plain: dict[str, Any] = orjson.loads(to_json(case.at(0)))  # Any: a case in canonical fields
        return plain


def read_cases(
    path: str | Path,
    *,
    fields: Mapping[str, str] | None = None,
    encoding: str | None = None,
    skip_invalid: bool = False,
    kind: Format | None = None,
    name: str | None = None,
) -> CaseReader:
    """The cases of a file, read as they are asked for.

    `fields` names the columns of canonical fields that are called otherwise. `kind` is taken from the file's ending
    when not given, and `name` is what messages call the file.
    """
    path = Path(path)
    kind = kind or format_of(path)
    problems = Problems(name or str(path))
    shapes = Shapes(fields=fields, cells=kind in _CELLS)
    rows = _raw_rows(path, kind, encoding, problems)
    return CaseReader(rows, shapes, problems, skip_invalid=skip_invalid, folder=path.parent)


def cases_from(
    rows: Iterable[Mapping[str, Any] | Case], *, fields: Mapping[str, str] | None = None, name: str = ""
) -> CaseReader:
    """The cases of Python values: dictionaries in any of the shapes that files have, or cases."""
    problems = Problems(name)
    return CaseReader(_given_rows(rows, problems), Shapes(fields=fields), problems)


def read_rows(
    path: str | Path, *, encoding: str | None = None, kind: Format | None = None, name: str | None = None
) -> Iterator[RawRow]:
    """The rows of a file as they stand there, no shape recognised; at the end `InputError` tells what is wrong."""
    path = Path(path)
    problems = Problems(name or str(path))
    with suppress(UnreadableError):  # the problem is noted
        yield from _raw_rows(path, kind or format_of(path), encoding, problems)
    if len(problems):
        raise problems.error()


def _raw_rows(path: Path, kind: Format, encoding: str | None, problems: Problems) -> Iterator[RawRow]:
    check_file(path, kind, problems)
    if kind == "jsonl":
        yield from read_jsonl(path, encoding, problems)
    elif kind == "json":
        yield from read_json(path, encoding, problems)
    elif kind == "yaml":
        yield from read_yaml(path, encoding, problems)
    elif kind == "parquet":
        yield from read_parquet(path, problems)
    else:
        yield from read_csv(path, encoding, problems, delimiter="\t" if kind == "tsv" else ",")


def _given_rows(rows: Iterable[Mapping[str, Any] | Case], problems: Problems) -> Iterator[RawRow]:
    for number, row in enumerate(rows, start=1):
        if isinstance(row, Case):
            yield _GivenCase(number, {"case": row})
            continue
        try:
            if not isinstance(row, Mapping):
                raise Mistake(f"row {number} is a Case or a dictionary, not {quoted(row)}.", code="wrong_value")
            held = dict(row)
            if (odd := next((key for key in held if not isinstance(key, str)), "")) != "":
                raise Mistake(f"row {number} has the key {quoted(odd)}, which is not text.", code="wrong_value")
            if depth(held) > MAX_DEPTH:
                raise Mistake(f"row {number} is nested more than {MAX_DEPTH} deep.", code="too_deep")
            check_numbers(held)
            check_sizes(held)
        except Mistake as mistake:
            problems.add(mistake.message, code=mistake.code, line=number, field=mistake.field)
        else:
            yield RawRow(number, held)


def _path_of_nul(value: object, path: str) -> str | None:
    if isinstance(value, str):
        return path if "\0" in value else None
    if isinstance(value, dict):
        inner = [(f"{path}.{key}" if path else key, each) for key, each in value.items()]
        if any("\0" in key for key in value):
            return path or "a key"
    elif isinstance(value, list | tuple):
        inner = [(f"{path}[{index}]", each) for index, each in enumerate(value)]
    else:
        return None
    return next((found for place, each in inner if (found := _path_of_nul(each, place)) is not None), None)
