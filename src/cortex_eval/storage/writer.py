"""The one writer of a process: a thread that commits in groups, so that thousands of results a second are durable."""

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

GATHER_S = 0.002
"""While results stream in, how long a group stays open for company; far below the 50 ms that are promised."""
LARGEST_GROUP = 2_000
LOCKED_RETRY_S = 60.0
"""How long another process may hold the write lock before we give up."""


class _Write(NamedTuple):
    sql: str
    rows: Sequence[Sequence[Any]]  # Any: what SQLite can store
    done: asyncio.Future[None] | None


class GroupWriter:
    """Takes writes from the event loop, commits them together, and answers when they are on disk."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._queue: queue.SimpleQueue[_Write | None] = queue.SimpleQueue()
        self._error: StorageError | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._run, name="cortex-writer", daemon=True)
        self._thread.start()

    def put(self, sql: str, *rows: Sequence[Any]) -> None:
        """Write soon; `flush` says when it is on disk. Raises what stopped an earlier write."""
        if self._error is not None:
            raise self._error
        self._queue.put(_Write(sql, rows, None))

    async def write(self, sql: str, *rows: Sequence[Any]) -> None:
        """Write, and return when it is on disk."""
        if self._error is not None:
            raise self._error
        self._loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = self._loop.create_future()
        self._queue.put(_Write(sql, rows, done))
        await done

    async def flush(self) -> None:
        """Return when everything put so far is on disk."""
        await self.write("")

    def close(self) -> None:
        """Commit what is left and end the thread."""
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        with closing(connect(self._path)) as connection:
            group_was_full = False
            while True:
                first = self._queue.get()
                if first is None:
                    return
                if group_was_full:
                    time.sleep(GATHER_S)  # results are streaming: a larger group costs less than two commits
                group, is_last = self._gather(first)
                group_was_full = len(group) > 1
                self._commit(connection, group)
                if is_last:
                    return

    def _gather(self, first: _Write) -> tuple[list[_Write], bool]:
        group = [first]
        while len(group) < LARGEST_GROUP:
            try:
                write = self._queue.get_nowait()
            except queue.Empty:
                break
            if write is None:
                return group, True
            group.append(write)
        return group, False

    def _commit(self, connection: sqlite3.Connection, group: list[_Write]) -> None:
        error: StorageError | None = self._error
        if error is None:
            try:
                self._execute(connection, group)
            except (sqlite3.Error, OSError) as failure:
                self._error = error = broken(self._path, failure)
        waiting = [write.done for write in group if write.done is not None]
        if waiting and self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(_answer, waiting, error)

    def _execute(self, connection: sqlite3.Connection, group: list[_Write]) -> None:
        by_statement: dict[str, list[Sequence[Any]]] = {}
        for write in group:
            if write.sql:
                by_statement.setdefault(write.sql, []).extend(write.rows)
        if not by_statement:
            return
        _retry_while_locked(lambda: connection.execute("BEGIN IMMEDIATE"))
        try:
            for sql, rows in by_statement.items():
                connection.executemany(sql, rows)
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
