"""Asking one turn: from the cache or over the line, and on disk before anything else happens with it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

from cortex_eval import analysis
from cortex_eval.config import Plan
from cortex_eval.control import Progress
from cortex_eval.core import Case, Failure, Reply, RunRecord, TargetError, reply_from_json, to_json, usage_from_mapping
from cortex_eval.net import Line, Outside
from cortex_eval.storage import Slot, Store, StoredTurn
from cortex_eval.targets import Conversation, ask_target, cache_key

NOT_ENDED = ("length", "content_filter")
"""Why a model breaks off: such an answer is scored as what it said, but not kept for the next run."""


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


class Doubtful(NamedTuple):
    """A case that failed while nobody was answered: the case's fault, or is the target down? Not kept until known."""

    waiting: Waiting
    case: Case
    answered: list[Answered]
    there: dict[int, StoredTurn]
    slot: Slot
    error: TargetError
    openings: int
    """How often the line had gone down by then."""


class Asker:
    """Asks a plan's target, turn by turn, and keeps what it says."""

    def __init__(self, plan: Plan, store: Store, outside: Outside, progress: Progress) -> None:
        self.plan, self.store, self.outside, self.progress = plan, store, outside, progress
        self.line = Line(plan.target_name, plan.patience, outside)
        self.may_repeat = 0
        """Calls that an earlier part of the run may have made already."""
        self.made_before = 0
        """Calls of earlier parts that are on the budget: `accounts` has them already."""
        self.uses_cache = plan.target.is_remote and plan.target_version is not None

    async def ask(self, turns: Conversation, slot: Slot, *, may_repeat: bool = False) -> Reply:
        """The reply to one turn, saved; a call's place is held until then. Errors as in `Line.call`.

        One that may have been asked before, in a part of the run that was cut off, is marked.
        """
        key = cache_key(self.plan.target_fingerprint, turns, slot.repeat) if self.uses_cache else ""
        cached = await asyncio.to_thread(self.store.cache.find, key) if key else None
        if cached is not None:
            reply = replace(reply_from_json(cached), cached=True)
            self.progress.cache_hits += 1
            return await self.store.results.save_reply(slot, reply)
        async with self.outside.place() as place:
            reply = await ask_target(self.line, self.plan.target, turns, place)
            if may_repeat:
                reply = replace(reply, metadata={**reply.metadata, "may_repeat": True})
                self.may_repeat += 1
            reply = await self.store.results.save_reply(slot, reply)  # scorers and later turns see what is kept
        self.progress.add_cost(reply)
        if key and reply.text and reply.finish_reason not in NOT_ENDED:
            self.store.cache.keep(key, "reply", to_json(reply))
        return reply

    async def save_error(self, slot: Slot, error: TargetError) -> None:
        """Keep that there is no reply, and why."""
        await self.store.results.save_error(slot, Failure(error.kind, str(error)), attempts=error.attempts)

    def count_spent(self, run: RunRecord) -> None:
        """Put what earlier parts of the run took on its budget; replies that it has from another run cost nothing."""
        budget = self.outside.budget
        if not budget.is_limited:
            return
        read = partial(self.store.results.read, run.id, with_cases=False)
        for result in chain(read(), read(asked_again=True)):
            if not result.cached and run.manifest.get("parent") is None:
                budget.made_calls += result.attempts
                if (reply := result.reply) is not None and reply.usage is not None:
                    budget.add(reply.usage)
            for usage_of_judge in () if result.reused else analysis.judge_usages(result.scores):
                budget.made_calls += usage_of_judge.pop("calls")
                budget.add(usage_from_mapping(usage_of_judge))
        self.made_before = budget.made_calls

    def accounts(self, before: Mapping[str, Any]) -> dict[str, Any]:
        """Whom the run has called, how often, and how long it waited, with what earlier parts of it put down."""
        hosts, calls = dict(before.get("hosts", {})), before.get("calls", {})
        for host, count in self.outside.guard.hosts.items():
            hosts[host] = hosts.get(host, 0) + count
        made = {
            "made": self.outside.budget.made_calls - self.made_before,
            "may_repeat": self.may_repeat,
            "outages": self.line.openings,
            "waited_s": round(self.line.waited_s, 3),
            "took_s": round(time.monotonic() - self.progress.started, 3),  # the run's two times may be of two clocks
        }
        return {"hosts": hosts, "calls": {name: calls.get(name, 0) + count for name, count in made.items()}}
