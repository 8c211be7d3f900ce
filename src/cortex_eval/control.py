"""Between a run and whoever started it: how far it is, and how it is asked to stop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from cortex_eval.core import Reply

GRACE_S = 30.0
"""How long calls in flight may go on after a request to stop."""


@dataclass(slots=True)
class Progress:
    """How far a run is; whoever shows it looks at it as often as it likes."""

    total: int = 0
    done: int = 0
    passed: int = 0
    failed: int = 0
    errors: int = 0
    in_flight: int = 0
    cache_hits: int = 0
    done_before: int = 0
    """Cases that an earlier part of the run had done."""
    cost_usd: Decimal | None = None
    """None: nothing is known of costs."""
    run_id: str = ""
    waits_for: Callable[[], str] = str
    """What it waits for, in words; empty when it goes on."""
    started: float = field(default_factory=time.monotonic)

    def count(self, states: Sequence[str]) -> None:
        """Count a case that is done, by the states of its turns."""
        self.done += 1
        if all(state == "passed" for state in states):
            self.passed += 1
        elif any(state.startswith("error") for state in states):
            self.errors += 1
        else:
            self.failed += 1

    def add_cost(self, reply: Reply) -> None:
        """Count what a reply cost, if that is known."""
        if reply.usage is not None and reply.usage.cost is not None and not reply.cached:
            self.cost_usd = (self.cost_usd or Decimal(0)) + reply.usage.cost.amount


class Stop:
    """How a run is asked to end early: the first time it drains, the second time it stops at once."""

    def __init__(self, grace_s: float = GRACE_S) -> None:
        self.grace_s = grace_s
        self.drain = asyncio.Event()
        self.halt = asyncio.Event()
        self.on_halt: Callable[[], None] = lambda: None
        """Called whenever it is asked to stop at once."""
        self.reason = ""
        self.message = ""

    def request(self, reason: str) -> None:
        """Ask for it."""
        if self.drain.is_set():
            self.halt.set()
            self.on_halt()
        self.pause(reason)

    def pause(self, reason: str, message: str = "") -> None:
        """Drain, because going on is not possible for now."""
        if not self.drain.is_set():
            self.reason, self.message = reason, message
            self.drain.set()


def first_of(errors: BaseExceptionGroup[Exception]) -> Exception:
    """The plain error that a group of tasks ended with."""
    found: BaseException = errors
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    assert isinstance(found, Exception)
    return found
