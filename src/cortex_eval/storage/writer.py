"""The one writer of a process: a thread that commits in groups, so that thousands of results a second are durable.

Rows gather on the event loop's side. When the writer is free it gets all that somebody waits for, as one group and
one commit; what comes meanwhile is the next group. Rows that nobody waits for go along every 50 ms. A group is one
statement where it can be: SQLite works on it without the interpreter lock, and the loop is disturbed once a commit,
not once a row.
"""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from cortex_eval.core import StorageError
from cortex_eval.storage.connection import broken, connect, wait_for_lock

LATEST_S = 0.05
"""How long rows that nobody waits for may wait themselves."""
SPACING_S = 0.001
"""From one commit's start to the next, at least: a little company saves half the commits and costs no time."""
MOST_ROWS = 64
"""Rows in one statement: 18 columns each stay far below SQLite's limit of 32,766 parameters."""


class Statement(NamedTuple):
    """An INSERT that takes any number of rows: its beginning, the marks of one row, its end."""

    head: str
    row: str
    tail: str = ""

    def sql(self, rows: int) -> str:
        """The statement for this many rows."""
        return f"{self.head} VALUES {','.join([self.row] * rows)} {self.tail}"


Rows = dict[Statement, list[Sequence[Any]]]  # Any: what SQLite can store


class _Group(NamedTuple):
    rows: Rows
    waiting: list[asyncio.Future[None]]
    loop: asyncio.AbstractEventLoop | None
    """Where the answer goes; None: nobody is there any more."""


class GroupWriter:
    """Takes rows from the event loop, commits them together, and answers when they are on disk."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._error: StorageError | None = None
        # All of these belong to the event loop's thread; the queue is the only way to the other one.
        self._loop: asyncio.AbstractEventLoop | None = None
        self._rows: Rows = {}
        self._later: Rows = {}
        self._waiting: list[asyncio.Future[None]] = []
        self._is_busy = False
        self._is_due = False
        self._last_s = 0.0
        self._queue: queue.SimpleQueue[_Group | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="cortex-writer", daemon=True)
        self._thread.start()

    def put(self, statement: Statement, row: Sequence[Any]) -> None:
        """Write a row soon; `flush` says when it is on disk. Raises what stopped an earlier write."""
        loop = self._here()
        if not self._later:
            loop.call_later(LATEST_S, self._bring_later)
        self._later.setdefault(statement, []).append(row)

    async def write(self, statement: Statement, row: Sequence[Any]) -> None:
        """Write a row, and return when it is on disk."""
        loop = self._here()
        self._rows.setdefault(statement, []).append(row)
        await self._answer(loop)

    async def flush(self) -> None:
        """Return when everything put so far is on disk."""
        loop = self._here()
        self._take_later()
        await self._answer(loop)

    def close(self) -> None:
        """Commit what is left and end the thread."""
        self._take_later()
        self._queue.put(_Group(self._rows, [], None))
        self._rows = {}
        self._queue.put(None)
        self._thread.join()

    def _here(self) -> asyncio.AbstractEventLoop:
        """The running loop. One that ended has left nobody waiting, whatever it was doing."""
        if self._error is not None:
            raise self._error
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop, self._waiting = loop, []
            self._is_busy = self._is_due = False
            if self._later:
                loop.call_later(LATEST_S, self._bring_later)
        return loop

    async def _answer(self, loop: asyncio.AbstractEventLoop) -> None:
        done: asyncio.Future[None] = loop.create_future()
        self._waiting.append(done)
        self._plan(loop)
        await done

    def _plan(self, loop: asyncio.AbstractEventLoop) -> None:
        if not self._is_busy and not self._is_due:
            self._is_due = True
            loop.call_at(max(loop.time(), self._last_s + SPACING_S), self._hand_over, loop)

    def _hand_over(self, loop: asyncio.AbstractEventLoop) -> None:
        self._is_due, self._is_busy, self._last_s = False, True, loop.time()
        self._queue.put(_Group(self._rows, self._waiting, loop))
        self._rows, self._waiting = {}, []

    def _committed(self, group: _Group) -> None:
        self._is_busy = False
        for done in group.waiting:
            if done.cancelled():
                continue
            if self._error is None:
                done.set_result(None)
            else:
                done.set_exception(self._error)
        if (self._rows or self._waiting) and group.loop is not None:
            self._plan(group.loop)

    def _bring_later(self) -> None:
        self._take_later()
        if self._rows and self._loop is not None:
            self._plan(self._loop)

    def _take_later(self) -> None:
        for statement, rows in self._later.items():
            self._rows.setdefault(statement, []).extend(rows)
        self._later = {}

    def _run(self) -> None:
        """The thread: group after group, until there is no more."""
        connection: sqlite3.Connection | None = None
        try:
            connection = connect(self._path)
        except (sqlite3.Error, OSError) as failure:
            self._error = broken(self._path, failure)
        while (group := self._queue.get()) is not None:
            if self._error is None and group.rows and connection is not None:
                try:
                    _commit(connection, group.rows)
                except Exception as failure:  # noqa: BLE001  # whatever it is, it sticks, and nobody waits for ever
                    self._error = broken(self._path, failure)
            if group.loop is not None and not group.loop.is_closed():
                group.loop.call_soon_threadsafe(self._committed, group)
        if connection is not None:
            connection.close()


def _commit(connection: sqlite3.Connection, rows: Rows) -> None:
    steps = [
        (statement.sql(len(part)), [value for row in part for value in row])
        for statement, all_rows in rows.items()
        for part in (all_rows[start : start + MOST_ROWS] for start in range(0, len(all_rows), MOST_ROWS))
    ]
    if len(steps) == 1:
        wait_for_lock(lambda: connection.execute(*steps[0]))
        return
    wait_for_lock(lambda: connection.execute("BEGIN IMMEDIATE"))
    try:
        for sql, values in steps:
            connection.execute(sql, values)
        wait_for_lock(lambda: connection.execute("COMMIT"))
    except BaseException:
        connection.rollback()
        raise
