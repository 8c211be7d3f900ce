"""What the writer has answered for is on disk; when it cannot write, everybody is told, at once and from then on."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import threading
from contextlib import closing

import pytest

from cortex_eval.core import StorageError
from cortex_eval.storage import Store
from cortex_eval.storage.writer import Statement, _Group

KEEP = Statement("INSERT INTO cortex_cache (key, kind, body, created)", "(?,?,?,?)", "ON CONFLICT (key) DO NOTHING")


def row(key: object) -> tuple[object, ...]:
    return (str(key), "reply", b"body", "now")


def kept(store: Store) -> list[str]:
    """What another process would see."""
    with Store(store.location) as other:
        return [key for (key,) in other._db.fetch("SELECT key FROM cortex_cache ORDER BY CAST(key AS INTEGER)")]


@pytest.fixture
def writer(store):
    return store._db.writer


async def test_a_row_is_on_disk_when_write_returns(store, writer):
    for number in range(20):
        await writer.write(KEEP, row(number))
        assert str(number) in kept(store)


async def test_rows_written_together_are_all_on_disk(store, writer):
    async with asyncio.TaskGroup() as group:
        for number in range(500):
            group.create_task(writer.write(KEEP, row(number)))

    assert kept(store) == [str(number) for number in range(500)]


async def test_rows_that_nobody_waits_for_are_there_after_a_flush(store, writer):
    for number in range(500):
        writer.put(KEEP, row(number))
    await writer.flush()

    assert kept(store) == [str(number) for number in range(500)]


async def test_rows_that_nobody_waits_for_are_there_soon(store, writer):
    writer.put(KEEP, row(1))

    async with asyncio.timeout(2):
        while not await asyncio.to_thread(kept, store):
            pass  # no flush, no other row: the writer comes by itself


async def test_closing_commits_what_is_left(store):
    store._db.writer.put(KEEP, row(1))
    store._db.close()

    assert kept(store) == ["1"]


async def test_f10_writing_the_same_row_again_keeps_the_first_one(store, writer):
    await writer.write(KEEP, ("1", "reply", b"first", "now"))
    await writer.write(KEEP, ("1", "reply", b"second", "later"))

    assert store._db.fetch("SELECT body, created FROM cortex_cache") == [(b"first", "now")]


def drop_the_table(store: Store) -> None:
    store._db.change(lambda tx: tx.fetch("DROP TABLE cortex_cache"))


async def test_p11_a_failure_is_told_to_all_who_wait_and_to_all_who_come_later(store, writer):
    drop_the_table(store)

    async with asyncio.timeout(10):
        outcomes = await asyncio.gather(*(writer.write(KEEP, row(n)) for n in range(50)), return_exceptions=True)
    assert {type(each) for each in outcomes} == {StorageError}
    assert str(store) in str(outcomes[0])

    with pytest.raises(StorageError):
        writer.put(KEEP, row(1))
    with pytest.raises(StorageError):
        await writer.write(KEEP, row(1))
    with pytest.raises(StorageError):
        await writer.flush()


async def test_p11_a_row_that_nobody_waited_for_and_that_was_not_stored_is_told_by_the_flush(store, writer):
    drop_the_table(store)
    writer.put(KEEP, row(1))

    with pytest.raises(StorageError, match=r"no such table|does not exist"):
        await writer.flush()


async def test_p11_one_bad_row_of_a_group_stores_nothing_of_the_group_and_tells_everybody(store, writer):
    other = Statement("INSERT INTO cortex_baselines (name, suite, run_id, body, created)", "(?,?,?,?,?)", "")
    async with asyncio.timeout(10):
        outcomes = await asyncio.gather(
            writer.write(KEEP, row(1)), writer.write(other, ("name", None, None, b"", "now")), return_exceptions=True
        )

    told = [type(each) for each in outcomes]
    assert told[1] is StorageError
    assert kept(store) == ([] if told[0] is StorageError else ["1"]), "what was reported stored is stored"


@pytest.mark.parametrize("value", ["half a character: \ud83d", 2**80, object()])
async def test_a_value_that_no_database_can_take_is_an_error_and_not_a_wait_for_ever(store, writer, value):
    async with asyncio.timeout(10):
        with pytest.raises(StorageError):
            await writer.write(KEEP, ("1", "reply", value, "now"))


async def test_a_store_that_is_gone_is_an_error_and_not_a_wait_for_ever(tmp_path):
    with Store(tmp_path / "a" / "cortex.db") as store:
        shutil.rmtree(tmp_path / "a")
        async with asyncio.timeout(10):
            with pytest.raises(StorageError, match="unable to open database file"):
                await store._db.writer.write(KEEP, row(1))


async def test_a_thread_that_is_not_the_loops_own_is_refused(store, writer):
    await writer.write(KEEP, row(1))

    with pytest.raises(RuntimeError, match="no running event loop"):
        await asyncio.to_thread(writer.put, KEEP, row(2))

    await writer.flush()
    assert kept(store) == ["1"]


class ClosedBehindOnesBack(asyncio.SelectorEventLoop):
    """For the writing thread it is open when that asks, and closed when it acts upon it."""

    def is_closed(self) -> bool:
        return super().is_closed() and threading.current_thread() is threading.main_thread()


async def test_a_loop_that_closes_while_its_group_is_written_leaves_the_writer_at_work(store, writer):
    gone = ClosedBehindOnesBack()
    gone.close()
    writer._queue.put(_Group({KEEP: [row(1)]}, [], gone))

    async with asyncio.timeout(5):
        await writer.write(KEEP, row(2))

    assert kept(store) == ["1", "2"]


async def test_F11_who_has_nothing_to_write_does_not_wait_for_the_lock(file_store):
    writer = file_store._db.writer
    await writer.write(KEEP, row(1))
    file_store.patience_s = 0
    with closing(sqlite3.connect(file_store.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        await writer.flush()
        other.rollback()
