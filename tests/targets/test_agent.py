"""Agents over HTTP: what they are told of the turn before, what is read of their answer, and what is an error."""

from __future__ import annotations

from typing import Any

import pytest

from cortex_eval.core import Case, InputError, Reply, Secret, TargetError, ToolCall, Turn
from cortex_eval.demo.bioagent import BioAgent
from cortex_eval.net import Guard, Limits
from cortex_eval.targets import Conversation, targets
from cortex_eval.testing import (
    Answer,
    cut,
    drip,
    garbled,
    hang,
    huge,
    login_page,
    redirect,
    reset,
    sequence,
    status,
    too_many_requests,
)

TALK = Case(
    id="talk",
    turns=(Turn(text="find RNA-seq data for asthma"), Turn(text="download it"), Turn(text="is it done?")),
    context={"project": "p7"},
)
STATED = {
    "text": "Found.",
    "intent": "DATA_SEARCH",
    "entities": {"data_type": "RNA-seq"},
    "tool": "search_data",
    "arguments": {"data_type": "RNA-seq"},
    "confidence": 0.9,
    "llm_invoked": False,
    "parse_time_ms": 3,
}


def turn(number: int = 0, replies: list[Reply] | None = None) -> Conversation:
    return Conversation.at(TALK, number, replies or [], session_id="session-1")


async def ask(url: str, turns: Conversation | None = None, *, idle_s: float = 0.3, **given: Any) -> Reply:
    async with targets.build("agent", {"api_url": url, **given}) as target:
        target.connect_by(Guard(), Limits(idle_s=idle_s))
        return await target.ask(turns or turn())


async def failure(url: str, **given: Any) -> TargetError:
    with pytest.raises(TargetError) as caught:
        await ask(url, **given)
    return caught.value


async def test_all_that_an_agent_states_is_read(scripted_service):
    bot = scripted_service({**STATED, "tool_calls": [{"name": "search_data", "arguments": {"n": 1}}], "own": 7})

    reply = await ask(bot.url)

    assert (reply.text, reply.intent, reply.entities) == ("Found.", "DATA_SEARCH", {"data_type": "RNA-seq"})
    assert (reply.tool, reply.arguments) == ("search_data", {"data_type": "RNA-seq"})
    assert reply.tool_calls == (ToolCall(name="search_data", arguments={"n": 1}),)
    assert (reply.confidence, reply.llm_invoked, reply.parse_time_ms) == (0.9, False, 3.0)
    assert reply.raw["own"] == 7


async def test_the_request_holds_query_context_and_session(scripted_service):
    bot = scripted_service(STATED)

    await ask(bot.url + "parse", api_key=Secret("k-1234567"))

    (call,) = bot.ledger
    assert (call.method, call.path) == ("POST", "/parse")
    assert call.json == {"query": TALK.turns[0].text, "context": {"project": "p7"}, "session_id": "session-1"}
    assert call.headers["Authorization"] == "Bearer k-1234567"
    assert (call.headers["X-Session-Id"], call.headers["Idempotency-Key"]) == ("session-1", "session-1-0")


async def test_each_turn_is_told_what_the_one_before_was_understood_as(scripted_service):
    second = {"intent": "DATA_DOWNLOAD", "entities": {"data_type": "RNA-seq", "disease": "asthma"}}
    bot = scripted_service(sequence(STATED, second, {"intent": None, "entities": None}))
    replies: list[Reply] = []

    for number in range(3):
        replies.append(await ask(bot.url, turn(number, replies)))

    contexts = [call.json["context"] for call in bot.ledger]
    assert contexts[0] == {"project": "p7"}
    assert contexts[1] == {
        "project": "p7",
        "previous_query": "find RNA-seq data for asthma",
        "previous_intent": "DATA_SEARCH",
        "previous_entities": {"data_type": "RNA-seq"},
        "turn_number": 1,
    }
    assert contexts[2]["previous_entities"] == {"data_type": "RNA-seq", "disease": "asthma"}
    assert contexts[2]["turn_number"] == 2
    assert {call.json["session_id"] for call in bot.ledger} == {"session-1"}
    assert (replies[2].intent, replies[2].entities) == (None, None)


async def test_a_parser_needs_no_text_and_may_speak_of_actual_values(scripted_service):
    bot = scripted_service(
        {"actual_intent": "EXPLAIN", "actual_entities": {"concept": "TPM"}, "actual_tool": "explain"}
    )

    reply = await ask(bot.url)

    assert (reply.text, reply.intent, reply.entities, reply.tool) == ("", "EXPLAIN", {"concept": "TPM"}, "explain")


async def test_fields_that_are_elsewhere_are_mapped_and_the_others_keep_their_names(scripted_service):
    bot = scripted_service(
        {"parse": {"name": "EXPLAIN", "slots": {"concept": "TPM"}}, "confidence": 0.5, "intent": "no"}
    )

    reply = await ask(
        bot.url,
        body={"utterance": "{input}", "n": "{turn_number}"},
        reply={"intent": "$.parse.name", "entities": "$.parse.slots"},
    )

    assert bot.ledger[0].json == {"utterance": TALK.turns[0].text, "n": 1}
    assert (reply.intent, reply.entities, reply.confidence) == ("EXPLAIN", {"concept": "TPM"}, 0.5)


@pytest.mark.parametrize("body", [b'{"entities": {}, "score": 1}', b"{}", b"[]", b'"DATA_SEARCH"', b"5", b"null"])
async def test_an_answer_without_intent_tool_and_text_is_a_target_error(scripted_service, body):
    error = await failure(scripted_service(Answer(body=body)).url)

    assert error.kind == "missing_field"
    assert "neither an intent nor a text" in str(error)


@pytest.mark.parametrize(
    "wrong",
    [{"intent": 3}, {"entities": ["RNA-seq"]}, {"confidence": "high"}, {"llm_invoked": 1}, {"text": {"a": 1}}],
)
async def test_a_field_of_another_kind_is_a_target_error_that_names_it(scripted_service, wrong):
    error = await failure(scripted_service({**STATED, **wrong}).url)

    assert error.kind == "wrong_type"
    assert next(iter(wrong)) in str(error)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"reply": {"intnet": "$.a"}}, "Did you mean 'intent'"),
        ({"reply": {"intent": "parse.intent"}}, "is not a path"),
        ({"body": {"q": "{query}"}}, "no placeholder"),
        ({"api_url": "agent.example.org"}, "must begin with http"),
        ({"headers": {"X-A": "a\nb"}}, "one line of text"),
    ],
)
def test_settings_that_cannot_work_are_told_before_anything_is_asked(settings, message):
    with pytest.raises(InputError, match=message):
        targets.build("agent", {"api_url": "http://127.0.0.1:9/", **settings})


FAULTS: dict[str, tuple[Answer, str, bool]] = {
    "a login page": (login_page(), "not_json", False),
    "a redirect": (redirect("http://127.0.0.1:9/"), "redirect", False),
    "too many requests": (too_many_requests(), "rate_limited", True),
    "a service that is down": (status(503), "status", True),
    "a server error": (status(500), "status", True),
    "no access": (status(401), "auth", False),
    "a torn connection": (reset(), "connection", True),
    "half an answer": (cut(5, STATED), "truncated", True),
    "silence": (hang(), "timeout", True),
    "a trickle": (drip(every_s=1.0), "timeout", True),
    "far too much": (huge(), "too_large", False),
    "another encoding": (garbled(), "missing_field", False),
}


@pytest.mark.parametrize("name", FAULTS)
async def test_a_sample_agent_that_stumbles_is_a_named_error_and_answers_when_it_is_back(name):
    fault, kind, is_transient = FAULTS[name]
    with BioAgent() as agent:
        assert agent.service is not None
        agent.service.reply = fault

        error = await failure(agent.url, idle_s=0.1 if kind == "timeout" else 0.3)
        agent.service.reply = agent.answer
        reply = await ask(agent.url)

    assert (error.kind, error.transient) == (kind, is_transient)
    assert reply.intent == "DATA_SEARCH"
    assert len(agent.service.ledger) == 2
