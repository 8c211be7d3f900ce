"""What a line holds back: 429 and the times it names, rates, places and budgets that all lines share."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable
from itertools import pairwise

import pytest
from made_lines import Service, all_of, busy, down, line

from cortex_eval.core import Reply, Unavailable, Usage
from cortex_eval.net import Budget, Outside


async def test_F15_P13_nobody_calls_before_the_time_that_a_429_named():
    service = Service(lambda number: busy(0.15) if number == 3 else Reply(text="ok"))
    to_bot = line()
    await all_of(to_bot, service, 2)

    answers = await all_of(to_bot, service, 20)

    assert [each.answer.text for each in answers] == ["ok"] * 20
    refused_at = service.at[2]
    later = [at for at in service.at if at > refused_at + 0.05]
    assert min(later) >= refused_at + 0.15
    assert min(later) <= refused_at + 0.15 + 1.0


async def test_F15_waiting_for_the_allowed_time_is_not_latency():
    service = Service(lambda number: busy(0.25) if number == 1 else Reply(text="ok"))

    called = await line().call(service)

    assert called.elapsed_ms < 200
    assert called.waited_ms >= 250
    assert called.attempts == 1, "a 429 is not the case's failure"


async def test_P13_a_success_on_its_way_does_not_lift_the_ban():
    slow = asyncio.Event()

    async def late() -> Reply:
        await slow.wait()
        return Reply(text="late")

    service = Service(lambda number: late() if number == 2 else busy(0.15) if number == 3 else Reply(text="ok"))
    to_bot = line()
    await to_bot.call(service)
    waiting = asyncio.ensure_future(to_bot.call(service))
    refused = asyncio.ensure_future(to_bot.call(service))
    while len(service.at) < 3:
        await asyncio.sleep(0)
    await asyncio.sleep(0.01)
    slow.set()
    await waiting
    await to_bot.call(service)
    await refused

    assert min(at for at in service.at[3:]) >= service.at[2] + 0.15


async def test_TR05_429_without_a_time_backs_off_more_each_time_and_lowers_concurrency():
    service = Service(lambda number: Reply(text="ok") if number == 1 or number > 30 else busy())
    to_bot = line(Outside(at_once=16), retry_delay_s=0.01)
    await to_bot.call(service)

    answers = await all_of(to_bot, service, 16)

    assert all(each.answer.text == "ok" for each in answers)
    gaps = [after - before for before, after in pairwise(sorted(service.at)) if after - before > 0.005]
    assert sum(gaps) >= 0.75 * (0.01 + 0.02 + 0.04), "the waits grow: three of them and more"
    assert to_bot.waited_s > 0


async def test_TR05_after_429s_fewer_calls_are_open_and_successes_raise_the_number_again():
    is_busy = True

    def say(number: int) -> Exception | Awaitable[Reply]:
        return busy(0.01) if is_busy and number in range(2, 20) else soon()

    async def soon() -> Reply:
        await asyncio.sleep(0.002)
        return Reply(text="ok")

    service = Service(say)
    to_bot = line(Outside(at_once=16))
    await to_bot.call(service)
    first = asyncio.gather(*(to_bot.call(service) for _ in range(16)))
    while len(service.at) < 18:
        await asyncio.sleep(0.001)
    is_busy = False
    await asyncio.sleep(0)
    service.peak = 0
    await all_of(to_bot, service, 8)
    low = service.peak
    await first
    for _ in range(30):
        await all_of(to_bot, service, 16)
    service.peak = 0
    await all_of(to_bot, service, 16)

    assert low < 16
    assert service.peak == 16


async def test_requests_per_minute_space_the_calls():
    service = Service()
    to_bot = line(requests_per_minute=2400)  # one in 25 ms

    await all_of(to_bot, service, 8)

    assert all(after - before >= 0.0245 for before, after in pairwise(service.at))


async def test_tokens_per_minute_hold_back_what_follows_a_long_answer():
    usage = Usage(input_tokens=50, output_tokens=50)
    service = Service(lambda _number: Reply(text="ok", usage=usage))
    to_bot = line(tokens_per_minute=60_000)  # 100 tokens in 100 ms

    for _ in range(3):
        await to_bot.call(service)

    assert service.at[2] - service.at[0] >= 0.2


async def test_closing_tells_everybody_who_waits_and_lets_calls_in_flight_end():
    going = asyncio.Event()

    async def slow() -> Reply:
        await going.wait()
        return Reply(text="done")

    service = Service(lambda number: slow() if number == 1 else busy(60))
    outside = Outside(at_once=10)
    to_bot = line(outside, pause_limit_s=600)
    in_flight = asyncio.ensure_future(to_bot.call(service))
    waiting = [asyncio.ensure_future(to_bot.call(service)) for _ in range(5)]
    while len(service.at) < 2:
        await asyncio.sleep(0)
    await asyncio.sleep(0.01)

    outside.close(Unavailable("stopping", kind="stopped"))
    told = await asyncio.gather(*waiting, return_exceptions=True)
    going.set()

    assert {each.kind for each in told if isinstance(each, Unavailable)} == {"stopped"}
    assert len(told) == 5
    assert (await in_flight).answer.text == "done"


async def test_a_place_is_given_up_while_there_is_only_waiting_to_do():
    outside = Outside(at_once=1)
    service = Service(lambda number: busy(0.1) if number == 1 else Reply(text="ok"))
    to_bot, to_judge, judge = line(outside), line(outside), Service()

    async def ask() -> float:
        async with outside.place() as place:
            await to_bot.call(service, place)
        return time.monotonic()

    async def judge_it() -> float:
        async with outside.place() as place:
            await to_judge.call(judge, place)
        return time.monotonic()

    asked, judged = await asyncio.gather(ask(), judge_it())

    assert judged < asked


async def test_one_limit_holds_for_all_lines_together():
    outside = Outside(at_once=7)
    opened = Service()

    async def soon() -> Reply:
        await asyncio.sleep(0.001)
        return Reply(text="ok")

    opened.say = lambda _number: soon()
    lines = [line(outside) for _ in range(3)]

    async def call(number: int) -> None:
        async with outside.place() as place:
            await lines[number % 3].call(opened, place)

    await asyncio.gather(*(call(number) for number in range(200)))

    assert opened.peak <= 7


async def test_budget_of_calls_is_a_hard_stop():
    outside = Outside(at_once=50, budget=Budget(calls=20))
    service = Service()

    answers = await all_of(line(outside), service, 100)

    assert len(service.at) == 20
    assert sum(isinstance(each, Unavailable) and each.kind == "budget" for each in answers) == 80


async def test_budget_of_tokens_is_not_overrun_by_what_is_in_flight():
    outside = Outside(at_once=50, budget=Budget(tokens=1000))
    service = Service(lambda _number: Reply(text="ok", usage=Usage(input_tokens=60, output_tokens=40)))

    await all_of(line(outside), service, 100)

    assert outside.budget.used_tokens == 1000
    assert len(service.at) == 10


async def test_a_retry_counts_as_a_call():
    outside = Outside(budget=Budget(calls=3))
    service = Service(lambda _number: down())

    with pytest.raises(Unavailable, match="budget"):
        await line(outside, retries=10).call(service)

    assert len(service.at) == 3


async def test_after_the_first_answer_the_others_leave_one_after_the_other_within_the_time_that_it_took():
    first = asyncio.Event()

    async def answer() -> Reply:
        await first.wait()
        return Reply(text="ok")

    service = Service(lambda _number: answer())
    to_bot = line()
    waiting = asyncio.gather(*(to_bot.call(service) for _ in range(45)))
    await asyncio.sleep(0.04)
    assert len(service.at) == 5, "until one is answered well"
    first.set()
    await waiting

    assert len(service.at) == 45
    assert service.at[-1] - service.at[5] >= 0.03, "spread over some 40 ms, not sent in one moment"
