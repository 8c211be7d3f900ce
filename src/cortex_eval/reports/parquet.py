"""The results as Parquet: one row per turn with a column per scorer, for data frames and warehouses."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

from cortex_eval.analysis import Report, figure_of, result_row
from cortex_eval.core import InputError, Result, redact, to_json
from cortex_eval.reports.machine import scorer_columns

ROWS_PER_GROUP = 5_000
_COLUMNS: dict[str, str] = {
    "run_id": "string",
    "suite": "string",
    "target": "string",
    "target_version": "string",
    "case_id": "string",
    "turn": "int32",
    "repeat": "int32",
    "category": "string",
    "tier": "int32",
    "language": "string",
    "tags": "strings",
    "state": "string",
    "overall": "float64",
    "passed": "bool_",
    "input": "string",
    "expected": "string",
    "reply": "string",
    "error_kind": "string",
    "error": "string",
    "attempts": "int32",
    "latency_ms": "float64",
    "timestamp": "string",
    "scores": "string",
}
"""Name and Arrow type of the columns that every file has; `scores` holds all of a row's scores as JSON."""


def parquet_chunks(report: Report) -> Iterator[bytes]:
    """The results in Parquet's format, in pieces; a few thousand rows are in memory at a time.

    A scorer with the name of another column has `score_` before it.
    """
    arrow, parquet = _pyarrow()
    scorers = scorer_columns(report, _COLUMNS)
    types = {"strings": arrow.list_(arrow.string())}
    fields = [(name, types.get(kind) or getattr(arrow, kind)()) for name, kind in _COLUMNS.items()]
    schema = arrow.schema(
        [*fields, *((column, arrow.float64()) for column in scorers.values())],
        metadata={"cortex.run": report.run.id, "cortex.verdict": report.gate.verdict},
    )
    sink = _Drained()
    with parquet.ParquetWriter(arrow.PythonFile(sink, mode="w"), schema, compression="zstd") as writer:
        for rows in _groups(report, scorers):
            writer.write_table(arrow.Table.from_pylist(rows, schema=schema))
            yield sink.drain()
    yield sink.drain()


def _pyarrow() -> tuple[Any, Any]:  # Any: pyarrow has no types
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise InputError("The format parquet needs pyarrow. Install it: pip install 'cortex-eval[parquet]'") from error
    return pyarrow, pyarrow.parquet


def _groups(report: Report, scorers: dict[str, str]) -> Iterator[list[dict[str, Any]]]:  # Any: one cell
    rows = []
    for result in report.open_results():
        rows.append(_row(report, result, scorers))
        if len(rows) == ROWS_PER_GROUP:
            yield rows
            rows = []
    if rows:
        yield rows


def _row(report: Report, result: Result, scorers: dict[str, str]) -> dict[str, Any]:  # Any: one cell
    row = result_row(result)
    reply, error, expected = row["reply"] or {}, row["error"] or {}, row["expected"]
    cells = {name: row[name] for name in ("case_id", "turn", "repeat", "category", "tier", "language", "input")}
    cells |= {name: row[name] for name in ("state", "overall", "passed", "attempts", "timestamp")}
    cells |= {
        "run_id": result.run_id,
        "suite": report.run.suite,
        "target": report.run.target_name,
        "target_version": report.run.target_version,
        "tags": list(result.tags),
        "expected": expected.get("answer") or (to_json(expected).decode() if expected else None),
        "reply": reply.get("text"),
        "error_kind": error.get("kind"),
        "error": error.get("message"),
        "latency_ms": result.latency_ms,
        "scores": to_json(row["scores"]).decode(),
    }
    cells = {name: redact(cell) if isinstance(cell, str) else cell for name, cell in cells.items()}
    return cells | {column: figure_of(row["scores"].get(name, {})) for name, column in scorers.items()}


class _Drained(io.RawIOBase):
    """A file that hands on what was written to it."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._length = 0

    def writable(self) -> bool:
        """It takes bytes."""
        return True

    def write(self, data: Any, /) -> int:  # Any: whatever holds bytes
        """Keep these bytes until they are drained."""
        self._pieces.append(bytes(data))
        self._length += len(self._pieces[-1])
        return len(self._pieces[-1])

    def tell(self) -> int:
        """How many bytes came in all: Parquet's footer names places."""
        return self._length

    def drain(self) -> bytes:
        """What was written since the last time."""
        pieces, self._pieces = self._pieces, []
        return b"".join(pieces)
