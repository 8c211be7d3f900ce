"""Run, stop, resume, rescore and delete in any order: the store always agrees with a simple model of it."""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule
from made_plans import cases, plan_for

from cortex_eval.control import Stop
from cortex_eval.core import Reply, TargetError
from cortex_eval.engine import execute
from cortex_eval.storage import Store
from cortex_eval.targets import Conversation, Target

CASES = cases(6)
IDS = [case.id for case in CASES]
Outcome = tuple[str, str, str | None]
"""State, when it was stored, and what was said."""


@dataclass
class Bot(Target):
    """Knows what it was asked, fails where it is told to, and asks for a stop after so many calls."""

    kind: ClassVar[str] = "bot"

    fails: set[str] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)
    stop: Stop | None = None
    stop_after: int = 0

    async def ask(self, turns: Conversation) -> Reply:
        self.asked.append(turns.case.id)
        if self.stop is not None and len(self.asked) >= self.stop_after and not self.stop.drain.is_set():
            self.stop.request("test")
        await asyncio.sleep(0)
        if turns.case.id in self.fails:
            raise TargetError("down", kind="status")
        return Reply(text=f"Answer {turns.case.id}" if int(turns.case.id) % 2 else "No.")


class StoreAndModel(RuleBasedStateMachine):
    """The model: what each run holds of each case."""

    runs = Bundle("runs")

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "cortex.db"
        self.model: dict[str, dict[str, Outcome]] = {}
        self.scored_anew: set[str] = set()

    def teardown(self) -> None:
        self.folder.cleanup()

    def carry_out(self, bot: Bot, *, stop_after: int | None = None, **which: str):
        async def run():
            stop = Stop() if stop_after is not None else None
            bot.stop, bot.stop_after = stop, stop_after or 0
            with Store(self.path) as store:
                return await execute(plan_for(bot, CASES, at_once=2), store, stop=stop, **which)

        return asyncio.run(run())

    def stored(self, run: str) -> dict[str, Outcome]:
        with Store(self.path) as store:
            return {
                each.case_id: (each.state, each.timestamp, each.reply.text if each.reply else None)
                for each in store.results.read(run)
            }

    def note(self, run: str, bot: Bot) -> None:
        """Take over what the store holds, after checking it against what the model knows."""
        found = self.stored(run)
        for case, before in self.model.get(run, {}).items():
            if not before[0].startswith("error"):
                assert found[case] == before, "what was done stays as it was"
        for case, (state, _, said) in found.items():
            if case in bot.asked:
                right = "passed" if int(case) % 2 else "failed"
                assert state == ("error_target" if case in bot.fails else right)
            assert (said is None) == (state == "error_target")
        self.model[run] = found

    @rule(target=runs, fails=st.sets(st.sampled_from(IDS), max_size=2), stop_after=st.none() | st.integers(1, 6))
    def run(self, fails, stop_after):
        bot = Bot(fails)
        report = self.carry_out(bot, stop_after=stop_after)
        self.note(report.run.id, bot)
        assert sorted(bot.asked) == sorted(self.model[report.run.id]), "every call is stored, each case asked once"
        self.check(report)
        return report.run.id

    @rule(run=runs, fails=st.sets(st.sampled_from(IDS), max_size=2), stop_after=st.none() | st.integers(1, 6))
    def resume(self, run, fails, stop_after):
        if run not in self.model or run in self.scored_anew:
            return
        open_cases = {case for case in IDS if self.model[run].get(case, ("error",))[0].startswith("error")}
        bot = Bot(fails)
        report = self.carry_out(bot, stop_after=stop_after, resume=run)
        assert set(bot.asked) <= open_cases, "nothing that is done is asked again"
        assert len(bot.asked) == len(set(bot.asked))
        self.note(run, bot)
        if stop_after is None:
            assert set(bot.asked) == open_cases
        self.check(report)

    @rule(target=runs, run=runs)
    def rescore(self, run):
        if run not in self.model:
            return run
        bot = Bot()
        report = self.carry_out(bot, rescore=run)
        assert bot.asked == []
        self.model[report.run.id] = self.stored(report.run.id)
        assert self.model[report.run.id] == self.model[run], "the same scorers say the same of the same replies"
        self.scored_anew.add(report.run.id)
        self.check(report)
        return report.run.id

    @rule(run=consumes(runs))
    def delete(self, run):
        if run in self.model:
            with Store(self.path) as store:
                store.runs.delete(run)
            del self.model[run]

    def check(self, report) -> None:
        held = self.model[report.run.id]
        assert report.totals.cases == len(held)
        is_whole = len(held) == len(IDS)
        is_clean = is_whole and not any(state.startswith("error") for state, *_ in held.values())
        assert report.run.status in ("completed", "paused")
        is_scored_anew = report.run.id in self.scored_anew
        assert is_whole or report.run.status == ("completed" if is_scored_anew else "paused")
        assert not is_clean or report.run.status == "completed"
        assert (report.exit_code == 3) == (not is_clean), "a partial run and one with errors never pass"

    @invariant()
    def the_store_holds_these_runs_and_no_others(self):
        with Store(self.path) as store:
            assert {run.id for run in store.runs.all()} == set(self.model)
            assert all(run.status in ("completed", "paused") for run in store.runs.all())


StoreAndModel.TestCase.settings = settings(
    max_examples=15, stateful_step_count=8, deadline=None, suppress_health_check=list(HealthCheck)
)
TestStoreAndModel = pytest.mark.slow(StoreAndModel.TestCase)
