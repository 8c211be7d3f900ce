"""How long to wait for a target and how often to ask again."""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import dataclass, field, replace

from cortex_eval.core import InputError, Reply, StorageError, TargetError, shorten
from cortex_eval.targets.base import Conversation, Target

LONGEST_DELAY_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """The limits of one call, and what to do when it fails."""

    timeout_s: float = 30.0
    """Of each attempt, from the first byte sent to the last byte read."""
    retries: int = 2
    """Further attempts after a failure that may pass by itself."""
    retry_delay_s: float = 1.0
    """Before the second attempt; doubled each time, with jitter."""
    dice: random.Random = field(default_factory=random.Random, compare=False, repr=False)
    """Where the jitter comes from."""

    async def ask(self, target: Target, turns: Conversation) -> Reply:
        """The reply with its time and the number of attempts; `TargetError` when there is none in the end."""
        attempt = 1
        while True:
            started = time.perf_counter()
            try:
                reply = await self._attempt(target, turns)
            except TargetError as error:
                error.attempts = attempt
                if not error.transient or attempt > self.retries:
                    raise
            else:
                elapsed_ms = (time.perf_counter() - started) * 1000
                return replace(reply, total_time_ms=round(elapsed_ms, 3), attempts=attempt)
            await asyncio.sleep(self._delay_s(attempt))
            attempt += 1

    async def _attempt(self, target: Target, turns: Conversation) -> Reply:
        try:
            async with asyncio.timeout(self.timeout_s):
                return await target.ask(turns)
        except TimeoutError as error:
            raise TargetError(
                f"No reply within {self.timeout_s:g} s (timeout_seconds).", kind="timeout", transient=True
            ) from error
        except (TargetError, InputError, StorageError):
            raise
        except (Exception, SystemExit) as error:  # a plugin's target is foreign code
            raise TargetError(
                f"The target raised {type(error).__name__}: {shorten(str(error))}", kind="raised"
            ) from error

    def _delay_s(self, attempt: int) -> float:
        delay = min(self.retry_delay_s * 2.0 ** (attempt - 1), LONGEST_DELAY_S)
        return delay * self.dice.uniform(0.75, 1.25)
