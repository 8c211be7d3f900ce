"""One run, one owner: taken over when the owner is gone, never while it lives; a late owner writes nothing."""

from __future__ import annotations

import asyncio
import multiprocessing
import random
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
from made_runs import PASSED, all_passed, begin, elsewhere, play, states

from cortex_eval.core import InputError, Reply, StorageError
from cortex_eval.storage import Pulse, Slot, Store, leases, this_process


def test_a_run_that_was_let_go_is_taken_over_and_its_epoch_grows(store):
    run = begin(store)
    store.runs.pause(run)

    assert [store.runs.take_over(run, this_process()).epoch, store.runs.pulse(run)] == [2, Pulse(True, False)]
    assert store.runs.find(run).status == "running"


def test_a_store_does_not_take_over_what_it_holds_itself_nor_what_another_store_of_its_process_holds(store):
    run = begin(store)

    with Store(store.location) as other:
        for each in (store, other):
            with pytest.raises(InputError, match="still going on in this process"):
                each.runs.take_over(run, this_process())
        assert other.runs.find(run).status == "running"
    assert store.runs.pulse(run).is_mine


def test_a_run_left_behind_by_a_store_that_was_closed_can_be_taken_over(store):
    with Store(store.location) as other:
        run = begin(other)

    assert store.runs.find(run).status == "paused"
    assert store.runs.take_over(run, this_process()).epoch == 2


def test_F06_a_run_on_another_host_is_refused_while_leased_and_taken_over_when_the_lease_has_ended(store):
    run = begin(store)
    store.runs.pause(run)
    elsewhere(store, run, lease_s=20)

    assert store.runs.find(run).status == "running"
    with pytest.raises(InputError, match=r"another process \(elsewhere:1:1\)\. Its lease ends in (19|20) s unless"):
        store.runs.take_over(run, this_process())

    elsewhere(store, run, lease_s=-0.01)
    assert store.runs.find(run).status == "paused"
    assert store.runs.take_over(run, this_process()).epoch == 4


def test_P24_a_lease_from_before_the_clock_was_set_back_by_a_day_does_not_block_the_run_for_a_day(store):
    run = begin(store)
    store.runs.pause(run)
    elsewhere(store, run, lease_s=86_400)

    assert store.runs.take_over(run, this_process()).epoch == 3


HOLD = """
import sys
from cortex_eval.storage import Store
sys.path.insert(0, sys.argv[1])
from made_runs import begin
with Store(sys.argv[2]) as store:
    print(begin(store), flush=True)
    sys.stdin.readline()
"""


def holder(store: Store) -> subprocess.Popen[str]:
    """Another process with a run of its own; it prints the run's id and holds it until it reads a line."""
    folder = __file__.rpartition("/")[0]
    return subprocess.Popen(
        [sys.executable, "-c", HOLD, folder, str(store.location)], stdin=-1, stdout=-1, text=True
    )  # fmt: skip


@pytest.mark.parametrize("days", [-1, 0, 1])
def test_F06_P24_a_live_process_of_this_host_keeps_its_run_whatever_the_clock_says_and_a_dead_one_loses_it(store, days):
    process = holder(store)
    run = process.stdout.readline().strip()
    sql = "UPDATE cortex_runs SET lease_until=lease_until+? WHERE id=?"
    store._db.change(lambda tx: tx.fetch(sql, (days * 86_400.0, run)))

    with pytest.raises(InputError, match="still going on in another process"):
        store.runs.take_over(run, this_process())
    assert store.runs.find(run).status == "running"
    assert not store.runs.request_cancel(run)
    with pytest.raises(InputError, match="is going on"):
        store.runs.delete(run)

    process.kill()
    process.communicate()
    assert store.runs.find(run).status == "paused"
    assert store.runs.take_over(run, this_process()).epoch == 2


def test_the_pulse_renews_the_lease_after_a_third_of_it_and_hears_of_a_wish_to_stop(store, monkeypatch):
    run = begin(store)
    until = "SELECT lease_until FROM cortex_runs"
    (before,) = store._db.fetch(until)
    with Store(store.location) as other:
        assert not other.runs.request_cancel(run)
    assert store.runs.pulse(run) == Pulse(is_mine=True, cancel_requested=True)
    assert store._db.fetch(until) == [before], "not yet due"

    monkeypatch.setattr(leases, "RENEW_AFTER_S", 0)
    assert store.runs.pulse(run) == Pulse(is_mine=True, cancel_requested=True)
    assert store._db.fetch(until) > [before]


async def test_a_late_owner_writes_nothing_and_is_told_so(store):
    run = begin(store)
    run_no = store.runs.numbers(run)[0]
    await play(store, run, [0])
    elsewhere(store, run, lease_s=20)

    assert not store.runs.pulse(run).is_mine
    for _ in range(2):
        with pytest.raises(StorageError, match="taken over by another process") as caught:
            await store.results.save_reply(Slot(run_no, 1, 0, 0, 0), Reply(text="late"))
        assert caught.value.kind == "lost_lease"
    with pytest.raises(StorageError, match="taken over"):
        await store.flush(run)
    for let_go in (store.runs.pause, lambda run: store.runs.finish(run, "completed")):
        with pytest.raises(StorageError):
            let_go(run)
    assert states(store, run) == all_passed(1)
    assert store.runs.find(run).owner == "elsewhere:1:1"


async def test_a_late_verdict_does_not_land_and_the_flush_tells_it(store):
    run = begin(store)
    place = Slot(store.runs.numbers(run)[0], 0, 0, 0, 0)
    await store.results.save_reply(place, Reply(text="Reply 0"))
    elsewhere(store, run, lease_s=20)
    store.results.save_verdict(place, PASSED)

    with pytest.raises(StorageError, match="taken over"):
        await store.flush(run)
    assert states(store, run) == [(0, "pending", "Reply 0")]


async def test_when_one_run_is_lost_the_other_runs_of_the_same_store_go_on(store):
    lost, mine = begin(store), begin(store)
    numbers = [store.runs.numbers(run)[0] for run in (lost, mine)]
    elsewhere(store, lost, lease_s=20)

    outcomes = await asyncio.gather(
        *(store.results.save_reply(Slot(no, n, 0, 0, 0), Reply(text="x")) for n in range(3) for no in numbers),
        return_exceptions=True,
    )
    assert [getattr(each, "kind", None) for each in outcomes] == ["lost_lease", None] * 3
    await play(store, mine, range(3))
    assert [len(states(store, run)) for run in (lost, mine)] == [0, 3]


async def test_a_run_taken_back_is_written_to_again(store):
    run = begin(store)
    elsewhere(store, run, lease_s=-1)
    with pytest.raises(StorageError):
        await play(store, run, [0])
    with pytest.raises(StorageError):
        store.runs.pause(run)

    store.runs.take_over(run, this_process())
    await play(store, run, range(3))
    assert states(store, run) == all_passed(3)


async def test_nothing_is_written_to_a_run_that_is_not_held(store):
    run = begin(store)
    store.runs.pause(run)

    with pytest.raises(StorageError, match="not held by this process") as caught:
        await play(store, run, [0])
    assert caught.value.kind == "lost_lease"


async def test_a_write_that_waits_for_a_take_over_to_commit_is_refused(store):
    """The race that fencing is for: the take-over comes between an owner's decision to write and its commit."""
    run = begin(store)
    run_no = store.runs.numbers(run)[0]
    is_open, may_commit = threading.Event(), threading.Event()

    def take(tx):
        tx.fetch("UPDATE cortex_runs SET epoch=epoch+1 WHERE id=?", (run,))
        is_open.set()
        may_commit.wait(30)

    with Store(store.location) as other, ThreadPoolExecutor(1) as threads:
        taking = threads.submit(other._db.change, take)
        await asyncio.to_thread(is_open.wait, 30)
        late = asyncio.ensure_future(store.results.save_reply(Slot(run_no, 0, 0, 0, 0), Reply(text="late")))
        done, _ = await asyncio.wait([late], timeout=0.2)
        assert not done, "it waits until the take-over is decided"
        may_commit.set()
        await asyncio.to_thread(taking.result)
        with pytest.raises(StorageError, match="taken over"):
            await late
    assert states(store, run) == []


def race(store: Store, rounds: int, stores: int = 4) -> None:
    """In each round several stores want the same run at once; each counts what it got and lets go again."""
    run = begin(store)
    store.runs.pause(run)
    for number in range(rounds):
        with ExitStack() as opened, ThreadPoolExecutor(stores) as threads:
            rivals = [opened.enter_context(Store(store.location)) for _ in range(stores)]
            start = threading.Barrier(stores)

            def take(rival: Store, start: threading.Barrier = start) -> int | None:
                start.wait(30)
                try:
                    return rival.runs.take_over(run, this_process()).epoch
                except InputError:
                    return None

            won = [epoch for epoch in threads.map(take, rivals) if epoch is not None]
            assert won == [number + 2], f"round {number}: {won}"
            for rival in rivals:
                if rival.runs.pulse(run).is_mine:
                    rival.runs.pause(run)


def test_P07_of_stores_that_want_one_run_at_once_exactly_one_gets_it(store):
    race(store, rounds=10)


def fight(location, run, rounds, seed, outcomes) -> None:
    """Take a run over and let it go, again and again; every epoch that was won goes into `outcomes`."""
    order = random.Random(seed)
    won, give_up = [], time.monotonic() + 120
    with Store(location) as store:
        while len(won) < rounds and time.monotonic() < give_up:
            try:
                won.append(store.runs.take_over(run, this_process()).epoch)
            except InputError:
                continue
            assert store.runs.pulse(run).is_mine
            if order.random() < 0.5:
                assert store.runs.find(run).status == "running"
            store.runs.pause(run)
    outcomes.put(won)


@pytest.mark.slow
def test_P07_in_1000_take_overs_by_several_processes_nobody_is_the_second_owner(store):
    run = begin(store)
    store.runs.pause(run)
    context = multiprocessing.get_context("spawn")
    outcomes = context.Queue()
    processes = [context.Process(target=fight, args=(store.location, run, 250, seed, outcomes)) for seed in range(4)]
    for process in processes:
        process.start()
    won = [epoch for _ in processes for epoch in outcomes.get(timeout=150)]
    for process in processes:
        process.join(30)

    assert sorted(won) == list(range(2, 1002)), "every epoch was given once"
