"""The shape of an SQLite store: made in one step when new, migrated when old, left alone when it is not ours."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from contextlib import closing
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from cortex_eval.core import InputError, StorageError
from cortex_eval.storage.connection import broken, connect, judge
from cortex_eval.storage.trouble import Trouble

if TYPE_CHECKING:
    from sqlalchemy import Connection

REVISIONS = ("0001", "0002", "0003")
"""Every revision that this program knows, oldest first."""
CURRENT_REVISION = REVISIONS[-1]
REVISION_TABLE = "alembic_version"
OUR_TABLES = frozenset({"cortex_runs", "cortex_datasets"})
"""Other programs use Alembic too."""


def prepare(path: Path, trouble: Trouble) -> None:
    """Make sure that a store of the current shape is at `path`; a file that is something else is not touched."""
    trouble.through(lambda: _prepare(path), lambda error: judge(path, error))


def _prepare(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    revision = _revision(path) if path.exists() and path.stat().st_size > 0 else None
    if revision is None:
        _create(path)
    elif revision not in REVISIONS:
        raise newer(str(path), revision)
    elif revision != CURRENT_REVISION:
        migrate(path)


def newer(shown: str, revision: str) -> InputError:
    """The error for a store that this program is too old for."""
    return InputError(
        f"{shown} was written by a newer version of Cortex (store {revision}; this program knows "
        f"{CURRENT_REVISION}). Upgrade cortex-eval, or name another store under database."
    )


def _create(path: Path) -> None:
    path.touch(mode=0o600)
    schema = files("cortex_eval.storage").joinpath("schema.sql").read_text(encoding="utf-8")
    script = f"BEGIN IMMEDIATE;\n{schema}\nINSERT INTO alembic_version VALUES ('{CURRENT_REVISION}');\nCOMMIT;"
    with closing(connect(path)) as connection:
        _switch_log_on(connection, path)
        try:
            connection.executescript(script)
        except sqlite3.OperationalError as error:
            if "already exists" not in str(error):  # another process made it between our look and our lock
                raise
            connection.rollback()


def _switch_log_on(connection: sqlite3.Connection, path: Path) -> None:
    """Make SQLite keep a log (WAL), so that readers and the writer do not wait for each other."""
    for _ in range(3):
        if connection.execute("PRAGMA journal_mode=WAL").fetchone() == ("wal",):
            return
        # SQLite does not say why not. If the disk is the reason, this does.
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=path.name) as probe:
            probe.write(bytes(1 << 16))
            probe.flush()
            os.fsync(probe.fileno())
    raise StorageError(
        f"The store {path} cannot be made: SQLite cannot keep its log there. "
        "A folder on a local disk is needed; name another file under database.path."
    )


def _revision(path: Path) -> str | None:
    """The revision of the store at `path`; None when it is a database that holds nothing yet."""
    with path.open("rb") as file:
        header = file.read(100)
    if not header.startswith(b"SQLite format 3\x00"):
        raise StorageError(
            f"{path} is not a Cortex store (it is not an SQLite database). Its bytes were not changed. "
            f"Keep a copy (cp {path} {path}.backup) and move it away, or name another file under database.path."
        )
    if not path.stat().st_mode & 0o222:
        raise StorageError(
            f"{path} is read-only. Keep a copy (cp {path} {path}.backup) and make it writable (chmod u+w {path}), "
            "or name another file under database.path."
        )
    if _is_cut(path, header):
        raise broken(path, sqlite3.DatabaseError("the file is shorter than its header says"))
    # Closing the last connection that may write moves the log into the file: not ours to do before we know whose it is.
    with closing(connect(path, read_only=_has_log(path))) as connection:
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
        row = (
            connection.execute("SELECT version_num FROM alembic_version").fetchone()
            if REVISION_TABLE in tables
            else None
        )
    if not tables:
        return None  # killed in its first moments, or another process is making it right now
    if row is None or not tables & OUR_TABLES:
        raise StorageError(
            f"{path} is an SQLite database, but not a Cortex store. Its bytes were not changed. "
            f"Keep a copy (cp {path} {path}.backup) and move it away, or name another file under database.path."
        )
    return str(row[0])


def _is_cut(path: Path, header: bytes) -> bool:
    if _has_log(path):
        return False  # it may hold what the file does not have yet
    page_size = int.from_bytes(header[16:18], "big")
    pages = int.from_bytes(header[28:32], "big")
    return path.stat().st_size < pages * (65536 if page_size == 1 else page_size)


def _has_log(path: Path) -> bool:
    log = path.with_name(path.name + "-wal")
    return log.exists() and log.stat().st_size > 0


def migrate(path: Path) -> None:
    """Bring the store at `path` to the current revision, from whatever it has, after a backup beside it.

    All of it happens under the write lock and in one transaction: killed at any point, it leaves the old store.
    """
    # Half a second of imports, paid only by the process that meets an old store.
    from sqlalchemy import create_engine, event, text

    engine = create_engine("sqlite://", creator=lambda: connect(path))
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
    try:
        with engine.begin() as connection:
            tables = {name for (name,) in connection.execute(text("SELECT name FROM sqlite_master"))}
            if REVISION_TABLE in tables:
                revision = connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one()
                if revision == CURRENT_REVISION:
                    return  # another process was quicker
                _back_up(path, str(revision))
            run_migrations(connection)
    finally:
        engine.dispose()


def run_migrations(connection: Connection) -> None:
    """Run what is missing of the migrations, in the transaction that this connection is in."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(files("cortex_eval.storage").joinpath("migrations")))
    config.attributes["connection"] = connection
    command.upgrade(config, CURRENT_REVISION)


def _back_up(path: Path, revision: str) -> None:
    """Copy the store as it is, whole or not at all; nobody writes to it meanwhile."""
    making = path.with_name(f"{path.name}.before-{revision}.part")
    making.unlink(missing_ok=True)
    making.touch(mode=0o600)
    with closing(connect(path)) as source, closing(sqlite3.connect(making)) as copy:
        source.backup(copy)
    making.rename(path.with_name(f"{path.name}.before-{revision}"))
