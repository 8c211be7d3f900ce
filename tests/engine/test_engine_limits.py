"""What a project allows a run: calls, tokens and money, how fast, and whom it may call at all."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from decimal import Decimal

import pytest
from made_plans import cases, chatbot, patient, plan_for, right, rows

from cortex_eval.core import Money, Reply, Usage
from cortex_eval.engine import execute
from cortex_eval.llm import ModelSettings, Prices
from cortex_eval.net import Budget
from cortex_eval.scoring import JudgeModel
from cortex_eval.scoring.judge import Judge
from cortex_eval.targets import Conversation, PythonTarget, Target
from cortex_eval.testing import speak_openai


def speaking(cost_usd: str | None = None, tokens: int = 10) -> Target:
    async def answer(question: str) -> Reply:
        await asyncio.sleep(0.002)
        cost = Money(amount=Decimal(cost_usd)) if cost_usd else None
        return Reply(
            text=question.replace("Question", "Answer"),
            usage=Usage(input_tokens=tokens, output_tokens=tokens, cost=cost),
        )

    return PythonTarget.of(answer)


@pytest.mark.parametrize(
    ("budget", "most"),
    [(Budget(calls=25), 25), (Budget(tokens=500), 25), (Budget(usd=Decimal("0.25")), 25)],
    ids=["calls", "tokens", "usd"],
)
async def test_a_budget_is_a_hard_stop_and_the_run_can_be_resumed_with_more(store, budget, most):
    plan = plan_for(speaking("0.01"), cases(100), at_once=10, budget=budget)

    report = await execute(plan, store)

    assert len(rows(store)) == most
    assert (report.exit_code, report.run.status) == (3, "paused")
    assert report.run.manifest["paused"]["kind"] == "budget"
    assert "Raise it and resume" in report.gate.checks[0].reason
    more = await execute(replace(plan, budget=Budget()), store, resume=report.run.id)
    assert (more.totals.passed, more.exit_code) == (100, 0)


async def test_what_an_earlier_part_of_the_run_spent_counts_after_a_resume(store):
    plan = plan_for(speaking("0.01"), cases(100), at_once=5, budget=Budget(usd=Decimal("0.20")))
    first = await execute(plan, store)

    again = await execute(plan, store, resume=first.run.id)

    assert len(rows(store)) == 20
    assert again.run.manifest["paused"]["kind"] == "budget"


async def test_answers_of_a_judge_that_are_no_verdict_count_after_a_resume_too(scripted_service, store):
    model = scripted_service(speak_openai("I will not say."))  # 12 tokens in and 7 out
    judge = Judge(prompt="Polite? {answer}", attempts=1)
    settings = ModelSettings(model="m1", base_url=model.url, prices=Prices(input=1.0, output=1.0))
    judge.use_model(JudgeModel(name="judge", settings=settings))
    plan = plan_for(speaking(tokens=0), cases(40), at_once=1, scorers=[judge], budget=Budget(usd=Decimal("0.000190")))
    first = await execute(plan, store)
    assert (len(model.ledger), first.run.manifest["paused"]["kind"]) == (10, "budget")

    again = await execute(plan, store, resume=first.run.id)

    assert len(model.ledger) == 10
    assert again.judge_usage.cost == {"USD": "0.000190"}


async def test_replies_of_another_run_are_not_on_the_budget_of_a_rescored_one(store):
    first = await execute(plan_for(speaking("0.01"), cases(30)), store)

    again = plan_for(speaking("0.01"), cases(30), budget=Budget(calls=1), scorers=["contains"])
    report = await execute(again, store, rescore=first.run.id)

    assert (report.totals.passed, report.exit_code) == (30, 0)


async def test_the_report_names_every_host_that_was_called(scripted_service, store):
    bot = scripted_service(right)

    report = await execute(plan_for(bot.url, cases(7)), store)

    host = bot.url.removeprefix("http://").rstrip("/")
    assert report.to_dict()["run"]["manifest"]["hosts"] == {host: 7}


async def test_offline_calls_nobody_whom_the_project_does_not_name(store):
    plan = plan_for(chatbot("https://clinic.example/chat"), cases(3), is_offline=True)

    report = await execute(plan, store)

    assert report.error_kinds == {"error_target: offline": 3}
    assert report.run.manifest["hosts"] == {}


async def test_rate_limits_of_the_project_are_kept(scripted_service, store):
    bot = scripted_service(right)
    plan = patient(plan_for(bot.url, cases(8), at_once=8), requests_per_minute=1200)

    await execute(plan, store)

    first, *later = [call.at for call in bot.ledger]
    assert len(later) == 7
    late = 0.03  # the first call, which has to connect, may be longer on its way than a later one
    assert all(at - first >= 0.05 * number - late for number, at in enumerate(later, 1))


class Gone(Target):
    """A target of somebody's own that calls a service by `post`."""

    kind = "gone"
    is_remote = True

    async def ask(self, turns: Conversation) -> Reply:
        return Reply(text=(await self.post("http://169.254.169.254/", {}))["text"])


async def test_TR07_a_plugins_target_cannot_reach_the_metadata_address(store):
    report = await execute(plan_for(Gone(), cases(2)), store)

    assert report.error_kinds == {"error_target: forbidden_address": 2}
