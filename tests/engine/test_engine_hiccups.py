"""A service that is gone for a moment costs no case, and one that fails a single case for ever costs that one."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from made_plans import cases, plan_for, right, states

from cortex_eval.asking import CHANCES
from cortex_eval.core import Case, Turn
from cortex_eval.engine import execute
from cortex_eval.testing import hang, reset, status


def gone_for(calls: int, *, after: int) -> Any:
    """Right answers but for so many calls in a row, in which nobody is answered."""
    return lambda call: status(503) if after < call.number <= after + calls else right(call)


@pytest.mark.parametrize("at_once", [1, 2, 3, 4])
@pytest.mark.parametrize("calls", [3, 4, 7, 9])
async def test_F14_a_hiccup_that_ends_before_it_is_taken_for_an_outage_costs_no_case(
    scripted_service, store, at_once, calls
):
    bot = scripted_service(gone_for(calls, after=20))

    report = await execute(plan_for(bot.url, cases(40), retries=2, at_once=at_once), store)

    assert (report.totals.passed, report.totals.errors, report.run.status) == (40, 0, "completed")
    assert len(bot.ledger) == 40 + calls
    assert report.run.manifest["calls"]["outages"] == 0
    assert sum(each.attempts for each in store.results.read(report.run.id)) == len(bot.ledger), "none is hidden"


@pytest.mark.parametrize("at_once", [1, 2])
async def test_F14_a_hiccup_at_the_very_end_is_given_a_while_and_costs_no_case(scripted_service, store, at_once):
    bot = scripted_service(gone_for(3 * at_once, after=20 - at_once))

    report = await execute(plan_for(bot.url, cases(20), retries=2, at_once=at_once), store)

    assert (report.totals.passed, report.totals.errors) == (20, 0)
    assert report.run.manifest["calls"]["waited_s"] > 0


@pytest.mark.parametrize("at_once", [1, 2, 3])
async def test_F14_the_last_cases_wait_for_a_long_outage_and_take_turns_at_trying(scripted_service, store, at_once):
    bot = scripted_service(gone_for(60, after=15))
    plan = plan_for(bot.url, cases(20), retries=2, at_once=at_once)

    report = await execute(replace(plan, patience=replace(plan.patience, probe_every_s=0.001)), store)

    assert (report.totals.passed, report.totals.errors) == (20, 0)
    tried = Counter(call.json["query"] for call in bot.ledger if call.status == 503)
    assert min(tried.values()) > CHANCES
    assert report.run.manifest["calls"]["outages"] == 1


async def test_F14_a_hiccup_in_a_conversation_costs_neither_its_case_nor_a_second_asking(scripted_service, store):
    talks = [Case(id=f"c{n}", turns=(Turn(text=f"Question {n}"), Turn(text=f"And {n}?"))) for n in range(6)]
    bot = scripted_service(gone_for(4, after=5))

    report = await execute(plan_for(bot.url, talks, retries=2, at_once=1, scorers=["performance"]), store)

    assert (report.totals.cases, report.totals.errors) == (6, 0)
    answered = Counter(call.json["query"] for call in bot.ledger if call.status == 200)
    assert set(answered.values()) == {1}


@pytest.mark.parametrize("at_once", [1, 2, 4])
@pytest.mark.parametrize("fault", [status(500), reset()], ids=["500", "torn down"])
async def test_F12_a_case_that_fails_for_ever_is_an_error_and_holds_up_nobody(scripted_service, store, at_once, fault):
    bot = scripted_service(lambda call: fault if call.json["query"] == "Question 7" else right(call))

    report = await execute(plan_for(bot.url, cases(30), retries=2, at_once=at_once), store)

    assert (report.totals.passed, report.totals.errors, report.run.status) == (29, 1, "completed")
    tried = Counter(call.json["query"] for call in bot.ledger).pop("Question 7")
    assert 3 <= tried <= 6, "its attempts, and once more as many when nobody else was answered meanwhile"
    (error,) = (each for each in store.results.read(report.run.id) if each.state == "error_target")
    assert error.attempts == tried
    assert report.run.manifest["calls"]["outages"] == 0


@pytest.mark.parametrize("at_once", [1, 4])
async def test_F16_a_case_that_hangs_is_asked_as_often_as_the_project_says_and_no_more(
    scripted_service, store, at_once
):
    bot = scripted_service(lambda call: hang() if call.json["query"] == "Question 7" else right(call))
    plan = plan_for(bot.url, cases(12), retries=2, at_once=at_once)

    report = await execute(replace(plan, patience=replace(plan.patience, timeout_s=0.2)), store)

    assert (report.totals.passed, report.totals.errors, report.run.status) == (11, 1, "completed")
    assert Counter(call.json["query"] for call in bot.ledger)["Question 7"] == 3


@pytest.mark.parametrize("place", [0, 29], ids=["first", "last"])
async def test_F12_it_is_an_error_also_where_nobody_is_asked_before_or_after_it(scripted_service, store, place):
    order = await asked_in_order(scripted_service, store)
    bot = scripted_service(lambda call: status(500) if call.json["query"] == order[place] else right(call))

    report = await execute(plan_for(bot.url, cases(30), retries=2, at_once=1), store)

    assert (report.totals.passed, report.totals.errors, report.run.status) == (29, 1, "completed")
    assert states(store, report.run.id)[order[place].split()[1]] == "error_target"


async def asked_in_order(scripted_service: Any, store: Any) -> list[str]:
    bot = scripted_service(right)
    await execute(plan_for(bot.url, cases(30), at_once=1), store)
    return [call.json["query"] for call in bot.ledger]


@pytest.mark.parametrize("at_once", [1, 4])
async def test_F13_many_cases_that_fail_for_ever_are_not_taken_for_an_outage(scripted_service, store, at_once):
    """One in five, evenly: those that are asked again do not come one after the other."""

    def one_in_five(call: Any) -> Any:
        return status(500) if int(call.json["query"].split()[1]) % 5 == 0 else right(call)

    bot = scripted_service(one_in_five)
    plan = plan_for(bot.url, cases(100), retries=2, at_once=at_once, seed=3)

    report = await execute(plan, store)

    assert (report.totals.passed, report.totals.errors, report.run.status) == (80, 20, "completed")
    assert len(bot.ledger) <= 80 + 20 * 6


@pytest.mark.slow
async def test_F14_a_case_on_which_the_service_goes_down_again_and_again_is_an_error_and_the_others_are_answered(
    scripted_service, store
):
    bot = scripted_service(lambda call: status(500) if call.json["query"] == "Question 3" else right(call))

    report = await execute(plan_for(bot.url, cases(30), retries=20, at_once=1), store)

    assert (report.totals.passed, report.totals.errors, report.run.status) == (29, 1, "completed")
    assert report.run.manifest["calls"]["outages"] == CHANCES + 1


async def test_without_retries_a_failure_counts_at_once(scripted_service, store):
    bot = scripted_service(gone_for(1, after=20))

    report = await execute(plan_for(bot.url, cases(40), retries=0, at_once=1), store)

    assert (report.totals.errors, len(bot.ledger)) == (1, 40)


async def test_a_case_that_is_asked_again_has_all_its_attempts_in_its_result(scripted_service, store):
    seen: Counter[str] = Counter()

    def the_sixth_time(call: Any) -> Any:
        seen[call.json["query"]] += 1
        return status(503) if call.json["query"] == "Question 3" and seen["Question 3"] <= 5 else right(call)

    bot = scripted_service(the_sixth_time)

    report = await execute(plan_for(bot.url, cases(10), retries=2, at_once=1), store)

    assert report.totals.passed == 10
    result = next(each for each in store.results.read(report.run.id) if each.case_id == "3")
    assert (result.attempts, result.state) == (6, "passed")
