"""What is kept beside runs: cached replies and verdicts, and baselines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from cortex_eval.core import redact_bytes, to_json
from cortex_eval.storage.database import Database, now
from cortex_eval.storage.writer import Statement

INSERT_CACHE = Statement("INSERT OR REPLACE INTO cortex_cache", "(?,?,?,?)")


class Cache:
    """Replies and verdicts that need not be asked for again."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def find(self, key: str) -> bytes | None:
        """What the cache holds under this key."""
        with self._db.reading() as connection:
            row = connection.execute("SELECT body FROM cortex_cache WHERE key=?", (key,)).fetchone()
        return row[0] if row else None

    def keep(self, key: str, kind: str, body: bytes) -> None:
        """Keep something that need not be asked for again; on disk with the next group."""
        self._db.writer.put(INSERT_CACHE, (key, kind, redact_bytes(body), now()))


class Baselines:
    """What later runs of a suite are compared with."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def keep(self, name: str, suite: str, run_id: str | None, body: Mapping[str, Any]) -> None:
        """Name a run as what later ones of its suite are compared with."""
        with self._db.changing() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO cortex_baselines VALUES (?,?,?,?,?)",
                (name, suite, run_id, redact_bytes(to_json(body)), now()),
            )

    def find(self, name: str, suite: str = "") -> Mapping[str, Any] | None:
        """What was kept under this name for this suite."""
        with self._db.reading() as connection:
            row = connection.execute(
                "SELECT body FROM cortex_baselines WHERE name=? AND (?='' OR suite=?) ORDER BY created DESC",
                (name, suite, suite),
            ).fetchone()
        body: Mapping[str, Any] | None = orjson.loads(row[0]) if row else None
        return body

    def all(self) -> list[tuple[str, str, str | None, str]]:
        """Name, suite, run and date of every baseline."""
        with self._db.reading() as connection:
            return connection.execute(
                "SELECT name, suite, run_id, created FROM cortex_baselines ORDER BY name, suite"
            ).fetchall()
