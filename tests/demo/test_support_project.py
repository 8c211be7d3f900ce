"""The sample support agent and its project: it fails where WEAKNESSES.md says so, and nowhere else."""

from __future__ import annotations

import json
import threading
from collections import Counter
from pathlib import Path

import pytest
from over_http import post_each, read_about
from played_projects import (
    cases_of,
    copied,
    ids_in_row,
    play_suite,
    play_with_faults,
    too_alike_in_meaning,
    too_alike_in_words,
    weaknesses_of,
)

from cortex_eval.config import Request, load_project, make_plans
from cortex_eval.core import InputError
from cortex_eval.demo.listening import Version
from cortex_eval.demo.support import SupportAgent, reply_to
from cortex_eval.scoring import can_embed
from cortex_eval.testing import Call, ScriptedService, asked_text, speak_openai

CASES = {case.id: case for case in cases_of("support-agent", "password_help.json")}
IN_ANSWERS = {"1": (1, 2, 3, 4), "2": (1, 2, 3)}
IN_TICKETS = {"1": (5, 6), "2": (5, 6, 7)}
"""Rows of WEAKNESSES.md by version."""

needs_embed = pytest.mark.skipif(not can_embed(), reason="faithfulness and relevance need the extra 'embed'")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return copied("support-agent", tmp_path)


def listed(*rows: int) -> set[str]:
    text = weaknesses_of("support-agent")
    return set().union(*(ids_in_row(text, row, CASES) for row in rows))


def shown_as_passed(count: int, version: Version) -> str:
    return f"{count} of the {len(CASES)} cases pass on version 1" if version == "1" else f"and {count} on version 2"


@pytest.mark.slow
@needs_embed
@pytest.mark.parametrize("version", ["1", "2"])
async def test_the_answers_that_fail_are_those_in_the_list_of_weaknesses(
    project: Path, monkeypatch: pytest.MonkeyPatch, version: Version
) -> None:
    with SupportAgent(version=version) as agent:
        monkeypatch.setenv("CORTEX_DEMO_URL", agent.url)
        played = await play_suite(project, "support")

    assert played.failed == listed(*IN_ANSWERS[version])
    assert played.failed_by("civil") == (listed(4) if version == "1" else set())
    assert played.failed_by("facts") == listed(2, 3)
    assert played.verdict == "passed"
    assert shown_as_passed(len(CASES) - len(played.failed), version) in weaknesses_of("support-agent")


@pytest.mark.parametrize(("version", "verdict"), [("1", "passed"), ("2", "below")])
async def test_the_tickets_that_fail_are_those_in_the_list_of_weaknesses(
    project: Path, monkeypatch: pytest.MonkeyPatch, version: Version, verdict: str
) -> None:
    with SupportAgent(version=version) as agent:
        monkeypatch.setenv("CORTEX_DEMO_URL", agent.url)
        played = await play_suite(project, "tickets")

    assert played.failed == listed(*IN_TICKETS[version])
    assert played.failed_by("json_limit") == listed(5, 6)
    assert played.failed_by("ticket_form") == listed(5) | (listed(7) if version == "2" else set())
    assert played.verdict == verdict
    assert shown_as_passed(len(CASES) - len(played.failed), version) in weaknesses_of("support-agent")


async def test_the_suite_judged_asks_the_model_that_the_variables_name(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def judge(call: Call) -> str:
        asked = asked_text(call)
        is_rude = "tone is rude" in asked and "obviously" in asked
        said = {"score": 1.0} if "0 to 1" in asked else {"verdict": "fail" if is_rude else "pass"}
        return json.dumps({"reason": "Failed because the tone was rude." if is_rude else "Fine.", **said})

    with SupportAgent() as agent, ScriptedService.in_thread(speak_openai(judge)) as model:
        monkeypatch.setenv("CORTEX_DEMO_URL", agent.url)
        monkeypatch.setenv("CORTEX_JUDGE_URL", f"{model.url}v1")
        monkeypatch.setenv("CORTEX_JUDGE_MODEL", "scripted")
        played = await play_suite(project, "judged", case_ids=["fp-angry-mail", "pw-reset", "ts-turn-on"])

    assert len(model.ledger) == 9
    assert played.failed == played.failed_by("tone") == {"fp-angry-mail"}


def test_only_the_suite_judged_needs_a_model(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CORTEX_DEMO_URL", "http://127.0.0.1:9/ask")
    for name in ("CORTEX_JUDGE_URL", "CORTEX_JUDGE_MODEL", "CORTEX_JUDGE_KEY"):
        monkeypatch.delenv(name, raising=False)
    read = load_project(project / "cortex.yaml")

    for suite in ("support", "tickets"):
        assert len(make_plans(read, Request(suite=suite))) == 1
    with pytest.raises(InputError, match="CORTEX_JUDGE_MODEL"):
        make_plans(read, Request(suite="judged"))


def test_the_dataset_is_in_the_shape_of_the_original_design(project: Path) -> None:
    dataset = json.loads((project / "datasets" / "password_help.json").read_text(encoding="utf-8"))

    assert set(dataset) == {"id", "name", "cases"}
    assert len(dataset["cases"]) == len(CASES) >= 40
    for row in dataset["cases"]:
        assert {"input", "idealOutput", "context"} <= set(row)
        case = CASES[row["id"]]
        assert (case.input, case.expected.answer) == (row["input"], row["idealOutput"])
        assert dict(case.context) == row["context"]
    assert (CASES["pw-reset"].input, CASES["pw-reset"].expected.answer) == (
        "How do I reset my password?",
        "Go to Settings > Security.",
    )


def test_every_case_has_what_the_suites_look_at() -> None:
    categories = Counter(case.category for case in CASES.values())

    assert len(categories) == 8
    assert min(categories.values()) >= 3
    assert {case.tier for case in CASES.values()} == {1, 2, 3, 4, 5}
    assert all(case.expected.checklist for case in CASES.values())


def test_no_two_questions_of_a_category_are_nearly_the_same() -> None:
    assert too_alike_in_words(CASES.values()) == []


@pytest.mark.slow
@needs_embed
def test_no_two_questions_of_a_category_mean_nearly_the_same() -> None:
    assert too_alike_in_meaning(CASES.values()) == []


def test_the_same_question_always_gets_the_same_reply() -> None:
    asked = CASES["si-locked-six"].input

    assert reply_to(asked, {}) == reply_to(asked, {})
    assert reply_to(asked, {})["passages"][0]["id"] == "KB-07"


def test_the_agent_heeds_the_device_that_it_is_told() -> None:
    asked = "How do I change my password?"

    assert reply_to(asked, {})["passages"][0]["id"] == "KB-01"
    assert reply_to(asked, {"device": "android"})["passages"][0]["id"] == "KB-14"


def test_a_ticket_is_json_unless_the_question_has_a_quotation_mark() -> None:
    ticket = json.loads(reply_to("I forgot my password.", {})["ticket"])

    assert ticket == {
        "intent": "forgot_password",
        "summary": "I forgot my password.",
        "priority": "normal",
        "handoff": False,
        "article": "KB-02",
    }
    with pytest.raises(ValueError, match="delimiter"):
        json.loads(reply_to('I forgot my "password".', {})["ticket"])


async def test_over_http_it_answers_refuses_and_says_what_it_is() -> None:
    with SupportAgent(version="2") as agent:
        [answered] = await post_each(agent.url, {"input": "I forgot my password."})
        refused = await post_each(agent.url, {}, {"input": " "}, {"input": 3}, [])
        about = await read_about(agent.url)

    assert answered.status == 200
    assert set(answered.body) == {"answer", "passages", "ticket", "intent", "confidence", "version"}
    assert [each.status for each in refused] == [400] * 4
    assert "'input'" in refused[0].body["error"]
    assert (about["sample"], about["version"]) == (True, "2")


async def test_a_fault_can_be_put_in_front_of_it(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with SupportAgent() as agent:
        assert agent.service is not None
        monkeypatch.setenv("CORTEX_DEMO_URL", agent.url)
        played = await play_with_faults(project, "tickets", agent, case_ids=["pw-reset", "fp-forgot-plain"])

    assert played.failed == set()
    assert len(agent.service.ledger) == 3


def test_it_starts_and_stops_cleanly() -> None:
    before = threading.active_count()

    with SupportAgent() as agent:
        assert agent.url.startswith("http://127.0.0.1:")

    assert threading.active_count() == before


def test_an_unknown_version_is_an_input_error() -> None:
    with pytest.raises(InputError, match="no version '3'"):
        SupportAgent(version="3")  # type: ignore[arg-type]  # what a user may type
