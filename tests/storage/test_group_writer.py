"""What the writer has answered for is on disk; when it cannot write, everybody is told, at once and from then on."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from cortex_eval.core import StorageError
from cortex_eval.storage import Store
from cortex_eval.storage.writer import GroupWriter, Statement

KEEP = Statement("INSERT OR IGNORE INTO cortex_cache", "(?,?,?,?)")


def row(key: object) -> tuple[object, ...]:
    return (str(key), "reply", b"body", "now")


def kept(path: Path) -> list[str]:
    """What another process would see."""
    with closing(sqlite3.connect(path)) as connection:
        return [key for (key,) in connection.execute("SELECT key FROM cortex_cache ORDER BY CAST(key AS INTEGER)")]


@pytest.fixture
def writer(store):
    made = GroupWriter(store.path)
    yield made
    made.close()


async def test_a_row_is_on_disk_when_write_returns(store, writer):
    for number in range(20):
        await writer.write(KEEP, row(number))
        assert str(number) in kept(store.path)


async def test_rows_written_together_are_all_on_disk(store, writer):
    async with asyncio.TaskGroup() as group:
        for number in range(500):
            group.create_task(writer.write(KEEP, row(number)))

    assert kept(store.path) == [str(number) for number in range(500)]


async def test_rows_that_nobody_waits_for_are_there_after_a_flush(store, writer):
    for number in range(500):
        writer.put(KEEP, row(number))
    await writer.flush()

    assert kept(store.path) == [str(number) for number in range(500)]


async def test_rows_that_nobody_waits_for_are_there_soon(store, writer):
    writer.put(KEEP, row(1))

    async with asyncio.timeout(2):
        while not await asyncio.to_thread(kept, store.path):
            pass  # no flush, no other row: the writer comes by itself


async def test_closing_commits_what_is_left(store):
    writer = GroupWriter(store.path)
    writer.put(KEEP, row(1))
    writer.close()

    assert kept(store.path) == ["1"]


async def test_f10_writing_the_same_row_again_keeps_the_first_one(store, writer):
    await writer.write(KEEP, ("1", "reply", b"first", "now"))
    await writer.write(KEEP, ("1", "reply", b"second", "later"))

    with closing(sqlite3.connect(store.path)) as connection:
        assert connection.execute("SELECT body, created FROM cortex_cache").fetchall() == [(b"first", "now")]


def drop_the_table(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TABLE cortex_cache")
        connection.commit()


async def test_p11_a_failure_is_told_to_all_who_wait_and_to_all_who_come_later(store, writer):
    drop_the_table(store.path)

    async with asyncio.timeout(10):
        outcomes = await asyncio.gather(*(writer.write(KEEP, row(n)) for n in range(50)), return_exceptions=True)
    assert {type(each) for each in outcomes} == {StorageError}
    assert str(store.path) in str(outcomes[0])

    with pytest.raises(StorageError):
        writer.put(KEEP, row(1))
    with pytest.raises(StorageError):
        await writer.write(KEEP, row(1))
    with pytest.raises(StorageError):
        await writer.flush()


async def test_p11_a_row_that_nobody_waited_for_and_that_was_not_stored_is_told_by_the_flush(store, writer):
    drop_the_table(store.path)
    writer.put(KEEP, row(1))

    with pytest.raises(StorageError, match="no such table"):
        await writer.flush()


async def test_p11_one_bad_row_of_a_group_stores_nothing_of_the_group_and_tells_everybody(store, writer):
    other = Statement("INSERT INTO cortex_baselines", "(?,?,?,?,?)")
    async with asyncio.timeout(10):
        outcomes = await asyncio.gather(
            writer.write(KEEP, row(1)), writer.write(other, ("name", None, None, b"", "now")), return_exceptions=True
        )

    told = [type(each) for each in outcomes]
    assert told[1] is StorageError
    assert kept(store.path) == ([] if told[0] is StorageError else ["1"]), "what was reported stored is stored"


@pytest.mark.parametrize("value", ["half a character: \ud83d", 2**80, object()])
async def test_a_value_that_sqlite_cannot_take_is_an_error_and_not_a_wait_for_ever(store, writer, value):
    async with asyncio.timeout(10):
        with pytest.raises(StorageError):
            await writer.write(KEEP, ("1", "reply", value, "now"))


async def test_a_store_that_is_gone_is_an_error_and_not_a_wait_for_ever(tmp_path):
    with Store(tmp_path / "a" / "cortex.db") as store:
        shutil.rmtree(tmp_path / "a")
        async with asyncio.timeout(10):
            with pytest.raises(StorageError, match="unable to open database file"):
                await store.flush()


HOLD_THE_LOCK = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.readline()
connection.execute("COMMIT")
"""


@pytest.mark.slow
async def test_f11_a_lock_that_another_process_holds_is_waited_for(store, writer):
    """Longer than SQLite's own patience of five seconds; the writer and the rare changes alike."""
    holder = subprocess.Popen(  # noqa: ASYNC220  # it only starts
        [sys.executable, "-c", HOLD_THE_LOCK, str(store.path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    holder.stdout.readline()
    started = time.monotonic()

    async with asyncio.TaskGroup() as group:
        waiting = [
            group.create_task(writer.write(KEEP, row(1))),
            group.create_task(asyncio.to_thread(store.baselines.keep, "main", "suite", None, {})),
        ]
        done, _ = await asyncio.wait(waiting, timeout=6.5)
        assert not done
        holder.communicate("go\n")
    assert time.monotonic() - started > 6

    assert kept(store.path) == ["1"]
    assert store.baselines.find("main") == {}
