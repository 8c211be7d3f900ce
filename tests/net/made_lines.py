"""Lines that are quick, and services that answer by a function."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from cortex_eval.core import Reply, TargetError
from cortex_eval.net import Line, Outside, Patience

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
    """A line to the bot that neither retries nor waits for long, unless the test says so."""
    return Line("bot", Patience(**{**QUICK, **given}), outside)


async def all_of(line: Line, service: Service, count: int) -> list[object]:
    """What comes of this many calls at once: answers and errors."""
    return await asyncio.gather(*(line.call(service) for _ in range(count)), return_exceptions=True)
