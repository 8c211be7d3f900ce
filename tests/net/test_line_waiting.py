"""Callers that wait: none is forgotten, none calls too soon, and one that is given up leaves nothing behind."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import pytest
from made_lines import busy, down, line

from cortex_eval.core import Reply, TargetError, Unavailable
from cortex_eval.net import Budget, Called, Line, Outside, Patience

OK = Reply(text="ok")
BAD = TargetError("400", kind="status")
"""An answer that is the case's own fault."""


@dataclass
class Service:
    """Answers by a function of the call's number; keeps when each call came."""

    say: Callable[[int], Exception | Reply | Awaitable[Reply]] = lambda _number: OK
    at: list[float] = field(default_factory=list)

    async def __call__(self) -> Reply:
        self.at.append(time.monotonic())
        said = self.say(len(self.at))
        if isinstance(said, Exception):
            raise said
        return said if isinstance(said, Reply) else await said

    async def called(self, count: int) -> None:
        """Return when this many calls have come."""
        async with asyncio.timeout(5):
            while len(self.at) < count:
                await asyncio.sleep(0)


class Held:
    """Answers that come when the test says so, call by call."""

    def __init__(self) -> None:
        self.given: dict[int, asyncio.Future[Reply]] = {}

    def __call__(self, number: int) -> Awaitable[Reply]:
        self.given[number] = asyncio.get_running_loop().create_future()
        return self.given[number]

    def answer(self, number: int, said: Exception | Reply = OK) -> None:
        if isinstance(said, Exception):
            self.given[number].set_exception(said)
        else:
            self.given[number].set_result(said)


def begin(to_bot: Line, service: Service) -> asyncio.Task[Called[Reply]]:
    return asyncio.ensure_future(to_bot.call(service))


async def settle() -> None:
    """Let every task go as far as it can without time passing."""
    for _ in range(20):
        await asyncio.sleep(0)


async def with_one_at_a_time(service: Service) -> Line:
    """A line that lets one call through at a time, as after 429s; only successes raise the number."""
    to_bot = line(Outside(at_once=8))
    for _ in range(3):  # 5, 2, 1, 1
        refused = len(service.at) + 1
        service.say = lambda number, refused=refused: busy(0.0) if number == refused else BAD
        with pytest.raises(TargetError, match="400"):
            await to_bot.call(service)
    return to_bot


class Queue(NamedTuple):
    """Three callers of a line that lets one call through at a time; the first is on its way."""

    going: asyncio.Task[Called[Reply]]
    second: asyncio.Task[Called[Reply]]
    third: asyncio.Task[Called[Reply]]
    held: Held
    """Answers the calls, the first as number 1."""
    before: int
    """How many calls there were before these."""


async def three_in_a_queue(service: Service) -> Queue:
    to_bot = await with_one_at_a_time(service)
    before, held = len(service.at), Held()
    service.say = lambda number: held(number - before)
    callers = [begin(to_bot, service) for _ in range(3)]
    await settle()
    assert len(service.at) - before == 1, "one at a time"
    return Queue(*callers, held=held, before=before)


async def test_a_waiting_caller_that_is_cancelled_does_not_take_the_turn_of_the_next():
    service = Service()
    going, given_up, waiting, held, before = await three_in_a_queue(service)

    given_up.cancel()
    await settle()
    held.answer(1, BAD)
    await service.called(before + 2)
    held.answer(2)

    assert (await waiting).answer == OK
    assert isinstance(going.exception(), TargetError)


async def test_a_caller_that_is_cancelled_when_its_turn_has_come_passes_it_on():
    service = Service()
    going, given_up, waiting, held, before = await three_in_a_queue(service)

    held.answer(1, BAD)
    while not going.done():  # the turn is then given away, and not yet taken
        await asyncio.sleep(0)
    assert len(service.at) == before + 1
    given_up.cancel()
    await service.called(before + 2)
    held.answer(2)

    assert (await waiting).answer == OK
    assert isinstance(going.exception(), TargetError)


async def test_callers_that_are_cancelled_leave_budget_places_and_line_as_they_were():
    outside = Outside(at_once=3, budget=Budget(calls=1000))
    held = Held()
    service = Service(held)
    to_bot = line(outside)

    async def ask() -> None:
        async with outside.place() as place:
            await to_bot.call(service, place)

    tasks = [asyncio.ensure_future(ask()) for _ in range(30)]
    await settle()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)

    assert (outside.budget.in_flight, to_bot._in_flight, outside._places._value) == (0, 0, 3)
    service.say = lambda _number: OK
    async with asyncio.timeout(5):
        await asyncio.gather(*(ask() for _ in range(30)))


async def test_a_place_that_is_given_up_while_its_caller_rests_is_not_released_twice():
    outside = Outside(at_once=2)
    service = Service(lambda _number: down())
    to_bot = line(outside, retries=3, retry_delay_s=60.0)

    async def ask() -> None:
        async with outside.place() as place:
            await to_bot.call(service, place)

    tasks = [asyncio.ensure_future(ask()) for _ in range(2)]
    await service.called(2)
    await settle()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)

    assert outside._places._value == 2


async def test_F14_a_probe_that_is_cancelled_leaves_the_probing_to_the_next():
    held = Held()
    service = Service(lambda number: held(number) if number == 11 else down() if number < 11 else OK)
    to_bot = line(probe_every_s=0.05, pause_limit_s=60, break_after=10)
    await asyncio.gather(*(to_bot.call(service) for _ in range(10)), return_exceptions=True)
    probing = begin(to_bot, service)
    await service.called(11)
    waiting = [begin(to_bot, service) for _ in range(5)]
    await settle()

    probing.cancel()
    async with asyncio.timeout(5):
        answers = await asyncio.gather(*waiting)

    assert [each.answer for each in answers] == [OK] * 5


class BusyClock:
    """The clock of a machine that has a lot to do: some time goes by between any two looks at it."""

    def __init__(self) -> None:
        self.looks = 0

    def monotonic(self) -> float:
        self.looks += 1
        return time.monotonic() + self.looks * 0.0004


async def test_F14_the_time_of_a_probe_is_not_missed_though_it_comes_while_somebody_begins_to_wait(monkeypatch):
    """Alone, one that missed it would wait until patience ends: nobody else would wake it."""
    monkeypatch.setattr("cortex_eval.net.line.time", BusyClock())
    service = Service(lambda number: down() if number <= 100 else OK)
    to_bot = line(probe_every_s=0.002, pause_limit_s=60)

    async with asyncio.timeout(10):
        for _ in range(100):
            with pytest.raises(TargetError, match="refused"):
                await to_bot.call(service)
        assert (await to_bot.call(service)).answer == OK

    assert (to_bot.openings, to_bot.recoveries) == (1, 1)


async def test_F14_a_probe_that_the_budget_forbids_leaves_the_probing_to_the_next():
    outside = Outside(budget=Budget(calls=10))
    service = Service(lambda number: down() if number <= 10 else OK)
    to_bot = line(outside, pause_limit_s=60)
    answers = await asyncio.gather(*(to_bot.call(service) for _ in range(11)), return_exceptions=True)
    assert [each.kind for each in answers if isinstance(each, Unavailable)] == ["budget"]

    outside.budget.calls = None
    async with asyncio.timeout(5):
        assert (await to_bot.call(service)).answer == OK


class Crowd:
    """Calls to the target, and judges who take the places that it leaves while it waits."""

    def __init__(self, outside: Outside, to_bot: Line, service: Service) -> None:
        self.outside, self.to_bot, self.service = outside, to_bot, service
        self.judged = asyncio.Event()

    async def ask(self) -> None:
        async with self.outside.place() as place:
            await self.to_bot.call(self.service, place)

    async def judge(self) -> None:
        async with self.outside.place():
            await self.judged.wait()

    async def all_wait(self, count: int) -> None:
        """Return when so many callers wait for their turn and hold no place."""
        async with asyncio.timeout(5):
            while len(self.to_bot._queue) < count:
                await asyncio.sleep(0)


async def test_P13_whoever_waited_for_a_place_looks_again_whether_it_may_call():
    """Places are shared with judges: when one is free at last, the service may have said 429 once more."""
    outside, held = Outside(at_once=2), Held()
    service = Service(lambda number: held(number) if number == 1 else busy(0.05) if number == 2 else OK)
    crowd = Crowd(outside, line(outside), service)

    async with asyncio.TaskGroup() as group:
        for _ in range(2):
            group.create_task(crowd.ask())
        await crowd.all_wait(1)  # the second, until 50 ms are over
        group.create_task(crowd.judge())
        await asyncio.sleep(0.1)  # they are over, but no place is free
        held.answer(1, busy(0.2))
        refused = time.monotonic()
        await crowd.all_wait(2)
        crowd.judged.set()

    assert min(service.at[2:]) >= refused + 0.2


async def test_F14_one_probe_goes_out_though_all_waited_for_a_place():
    outside = Outside(at_once=6)
    service = Service(lambda _number: down())
    crowd = Crowd(outside, line(outside, probe_every_s=0.1, pause_limit_s=0.4, retry_delay_s=0.1), service)
    tasks = [asyncio.ensure_future(crowd.ask()) for _ in range(30)]
    await crowd.all_wait(20)
    opened = len(service.at)
    tasks += [asyncio.ensure_future(crowd.judge()) for _ in range(6)]
    await asyncio.sleep(0.15)  # the time of the first probe has come, and no place is free
    crowd.judged.set()
    await asyncio.gather(*tasks, return_exceptions=True)

    probes = service.at[opened:]
    assert probes
    assert all(after - before >= 0.095 for before, after in pairwise(probes))


async def test_P13_a_service_that_is_down_is_not_probed_before_the_time_that_its_429_named():
    service = Service(lambda number: down() if number <= 10 else busy(0.2) if number == 11 else OK)
    to_bot = line(probe_every_s=0.05, pause_limit_s=60)

    await asyncio.gather(*(to_bot.call(service) for _ in range(20)), return_exceptions=True)

    assert service.at[11] >= service.at[10] + 0.2


async def test_P13_a_429_holds_though_the_other_calls_in_flight_fail_and_open_the_breaker():
    held = Held()
    service = Service(lambda number: OK if number == 1 else held(number) if number <= 12 else OK)
    to_bot = line(Outside(at_once=20), probe_every_s=0.05, pause_limit_s=60)
    await to_bot.call(service)
    tasks = [begin(to_bot, service) for _ in range(11)]
    await settle()
    held.answer(2, busy(0.2))
    await settle()
    refused = time.monotonic()
    for number in range(3, 13):
        held.answer(number, down())
    await asyncio.gather(*tasks, return_exceptions=True)

    assert to_bot.openings == 1
    assert min(service.at[12:]) >= refused + 0.19


async def test_P13_when_a_judge_asks_for_an_hour_those_who_wait_their_turn_are_told_as_well():
    held = Held()
    service = Service(held)
    to_judge = line(waits_out=False)
    tasks = [begin(to_judge, service) for _ in range(12)]
    await settle()
    assert len(service.at) == 5

    for number in range(1, 6):
        held.answer(number, busy(3600))
    async with asyncio.timeout(5):
        told = await asyncio.gather(*tasks, return_exceptions=True)

    assert [each.kind for each in told] == ["rate_limited"] * 12
    assert len(service.at) == 5


async def test_P13_a_judge_that_asks_for_an_hour_is_not_waited_for_and_not_called_meanwhile():
    service = Service(lambda _number: busy(3600))
    to_judge = line(waits_out=False)

    with pytest.raises(TargetError, match="429"):
        await to_judge.call(service)
    async with asyncio.timeout(5):
        with pytest.raises(TargetError, match="asks to wait") as caught:
            await to_judge.call(service)

    assert caught.value.kind == "rate_limited"
    assert len(service.at) == 1


@pytest.mark.parametrize("waits_out", [True, False])
async def test_TR05_429s_without_a_time_are_waited_out_longer_each_time_with_jitter(waits_out):
    service = Service(lambda number: busy() if number <= 6 else OK)
    to_bot = line(retry_delay_s=0.004, waits_out=waits_out, retries=0 if waits_out else 6)

    called = await to_bot.call(service)

    gaps = [after - before for before, after in pairwise(service.at)]
    due = [0.004 * 2**n for n in range(6)]
    assert all(gap >= 0.75 * each for gap, each in zip(gaps, due, strict=True))
    assert called.waited_ms >= 750 * sum(due)
    delays = [Patience(retry_delay_s=1.0, dice=random.Random(seed)).delay_s(30) for seed in range(200)]
    assert 45 <= min(delays) < max(delays) <= 75, "capped at a minute, give or take the jitter"


async def test_TR05_a_wave_of_429s_halves_the_calls_at_once_and_successes_bring_them_all_back():
    outside = Outside(at_once=16)
    service = Service()
    to_bot = line(outside)
    await to_bot.call(service)

    async def open_at_once() -> int:
        """How many of 16 calls the line lets through before the first is answered."""
        before, held = len(service.at), Held()
        service.say = held
        tasks = [begin(to_bot, service) for _ in range(16)]
        await settle()
        opened = len(service.at) - before
        service.say = lambda _number: OK
        for number in held.given:
            held.answer(number)
        await asyncio.gather(*tasks)
        return opened

    held = Held()
    service.say = held
    tasks = [begin(to_bot, service) for _ in range(16)]
    await settle()
    service.say = lambda _number: BAD
    for number in held.given:
        held.answer(number, busy(0.0))
    await asyncio.gather(*tasks, return_exceptions=True)

    assert len(held.given) == 16
    assert await open_at_once() == 8, "halved once, though 16 calls came back with 429"
    for _ in range(400):
        await to_bot.call(service)
    assert await open_at_once() == 16
