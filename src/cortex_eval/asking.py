"""Asking one turn: from the cache or over the line, and on disk before anything else happens with it."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, takewhile
from typing import Any, NamedTuple

from cortex_eval import analysis
from cortex_eval.config import Plan
from cortex_eval.control import Progress
from cortex_eval.core import (
    Case,
    Failure,
    Reply,
    Result,
    TargetError,
    Usage,
    changed,
    reply_from_json,
    to_json,
    usage_from_mapping,
)
from cortex_eval.manifest import Begun, has_reply
from cortex_eval.net import Line, Outside, Place, foreign_step, is_misfit
from cortex_eval.scoring import Judged
from cortex_eval.storage import Kept, Slot, Store, StoredTurn, as_read
from cortex_eval.targets import Conversation, Target

NOT_ENDED = ("length", "content_filter")
"""Why a model breaks off: such an answer is scored as what it said, but not kept for the next run."""

CHANCES = 5
"""Outages after which one and the same case is asked again."""


class Waiting(NamedTuple):
    """A case that waits for a slot."""

    ordinal: int
    repeat: int
    body: bytes
    may_repeat: bool
    """Whether it may have been in flight when an earlier part of the run was cut off."""


class Answered(NamedTuple):
    """A turn with its reply, and where the result belongs."""

    slot: Slot
    reply: Reply
    may_repeat: bool = False
    """Whether judges may have been asked about it when an earlier part of the run was cut off."""
    kept: Kept | None = None
    """How the reply was kept, if that was just now."""


class Known(NamedTuple):
    """The replies of one conversation that need not be asked for, by turn."""

    stored: dict[int, Reply]
    """With this run."""
    cached: dict[int, Reply]
    """All the others, or none: they are from the cache."""


@dataclass(frozen=True, slots=True)
class Doubtful:
    """A case that failed: is it the case's fault, or is the target down? Not kept until somebody is answered."""

    waiting: Waiting
    case: Case
    answered: list[Answered]
    there: dict[int, StoredTurn]
    slot: Slot
    error: TargetError
    recoveries: int
    """How often the target had come back by then."""
    since: float = field(default_factory=time.monotonic)


class Asker:
    """Asks a plan's target, turn by turn, and keeps what it says."""

    def __init__(self, plan: Plan, store: Store, outside: Outside, begun: Begun, progress: Progress) -> None:
        self.plan, self.store, self.outside, self.begun, self.progress = plan, store, outside, begun, progress
        was_heard = begun.part > 1 and has_reply(store, begun.run)
        self.line = Line(plan.target_name, plan.patience, outside, where=plan.address_at, was_heard=was_heard)
        self.may_repeat = 0
        """Calls that an earlier part of the run may have made already."""
        self.tried: dict[Slot, int] = {}
        """Attempts in vain at turns that are asked again."""
        self.chances_taken: Counter[Slot] = Counter()
        self.uses_cache = plan.target.is_remote and plan.target_version is not None

    async def recall(self, case: Case, first: Slot, session_id: str, *, is_begun: bool) -> Known:
        """What need not be asked for: what is stored with the run and, if that makes it whole, what is in the cache.

        A service that keeps sessions has not heard what came from the cache: it could not go on from there.
        """
        if not is_begun and not self.uses_cache:
            return Known({}, {})
        return await asyncio.to_thread(self._recall, case, first, session_id, is_begun)

    def _recall(self, case: Case, first: Slot, session_id: str, is_begun: bool) -> Known:
        stored = self.store.results.stored_replies(first.run_no, first.ordinal, first.repeat) if is_begun else {}
        if not self.uses_cache or len(stored) == len(case.turns):
            return Known(stored, {})
        replies: list[Reply] = []
        for turn in range(len(case.turns)):
            reply = stored.get(turn)
            if reply is None:
                turns = Conversation.at(case, turn, replies, session_id=session_id)
                cached = self.store.cache.find(turns.cache_key(self.plan.target_fingerprint, first.repeat))
                if cached is None:
                    heard = takewhile(lambda each: not each[1].cached, sorted(stored.items()))
                    return Known(dict(heard), {})
                reply = changed(reply_from_json(cached), cached=True)
            replies.append(reply)
        return Known(stored, {turn: reply for turn, reply in enumerate(replies) if turn not in stored})

    async def ask(
        self, turns: Conversation, slot: Slot, *, cached: Reply | None = None, may_repeat: bool = False
    ) -> Kept:
        """The reply to one turn, saved; a call's place is held until then. Errors as in `Line.call`.

        One that may have been asked before, in a part of the run that was cut off, is marked.
        """
        if cached is not None:
            self.progress.cache_hits += 1
            return await self.store.results.save_reply(slot, cached)
        if slot.repeat:
            turns = replace(turns, repeat=slot.repeat)
        async with self.outside.place() as place:
            tried = self.tried.get(slot, 0) if self.tried else 0
            try:
                reply = await ask_target(self.line, self.plan.target, turns, place)
            except TargetError as error:
                error.attempts += tried
                raise
            if tried:
                reply = changed(reply, attempts=reply.attempts + tried)
            if may_repeat:
                reply = changed(reply, metadata={**reply.metadata, "may_repeat": True})
                self.may_repeat += 1
            kept = await self.store.results.save_reply(slot, reply)  # scorers and later turns see what is kept
        reply = kept.reply
        self.progress.add_cost(reply)
        if self.uses_cache and reply.text and reply.finish_reason not in NOT_ENDED:
            key = turns.cache_key(self.plan.target_fingerprint, slot.repeat)
            self.store.cache.keep(key, "reply", to_json(reply))
        return kept

    async def is_worth_asking_again(self, doubt: Doubtful) -> bool:
        """Whether a case that failed gets another chance: the target was down, or nobody was answered meanwhile.

        It gets one for a hiccup and some for outages: it may be what the target fails on, or goes down on. One that
        ran out of time has waited long enough to outlast a hiccup.
        """
        error, line, slot = doubt.error, self.line, doubt.slot
        if not line.is_down:
            may_be_hiccup = error.transient and error.kind != "timeout" and error.is_alone and line.heard_at > 0
            if self.chances_taken[slot] >= (CHANCES if line.recoveries > doubt.recoveries else may_be_hiccup):
                return False
            self.chances_taken[slot] += 1
            if line.heard_at < doubt.since:  # nobody is left to ask whether it is back
                await line.rest(error.attempts)
        self.tried[slot] = error.attempts
        return True

    async def save_error(self, slot: Slot, error: TargetError) -> None:
        """Keep that there is no reply, and why; while nobody was ever answered, with what to check."""
        told = str(error)
        if not self.line.heard_at and error.is_nobody_there:
            told = f"{told} Is it running? Check {self.line.where}."
        elif not self.line.heard_at and is_misfit(error):
            told = f"{told.rstrip('.')}. Check {self.line.where}."
        await self.store.results.save_error(slot, Failure(error.kind, told), attempts=error.attempts)

    def count_spent(self) -> None:
        """Put what earlier parts of the run took on its budget; replies that it has from another run cost nothing."""
        budget = self.outside.budget
        budget.made_calls = self.begun.run.manifest.get("calls", {}).get("made", 0)
        if budget.is_limited:
            budget.made_calls = max(budget.made_calls, self._count_kept(budget.add))

    def _count_kept(self, add: Callable[[Usage], None] | None = None) -> int:
        """The calls that led to what is stored with the run: the least that were made; `add` is given their usage."""
        run, calls = self.begun.run, 0
        read = partial(self.store.results.read, run.id, with_cases=False)
        for result in chain(read(), read(asked_again=True)):
            if not result.cached and run.manifest.get("parent") is None:
                calls += result.attempts
                if add is not None and (reply := result.reply) is not None and reply.usage is not None:
                    add(reply.usage)
            for usage_of_judge in () if result.reused else analysis.judge_usages(result.scores):
                calls += usage_of_judge.pop("calls")
                if add is not None:
                    add(usage_from_mapping(usage_of_judge))
        return calls

    def accounts(self) -> dict[str, Any]:
        """The manifest with whom the run has called, how often, and how long it waited, in this part and earlier."""
        before = self.begun.run.manifest
        hosts, calls = dict(before.get("hosts", {})), before.get("calls", {})
        for host, count in self.outside.guard.hosts.items():
            hosts[host] = hosts.get(host, 0) + count
        more = {
            "may_repeat": self.may_repeat,
            "outages": self.line.openings,
            "waited_s": round(self.line.waited_s, 3),
            "took_s": round(time.monotonic() - self.progress.started, 3),  # the run's two times may be of two clocks
        }
        made, at_least = self.outside.budget.made_calls, calls.get("at_least", False)
        if not self.begun.is_accounted:
            made, at_least = max(made, self._count_kept()), True
        counted = {"made": made, "at_least": at_least, "parts": self.begun.part}
        counted |= {name: calls.get(name, 0) + count for name, count in more.items()}
        return {**before, "hosts": hosts, "calls": counted}


async def ask_target(line: Line, target: Target, turns: Conversation, place: Place | None = None) -> Reply:
    """The reply with its time, its waiting and the number of attempts; errors as in `Line.call`."""
    if target.is_foreign:
        ready = await foreign_step(lambda: target.prepare(turns))
        called = await line.call(lambda: _ask_foreign(target, ready), place)
        reply = await _complete_foreign(target, turns, called.answer)
    else:
        ready = await target.prepare(turns)
        called = await line.call(lambda: target.ask(ready), place)
        reply = await target.complete(turns, called.answer)
    return changed(
        reply,
        total_time_ms=round(called.elapsed_ms, 3) if target.takes_time else reply.total_time_ms,
        waited_ms=round(called.waited_ms, 3) or None,
        attempts=called.attempts,
    )


async def _ask_foreign(target: Target, turns: Conversation) -> Reply:
    """What a plugin's target answered, if it can be stored and read again; `TargetError` when it cannot."""
    return _checked(target, await target.ask(turns))


async def _complete_foreign(target: Target, turns: Conversation, answer: Reply) -> Reply:
    """What it made of that, in the same way."""
    made = await foreign_step(lambda: target.complete(turns, answer))
    return answer if made is answer else _checked(target, made)


def _checked(target: Target, returned: object) -> Reply:
    from cortex_eval.targets import reply_from_returned

    return reply_from_returned(returned, whose=target.kind or type(target).__name__)


def results_of(
    run_id: str, waiting: Waiting, case: Case, answered: Sequence[Answered], verdicts: Sequence[Judged]
) -> list[Result]:
    """The results of a case as the store gives them; none where a turn has no reply, or an earlier one."""
    if len(answered) < len(case.turns):
        return []
    made = [
        as_read(run_id, case, waiting.body, slot, kept, judged)
        for (slot, _, _, kept), judged in zip(answered, verdicts, strict=True)
        if kept is not None
    ]
    return made if len(made) == len(answered) else []


def session_of(run_id: str, ordinal: int, repeat: int) -> str:
    """The session of one conversation: the same when it is resumed, different from every other one."""
    return f"{run_id}-{ordinal}-{repeat}"
