"""One run, one owner: leases that end by themselves, and epochs that keep a late owner from writing.

A run is held by a store of a process. Its row names the process, an epoch that grows with every take-over, and when
the lease ends by the store's clock. Each row of results is written under the epoch, and refused when the run has
another one by then: an owner that was cut off and comes back late changes nothing.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import NamedTuple

from cortex_eval.core import InputError
from cortex_eval.storage.database import Database, Row, Transaction
from cortex_eval.storage.owner import is_alive, this_process
from cortex_eval.storage.trouble import LostLease
from cortex_eval.storage.writer import Fence

LEASE_S = 30.0
RENEW_AFTER_S = LEASE_S / 3
IS_LEASED = "lease_until BETWEEN {clock} AND {clock} + 60"
"""A lease that ends later than any lease can was given before the clock was set back."""

_claimed: dict[str, object] = {}
"""Runs that this process holds or is about to take, each by one store; two stores of one process are rivals too."""


class Lease(NamedTuple):
    """The right to write to a run."""

    run_id: str
    run_no: int
    epoch: int

    @property
    def fence(self) -> Fence:
        """What rows of this run begin with."""
        return self.run_no, self.epoch


class Pulse(NamedTuple):
    """What an owner hears when it looks after its run."""

    is_mine: bool
    """False: somebody else has taken the run over, or deleted it."""
    cancel_requested: bool


@dataclass(slots=True)
class _Held:
    lease: Lease
    renewed_s: float


class Leases:
    """The runs that one store holds."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._held: dict[str, _Held] = {}
        self._epochs: dict[int, int] = {}

    def claim(self, run_id: str) -> None:
        """Keep every other store of this process away from a run; raises InputError when one has it."""
        if _claimed.setdefault(run_id, self) is not self or run_id in self._held:
            raise InputError(f"Run {run_id} is still going on in this process. Wait for it to end.")

    def hold(self, lease: Lease) -> None:
        """Remember a lease that the database has given to this store, for a run claimed before."""
        self._held[lease.run_id] = _Held(lease, time.monotonic())
        self._epochs[lease.run_no] = lease.epoch

    def release(self, run_id: str) -> None:
        """Forget a claim and its lease; other stores may have the run."""
        held = self._held.pop(run_id, None)
        if held is not None:
            self._epochs.pop(held.lease.run_no, None)
        if _claimed.get(run_id) is self:
            del _claimed[run_id]

    def release_all(self) -> None:
        """Forget every claim of this store."""
        for run_id in [run_id for run_id, holder in tuple(_claimed.items()) if holder is self]:
            self.release(run_id)

    def of(self, run_id: str) -> Lease:
        """The lease of a run that this store holds; raises LostLease when it does not."""
        held = self._held.get(run_id)
        if held is None:
            raise LostLease(f"Run {run_id} is not held by this process, so nothing of it is written. Resume it first.")
        return held.lease

    def epoch_of(self, run_no: int) -> int:
        """The epoch under which this store holds a run; raises LostLease when it does not."""
        epoch = self._epochs.get(run_no)
        if epoch is None:
            raise LostLease("The run is not held by this process, so nothing of it is written. Resume it first.")
        return epoch

    def pulse(self, run_id: str) -> Pulse:
        """Renew the lease of a run in time, and hear what others want of it; cheap enough for every second."""
        held = self._held.get(run_id)
        if held is None:
            return Pulse(is_mine=False, cancel_requested=False)
        started = time.monotonic()
        if started - held.renewed_s >= RENEW_AFTER_S:
            rows = self._db.change(lambda tx: self._renew(tx, held.lease))
            held.renewed_s = started
        else:
            rows = self._db.fetch("SELECT cancel_requested FROM cortex_runs WHERE no=? AND epoch=?", held.lease.fence)
        return Pulse(is_mine=bool(rows), cancel_requested=bool(rows and rows[0][0]))

    def _renew(self, tx: Transaction, lease: Lease) -> list[Row]:
        return tx.fetch(
            f"UPDATE cortex_runs SET lease_until={self._db.clock}+{LEASE_S} "  # noqa: S608  # both are ours
            "WHERE no=? AND epoch=? RETURNING cancel_requested",
            lease.fence,
        )


def is_held(run_id: str, owner: str, *, is_leased: bool) -> bool:
    """Whether somebody is carrying a run out that is marked as running."""
    return run_id in _claimed if owner == this_process() else is_alive(owner, is_leased=is_leased)
