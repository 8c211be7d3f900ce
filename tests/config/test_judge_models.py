"""From `models:` in the project file to the model that a judge asks, and from there through a whole run."""

from __future__ import annotations

import json

import pytest
from written import plans_of, problems_of

from cortex_eval.testing import speak_openai, status

HEAD = 'services: {bot: {kind: http, api_url: "http://127.0.0.1:1/"}}\nsuites: {s: {dataset: d, scorers: [tone]}}\n'
TONE = 'metrics: {tone: {kind: judge, prompt: "Polite? {answer}"%s}}\n'
MODELS = "models: {judge: {base_url: 'http://127.0.0.1:8080/v1', model: local%s}}\n"


def chosen_in(tmp_path, text: str):
    [plan] = plans_of(tmp_path, text)
    return plan.scorers[0].scorer.chosen()


def test_the_entry_under_models_reaches_the_judge_with_its_key_and_limits(tmp_path, monkeypatch):
    monkeypatch.setenv("JUDGE_KEY", "judge-key-0123456789")
    more = ", api_key: '${JUDGE_KEY}', timeout_seconds: 7, requests_per_minute: 60, prices: {input: 1, output: 2}"
    execution = "execution: {retry_count: 4, retry_delay_seconds: 0.5}\n"

    chosen = chosen_in(tmp_path, HEAD + TONE % "" + MODELS % more + execution)

    assert (chosen.name, chosen.settings.model, chosen.settings.base_url) == (
        "judge",
        "local",
        "http://127.0.0.1:8080/v1",
    )
    assert chosen.settings.api_key.reveal() == "judge-key-0123456789"
    assert chosen.settings.prices.output == 2
    patience = chosen.patience
    assert (patience.timeout_s, patience.requests_per_minute, patience.retries) == (7.0, 60.0, 4)
    assert patience.waits_out is False


def test_a_judge_may_name_another_entry_or_a_model_itself(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "openai-key-0123456789")
    two = (MODELS % "").replace("{judge:", "{judge: {model: 'openai:x'}, other:")

    assert chosen_in(tmp_path, HEAD + TONE % ", model: other" + two).settings.model == "local"
    assert chosen_in(tmp_path, HEAD + TONE % ', model: "openai:gpt-4.1-mini"').settings.model == "openai:gpt-4.1-mini"


def test_a_jury_names_several_entries_and_faithfulness_asks_them_when_it_names_any(tmp_path):
    two = (MODELS % "").replace("{judge:", "{one: {base_url: 'http://127.0.0.1:8081/v1', model: first}, two:")
    text = HEAD + "metrics: {tone: {kind: faithfulness, models: [one, two], ties: fail}}\n" + two

    [plan] = plans_of(tmp_path, text)

    scorer = plan.scorers[0].scorer
    assert type(scorer).__name__ == "FaithfulnessJudge"
    assert [(each.name, each.settings.model) for each in scorer.jury()] == [("one", "first"), ("two", "local")]
    assert scorer.ties == "fail"


def test_the_fingerprint_follows_the_entry_and_not_its_key(tmp_path):
    def fingerprint(more: str) -> str:
        [plan] = plans_of(tmp_path, HEAD + TONE % "" + MODELS % more)
        return plan.scorers[0].fingerprint

    assert fingerprint("") == fingerprint(", api_key: abcdefgh1234")
    assert fingerprint("") != fingerprint("er")  # the model is then called `localer`


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HEAD + TONE % "", "model: there is no 'judge' under models:"),
        (HEAD + TONE % ", models: [judge, jugde]" + MODELS % "", "there is no 'jugde' under models:. Did you mean"),
        (HEAD + TONE % ", models: [judge, judge]" + MODELS % "", "a jury has no use for the same model twice"),
        (HEAD + TONE % ", model: jugde" + MODELS % "", "there is no 'jugde' under models:. Did you mean 'judge'?"),
        (HEAD + TONE % "" + MODELS % ", api_key: '${NOT_SET_ANYWHERE}'", "NOT_SET_ANYWHERE is not set"),
        (
            HEAD + TONE % "" + MODELS % ", api_key: 'a b'",
            "models.judge.api_key: the key is empty or contains whitespace",
        ),
        (
            HEAD + TONE % "" + MODELS % ", prices: {input: 1, output: 2, inptu: 3}",
            "models.judge.prices has no setting 'inptu'",
        ),
        (HEAD + TONE % "" + "models: {judge: {model: mine}}\n", "models.judge.model: 'mine' does not say whose"),
        (HEAD + TONE % "" + "models: {judge: {model: 'x', base_url: 'ftp://x'}}\n", "models.judge.base_url must begin"),
        (HEAD + TONE % "" + "models: {judge: {base_url: 'http://x'}}\n", "models.judge.model is missing"),
        (HEAD + TONE.replace("{answer}", "{reply}") % "" + MODELS % "", "there is no placeholder {reply}"),
    ],
)
def test_what_is_wrong_is_told_once_with_its_place(tmp_path, text, said):
    told = problems_of(tmp_path, text)

    assert len(told) == 1, told
    assert said in told[0]


def test_a_key_that_is_not_set_matters_only_to_those_who_use_it(tmp_path):
    text = HEAD.replace("[tone]", "[exact]") + MODELS % ", api_key: '${NOT_SET_ANYWHERE}'"

    assert plans_of(tmp_path, text)


@pytest.mark.slow
def test_F20_JR11_a_judge_that_is_down_costs_no_answers_and_is_made_up_for_later(make_project, scripted_service):
    bot = scripted_service({"text": "At the clinic, please."})
    model = scripted_service(status(503))
    rows = [{"id": str(number), "question": f"Where, {number}?"} for number in range(30)]
    project = make_project(
        rows,
        {"kind": "chatbot", "api_url": bot.url},
        scorers=[{"tone": {"kind": "judge", "prompt": "Polite? {answer}"}}],
        models={"judge": {"model": "m1", "base_url": model.url}},
        execution={"retry_count": 0},
    )

    first = project.cortex("run", "suite", "--json")

    assert first.returncode == 3, first.stderr
    report = json.loads(first.stdout)
    assert len(bot.ledger) == 30
    assert len(model.ledger) <= 20
    assert report["unscored"]["tone"]["errors"] == 30
    assert "tone" not in report["metrics"]

    model.reply = speak_openai('{"reason": "It is.", "verdict": "pass"}')
    second = project.cortex("rescore", report["run"]["id"], "--json")

    assert second.returncode == 0, second.stderr
    assert json.loads(second.stdout)["metrics"]["tone"]["mean"] == 1.0
    assert len(bot.ledger) == 30
