"""A service that refuses or is down: when it is left alone, who tries it again, and what its callers are told."""

from __future__ import annotations

import asyncio
import random
import re
from collections import Counter
from itertools import pairwise

import pytest
from made_lines import Service, all_of, down, line

from cortex_eval.core import Reply, TargetError, Unavailable


class NoJitter(random.Random):
    def uniform(self, a: float, b: float) -> float:
        return (a + b) / 2


async def test_TR03_five_refusals_in_a_row_end_it_and_no_more_calls_are_made():
    service = Service(lambda _number: TargetError("401", kind="auth"))
    to_bot = line()

    answers = await all_of(to_bot, service, 100)

    assert len(service.at) == 5
    assert sum(isinstance(each, Unavailable) and each.kind == "target_auth" for each in answers) == 96
    assert to_bot.is_in_doubt


async def test_a_refusal_now_and_then_is_the_cases_own():
    service = Service(lambda number: TargetError("403", kind="auth") if number % 3 == 0 else Reply(text="ok"))
    to_bot = line()

    for _ in range(30):
        await asyncio.gather(to_bot.call(service), return_exceptions=True)

    assert len(service.at) == 30
    assert not to_bot.note


async def test_F14_P14_ten_failures_in_a_row_open_the_breaker_and_few_calls_are_made():
    service = Service(lambda _number: down())
    to_bot = line(pause_limit_s=0.3, probe_every_s=0.1, retries=2)

    answers = await all_of(to_bot, service, 500)

    told = Counter(each.kind for each in answers)
    assert set(told) == {"target_unavailable", "connection"}
    assert told["connection"] <= 10, "those who failed when it went down, and the probes"
    assert len(service.at) <= 50
    assert to_bot.openings == 1


async def test_F14_while_it_is_down_it_is_tried_at_most_once_in_its_interval():
    service = Service(lambda _number: down())
    to_bot = line(pause_limit_s=0.5, probe_every_s=0.1)

    await all_of(to_bot, service, 40)

    probes = service.at[14:]  # what was on its way when it opened is not a probe
    assert len(service.at) >= 12
    assert all(after - before >= 0.095 for before, after in pairwise(probes))


async def test_F14_when_it_answers_again_everybody_goes_on():
    service = Service(lambda number: down() if number <= 13 else Reply(text="back"))
    to_bot = line(pause_limit_s=30)

    answers = await all_of(to_bot, service, 200)

    assert {each.answer.text for each in answers if not isinstance(each, Exception)} == {"back"}
    assert sum(isinstance(each, TargetError) for each in answers) == 13, "those that failed have stepped aside"
    assert (to_bot.openings, to_bot.recoveries, to_bot.is_down) == (1, 1, False)


async def test_F14_a_caller_that_brings_it_down_steps_aside_and_the_next_one_tries():
    bad = Service(lambda _number: down())
    to_bot, good = line(retries=20, probe_every_s=60, pause_limit_s=60), Service()
    await to_bot.call(good)

    with pytest.raises(TargetError, match="refused") as caught:
        await to_bot.call(bad)
    async with asyncio.timeout(5):
        await to_bot.call(good)

    assert (caught.value.attempts, to_bot.openings, to_bot.recoveries) == (10, 1, 1)


async def test_a_failure_is_alone_when_nobody_who_called_after_its_beginning_was_answered_before_its_end():
    rests = asyncio.Event()
    bad, good = Service(lambda _number: down()), Service()
    to_bot = line(retries=2, dice=NoJitter(), retry_delay_s=0.05)
    await to_bot.call(good)
    with pytest.raises(TargetError) as alone:
        await to_bot.call(bad)

    async def slow() -> Reply:
        await rests.wait()
        return Reply(text="slow")

    held = asyncio.ensure_future(to_bot.call(slow))
    failing = asyncio.ensure_future(to_bot.call(bad))
    while len(bad.at) < 4:
        await asyncio.sleep(0)
    rests.set()
    await held
    with pytest.raises(TargetError) as answered_late:
        await failing
    failing = asyncio.ensure_future(to_bot.call(bad))
    while len(bad.at) < 7:
        await asyncio.sleep(0)
    await asyncio.sleep(0.001)
    await to_bot.call(good)
    with pytest.raises(TargetError) as accompanied:
        await failing

    told = [each.value.is_alone for each in (alone, answered_late, accompanied)]
    assert told == [True, True, False], "who called before it failed says nothing of how the service is since"


async def test_F14_with_no_pause_allowed_it_stops_at_once():
    service = Service(lambda _number: down())

    answers = await all_of(line(pause_limit_s=0.0), service, 30)

    assert any(isinstance(each, Unavailable) for each in answers)
    assert len(service.at) <= 15


async def test_what_runs_on_this_machine_has_no_breaker():
    service = Service(lambda _number: down())

    answers = await all_of(line(break_after=None), service, 30)

    assert all(isinstance(each, TargetError) for each in answers)
    assert len(service.at) == 30


async def test_F20_a_judge_that_is_down_is_not_waited_for():
    service = Service(lambda _number: TargetError("503", kind="status", transient=True))
    to_judge = line(waits_out=False, probe_every_s=60.0, retry_delay_s=60.0)

    answers = await all_of(to_judge, service, 200)

    assert all(isinstance(each, TargetError) for each in answers)
    assert len(service.at) <= 15
    assert {each.kind for each in answers} == {"status", "unavailable"}


async def test_whoever_waits_for_a_service_that_is_down_is_told_when_it_is_tried_again_and_for_how_long():
    service = Service(lambda _number: down())
    to_bot = line(break_after=1, pause_limit_s=600, retry_delay_s=30, probe_every_s=30)
    call = asyncio.create_task(to_bot.call(service))
    while not to_bot.note:
        await asyncio.sleep(0)

    told = to_bot.waits

    assert re.fullmatch(r"refused; trying again in (29|30) s, for 10 min more", told), told
    call.cancel()
    await asyncio.wait([call])


async def test_nothing_is_waited_for_when_all_is_well():
    to_bot = line()

    await to_bot.call(Service())

    assert to_bot.waits == ""
