"""Rows of a Parquet file, batch by batch."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

from cortex_eval.core import InputError
from cortex_eval.datasets.csv_rows import RawRow
from cortex_eval.datasets.json_rows import check_sizes
from cortex_eval.datasets.problems import MAX_COLUMNS, MAX_DEPTH, Mistake, Problems
from cortex_eval.datasets.strict_json import check_numbers, depth


def pyarrow() -> Any:  # Any: pyarrow has no types
    """The pyarrow package with its Parquet part; an InputError names the extra when it is not installed."""
    try:
        import pyarrow as arrow
        import pyarrow.parquet  # half a second that only Parquet users pay
    except ImportError:
        raise InputError(
            "Parquet files need the parquet extra. Install it: pip install 'cortex-eval[parquet]'."
        ) from None
    return arrow


def read_parquet(path: Path, problems: Problems) -> Iterator[RawRow]:
    """The rows of a Parquet file; their number stands where other files have a line."""
    arrow = pyarrow()
    try:
        with arrow.parquet.ParquetFile(path) as file:
            yield from _rows(file, problems)
    except (arrow.ArrowException, OSError) as error:
        raise problems.stop(f"the Parquet file cannot be read: {error}.", code="wrong_type") from error


def _rows(file: Any, problems: Problems) -> Iterator[RawRow]:  # Any: see pyarrow
    columns = file.schema_arrow.names
    if len(columns) > MAX_COLUMNS:
        message = f"the file has {len(columns)} columns; at most {MAX_COLUMNS} are read."
        raise problems.stop(message, code="too_large")
    for name in sorted({name for name in columns if columns.count(name) > 1}):
        raise problems.stop(f"the column {name!r} is there twice.", code="duplicate_column", field=name)
    number = 0
    for batch in file.iter_batches(batch_size=1024):
        for row in batch.to_pylist():
            number += 1
            try:
                values = {name: _plain(value, name) for name, value in row.items() if value is not None}
                check_numbers(values)
                check_sizes(values)
                if depth(values) > MAX_DEPTH:
                    raise Mistake(f"lists and mappings are nested more than {MAX_DEPTH} deep.", code="too_deep")
            except Mistake as mistake:
                problems.add(mistake.message, code=mistake.code, line=number, field=mistake.field)
            else:
                yield RawRow(number, values)


def _plain(value: object, field: str) -> object:
    """What a cell holds, as JSON would; fields of a struct that are null are left out."""
    if isinstance(value, dict):
        return {str(key): _plain(each, field) for key, each in value.items() if each is not None}
    if isinstance(value, list | tuple):
        return [_plain(each, field) for each in value]
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, Decimal | datetime.timedelta):
        return str(value)
    if isinstance(value, bytes):
        raise Mistake(f"{field} holds bytes, not text.", field=field, code="wrong_value")
    return value
