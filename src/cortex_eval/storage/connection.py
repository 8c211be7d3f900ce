"""How every part of the store connects to an SQLite file, and what a failure there means."""

from __future__ import annotations

import errno
import os
import sqlite3
from pathlib import Path

from cortex_eval.core import StorageError
from cortex_eval.storage.trouble import Passing

BUSY_TIMEOUT_S = 5.0
"""How long SQLite itself waits for a lock before we hear of it."""
_LOCKED = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL}
_IOERR_SHMSIZE = 4874  # the index of the log could not grow; in SQLite's header, not in Python's module


def connect(path: Path, *, read_only: bool = False) -> sqlite3.Connection:
    """A connection with the settings that every use of the store shares; transactions are begun by hand."""
    uri = f"{path.absolute().as_uri()}?mode={'ro' if read_only else 'rw'}"
    connection = sqlite3.connect(
        uri, uri=True, isolation_level=None, timeout=BUSY_TIMEOUT_S, check_same_thread=False, cached_statements=64
    )
    try:
        connection.execute("PRAGMA foreign_keys=ON")
        connection.execute("PRAGMA synchronous=FULL")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def judge(path: Path, error: Exception) -> Passing | StorageError | None:
    """What a failure means: it may pass (locked, disk full), or the store is broken; None: it is not the store's.

    An I/O error, above all of fsync, is never assumed away: what the system did with the pages is not known.
    """
    if isinstance(error, sqlite3.Error):
        code = getattr(error, "sqlite_errorcode", 0)
        if code & 0xFF in _LOCKED:
            return Passing("locked", f"another process is writing to {path}")
        if code & 0xFF == sqlite3.SQLITE_FULL or code == _IOERR_SHMSIZE:
            return _full(path)
        return broken(path, error)
    if isinstance(error, OSError):
        return _full(path) if error.errno in (errno.ENOSPC, errno.EDQUOT) else broken(path, error)
    return None


def _full(path: Path) -> Passing:
    return Passing("storage_full", f"no space left for {path}")


def broken(path: Path, error: Exception) -> StorageError:
    """The error for a store that cannot be used: what, where, what to do."""
    if not os.path.exists(path):  # noqa: PTH110  # Path.exists raises where a folder may not be looked into
        why = getattr(error, "strerror", None) or error
        return StorageError(
            f"The store {path} cannot be made: {why}. Make {path.parent} a folder that can be written to, "
            "or name another file under database.path."
        )
    if path.is_dir():
        return StorageError(
            f"The store {path} is a folder, and a file is needed. "
            f"Name one under database.path, such as {path / 'cortex.db'}."
        )
    return StorageError(
        f"The store {path} cannot be used: {error}. What was stored before is untouched. "
        f"Keep a copy (cp {path} {path}.backup), then restore one that works or name another file under database.path."
    )
