"""Calls of judges that lead to no verdict are paid for: the error says what they took, and so does the report."""

from __future__ import annotations

import json
from decimal import Decimal

import orjson
import pytest
from clinic_judge import at_work, board_judges, judge_at
from judges_at_work import judged_by, score_by

from cortex_eval.analysis import judge_usages
from cortex_eval.core import Case, Criterion, JudgeError, Reply, Turn
from cortex_eval.llm import Prices
from cortex_eval.scoring import run_scorer
from cortex_eval.scoring.judge import Judge
from cortex_eval.scoring.rubric import Rubric
from cortex_eval.testing import ScriptedService, speak_openai, status

CASE = Case(id="1", turns=(Turn(text="Where do I go?"),))
REPLY = Reply(text="To the clinic.")
PRICES = Prices(input=1.0, output=1.0)  # a million tokens; each call of the scripted models has 12 in and 7 out
ONE = Decimal("0.000019")


def verdict(word: str) -> str:
    return json.dumps({"reason": f"I say {word}.", "verdict": word})


def cost_of(evidence) -> Decimal:
    return Decimal(evidence["cost"]["amount"])


async def failed(judge, *models, **how) -> JudgeError:
    with pytest.raises(JudgeError) as caught:
        await score_by(judge, CASE, REPLY, *models, prices=PRICES, **how)
    return caught.value


async def test_answers_that_are_no_verdict_are_on_the_error():
    error = await failed(Judge(prompt="{answer}", attempts=3), "I will not.")

    assert error.attempts == error.evidence["attempts"] == 3
    assert error.evidence["tokens"] == {"input": 36, "output": 21}
    assert cost_of(error.evidence) == 3 * ONE


async def test_a_member_of_a_jury_that_ends_in_an_error_is_in_the_cost_of_the_verdict():
    judge = Judge(prompt="{answer}", attempts=2)

    score = await score_by(judge, CASE, REPLY, verdict("pass"), "I will not.", verdict("pass"), prices=PRICES)

    assert (score.value, score.evidence["attempts"]) == (1.0, 4)
    assert score.evidence["tokens"] == {"input": 48, "output": 28}
    assert cost_of(score.evidence) == 4 * ONE


@pytest.mark.parametrize("others", [(verdict("fail"),), (verdict("fail"), "No.")], ids=["a tie", "and an error"])
async def test_verdicts_of_a_jury_that_cannot_decide_are_on_the_error(others):
    error = await failed(Judge(prompt="{answer}", attempts=1), verdict("pass"), *others)

    assert cost_of(error.evidence) == (1 + len(others)) * ONE
    assert error.attempts == 1 + len(others)


async def test_what_was_kept_is_not_paid_for_again(store):
    judge = Judge(prompt="{answer}")
    async with judged_by(judge, verdict("pass"), verdict("fail"), cache=store.cache, prices=PRICES) as (planned, _):
        with pytest.raises(JudgeError) as first:
            await run_scorer(planned, CASE, REPLY)
        await store.flush()
        with pytest.raises(JudgeError) as second:
            await run_scorer(planned, CASE, REPLY)

    assert cost_of(first.value.evidence) == 2 * ONE
    assert (second.value.evidence, second.value.attempts) == (None, 0)


async def test_criteria_that_were_judged_are_on_the_error_of_the_one_that_was_not():
    rubric = Rubric(criteria=(Criterion(criterion="Polite"), Criterion(criterion="Short")), attempts=1)

    def says(shown):
        return {"reason": "It is.", "met": "yes"} if "Polite" in shown["criterion"] else "No."

    error = await failed(rubric, says)

    assert cost_of(error.evidence) == 2 * ONE


async def test_a_model_that_never_answers_costs_nothing_and_one_that_did_before_does():
    async with ScriptedService(status(500)) as model:
        silent = await error_at(model)
        model.reply = lambda _: status(500) if len(model.ledger) > 2 else speak_openai("I will not.")(model.ledger[-1])
        later = await error_at(model)

    assert (silent.evidence, silent.attempts) == (None, 1)
    assert cost_of(later.evidence) == ONE
    assert (later.kind, later.attempts) == ("status", 2)


async def error_at(model: ScriptedService) -> JudgeError:
    async with at_work(judge_at(model, prices=PRICES)) as [planned]:
        with pytest.raises(JudgeError) as caught:
            await run_scorer(planned, CASE, REPLY)
    return caught.value


async def test_what_is_stored_of_an_error_is_added_up_with_the_verdicts():
    async with (
        ScriptedService(speak_openai("I will not.")) as model,
        at_work(judge_at(model, prices=PRICES, attempts=2)) as planned,
    ):
        judged = await board_judges(planned)

    [used] = judge_usages(orjson.loads(judged.scores_json))

    assert used == {
        "input_tokens": 24, "output_tokens": 14, "calls": 2, "cost": {"amount": str(2 * ONE), "currency": "USD"},
    }  # fmt: skip
