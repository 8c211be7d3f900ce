"""One SQLite file: connections to read, transactions for rare changes, the group writer for the stream of results."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from cortex_eval.storage.connection import broken, connect, wait_for_lock
from cortex_eval.storage.versions import prepare
from cortex_eval.storage.writer import GroupWriter


def now() -> str:
    """The time in UTC, as it is stored."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class Database:
    """The file behind a store."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._writer: GroupWriter | None = None

    def prepare(self) -> None:
        """Make sure that the file is there and has the current shape."""
        prepare(self.path)

    def close(self) -> None:
        """Commit what is left."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    @property
    def writer(self) -> GroupWriter:
        """The writing thread, started with the first write."""
        if self._writer is None:
            self._writer = GroupWriter(self.path)
        return self._writer

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection for reading."""
        try:
            with closing(connect(self.path)) as connection:
                yield connection
        except sqlite3.Error as error:
            raise broken(self.path, error) from error

    @contextmanager
    def changing(self) -> Iterator[sqlite3.Connection]:
        """A transaction of its own, for what happens rarely: all of it is kept, or nothing."""
        with self.reading() as connection:
            wait_for_lock(lambda: connection.execute("BEGIN IMMEDIATE"))
            try:
                yield connection
            except BaseException:
                connection.rollback()
                raise
            connection.execute("COMMIT")
