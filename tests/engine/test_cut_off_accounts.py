"""The account of a run whose parts were cut off: what is known is counted, and said to be the least."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from made_plans import cases, plan_for, right

from cortex_eval.config import Plan
from cortex_eval.control import Stop
from cortex_eval.engine import execute
from cortex_eval.net import Budget
from cortex_eval.reports import render_console
from cortex_eval.storage import Store
from cortex_eval.testing import Call, ScriptedService, hang, speak_openai

PASS = speak_openai('{"reason": "It is.", "verdict": "pass"}')
TONE = {"tone": {"kind": "judge", "prompt": "Polite? {answer}"}}


def hangs_from(number: int) -> Callable[[Call], Any]:
    return lambda call: hang() if call.number >= number else right(call)


async def cut_off(plan: Plan, store: Store, bot: ScriptedService, calls: int, resume: str | None = None) -> str:
    """A part of a run that ends without a word after so many calls; gives the run's id."""
    run = asyncio.ensure_future(execute(plan, store, resume=resume))
    await bot.calls_arrived(calls)
    await store.flush()
    run.cancel()
    await asyncio.wait([run])
    return store.runs.all()[0].id


async def test_calls_of_a_part_that_was_cut_off_are_counted_by_their_results(scripted_service, store):
    bot = scripted_service(hangs_from(9))
    plan = plan_for(bot.url, cases(20), at_once=2)
    run_id = await cut_off(plan, store, bot, 10)
    bot.reply = right

    report = await execute(plan, store, resume=run_id)

    assert (report.totals.passed, len(bot.ledger)) == (20, 22)
    assert report.calls.at_least
    assert report.calls.made == 20, "all but the two that nobody knows of"
    assert report.to_dict()["calls"]["at_least"] is True
    assert "at least 20 calls: 2 may be repeats" in " ".join(render_console(report).split())


async def test_what_an_orderly_part_put_down_is_not_counted_twice(scripted_service, store):
    bot = scripted_service(right)
    plan, stop = plan_for(bot.url, cases(30), at_once=1), Stop()
    bot.reply = lambda call: stop.request("test") or right(call) if call.number == 5 else right(call)
    first = await execute(plan, store, stop=stop)
    made_first = first.calls.made
    bot.reply = hangs_from(12)
    await cut_off(plan, store, bot, 12, resume=first.run.id)
    bot.reply = right
    done = await execute(plan, store, resume=first.run.id)

    assert (first.calls.at_least, made_first, done.calls.at_least) == (False, 5, True)
    assert (done.calls.made, len(bot.ledger)) == (30, 31)


async def test_an_account_that_has_every_part_is_exact_and_stays_so(scripted_service, store):
    bot = scripted_service(right)
    plan = plan_for(bot.url, cases(12), at_once=1)
    run_id = None
    for number in (3, 6, 9):
        stop = Stop()
        bot.reply = lambda call, stop=stop, number=number: (
            stop.request("test") or right(call) if call.number == number else right(call)
        )
        run_id = (await execute(plan, store, stop=stop, resume=run_id)).run.id

    report = await execute(plan, store, resume=run_id)

    assert (report.calls.made, report.calls.at_least, report.run.manifest["calls"]["parts"]) == (12, False, 4)


async def test_a_part_that_was_cut_off_stays_so_however_orderly_the_later_ones_are(scripted_service, store):
    bot = scripted_service(hangs_from(5))
    plan = plan_for(bot.url, cases(12), at_once=1)
    run_id = await cut_off(plan, store, bot, 5)
    stop = Stop()
    bot.reply = lambda call: stop.request("test") or right(call) if call.number == 8 else right(call)
    paused = await execute(plan, store, stop=stop, resume=run_id)
    report = await execute(plan, store, resume=run_id)

    assert (paused.calls.at_least, report.calls.at_least) == (True, True)
    assert (report.calls.made, len(bot.ledger)) == (12, 13)


async def test_a_limit_on_calls_counts_what_was_put_down_and_not_only_what_was_kept(scripted_service, store):
    bot = scripted_service(right)
    plan, stop = plan_for(bot.url, cases(20), at_once=1, budget=Budget(calls=10)), Stop()
    bot.reply = lambda call: 500 if call.number in (2, 3) else right(call)
    plan = replace(plan, patience=replace(plan.patience, retries=3))

    first = await execute(plan, store, stop=stop)
    again = await execute(plan, store, resume=first.run.id)

    assert (len(bot.ledger), again.run.manifest["paused"]["kind"], again.calls.made) == (10, "budget", 10)


@pytest.mark.slow
def test_after_a_kill_the_report_says_at_least_and_counts_target_and_judge(scripted_service, make_project):
    bot = scripted_service(right)
    # A verdict takes longer than a group of rows waits to be written.
    model = scripted_service(lambda call: PASS(call) if call.number <= 8 else hang(), latency_s=0.1)
    project = make_project(
        [{"id": str(n), "input": f"Question {n}"} for n in range(20)],
        {"kind": "chatbot", "api_url": bot.url},
        scorers=[TONE],
        models={"judge": {"model": "m1", "base_url": model.url}},
        execution={"max_concurrent_tests": 2},
    )
    process = project.start("run")
    model.wait_for_calls(10)
    process.kill()
    process.communicate()
    model.reply = PASS
    done = project.cortex("run", "--resume", "latest")

    told = re.search(r"at least (\d+) calls", " ".join(done.stdout.split()))
    asked = len(bot.ledger) + len(model.ledger)
    assert asked - 6 <= int(told[1]) <= asked, "all but those in flight and not yet written, two of each at most"
