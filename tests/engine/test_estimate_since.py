"""An estimate of a run since another one counts the calls that the run then makes, and no others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from made_plans import cases, plan_for, rows

from cortex_eval.config import Plan
from cortex_eval.core import Case, TargetError, Turn
from cortex_eval.datasets import Selection
from cortex_eval.engine import execute
from cortex_eval.estimate import estimate_run
from cortex_eval.llm import ModelSettings, Prices
from cortex_eval.scoring import JudgeModel, PlannedScorer, plan_scorer, scorers
from cortex_eval.storage import Store
from cortex_eval.targets import PythonTarget
from cortex_eval.testing import Call, ScriptedService, speak_openai

TALK = Case(id="talk", turns=(Turn(text="Question a"), Turn(text="Question b")))
GOOD = '{"reason": "Good.", "verdict": "pass"}'


class Bot:
    """A function, whose replies no cache keeps, with a ledger of what it was asked."""

    def __init__(self) -> None:
        self.ledger: list[str] = []
        self.fails: set[str] = set()

    def answer(self, query: str) -> str:
        self.ledger.append(query)
        if query in self.fails:
            raise TargetError("out of order")
        return query.replace("Question", "Answer")


@pytest.fixture
def bot() -> Bot:
    return Bot()


@pytest.fixture
def model(scripted_service) -> ScriptedService:
    return scripted_service(speak_openai(GOOD))


@pytest.fixture
def plan(bot: Bot) -> Callable[..., Plan]:
    """A plan against the bot, which states its version."""

    def make(asked: list[Case], **fields: Any) -> Plan:
        return plan_for(PythonTarget.of(bot.answer), asked, **{"target_version": "1", **fields})

    return make


@pytest.fixture
def tone(model: ScriptedService) -> Callable[..., PlannedScorer]:
    """A judge that asks the model."""

    def make(prompt: str = "Polite? {answer}", *, jury: tuple[str, ...] = ()) -> PlannedScorer:
        judge = scorers.build("judge", {"prompt": prompt, **({"models": list(jury)} if jury else {})})
        for name in jury or ("judge",):
            settings = ModelSettings(model=name, base_url=model.url, prices=Prices(input=1, output=2))
            judge.use_model(JudgeModel(name=name, settings=settings))
        return plan_scorer(judge, name="tone")

    return make


async def estimated_and_made(plan: Plan, store: Store, *services: Bot | ScriptedService) -> list[tuple[int, int]]:
    """Of each service, the calls that were foretold, and those that came."""
    found = estimate_run(plan, store)
    for service in services:
        service.ledger.clear()
    made = await execute(plan, store)
    if found.reused is not None:
        then = {name: value for name, value in found.reused._asdict().items() if name != "unjudged"}
        assert then == made.run.manifest["reused"]
    foretold = (found.asked.calls, found.judged.calls)
    return [(each, len(service.ledger)) for each, service in zip(foretold, services, strict=False)]


@pytest.mark.parametrize("repeats", [1, 2])
async def test_what_is_taken_over_is_not_counted(store: Store, bot, plan, repeats):
    first = await execute(plan([*cases(5), TALK], repeats=repeats), store)
    changed = [*cases(4), Case.of("Question 4", "Answer four", id="4"), TALK, Case.of("Question 9", id="9")]
    before = rows(store)

    planned = plan(changed, repeats=repeats, changed_since=first.run.id)
    found = estimate_run(planned, store)

    assert rows(store) == before, "an estimate keeps nothing"
    assert len(store.datasets.all()) == 1
    assert found.reused is not None
    assert (found.reused.cases, found.reused.changed, found.reused.new, found.cases) == (5, 1, 1, 7)
    assert await estimated_and_made(planned, store, bot) == [(2 * repeats, 2 * repeats)]


async def test_half_a_conversation_is_counted_whole_and_a_selection_counts_only_its_own(store: Store, bot, plan):
    bot.fails = {"Question b"}
    first = await execute(plan([*cases(3), TALK]), store)
    bot.fails = set()

    some = replace(plan([*cases(3), TALK], changed_since=first.run.id), selection=Selection(case_ids=("0", "talk")))
    found = estimate_run(some, store)

    assert found.reused is not None
    assert (found.reused.cases, found.reused.unanswered) == (1, 1)
    assert await estimated_and_made(some, store, bot) == [(2, 2)]


async def test_another_version_spares_nothing_and_says_why(store: Store, bot, plan):
    first = await execute(plan(cases(3)), store)

    other = plan(cases(3), changed_since=first.run.id, target_version="2")
    found = estimate_run(other, store)

    assert found.reused is not None
    assert found.reused.why == "the target's version was 1 and is 2"
    assert await estimated_and_made(other, store, bot) == [(3, 3)]


async def test_no_call_costs_nothing_even_when_the_price_of_one_is_not_known(store: Store, plan):
    first = await execute(plan(cases(3)), store)

    found = estimate_run(plan(cases(3), changed_since=first.run.id), store)
    all_of_it = estimate_run(plan(cases(3)), store)

    assert (found.asked.calls, found.asked.tokens, found.cost_usd) == (0, 0, 0)
    assert (all_of_it.asked.calls, all_of_it.cost_usd, all_of_it.reused) == (3, None, None)


async def test_a_judge_is_asked_only_about_what_is_new_to_it(store: Store, bot, model, plan, tone):
    first = await execute(plan(cases(4), scorers=[tone()]), store)
    since = {"changed_since": first.run.id}

    assert await estimated_and_made(plan(cases(4), scorers=[tone()], **since), store, bot, model) == [(0, 0), (0, 0)]
    more = plan(cases(6), scorers=[tone()], **since)
    assert await estimated_and_made(more, store, bot, model) == [(2, 2), (2, 2)]
    other = plan(cases(4), scorers=[tone("Kind? {answer}")], **since)
    assert estimate_run(other, store).judged.cost_usd
    assert await estimated_and_made(other, store, bot, model) == [(0, 0), (4, 4)]
    beside = plan(cases(4), scorers=[tone(), "contains"], **since)
    assert await estimated_and_made(beside, store, bot, model) == [(0, 0), (0, 0)], "its verdicts are in the cache"


async def test_a_verdict_that_was_not_given_then_is_counted(store: Store, bot, model, plan, tone):
    def silent_about_two(call: Call) -> Any:
        return speak_openai("Well." if "Answer 2" in str(call.json) else GOOD)(call)

    model.reply = silent_about_two
    first = await execute(plan(cases(4), scorers=[tone()]), store)
    model.reply = speak_openai(GOOD)

    planned = plan(cases(4), scorers=[tone()], changed_since=first.run.id)
    found = estimate_run(planned, store)

    assert found.reused is not None
    assert (found.reused.cases, found.reused.unjudged) == (4, 1)
    assert await estimated_and_made(planned, store, bot, model) == [(0, 0), (1, 1)]


@pytest.mark.parametrize("jury", [(), ("one", "two", "three")])
async def test_a_verdict_that_took_several_calls_then_costs_as_much_again(store: Store, plan, tone, jury):
    made = await execute(plan(cases(4), scorers=[tone(jury=jury)]), store)
    used = made.to_dict()["usage"]["judge"]

    found = estimate_run(plan(cases(8), scorers=[tone(jury=jury)]), store).judged

    assert found.by == f"the mean of 4 verdicts in run {made.run.id}"
    assert found.cost_usd == 2 * Decimal(used["cost"]["USD"])
    assert found.tokens == 2 * (used["input_tokens"] + used["output_tokens"])
    assert found.calls == 8 * max(len(jury), 1)


@pytest.mark.parametrize("later", ["rescore", "changed_since"])
async def test_a_later_run_that_asked_nobody_does_not_hide_what_an_earlier_one_tells(store: Store, plan, tone, later):
    first = await execute(plan(cases(4), scorers=[tone()]), store)
    if later == "rescore":
        await execute(plan(cases(4), scorers=[tone()]), store, rescore=first.run.id)
    else:
        await execute(plan(cases(4), scorers=[tone()], changed_since=first.run.id), store)

    assert f"in run {first.run.id}" in estimate_run(plan(cases(4), scorers=[tone()]), store).judged.by


async def test_judges_that_are_not_asked_take_nothing_and_rest_on_nothing(store: Store, plan, tone):
    first = await execute(plan(cases(4), scorers=[tone()]), store)

    found = estimate_run(plan(cases(4), scorers=[tone()], changed_since=first.run.id), store)

    assert found.judged == (0, 0, 0, 0, "")


@pytest.mark.parametrize(("asked", "at_once", "seconds"), [(cases(1), 10, 1), ([TALK], 10, 2), (cases(8), 2, 4)])
def test_what_comes_one_after_the_other_takes_its_time_however_many_may_go_at_once(
    store, plan, asked, at_once, seconds
):
    assert estimate_run(plan(asked, at_once=at_once), store).seconds_at_1s == seconds
