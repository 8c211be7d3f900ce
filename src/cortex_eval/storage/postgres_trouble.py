"""What a failure of PostgreSQL means: it passes by itself, or it does not."""

from __future__ import annotations

from cortex_eval.core import StorageError, redact
from cortex_eval.storage.trouble import LostLease, Passing

_LOCKED = ("40001", "40P01", "55P03")
_DOWN = ("08", "57P", "53")
"""Connections, shutdowns and starts, too many connections, no memory."""
_DISK_FULL = "53100"
_REFUSED = ("authentication", "does not exist", "pg_hba", "permission denied", "not permitted")
"""What does not pass by itself when a connection is refused; psycopg gives no code then. Anything else a server says
(it starts, stops, recovers, is full) does."""


def judge(shown: str, error: Exception) -> Passing | StorageError | None:
    """What a failure of psycopg or asyncpg means; None: it is not the database's."""
    code = getattr(error, "sqlstate", None)
    text = redact(" ".join(str(error).split()))
    if code == "23502" and "run_no" in text:
        return LostLease("The run was taken over by another process, or deleted; nothing more of it is written.")
    if code in _LOCKED:
        return Passing("locked", f"another process is changing the same rows in {shown}")
    if code == _DISK_FULL:
        return Passing("storage_full", f"no space left for {shown}")
    if isinstance(code, str):
        return Passing("database_down", f"{shown}: {text}") if code.startswith(_DOWN) else _broken(shown, text)
    if _is_connection_failure(error):
        is_refused = "FATAL" in text and any(words in text for words in _REFUSED)
        return _broken(shown, text) if is_refused else Passing("database_down", f"{shown} cannot be reached: {text}")
    return _broken(shown, text) if _is_from_driver(error) else None


def _is_connection_failure(error: Exception) -> bool:
    import asyncpg
    import psycopg

    failures = (psycopg.OperationalError, psycopg.InterfaceError, asyncpg.InterfaceError, OSError, TimeoutError)
    # asyncpg's InterfaceError is also raised for values that cannot be sent, as a ValueError too.
    return isinstance(error, failures) and not isinstance(error, ValueError)


def _is_from_driver(error: Exception) -> bool:
    import asyncpg
    import psycopg

    return isinstance(error, (psycopg.Error, asyncpg.PostgresError, asyncpg.InterfaceError))


def _broken(shown: str, text: str) -> StorageError:
    if "permission denied for schema" in text or "no schema has been selected" in text:
        return StorageError(
            f"The user of {shown} may not make tables there: {text.partition(' LINE ')[0]}. "
            "Let the user own the database (CREATE DATABASE … OWNER …), or GRANT CREATE, USAGE ON SCHEMA … TO it; "
            "a schema named in the URL must be there."
        )
    return StorageError(
        f"The store {shown} cannot be used: {text}. What was stored before is untouched. "
        "Check database: in the project file, and the database itself."
    )
