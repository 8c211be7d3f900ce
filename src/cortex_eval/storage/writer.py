"""The one writer of a process: a thread that commits in groups, so that thousands of results a second are durable.

Whoever waits for its rows gets them committed as soon as the commit before is done, together with those of everybody
else who waits by then. Rows that nobody waits for go along every 50 ms. A group is one statement: SQLite works on it
without the interpreter lock, and the event loop is disturbed once, not once a row.
"""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from cortex_eval.core import StorageError
from cortex_eval.storage.connection import broken, connect

LATEST_S = 0.05
"""How long rows that nobody waits for may wait themselves."""
MOST_ROWS = 64
"""Rows in one statement: 18 columns each stay far below SQLite's limit of 32,766 parameters."""
LOCKED_RETRY_S = 60.0
"""How long another process may hold the write lock before we give up."""


class Statement(NamedTuple):
    """An INSERT that takes any number of rows: its beginning, the marks of one row, its end."""

    head: str
    row: str
    tail: str = ""

    def sql(self, rows: int) -> str:
        """The statement for this many rows."""
        return f"{self.head} VALUES {','.join([self.row] * rows)} {self.tail}"


class _Write(NamedTuple):
    statement: Statement
    row: Sequence[Any]  # Any: what SQLite can store
    done: asyncio.Future[None] | None


class _Flush(NamedTuple):
    done: asyncio.Future[None]


class GroupWriter:
    """Takes rows from the event loop, commits them together, and answers when they are on disk."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._queue: queue.SimpleQueue[_Write | _Flush | None] = queue.SimpleQueue()
        self._error: StorageError | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._later: dict[Statement, list[Sequence[Any]]] = {}
        self._thread = threading.Thread(target=self._run, name="cortex-writer", daemon=True)
        self._thread.start()

    def put(self, statement: Statement, row: Sequence[Any]) -> None:
        """Write a row soon; `flush` says when it is on disk. Raises what stopped an earlier write."""
        if self._error is not None:
            raise self._error
        self._queue.put(_Write(statement, row, None))

    async def write(self, statement: Statement, row: Sequence[Any]) -> None:
        """Write a row, and return when it is on disk."""
        await self._ask(lambda done: _Write(statement, row, done))

    async def flush(self) -> None:
        """Return when everything put so far is on disk."""
        await self._ask(_Flush)

    async def _ask(self, make: Callable[[asyncio.Future[None]], _Write | _Flush]) -> None:
        if self._error is not None:
            raise self._error
        self._loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = self._loop.create_future()
        self._queue.put(make(done))
        await done

    def close(self) -> None:
        """Commit what is left and end the thread."""
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        try:
            connection = connect(self._path)
        except (sqlite3.Error, OSError) as failure:
            self._error = broken(self._path, failure)
            while (item := self._queue.get()) is not None:
                if item.done is not None and self._loop is not None and not self._loop.is_closed():
                    self._loop.call_soon_threadsafe(_answer, [item.done], self._error)
            return
        with closing(connection):
            self._work(connection)

    def _work(self, connection: sqlite3.Connection) -> None:
        last_commit = time.monotonic()
        while True:
            group, is_last, is_flush = self._gather()
            now: dict[Statement, list[Sequence[Any]]] = {}
            for write in group:
                if isinstance(write, _Write):
                    (now if write.done else self._later).setdefault(write.statement, []).append(write.row)
            if is_last or is_flush or (self._later and time.monotonic() - last_commit > LATEST_S):
                for statement, rows in self._later.items():
                    now.setdefault(statement, []).extend(rows)
                self._later = {}
                last_commit = time.monotonic()
            self._commit(connection, now, [write.done for write in group if write.done is not None])
            if is_last:
                return

    def _gather(self) -> tuple[list[_Write | _Flush], bool, bool]:
        """What is there to write, whether it is the last, and whether all must be on disk now."""
        group: list[_Write | _Flush] = []
        is_flush = False
        try:
            item = self._queue.get(timeout=LATEST_S if self._later else None)
            while True:
                if item is None:
                    return group, True, is_flush
                is_flush = is_flush or isinstance(item, _Flush)
                group.append(item)
                item = self._queue.get_nowait()
        except queue.Empty:
            return group, False, is_flush

    def _commit(
        self,
        connection: sqlite3.Connection,
        rows: dict[Statement, list[Sequence[Any]]],
        waiting: list[asyncio.Future[None]],
    ) -> None:
        if self._error is None and rows:
            try:
                _execute(connection, rows)
            except Exception as failure:  # noqa: BLE001  # whatever it is, it sticks, and nobody waits for ever
                self._error = broken(self._path, failure)
        if waiting and self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(_answer, waiting, self._error)


def _execute(connection: sqlite3.Connection, rows: dict[Statement, list[Sequence[Any]]]) -> None:
    steps = [
        (statement.sql(len(part)), [value for row in part for value in row])
        for statement, all_rows in rows.items()
        for part in (all_rows[start : start + MOST_ROWS] for start in range(0, len(all_rows), MOST_ROWS))
    ]
    if len(steps) == 1:
        _retry_while_locked(lambda: connection.execute(*steps[0]))
        return
    _retry_while_locked(lambda: connection.execute("BEGIN IMMEDIATE"))
    try:
        for sql, values in steps:
            connection.execute(sql, values)
        _retry_while_locked(lambda: connection.execute("COMMIT"))
    except BaseException:
        connection.rollback()
        raise


def _retry_while_locked(step: Callable[[], object]) -> None:
    give_up = time.monotonic() + LOCKED_RETRY_S
    while True:
        try:
            step()
        except sqlite3.OperationalError as error:
            if not ("locked" in str(error) or "busy" in str(error)) or time.monotonic() > give_up:
                raise
        else:
            return


def _answer(waiting: list[asyncio.Future[None]], error: StorageError | None) -> None:
    for done in waiting:
        if done.cancelled():
            continue
        if error is None:
            done.set_result(None)
        else:
            done.set_exception(error)
