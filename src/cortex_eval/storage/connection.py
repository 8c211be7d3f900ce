"""How every part of the store connects, and what it says when it cannot."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

from cortex_eval.core import StorageError

BUSY_TIMEOUT_S = 5.0
LOCKED_RETRY_S = 60.0
"""How long another process may hold the write lock before we give up."""


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


def wait_for_lock(step: Callable[[], object]) -> None:
    """Do something that needs the write lock, which another process may hold for a good while."""
    give_up = time.monotonic() + LOCKED_RETRY_S
    while True:
        try:
            step()
        except sqlite3.OperationalError as error:
            if not ("locked" in str(error) or "busy" in str(error)) or time.monotonic() > give_up:
                raise
        else:
            return


def broken(path: Path, error: Exception) -> StorageError:
    """The error for a store that cannot be used: what, where, what to do."""
    return StorageError(
        f"The store {path} cannot be used: {error}. What was stored before is untouched. "
        f"Keep a copy (cp {path} {path}.backup), then restore one that works or name another file under database.path."
    )
