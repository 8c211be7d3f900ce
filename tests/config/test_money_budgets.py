"""`budget_usd`: a model whose cost nobody could count is refused before anything is asked."""

from __future__ import annotations

import pytest
from written import plans_of, problems_of

BOT = 'services: {bot: {kind: http, api_url: "http://127.0.0.1:1/"}}\n'
CHAT = 'services: {bot: {kind: chat, model: m1, base_url: "https://models.example/v1"%s}}\n'
TONE = 'suites: {s: {dataset: d, scorers: [{tone: {kind: judge, prompt: "Polite? {answer}"}}]}}\n'
EXACT = "suites: {s: {dataset: d, scorers: [exact]}}\n"
JUDGE = "models: {judge: {base_url: 'https://models.example/v1', model: m2%s}}\n"
BUDGET = "execution: {budget_usd: 5}\n"
PRICES = ", prices: {input: 0, output: 0}"


@pytest.mark.parametrize(
    ("text", "model"),
    [(CHAT % "" + EXACT, "m1"), (BOT + TONE + JUDGE % "", "m2")],
    ids=["target", "judge"],
)
def test_a_model_without_a_price_is_refused_with_what_to_do(tmp_path, text, model):
    (told,) = problems_of(tmp_path, text + BUDGET)

    assert f"execution.budget_usd: the price of '{model}' is not known" in told
    assert "prices: {input: …, output: …}" in told
    assert "budget_tokens" in told
    assert plans_of(tmp_path, text + "execution: {budget_tokens: 5000}\n")


@pytest.mark.parametrize("text", [CHAT % PRICES + EXACT, CHAT % PRICES + TONE + JUDGE % PRICES])
def test_prices_in_the_project_file_will_do_and_so_will_zero(tmp_path, text):
    [plan] = plans_of(tmp_path, text + BUDGET)

    assert plan.budget.usd == 5
    assert plan.notes == ()


def test_list_prices_will_do(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "openai-key-0123456789")

    assert plans_of(tmp_path, 'services: {bot: {kind: chat, model: "openai:gpt-4.1-mini"}}\n' + EXACT + BUDGET)


def test_another_target_gets_a_note(tmp_path):
    [plan] = plans_of(tmp_path, BOT + EXACT + BUDGET)

    assert plan.notes == ("budget_usd: the cost of bot is counted only as far as its replies state it (usage.cost).",)
    assert plans_of(tmp_path, BOT + EXACT)[0].notes == ()


def test_a_model_on_this_machine_has_no_price_by_the_call(tmp_path):
    here = (CHAT % "" + TONE + JUDGE % "").replace("https://models.example", "http://127.0.0.1:8080")

    assert plans_of(tmp_path, here + BUDGET)
