"""What every database behind a store can do; SQLite and PostgreSQL each do it their own way."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Protocol, TypeVar

from cortex_eval.storage.trouble import Trouble
from cortex_eval.storage.writer import GroupWriter

T = TypeVar("T")
Row = tuple[Any, ...]  # Any: what a database can store
NUL_SHOWN = "\N{REPLACEMENT CHARACTER}"


def now() -> str:
    """The time in UTC, as it is stored."""
    seconds, millis = divmod(time.time_ns() // 1_000_000, 1000)
    return f"{_second(seconds)}.{millis:03}+00:00"


@lru_cache(maxsize=4)
def _second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def storable(text: str) -> str:
    """A text as every database can hold it: PostgreSQL has no NUL in texts."""
    return text.replace("\0", NUL_SHOWN)


class Transaction(Protocol):
    """A change in the making: all of it is kept, or nothing."""

    def fetch(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """Carry out a statement; gives the rows that it returns."""

    def load(self, into: str, rows: Iterable[Sequence[Any]]) -> None:
        """Insert many rows; `into` is a table with its columns: `cortex_cases (dataset_no, ordinal, …)`."""


class Database(Protocol):
    """Where a store keeps things. SQL is written once, for all: `?` marks, and what both databases understand.

    A SELECT whose rows must stay as they are until the end of the transaction ends with `/*FOR UPDATE*/`: a lock in
    PostgreSQL, a comment in SQLite, where whoever changes something has the whole file.

    What fails and may pass by itself is waited out (`trouble`); everything else is a StorageError.
    """

    trouble: Trouble
    clock: str
    """An SQL expression: the seconds since 1970 by the store's own clock, so that hosts need not agree."""

    def prepare(self) -> None:
        """Make sure that the database is there and has the current shape."""

    def close(self) -> None:
        """Commit what is left."""

    @property
    def writer(self) -> GroupWriter:
        """The writing thread, started with the first write."""

    def fetch(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """The rows of a SELECT."""

    def stream(self, sql: str, parameters: Sequence[Any] = ()) -> Iterator[Row]:
        """The rows of a SELECT with an order, read as they are asked for; memory does not grow with their number."""

    def change(self, work: Callable[[Transaction], T], *, may_repeat: bool = True) -> T:
        """Do something in a transaction of its own, for what happens rarely.

        It is done again when the database fails in it, also when only the reply to COMMIT was lost: work must then
        find what it has done. With `may_repeat=False` only the beginning is waited for.
        """
