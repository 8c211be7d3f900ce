"""A run against a wrong address: it is told soon and kept, and goes on once the address is right."""

from __future__ import annotations

import socket
from dataclasses import replace
from typing import Any

import pytest
from made_plans import cases, plan_for, right

from cortex_eval.config import Plan
from cortex_eval.core import InputError
from cortex_eval.engine import execute
from cortex_eval.testing import login_page, status


def nowhere() -> str:
    """An address of this machine where nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/"


def hasty(url: str, count: int = 30, **given: Any) -> Plan:
    plan = plan_for(url, cases(count), **given)
    return replace(plan, patience=replace(plan.patience, pause_limit_s=0.0))


async def test_a_wrong_address_pauses_the_run_and_names_the_setting(store):
    plan = hasty(nowhere(), address_at="api_url of services.bot (cortex.yaml:2)")

    report = await execute(plan, store)

    paused = report.run.manifest["paused"]
    assert paused["kind"] == "target_unreachable"
    assert paused["message"].endswith("Is it running? Check api_url of services.bot (cortex.yaml:2).")


async def test_few_cases_at_a_wrong_address_say_in_their_errors_what_to_check(scripted_service, store):
    where = "api_url of services.bot (cortex.yaml:2)"
    page = scripted_service(status(501, "<html><style>p {}</style>\n<p>No such\nmethod</p></html>"))

    dead = await execute(plan_for(nowhere(), cases(3), address_at=where), store)
    other = await execute(plan_for(page.url, cases(3), address_at=where), store)

    (refused,), (answered,) = dead.error_messages.values(), other.error_messages.values()
    assert refused.endswith(f"refuses connections. Is it running? Check {where}.")
    assert answered.endswith(f"answered 501. It said: 'No such method'. Check {where}.")


@pytest.mark.parametrize("count", [30, 3], ids=["paused", "all in error"])
async def test_while_nothing_was_answered_it_is_resumed_at_the_right_address(scripted_service, store, count):
    bot = scripted_service(right)
    stopped = await execute(hasty(nowhere(), count), store)

    report = await execute(plan_for(bot.url, cases(count)), store, resume=stopped.run.id)

    assert (stopped.exit_code, report.exit_code) == (3, 0)
    assert (report.run.id, report.totals.passed) == (stopped.run.id, count)
    kept = store.runs.find(report.run.id).manifest
    assert kept["target"]["settings"]["api_url"] == bot.url
    assert kept["config_hash"] != stopped.run.manifest["config_hash"]


async def test_a_login_page_names_the_setting_and_is_resumed_at_the_right_address(scripted_service, store):
    other, bot = scripted_service(login_page()), scripted_service(right)
    stopped = await execute(plan_for(other.url, cases(30), address_at="api_url of services.bot"), store)

    report = await execute(plan_for(bot.url, cases(30)), store, resume=stopped.run.id)

    assert stopped.run.manifest["paused"]["message"].endswith(". Check api_url of services.bot.")
    assert report.totals.passed == 30


async def test_what_was_killed_after_it_went_on_elsewhere_is_held_to_the_new_address(
    scripted_service, store, monkeypatch
):
    bot = scripted_service(right)
    stopped = await execute(hasty(nowhere()), store)
    monkeypatch.setattr("cortex_eval.engine._Play.finish", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        await execute(plan_for(bot.url, cases(30)), store, resume=stopped.run.id)
    monkeypatch.undo()

    report = await execute(plan_for(bot.url, cases(30)), store, resume=stopped.run.id)

    assert (report.totals.passed, len(bot.ledger)) == (30, 30)


async def test_with_one_reply_it_is_not_resumed_at_another_address(scripted_service, store):
    bot = scripted_service(lambda call: right(call) if call.number == 1 else login_page())
    stopped = await execute(plan_for(bot.url, cases(12), at_once=1), store)
    before = len(bot.ledger)

    with pytest.raises(InputError, match=r"target\.settings\.api_url was"):
        await execute(plan_for(nowhere(), cases(12)), store, resume=stopped.run.id)

    assert (stopped.totals.passed, len(bot.ledger)) == (1, before)


async def test_F14_one_that_answered_an_earlier_part_of_the_run_is_down_and_not_a_wrong_address(
    scripted_service, store
):
    bot = scripted_service(lambda call: right(call) if call.number <= 5 else login_page())
    stopped = await execute(plan_for(bot.url, cases(30), at_once=1), store)
    bot.from_thread(bot.go_down())

    report = await execute(hasty(bot.url), store, resume=stopped.run.id)

    assert report.run.manifest["paused"]["kind"] == "target_unavailable"
