"""What is kept beside runs: cached replies and verdicts, and baselines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import orjson

from cortex_eval.core import redact_bytes, to_json
from cortex_eval.storage.database import Database, now, storable
from cortex_eval.storage.writer import Statement

INSERT_CACHE = Statement(
    "INSERT INTO cortex_cache (key, kind, body, created)",
    "(?,?,?,?)",
    "ON CONFLICT (key) DO UPDATE SET kind=excluded.kind, body=excluded.body, created=excluded.created",
    key_size=1,
)


class Cache:
    """Replies and verdicts that need not be asked for again."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def find(self, key: str) -> bytes | None:
        """What the cache holds under this key."""
        rows = self._db.fetch("SELECT body FROM cortex_cache WHERE key=?", (key,))
        return rows[0][0] if rows else None

    def all_keys(self) -> Iterator[str]:
        """All keys, replies and verdicts alike: these are read from the index alone."""
        yield from (key for (key,) in self._db.stream("SELECT key FROM cortex_cache ORDER BY key"))

    def keep(self, key: str, kind: str, body: bytes) -> None:
        """Keep something that need not be asked for again; on disk with the next group."""
        self._db.writer.put(INSERT_CACHE, (key, kind, redact_bytes(body), now()))


class BaselineRow(NamedTuple):
    """A baseline in a list."""

    name: str
    suite: str
    run_id: str | None
    created: str
    is_pinned: bool
    """An anchor: it is not moved without being asked for."""


class Baselines:
    """What later runs of a suite are compared with."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def keep(self, name: str, suite: str, run_id: str | None, body: Mapping[str, Any]) -> None:
        """Name a run as what later ones of its suite are compared with."""
        values = (storable(name), storable(suite), run_id, redact_bytes(to_json(body)), now())
        self._db.change(
            lambda tx: tx.fetch(
                "INSERT INTO cortex_baselines (name, suite, run_id, body, created) VALUES (?,?,?,?,?) "
                "ON CONFLICT (name, suite) DO UPDATE SET run_id=excluded.run_id, body=excluded.body, "
                "created=excluded.created",
                values,
            )
        )

    def find(self, name: str, suite: str = "") -> Mapping[str, Any] | None:
        """What was kept under this name for this suite."""
        rows = self._db.fetch(
            "SELECT body FROM cortex_baselines WHERE name=? AND (?='' OR suite=?) ORDER BY created DESC",
            (name, suite, suite),
        )
        body: Mapping[str, Any] | None = orjson.loads(rows[0][0]) if rows else None
        return body

    def all(self) -> list[BaselineRow]:
        """Every baseline, by name and suite."""
        rows = self._db.fetch("SELECT name, suite, run_id, created, body FROM cortex_baselines")
        return sorted(
            BaselineRow(name, suite, run_id, created, bool(orjson.loads(body).get("pinned")))
            for name, suite, run_id, created, body in rows
        )
