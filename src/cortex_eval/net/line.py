"""The line to one service: when it may be called, what its failures mean, and when it is left alone for a while.

A call that fails in passing is made again. A service that answers 429 gets fewer calls at once, and none before the
time it named. One that fails ten times in a row is down: nobody calls it but a probe now and then, all others wait,
and whoever failed steps aside: it may be what the service fails on. Waiting is never counted as the service's own time.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext

from cortex_eval.core import CortexError, TargetError, Unavailable, Usage
from cortex_eval.net.attempt import Called, T, attempt_once, brief
from cortex_eval.net.deadlines import Deadlines
from cortex_eval.net.outside import Outside, Place
from cortex_eval.net.patience import FIRST_CALLS, LONGEST_DELAY_S, REFUSED_AFTER, SPREAD_S, Patience, is_misfit, minutes

EARLY_S = 0.001
"""A timer may fire this much too soon; a service that names a time means it."""


class Line:
    """One service as seen from here. Everything happens on one event loop."""

    def __init__(
        self,
        name: str = "the target",
        patience: Patience | None = None,
        outside: Outside | None = None,
        *,
        where: str = "",
        was_heard: bool = False,
    ) -> None:
        """`where` says which setting holds its address; `was_heard`: it answered an earlier part of the run."""
        self.name, self.where = name, where or f"the address of {name}"
        self.patience = patience or Patience()
        self.outside = outside or Outside(at_once=10_000)
        self.openings = 0
        """How often the breaker opened."""
        self.is_down = False
        """Whether it is open."""
        self.recoveries = 0
        """How often it closed again."""
        self.failures = 0
        """In a row, of the kind that opens the breaker."""
        self.refusals = 0
        """In a row: 401 and 403."""
        self.misfits = 0
        """Answers that no service of this kind gives, such as a login page or 404, as long as there was no good one."""
        self.note = ""
        """What it is waiting for, in words; empty when all is well."""
        self.waited_s = 0.0
        self.heard_at = 0.0
        """When the latest of the calls that were answered began; 0: none was."""
        self._limit = None if self.patience.break_after is None else FIRST_CALLS
        self._time_limit = Deadlines(self.patience.timeout_s)
        self._in_flight = 0
        self._queue: deque[asyncio.Future[None]] = deque()  # callers that wait for their turn
        self._resting: set[asyncio.Future[None]] = set()  # callers that wait to try again
        self._not_before = 0.0
        self._next_paced = 0.0
        self._lowered = 0.0
        self._raised_by = 0
        self._throttled = 0
        self._trouble_since: float | None = None
        self._is_probing = False
        self._next_probe = 0.0
        self._over: Unavailable | None = None
        self._is_proven = False
        self._was_heard, self._is_nobody_there = was_heard, False
        self.outside.on_close(self.close)

    @property
    def is_in_doubt(self) -> bool:
        """Whether the last answers were all failures that may be the service's, not the case's.

        Without a breaker they are the case's: what runs on this machine is never down.
        """
        return self.patience.break_after is not None and (self.failures + self.refusals + self.misfits > 0)

    @property
    def waits(self) -> str:
        """What it is waiting for, and for how long; empty when all is well."""
        if not self.is_down or self._patience_ends is None:
            return self.note
        now = time.monotonic()
        tries_s, left_s = self._next_probe - now, self._patience_ends - now
        tries = f"trying again in {math.ceil(tries_s)} s" if tries_s > 0 and not self._is_probing else "trying again"
        return f"{brief(self.note)}; {tries}, for {minutes(left_s)} more"

    async def call(self, attempt: Callable[[], Awaitable[T]], place: Place | None = None) -> Called[T]:
        """The answer, after as many attempts as patience allows.

        `TargetError` when there is none in the end; `Unavailable` when nobody should ask any more for now.
        """
        attempts, waited_s, failed_at = 1, 0.0, math.inf
        while True:
            if self._is_free:
                self.outside.budget.begin()
            else:
                waited_s += await self._wait_for_turn(place)
            started, usage, is_probe = time.monotonic(), None, self.is_down
            is_alone = attempts > 1 and self.heard_at <= failed_at
            self._in_flight += 1
            try:
                answer = await attempt_once(attempt, self._time_limit)
                usage = answer.usage
            except TargetError as error:
                error.attempts, error.is_alone = attempts, is_alone
                failed_at = min(failed_at, time.monotonic())
                if self._note_failure(error, started):
                    continue  # it was only too early: this attempt does not count
                if (
                    not error.transient
                    or attempts > self.patience.retries
                    or (self.is_down and self.patience.waits_out)
                ):
                    raise
            else:
                elapsed_s = time.monotonic() - started
                self._note_success(usage, started)
                return Called(answer, attempts, elapsed_s * 1000, waited_s * 1000)
            finally:
                self._in_flight -= 1
                self._is_probing = self._is_probing and not is_probe
                self.outside.budget.end(usage)
                if self._queue and (is_probe or not self.is_down or self._over):
                    self._wake()
            waited_s += await self._rest(self.patience.delay_s(attempts), place)
            attempts += 1

    async def rest(self, failures: int) -> None:
        """Wait as after this many failures in a row, unless the line is closed meanwhile; then they count no more."""
        await self._rest(self.patience.delay_s(failures), None)
        self.failures = 0

    def close(self, reason: Unavailable) -> None:
        """Nobody may call any more; whoever waits is told at once, calls in flight go on."""
        self._over = self._over or reason
        self._wake()
        for resting in self._resting:
            _set(resting)

    # Waiting

    @property
    def _is_free(self) -> bool:
        """Whether a call may be made at once: the way of nearly every call."""
        return (
            self._in_flight < self._most
            and not self.is_down
            and self._over is None
            and (not self._not_before or time.monotonic() >= self._not_before)
            and self.patience.requests_per_minute is None
            and self.patience.tokens_per_minute is None
        )

    @property
    def _most(self) -> float:
        """Calls that may be open at once; while the key is in doubt, no more than may be refused."""
        if self.refusals and self.patience.break_after is not None:
            return REFUSED_AFTER - self.refusals
        return math.inf if self._limit is None else self._limit

    async def _wait_for_turn(self, place: Place | None) -> float:
        """Return when a call may be made and is on the budget, with the seconds that it took."""
        began = time.monotonic()
        try:
            while self._must_wait(now := time.monotonic()):
                async with _leaving(place):  # and look again with a place: much may have changed until there is one
                    await self._wait_a_while(now)
            self.outside.budget.begin()
        except (asyncio.CancelledError, CortexError):
            self._wake()  # it may have been woken: its turn is now the next one's
            raise
        now = time.monotonic()
        if self.is_down:
            self._is_probing, self._next_probe = True, now + self.patience.probe_s(is_unreached=self._is_unreached)
        if self.patience.requests_per_minute is not None:
            self._next_paced = max(now, self._next_paced) + 60.0 / self.patience.requests_per_minute
        self.waited_s += now - began
        return now - began

    def _must_wait(self, now: float) -> bool:
        """Whether a call must wait; `Unavailable` when it would be in vain."""
        if self._over is not None:
            raise self._over
        if self._patience_ends is not None and now >= self._patience_ends:
            raise self._give_up()
        if self.is_down:
            is_early = self._is_probing or now < self._next_probe
            if is_early and not self.patience.waits_out:
                raise TargetError(f"{self.name} is down: {self.note}", kind="unavailable")
            return is_early
        if now < self._ready_at:
            if not self.patience.waits_out and self._not_before - now > LONGEST_DELAY_S:
                wait_s = self._not_before - now
                raise TargetError(f"{self.name} asks to wait {wait_s:.0f} s.", kind="rate_limited")
            return True
        return self._in_flight >= self._most

    async def _wait_a_while(self, now: float) -> None:
        """Until something may have changed: a call ended, or a time came that was still to come when it was asked."""
        times = [self._next_probe] if self.is_down and not self._is_probing else [self._ready_at]
        times += [] if self._patience_ends is None else [self._patience_ends]
        later = [each - now for each in times if each > now]
        change: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append(change)
        try:
            await asyncio.wait([change], timeout=min(later) + EARLY_S if later else None)
        finally:
            change.cancel()  # nobody is woken in vain for one who has gone

    @property
    def _ready_at(self) -> float:
        return max(self._not_before, self._next_paced)

    @property
    def _patience_ends(self) -> float | None:
        """When waiting is given up; None: nothing is wrong, or nobody waits for this service anyway."""
        if self._trouble_since is None or not self.patience.waits_out:
            return None
        return self._trouble_since + self.patience.limit_s(is_down=self.is_down, is_unreached=self._is_unreached)

    @property
    def _is_unreached(self) -> bool:
        """Whether nothing ever came from it, and nobody listens at its address: it may be a wrong one."""
        return self.is_down and self._is_nobody_there and not self._was_heard

    def _wake(self) -> None:
        """Those who wait for their turn may look again: as many as there is room for."""
        is_open = self.is_down or self._over is not None
        room = math.inf if is_open else self._most - self._in_flight
        while self._queue and room > 0:
            room -= _set(self._queue.popleft())

    def _wake_in_turn(self, within_s: float) -> None:
        """All who wait for their turn may look again, one after the other: what leaves as a burst comes back as one."""
        loop, waiting = asyncio.get_running_loop(), [each for each in self._queue if not each.done()]
        self._queue.clear()
        for number, each in enumerate(waiting):
            loop.call_later(within_s * number / len(waiting), _set, each)

    async def _rest(self, seconds: float, place: Place | None) -> float:
        """Wait before the next attempt, unless the line is closed meanwhile."""
        if self._over is not None:
            return 0.0
        resting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._resting.add(resting)
        try:
            async with _leaving(place):
                await asyncio.wait([resting], timeout=seconds)
        finally:
            self._resting.discard(resting)
        self.waited_s += seconds
        return seconds

    # What answers mean

    def _note_success(self, usage: Usage | None, started: float) -> None:
        self.heard_at = max(self.heard_at, started)
        self.failures = self.refusals = self.misfits = self._throttled = 0
        self._is_proven = self._was_heard = True
        self._trouble_since = None
        if self.is_down:
            self.is_down, self.recoveries, self._limit = False, self.recoveries + 1, None
        elif self._limit is not None and not self._lowered:
            self._limit = None  # it answers: no need to be shy any more
            self._wake_in_turn(min(SPREAD_S, time.monotonic() - started))
        elif self._limit is not None:
            self._raised_by += 1
            if self._raised_by >= self._limit:
                self._limit, self._raised_by = self._limit + 1, 0
            if self._limit >= self.outside.at_once:
                self._limit = None
        self.note = ""
        if self.patience.tokens_per_minute is not None and usage is not None:
            tokens = usage.input_tokens + usage.output_tokens
            now = time.monotonic()
            self._next_paced = max(now, self._next_paced) + tokens * 60.0 / self.patience.tokens_per_minute

    def _note_life(self) -> None:
        """It is not down."""
        self.failures = 0
        if self.is_down:
            self.is_down, self.recoveries = False, self.recoveries + 1
            self._trouble_since, self.note = None, ""

    def _note_failure(self, error: TargetError, started: float) -> bool:
        """Whether it was only too early: the case then waits and this attempt does not count."""
        self._is_nobody_there = error.is_nobody_there
        self._was_heard = self._was_heard or error.kind != "connection"
        if error.kind == "auth":
            return self._note_refusal(error)
        self.refusals = 0
        if error.kind == "rate_limited":
            return self._note_throttling(error, started)
        if not error.transient:
            self._note_life()  # it answers, if not well
            self._note_misfit(error)
            return False
        self.failures += 1
        if error.retry_after_s is not None:
            self._not_before = max(self._not_before, time.monotonic() + min(error.retry_after_s, LONGEST_DELAY_S))
        if self.is_down:
            self.note = str(error)
        elif self.patience.break_after is not None and self.failures >= self.patience.break_after:
            self._go_down(error)
        return False

    def _note_misfit(self, error: TargetError) -> None:
        """When nothing but misfits came from the beginning, it is not the service that was meant."""
        if self._is_proven or self.patience.break_after is None:
            return
        self.misfits = self.misfits + 1 if is_misfit(error) else 0
        if self.misfits >= self.patience.break_after and self.patience.waits_out:
            told = f"Not one of {self.misfits} calls was answered as it should be. The last one: {error}"
            if error.kind in ("not_json", "redirect") or error.status is not None:
                told = f"{told.rstrip('.')}. Check {self.where}."
            raise self._ended(told, "target_unusable") from error

    def _note_refusal(self, error: TargetError) -> bool:
        self.refusals += 1
        if self.refusals < REFUSED_AFTER or self.patience.break_after is None:
            return False
        if self.patience.waits_out:
            told = f"{str(error).rstrip('.')}. {self.refusals} calls in a row were refused."
            raise self._ended(told, "target_auth") from error
        if not self.is_down:
            self._go_down(error)
        return False

    def _note_throttling(self, error: TargetError, started: float) -> bool:
        now = time.monotonic()
        self._note_life()
        if self._trouble_since is None:
            self._trouble_since = now
        if started >= self._lowered:  # not one of the others that were on their way when the first one came back
            self._limit = max(1, (self._limit or self._in_flight) // 2)
            self._lowered, self._raised_by = now, 0
            self._throttled += 1
        wait_s = error.retry_after_s if error.retry_after_s is not None else self.patience.delay_s(self._throttled)
        if not self.patience.waits_out:
            error.transient = error.transient and wait_s <= LONGEST_DELAY_S
        elif wait_s > max(self.patience.pause_limit_s, LONGEST_DELAY_S * 1.25):
            limit = f"pause_limit_seconds ({self.patience.pause_limit_s:g})"
            raise self._ended(
                f"{self.name} asks to wait {wait_s:.0f} s, longer than {limit}.", "rate_limited"
            ) from error
        self._not_before = max(self._not_before, now + wait_s)
        self.note = f"{self.name} asks to slow down; {self._limit} at once, next call in {self._not_before - now:.0f} s"
        return self.patience.waits_out

    def _go_down(self, error: TargetError) -> None:
        now = time.monotonic()
        self.is_down, self.openings = True, self.openings + 1
        self._trouble_since = now
        self._next_probe = max(
            self._not_before,
            now + min(self.patience.retry_delay_s, self.patience.probe_s(is_unreached=self._is_unreached)),
        )
        self.note = str(error)
        self._wake()  # they wait for something else now

    def _give_up(self) -> Unavailable:
        if self._is_unreached:
            told = f"{brief(self.note)}, and no call was ever answered. Is it running? Check {self.where}."
            return self._ended(told, "target_unreachable")
        assert self._patience_ends is not None
        assert self._trouble_since is not None
        waited = f"within {self._patience_ends - self._trouble_since:g} s"
        waited += " (pause_limit_seconds)" if self.is_down else ", the least that a busy service is given"
        kind = "target_unavailable" if self.is_down else "rate_limited"
        return self._ended(f"{self.name} did not recover {waited}: {self.note}", kind)

    def _ended(self, message: str, kind: str) -> Unavailable:
        reason = Unavailable(message, kind=kind)
        self.close(reason)
        return reason


def _set(waiting: asyncio.Future[None]) -> bool:
    """Whether somebody still waited for it."""
    if is_waited_for := not waiting.done():
        waiting.set_result(None)
    return is_waited_for


def _leaving(place: Place | None) -> AbstractAsyncContextManager[None]:
    return nullcontext() if place is None else place.left()
