"""The report for machines: JSON, JSON lines and CSV, streamed row by row."""

from __future__ import annotations

import csv
import io
import os
import tempfile
from array import array
from collections.abc import Collection, Iterator
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import orjson

from cortex_eval.analysis import Report, figure_of, report_document, result_row
from cortex_eval.core import Result, redact, redact_bytes, to_json
from cortex_eval.datasets import neutralised

Dialect = Literal["cortex", "seed003"]
_BLOCK = 1 << 20
_HELD_BYTES = 8 << 20
"""Lines that are held while they are put in order; more of them are read one by one."""
_ROWS_PER_CHUNK = 256
"""Fewer writes than rows, and still only a few hundred rows in memory."""
_OF_THE_RUN = ("pass_rate", "overall_score", "latency_ms", "llm_usage_rate")
_CSV_COLUMNS = (
    "run_id",
    "case_id",
    "turn",
    "repeat",
    "category",
    "tier",
    "language",
    "state",
    "overall",
    "passed",
    "input",
    "expected",
    "reply",
    "error",
    "attempts",
    "latency_ms",
)


class ResultLines:
    """Result rows taken down while the figures are made, so that a long run is read only once; a temporary file."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115  # closed by `__exit__`
        self._ordinals, self._ends = array("I"), array("Q")
        """Of each line: the place of its case in the dataset, and where it ends in the file."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def add(self, result: Result) -> None:
        """Take down one result; those of a case come one after the other, in order."""
        line = row_bytes(result) + b"\n"
        self._file.write(line)
        self._ordinals.append(result.ordinal)
        self._ends.append((self._ends[-1] if self._ends else 0) + len(line))

    def chunks(self) -> Iterator[bytes]:
        """What `jsonl_chunks` would give: the lines in the order of the dataset, whatever that of asking was."""
        self._file.flush()
        size = self._ends[-1] if self._ends else 0
        held = os.pread(self._file.fileno(), size, 0) if size <= _HELD_BYTES else None
        lines = (self._line(place, held) for place in self._in_order())
        while chunk := b"".join(islice(lines, _ROWS_PER_CHUNK)):
            yield chunk

    def _in_order(self) -> Iterator[int]:
        """The lines by the places of their cases; a list of a hundred thousand numbers would take five megabytes."""
        ordinals = self._ordinals
        first = array("i", [-1]) * (max(ordinals, default=-1) + 1)
        for line in range(len(ordinals) - 1, -1, -1):
            first[ordinals[line]] = line
        for ordinal, line in enumerate(first):
            while 0 <= line < len(ordinals) and ordinals[line] == ordinal:
                yield line
                line += 1

    def _line(self, place: int, held: bytes | None) -> bytes:
        start, end = self._ends[place - 1] if place else 0, self._ends[place]
        return os.pread(self._file.fileno(), end - start, start) if held is None else held[start:end]


def json_chunks(report: Report, *, dialect: Dialect = "cortex", lines: Path | None = None) -> Iterator[bytes]:
    """The report file, results included, in pieces; `lines` is a file of `jsonl_chunks`, if one was just written."""
    head = redact_bytes(to_json(report_document(report)))
    if lines is not None and dialect == "cortex":
        yield head[:-1] + b',"results":[\n'
        yield from _joined(lines)
        yield b"\n]}\n"
        return
    is_seed = dialect == "seed003"
    yield head[:-1] + (b',"test_results":[\n' if is_seed else b',"results":[\n')
    row = _seed_row_bytes if is_seed else row_bytes
    separator = b""
    for rows in _batches(report):
        yield separator + b",\n".join(map(row, rows))
        separator = b",\n"
    yield b"\n]}\n"


def _joined(lines: Path) -> Iterator[bytes]:
    """The lines of a file as the items of a JSON array: cheaper than making each row once more."""
    with lines.open("rb") as file:
        block = file.read(_BLOCK)
        while block:
            following = file.read(_BLOCK)
            yield (block if following else block.removesuffix(b"\n")).replace(b"\n", b",\n")
            block = following


def jsonl_chunks(report: Report) -> Iterator[bytes]:
    """The results of the report file, one per line, in pieces."""
    for rows in _batches(report):
        yield b"\n".join(map(row_bytes, rows)) + b"\n"


def csv_chunks(report: Report) -> Iterator[bytes]:
    """One row per turn with a column per scorer, in pieces; no cell can act as a formula."""
    scorers = scorer_columns(report, _CSV_COLUMNS)
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer)
    writer.writerow([*_CSV_COLUMNS, *(neutralised(column) for column in scorers.values())])
    for rows in _batches(report):
        writer.writerows(_csv_row(result, list(scorers)) for result in rows)
        yield redact(buffer.getvalue()).encode()
        buffer.seek(0)
        buffer.truncate()
    yield buffer.getvalue().encode()


def scorer_columns(report: Report, taken: Collection[str]) -> dict[str, str]:
    """The column of each scorer that gave a number at all; one with a name that is taken has `score_` before it."""
    names = [name for name in report.metrics if name not in _OF_THE_RUN]
    return {name: f"score_{name}" if name in taken else name for name in names}


def row_bytes(result: Result) -> bytes:
    """One results row of the report file; stored JSON is passed on as it is."""
    return redact_bytes(orjson.dumps(result_row(result, stored=orjson.Fragment)))


def seed_row(result: Result) -> dict[str, Any]:
    """One result in seed 003's field names (its §2.4); what was not scored is null."""
    row = result_row(result)
    expected, reply, scores = row["expected"], row["reply"] or {}, row["scores"]
    intent, entities, tool = (scores.get(name, {}) for name in ("intent", "entities", "tool"))
    evidence = entities.get("evidence")
    parts = evidence if isinstance(evidence, dict) else {}
    error = row["error"]
    return {
        "test_id": result.case_id if result.turn == 0 else f"{result.case_id}_turn_{result.turn + 1}",
        "category": result.category,
        "query": row["input"],
        "expected_intent": expected.get("intent"),
        "actual_intent": reply.get("intent"),
        "intent_correct": _is_right(intent),
        "expected_entities": expected.get("entities"),
        "actual_entities": reply.get("entities"),
        "entity_precision": parts.get("precision"),
        "entity_recall": parts.get("recall"),
        "entity_f1": entities.get("value"),
        "expected_tool": expected.get("tool"),
        "actual_tool": reply.get("tool"),
        "tool_correct": _is_right(tool),
        "confidence": reply.get("confidence"),
        "parse_time_ms": reply.get("parse_time_ms"),
        "total_time_ms": reply.get("total_time_ms"),
        "llm_invoked": reply.get("llm_invoked"),
        "error": f"{error['kind']}: {error['message']}" if error else None,
        "context": orjson.loads(result.case_json).get("context") if result.case_json else None,
    }


def _seed_row_bytes(result: Result) -> bytes:
    return redact_bytes(orjson.dumps(seed_row(result)))


def _is_right(score: dict[str, Any]) -> bool | None:
    value = score.get("value")
    return None if value is None else bool(value >= 1.0)


def _csv_row(result: Result, scorers: list[str]) -> list[object]:
    row = result_row(result)
    reply, error = row["reply"] or {}, row["error"]
    expected = row["expected"].get("answer", "") or (to_json(row["expected"]).decode() if row["expected"] else "")
    cells: list[object] = [result.run_id, result.case_id, result.turn, result.repeat, result.category, result.tier]
    cells += [result.language, result.state, result.overall, result.passed, row["input"], expected, reply.get("text")]
    cells += [f"{error['kind']}: {error['message']}" if error else None, result.attempts, result.latency_ms]
    cells += [figure_of(row["scores"].get(name, {})) for name in scorers]
    return [neutralised(cell) if isinstance(cell, str) else cell for cell in cells]


def _batches(report: Report) -> Iterator[list[Result]]:
    batch: list[Result] = []
    for result in report.open_results():
        batch.append(result)
        if len(batch) == _ROWS_PER_CHUNK:
            yield batch
            batch = []
    if batch:
        yield batch
