"""Whole runs against services that are slow, busy, broken or gone: nothing is lost, and an error is never a score."""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from contextlib import closing
from typing import Any

import pytest
from made_plans import cases, chatbot, patient, plan_for, right, rows, states

from cortex_eval.control import Progress, Stop
from cortex_eval.engine import execute
from cortex_eval.testing import (
    Answer,
    at_random,
    cut,
    drip,
    hang,
    login_page,
    one_in,
    reset,
    status,
    too_many_requests,
)


async def test_F12_a_service_that_refuses_one_connection_in_twenty_answers_every_case(scripted_service, store):
    bot = scripted_service(one_in(20, reset(), otherwise=right))

    report = await execute(plan_for(bot.url, cases(200), retries=3), store)

    assert (report.totals.passed, report.totals.errors) == (200, 0)
    assert len(bot.ledger) > 200
    assert report.latency_ms.first_attempt_success < 1
    assert report.run.manifest["calls"]["made"] == len(bot.ledger)


async def test_F12_what_stays_refused_is_an_error_of_that_case_and_never_a_score(scripted_service, store):
    def torn_for_three(call: Any) -> Any:
        return reset() if call.json["query"] == "Question 3" else right(call)

    bot = scripted_service(torn_for_three)

    report = await execute(plan_for(bot.url, cases(10), retries=1, at_once=1), store)

    assert (report.totals.passed, report.totals.errors, report.totals.failed) == (9, 1, 0)
    error = next(each for each in store.results.read(report.run.id) if each.state == "error_target")
    assert (error.error.kind, error.overall) == ("connection", None)
    assert error.attempts == 4, "twice, and twice again when another case had been answered"
    assert report.exit_code == 3


@pytest.mark.slow
async def test_F13_of_a_flapping_service_every_case_ends_with_a_result_or_an_error(scripted_service, store):
    bot = scripted_service(at_random(0.5, status(503), otherwise=right, seed=3))
    plan = patient(plan_for(bot.url, cases(1000), retries=3, at_once=20), probe_every_s=0.01)

    report = await execute(plan, store)

    assert report.totals.passed + report.totals.errors == 1000
    assert 0.85 < report.totals.passed / 1000 < 0.99, "a case is lost when four calls in a row fail: 1 in 16"
    attempts = Counter(each.attempts for each in store.results.read(report.run.id))
    assert set(attempts) >= {1, 2, 3, 4}, "more, when it was taken to be down meanwhile"


async def test_F14_P14_a_service_that_is_down_burns_no_cases_and_few_calls(scripted_service, store):
    bot = scripted_service(status(503))
    plan = patient(plan_for(bot.url, cases(500), at_once=50, retries=2), pause_limit_s=0.2, probe_every_s=0.1)

    report = await execute(plan, store)

    assert len(bot.ledger) <= 50
    assert rows(store) == [], "every case is still to be asked"
    assert report.exit_code == 3
    run = store.runs.find(report.run.id)
    assert (run.status, run.manifest["paused"]["kind"]) == ("paused", "target_unavailable")
    assert "pause_limit_seconds" in report.gate.checks[0].reason


@pytest.mark.parametrize("at_once", [1, 20])
async def test_F14_when_it_is_back_before_the_limit_the_run_goes_on_and_nothing_is_missing(
    scripted_service, store, at_once
):
    bot = scripted_service(lambda call: status(503) if 30 < call.number <= 45 else right(call))
    plan = patient(plan_for(bot.url, cases(100), at_once=at_once, retries=1), probe_every_s=0.01)

    report = await execute(plan, store)

    assert (report.totals.passed, report.totals.errors) == (100, 0)
    assert report.run.manifest["calls"]["outages"] == 1


async def test_F14_after_the_limit_it_is_resumed_and_asks_only_what_is_left(scripted_service, store):
    bot = scripted_service(lambda call: right(call) if call.number <= 40 else status(503))
    plan = patient(plan_for(bot.url, cases(100), at_once=8), pause_limit_s=0.0)
    stopped = await execute(plan, store)
    answered = {each.case_id for each in store.results.read(stopped.run.id) if each.state == "passed"}
    bot.reply = right
    before = len(bot.ledger)

    report = await execute(plan, store, resume=stopped.run.id)

    assert len(answered) == 40
    assert len(bot.ledger) - before == 60
    assert (report.totals.passed, report.exit_code) == (100, 0)
    assert report.run.manifest["paused"] is None


async def test_F14_a_conversation_that_was_cut_by_the_outage_goes_on_at_its_turn(scripted_service, store):
    from cortex_eval.core import Case, Turn

    conversations = [
        Case(id=f"c{n}", turns=(Turn(text=f"Question {n}"), Turn(text=f"Question {n + 100}"))) for n in range(12)
    ]
    bot = scripted_service(lambda call: status(503) if 6 < call.number <= 24 else right(call))
    plan = patient(plan_for(bot.url, conversations, at_once=4, scorers=["performance"]), probe_every_s=0.01)

    report = await execute(plan, store)

    assert (report.totals.cases, report.totals.errors) == (12, 0)
    asked = Counter(call.json["query"] for call in bot.ledger if call.status == 200)
    assert set(asked.values()) == {1}, "no turn that was answered is asked again"


async def test_TR03_a_wrong_key_pauses_after_five_calls(scripted_service, store):
    bot = scripted_service(status(401))

    report = await execute(plan_for(bot.url, cases(300), at_once=100), store)

    assert len(bot.ledger) <= 5
    assert rows(store) == []
    assert (report.run.manifest["paused"]["kind"], report.exit_code) == ("target_auth", 3)


async def test_F15_P13_a_429_holds_everybody_back_until_the_time_it_named(scripted_service, store):
    bot = scripted_service(lambda call: too_many_requests(retry_after_s=1) if call.number == 30 else right(call))

    report = await execute(plan_for(bot.url, cases(100), at_once=4), store)

    assert report.totals.passed == 100
    refused = next(call for call in bot.ledger if call.status == 429)
    in_flight = [call for call in bot.ledger if refused.at < call.at < refused.at + 0.5]
    later = [call.at for call in bot.ledger if call.at >= refused.at + 0.5]
    assert len(in_flight) <= 4, "only what was on its way already"
    assert min(later) - refused.at >= 1.0
    assert report.latency_ms.p99 < 900, "waiting is not latency"
    assert report.run.manifest["calls"]["waited_s"] >= 1


@pytest.mark.slow
async def test_F15_a_429_with_a_date_is_honoured(scripted_service, store):
    def busy_once(call: Any) -> Any:
        return too_many_requests(retry_after_s=2, as_date=True) if call.number == 6 else right(call)

    bot = scripted_service(busy_once)

    report = await execute(plan_for(bot.url, cases(20), at_once=1), store)

    assert report.totals.passed == 20
    assert bot.ledger[6].at - bot.ledger[5].at >= 1.0  # a date has whole seconds: up to one of the two may be gone


async def test_F16_a_case_that_hangs_frees_its_slot_and_hurts_nobody_else(scripted_service, store):
    bot = scripted_service(lambda call: hang() if call.json["query"] == "Question 5" else right(call))

    report = await execute(plan_for(bot.url, cases(30), at_once=2, timeout_s=0.4), store)

    assert (report.totals.passed, report.totals.errors) == (29, 1)
    assert states(store, report.run.id)["5"] == "error_target"
    assert report.error_kinds == {"error_target: timeout": 1}


async def test_F17_a_slow_drip_ends_by_the_total_limit_and_not_by_the_idle_one(scripted_service, store):
    bot = scripted_service(lambda call: drip(every_s=0.05) if call.json["query"] == "Question 1" else right(call))

    report = await execute(plan_for(bot.url, cases(5), timeout_s=0.4), store)

    assert (report.totals.passed, report.error_kinds) == (4, {"error_target: timeout": 1})


@pytest.mark.parametrize("framing", ["length", "chunked", "close"])
async def test_F18_P15_an_answer_that_is_cut_anywhere_is_never_scored_as_whole(scripted_service, store, framing):
    whole = b'{"text": "Take one tablet. Do not take two.", "more": "' + b"x" * 40 + b'"}'
    bot = scripted_service(lambda call: cut(int(call.json["query"].split()[1]), whole, framing=framing))
    plan = plan_for(bot.url, cases(len(whole)), scorers=["performance"], at_once=40)
    plan = patient(plan, break_after=None)

    report = await execute(plan, store)

    assert report.totals.passed + report.totals.failed == 0
    assert report.totals.errors == len(whole)
    assert {each.removeprefix("error_target: ") for each in report.error_kinds} <= {"truncated", "empty", "connection"}


async def test_F19_a_name_that_does_not_resolve_is_tried_again_and_named(store):
    target = chatbot("http://no-such-clinic.invalid/chat")
    plan = patient(plan_for(target, cases(3), retries=1, at_once=1), break_after=None)

    report = await execute(plan, store)

    errors = list(store.results.read(report.run.id))
    assert {each.error.kind for each in errors} == {"connection"}
    assert all("no-such-clinic.invalid" in each.error.message for each in errors)
    assert {each.attempts for each in errors} == {2}


async def test_TR01_a_login_page_is_an_error_of_every_case_and_not_a_score(scripted_service, store):
    bot = scripted_service(login_page())

    report = await execute(plan_for(bot.url, cases(8)), store)

    assert (report.totals.errors, report.error_kinds) == (8, {"error_target: not_json": 8})
    assert "exact" not in report.metrics, "a metric that was not scored is absent, not 0"


@pytest.mark.parametrize(
    "fault", [login_page(), status(404), {"reply": "in another field"}], ids=["login page", "404", "other field"]
)
async def test_P14_a_service_that_is_not_the_one_meant_burns_few_calls(scripted_service, store, fault):
    bot = scripted_service(fault)

    report = await execute(plan_for(bot.url, cases(300), at_once=50), store)

    assert len(bot.ledger) <= 15
    assert rows(store) == []
    assert report.run.manifest["paused"]["kind"] == "target_unusable"
    assert "Not one of 10 calls" in report.gate.checks[0].reason


async def test_a_login_page_after_good_answers_is_that_cases_error(scripted_service, store):
    bot = scripted_service(lambda call: login_page() if call.number > 5 else right(call))

    report = await execute(plan_for(bot.url, cases(40)), store)

    assert (report.totals.passed, report.totals.errors) == (5, 35)


@pytest.mark.slow
async def test_F15_a_503_that_names_a_time_is_left_alone_until_then(scripted_service, store):
    bot = scripted_service(lambda call: status(503, retry_after="1") if call.number == 4 else right(call))

    report = await execute(plan_for(bot.url, cases(8), at_once=1, retries=1), store)

    assert report.totals.passed == 8
    assert bot.ledger[4].at - bot.ledger[3].at >= 1.0


async def test_TR04_two_500s_and_a_reply_are_three_attempts_with_the_latency_of_the_last(scripted_service, store):
    seen: Counter[str] = Counter()

    def third_time(call: Any) -> Any:
        seen[call.json["query"]] += 1
        return right(call) if seen[call.json["query"]] == 3 else Answer(status=500, latency_s=0.2)

    bot = scripted_service(third_time)
    report = await execute(plan_for(bot.url, cases(1), retries=2), store)

    (result,) = store.results.read(report.run.id)
    assert (result.state, result.attempts) == ("passed", 3)
    assert result.latency_ms < 190
    assert result.reply.waited_ms > 0


async def test_a_dead_port_pauses_the_run_with_what_to_do(store):
    with closing(socket.socket()) as reserved:
        reserved.bind(("127.0.0.1", 0))
        port = reserved.getsockname()[1]
        plan = patient(plan_for(f"http://127.0.0.1:{port}/", cases(100)), pause_limit_s=0.0)

        report = await execute(plan, store)

    assert f"127.0.0.1:{port}" in report.gate.checks[0].reason
    assert report.run.manifest["calls"]["made"] <= 50


async def test_few_cases_that_all_fail_are_errors_and_not_an_outage(scripted_service, store):
    bot = scripted_service(status(503))

    report = await execute(plan_for(bot.url, cases(4)), store)

    assert (report.totals.errors, report.run.status) == (4, "completed")


async def test_stopping_does_not_wait_for_retries(scripted_service, store):
    bot = scripted_service(lambda call: right(call) if call.number <= 5 else status(503))
    plan = patient(plan_for(bot.url, cases(20), retries=50, at_once=3), retry_delay_s=60.0)
    stop, progress = Stop(), Progress()

    async with asyncio.TaskGroup() as group:
        run = group.create_task(execute(plan, store, stop=stop, progress=progress))
        await bot.calls_arrived(7)
        stop.request("test")

    assert run.result().run.status == "paused"
    assert {row[-1] for row in rows(store)} == {"passed"}
