"""Runs: begun, owned, finished, found again."""

from __future__ import annotations

import secrets
import sqlite3
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import orjson

from cortex_eval.core import InputError, RunRecord, RunStatus, StorageError, did_you_mean, redact_bytes, to_json
from cortex_eval.storage.database import Database, now
from cortex_eval.storage.datasets import dataset_from_row
from cortex_eval.storage.owner import is_alive
from cortex_eval.storage.results import COPY_REPLIES


class Runs:
    """Every run of this store."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def create(
        self,
        *,
        suite: str,
        target: tuple[str, str, str | None],
        dataset_no: int,
        ordinals: Sequence[int],
        repeats: int,
        manifest: Mapping[str, Any],
        owner: str,
        parent_id: str | None = None,
        replies_of: int | None = None,
    ) -> str:
        """A new run, ready to start, with the replies of another run when it is to score those; gives its id."""
        run_id = secrets.token_hex(4)
        with self._db.changing() as connection:
            made = connection.execute(
                "INSERT INTO cortex_runs (id, suite, status, target_name, target_kind, target_version, dataset_no, "
                "cases, repeats, ordinals, created, started, manifest, parent_id, owner, cancel_requested) "
                "VALUES (?,?,'running',?,?,?,?,?,?,?,?,?,?,?,?,0)",
                (
                    run_id,
                    suite,
                    *target,
                    dataset_no,
                    len(ordinals),
                    repeats,
                    array("I", ordinals).tobytes(),
                    now(),
                    now(),
                    redact_bytes(to_json(manifest)),
                    parent_id,
                    owner,
                ),
            )
            if replies_of is not None:
                connection.execute(COPY_REPLIES, (made.lastrowid, replies_of))
        return run_id

    def find(self, name: str) -> RunRecord:
        """The run with this id, unique prefix of one, or `latest`."""
        with self._db.reading() as connection:
            rows = _run_rows(connection, "r.id=?", (name,)) if name != "latest" else []
            if not rows and name == "latest":
                rows = _run_rows(connection, "1", (), limit=1)
            if not rows and name:
                rows = _run_rows(connection, "substr(r.id, 1, ?)=?", (len(name), name), limit=2)
        if len(rows) > 1:
            raise InputError(f"More than one run begins with {name!r}. Write more of its id.")
        if not rows:
            recent = [run.id for run in self.all(limit=20)]
            hint = did_you_mean(name, recent[:5]) if recent else "There are no runs yet: cortex run."
            raise InputError(f"There is no run {name!r}. {hint}")
        return rows[0]

    def all(self, *, limit: int = 1_000_000, suite: str = "") -> list[RunRecord]:
        """Runs, newest first."""
        with self._db.reading() as connection:
            return _run_rows(connection, "(?='' OR r.suite=?)", (suite, suite), limit=limit)

    def numbers(self, run_id: str) -> tuple[int, int, Sequence[int]]:
        """The run's and its dataset's numbers in the store, and the places of its cases in the order of asking."""
        with self._db.reading() as connection:
            row = connection.execute(
                "SELECT no, dataset_no, ordinals FROM cortex_runs WHERE id=?", (run_id,)
            ).fetchone()
        ordinals: array[int] = array("I")
        ordinals.frombytes(row[2])
        return row[0], row[1], ordinals

    def take_over(self, run_id: str, owner: str) -> None:
        """Make this process the owner of a run whose owner is gone; refuses when it still lives."""
        with self._db.changing() as connection:
            row = connection.execute("SELECT owner, status FROM cortex_runs WHERE id=?", (run_id,)).fetchone()
            if row[1] == "running" and row[0] != owner and is_alive(row[0]):
                raise InputError(
                    f"Run {run_id} is still going on in another process ({row[0]}). "
                    f"Wait for it, or stop it: cortex runs cancel {run_id}."
                )
            connection.execute(
                "UPDATE cortex_runs SET owner=?, status='running', cancel_requested=0 WHERE id=?", (owner, run_id)
            )

    def finish(
        self,
        run_id: str,
        status: RunStatus,
        *,
        summary: Mapping[str, Any] | None = None,
        exit_code: int | None = None,
        manifest: Mapping[str, Any] | None = None,
    ) -> None:
        """Close a run with what came of it."""
        with self._db.changing() as connection:
            connection.execute(
                "UPDATE cortex_runs SET status=?, finished=?, summary=?, exit_code=?, owner='', "
                "manifest=coalesce(?, manifest) WHERE id=?",
                (
                    status,
                    now(),
                    redact_bytes(to_json(summary)) if summary is not None else None,
                    exit_code,
                    redact_bytes(to_json(manifest)) if manifest is not None else None,
                    run_id,
                ),
            )

    def pause(self, run_id: str) -> None:
        """Let go of a run that is not finished, so that it can be resumed."""
        with self._db.changing() as connection:
            connection.execute("UPDATE cortex_runs SET status='paused', owner='' WHERE id=?", (run_id,))

    @contextmanager
    def held(self, run_id: str) -> Iterator[None]:
        """A run is this process's while inside; when an error ends it, it is let go and can be resumed."""
        try:
            yield
        except BaseException:
            with suppress(StorageError):  # then the store is the trouble, and that is on its way to the user
                self.pause(run_id)
            raise

    def request_cancel(self, run_id: str) -> bool:
        """Ask a run to stop; True when it was stopped at once because nobody was running it."""
        with self._db.changing() as connection:
            row = connection.execute("SELECT owner, status FROM cortex_runs WHERE id=?", (run_id,)).fetchone()
            if row[1] == "running" and is_alive(row[0]):
                connection.execute("UPDATE cortex_runs SET cancel_requested=1 WHERE id=?", (run_id,))
                return False
            if row[1] in ("running", "paused", "pending"):
                connection.execute("UPDATE cortex_runs SET status='cancelled', owner='' WHERE id=?", (run_id,))
        return True

    def is_cancel_requested(self, run_id: str) -> bool:
        """Whether somebody asked this run to stop."""
        with self._db.reading() as connection:
            row = connection.execute("SELECT cancel_requested FROM cortex_runs WHERE id=?", (run_id,)).fetchone()
        return bool(row and row[0])

    def delete(self, run_id: str) -> None:
        """Remove a run and its results; refuses while it is going on."""
        with self._db.changing() as connection:
            row = connection.execute("SELECT owner, status FROM cortex_runs WHERE id=?", (run_id,)).fetchone()
            if row[1] == "running" and is_alive(row[0]):
                raise InputError(f"Run {run_id} is going on. Stop it first: cortex runs cancel {run_id}.")
            connection.execute("DELETE FROM cortex_runs WHERE id=?", (run_id,))


def _run_rows(
    connection: sqlite3.Connection, where: str, parameters: Sequence[Any], *, limit: int = 10
) -> list[RunRecord]:
    rows = connection.execute(
        f"""SELECT r.id, r.suite, r.status, r.target_name, r.target_kind, r.target_version, r.cases, r.repeats,
            r.created, r.started, r.finished, r.manifest, r.summary, r.exit_code, r.owner,
            d.name, d.version, d.cases, d.file, d.file_sha256, d.created
        FROM cortex_runs r JOIN cortex_datasets d ON d.no=r.dataset_no
        WHERE {where} ORDER BY r.no DESC LIMIT ?""",  # noqa: S608
        (*parameters, limit),
    ).fetchall()
    return [_run(row) for row in rows]


def _run(row: Sequence[Any]) -> RunRecord:
    return RunRecord(
        id=row[0],
        suite=row[1],
        status=row[2] if row[2] != "running" or is_alive(row[14]) else "paused",
        target_name=row[3],
        target_kind=row[4],
        target_version=row[5],
        cases=row[6],
        repeats=row[7],
        created=row[8],
        started=row[9],
        finished=row[10],
        manifest=orjson.loads(row[11]),
        summary=orjson.loads(row[12]) if row[12] else {},
        exit_code=row[13],
        owner=row[14],
        dataset=dataset_from_row(row[15:]),
    )
