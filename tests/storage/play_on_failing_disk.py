"""Run in a process of its own under failing_disk.c: plays small runs while the disk fails at one point after another.

Arguments: what is tried (full, refused or sync), a folder, and the points: the how-manieth write or sync fails.
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from made_runs import PASSED, all_passed, begin, play, states

from cortex_eval.core import Reply, StorageError
from cortex_eval.storage import Slot, Store, this_process, trouble

CASES = int(os.environ.get("CASES", "8"))
disk = ctypes.CDLL(None)
trouble.FIRST_DELAY_S = 0.001


async def told(store: Store, run: str, stored: list[int]) -> None:
    """Play all cases one after the other; `stored` holds those that the store has answered for."""
    run_no = store.runs.numbers(run)[0]
    for ordinal in range(CASES):
        place = Slot(run_no, ordinal, 0, 0, 0)
        await store.results.save_reply(place, Reply(text=f"Reply {ordinal}"))
        stored.append(ordinal)
        store.results.save_verdict(place, PASSED)
    await store.flush(run)


def check(path: Path, run: str, stored: list[int]) -> None:
    """Whatever happened: the file is sound, what was told as stored is there, and the run goes on to its end."""
    disk.disk_fails(0, 0, 0)
    with Store(path) as store:
        there = {ordinal for ordinal, _, _ in states(store, run)} if run else set()
        assert set(stored) <= there, (stored, there)
        if not run:
            run = begin(store, CASES)
        else:
            store.runs.take_over(run, this_process())
        asyncio.run(play(store, run, range(CASES)))
        assert states(store, run) == all_passed(CASES)
        store.runs.finish(run, "completed")
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def waits_out(path: Path, point: int) -> str:
    """Three writes in a row find no space: nobody hears of it but `trouble`."""
    disk.disk_fails(point, 3, 0)
    with Store(path, patience_s=60) as store:
        run, stored = begin(store, CASES), []
        asyncio.run(told(store, run, stored))
        assert states(store, run) == all_passed(CASES)
        assert store.trouble == ""
        store.runs.pause(run)
    failures = disk.disk_failures()
    check(path, run, stored)
    return "waited" if failures else "untouched"


def stops(path: Path, *, kinds: set[str], failing: Callable[[], None]) -> str:
    """The store has no patience: the run ends with an error that says why."""
    run, stored, outcome = "", [], "untouched"
    failing()
    try:
        with Store(path, patience_s=0) as store:
            run = begin(store, CASES)
            asyncio.run(told(store, run, stored))
            store.runs.pause(run)
    except StorageError as error:
        outcome = error.kind if error.kind in kinds and str(path) in str(error) else str(error)
    else:
        outcome = "ignored" if disk.disk_failures() else "untouched"
    check(path, run, stored)
    return outcome


def main(mode: str, folder: str, *points: str) -> None:
    outcomes = {}
    for point in map(int, points):
        path = Path(folder) / str(point) / "cortex.db"
        if mode == "full":
            outcomes[point] = waits_out(path, point)
        elif mode == "refused":
            outcomes[point] = stops(
                path, kinds={"storage_full"}, failing=lambda at=point: disk.disk_fails(at, 1_000_000, 0)
            )
        else:
            outcomes[point] = stops(path, kinds={"storage"}, failing=lambda at=point: disk.disk_fails(0, 0, at))
    print(json.dumps(outcomes))


main(*sys.argv[1:])
