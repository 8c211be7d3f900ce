"""The way out of one run: how many calls at once, what they may cost, who may be called."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from types import TracebackType
from typing import Self

from cortex_eval.core import Unavailable, Usage
from cortex_eval.net.guard import Guard


@dataclass(slots=True, kw_only=True)
class Budget:
    """What a run may spend, targets and judges together, and what it has spent; None: no limit."""

    usd: Decimal | None = None
    calls: int | None = None
    tokens: int | None = None
    spent_usd: Decimal = field(default_factory=Decimal)
    made_calls: int = 0
    used_tokens: int = 0
    in_flight: int = 0
    _dearest_usd: Decimal = field(default_factory=Decimal)
    _longest: int = 0

    @property
    def is_limited(self) -> bool:
        """Whether there is any limit."""
        return not (self.usd is None and self.calls is None and self.tokens is None)

    def begin(self) -> None:
        """Count a call that is about to be made; `Unavailable` when it might go beyond a limit.

        What is in flight is reckoned as dear as the dearest call so far, so that the end is not overrun.
        """
        if self.calls is not None and self.made_calls >= self.calls:
            raise _spent("budget_calls", f"{self.calls:,} calls")
        pending = self.in_flight + 1
        if self.usd is not None and (
            self.spent_usd >= self.usd or self.spent_usd + pending * self._dearest_usd > self.usd
        ):
            raise _spent("budget_usd", f"${self.usd}; one more call might go beyond it")
        if self.tokens is not None and (
            self.used_tokens >= self.tokens or self.used_tokens + pending * self._longest > self.tokens
        ):
            raise _spent("budget_tokens", f"{self.tokens:,} tokens; one more call might go beyond them")
        self.made_calls += 1
        self.in_flight += 1

    def end(self, usage: Usage | None) -> None:
        """Count what a call used, if that is known."""
        self.in_flight -= 1
        if usage is not None:
            self.add(usage)

    def add(self, usage: Usage) -> None:
        """Count tokens and money, also of an earlier part of the run."""
        tokens = usage.input_tokens + usage.output_tokens
        self.used_tokens += tokens
        self._longest = max(self._longest, tokens)
        if usage.cost is not None:
            self.spent_usd += usage.cost.amount
            self._dearest_usd = max(self._dearest_usd, usage.cost.amount)


def _spent(key: str, limit: str) -> Unavailable:
    return Unavailable(f"The budget is used up ({key}: {limit}). Raise it and resume.", kind="budget")


class Place:
    """One of the calls that may be made at the same time; it is given up while there is only waiting to do."""

    def __init__(self, places: asyncio.Semaphore) -> None:
        self._places = places
        self._is_held = False

    async def __aenter__(self) -> Self:
        await self._places.acquire()
        self._is_held = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_held:
            self._is_held = False
            self._places.release()

    @asynccontextmanager
    async def left(self) -> AsyncIterator[None]:
        """Others may use the place meanwhile."""
        if self._is_held:
            self._is_held = False
            self._places.release()
        yield
        await self.__aenter__()


class Outside:
    """What all calls of a run share, to the target and to judges."""

    def __init__(self, *, at_once: int = 10, budget: Budget | None = None, guard: Guard | None = None) -> None:
        self.at_once = at_once
        self.budget = budget or Budget()
        self.guard = guard or Guard()
        self._places = asyncio.Semaphore(at_once)
        self._closers: list[Callable[[Unavailable], None]] = []

    def on_close(self, close: Callable[[Unavailable], None]) -> None:
        """Have this called when no more calls may be made."""
        self._closers.append(close)

    def close(self, reason: Unavailable) -> None:
        """No call may begin any more; those in flight go on."""
        for close in self._closers:
            close(reason)

    def place(self) -> Place:
        """`async with outside.place():` waits for one of the calls that may be made at once."""
        return Place(self._places)
