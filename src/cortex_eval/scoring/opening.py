"""Scorers that call somebody are opened before the first reply and closed after the last."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Protocol, runtime_checkable

from cortex_eval.net import Outside
from cortex_eval.scoring.base import PlannedScorer
from cortex_eval.scoring.bench import Bench, VerdictCache


@runtime_checkable
class Opened(Protocol):
    """A scorer that calls somebody."""

    async def open(self, bench: Bench) -> None:
        """Be ready to be asked; every call goes by way of `bench.outside`, or of a seat that it gives."""

    async def close(self) -> None:
        """Let go of every connection."""


@asynccontextmanager
async def opened(
    planned: Sequence[PlannedScorer], outside: Outside, cache: VerdictCache | None = None
) -> AsyncIterator[None]:
    """Scorers with an `open` are ready inside, and closed at the end whatever happens."""
    async with AsyncExitStack() as stack:
        bench = Bench(outside, cache)
        stack.push_async_callback(bench.close)
        for each in planned:
            scorer = each.scorer
            if isinstance(scorer, Opened):
                await scorer.open(bench)
                stack.push_async_callback(scorer.close)
        yield
