"""Writing datasets in the canonical shape; what is written reads back equal."""

from __future__ import annotations

import csv
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import orjson

from cortex_eval.core import Case, InputError, StorageError, to_json
from cortex_eval.datasets.csv_rows import neutralised
from cortex_eval.datasets.opening import Format, format_of
from cortex_eval.datasets.parquet_rows import pyarrow

_COLUMNS = (
    "id",
    "input",
    "turns",
    "expected.answer",
    "expected.answers",
    "expected.intent",
    "expected.entities",
    "expected.tool",
    "expected.tools",
    "expected.label",
    "expected.checklist",
    "expected.rubric",
    "expected.checks",
    "requires_context",
    "attachments",
    "history",
    "context",
    "passages",
    "category",
    "tier",
    "language",
    "tags",
    "parallel_of",
    "cluster_id",
    "split",
    "source",
    "experts",
    "is_disputed",
    "description",
    "metadata",
)


def write_cases(cases: Iterable[Case], path: str | Path, *, kind: Format | None = None) -> int:
    """Write cases to a file, whole or not at all; gives their number. The ending says the format."""
    path = Path(path)
    kind = kind or format_of(path)
    try:
        return _write(map(canonical_row, cases), path, kind)
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror or error}.") from error


def _write(rows: Iterable[dict[str, Any]], path: Path, kind: Format) -> int:  # Any: JSON
    if kind == "parquet":
        return _write_parquet(rows, path)
    with atomic_file(path) as file:
        if kind == "jsonl":
            return _write_jsonl(rows, file)
        if kind == "json":
            return _write_json(rows, file)
        if kind == "yaml":
            return _write_yaml(rows, file)
        return _write_csv(rows, file, delimiter="\t" if kind == "tsv" else ",")


def canonical_row(case: Case) -> dict[str, Any]:  # Any: JSON
    """A case as a row of a dataset file: `input` and `expected`, or `turns` when there are several."""
    stored: dict[str, Any] = orjson.loads(to_json(case.at(0)))  # Any: JSON
    turns = [_turn_row(turn) for turn in stored.pop("turns")]
    row = {"id": stored.pop("id")}
    if len(turns) == 1 and "role" not in turns[0]:
        row |= turns[0]
    else:
        row["turns"] = turns
    return row | stored


@contextmanager
def atomic_file(path: Path) -> Iterator[IO[bytes]]:
    """A file that takes its place only when all of it is written and on the disk; otherwise nothing changes."""
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name[:50]}.", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # the new name too must survive a power cut
    finally:
        os.close(folder)


def _turn_row(turn: dict[str, Any]) -> dict[str, Any]:  # Any: JSON
    return {"input": turn.pop("text"), **turn}


def _write_jsonl(rows: Iterable[dict[str, Any]], file: IO[bytes]) -> int:  # Any: JSON, here and below
    count = 0
    for row in rows:
        file.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))
        count += 1
    return count


def _write_json(rows: Iterable[dict[str, Any]], file: IO[bytes]) -> int:
    count = 0
    for count, row in enumerate(rows, start=1):
        file.write(b"[\n" if count == 1 else b",\n")
        file.write(orjson.dumps(row, option=orjson.OPT_INDENT_2))
    file.write(b"\n]\n" if count else b"[]\n")
    return count


def _write_yaml(rows: Iterable[dict[str, Any]], file: IO[bytes]) -> int:
    count = 0
    for row in rows:
        file.write(_yaml([row]))
        count += 1
    if not count:
        file.write(b"[]\n")
    return count


def _yaml(value: object) -> bytes:
    import yaml  # a tenth of a second that `import cortex_eval` must not pay

    class Dumper(yaml.SafeDumper):
        """Repeats what is shared instead of writing aliases, and quotes all text that YAML could read otherwise."""

        def ignore_aliases(self, _data: object) -> bool:
            return True

    def text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
        style = None if value.isascii() and value.replace(" ", "").isalnum() and not value[0].isdigit() else '"'
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style if value else '"')

    Dumper.add_representer(str, text)
    dumped: bytes = yaml.dump(
        value, Dumper=Dumper, allow_unicode=True, sort_keys=False, encoding="utf-8", width=100_000_000
    )
    return dumped


def _write_csv(rows: Iterable[dict[str, Any]], file: IO[bytes], *, delimiter: str) -> int:
    with _spooled(rows) as (flat, columns, count):
        lines = csv.writer(_TextLines(file), delimiter=delimiter)  # its own \r\n makes it quote both kinds of line end
        lines.writerow(columns)
        for row in flat:
            lines.writerow([neutralised(str(row.get(column, ""))) for column in columns])
        return count


def _write_parquet(rows: Iterable[dict[str, Any]], path: Path) -> int:
    arrow = pyarrow()
    with _spooled(rows) as (flat, columns, count), atomic_file(path) as file:
        schema = arrow.schema([(name, arrow.int64() if name == "tier" else arrow.string()) for name in columns])
        with arrow.parquet.ParquetWriter(file, schema) as writer:
            batch: list[dict[str, Any]] = []
            for row in flat:
                batch.append(row)
                if len(batch) == 1000:
                    writer.write_table(arrow.Table.from_pylist(batch, schema=schema))
                    batch = []
            if batch:
                writer.write_table(arrow.Table.from_pylist(batch, schema=schema))
        return count


@contextmanager
def _spooled(
    rows: Iterable[dict[str, Any]],
) -> Iterator[tuple[Iterator[dict[str, Any]], list[str], int]]:
    """Rows as cells, with the columns that any of them has: they wait on the disk until the last one is known."""
    with tempfile.TemporaryFile() as spool:
        used: set[str] = set()
        count = 0
        for row in rows:
            count += 1
            cells = _cells(row)
            used.update(cells)
            spool.write(orjson.dumps(cells, option=orjson.OPT_APPEND_NEWLINE))
        spool.seek(0)
        if not used:
            used = {"id", "input"}
        yield map(orjson.loads, spool), [column for column in _COLUMNS if column in used], count


def _cells(row: dict[str, Any]) -> dict[str, Any]:
    """A row with one plain value in each column; lists and objects as JSON."""
    cells: dict[str, Any] = {}
    for name, value in row.items():
        if name == "expected":
            cells |= {f"expected.{part}": _cell(held) for part, held in value.items()}
        else:
            cells[name] = _cell(value)
    unknown = set(cells) - set(_COLUMNS)
    if unknown:
        raise InputError(f"case {row['id']!r} has fields that no column holds: {', '.join(sorted(unknown))}.")
    return cells


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | dict):
        return orjson.dumps(value).decode()
    return value


class _TextLines:
    """Lets the csv module write text to a file of bytes."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def write(self, text: str) -> int:
        return self._file.write(text.encode())
