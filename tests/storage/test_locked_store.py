"""An SQLite store that another process has locked is waited for, and nobody is told that the database is locked."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time

import pytest
from made_runs import all_passed, begin, play, states

from cortex_eval.core import StorageError
from cortex_eval.storage import Store, connection

HOLD_THE_LOCK = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.readline()
connection.execute("COMMIT")
"""


def lock_holder(store: Store) -> subprocess.Popen[str]:
    """Another process that has the write lock until it reads a line."""
    process = subprocess.Popen([sys.executable, "-c", HOLD_THE_LOCK, str(store.path)], stdin=-1, stdout=-1, text=True)
    assert process.stdout.readline() == "held\n"
    return process


@pytest.fixture
def impatient_sqlite(monkeypatch) -> None:
    """SQLite itself gives up soon, so that a short lock is a long one to us."""
    monkeypatch.setattr(connection, "BUSY_TIMEOUT_S", 0.02)


async def test_F11_a_lock_that_another_process_holds_is_waited_for_and_shown(impatient_sqlite, file_store):
    store, run = file_store, begin(file_store, 20)
    holder = lock_holder(store)

    async with asyncio.TaskGroup() as group:
        group.create_task(play(store, run, range(20)))
        group.create_task(asyncio.to_thread(store.baselines.keep, "main", "suite", None, {}))
        async with asyncio.timeout(20):
            while not store.trouble.startswith("locked: another process is writing to"):
                await asyncio.sleep(0.005)
        assert store.runs.find(run).status == "running", "reading goes on"
        holder.communicate("go\n")

    assert states(store, run) == all_passed(20)
    assert store.baselines.find("main") == {}
    assert store.trouble == ""


@pytest.mark.slow
async def test_F11_a_lock_held_for_ten_seconds_is_waited_for(file_store):
    store, run = file_store, begin(file_store, 20)
    holder, started = lock_holder(store), time.monotonic()

    async with asyncio.TaskGroup() as group:
        group.create_task(play(store, run, range(20)))
        group.create_task(asyncio.to_thread(store.baselines.keep, "main", "suite", None, {}))
        await asyncio.sleep(10)
        holder.communicate("go\n")

    assert time.monotonic() - started > 10
    assert states(store, run) == all_passed(20)


async def test_F11_a_lock_that_is_never_let_go_is_told_in_plain_words(impatient_sqlite, file_store):
    store, run = file_store, begin(file_store, 20)
    store.patience_s = 0.1
    holder = lock_holder(store)

    with pytest.raises(StorageError, match="Another process is writing to") as caught:
        await play(store, run, range(20))
    holder.communicate("go\n")
    assert caught.value.kind == "locked"
    assert "database is locked" not in str(caught.value)


async def test_F11_a_run_that_is_let_go_while_the_store_is_locked_holds_nobody_else_up(impatient_sqlite, file_store):
    store, run = file_store, begin(file_store, 2)
    store.patience_s = 5.0
    holder = lock_holder(store)

    async def fails() -> None:
        async with store.runs.held(run):
            raise ValueError("oops")

    failing = asyncio.ensure_future(fails())
    while not store.trouble and not failing.done():
        await asyncio.sleep(0.005)
    assert store.trouble.startswith("locked"), "seen while it waits"
    holder.communicate("go\n")
    with pytest.raises(ValueError, match="oops"):
        await failing

    assert store.runs.find(run).status == "paused"
    with pytest.raises(StorageError, match="not held by this process"):
        store.runs.pause(run)
