"""The shape of a store: made in one step when it is new, migrated when it is old, left alone when it is not ours."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from importlib.resources import files
from pathlib import Path

from cortex_eval.core import InputError, StorageError
from cortex_eval.storage.connection import broken, connect, wait_for_lock

CURRENT_REVISION = "0001"
REVISIONS = ("0001",)
"""Every revision that this program knows, oldest first."""
REVISION_TABLE = "alembic_version"
OUR_TABLES = frozenset({"cortex_runs", "cortex_datasets"})
"""Other programs use Alembic too."""


def prepare(path: Path) -> None:
    """Make sure that a store of the current shape is at `path`; a file that is something else is not touched."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not path.exists() or path.stat().st_size == 0:
            _create(path)
            return
        revision = _revision(path)
        if revision is None:
            _create(path)
            return
        if revision not in REVISIONS:
            raise InputError(
                f"{path} was written by a newer version of Cortex (store {revision}; this program knows "
                f"{CURRENT_REVISION}). Upgrade cortex-eval, or name another file under database.path."
            )
        if revision != CURRENT_REVISION:
            _upgrade(path, revision)
    except (sqlite3.Error, OSError) as error:
        raise broken(path, error) from error


def _create(path: Path) -> None:
    path.touch(mode=0o600)
    schema = files("cortex_eval.storage").joinpath("schema.sql").read_text(encoding="utf-8")
    script = f"BEGIN IMMEDIATE;\n{schema}\nINSERT INTO alembic_version VALUES ('{CURRENT_REVISION}');\nCOMMIT;"
    with closing(connect(path)) as connection:
        try:
            wait_for_lock(lambda: connection.execute("PRAGMA journal_mode=WAL"))
            wait_for_lock(lambda: connection.executescript(script))
        except sqlite3.OperationalError as error:
            if "already exists" not in str(error):  # another process made it between our look and our lock
                raise
            connection.rollback()


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


def _upgrade(path: Path, revision: str) -> None:
    """Run the missing migrations, after a backup beside the store."""
    with closing(connect(path)) as source:
        source.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    shutil.copy2(path, path.with_name(f"{path.name}.before-{revision}"))
    migrate(path)


def migrate(path: Path) -> None:
    """Bring the store at `path` to the current revision with Alembic, from whatever revision it has."""
    # Half a second of imports, paid only by the process that meets an old store.
    from alembic import command
    from alembic.config import Config
    from sqlalchemy import create_engine

    config = Config()
    config.set_main_option("script_location", str(files("cortex_eval.storage").joinpath("migrations")))
    engine = create_engine(f"sqlite:///{path}")
    try:
        with engine.begin() as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, CURRENT_REVISION)
    finally:
        engine.dispose()
