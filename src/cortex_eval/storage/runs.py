"""Runs: begun, owned, finished, found again."""

from __future__ import annotations

import asyncio
import secrets
from array import array
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from difflib import get_close_matches
from typing import Any, NamedTuple

import orjson

from cortex_eval.core import InputError, RunRecord, RunStatus, StorageError, redact_bytes, to_json
from cortex_eval.storage.cases import dataset_from_row
from cortex_eval.storage.copying import COPY_REPLIES, Reused
from cortex_eval.storage.database import Database, Row, Transaction, now, storable
from cortex_eval.storage.leases import IS_LEASED, LEASE_S, Lease, Leases, Pulse, is_held
from cortex_eval.storage.owner import this_process
from cortex_eval.storage.trouble import LostLease

RUNS_NAMED = 5
"""Runs that an error names; `cortex runs list` has them all."""


class Runs:
    """Every run of this store."""

    def __init__(self, db: Database, leases: Leases, advise: Callable[[str], str] = str) -> None:
        self._db, self._leases, self._advise = db, leases, advise
        self._is_leased = IS_LEASED.format(clock=db.clock)
        self._lease = f"{db.clock}+{LEASE_S}"

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
        reused: Reused | None = None,
    ) -> str:
        """A new run, ready to start and held by this store; gives its id.

        With `replies_of` it begins with the replies of another run, to score those; with `reused`, with those results
        of another run that are still good.
        """
        run_id, created = secrets.token_hex(4), now()
        values = (
            run_id,
            storable(suite),
            *(each and storable(each) for each in target),
            dataset_no,
            len(ordinals),
            repeats,
            array("I", ordinals).tobytes(),
            created,
            created,
            redact_bytes(to_json(manifest)),
            parent_id,
            owner,
        )

        def insert(tx: Transaction) -> int:
            there = tx.fetch(
                "SELECT no FROM cortex_runs WHERE id=? AND created=? AND owner=?", (run_id, created, owner)
            )
            if there:  # it was kept, and only the reply to that was lost
                return int(there[0][0])
            no = tx.fetch(
                f"""INSERT INTO cortex_runs (id, suite, status, target_name, target_kind, target_version, dataset_no,
                cases, repeats, ordinals, created, started, manifest, parent_id, owner, cancel_requested, epoch,
                lease_until) VALUES (?,?,'running',?,?,?,?,?,?,?,?,?,?,?,?,0,1,{self._lease}) RETURNING no""",  # noqa: S608  # the store's own clock
                values,
            )[0][0]
            if replies_of is not None:
                tx.fetch(COPY_REPLIES, (no, replies_of))
            for sql, parameters in reused.statements(no) if reused is not None else ():
                tx.fetch(sql, parameters)
            return int(no)

        self._hold(run_id, lambda tx: Lease(run_id, insert(tx), 1))
        return run_id

    def _hold(self, run_id: str, get: Callable[[Transaction], Lease]) -> Lease:
        """Get the lease of a run, which is this store's before anybody else of this process can ask for it."""
        self._leases.claim(run_id)
        try:
            lease = self._db.change(get)
        except BaseException:
            self._leases.release(run_id)
            raise
        self._leases.hold(lease)
        return lease

    def find(self, name: str) -> RunRecord:
        """The run with this id, unique prefix of one, or `latest`; `latest~2` is the second before that."""
        latest, _, back = name.partition("~")
        is_latest = latest == "latest" and (back or "0").isdecimal() and len(back) < 10
        if is_latest:
            rows = self._records("TRUE", (), limit=int(back or 0) + 1)[int(back or 0) :]
        else:
            rows = self._records("r.id=?", (name,))
        if not rows and name and not is_latest:
            rows = self._records("substr(r.id, 1, ?)=?", (len(name), name), limit=2)
        if len(rows) > 1:
            raise InputError(f"More than one run begins with {name!r}. Write more of its id.")
        if not rows:
            raise InputError(f"There is no run {name!r}. {self._near_run(name)}")
        return rows[0]

    def all(self, *, limit: int = 1_000_000, suite: str = "") -> list[RunRecord]:
        """Runs, newest first."""
        return self._records("(?='' OR r.suite=?)", (suite, suite), limit=limit)

    def newest_over(self, dataset_no: int) -> Mapping[str, Any] | None:
        """What the newest run over a dataset remembers of itself; None: there is no such run."""
        rows = self._db.fetch(
            "SELECT manifest FROM cortex_runs WHERE dataset_no=? ORDER BY no DESC LIMIT 1", (dataset_no,)
        )
        manifest: Mapping[str, Any] | None = orjson.loads(rows[0][0]) if rows else None
        return manifest

    def numbers(self, run_id: str) -> tuple[int, int, Sequence[int]]:
        """The run's and its dataset's numbers in the store, and the places of its cases in the order of asking."""
        row = self._db.fetch("SELECT no, dataset_no, ordinals FROM cortex_runs WHERE id=?", (run_id,))[0]
        ordinals: array[int] = array("I")
        ordinals.frombytes(row[2])
        return row[0], row[1], ordinals

    def take_over(self, run_id: str, owner: str) -> Lease:
        """Make this store the holder of a run that nobody is carrying out; refuses when somebody is.

        That is so at once when the run was let go or its process on this host is gone; when its process is on another
        host, once the lease has ended.
        """
        wanted = 0

        def take(tx: Transaction) -> Lease:
            nonlocal wanted
            row = self._held_row(tx, run_id)
            if row is None:
                raise InputError(f"There is no run {run_id!r} any more.")
            if row.epoch == wanted and row.owner == owner:
                return Lease(run_id, row.no, row.epoch)  # it was given, and only the reply to that was lost
            if row.is_going_on and row.owner != this_process():  # ours: left behind by a store that is closed
                raise self._refused(run_id, row)
            wanted = row.epoch + 1
            tx.fetch(
                f"UPDATE cortex_runs SET lease_until={self._lease}, owner=?, status='running', "  # noqa: S608  # as above
                "cancel_requested=0, epoch=? WHERE no=?",
                (owner, wanted, row.no),
            )
            return Lease(run_id, row.no, wanted)

        return self._hold(run_id, take)

    def describe(self, run_id: str, manifest: Mapping[str, Any]) -> None:
        """Put down anew what a run that this store holds remembers of itself."""
        written, lease = redact_bytes(to_json(manifest)), self._leases.of(run_id)
        self._db.change(
            lambda tx: tx.fetch("UPDATE cortex_runs SET manifest=? WHERE no=? AND epoch=?", (written, *lease.fence))
        )

    def pulse(self, run_id: str) -> Pulse:
        """Look after a run that this store holds: renews its lease, and says whether somebody asked it to stop."""
        return self._leases.pulse(run_id)

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
        self._let_go(
            run_id,
            "UPDATE cortex_runs SET status=?, finished=?, summary=?, exit_code=?, owner='', lease_until=0, "
            "manifest=coalesce(?, manifest) WHERE no=? AND epoch=? RETURNING no",
            (
                status,
                now(),
                redact_bytes(to_json(summary)) if summary is not None else None,
                exit_code,
                redact_bytes(to_json(manifest)) if manifest is not None else None,
            ),
        )

    def pause(self, run_id: str, *, manifest: Mapping[str, Any] | None = None) -> None:
        """Let go of a run that is not finished, so that it can be resumed."""
        self._let_go(
            run_id,
            "UPDATE cortex_runs SET status='paused', owner='', lease_until=0, manifest=coalesce(?, manifest) "
            "WHERE no=? AND epoch=? RETURNING no",
            (redact_bytes(to_json(manifest)) if manifest is not None else None,),
        )

    def _let_go(self, run_id: str, sql: str, values: Sequence[Any]) -> None:
        lease = self._leases.of(run_id)
        if not self._db.change(lambda tx: tx.fetch(sql, (*values, *lease.fence))):
            self._leases.release(run_id)
            raise LostLease(
                f"Run {run_id} was taken over by another process, or deleted. "
                f"Look at it: {self._advise('cortex runs list')}."
            )
        self._leases.release(run_id)

    @asynccontextmanager
    async def held(self, run_id: str) -> AsyncIterator[None]:
        """A run is this process's while inside; when an error ends it, it is let go and can be resumed."""
        try:
            yield
        except BaseException:
            try:
                with suppress(StorageError):  # then the store is the trouble, and that is on its way to the user
                    await asyncio.to_thread(self.pause, run_id)  # a store that is locked may take minutes
            finally:
                self._leases.release(run_id)
            raise

    def request_cancel(self, run_id: str) -> bool:
        """Ask a run to stop; True when it was stopped at once because nobody was running it."""

        def request(tx: Transaction) -> bool:
            row = self._held_row(tx, run_id)
            if row is not None and row.is_going_on:
                tx.fetch("UPDATE cortex_runs SET cancel_requested=1 WHERE no=?", (row.no,))
                return False
            if row is not None and row.status in ("running", "paused", "pending"):
                tx.fetch("UPDATE cortex_runs SET status='cancelled', owner='', epoch=epoch+1 WHERE no=?", (row.no,))
            return True

        return self._db.change(request)

    def delete(self, run_id: str) -> None:
        """Remove a run and its results; refuses while it is going on."""

        def remove(tx: Transaction) -> None:
            row = self._held_row(tx, run_id)
            if row is not None and row.is_going_on:
                how = self._advise(f"cortex runs cancel {run_id}")
                raise InputError(f"Run {run_id} is going on. Stop it first: {how}.")
            tx.fetch("DELETE FROM cortex_runs WHERE id=?", (run_id,))

        self._db.change(remove)

    def _held_row(self, tx: Transaction, run_id: str) -> _HeldRow | None:
        """Who holds a run; stays so until the end of the transaction."""
        rows = tx.fetch(
            f"SELECT no, owner, status, epoch, {self._is_leased}, lease_until - {self._db.clock} "  # noqa: S608
            "FROM cortex_runs WHERE id=? /*FOR UPDATE*/",
            (run_id,),
        )
        if not rows:
            return None
        no, owner, status, epoch, is_leased, left_s = rows[0]
        is_going_on = status == "running" and is_held(run_id, owner, is_leased=bool(is_leased))
        return _HeldRow(no, owner, status, epoch, is_going_on, left_s)

    def _refused(self, run_id: str, row: _HeldRow) -> InputError:
        until = f" Its lease ends in {row.left_s:.0f} s unless it is renewed." if row.left_s > 0 else ""
        return InputError(
            f"Run {run_id} is still going on in another process ({row.owner}).{until} "
            f"Wait for it, or stop it: {self._advise(f'cortex runs cancel {run_id}')}."
        )

    def _near_run(self, name: str) -> str:
        """What to do when there is no run of this name."""
        recent = [run.id for run in self.all(limit=20)]
        if not recent:
            return f"There are no runs yet: {self._advise('cortex run')}."
        if near := get_close_matches(name, recent, n=1):
            return f"Did you mean {near[0]!r}?"
        newest = f"The newest {RUNS_NAMED} are" if len(recent) > RUNS_NAMED else "Newest first:"
        return f"{newest} {', '.join(recent[:RUNS_NAMED])}. All of them: {self._advise('cortex runs list')}."

    def _records(self, where: str, parameters: Sequence[Any], *, limit: int = 10) -> list[RunRecord]:
        rows = self._db.fetch(
            f"""SELECT r.id, r.suite, r.status, r.target_name, r.target_kind, r.target_version, r.cases, r.repeats,
                r.created, r.started, r.finished, r.manifest, r.summary, r.exit_code, r.owner, {self._is_leased},
                d.name, d.version, d.cases, d.file, d.file_sha256, d.created
            FROM cortex_runs r JOIN cortex_datasets d ON d.no=r.dataset_no
            WHERE {where} ORDER BY r.no DESC LIMIT ?""",  # noqa: S608
            (*parameters, limit),
        )
        return [_run(row) for row in rows]


class _HeldRow(NamedTuple):
    no: int
    owner: str
    status: str
    epoch: int
    is_going_on: bool
    left_s: float


def _run(row: Row) -> RunRecord:
    is_going_on = row[2] == "running" and is_held(row[0], row[14], is_leased=bool(row[15]))
    return RunRecord(
        id=row[0],
        suite=row[1],
        status=row[2] if row[2] != "running" or is_going_on else "paused",
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
        dataset=dataset_from_row(row[16:]),
    )
