"""THE SPINE: plan → ask → save → score → save → finish. Read this first.

A case moves one way. Its reply is on disk before anything is scored, and a target's slot is free again before that.
What is already in the store is not asked for again: a resumed run, a rescored run and a fresh one are the same walk.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from contextlib import nullcontext, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from cortex_eval.asking import Answered, Asker, Doubtful, Waiting, results_of, session_of
from cortex_eval.config import Plan
from cortex_eval.control import Progress, Stop, first_of
from cortex_eval.core import Case, InputError, StorageError, TargetError, Unavailable, case_from_json
from cortex_eval.manifest import Begun, begin
from cortex_eval.net import Outside
from cortex_eval.outcome import find_baseline, report_on, settled
from cortex_eval.reask import cases_to_ask_again
from cortex_eval.scoring import Judged, Scoreboard, opened
from cortex_eval.sofar import See, SoFar
from cortex_eval.storage import LostLease, Slot, Store, StoredTurn
from cortex_eval.targets import Conversation

if TYPE_CHECKING:  # what a report is made with is loaded while the first calls are under way
    from cortex_eval.analysis import Baseline, Report

CHUNK = 200
"""Cases read from the store at a time, or two for each slot: slots that find nothing to do wait for each other."""
BACKLOG = 4
"""Cases answered and waiting for a verdict, per slot: a slow judge slows asking down, it does not fill the memory."""
PULSE_S = 1.0


class _GraceIsOver(Exception):  # noqa: N818  # not an error: the way out of the task group
    """Calls in flight did not end in time after a request to stop."""


async def execute(
    plan: Plan,
    store: Store,
    *,
    progress: Progress | None = None,
    stop: Stop | None = None,
    resume: str | None = None,
    rescore: str | None = None,
    see: See = None,
) -> Report:
    """Carry out a plan, or what is left of it, and say what came of it.

    `resume` names a run to go on with; `rescore` names one whose replies are scored anew, without any target call.
    `see` is shown every result, by and by and in the order of asking.
    """
    earlier = store.runs.find(resume) if resume is not None else None
    baseline = find_baseline(store, plan.gate, plan.suite, earlier, config=plan.request.get("config"))
    if earlier is not None and earlier.is_settled:
        return await asyncio.to_thread(report_on, store, earlier.id, plan.gate, baseline, see=see)
    outside, store.patience_s = plan.way_out(), plan.patience.pause_limit_s
    plan.target.connect_by(outside.guard, plan.limits, plan.read_attachment)
    is_asking = rescore is None and (earlier is None or earlier.manifest.get("parent") is None)
    async with plan.target if is_asking else nullcontext():  # first: one that cannot be had leaves no run behind
        begun = await asyncio.to_thread(begin, plan, store, resume=resume, rescore=rescore)
        play = await asyncio.to_thread(_Play, plan, store, outside, begun, see, progress or Progress(), stop or Stop())
        async with store.runs.held(play.run.id), opened(plan.scorers, outside, store.cache):
            await play.all_cases()
            if await play.look_again(baseline):
                await play.all_cases()
    async with store.runs.held(play.run.id):
        return await asyncio.to_thread(play.finish, baseline)


class _Play:
    """One run while it goes on."""

    def __init__(
        self, plan: Plan, store: Store, outside: Outside, begun: Begun, see: See, progress: Progress, stop: Stop
    ) -> None:
        self.plan, self.store, self.run, self.progress, self.stop = plan, store, begun.run, progress, stop
        self.so_far = SoFar(store, self.run, plan.gate, see)
        self.outside, self.asker = outside, Asker(plan, store, outside, begun, progress)
        self.asker.count_spent()
        self.doubts: deque[Doubtful] = deque()
        self.slots, self.read, self.is_cut_off = 0, 0, False
        self.run_no, self.dataset_no, self.ordinals = store.runs.numbers(self.run.id)
        self.there = store.results.stored_turns(self.run_no)
        self.maybe_asked = begun.maybe_asked(self.ordinals, {ordinal for ordinal, _ in self.there})
        self.waiting: deque[Waiting] = deque()
        self.reading, self.backlog = asyncio.Lock(), asyncio.Semaphore(plan.at_once * BACKLOG)
        self.may_ask = self.run.manifest.get("parent") is None
        self.asker.uses_cache &= self.may_ask
        progress.waits_for, stop.on_halt = (lambda: self.asker.line.waits or store.trouble), store.hurry
        progress.total, progress.run_id = len(self.ordinals) * self.run.repeats, self.run.id
        self.maybe_again = len(self.there) >= progress.total  # second looks begin when every case has a row

    async def all_cases(self) -> None:
        """Play every case that is not done, at most `plan.at_once` of them together."""
        try:
            async with asyncio.TaskGroup() as watchers:
                besides = (self._watch_run(), self._watch_grace(), self.so_far.follow())
                watching = [watchers.create_task(each) for each in besides]
                try:
                    async with asyncio.TaskGroup() as group:
                        self.board = Scoreboard(self.plan.scorers, group, passing_threshold=self.plan.passing_threshold)
                        self.slots = min(self.plan.at_once, self.progress.total)
                        for _ in range(self.slots):
                            group.create_task(self._slot())
                    await self.store.flush(self.run.id)  # here: it may take long, and a stop must be heard meanwhile
                finally:
                    for task in watching:
                        task.cancel()
        except* _GraceIsOver:
            self.is_cut_off = True  # what was in flight is asked again on resume
        except* (StorageError, InputError) as errors:
            raise first_of(errors) from None
        await self.store.flush(self.run.id)

    async def look_again(self, baseline: Baseline | None) -> bool:
        """Have critical cases that broke asked twice more, never from the cache; False: there is nothing to ask."""
        if baseline is None or self.stop.drain.is_set():
            return False
        again = await asyncio.to_thread(cases_to_ask_again, self.store, self.run, self.plan.gate, baseline, self.there)
        places = [each.place for each in again]
        risky = places[: self.asker.begun.maybe_asked(places, self.there)] if self.maybe_again else ()
        self.progress.total += len(again)
        wanted = [each for each in again if not self._is_done(*each.place)]
        self.waiting.extend(Waiting(*each, may_repeat=each.place in risky) for each in wanted)
        self.asker.uses_cache = False
        return bool(wanted)

    async def _slot(self) -> None:
        """One place at the target, taken by case after case; a verdict never holds it."""
        while (waiting := await self._next_case()) is not None:
            await self.backlog.acquire()
            if self.stop.drain.is_set():
                return
            case = case_from_json(waiting.body)
            self.progress.in_flight += 1
            try:
                answered = await self._ask_turns(case, waiting)
            except Unavailable as reason:
                self.stop.pause(reason.kind, str(reason))
                return
            finally:
                self.progress.in_flight -= 1
            if answered is None:
                self.backlog.release()
            else:
                self.board.soon(self._score_turns, waiting, case, answered)
            await self._settle_doubts(self.asker.line.heard_at)

    async def _settle_doubts(self, heard_at: float = math.inf) -> None:
        """The target answers again, or nothing is left to ask: what failed before is asked again, or is an error."""
        while self.doubts and self.doubts[0].since < heard_at:
            doubt = self.doubts.popleft()
            if await self.asker.is_worth_asking_again(doubt):
                answered = {each.slot.turn: StoredTurn("pending", each.slot.attempt) for each in doubt.answered}
                self.there[doubt.waiting.ordinal, doubt.waiting.repeat] = doubt.there | answered
                self.waiting.appendleft(doubt.waiting)
                return  # one by one: bad cases in a row look like an outage
            await self.asker.save_error(doubt.slot, doubt.error)
            await self.backlog.acquire()
            self.board.soon(self._score_turns, doubt.waiting, doubt.case, doubt.answered)

    async def _next_case(self) -> Waiting | None:
        """The next case that is not done, for whichever slot asks first; None when there is none, or on a stop."""
        while not self.stop.drain.is_set():
            if self.waiting:
                return self.waiting.popleft()
            async with self.reading:  # one slot reads, the others find what it read: a million cases stream through
                if self.waiting or await self._read_cases():
                    continue
                if self.slots > 1 or not self.doubts:
                    self.slots -= 1
                    return None
                await self._settle_doubts()  # the last one looks after what is left
        return None

    async def _read_cases(self) -> bool:
        chunk = self.ordinals[self.read : self.read + max(CHUNK, 2 * self.plan.at_once)]
        risky = set(chunk[: max(0, self.maybe_asked - self.read)])
        self.read += len(chunk)
        wanted = [(each, repeat) for each in chunk for repeat in range(self.run.repeats)]
        wanted = [each for each in wanted if not self._is_done(*each)]
        self.so_far.begin(self.read, (ordinal for ordinal, _ in wanted))
        ordinals = list(dict.fromkeys(ordinal for ordinal, _ in wanted))
        bodies = dict(await asyncio.to_thread(self.store.datasets.case_bodies, self.dataset_no, ordinals))
        self.waiting.extend(Waiting(ordinal, repeat, bodies[ordinal], ordinal in risky) for ordinal, repeat in wanted)
        return bool(chunk)

    def _is_done(self, ordinal: int, repeat: int) -> bool:
        """Whether an earlier part of this run has dealt with this case; errors are tried again."""
        turns = self.there.get((ordinal, repeat))
        if not turns or any(turn.state not in ("passed", "failed") for turn in turns.values()):
            return False
        del self.there[ordinal, repeat]
        self.progress.count([turn.state for turn in turns.values()])
        self.progress.done_before += 1
        return True

    async def _ask_turns(self, case: Case, waiting: Waiting) -> list[Answered] | None:
        """Play the turns in order, each reply on disk before the next turn; ends early when the target fails.

        None: the conversation is left as it is for now: a stop came between two turns, nothing may be asked, or it is
        not clear yet whose fault a failure is.
        """
        there = self.there.pop((waiting.ordinal, waiting.repeat), {})
        session_id = session_of(self.run.id, waiting.ordinal, waiting.repeat)
        first = Slot(self.run_no, waiting.ordinal, waiting.repeat, 0, 0)
        known, cached = await self.asker.recall(case, first, session_id, is_begun=bool(there))
        answered: list[Answered] = []
        for turn in range(len(case.turns)):
            attempt = there[turn].attempt if turn in there else 0
            slot = first._replace(turn=turn, attempt=attempt) if turn or attempt else first
            is_next = there[turn].state == "pending" if turn in there else len(answered) == len(known)
            may_repeat = waiting.may_repeat and is_next
            if (reply := known.get(turn)) is not None:
                answered.append(Answered(slot, reply, may_repeat))
                continue
            if self.stop.drain.is_set() if self.may_ask else turn not in there:
                return None
            if not self.may_ask:
                break
            if turn in there:
                slot = slot._replace(attempt=attempt + 1)  # the earlier error stays beside the new result
            turns = Conversation.at(case, turn, [each.reply for each in answered], session_id=session_id)
            try:
                kept = await self.asker.ask(turns, slot, cached=cached.get(turn), may_repeat=may_repeat)
            except TargetError as error:
                if self.asker.line.is_in_doubt:
                    doubt = Doubtful(waiting, case, answered, there, slot, error, self.asker.line.recoveries)
                    self.doubts.append(doubt)
                    return None
                await self.asker.save_error(slot, error)
                break
            answered.append(Answered(slot, kept.reply, kept=kept))
        return answered

    async def _score_turns(self, waiting: Waiting, case: Case, answered: list[Answered]) -> None:
        """Score every turn that was answered and save the verdicts."""
        replies, verdicts = [each.reply for each in answered], list[Judged]()
        try:
            for turn, (slot, reply, again, _) in enumerate(answered):
                is_last = turn == len(case.turns) - 1
                judged = await self.board.judge(case.at(turn), reply, replies if is_last else None, may_repeat=again)
                verdicts.append(self.store.results.save_verdict(slot, judged))
        except Unavailable as reason:
            self.stop.pause(reason.kind, str(reason))  # what was answered is kept, and judged on resume
        else:
            errors = ["error_target"] if len(answered) < len(case.turns) else []
            self.progress.count([*errors, *(each.state for each in verdicts)])
            self.so_far.settle(waiting.ordinal, lambda: results_of(self.run.id, waiting, case, answered, verdicts))
        finally:
            self.backlog.release()

    async def _watch_run(self) -> None:
        """Keep the run ours, hear when another process asks it to stop, and say what it waits for."""
        while True:
            pulse = await asyncio.to_thread(self.store.runs.pulse, self.run.id)
            if not pulse.is_mine:
                raise LostLease(f"Run {self.run.id} was taken over by another process, or deleted.")
            if pulse.cancel_requested:
                self.stop.pause("cancelled")
            await asyncio.sleep(PULSE_S)

    async def _watch_grace(self) -> None:
        await self.stop.drain.wait()
        self.outside.close(Unavailable("The run is stopping.", kind="stopped"))
        with suppress(TimeoutError):
            async with asyncio.timeout(self.stop.grace_s):
                await self.stop.halt.wait()
        self.store.hurry()
        raise _GraceIsOver

    def finish(self, baseline: Baseline | None) -> Report:
        """What came of the run, kept with it; a run that was stopped stays open for a resume."""
        is_partial = self.progress.done < self.progress.total
        is_stopped = is_partial and (self.may_ask or self.stop.drain.is_set())
        is_open = is_stopped and self.stop.reason != "cancelled"
        why = {"kind": self.stop.reason, "message": self.stop.message, "cut_off": self.is_cut_off}
        manifest = {**self.asker.accounts(), "gate": self.plan.gate, "paused": why if is_open else None}
        if is_open:
            self.store.runs.pause(self.run.id, manifest=manifest)
        elif is_partial and not is_stopped:  # it scores replies of another run, which has none to some cases
            manifest["unanswered"] = self.progress.total - self.progress.done
            self.store.runs.describe(self.run.id, manifest)
        report = report_on(self.store, self.run.id, self.plan.gate, baseline, is_partial=is_partial, so_far=self.so_far)
        if not is_open:
            self.store.runs.finish(
                self.run.id,
                "cancelled" if is_stopped else "completed",
                summary=replace(report, trend=None).to_dict(),
                exit_code=report.exit_code,
                manifest={**manifest, "cache_hits": report.cache_hits},
            )
        return settled(self.store, report, self.plan.gate)
