"""How a run is stopped: it drains, it stops at once when asked again, it can be cancelled, and it can be resumed."""

from __future__ import annotations

import asyncio
import os
import socket
import sqlite3
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from made_plans import cases, plan_for, right, rows, waits

import cortex_eval.engine
from cortex_eval.control import Progress, Stop
from cortex_eval.core import Case, InputError, StorageError, Turn
from cortex_eval.engine import execute
from cortex_eval.storage import Store, connection
from cortex_eval.testing import hang


def stop_at(number: int, stop: Stop, answer=right):
    """A script that asks for a stop when this many calls have come."""
    loop = asyncio.get_running_loop()

    def reply(call):
        if call.number == number:
            loop.call_soon_threadsafe(stop.request, "test")
        return answer(call)

    return reply


async def test_p06_a_stop_ends_the_asking_at_once_and_lets_calls_in_flight_finish(scripted_service, store):
    stop = Stop()
    bot = scripted_service(stop_at(5, stop), latency_s=0.5)
    plan = plan_for(bot.url, cases(50), at_once=5)  # as many as a service is asked before it has answered once

    stopped = await execute(plan, store, stop=stop)

    assert len(bot.ledger) == 5, "those in flight, and no other"
    assert {state for (state,) in rows(store, "state")} == {"passed"}
    assert (stopped.totals.passed, stopped.exit_code, stopped.run.status) == (5, 3, "paused")

    bot.latency_s = 0.0
    done = await execute(plan, store, resume=stopped.run.id)

    assert set(Counter(call.json["query"] for call in bot.ledger).values()) == {1}, "no call was repeated"
    assert (done.totals.passed, done.exit_code, done.run.status) == (50, 0, "completed")


async def test_p06_a_stop_between_two_turns_leaves_the_rest_of_the_conversation_for_the_resume(scripted_service, store):
    stop = Stop()
    bot = scripted_service(stop_at(2, stop, answer=lambda call: {"text": "ok"}), latency_s=0.1)
    talks = [Case(id=name, turns=(Turn(text=f"{name}1"), Turn(text=f"{name}2"))) for name in "ab"]
    plan = plan_for(bot.url, talks, at_once=2, scorers=["performance"])

    stopped = await execute(plan, store, stop=stop)

    assert sorted(call.json["query"] for call in bot.ledger) == ["a1", "b1"]
    assert (stopped.totals.passed, stopped.run.status, stopped.exit_code) == (0, "paused", 3)
    done = await execute(plan, store, resume=stopped.run.id)
    assert sorted(call.json["query"] for call in bot.ledger) == ["a1", "a2", "b1", "b2"]
    assert done.totals.passed == 2


async def test_f05_a_second_request_stops_within_a_second_and_loses_nothing_stored(scripted_service, store):
    bot = scripted_service(lambda call: hang() if call.number > 5 else right(call))
    plan = plan_for(bot.url, cases(20), at_once=4, timeout_s=60)
    stop, progress = Stop(), Progress()

    async with asyncio.TaskGroup() as group:
        run = group.create_task(execute(plan, store, stop=stop, progress=progress))
        await bot.calls_arrived(9)
        stop.request("once")
        stop.request("twice")
        started = time.monotonic()
    assert time.monotonic() - started < 1

    report = run.result()
    assert (report.totals.passed, report.run.status, progress.in_flight) == (5, "paused", 0)
    bot.reply = right
    again = await execute(plan, store, resume=report.run.id)
    assert again.totals.passed == 20
    marked = {each.case_id for each in store.results.read(report.run.id) if each.reply.metadata.get("may_repeat")}
    cut_off = {call.json["query"].split()[1] for call in bot.ledger[:9] if not call.answered}
    assert cut_off <= marked, "P02: what was in flight is asked again, and marked"
    assert again.run.manifest["calls"]["may_repeat"] == len(marked) <= 8


async def test_calls_that_do_not_end_within_the_grace_are_given_up(scripted_service, store):
    stop = Stop(grace_s=0.2)
    bot = scripted_service(stop_at(2, stop, answer=lambda _: hang()))

    started = time.monotonic()
    report = await execute(plan_for(bot.url, cases(4), at_once=2, timeout_s=60), store, stop=stop)

    assert 0.2 <= time.monotonic() - started < 1.5
    assert rows(store) == []
    assert report.run.status == "paused"


async def test_a_run_cancelled_through_the_store_stops_and_says_so(scripted_service, store, monkeypatch):
    monkeypatch.setattr(cortex_eval.engine, "PULSE_S", 0.01)
    bot = scripted_service(right, latency_s=0.02)

    async with asyncio.TaskGroup() as group:
        run = group.create_task(execute(plan_for(bot.url, cases(500), at_once=2), store))
        await bot.calls_arrived(5)
        with Store(store.path) as elsewhere:
            at_once = elsewhere.runs.request_cancel(elsewhere.runs.find("latest").id)

    report = run.result()
    assert not at_once
    assert (report.run.status, report.exit_code) == ("cancelled", 3)
    assert 5 <= report.totals.passed < 500
    assert store.runs.find(report.run.id).summary["totals"]["passed"] == report.totals.passed


async def test_a_run_whose_process_is_gone_is_cancelled_at_once(scripted_service, store):
    report = await execute(plan_for(scripted_service(right).url, cases(1)), store)
    with closing(sqlite3.connect(store.path)) as connection:
        connection.execute("UPDATE cortex_runs SET status='running', owner=?", (f"{socket.gethostname()}:1:1",))
        connection.commit()

    assert store.runs.find(report.run.id).status == "paused", "a dead owner's run can be resumed at once"
    assert store.runs.request_cancel(report.run.id)
    assert store.runs.find(report.run.id).status == "cancelled"


async def test_a_run_that_is_going_on_is_neither_resumed_nor_deleted_by_another_process(scripted_service, store):
    report = await execute(plan_for(scripted_service(right).url, cases(1)), store)
    with closing(sqlite3.connect(store.path)) as connection:
        connection.execute("UPDATE cortex_runs SET status='running', owner=?", (parent_process(),))
        connection.commit()

    with pytest.raises(InputError, match="still going on in another process"):
        store.runs.take_over(report.run.id, "somebody")
    with pytest.raises(InputError, match="is going on"):
        store.runs.delete(report.run.id)


def parent_process() -> str:
    pid = os.getppid()
    started = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    return f"{socket.gethostname()}:{pid}:{started}"


async def test_when_the_store_breaks_the_run_stops_with_a_storage_error_and_can_be_resumed(scripted_service, store):
    bot = scripted_service(right, latency_s=0.005)
    backup = store.path.with_suffix(".backup")
    is_broken = False

    async def break_the_store(case, reply) -> float:
        nonlocal is_broken
        if len(bot.ledger) >= 20 and not is_broken:
            is_broken = True
            with closing(sqlite3.connect(store.path)) as source, closing(sqlite3.connect(backup)) as target:
                source.backup(target)
                source.execute("DROP TABLE cortex_results")
                source.commit()
        return 1.0

    plan = plan_for(bot.url, cases(200), at_once=4, scorers=[waits(break_the_store)])
    async with asyncio.timeout(20):
        with pytest.raises(StorageError, match="cannot be used"):
            await execute(plan, store)
    asked = len(bot.ledger)
    assert asked < 200

    with Store(backup) as repaired:
        kept = len(rows(repaired))
        report = await execute(plan, repaired, resume="latest")
    assert report.totals.passed == 200
    assert len(bot.ledger) == asked + 200 - kept


async def test_a_run_that_ends_in_a_bug_is_let_go(scripted_service, store):
    class BugError(Exception):
        pass

    def broken(*_: object, **__: object) -> None:
        raise BugError

    plan = plan_for(scripted_service(right).url, cases(3))
    store.results.save_verdict = broken  # type: ignore[method-assign]
    with pytest.raises(ExceptionGroup):
        await execute(plan, store)

    assert (store.runs.find("latest").status, store.runs.find("latest").owner) == ("paused", "")


async def test_an_evaluation_that_is_cancelled_from_outside_is_let_go(scripted_service, store):
    bot = scripted_service(hang())

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.3):
            await execute(plan_for(bot.url, cases(3)), store)

    assert store.runs.find("latest").status == "paused"


@pytest.mark.parametrize("when", ["the last verdict", "the end"])
async def test_f05_a_second_request_is_heard_though_all_was_asked_and_the_store_waits(
    scripted_service, store, monkeypatch, when
):
    monkeypatch.setattr(connection, "BUSY_TIMEOUT_S", 0.05)
    stop, loop, finish = Stop(), asyncio.get_running_loop(), store.runs.finish
    with closing(sqlite3.connect(store.path, isolation_level=None, check_same_thread=False)) as other:

        def lock() -> None:
            other.execute("BEGIN IMMEDIATE")
            loop.call_later(3, other.close)  # or a run that does not hear would wait for ten minutes

        async def judged(_case, _reply) -> float:
            if when == "the last verdict":
                lock()
            return 1.0

        def locked_finish(*given, **named) -> None:
            loop.call_soon_threadsafe(lock)
            while not other.in_transaction:
                pass
            finish(*given, **named)

        if when == "the end":
            monkeypatch.setattr(store.runs, "finish", locked_finish)

        async def press_twice() -> None:
            while not store.trouble:
                await asyncio.sleep(0.01)
            stop.request("test")
            stop.request("test")

        plan = plan_for(scripted_service(right).url, cases(1), scorers=[waits(judged)])
        pressing = asyncio.ensure_future(press_twice())
        with pytest.raises(StorageError, match="The run can be resumed"):
            await execute(plan, store, stop=stop)
        await pressing
