"""The one writer of a process: a thread that commits in groups, so that thousands of results a second are durable.

Rows gather on the event loop's side. When the writer is free it gets all that somebody waits for, as one group and
one commit; what comes meanwhile is the next group. Rows that nobody waits for go along every 50 ms. A group is one
statement where it can be: SQLite works on it without the interpreter lock, and the loop is disturbed once a commit,
not once a row.

While the database is away the group in hand is tried again; who waits for it waits on, so that no more than the
results in flight are held in memory.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from cortex_eval.core import StorageError
from cortex_eval.storage.trouble import Judge, LostLease, Trouble

LATEST_S = 0.05
"""How long rows that nobody waits for may wait themselves."""
SPACING_S = 0.001
"""From one commit's start to the next, at least: a little company saves half the commits and costs no time."""


@dataclass(frozen=True, slots=True, eq=False)  # told apart by identity: it is looked up for every row
class Statement:
    """An INSERT that takes any number of rows: its beginning, the marks of one row, its end.

    Carried out a second time with the same rows it changes nothing: a commit whose reply was lost is done again.
    """

    head: str
    row: str
    tail: str
    is_fenced: bool = False
    """Whether a row begins with the number and the epoch of the run that it belongs to, and is refused when the run
    has another epoch by now."""
    key_size: int = 0
    """How many values at the beginning name the row, where a later one replaces an earlier one."""


Rows = dict[Statement, list[Sequence[Any]]]  # Any: what a database can store
Fence = tuple[int, int]
"""The number of a run and the epoch that somebody holds it under."""


class Sink(Protocol):
    """The database's end of the writer; all of its methods are called in the writing thread."""

    def commit(self, rows: Rows) -> None:
        """Keep the rows, all or none; raises LostLease when one of them is fenced off."""

    def judge(self, error: Exception) -> Any:
        """What a failure of `commit` means; see `Judge`."""

    def close(self) -> None:
        """Let go of the database."""


_Waiting = tuple[asyncio.Future[None], Fence | None]
"""Who waits, and for a row of which run; None: for everything so far."""


class _Group(NamedTuple):
    rows: Rows
    waiting: list[_Waiting]
    loop: asyncio.AbstractEventLoop | None
    """Where the answer goes; None: nobody is there any more."""


class GroupWriter:
    """Takes rows from the event loop, commits them together, and answers when they are on disk."""

    def __init__(self, make_sink: Callable[[], Sink], trouble: Trouble) -> None:
        self._make_sink, self._trouble = make_sink, trouble
        self._error: StorageError | None = None
        self._lost: dict[Fence, LostLease] = {}
        # All of these belong to the event loop's thread; the queue is the only way to the other one.
        self._loop: asyncio.AbstractEventLoop | None = None
        self._loop_thread = 0
        self._rows: Rows = {}
        self._later: Rows = {}
        self._waiting: list[_Waiting] = []
        self._is_busy = False
        self._is_due = False
        self._last_s = 0.0
        self._queue: queue.SimpleQueue[_Group | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="cortex-writer", daemon=True)
        self._thread.start()

    def put(self, statement: Statement, row: Sequence[Any]) -> None:
        """Write a row soon; `flush` says when it is on disk. Raises what stopped an earlier write."""
        loop = self._here(_fence(statement, row))
        if not self._later:
            loop.call_later(LATEST_S, self._bring_later)
        self._later.setdefault(statement, []).append(row)

    async def write(self, statement: Statement, row: Sequence[Any]) -> None:
        """Write a row, and return when it is on disk."""
        fence = _fence(statement, row)
        loop = self._here(fence)
        self._rows.setdefault(statement, []).append(row)
        await self._answer(loop, fence)

    async def flush(self, fence: Fence | None = None) -> None:
        """Return when everything put so far is on disk; raises when rows of this run (None: of any) were refused."""
        loop = self._here(fence)
        self._take_later()
        await self._answer(loop, fence)

    def close(self) -> None:
        """Commit what is left and end the thread."""
        self._take_later()
        self._queue.put(_Group(self._rows, [], None))
        self._rows = {}
        self._queue.put(None)
        self._thread.join()

    def _here(self, fence: Fence | None) -> asyncio.AbstractEventLoop:
        """The running loop. One that ended has left nobody waiting, whatever it was doing."""
        if (self._error or self._lost) and (error := self._failure(fence)) is not None:
            raise error
        if self._loop is not None and self._loop.is_running() and threading.get_ident() == self._loop_thread:
            return self._loop  # the running one of this thread, told at a fifth of the cost
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop, self._loop_thread, self._waiting = loop, threading.get_ident(), []
            self._is_busy = self._is_due = False
            if self._later:
                loop.call_later(LATEST_S, self._bring_later)
        return loop

    def _failure(self, fence: Fence | None) -> StorageError | None:
        """What stopped the writer, or took this run (None: any run) away."""
        if self._error is not None or not self._lost:
            return self._error
        return self._lost.get(fence) if fence is not None else next(iter(self._lost.values()))

    async def _answer(self, loop: asyncio.AbstractEventLoop, fence: Fence | None) -> None:
        done: asyncio.Future[None] = loop.create_future()
        self._waiting.append((done, fence))
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
        for done, fence in group.waiting:
            if done.cancelled():
                continue
            if not (self._error or self._lost) or (error := self._failure(fence)) is None:
                done.set_result(None)
            else:
                done.set_exception(error)
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
        sink = self._make_sink()
        while (group := self._queue.get()) is not None:
            if self._error is None:
                try:
                    self._commit(sink, group.rows)
                except Exception as failure:  # noqa: BLE001  # whatever it is, it sticks, and nobody waits for ever
                    self._error = failure if isinstance(failure, StorageError) else StorageError(str(failure))
            if group.loop is not None:
                with suppress(RuntimeError):  # it is closed, or is being closed right now: nobody waits
                    group.loop.call_soon_threadsafe(self._committed, group)
        sink.close()

    def _commit(self, sink: Sink, rows: Rows) -> None:
        judge: Judge = sink.judge
        try:
            self._trouble.through(lambda: sink.commit(rows), judge)
        except LostLease:
            for fence, part in _by_run(rows).items():  # the runs that are still ours must not suffer
                try:
                    self._trouble.through(lambda part=part: sink.commit(part), judge)  # type: ignore[misc]  # mypy cannot infer a lambda with a default
                except LostLease as lost:
                    assert fence is not None
                    self._lost[fence] = lost


def _fence(statement: Statement, row: Sequence[Any]) -> Fence | None:
    return (row[0], row[1]) if statement.is_fenced else None


def _by_run(rows: Rows) -> dict[Fence | None, Rows]:
    parts: dict[Fence | None, Rows] = {}
    for statement, all_rows in rows.items():
        for row in all_rows:
            parts.setdefault(_fence(statement, row), {}).setdefault(statement, []).append(row)
    return parts
