"""Whole runs on PostgreSQL, with the database going away in the middle: nothing is lost, nothing is there twice."""

from __future__ import annotations

import asyncio
from collections import Counter

import psycopg
import pytest
from made_plans import cases, plan_for, right

from cortex_eval.control import Progress
from cortex_eval.core import InputError, StorageError
from cortex_eval.engine import execute
from cortex_eval.storage import LostLease, Store
from outage import Outage


def rows_of(url: str) -> list[tuple[int, int, int, int, str]]:
    with psycopg.connect(url) as connection:
        return connection.execute("SELECT ordinal, repeat, turn, attempt, state FROM cortex_results").fetchall()


@pytest.mark.slow
async def test_a_run_on_postgresql_reports_what_a_run_on_sqlite_does(scripted_service, postgres_url, tmp_path):
    bot = scripted_service(lambda call: right(call) if call.number % 3 else {"text": "no"})
    seen = []
    for place in (tmp_path / "a.db", postgres_url):
        bot.ledger.clear()
        with Store(place) as store:
            report = await execute(plan_for(bot.url, cases(60), at_once=1), store)
            assert report.run.status == "completed"
            seen.append(
                (report.totals, report.gate.verdict, [each.state for each in store.results.read(report.run.id)])
            )

    assert seen[0] == seen[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("outage_s", "count"), [(1.5, 400), pytest.param(60.0, 2000, marks=pytest.mark.soak)], ids=["short", "60 s"]
)
async def test_F09_P10_a_database_that_goes_away_in_the_middle_loses_and_doubles_nothing(
    scripted_service, postgres_url, outage_s, count
):
    bot = scripted_service(right, latency_s=0.005)
    with Outage.before(postgres_url) as line, Store(line.url) as store:
        progress = Progress()
        run = asyncio.ensure_future(execute(plan_for(bot.url, cases(count), at_once=20), store, progress=progress))
        await bot.calls_arrived(count // 4)
        line.down()
        await asyncio.sleep(outage_s)  # the outage itself: what goes on meanwhile is looked at below
        held = len(bot.ledger) - len(rows_of(postgres_url))
        told = progress.waits_for()
        line.up()
        report = await run

    assert held <= 20, "at most what was in flight waits in memory"
    assert told.startswith("database_down")
    assert (report.totals.passed, report.totals.errors) == (count, 0)
    stored = rows_of(postgres_url)
    assert len(stored) == len(set(stored)) == count
    assert set(Counter(call.json["query"] for call in bot.ledger).values()) == {1}


@pytest.mark.slow
async def test_F09_a_database_that_stays_away_ends_the_run_with_what_to_do_and_it_is_resumed(
    scripted_service, postgres_url
):
    from dataclasses import replace

    bot = scripted_service(right, latency_s=0.005)
    plan = plan_for(bot.url, cases(200), at_once=10)
    plan = replace(plan, patience=replace(plan.patience, pause_limit_s=0.3))
    with Outage.before(postgres_url) as line:
        with Store(line.url) as store:
            run = asyncio.ensure_future(execute(plan, store))
            await bot.calls_arrived(50)
            line.down()
            with pytest.raises(StorageError, match="can be resumed") as caught:
                await run
        line.up()
        with Store(line.url) as store:
            report = await execute(plan, store, resume="latest")

    assert caught.value.kind == "database_down"
    assert report.totals.passed == 200
    again = Counter(call.json["query"] for call in bot.ledger)
    assert sum(again.values()) - 200 <= 10


async def test_F06_one_run_has_one_owner_also_within_a_process(scripted_service, tmp_path):
    from cortex_eval.testing import hang

    bot = scripted_service(lambda call: hang() if call.number > 5 else right(call))
    plan = plan_for(bot.url, cases(20), at_once=2, timeout_s=60)
    path = tmp_path / "cortex.db"
    with Store(path) as store, Store(path) as other:
        run = asyncio.ensure_future(execute(plan, store))
        await bot.calls_arrived(7)
        with pytest.raises(InputError, match="still going on"):
            await execute(plan, other, resume="latest")
        run.cancel()
        await asyncio.gather(run, return_exceptions=True)


@pytest.mark.slow
async def test_P07_an_owner_whose_run_was_taken_over_stops_and_writes_nothing_more(
    scripted_service, postgres_url, monkeypatch
):
    import cortex_eval.engine

    monkeypatch.setattr(cortex_eval.engine, "PULSE_S", 0.02)
    bot = scripted_service(right, latency_s=0.01)
    with Store(postgres_url) as store:
        run = asyncio.ensure_future(execute(plan_for(bot.url, cases(500), at_once=4), store))
        await bot.calls_arrived(20)
        with psycopg.connect(postgres_url) as somebody_else:
            somebody_else.execute("UPDATE cortex_runs SET epoch=epoch+1, owner='other:1:1'")
        with pytest.raises(LostLease, match="taken over"):
            await run
        before = len(rows_of(postgres_url))
        assert len(bot.ledger) < 500

    assert len(rows_of(postgres_url)) == before
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("SELECT owner, status FROM cortex_runs").fetchall() == [("other:1:1", "running")]
