"""One line to one service: rates, 429, the breaker, refusals; what its callers are told and how long they wait."""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from itertools import pairwise

import pytest

from cortex_eval.core import Reply, TargetError, Unavailable, Usage
from cortex_eval.net import Budget, Line, Outside, Patience

QUICK = {"retries": 0, "retry_delay_s": 0.001, "probe_every_s": 0.05, "dice": random.Random(7)}


@dataclass
class Service:
    """Answers by a function of the call's number, and keeps when it was called and how many calls were open."""

    say: Callable[[int], Exception | Reply | Awaitable[Reply]] = lambda _number: Reply(text="ok")
    at: list[float] = field(default_factory=list)
    open: int = 0
    peak: int = 0

    async def __call__(self) -> Reply:
        self.at.append(time.monotonic())
        number = len(self.at)
        self.open += 1
        self.peak = max(self.peak, self.open)
        try:
            await asyncio.sleep(0)
            said = self.say(number)
            if isinstance(said, Exception):
                raise said
            return said if isinstance(said, Reply) else await said
        finally:
            self.open -= 1


def busy(retry_after_s: float | None = None) -> TargetError:
    return TargetError("429", kind="rate_limited", transient=True, retry_after_s=retry_after_s)


def down() -> TargetError:
    return TargetError("refused", kind="connection", transient=True)


def line(outside: Outside | None = None, **given: object) -> Line:
    return Line("bot", Patience(**{**QUICK, **given}), outside)


class NoJitter(random.Random):
    def uniform(self, a: float, b: float) -> float:
        return (a + b) / 2


async def all_of(line: Line, service: Service, count: int) -> list[object]:
    return await asyncio.gather(*(line.call(service) for _ in range(count)), return_exceptions=True)


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


async def test_whoever_waits_for_a_service_that_is_down_is_told_when_it_is_tried_again_and_for_how_long():
    service = Service(lambda _number: down())
    to_bot = line(break_after=1, pause_limit_s=600, retry_delay_s=30, probe_every_s=30)
    call = asyncio.create_task(to_bot.call(service))
    while not to_bot.note:
        await asyncio.sleep(0)

    told = to_bot.waits

    assert re.fullmatch(r"trying again in (29|30) s, for 10 min more: refused", told), told
    call.cancel()
    await asyncio.wait([call])


async def test_nothing_is_waited_for_when_all_is_well():
    to_bot = line()

    await to_bot.call(Service())

    assert to_bot.waits == ""
