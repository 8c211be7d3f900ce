"""The judge's model as a service of a run: its failures, limits that all share, and what need not be asked again."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import pytest
from clinic_judge import (
    CASE,
    PROMPT,
    REPLY,
    at_work,
    board_judges,
    judge_at,
    kind_of,
    says,
    score_with,
    sequence_of,
    told,
)
from judges_at_work import PATIENT

from cortex_eval.core import JudgeError, Reply, Unavailable, changed
from cortex_eval.net import Budget, JsonClient, Line, Outside
from cortex_eval.scoring import run_scorer
from cortex_eval.testing import Call, hang, sequence, speak_openai, status, too_many_requests

# What a service does wrong


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (too_many_requests(), "rate_limited"),
        (too_many_requests(retry_after_s=3600), "rate_limited"),
        (status(503), "status"),
        (status(500), "status"),
        (status(400), "status"),
        (status(401), "auth"),
        (hang(), "timeout"),
        ("<html>Sign in</html>", "not_json"),
        ({"choices": []}, "missing_field"),
    ],
    ids=["429", "429 for an hour", "503", "500", "400", "401", "no answer", "a login page", "no choices"],
)
async def test_JR11_a_service_that_does_not_answer_is_a_judge_error(model, answer, kind):
    model.reply = answer

    judge = judge_at(model, replace(PATIENT, timeout_s=0.2 if kind == "timeout" else 10))
    with pytest.raises(JudgeError) as caught:
        await score_with(judge)

    assert caught.value.kind == kind
    assert str(caught.value).startswith("The judge did not answer: ")
    assert len(model.ledger) == 1


async def test_JR11_a_503_is_tried_again_and_the_verdict_tells_of_it(model):
    answers = sequence(status(503), status(503), 0)
    model.reply = lambda call: answers(call) or speak_openai(says("pass"))(call)

    score = await score_with(judge_at(model, replace(PATIENT, retries=2)))

    assert (score.value, score.evidence["attempts"]) == (1.0, 3)


async def test_F20_a_judge_that_is_down_is_left_alone_but_for_a_probe_and_comes_back(model):
    model.reply = status(503)
    never = replace(PATIENT, break_after=5, probe_every_s=3600.0, retry_delay_s=3600.0)

    async with at_work(judge_at(model, never)) as [planned]:
        kinds = [await kind_of(planned) for _ in range(50)]
        assert len(model.ledger) == 5
        assert kinds == ["status"] * 5 + ["unavailable"] * 45

    soon = replace(PATIENT, break_after=5, probe_every_s=0.0, retry_delay_s=0.0)
    async with at_work(judge_at(model, soon)) as [planned]:
        assert [await kind_of(planned) for _ in range(5)] == ["status"] * 5
        model.reply = speak_openai(says("pass"))
        assert await kind_of(planned) == ""


async def test_two_judges_of_one_model_share_its_line(model):
    model.reply = status(503)
    never = replace(PATIENT, break_after=5, probe_every_s=3600.0, retry_delay_s=3600.0)

    async with at_work(judge_at(model, never), judge_at(model, never, prompt="Polite? {answer}")) as [first, second]:
        assert [await kind_of(first) for _ in range(5)] == ["status"] * 5
        assert await kind_of(second) == "unavailable"

    assert len(model.ledger) == 5


# What a run shares


async def test_targets_and_judges_together_make_no_more_calls_at_once_than_allowed(model):
    answer = speak_openai(says("pass"))
    model.reply, model.latency_s = answer, 0.005
    outside = Outside(at_once=4)
    target, client = Line("the target", PATIENT, outside), JsonClient(outside.guard)

    async def ask_target() -> Reply:
        await client.post(model.url, {"messages": []})
        return REPLY

    async def call_target() -> None:
        async with outside.place() as place:
            await target.call(ask_target, place)

    judges = judge_at(model), judge_at(model, prompt="Polite? {answer}")
    async with at_work(*judges, outside=outside) as planned, asyncio.TaskGroup() as group:
        for number in range(20):
            group.create_task(call_target())
            group.create_task(run_scorer(planned[number % 2], CASE, REPLY))
    await client.close()

    assert len(model.ledger) == 40
    assert 1 < model.peak_in_flight <= 4


@pytest.mark.parametrize("judges", [1, 2])
async def test_a_spent_budget_is_no_judge_error_and_the_case_stays_pending(model, judges):
    outside = Outside(budget=Budget(calls=1))

    async with at_work(*(judge_at(model) for _ in range(judges)), outside=outside) as planned:
        if judges == 1:
            await board_judges(planned)
        with pytest.raises(Unavailable, match="budget_calls") as caught:
            await board_judges(planned)

    assert caught.value.kind == "budget"
    assert [call.answered for call in model.ledger] == [True]  # what was asked already is not broken off


async def test_a_run_that_stops_is_no_judge_error(model):
    outside = Outside()

    async with at_work(judge_at(model), outside=outside) as [planned]:
        outside.close(Unavailable("The run is stopping.", kind="stopped"))
        with pytest.raises(Unavailable, match="stopping"):
            await run_scorer(planned, CASE, REPLY)

    assert model.ledger == []


async def test_several_judges_of_one_reply_are_asked_at_the_same_time(model):
    both = asyncio.Event()

    async def when_both_are_there(call: Call) -> object:
        if call.number == 2:
            both.set()
        await both.wait()
        return speak_openai(says("pass" if "Polite" in told(call)[1] else "fail"))(call)

    model.reply = when_both_are_there
    judges = judge_at(model), judge_at(model, prompt="Polite? {answer}")
    async with at_work(*judges) as planned, asyncio.timeout(10):
        judged = await board_judges(planned)

    values = {name: score["value"] for name, score in json.loads(judged.scores_json).items()}
    assert values == {"judge0": 0.0, "judge1": 1.0}
    assert judged.overall == 0.5


async def test_a_judge_without_a_verdict_leaves_the_case_in_error_and_the_others_their_scores(model):
    model.reply = lambda call: status(500) if "Polite" in told(call)[1] else speak_openai(says("pass"))(call)
    judges = judge_at(model), judge_at(model, prompt="Polite? {answer}")

    async with at_work(*judges) as planned:
        judged = await board_judges(planned)

    assert (judged.state, judged.overall, judged.passed) == ("error_judge", None, None)
    assert judged.failure is not None
    assert judged.failure.kind == "status"
    assert json.loads(judged.scores_json)["judge0"]["value"] == 1.0


# What need not be asked again


async def test_a_verdict_that_was_given_is_not_asked_for_again_and_says_so(model, store):
    for expected in (False, True):
        async with at_work(judge_at(model), cache=store.cache) as [planned]:
            score = await run_scorer(planned, CASE, REPLY)
        await store.flush()
        assert (score.value, score.reason, score.evidence["cached"]) == (1.0, "It does.", expected)
        assert score.evidence["tokens"] == {"input": 12, "output": 7}

    assert len(model.ledger) == 1


async def test_the_store_is_not_looked_into_for_what_it_cannot_hold(model, store):
    looked_for: list[str] = []

    class Watched:
        all_keys, keep = store.cache.all_keys, store.cache.keep

        def find(self, key: str) -> bytes | None:
            looked_for.append(key)
            return store.cache.find(key)

    async with at_work(judge_at(model), cache=Watched()) as [planned]:
        for number in range(20):
            await run_scorer(planned, CASE, changed(REPLY, text=f"Answer {number}."))
        assert looked_for == []
        await store.flush()
        again = await run_scorer(planned, CASE, changed(REPLY, text="Answer 7."))
    async with at_work(judge_at(model), cache=Watched()) as [planned]:
        later = await run_scorer(planned, CASE, changed(REPLY, text="Answer 8."))

    assert (again.evidence["cached"], later.evidence["cached"]) == (True, True)
    assert (len(looked_for), len(model.ledger)) == (2, 20)


@pytest.mark.parametrize(
    ("settings", "reply", "case"),
    [
        ({"prompt": PROMPT + " Really?"}, REPLY, CASE),
        ({"temperature": 0.5}, REPLY, CASE),
        ({"max_tokens": 500}, REPLY, CASE),
        ({}, changed(REPLY, text="Go home."), CASE),
        ({}, REPLY, changed(CASE, turns=(changed(CASE.turns[0], text="Where now?"),))),
    ],
    ids=["another prompt", "another temperature", "another limit", "another answer", "another question"],
)
async def test_another_question_is_asked_though_a_verdict_is_kept(model, store, settings, reply, case):
    async with at_work(judge_at(model), cache=store.cache) as [planned]:
        await run_scorer(planned, CASE, REPLY)
    await store.flush()

    async with at_work(judge_at(model, **settings), cache=store.cache) as [planned]:
        assert (await run_scorer(planned, case, reply)).evidence["cached"] is False

    assert len(model.ledger) == 2


async def test_an_error_is_never_kept(model, store):
    model.reply = sequence_of("no", "no", says("pass"))

    async with at_work(judge_at(model), cache=store.cache) as [planned]:
        assert await kind_of(planned) == "unparseable"
        await store.flush()
        assert (await run_scorer(planned, CASE, REPLY)).evidence["cached"] is False

    assert len(model.ledger) == 3
