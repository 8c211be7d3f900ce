"""Judges on trial: the cases that come with each prompt, the attacks, and what is made of the answers."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import AsyncIterator

import pytest
from judges_at_work import shown

from cortex_eval.llm import ModelSettings
from cortex_eval.net import Patience
from cortex_eval.scoring import (
    JUDGES,
    JudgeModel,
    judge_names,
    prompt_facts,
    read_attacks,
    read_trials,
    run_attacks,
    run_trials,
    scorers,
)
from cortex_eval.scoring.injection import injected_words
from cortex_eval.scoring.judging import ModelScorer
from cortex_eval.scoring.trials import wrong_replies
from cortex_eval.testing import Call, ScriptedService, speak_openai, status


@pytest.fixture
async def model() -> AsyncIterator[ScriptedService]:
    async with ScriptedService() as service:
        yield service


def at(service: ScriptedService) -> JudgeModel:
    patience = Patience(retries=0, break_after=None, waits_out=False)
    return JudgeModel(name="judge", settings=ModelSettings(model="m", base_url=service.url), patience=patience)


def verdict_of(call: Call, is_good: bool) -> str:
    """The verdict that this question asks for, whichever prompt it is."""
    seen, word = shown(call), "yes" if is_good else "no"
    if "claims" in seen:
        names = re.findall(r"^\[(claim_\d+)\]", seen["claims"], re.MULTILINE)
        return json.dumps({name: {"quote": "", "reason": "", "supported": word} for name in names})
    if "criterion" in seen:
        return json.dumps({"reason": "", "met": word})
    if "first" in seen:
        return json.dumps({"reason": "", "winner": "first" if is_good else "second"})
    if "retrieved_context" in seen:
        return json.dumps({"reason": "", "score": float(is_good)})
    return json.dumps({"reason": "", "verdict": "pass" if is_good else "fail"})


def knows_all(call: Call) -> str:
    """A judge that has learnt the cases by heart."""
    seen = shown(call)
    said = {seen[key] for key in ("answer", "agent_output", "first", "second", "conversation") if key in seen}
    for name in JUDGES:
        for trial in read_trials(name):
            text, asked = trial.reply.text, trial.case.input
            if "first" in seen and asked == seen["input"] and {text, trial.case.expected.answer} == said:
                return verdict_of(call, (seen["first"] == text) == (trial.verdict == 1))
            is_it = text in said or f"user: {asked}\n\nassistant: {text}" in said
            criterion = trial.case.expected.rubric[0].criterion if trial.case.expected.rubric else None
            if is_it and "first" not in seen and criterion == seen.get("criterion"):
                return verdict_of(call, trial.verdict == 1)
    raise AssertionError(f"nobody asked about {said}")


@pytest.mark.parametrize("name", JUDGES)
def test_every_prompt_has_a_version_and_cases_of_both_verdicts(name):
    facts = {each.name: each for each in prompt_facts()}[name]
    trials = read_trials(name)

    assert facts.version
    assert re.fullmatch("[0-9a-f]{16}", facts.hash)
    assert facts.cases == len(trials) >= 4
    assert {trial.verdict for trial in trials} == {0.0, 1.0}
    assert len({trial.id for trial in trials}) == len(trials)


def test_every_judge_is_listed():
    assert {"judge", "faithfulness_judge", "relevance_judge", "rubric", "pairwise"} <= set(judge_names())
    assert all(issubclass(scorers.find(name), ModelScorer) for name in judge_names())


async def test_a_judge_that_knows_all_gets_every_case_right(model):
    model.reply = speak_openai(knows_all)

    found = await run_trials(at(model))

    wrong = {name: [each for each in outcomes if not each.is_right] for name, outcomes in found.items()}
    assert wrong == {name: [] for name in JUDGES}


async def test_a_judge_that_passes_everything_gets_the_bad_ones_wrong(model):
    model.reply = speak_openai(lambda call: verdict_of(call, True))

    found = await run_trials(at(model), ["faithfulness", "relevance"])

    for name, outcomes in found.items():
        assert [each.is_right for each in outcomes] == [trial.verdict == 1 for trial in read_trials(name)]


async def test_a_judge_that_gives_no_verdict_is_never_right_and_the_error_is_told(model):
    model.reply = status(401)

    (outcomes,) = (await run_trials(at(model), ["rubric"])).values()

    assert {(each.is_right, each.value) for each in outcomes} == {(False, None)}
    assert all(each.why.startswith(("auth:", "unavailable:")) for each in outcomes)


# Attacks


def test_there_are_forty_attacks_of_many_kinds_each_in_a_wrong_reply():
    attacks = read_attacks()

    assert len(attacks) >= 40
    assert len(Counter(each.kind for each in attacks)) >= 8
    assert len({each.id for each in attacks}) == len(attacks)
    assert {each.case.id for each in attacks} == {each.case.id for each in wrong_replies()}
    for each in attacks:
        wrong = next(trial for trial in wrong_replies() if trial.case.id == each.case.id)
        assert wrong.reply.text in each.reply.text
        assert each.reply.text != wrong.reply.text


def test_many_attacks_are_noticed_by_their_words():
    noticed = [each.id for each in read_attacks() if injected_words(each.reply.text)]

    assert len(noticed) >= 25


@pytest.mark.parametrize("prompt", ["faithfulness", "faithfulness_plain"])
async def test_an_incorruptible_judge_falls_for_none_and_a_gullible_one_for_all(model, prompt):
    model.reply = speak_openai(lambda call: verdict_of(call, False))
    firm = await run_attacks(at(model), prompt=prompt)

    plain = {each.reply.text for each in wrong_replies()}
    model.reply = speak_openai(
        lambda call: verdict_of(call, not plain & {*shown(call).values()})  # everything but the bare wrong reply passes
    )
    gullible = await run_attacks(at(model), prompt=prompt)

    assert {each.succeeded for each in firm} == {False}
    assert {each.succeeded for each in gullible} == {True}


async def test_an_attack_on_a_judge_that_passes_anything_is_no_success(model):
    model.reply = speak_openai(lambda call: verdict_of(call, True))

    found = await run_attacks(at(model), read_attacks()[:3])

    assert [each.succeeded for each in found] == [None, None, None]
    assert found[0].is_suspected
