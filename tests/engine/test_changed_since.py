"""A run since another one asks only what changed; the rest is that run's, and the report says so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from made_plans import cases, plan_for, right, rows, states

from cortex_eval.config import Plan
from cortex_eval.core import Case, Reply, Score, TargetError, Turn
from cortex_eval.datasets import Selection
from cortex_eval.engine import execute
from cortex_eval.scoring import plan_scorer
from cortex_eval.storage import Store
from cortex_eval.targets import PythonTarget


class Bot:
    """A function that answers `cases` rightly, but for those in `wrong`, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.wrong: set[str] = set()
        self.fails: set[str] = set()

    def answer(self, query: str) -> str:
        self.asked.append(query)
        if query in self.fails:
            raise TargetError("out of order")
        return "Wrong" if query in self.wrong else query.replace("Question", "Answer")


@pytest.fixture
def bot() -> Bot:
    return Bot()


@pytest.fixture
def plan(bot: Bot) -> Callable[..., Plan]:
    """A plan of some cases against the bot, which states its version."""

    def make(asked: list[Case], **fields: object) -> Plan:
        target = PythonTarget.of(bot.answer)
        return plan_for(target, asked, **{"target_version": "1", **fields})

    return make


async def test_what_did_not_change_is_not_asked_and_keeps_its_verdict(store: Store, bot: Bot, plan):
    bot.wrong = {"Question 2"}
    first = await execute(plan(cases(5)), store)
    bot.asked.clear()
    changed = [*cases(4), Case.of("Question 4", "Answer four", id="4"), Case.of("Question 9", "Answer 9", id="9")]

    second = await execute(plan(changed, changed_since=first.run.id), store)

    assert sorted(bot.asked) == ["Question 4", "Question 9"]
    assert states(store, second.run.id) == {
        "0": "passed",
        "1": "passed",
        "2": "failed",
        "3": "passed",
        "4": "failed",
        "9": "passed",
    }
    assert second.run.manifest["reused"] == {
        "run": first.run.id,
        "cases": 4,
        "changed": 1,
        "new": 1,
        "unanswered": 0,
        "why": "",
    }
    assert any(
        note == f"Since run {first.run.id}: 4 unchanged, their replies reused with their verdicts; "
        "2 asked: 1 changed, 1 new."
        for note in second.notes
    )
    assert (second.totals.cases, second.calls.asked, second.cache_hits) == (6, 2, 4)
    marks = {each.case_id: (each.reused, each.cached) for each in store.results.read(second.run.id)}
    assert marks["0"] == (True, True)
    assert marks["9"] == (False, False)


async def test_other_scorers_score_the_same_replies_again(store: Store, bot: Bot, plan):
    first = await execute(plan(cases(4)), store)
    bot.asked.clear()

    second = await execute(plan(cases(4), scorers=["exact", "contains"], changed_since=first.run.id), store)

    assert bot.asked == []
    assert second.metrics["contains"].scored == 4
    assert second.run.manifest["reused"]["why"] == "changed: contains"
    assert "scored again (changed: contains)" in " ".join(second.notes)
    assert not any(each.reused for each in store.results.read(second.run.id))


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"target_version": "2"}, "the target's version was 1 and is 2"),
        ({"target_settings": {"temperature": 1}}, "the target has other settings"),
        ({"target_name": "else"}, "the target's name was bot and is else"),
    ],
)
async def test_another_target_is_asked_everything_and_that_is_told(store: Store, bot: Bot, plan, fields, why):
    first = await execute(plan(cases(3)), store)
    bot.asked.clear()

    second = await execute(replace(plan(cases(3), changed_since=first.run.id), **fields), store)

    assert len(bot.asked) == 3
    assert f"Nothing of run {first.run.id} was reused: {why}. Every case was asked." in second.notes


async def test_replies_of_a_remote_target_without_a_version_are_never_reused(scripted_service, store: Store):
    service = scripted_service(right)
    first = await execute(plan_for(service.url, cases(3)), store)
    service.ledger.clear()

    second = await execute(plan_for(service.url, cases(3), changed_since=first.run.id), store)

    assert len(service.ledger) == 3
    assert any("bot states no version, so nobody can tell" in note for note in second.notes)


async def test_an_error_and_half_a_conversation_are_asked_again_whole(store: Store, bot: Bot, plan):
    talk = Case(id="talk", turns=(Turn(text="Question a"), Turn(text="Question b")))
    asked = [*cases(2), talk]
    bot.fails = {"Question 1", "Question b"}
    first = await execute(plan(asked), store)
    bot.fails, bot.asked = set(), []

    second = await execute(plan(asked, changed_since=first.run.id), store)

    assert sorted(bot.asked) == ["Question 1", "Question a", "Question b"]
    assert second.run.manifest["reused"]["unanswered"] == 2
    assert second.totals.errors == 0
    assert len(rows(store, "run_no")) == len({*rows(store, "run_no, ordinal, repeat, turn, attempt")})


async def test_a_selection_takes_over_only_what_it_chose(store: Store, bot: Bot, plan):
    first = await execute(plan(cases(6)), store)
    bot.asked.clear()
    some = replace(plan(cases(6), changed_since=first.run.id), selection=Selection(case_ids=("1", "5")))

    second = await execute(some, store)

    assert bot.asked == []
    assert states(store, second.run.id) == {"1": "passed", "5": "passed"}
    assert second.totals.cases == 2


async def test_more_repeats_than_then_are_asked(store: Store, bot: Bot, plan):
    first = await execute(plan(cases(2), repeats=2), store)
    bot.asked.clear()
    assert (await execute(plan(cases(2), repeats=2, changed_since=first.run.id), store)).totals.passed == 2
    assert bot.asked == []

    third = await execute(plan(cases(2), repeats=3, changed_since=first.run.id), store)

    assert len(bot.asked) == 6
    assert third.run.manifest["reused"]["unanswered"] == 2


async def test_judges_of_reused_verdicts_are_not_paid_twice(store: Store, plan):
    class Judge:
        async def score(self, case: Case, reply: Reply) -> Score:
            evidence = {"tokens": {"input": 10, "output": 1}, "cost": {"amount": "0.01", "currency": "USD"}}
            return Score(name="judge", value=1.0, source="judge", evidence=evidence)

    judge = replace(plan_scorer("exact"), name="judge", scorer=Judge())
    first = await execute(plan(cases(3), scorers=[judge]), store)

    second = await execute(plan(cases(3), scorers=[judge], changed_since=first.run.id), store)

    assert first.judge_usage is not None
    assert first.judge_usage.replies == 3
    assert second.judge_usage is None
    assert second.metrics["judge"].scored == 3
