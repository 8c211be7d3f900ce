"""How cases are asked: so many at once, each reply on disk before it is scored, errors as states and not as scores."""

from __future__ import annotations

import asyncio
import re
import sqlite3
import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar

import pytest
from made_plans import cases, chatbot, plan_for, right, rows, states, waits
from numpy import float64

from cortex_eval.core import InputError, JudgeError, Money, Reply, Score, Usage
from cortex_eval.engine import BACKLOG, execute
from cortex_eval.scoring import PlannedScorer
from cortex_eval.targets import Conversation, PythonTarget, Target, targets
from cortex_eval.testing import Answer, answers_by, hang, one_in, reset, sequence


async def test_never_more_than_so_many_calls_at_once(scripted_service, store):
    bot = scripted_service(right, latency_s=0.02)

    report = await execute(plan_for(bot.url, cases(60), at_once=7), store)

    assert bot.peak_in_flight == 7
    assert report.totals.passed == 60
    assert len(bot.ledger) == 60


async def test_a_reply_is_on_disk_before_it_is_scored(scripted_service, store):
    async def is_stored(case, reply) -> float:
        with closing(sqlite3.connect(store.path)) as connection:
            found = connection.execute(
                "SELECT count(*) FROM cortex_results r JOIN cortex_cases c USING (ordinal) "
                "WHERE c.case_id=? AND r.state='pending' AND instr(CAST(r.reply AS TEXT), ?)",
                (case.id, reply.text),
            ).fetchone()
        return float(found[0])

    report = await execute(plan_for(scripted_service(right).url, cases(30), scorers=[waits(is_stored)]), store)

    assert report.totals.passed == 30


async def test_a_slow_scorer_does_not_stop_the_asking(scripted_service, store):
    at_once = 3
    loop, all_asked = asyncio.get_running_loop(), asyncio.Event()

    def answer(call):
        if call.number == at_once * BACKLOG:
            loop.call_soon_threadsafe(all_asked.set)
        return right(call)

    async def wait_for_all(case, reply) -> float:
        await all_asked.wait()  # for ever, if a case that is being scored kept its place at the target
        return 1.0

    asked = cases(at_once * BACKLOG)
    async with asyncio.timeout(10):
        report = await execute(
            plan_for(scripted_service(answer).url, asked, at_once=at_once, scorers=[waits(wait_for_all)]), store
        )

    assert report.totals.passed == len(asked)


async def test_a_very_slow_scorer_stops_the_asking_before_replies_fill_the_memory(scripted_service, store):
    bot = scripted_service(right)
    go = asyncio.Event()

    async def wait(case, reply) -> float:
        await go.wait()
        return 1.0

    async with asyncio.TaskGroup() as group:
        run = group.create_task(execute(plan_for(bot.url, cases(40), at_once=2, scorers=[waits(wait)]), store))
        await bot.calls_arrived(2 * BACKLOG)
        with pytest.raises(TimeoutError):
            await bot.calls_arrived(2 * BACKLOG + 1, timeout_s=0.3)
        go.set()

    assert run.result().totals.passed == 40


async def test_the_order_is_shuffled_by_the_seed(scripted_service, store):
    bot = scripted_service(right)
    orders = []
    for seed in (1, 1, 2):
        bot.ledger.clear()
        await execute(plan_for(bot.url, cases(30), at_once=1, seed=seed), store)
        orders.append([call.json["query"] for call in bot.ledger])

    assert orders[0] == orders[1]
    assert orders[0] != orders[2]
    assert orders[0] != [case.input for case in cases(30)]
    assert sorted(orders[0]) == sorted(orders[2])


async def test_repeats_are_asked_and_kept_apart(scripted_service, store):
    bot = scripted_service(lambda call: {"text": f"Take {call.number}"})

    report = await execute(plan_for(bot.url, cases(4), repeats=3, scorers=["performance"]), store)

    found = [(each.case_id, each.repeat, each.reply.text) for each in store.results.read(report.run.id)]
    assert [(case, repeat) for case, repeat, _ in found] == [(str(case), n) for case in range(4) for n in range(3)]
    assert len({text for _, _, text in found}) == 12
    assert len({call.headers["X-Session-Id"] for call in bot.ledger}) == 12


async def test_p16_an_error_of_the_target_is_a_state_and_never_a_score(scripted_service, store):
    bot = scripted_service(answers_by("query", {"Question 0": 400, "Question 1": 404}, otherwise={"text": "Answer 2"}))

    report = await execute(plan_for(bot.url, cases(3)), store)

    results = {each.case_id: each for each in store.results.read(report.run.id)}
    assert [results[case].state for case in "012"] == ["error_target", "error_target", "passed"]
    assert (results["0"].overall, results["0"].passed, results["0"].scores, results["0"].reply) == (
        None,
        None,
        {},
        None,
    )
    assert results["0"].error.kind == "status"
    assert "400" in results["0"].error.message
    metric = report.metrics["exact"]
    assert (metric.mean, metric.scored, metric.total) == (1.0, 1, 3)
    assert report.exit_code == 3


async def test_p16_an_error_of_a_scorer_is_a_state_and_never_a_score(scripted_service, store):
    async def no_verdict(case, reply) -> float:
        if case.id == "1":
            raise JudgeError("The judge said: maybe.", kind="unparseable")
        return 1.0

    report = await execute(plan_for(scripted_service(right).url, cases(3), scorers=[waits(no_verdict)]), store)

    results = {each.case_id: each for each in store.results.read(report.run.id)}
    assert [results[case].state for case in "012"] == ["passed", "error_judge", "passed"]
    assert (results["1"].overall, results["1"].passed) == (None, None)
    assert results["1"].scores["waits"]["error"]["kind"] == "unparseable"
    assert results["1"].reply.text == "Answer 1"
    assert (report.metrics["waits"].scored, report.exit_code) == (2, 3)


async def test_tr04_two_failures_and_a_success_pass_with_three_attempts_and_the_time_of_the_last(
    scripted_service, store
):
    slow = Answer(status=500, body=b"{}", latency_s=0.2)
    bot = scripted_service(sequence(slow, slow, {"text": "Answer 0"}))

    report = await execute(plan_for(bot.url, cases(1), retries=2), store)

    (result,) = store.results.read(report.run.id)
    assert (result.state, result.attempts) == ("passed", 3)
    assert result.latency_ms < 200
    assert len({call.headers["Idempotency-Key"] for call in bot.ledger}) == 1


async def test_retries_end_where_they_are_configured_to(scripted_service, store):
    bot = scripted_service(500)

    report = await execute(plan_for(bot.url, cases(2), retries=3), store)

    assert Counter(call.json["query"] for call in bot.ledger) == {"Question 0": 4, "Question 1": 4}
    assert [each.attempts for each in store.results.read(report.run.id)] == [4, 4]


async def test_what_cannot_pass_by_itself_is_not_asked_again(scripted_service, store):
    bot = scripted_service(422)

    await execute(plan_for(bot.url, cases(2), retries=3), store)

    assert len(bot.ledger) == 2


async def test_f12_a_connection_that_is_torn_down_now_and_then_costs_a_retry_and_no_case(scripted_service, store):
    bot = scripted_service(one_in(5, reset(), otherwise=right))

    report = await execute(plan_for(bot.url, cases(40), retries=4), store)

    assert report.totals.passed == 40
    assert sum(each.attempts for each in store.results.read(report.run.id)) == len(bot.ledger)


async def test_f12_a_target_that_refuses_every_connection_is_an_error_and_never_a_zero(scripted_service, store):
    bot = scripted_service(right)
    bot.from_thread(bot.go_down())

    report = await execute(plan_for(bot.url, cases(3), retries=1), store)

    results = list(store.results.read(report.run.id))
    assert {(each.state, each.error.kind, each.attempts, each.overall) for each in results} == {
        ("error_target", "connection", 2, None)
    }
    assert report.exit_code == 3


@pytest.mark.slow
async def test_f16_a_call_that_hangs_is_given_up_in_time_and_holds_up_nobody(scripted_service, store):
    bot = scripted_service(lambda call: hang() if call.json["query"] == "Question 3" else right(call))
    started = time.monotonic()

    report = await execute(plan_for(bot.url, cases(20), at_once=2, timeout_s=1.0), store)

    assert 1.0 <= time.monotonic() - started < 2.0
    found = states(store, report.run.id)
    assert found.pop("3") == "error_target"
    assert set(found.values()) == {"passed"}


async def test_p22_a_reply_or_an_error_that_no_file_can_hold_costs_its_own_case_only(store):
    def bot(question: str):
        if question == "Question 0":
            raise ValueError("half a character: \ud83d")
        if question == "Question 1":
            return "half a character: \ud83d"
        if question == "Question 2":
            return {"text": "a", "entities": {"n": 2**70}}
        return question.replace("Question", "Answer")

    async with asyncio.timeout(20):
        report = await execute(plan_for(PythonTarget.of(bot), cases(6)), store)

    found = states(store, report.run.id)
    assert [found[case] for case in "012345"] == ["error_target"] * 3 + ["passed"] * 3


MISFITS = {
    "0": Reply(text="a", usage=Usage(cost=Money(amount=Decimal("NaN")))),
    "1": Reply(text="a", usage="lots"),  # type: ignore[arg-type]  # as all of these: somebody else's code
    "2": Reply(text="a", contexts=None),  # type: ignore[arg-type]
    "3": Reply(text="a", parse_time_ms="12"),  # type: ignore[arg-type]
    "4": Reply(text="a", cached=None),  # type: ignore[arg-type]
    "5": Reply(text=None),  # type: ignore[arg-type]
    "6": Reply(text="a", metadata={"n": 2**70}),
    "7": None,
}


@dataclass
class Odd(Target):
    """A plugin's target."""

    kind: ClassVar[str] = "odd"

    async def ask(self, turns: Conversation) -> Reply:
        return MISFITS.get(turns.case.id, Reply(text="Answer 8"))  # type: ignore[return-value]


@pytest.mark.parametrize("is_callable", [True, False], ids=["callable", "plugin"])
async def test_p22_a_reply_of_the_wrong_types_costs_its_own_case_only(store, is_callable):
    def odd(conversation: Conversation) -> Reply | None:
        return MISFITS.get(conversation.case.id, Reply(text="Answer 8"))

    report = await execute(plan_for(PythonTarget.of(odd) if is_callable else Odd(), cases(9)), store)

    found = {each.case_id: each for each in store.results.read(report.run.id)}
    assert {found[case].error.kind for case in MISFITS} == {"bad_return"}
    assert (found["8"].state, found["8"].reply.text) == ("passed", "Answer 8")
    assert report.totals.errors == 8


async def test_a_scorer_that_says_what_no_file_can_hold_costs_its_own_verdict_only(scripted_service, store):
    class Odd:
        async def score(self, case, reply):
            if case.id == "0":
                raise ValueError("half: \ud83d")
            if case.id == "1":
                return Score(name="odd", value=1.0, reason="half: \ud83d")
            if case.id == "3":
                return Score(name="odd", value=1.0, passed=object())  # type: ignore[arg-type]  # somebody else's code
            if case.id == "4":
                return Score(name="odd", value=1.0, measure=float64(2.5))
            return Score(name="odd", value=1.0, evidence={"n": 2**70} if case.id == "2" else None)

    odd = PlannedScorer(name="odd", scorer=Odd(), kind="odd")
    async with asyncio.timeout(20):
        report = await execute(plan_for(scripted_service(right).url, cases(6), scorers=[odd]), store)

    found = {each.case_id: each for each in store.results.read(report.run.id)}
    assert [found[case].state for case in "012345"] == ["error_judge"] * 4 + ["passed"] * 2
    assert found["4"].scores["odd"]["measure"] == 2.5


async def test_a_target_that_cannot_be_had_leaves_no_run_behind(store):
    target = targets.build("python", {"call": "no_such_module:bot"})

    with pytest.raises(InputError, match="no_such_module"):
        await execute(plan_for(target, cases(2)), store)

    assert store.runs.all() == []


async def test_a_bug_in_a_plugin_target_is_an_error_of_each_case(store):
    class Broken(type(chatbot("http://127.0.0.1/"))):
        async def ask(self, turns):
            raise SystemExit(7) if turns.case.id == "0" else KeyError("oops")

    report = await execute(plan_for(Broken(api_url="http://127.0.0.1/"), cases(2)), store)

    assert [each.error.kind for each in store.results.read(report.run.id)] == ["raised", "raised"]
    assert rows(store, "state") == [("error_target",), ("error_target",)]


@pytest.mark.parametrize("step", ["prepare", "complete"])
@pytest.mark.parametrize("is_async", [True, False])
async def test_what_a_plugin_target_raises_before_or_after_the_call_is_an_error_of_that_case(store, step, is_async):
    def fails(turns: Conversation, *_: Reply) -> Any:
        if turns.case.id == "0":
            raise KeyError("oops")
        if turns.case.id == "1":
            raise SystemExit(7)
        return _[0] if _ else turns

    async def fails_later(_self: Target, *given: Any) -> Any:
        return fails(*given)

    class Broken(Target):
        async def ask(self, turns: Conversation) -> Reply:
            return Reply(text=f"Answer {turns.case.id}")

    setattr(Broken, step, fails_later if is_async else lambda _self, *given: fails(*given))

    report = await execute(plan_for(Broken(), cases(4)), store)

    found = {each.case_id: each for each in store.results.read(report.run.id)}
    assert [found[case].state for case in "01"] == ["error_target"] * 2
    if is_async:
        assert [found[case].state for case in "23"] == ["passed"] * 2
    place = r"\(\S*test_engine_asking\.py:\d+ in fails\)"
    assert re.fullmatch(rf"The target raised KeyError: 'oops' {place}", found["0"].error.message)
    assert found["0"].error.kind == found["1"].error.kind == "raised"


async def test_what_a_plugin_target_makes_of_its_reply_is_checked_as_the_reply_is(store):
    class Forgetful(Target):
        kind = "forgetful"

        async def ask(self, turns: Conversation) -> Reply:
            return Reply(text=f"Answer {turns.case.id}")

        async def complete(self, turns: Conversation, reply: Reply) -> Reply:
            return None if turns.case.id == "0" else reply

    report = await execute(plan_for(Forgetful(), cases(2)), store)

    found = {each.case_id: each for each in store.results.read(report.run.id)}
    assert (found["0"].error.kind, found["1"].state) == ("bad_return", "passed")
    assert found["0"].error.message.startswith("forgetful gave back None.")
