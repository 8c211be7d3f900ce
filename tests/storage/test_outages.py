"""A database that goes away is waited for: nothing is lost, nothing is there twice, and it is shown meanwhile."""

from __future__ import annotations

import asyncio
import random
import socket
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest
from made_runs import PASSED, all_passed, begin, play, states

from cortex_eval.core import Reply, StorageError
from cortex_eval.storage import Pulse, Slot, Store, this_process
from outage import Outage

pytestmark = pytest.mark.slow


@pytest.fixture
def line(postgres_server, prepared_template) -> Iterator[Outage]:
    """A database behind a proxy that can take it away."""
    with postgres_server.database(prepared_template) as url, Outage.before(url) as line:
        yield line


@pytest.fixture
def store(line: Outage) -> Iterator[Store]:
    """A store behind that proxy."""
    with Store(line.url) as opened:
        yield opened


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not is_so():
            await asyncio.sleep(0.005)


def rows(store: Store) -> int:
    return store._db.fetch("SELECT count(*) FROM cortex_results")[0][0]


async def test_F09_P10_an_outage_in_a_run_is_waited_out_and_shown(store, line):
    run = begin(store, 300)

    async with asyncio.TaskGroup() as group:
        group.create_task(play(store, run, range(300)))
        await until(lambda: line.cuts == 0 and store.trouble == "")
        for _ in range(3):
            await asyncio.sleep(0.02)
            line.down()
            await until(lambda: store.trouble.startswith("database_down: postgresql://"))
            line.up()
            await until(lambda: store.trouble == "")

    assert states(store, run) == all_passed(300)
    assert rows(store) == 300
    assert line.cuts > 0


async def test_P10_connections_that_are_cut_again_and_again_lose_nothing_and_double_nothing(store, line):
    run = begin(store, 400)
    order = random.Random(3)

    async with asyncio.TaskGroup() as group:
        playing = group.create_task(play(store, run, range(400), at_once=16))
        for _ in range(15):
            await asyncio.sleep(order.uniform(0, 0.03))
            line.cut()
            if playing.done():
                break

    assert states(store, run) == all_passed(400)
    assert rows(store) == 400
    assert line.cuts > 0


@pytest.mark.soak
async def test_P10_an_outage_of_60_seconds_is_waited_out(store, line):
    run = begin(store, 300)

    async with asyncio.TaskGroup() as group:
        group.create_task(play(store, run, range(300)))
        await asyncio.sleep(0.05)
        line.down()
        await asyncio.sleep(60)
        assert store.trouble.startswith("database_down")
        line.up()

    assert states(store, run) == all_passed(300)
    assert rows(store) == 300


async def test_F09_a_server_that_is_restarted_is_waited_for(postgres_server, prepared_template):
    with postgres_server.database(prepared_template) as url, Store(url) as store:
        run = begin(store, 100)
        async with asyncio.TaskGroup() as group:
            group.create_task(play(store, run, range(100)))
            await asyncio.to_thread(postgres_server.stop)
            try:
                reading = group.create_task(asyncio.to_thread(store.runs.find, run))
                await until(lambda: store.trouble != "")
            finally:
                await asyncio.to_thread(postgres_server.start)

        assert reading.result().status == "running"
        assert states(store, run) == all_passed(100)
        assert rows(store) == 100


async def test_F10_a_row_whose_commit_was_not_acknowledged_is_there_once(store, line):
    run = begin(store, 20)
    line.lose_reply(lambda data: b"Reply 7" in data)

    await play(store, run, range(20), at_once=4)

    assert line.cuts == 1, "the reply was lost"
    assert states(store, run) == all_passed(20)
    assert rows(store) == 20


async def test_F10_a_group_of_several_statements_whose_commit_was_not_acknowledged_is_there_once(store, line):
    run = begin(store, 2)
    places = [Slot(store.runs.numbers(run)[0], ordinal, 0, 0, 0) for ordinal in range(2)]
    await store.results.save_reply(places[0], Reply(text="Reply 0"))
    store.results.save_verdict(places[0], PASSED)
    line.lose_reply(lambda data: b"COMMIT" in data)

    async with asyncio.TaskGroup() as group:
        group.create_task(store.flush(run))
        group.create_task(store.results.save_reply(places[1], Reply(text="Reply 1")))

    assert line.cuts == 1
    assert states(store, run) == [(0, "passed", "Reply 0"), (1, "pending", "Reply 1")]
    assert rows(store) == 2


def lost_commit(line: Outage) -> None:
    line.lose_reply(lambda data: b"COMMIT" in data)


def test_F10_what_is_changed_rarely_is_done_once_when_its_commit_was_not_acknowledged(store, line):
    for expected_cuts, step in enumerate(
        (
            lambda: begin(store),
            lambda: store.runs.pause(store.runs.find("latest").id),
            lambda: store.runs.take_over(store.runs.find("latest").id, this_process()),
            lambda: store.baselines.keep("main", "s", None, {"n": 1}),
            lambda: store.runs.finish(store.runs.find("latest").id, "completed"),
        ),
        1,
    ):
        lost_commit(line)
        step()
        assert line.cuts == expected_cuts

    (run,) = store.runs.all()
    assert (run.status, run.owner) == ("completed", "")
    assert store._db.fetch("SELECT epoch FROM cortex_runs") == [(2,)], "taken over once"
    assert len(store.datasets.all()) == 1
    assert len(store.baselines.all()) == 1


def test_F10_a_take_over_whose_commit_was_not_acknowledged_is_ours(store, line):
    run = begin(store)
    store.runs.pause(run)
    lost_commit(line)

    assert store.runs.take_over(run, this_process()).epoch == 2
    assert store.runs.pulse(run) == Pulse(is_mine=True, cancel_requested=False)


async def test_a_report_goes_on_behind_the_last_row_when_the_database_was_away(store, line):
    run = begin(store, 1200)
    await play(store, run, range(1200), at_once=100)

    seen = []
    for each in store.results.read(run):
        seen.append(each.ordinal)
        if len(seen) == 700:
            line.cut()
    assert seen == list(range(1200))


async def test_without_patience_an_outage_is_an_error_that_says_what_and_where(store, line):
    run = begin(store, 10)
    store.patience_s = 0
    line.down()

    with pytest.raises(StorageError, match=r"Check that it is up .* the run can be resumed") as caught:
        await play(store, run, range(10))
    assert caught.value.kind == "database_down"
    with pytest.raises(StorageError) as caught:
        store.runs.find(run)
    assert caught.value.kind == "database_down"
    line.up()
    store.patience_s = 60
    assert store.runs.find(run).status == "running"


async def test_whoever_waits_for_the_database_can_be_told_to_give_up(store, line):
    run = begin(store, 10)
    line.down()

    async with asyncio.timeout(20):
        playing = asyncio.ensure_future(play(store, run, range(10)))
        await until(lambda: store.trouble != "")
        store.give_up()
        with pytest.raises(StorageError):
            await playing
    assert store.trouble == ""


def test_a_server_that_is_not_there_at_the_start_is_told_at_once():
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]

    with pytest.raises(StorageError, match=r"postgresql://me:\*\*\*@127.0.0.1:\d+/x cannot be reached") as caught:
        Store(f"postgresql://me:sesame-42@127.0.0.1:{port}/x").__enter__()
    assert caught.value.kind == "database_down"
    assert "sesame-42" not in str(caught.value)


def test_a_database_that_does_not_exist_is_no_outage(postgres_server):
    with pytest.raises(StorageError, match='database "nowhere" does not exist') as caught:
        Store(postgres_server.url("nowhere")).__enter__()
    assert caught.value.kind == "storage"
