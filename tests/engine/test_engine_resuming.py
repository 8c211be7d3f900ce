"""What is stored is not asked for again: resume, rescore and the cache."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from made_plans import cases, plan_for, right, rows, states, waits

from cortex_eval.control import Stop
from cortex_eval.core import Case, InputError, Reply, Turn, changed
from cortex_eval.engine import execute
from cortex_eval.outcome import name_run, report_on
from cortex_eval.targets import PythonTarget, targets
from cortex_eval.testing import answers_by


def some_fail(call):
    return 400 if call.json["query"] in ("Question 1", "Question 4") else right(call)


async def test_p05_resume_asks_only_what_ended_in_an_error_and_keeps_the_earlier_row(scripted_service, store):
    bot = scripted_service(some_fail)
    plan = plan_for(bot.url, cases(6))
    first = await execute(plan, store)
    before = rows(store, "ordinal, attempt, state, timestamp, reply, error_message")
    bot.ledger.clear()
    bot.reply = right

    second = await execute(plan, store, resume=first.run.id)

    assert sorted(call.json["query"] for call in bot.ledger) == ["Question 1", "Question 4"]
    after = rows(store, "ordinal, attempt, state, timestamp, reply, error_message")
    assert [row for row in after if row[1] == 0] == before
    assert [row[:3] for row in after if row[1] == 1] == [(1, 1, "passed"), (4, 1, "passed")]
    assert (first.totals.errors, second.totals.errors, second.totals.passed) == (2, 0, 6)
    assert second.run.id == first.run.id


async def test_an_error_that_stays_is_a_further_attempt_each_time(scripted_service, store):
    bot = scripted_service(some_fail)
    plan = plan_for(bot.url, cases(5))
    run = (await execute(plan, store)).run.id
    for _ in range(2):
        report = await execute(plan, store, resume=run)

    assert [row for row in rows(store, "ordinal, attempt") if row[0] == 4] == [(4, 0), (4, 1), (4, 2)]
    assert report.totals.errors == 2
    assert report.totals.cases == 5


async def test_resuming_a_finished_run_changes_nothing(scripted_service, store):
    bot = scripted_service(right)
    plan = plan_for(bot.url, cases(4))
    first = await execute(plan, store)
    before = store.runs.find(first.run.id), rows(store, "*")

    again = await execute(plan, store, resume=first.run.id)

    assert (store.runs.find(first.run.id), rows(store, "*")) == before
    assert len(bot.ledger) == 4
    assert again.exit_code == first.exit_code == 0


async def test_p04_f20_when_the_judge_was_down_resume_asks_the_judge_and_not_the_target(scripted_service, store):
    bot = scripted_service(right)
    is_down = True

    async def judge(case, reply) -> float:
        if is_down:
            raise OSError("no judge here")
        return 1.0

    plan = plan_for(bot.url, cases(5), scorers=[waits(judge)])
    first = await execute(plan, store)
    is_down = False
    second = await execute(plan, store, resume=first.run.id)

    assert (first.totals.errors, second.totals.passed) == (5, 5)
    assert len(bot.ledger) == 5


async def test_a_conversation_that_failed_half_way_goes_on_there(scripted_service, store):
    def second_fails(call):
        return 400 if call.json["query"] == "two" else {"text": "ok", "intent": "greet", "entities": {"a": 1}}

    bot = scripted_service(second_fails)
    talk = Case(id="talk", turns=(Turn(text="one"), Turn(text="two"), Turn(text="three")))
    plan = plan_for(bot.url, [talk], scorers=["performance"])
    first = await execute(plan, store)
    bot.reply = {"text": "ok"}
    second = await execute(plan, store, resume=first.run.id)

    assert [call.json["query"] for call in bot.ledger] == ["one", "two", "two", "three"]
    assert bot.ledger[1].json == bot.ledger[2].json
    assert len({call.headers["X-Session-Id"] for call in bot.ledger}) == 1
    assert (first.totals.errors, second.totals.passed) == (1, 1)
    assert rows(store, "turn, attempt, state") == [
        (0, 0, "passed"), (1, 0, "error_target"), (1, 1, "passed"), (2, 0, "passed"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"passing_threshold": 0.9}, "passing_threshold was 0.7 and is 0.9"),
        ({"dataset": cases(4)}, "dataset cases has changed"),
        ({"target_version": "2"}, r"target.version was None and is '2'"),
        ({"repeats": 2}, "repeats was 1 and is 2"),
    ],
)
async def test_cl04_another_plan_does_not_resume_a_run_and_is_told_why(scripted_service, store, change, told):
    bot = scripted_service(some_fail)
    plan = plan_for(bot.url, cases(5))
    run = (await execute(plan, store)).run

    with pytest.raises(InputError, match=told):
        await execute(replace(plan, **change), store, resume=run.id)

    assert store.runs.find(run.id) == run
    assert len(bot.ledger) == 5
    assert len(store.datasets.all()) == 1, "a dataset that was refused is not kept"


async def test_rescore_makes_no_call_and_leaves_the_first_run_alone(scripted_service, store):
    bot = scripted_service(some_fail)
    first = await execute(plan_for(bot.url, cases(6)), store)
    before = rows(store, "*")
    bot.from_thread(bot.go_down())

    second = await execute(plan_for(bot.url, cases(6), scorers=["contains"]), store, rescore=first.run.id)

    assert len(bot.ledger) == 6
    assert rows(store, "*")[: len(before)] == before
    assert second.run.id != first.run.id
    assert second.run.manifest["parent"] == first.run.id
    assert set(second.metrics) >= {"contains"}
    assert states(store, second.run.id) == states(store, first.run.id)


async def test_a_scorer_sees_the_payload_again_when_a_run_is_rescored(scripted_service, store):
    seen: list[Any] = []

    async def look(_case: Case, reply: Reply) -> float:
        seen.append(reply.raw)
        return 1.0

    bot = scripted_service({"text": "Hi.", "own": {"score": 7}})
    plan = plan_for(bot.url, cases(1), scorers=[waits(look)])
    first = await execute(plan, store)
    await execute(plan, store, rescore=first.run.id)

    assert seen == [{"text": "Hi.", "own": {"score": 7}}] * 2


async def test_rescore_does_not_even_need_the_target(scripted_service, store):
    first = await execute(plan_for(scripted_service(right).url, cases(2)), store)
    gone = targets.build("python", {"call": "no_such_module:bot"})

    second = await execute(plan_for(gone, cases(2)), store, rescore=first.run.id)

    assert second.totals.passed == 2


async def stopped_after(number: int, scripted_service, store, **fields: Any):
    """A run that was asked to stop at this call, with its plan and its bot."""
    stop, loop = Stop(), asyncio.get_running_loop()

    def stop_early(call):
        if call.number == number:
            loop.call_soon_threadsafe(stop.request, "test")
        return right(call)

    bot = scripted_service(stop_early, latency_s=0.02)
    plan = plan_for(bot.url, cases(30), **{"at_once": 2, **fields})
    return await execute(plan, store, stop=stop), plan, bot


async def test_the_rescore_of_a_partial_run_ends_says_what_is_missing_and_never_passes(scripted_service, store):
    first, plan, bot = await stopped_after(3, scripted_service, store)
    second = await execute(plan, store, rescore=first.run.id)
    answered = len(bot.ledger)

    assert (first.run.status, second.run.status) == ("paused", "completed")
    assert second.run.manifest["unanswered"] == 30 - second.totals.cases == 30 - answered > 0
    again = report_on(store, second.run.id, plan.gate)
    for report in (second, again):
        assert (report.gate.verdict, report.exit_code) == ("error", 3)
        assert (
            f"Run {first.run.id}, whose replies these are, has none to {30 - answered} of 30 cases" in report.notes[-1]
        )
    with pytest.raises(InputError, match=f"lacks {30 - answered} replies .* cortex run --resume {first.run.id} && "):
        name_run(store, again, "main")


async def test_resuming_the_rescore_of_a_partial_run_calls_nobody_and_ends_as_it_did(scripted_service, store):
    first, plan, bot = await stopped_after(3, scripted_service, store)
    second = await execute(plan, store, rescore=first.run.id)
    answered = len(bot.ledger)

    third = await execute(plan, store, resume=second.run.id)

    assert len(bot.ledger) == answered
    assert (third.run.id, third.run.status, third.exit_code) == (second.run.id, "completed", 3)


async def test_a_rescore_whose_parent_lacks_a_repeat_is_partial_whenever_it_is_looked_at(scripted_service, store):
    first, plan, _ = await stopped_after(59, scripted_service, store, repeats=2, at_once=1)
    assert first.totals.cases == 30, "every case was answered once"

    second = await execute(plan, store, rescore=first.run.id)

    assert second.run.status == "completed"
    assert second.exit_code == report_on(store, second.run.id, plan.gate).exit_code == 3


async def test_a_rescore_that_is_stopped_goes_on_later_without_the_target_and_ends(scripted_service, store):
    stop, judged = Stop(), list[str]()

    async def stops(case: Case, _reply: Reply) -> float:
        judged.append(case.id)
        if len(judged) == 2:
            stop.request("test")
        return 1.0

    first, plan, _ = await stopped_after(20, scripted_service, store)
    gone = targets.build("python", {"call": "no_such_module:bot"})
    plan = replace(plan, at_once=1, scorers=(waits(stops),), target=gone)
    second = await execute(plan, store, rescore=first.run.id, stop=stop)
    third = await execute(plan, store, resume=second.run.id)

    assert (second.run.status, third.run.status) == ("paused", "completed")
    assert sorted(judged) == sorted(each.case_id for each in store.results.read(first.run.id))
    assert third.run.manifest["unanswered"] == 30 - len(judged)


VERSIONED = {"target_version": "1"}


async def test_p23_replies_are_cached_only_when_the_service_states_a_version(scripted_service, store):
    bot = scripted_service(right)
    for version, calls in ((None, 3), (None, 6), ("1", 9), ("1", 9), ("2", 12), (None, 15)):
        report = await execute(plan_for(bot.url, cases(3), target_version=version), store)
        assert len(bot.ledger) == calls
        assert report.totals.passed == 3


async def test_p23_cached_replies_are_marked_and_counted(scripted_service, store):
    plan = plan_for(scripted_service(right).url, cases(3), **VERSIONED)
    first, second = await execute(plan, store), await execute(plan, store)

    assert (first.cache_hits, second.cache_hits) == (0, 3)
    assert {each.cached for each in store.results.read(second.run.id)} == {True}
    assert store.runs.find(second.run.id).manifest["cache_hits"] == 3


async def test_p23_repeats_never_share_a_reply(scripted_service, store):
    bot = scripted_service(lambda call: {"text": str(call.number)})
    plan = plan_for(bot.url, cases(2), repeats=3, scorers=["performance"], **VERSIONED)
    first = await execute(plan, store)
    second = await execute(plan, store)

    texts = [[each.reply.text for each in store.results.read(report.run.id)] for report in (first, second)]
    assert texts[0] == texts[1]
    assert len(set(texts[0])) == 6
    assert len(bot.ledger) == 6


async def test_p23_errors_and_empty_replies_are_never_cached(scripted_service, store):
    bot = scripted_service(
        answers_by("query", {"Question 0": 400, "Question 1": {"text": ""}}, otherwise={"text": "a"})
    )
    plan = plan_for(bot.url, cases(3), **VERSIONED)
    await execute(plan, store)
    bot.ledger.clear()
    await execute(plan, store)

    assert sorted(call.json["query"] for call in bot.ledger) == ["Question 0", "Question 1"]


CHANGES = {
    "text": {"turns": (Turn(text="other"),)},
    "context": {"context": {"user": "b"}},
    "language": {"language": "hi"},
    "category": {"category": "billing"},
    "passages": {"passages": ("other text",)},
    "history": {"history": (Turn(text="before", role="assistant"),)},
    "id": {"id": "other"},
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
async def test_p23_whatever_a_request_may_hold_misses_the_cache_when_it_changes(scripted_service, store, change):
    bot = scripted_service({"text": "a"})
    case = Case(id="a", turns=(Turn(text="q"),), context={"user": "a"}, language="en", category="c", passages=("text",))
    for asked, calls in ((case, 1), (case, 1), (changed(case, **change), 2), (case, 2)):
        await execute(plan_for(bot.url, [asked], scorers=["performance"], **VERSIONED), store)
        assert len(bot.ledger) == calls


async def test_p23_other_settings_of_the_target_miss_the_cache(scripted_service, store):
    bot = scripted_service({"text": "a"})
    plan = plan_for(bot.url, cases(1), **VERSIONED)
    await execute(plan, store)
    await execute(replace(plan, target_settings={**plan.target_settings, "test_user_id": "other"}), store)

    assert len(bot.ledger) == 2


async def test_a_local_target_is_never_cached(store):
    asked = []
    bot = PythonTarget.of(lambda question: asked.append(question) or "a")
    plan = plan_for(bot, cases(2), **VERSIONED)
    await execute(plan, store)
    await execute(plan, store)

    assert len(asked) == 4
