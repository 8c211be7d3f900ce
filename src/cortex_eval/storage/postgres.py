"""A PostgreSQL database: psycopg with a few kept connections to read and change, asyncpg for the stream of results."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from cortex_eval.core import InputError, StorageError
from cortex_eval.storage.database import Row, Transaction, storable
from cortex_eval.storage.location import shown_location
from cortex_eval.storage.postgres_trouble import judge
from cortex_eval.storage.postgres_versions import prepare
from cortex_eval.storage.postgres_writer import LOCKS, PostgresSink
from cortex_eval.storage.trouble import Passing, Trouble
from cortex_eval.storage.writer import GroupWriter

if TYPE_CHECKING:
    from psycopg import Connection

T = TypeVar("T")
AT_A_TIME = 500
KEPT_CONNECTIONS = 4
"""Opening one costs some 10 ms; more than these are opened when they are needed, and closed again."""
LIMITS = {
    "connect_timeout": 10,
    "tcp_user_timeout": 20_000,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
}
"""A network that swallows everything is noticed within half a minute."""


class PostgresDatabase:
    """The database behind a store."""

    clock = "extract(epoch from clock_timestamp())::float8"

    def __init__(self, url: str) -> None:
        try:
            import asyncpg  # noqa: F401  # both are needed later, and their lack is told now
            import psycopg  # noqa: F401
        except ImportError as error:
            raise InputError(
                f"A store in PostgreSQL ({shown_location(url)}) needs more packages: "
                "pip install 'cortex-eval[postgres]'."
            ) from error
        self.trouble = Trouble()
        self._url = url
        self._shown = shown_location(url)
        self._writer: GroupWriter | None = None
        self._idle: list[Connection] = []
        self._is_closed = threading.Event()

    def prepare(self) -> None:
        """Make sure that the tables are there and have the current shape; a server that is down is told at once."""
        from psycopg import Error

        self._is_closed.clear()
        try:
            with self._connection() as connection:
                prepare(connection, self._shown)
        except BaseException as error:
            self.close()
            cause = getattr(error, "orig", error)  # SQLAlchemy, in a migration, wraps what the driver says
            if isinstance(cause, Error):
                raise self._failed(cause) from error
            raise

    def close(self) -> None:
        """Commit what is left, and let go of the connections."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        self._is_closed.set()
        while self._idle:
            self._idle.pop().close()

    @property
    def writer(self) -> GroupWriter:
        """The writing thread, started with the first write."""
        if self._writer is None:
            self._writer = GroupWriter(lambda: PostgresSink(self._url), self.trouble)
        return self._writer

    def fetch(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """The rows of a SELECT."""

        def read() -> list[Row]:
            with self._connection() as connection:
                return connection.execute(_translated(sql), _values(parameters)).fetchall()

        return self.trouble.through(read, self._judge)

    def stream(self, sql: str, parameters: Sequence[Any] = ()) -> Iterator[Row]:
        """The rows of a SELECT with an order, read as they are asked for; memory does not grow with their number.

        When the database goes away in between, it goes on behind the last row once the database is back.
        """
        given = 0
        rows = self._open_stream(sql, parameters)

        def chunk() -> list[Row]:
            nonlocal rows
            try:
                return list(islice(rows, AT_A_TIME))
            except Exception:
                rows = islice(self._open_stream(sql, parameters), given, None)
                raise

        while found := self.trouble.through(chunk, self._judge):
            given += len(found)
            yield from found

    def _open_stream(self, sql: str, parameters: Sequence[Any]) -> Iterator[Row]:
        with self._connection() as connection, connection.transaction(), connection.cursor(name="rows") as cursor:
            cursor.itersize = AT_A_TIME
            cursor.execute(_translated(sql), _values(parameters))
            yield from cursor

    def change(self, work: Callable[[Transaction], T], *, may_repeat: bool = True) -> T:
        """Do something in a transaction of its own; see `Database.change`."""
        is_begun = False

        def attempt() -> T:
            nonlocal is_begun
            with self._connection() as connection, connection.transaction():
                is_begun = True
                return work(_Transaction(connection))

        def judge_attempt(error: Exception) -> Passing | StorageError | None:
            found = self._judge(error)
            is_final = isinstance(found, Passing) and is_begun and not may_repeat
            return StorageError(f"{found}. Do it again.", kind=found.kind) if is_final else found  # type: ignore[union-attr]  # it is Passing

        return self.trouble.through(attempt, judge_attempt)

    def _judge(self, error: Exception) -> Passing | StorageError | None:
        return judge(self._shown, error)

    def _failed(self, error: Exception) -> StorageError:
        found = self._judge(error)
        if isinstance(found, StorageError):
            return found
        assert found is not None
        return StorageError(f"{found.text}. Check database: in the project file, and that it is up.", kind=found.kind)

    @contextmanager
    def _connection(self) -> Iterator[Connection]:
        """A connection for one use, kept for the next one when nothing went wrong with it."""
        import psycopg

        try:
            connection = self._idle.pop()
        except IndexError:
            limits: dict[str, Any] = {**LIMITS}  # Any: psycopg's own parameters
            connection = psycopg.connect(self._url, autocommit=True, **limits)
        try:
            yield connection
        except psycopg.Error:
            connection.close()
            raise
        finally:
            is_good = not connection.closed and connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
            if is_good and len(self._idle) < KEPT_CONNECTIONS and not self._is_closed.is_set():
                self._idle.append(connection)
            else:
                connection.close()


class _Transaction:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def fetch(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        cursor = self._connection.execute(_translated(sql), _values(parameters))
        return cursor.fetchall() if cursor.description else []

    def load(self, into: str, rows: Iterable[Sequence[Any]]) -> None:
        with self._connection.cursor() as cursor, cursor.copy(f"COPY {into} FROM STDIN".encode()) as copy:
            for row in rows:
                copy.write_row(row)


@cache
def _translated(sql: str) -> bytes:
    """Our SQL as psycopg wants it; the locks that SQLite does not need are comments until here."""
    return LOCKS.sub(r"\1", sql).replace("%", "%%").replace("?", "%s").encode()


def _values(parameters: Sequence[Any]) -> list[Any]:
    return [storable(value) if isinstance(value, str) else value for value in parameters]
