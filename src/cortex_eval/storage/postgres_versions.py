"""The tables of a store in PostgreSQL: made or migrated in one transaction, by one process at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cortex_eval.core import StorageError
from cortex_eval.storage.versions import CURRENT_REVISION, REVISION_TABLE, REVISIONS, newer, run_migrations

if TYPE_CHECKING:
    from psycopg import Connection

LOCK_NO = 0x636F_7274
"""Of the advisory lock under which tables are made: any number that nobody else is likely to use."""


def prepare(connection: Connection, shown: str) -> None:
    """Make sure that the tables of a store of the current shape are there."""
    revision = _revision(connection, shown)
    if revision == CURRENT_REVISION:
        return
    if revision is not None and revision not in REVISIONS:
        raise newer(shown, revision)
    _migrate(connection)


def _revision(connection: Connection, shown: str) -> str | None:
    """The revision of the store; None when there is nothing yet."""
    has_revision, has_runs = connection.execute(
        f"SELECT to_regclass('{REVISION_TABLE}') IS NOT NULL, to_regclass('cortex_runs') IS NOT NULL"
    ).fetchone() or (False, False)
    if not has_revision:
        return None
    if not has_runs:
        raise StorageError(
            f"{shown} holds tables of another program ({REVISION_TABLE}), and no Cortex store. Nothing was changed. "
            "Give Cortex a database or a schema of its own."
        )
    row = connection.execute(f"SELECT version_num FROM {REVISION_TABLE}").fetchone()  # noqa: S608  # our constant
    return str(row[0]) if row else None


def _migrate(connection: Connection) -> None:
    # Half a second of imports, paid only by the process that meets a new or an old store.
    from sqlalchemy import create_engine
    from sqlalchemy.pool import StaticPool

    connection.autocommit = False  # SQLAlchemy begins and ends transactions the plain way
    engine = create_engine("postgresql+psycopg://", creator=lambda: connection, poolclass=StaticPool)
    try:
        with engine.begin() as transaction:
            transaction.exec_driver_sql(f"SELECT pg_advisory_xact_lock({LOCK_NO})")
            run_migrations(transaction)  # does nothing when another process was quicker
    finally:
        if not connection.closed:
            connection.rollback()
            connection.autocommit = True
