"""What services say in place of an answer, and what becomes of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from talking import HOW, PROVIDERS, SPEAK, OpenTalk, asking

from cortex_eval.core import TargetError
from cortex_eval.testing import Answer, ModelReply, login_page, redirect, status, too_many_requests

QUOTA = {
    "error": {
        "message": "You exceeded your current quota, please check your plan and billing details. For more information "
        "on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.",
        "type": "insufficient_quota",
        "param": None,
        "code": "insufficient_quota",
    }
}


def events(*data: object) -> Answer:
    body = b"".join(b"data: " + json.dumps(each).encode() + b"\n\n" for each in data)
    return Answer(body=body, content_type="text/event-stream")


async def failing(talk: OpenTalk, provider: str, reply: Any, **settings: Any) -> TargetError:
    model, _ = await talk(provider, reply, **settings)
    with pytest.raises(TargetError) as raised:
        await model.complete(asking("Well?"))
    return raised.value


@pytest.mark.parametrize("stream", HOW)
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_TR01_a_login_page_is_not_an_answer(talk: OpenTalk, provider: str, stream: bool) -> None:
    error = await failing(talk, provider, login_page(), stream=stream)

    assert error.kind == "not_json"
    assert "Please sign in" in str(error)


@pytest.mark.parametrize("stream", HOW)
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_TR02_an_empty_answer_is_an_error(talk: OpenTalk, provider: str, stream: bool) -> None:
    error = await failing(talk, provider, b"", stream=stream)

    assert error.kind == "empty"


@pytest.mark.parametrize(
    ("provider", "body", "named"),
    [
        ("openai", {"object": "chat.completion"}, "choices"),
        ("openai", {"choices": []}, "choices"),
        ("openai", {"choices": [{"finish_reason": "stop"}]}, "message"),
        ("openai", {"choices": [{"message": {"content": None}, "finish_reason": "stop"}]}, "content"),
        ("openai", [1], "JSON object"),
        ("anthropic", {"type": "message"}, "content"),
        ("gemini", {"usageMetadata": {}}, "candidates"),
        ("gemini", {"candidates": []}, "candidates"),
    ],
)
async def test_TR02_an_answer_without_what_it_must_have_says_what_is_missing(
    talk: OpenTalk, provider: str, body: Any, named: str
) -> None:
    error = await failing(talk, provider, Answer.of(body) if isinstance(body, dict) else json.dumps(body).encode())

    assert error.kind == "missing_field"
    assert f"no {named}" in str(error)


@pytest.mark.parametrize("stream", HOW)
@pytest.mark.parametrize(
    ("provider", "said", "kind", "transient"),
    [
        ("openai", {"message": "The server had an error", "type": "server_error"}, "service_error", True),
        ("openai", {"message": "Provider returned error", "code": 502}, "service_error", True),
        ("openai", {"message": "bad", "type": "invalid_request_error"}, "service_error", False),
        ("openai", {"message": "slow down", "code": "rate_limit_exceeded"}, "rate_limited", True),
        ("openai", QUOTA["error"], "auth", False),
        ("openai", "model not loaded", "service_error", None),
        ("anthropic", {"type": "overloaded_error", "message": "Overloaded"}, "service_error", True),
        ("anthropic", {"type": "authentication_error", "message": "invalid x-api-key"}, "auth", False),
        (
            "gemini",
            {"code": 503, "status": "UNAVAILABLE", "message": "The model is overloaded."},
            "service_error",
            True,
        ),
    ],
)
async def test_an_error_in_a_200_answer_or_in_a_stream_is_an_error(
    talk: OpenTalk, provider: str, said: Any, kind: str, transient: bool | None, stream: bool
) -> None:
    began = {"choices": [{"delta": {"content": "Half of"}}], "candidates": [{"content": {"parts": [{"text": "Half"}]}}]}
    reply = events(began, {"type": "error", "error": said}) if stream else {"error": said}

    error = await failing(talk, provider, reply, stream=stream)

    assert error.kind == kind
    # What is not known passes by itself when it came midway: the request was taken, after all.
    assert error.transient == (stream if transient is None else transient)


async def test_a_choice_that_was_broken_off_is_cut(talk: OpenTalk) -> None:
    for finish in ("error", "abort"):
        choice = {"message": {"content": "Half of"}, "delta": {"content": "Half of"}, "finish_reason": finish}
        for reply, stream in (({"choices": [choice]}, False), (events({"choices": [choice]}), True)):
            error = await failing(talk, "openai", reply, stream=stream)
            assert (error.kind, error.transient) == ("truncated", True)


@pytest.mark.parametrize("stream", HOW)
async def test_an_empty_purse_is_no_passing_429(talk: OpenTalk, stream: bool) -> None:
    error = await failing(talk, "openai", status(429, json.dumps(QUOTA)), stream=stream)

    assert (error.kind, error.transient) == ("auth", False)
    assert "billing" in str(error)


@pytest.mark.parametrize(
    ("provider", "code", "body"),
    [
        ("anthropic", 400, {"type": "invalid_request_error", "message": "Your credit balance is too low to access"}),
        ("anthropic", 402, {"type": "billing_error", "message": "Pay first."}),
        (
            "gemini",
            400,
            {"code": 400, "status": "INVALID_ARGUMENT", "message": "x", "details": [{"reason": "API_KEY_INVALID"}]},
        ),
        ("openai", 401, {"code": "invalid_api_key", "message": "Incorrect API key provided"}),
    ],
)
async def test_a_key_that_is_no_use_is_told_as_such(talk: OpenTalk, provider: str, code: int, body: Any) -> None:
    error = await failing(talk, provider, status(code, json.dumps({"error": body})))

    assert (error.kind, error.transient) == ("auth", False)


async def test_a_real_429_is_waited_for_as_long_as_the_service_says(talk: OpenTalk) -> None:
    error = await failing(talk, "openai", too_many_requests(retry_after_s=3))
    assert (error.kind, error.transient, error.retry_after_s) == ("rate_limited", True, 3.0)
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}]
    said = {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "Slow down.", "details": details}}
    error = await failing(talk, "gemini", status(429, json.dumps(said)), stream=True)
    assert (error.kind, error.retry_after_s) == ("rate_limited", 34.5)


@pytest.mark.parametrize("stream", HOW)
async def test_a_redirect_is_not_followed_with_the_key(talk: OpenTalk, stream: bool) -> None:
    _, elsewhere = await talk("openai", "here I am")
    error = await failing(talk, "openai", redirect(elsewhere.url), key="sk-not-a-real-key-123", stream=stream)

    assert error.kind == "redirect"
    assert elsewhere.ledger == []


@pytest.mark.parametrize("stream", HOW)
async def test_a_refusal_is_the_answer_and_is_marked(talk: OpenTalk, stream: bool) -> None:
    part = {"content": None, "refusal": "I cannot help with that."}
    choice = {"message": part, "delta": part, "finish_reason": "stop"}
    model, _ = await talk("openai", events({"choices": [choice]}) if stream else {"choices": [choice]}, stream=stream)

    answer = await model.complete(asking("Well?"))

    assert (answer.text, answer.finish_reason) == ("I cannot help with that.", "refusal")


@pytest.mark.parametrize("stream", HOW)
async def test_a_question_that_gemini_blocks_is_an_empty_answer_and_marked(talk: OpenTalk, stream: bool) -> None:
    body = {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 9}}
    model, _ = await talk("gemini", events(body) if stream else body, stream=stream)

    answer = await model.complete(asking("Well?"))

    assert (answer.text, answer.finish_reason) == ("", "content_filter")


async def test_reasoning_that_used_all_tokens_leaves_an_empty_answer_that_is_marked(talk: OpenTalk) -> None:
    model, _ = await talk("openai", {"choices": [{"message": {"content": None}, "finish_reason": "length"}]})

    answer = await model.complete(asking("Well?"))

    assert (answer.text, answer.finish_reason) == ("", "length")


async def test_an_event_that_is_not_json_is_an_error(talk: OpenTalk) -> None:
    garbled = Answer(body=b'data: {"choices": [\n\ndata: [DONE]\n\n', content_type="text/event-stream")

    assert (await failing(talk, "openai", garbled, stream=True)).kind == "not_json"


async def test_events_of_unknown_kinds_and_comments_are_passed_over(talk: OpenTalk) -> None:
    def chatty(call: Any) -> Answer:
        plain = SPEAK["anthropic"](ModelReply(text="Yes."))(call).body
        extra = b': keep-alive\n\nevent: something_new\ndata: {"type": "something_new"}\n\n'
        return Answer(body=extra + plain.replace(b"\n", b"\r\n"), content_type="text/event-stream")

    model, _ = await talk("anthropic", chatty, stream=True)

    assert (await model.complete(asking("Well?"))).text == "Yes."
