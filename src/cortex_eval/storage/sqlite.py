"""One SQLite file: connections to read, transactions for rare changes, statements of many rows for results."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeVar

from cortex_eval.core import StorageError
from cortex_eval.storage.connection import broken, connect, judge
from cortex_eval.storage.database import Row, Transaction
from cortex_eval.storage.trouble import LostLease, Passing, Trouble
from cortex_eval.storage.versions import prepare
from cortex_eval.storage.writer import GroupWriter, Rows, Statement

T = TypeVar("T")
MOST_ROWS = 64
"""Rows in one statement: 18 columns each stay far below SQLite's limit of 32,766 parameters."""
AT_A_TIME = 200
KEPT_CONNECTIONS = 2
"""Open and unused."""


class SqliteDatabase:
    """The file behind a store."""

    clock = "((julianday('now') - 2440587.5) * 86400.0)"

    def __init__(self, path: Path) -> None:
        self.path = path
        self.trouble = Trouble()
        self._writer: GroupWriter | None = None
        self._idle: list[sqlite3.Connection] = []
        self._is_open = False

    def prepare(self) -> None:
        """Make sure that the file is there and has the current shape."""
        prepare(self.path, self.trouble)
        self._is_open = True

    def close(self) -> None:
        """Commit what is left, and let go of the file."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        self._is_open = False
        while self._idle:
            self._idle.pop().close()

    @property
    def writer(self) -> GroupWriter:
        """The writing thread, started with the first write."""
        if self._writer is None:
            self._writer = GroupWriter(lambda: _Sink(self.path), self.trouble)
        return self._writer

    def fetch(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """The rows of a SELECT."""

        def read() -> list[Row]:
            with self._connection() as connection:
                return connection.execute(sql, parameters).fetchall()

        return self.trouble.through(read, self._judge)

    def stream(self, sql: str, parameters: Sequence[Any] = ()) -> Iterator[Row]:
        """The rows of a SELECT with an order, read as they are asked for; memory does not grow with their number."""
        connection = self.trouble.through(lambda: connect(self.path), self._judge)
        try:
            with closing(connection):
                rows = self.trouble.through(lambda: connection.execute(sql, parameters), self._judge)
                while chunk := rows.fetchmany(AT_A_TIME):
                    yield from chunk
        except sqlite3.Error as error:
            raise broken(self.path, error) from error

    def change(self, work: Callable[[Transaction], T], *, may_repeat: bool = True) -> T:
        """Do something in a transaction of its own; see `Database.change`."""
        is_begun = False

        def attempt() -> T:
            nonlocal is_begun
            with self._connection() as connection:
                connection.execute("BEGIN IMMEDIATE")
                is_begun = True
                try:
                    outcome = work(_Transaction(connection))
                    connection.execute("COMMIT")
                except BaseException:
                    connection.rollback()
                    raise
                return outcome

        def judge_attempt(error: Exception) -> Passing | StorageError | None:
            found = self._judge(error)
            is_final = isinstance(found, Passing) and is_begun and not may_repeat
            return StorageError(f"{found}. Do it again.", kind=found.kind) if is_final else found  # type: ignore[union-attr]  # it is Passing

        return self.trouble.through(attempt, judge_attempt)

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """A connection for one use, kept for the next one when nothing went wrong with it.

        The last one that is closed moves the log into the file: a store that is in use never closes its last one.
        """
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = connect(self.path)
        is_good = False
        try:
            yield connection
            is_good = not connection.in_transaction
        finally:
            if is_good and self._is_open and len(self._idle) < KEPT_CONNECTIONS:
                self._idle.append(connection)
            else:
                connection.close()

    def _judge(self, error: Exception) -> Passing | StorageError | None:
        return judge(self.path, error)


class _Transaction:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def fetch(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        return self._connection.execute(sql, parameters).fetchall()

    def load(self, into: str, rows: Iterable[Sequence[Any]]) -> None:
        rows = iter(rows)
        while chunk := list(islice(rows, MOST_ROWS)):
            statement = Statement(f"INSERT INTO {into}", f"({','.join('?' * len(chunk[0]))})", "")
            self._connection.execute(_sql(statement, len(chunk)), list(chain.from_iterable(chunk)))


class _Sink:
    """The writer's connection."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None

    def commit(self, rows: Rows) -> None:
        if not rows:
            return  # who waits for nothing need not wait for a lock
        if self._connection is None:
            self._connection = connect(self._path)
        connection = self._connection
        steps = [
            (_sql(statement, len(part)), list(chain.from_iterable(part)))
            for statement, all_rows in rows.items()
            for part in (all_rows[start : start + MOST_ROWS] for start in range(0, len(all_rows), MOST_ROWS))
        ]
        if len(steps) == 1:
            connection.execute(*steps[0])
            return
        connection.execute("BEGIN IMMEDIATE")
        try:
            for sql, values in steps:
                connection.execute(sql, values)
            connection.execute("COMMIT")
        except BaseException:
            connection.rollback()
            raise

    def judge(self, error: Exception) -> Passing | StorageError | None:
        if isinstance(error, sqlite3.IntegrityError) and "cortex_results.run_no" in str(error):
            return LostLease("The run was taken over by another process, or deleted; nothing more of it is written.")
        return judge(self._path, error) or broken(self._path, error)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()


def _sql(statement: Statement, rows: int) -> str:
    return f"{statement.head} VALUES {','.join([statement.row] * rows)} {statement.tail}"
