"""Results are summed up while a run goes on: the report is the one that is made from the store afterwards."""

from __future__ import annotations

import asyncio
import math
from dataclasses import replace
from typing import Any

import pytest
from made_plans import cases, plan_for, right, waits

from cortex_eval import sofar
from cortex_eval.control import Stop
from cortex_eval.core import Case, Expected, JudgeError, Reply, Result, Score, Secret, StorageError, Turn
from cortex_eval.engine import execute
from cortex_eval.outcome import report_on
from cortex_eval.reports import ResultLines, jsonl_chunks
from cortex_eval.scoring import PlannedScorer
from cortex_eval.testing import status


@pytest.fixture
def at_once_and_often(monkeypatch):
    """Sums up from the beginning, case by case."""
    monkeypatch.setattr(sofar, "FIRST_S", 0.0)
    monkeypatch.setattr(sofar, "PAUSE_S", 0.001)
    monkeypatch.setattr(sofar, "LAST_PAUSE_S", 0.001)
    monkeypatch.setattr(sofar, "BUSY", math.inf)
    monkeypatch.setattr(sofar, "PIECE", 1)
    monkeypatch.setattr(sofar, "PIECE_PAUSE_S", 0.0)


def talks(count: int) -> list[Case]:
    """Of one or two turns, in two categories; every fifth has another answer than the service's."""
    return [
        Case(
            id=f"t{n}",
            turns=tuple(
                Turn(text=f"Question {n}.{turn}", expected=Expected(answer=f"Answer {n}.{turn}" if n % 5 else "Other"))
                for turn in range(1 + n % 2)
            ),
            category="odd" if n % 2 else "even",
        )
        for n in range(count)
    ]


def answers(call: Any) -> Any:
    return status(400) if call.json["query"].startswith("Question 7.") else right(call)


def told(report: Any) -> dict[str, Any]:
    """All that a report says, but for when and how long."""
    return {**replace(report, timestamp="").to_dict(), "run": report.run.id, "timestamp": ""}


@pytest.mark.parametrize(("repeats", "held"), [(1, -1), (1, 4_000), (1, sofar.HELD_BYTES), (3, sofar.HELD_BYTES)])
async def test_what_was_summed_up_on_the_way_is_what_the_store_says_afterwards(
    scripted_service, store, at_once_and_often, repeats, held, monkeypatch
):
    monkeypatch.setattr(sofar, "HELD_BYTES", held)
    bot = scripted_service(answers, latency_s=0.005)
    asked: list[Case] = talks(60)
    calls_when_seen: list[int] = []
    seen: list[Result] = []

    def see(result: Result) -> None:
        calls_when_seen.append(len(bot.ledger))
        seen.append(result)

    plan = plan_for(bot.url, asked, at_once=4, repeats=repeats)
    report = await execute(plan, store, see=see)

    again: list[Result] = []
    same = report_on(store, report.run.id, plan.gate, see=again.append)
    assert told(same) == told(report)
    assert report.totals.errors == 1
    assert report.totals.failed == 12
    assert seen == again
    assert sorted(map(place, seen)) == [place(each) for each in store.results.read(report.run.id)]
    assert len({each.case_id for each in seen[: len(seen) // 2]}) < 60
    assert calls_when_seen[len(seen) // 2] < len(bot.ledger), "half of it was read before the last call"


def place(result: Result) -> tuple[int, int, int]:
    return result.ordinal, result.repeat, result.turn


async def test_a_store_that_fails_to_read_meanwhile_costs_nothing_but_time(
    scripted_service, store, at_once_and_often, monkeypatch
):
    bot = scripted_service(right)
    read, tries = store.results.read_at, []

    def fails_at_first(run_id: str, ordinals: Any) -> Any:
        tries.append(len(ordinals))
        if len(tries) <= 3:
            raise StorageError("The database is away.", kind="database_down")
        return read(run_id, ordinals)

    async def until_it_was_tried(_case: Case, _reply: Reply) -> float:
        while len(bot.ledger) > 40 and len(tries) < 4:  # nobody tells when it was tried
            await asyncio.sleep(0.001)
        return 1.0

    monkeypatch.setattr(store.results, "read_at", fails_at_first)
    monkeypatch.setattr(sofar, "HELD_BYTES", -1)  # nothing is at hand
    plan = plan_for(bot.url, talks(40), at_once=4, scorers=[waits(until_it_was_tried)])
    report = await execute(plan, store)

    assert (report.totals.cases, report.totals.errors, report.run.status) == (40, 0, "completed")
    assert len(tries) > 4


async def test_what_was_just_kept_is_not_read_again(scripted_service, store, at_once_and_often, monkeypatch):
    bot = scripted_service(right, latency_s=0.005)
    read, asked_for = store.results.read_at, []

    def noting(run_id: str, ordinals: Any) -> Any:
        asked_for.extend(ordinals)
        return read(run_id, ordinals)

    monkeypatch.setattr(store.results, "read_at", noting)
    report = await execute(plan_for(bot.url, talks(60), at_once=4), store)

    assert report.totals.cases == 60
    assert len(asked_for) < 60, "only what is left at the end"


async def test_what_is_summed_up_at_once_holds_no_secret(scripted_service, store, at_once_and_often):
    key = Secret("kq-7f1c9-only-of-this-test")
    bot = scripted_service(lambda call: {"text": f"{call.json['query']} {key.reveal()}"}, latency_s=0.005)

    class Tells:
        async def score(self, case: Case, reply: Reply) -> Score:
            if case.category == "odd":
                raise JudgeError(f"No verdict for {key.reveal()}.", kind="unparseable")
            return Score(name="tells", value=0.0, reason=f"It says {reply.text!r} and {key.reveal()}.")

    seen: list[Result] = []
    tells = PlannedScorer(name="tells", scorer=Tells(), kind="tells")
    plan = plan_for(bot.url, talks(30), at_once=4, scorers=[tells])
    report = await execute(plan, store, see=seen.append)

    again: list[Result] = []
    report_on(store, report.run.id, plan.gate, see=again.append)
    assert seen == again
    assert {each.state for each in seen} == {"failed", "error_judge"}
    assert key.reveal() not in repr(seen)


async def test_a_resumed_run_sums_up_what_was_there_and_what_it_adds(scripted_service, store, at_once_and_often):
    calls: list[int] = []

    def breaks_once(call: Any) -> Any:
        calls.append(1)
        return status(401) if 30 < len(calls) <= 60 else right(call)

    bot = scripted_service(breaks_once, latency_s=0.002)
    plan = plan_for(bot.url, talks(60), at_once=4)
    stopped = await execute(plan, store)
    assert stopped.run.status != "completed"
    calls.extend([1] * 60)

    report = await execute(plan_for(bot.url, talks(60), at_once=4), store, resume=stopped.run.id)

    assert (report.run.status, report.totals.cases) == ("completed", 60)
    assert told(report_on(store, report.run.id, plan.gate)) == told(report)


async def test_a_verdict_of_an_earlier_part_is_not_summed_up_in_place_of_the_new_one(
    scripted_service, store, at_once_and_often
):
    stop, is_judge_down = Stop(), True

    async def judged(_case: Case, _reply: Reply) -> float:
        if is_judge_down:
            raise JudgeError("no verdict", kind="unparseable")
        await asyncio.sleep(0.002)
        return 1.0

    def stops_late(call: Any) -> Any:
        if len(bot.ledger) == 59:
            loop.call_soon_threadsafe(stop.request, "sigint")
        return right(call)

    loop, bot = asyncio.get_running_loop(), scripted_service(stops_late)
    plan = plan_for(bot.url, cases(60), scorers=[waits(judged)], at_once=1)
    stopped = await execute(plan, store, stop=stop)
    assert stopped.totals.errors > 40
    is_judge_down = False

    report = await execute(
        plan_for(bot.url, cases(60), scorers=[waits(judged)], at_once=1), store, resume=stopped.run.id
    )

    assert (report.run.status, report.totals.errors, report.totals.passed) == ("completed", 0, 60)
    assert told(report_on(store, report.run.id, plan.gate)) == told(report)


async def test_lines_are_in_the_order_of_the_dataset_whatever_that_of_asking_was(scripted_service, store):
    bot = scripted_service(right)
    with ResultLines() as lines:
        report = await execute(plan_for(bot.url, talks(30), repeats=2), store, see=lines.add)
        assert b"".join(lines.chunks()) == b"".join(jsonl_chunks(report))


async def test_what_cannot_be_summed_up_does_not_keep_cases_from_being_asked(
    scripted_service, store, at_once_and_often
):
    bot = scripted_service(right, latency_s=0.005)

    def see(_result: Result) -> None:
        raise ZeroDivisionError("a bug")

    with pytest.raises(ZeroDivisionError):
        await execute(plan_for(bot.url, talks(40), at_once=4), store, see=see)

    (run,) = store.runs.all(limit=2)
    assert len({each.case_id for each in store.results.read(run.id) if each.state == "passed"}) == 32
