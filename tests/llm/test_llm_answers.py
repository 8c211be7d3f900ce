"""Answers of models, at once and as streams: text, calls, usage, cost, and what is sent for them."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from decimal import Decimal
from typing import Any

import pytest
from talking import HOW, PROVIDERS, SPEAK, OpenTalk, asking

from cortex_eval.core import Attachment, TargetError, ToolCall
from cortex_eval.llm import UNPARSED, Asked, Message, Prices, Tool
from cortex_eval.testing import Answer, ModelReply, status

WEATHER = Tool(
    name="get_weather",
    description="Weather of a place.",
    parameters={"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]},
)


@pytest.mark.parametrize("stream", HOW)
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_the_text_comes_whole_with_its_model_finish_and_usage(
    talk: OpenTalk, provider: str, stream: bool
) -> None:
    said = ModelReply(text="It is 32 °C — नमस्ते.", input_tokens=100, cached_tokens=40, output_tokens=20)
    model, _ = await talk(provider, SPEAK[provider](said), stream=stream)

    answer = await model.complete(asking("How warm is it?"))

    assert (answer.text, answer.finish_reason, answer.model) == (said.text, "stop", "model-1")
    assert answer.usage is not None
    assert (answer.usage.input_tokens, answer.usage.cached_tokens, answer.usage.output_tokens) == (100, 40, 20)
    assert answer.usage.cost is None, "the price of a server of one's own is not known"
    assert (answer.first_token_ms is not None) == stream
    assert answer.tool_calls == ()


@pytest.mark.parametrize("stream", HOW)
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_the_cost_is_reckoned_exactly_from_the_prices_of_the_settings(
    talk: OpenTalk, provider: str, stream: bool
) -> None:
    said = ModelReply(text="Yes.", input_tokens=1_000, cached_tokens=400, output_tokens=50)
    prices = Prices(input=0.4, cached_input=0.1, output=1.6)
    model, _ = await talk(provider, SPEAK[provider](said), stream=stream, prices=prices)

    usage = (await model.complete(asking("Well?"))).usage

    assert usage is not None
    assert usage.cost is not None
    assert usage.cost.amount == Decimal("0.00036")  # 600 × 0.4 + 400 × 0.1 + 50 × 1.6, per million
    assert (usage.cost.currency, usage.cost.price_table) == ("USD", "settings")


@pytest.mark.parametrize("stream", HOW)
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_an_answer_without_usage_has_none_and_no_cost(talk: OpenTalk, provider: str, stream: bool) -> None:
    said = ModelReply(text="Yes.", has_usage=False)
    model, _ = await talk(provider, SPEAK[provider](said), stream=stream, prices=Prices(input=1.0, output=1.0))

    assert (await model.complete(asking("Well?"))).usage is None


@pytest.mark.parametrize("stream", HOW)
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_calls_of_tools_come_with_their_arguments_and_no_text(
    talk: OpenTalk, provider: str, stream: bool
) -> None:
    calls = (
        ToolCall(name="get_weather", arguments={"place": "पुणे", "days": 2}),
        ToolCall(name="get_time", arguments={}),
    )
    model, service = await talk(provider, SPEAK[provider](ModelReply(tool_calls=calls)), stream=stream)

    answer = await model.complete(asking("How warm is it?", tools=[WEATHER]))

    assert (answer.text, answer.tool_calls, answer.finish_reason) == ("", calls, "tool_calls")
    sent = service.ledger[0].json["tools"]
    if provider == "openai":
        assert sent[0]["function"]["parameters"] == WEATHER.parameters
    elif provider == "anthropic":
        assert (sent[0]["name"], sent[0]["input_schema"]) == ("get_weather", WEATHER.parameters)
    else:
        declared = sent[0]["functionDeclarations"][0]
        assert declared["parameters"]["properties"] == {"place": {"type": "STRING"}}


@pytest.mark.parametrize("stream", HOW)
@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("finish", ["length", "content_filter"])
async def test_an_answer_that_ran_into_a_limit_is_whole_but_marked(
    talk: OpenTalk, provider: str, stream: bool, finish: str
) -> None:
    model, _ = await talk(provider, SPEAK[provider](ModelReply(text="Once upon a", finish=finish)), stream=stream)

    answer = await model.complete(asking("Tell me."))

    expected = "refusal" if (provider, finish) == ("anthropic", "content_filter") else finish
    assert (answer.text, answer.finish_reason) == ("Once upon a", expected)


async def test_a_schema_goes_to_openai_as_its_response_format(talk: OpenTalk) -> None:
    model, service = await talk("openai", SPEAK["openai"]('{"verdict": true}'))
    schema = {"type": "object", "properties": {"verdict": {"type": "boolean"}}, "required": ["verdict"]}

    await model.complete(asking("Is it?", schema={**schema, "additionalProperties": False}))
    await model.complete(asking("Is it?", schema=schema))

    closed, open_ = (call.json["response_format"] for call in service.ledger)
    assert closed["type"] == "json_schema"
    assert closed["json_schema"]["schema"]["required"] == ["verdict"]
    assert (closed["json_schema"]["strict"], open_["json_schema"]["strict"]) == (True, False)


async def test_a_schema_goes_to_anthropic_as_its_output_format(talk: OpenTalk) -> None:
    model, service = await talk("anthropic", SPEAK["anthropic"]('{"score": 3}'))
    schema = {"type": "object", "properties": {"score": {"type": "integer", "minimum": 1}}, "required": ["score"]}

    await model.complete(asking("How good?", schema=schema))

    assert service.ledger[0].json["output_config"]["format"] == {
        "type": "json_schema",
        "schema": {
            "type": "object",
            "properties": {"score": {"type": "integer"}},
            "required": ["score"],
            "additionalProperties": False,
        },
    }


async def test_a_schema_goes_to_gemini_as_its_response_schema(talk: OpenTalk) -> None:
    model, service = await talk("gemini", SPEAK["gemini"]('{"score": 3}'))
    schema = {"type": "object", "properties": {"score": {"type": ["integer", "null"]}}, "additionalProperties": False}

    await model.complete(asking("How good?", schema=schema, temperature=0.0, seed=7, max_tokens=50, stop=["END"]))

    config = service.ledger[0].json["generationConfig"]
    assert config == {
        "temperature": 0.0,
        "seed": 7,
        "maxOutputTokens": 50,
        "stopSequences": ["END"],
        "responseMimeType": "application/json",
        "responseSchema": {
            "type": "OBJECT",
            "properties": {"score": {"type": "INTEGER", "nullable": True}},
            "propertyOrdering": ["score"],
        },
    }


async def test_openai_is_sent_messages_parameters_key_and_idempotency_key(talk: OpenTalk) -> None:
    model, service = await talk("openai", SPEAK["openai"](), key="sk-not-a-real-key-123", stream=True)
    messages = (Message(role="system", text="Be brief."), *asking("Hello?", "Hi.", "And now?").messages)

    answer = await model.complete(
        Asked(messages=messages, temperature=0.5, seed=3, max_tokens=9, stop=["x"], extra={"top_p": 0.9}),
        idempotency_key="run-1-0",
    )

    (call,) = service.ledger
    assert call.path == "/v1/chat/completions"
    assert call.headers["Authorization"] == "Bearer sk-not-a-real-key-123"
    assert call.headers["Idempotency-Key"] == "run-1-0"
    assert [each["role"] for each in call.json["messages"]] == ["system", "user", "assistant", "user"]
    assert call.json["stream_options"] == {"include_usage": True}
    assert (call.json["temperature"], call.json["seed"], call.json["max_tokens"]) == (0.5, 3, 9)
    assert answer.text == "And now?"
    assert answer.parameters == {key: value for key, value in call.json.items() if key != "messages"}


async def test_anthropic_is_sent_the_system_apart_its_version_and_its_key(talk: OpenTalk) -> None:
    model, service = await talk("anthropic", SPEAK["anthropic"](), key="sk-ant-not-a-real-key")
    messages = (Message(role="system", text="Be brief."), *asking("Hello?", "", "And now?").messages)

    await model.complete(Asked(messages=messages, stop=["x"]), idempotency_key="run-1-0")

    (call,) = service.ledger
    assert call.path == "/v1/messages"
    assert (call.headers["x-api-key"], call.headers["anthropic-version"]) == ("sk-ant-not-a-real-key", "2023-06-01")
    assert "Authorization" not in call.headers
    assert call.headers["Idempotency-Key"] == "run-1-0"
    assert call.json["system"] == "Be brief."
    assert [each["role"] for each in call.json["messages"]] == ["user", "user"], "it refuses empty messages"
    assert (call.json["max_tokens"], call.json["stop_sequences"]) == (8192, ["x"])


@pytest.mark.parametrize("stream", HOW)
async def test_gemini_is_sent_its_key_in_a_header_and_never_in_the_address(talk: OpenTalk, stream: bool) -> None:
    model, service = await talk("gemini", SPEAK["gemini"](), key="AIza-not-a-real-key", stream=stream)
    messages = (Message(role="system", text="Be brief."), *asking("Hello?", "Hi.", "And now?").messages)

    await model.complete(Asked(messages=messages))

    (call,) = service.ledger
    verb = "streamGenerateContent?alt=sse" if stream else "generateContent"
    assert call.path == f"/v1beta/models/model-1:{verb}"
    assert call.headers["x-goog-api-key"] == "AIza-not-a-real-key"
    assert call.json["systemInstruction"] == {"parts": [{"text": "Be brief."}]}
    assert [each["role"] for each in call.json["contents"]] == ["user", "model", "user"]


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_results_of_tools_are_tied_to_their_calls(talk: OpenTalk, provider: str) -> None:
    model, service = await talk(provider, SPEAK[provider]("Fine."))
    calls = (ToolCall(name="get_weather", arguments={"place": "Pune"}), ToolCall(name="get_time"))
    messages = (
        Message(role="user", text="How warm, how late?"),
        Message(role="assistant", text="", tool_calls=calls),
        Message(role="tool", text="32"),
        Message(role="tool", text="noon", tool_call_id="mine"),
    )

    await model.complete(Asked(messages=messages))

    body = service.ledger[0].json
    if provider == "openai":
        _, made, first, second = body["messages"]
        assert [each["id"] for each in made["tool_calls"]] == [first["tool_call_id"], second["tool_call_id"]]
        assert made["content"] is None
        assert made["tool_calls"][0]["function"]["arguments"] == '{"place":"Pune"}'
    elif provider == "anthropic":
        _, made, first, second = body["messages"]
        assert [each["id"] for each in made["content"]] == [
            each["content"][0]["tool_use_id"] for each in (first, second)
        ]
    else:
        _, made, first, second = body["contents"]
        assert [each["functionCall"]["name"] for each in made["parts"]] == ["get_weather", "get_time"]
        assert second["parts"][0]["functionResponse"] == {"name": "get_time", "response": {"result": "noon"}}


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_picture_is_sent_with_its_bytes(talk: OpenTalk, provider: str) -> None:
    model, service = await talk(provider, SPEAK[provider]("A dot."))
    data = b"\x89PNG not really"
    picture = Attachment(sha256=hashlib.sha256(data).hexdigest(), media_type="image/png", size=len(data))
    asked = Asked(messages=(Message(role="user", text="What is it?", attachments=(picture,)),))

    with pytest.raises(TargetError, match="nothing here can read attachments"):
        await model.complete(asked)
    model.read_attachment = lambda attachment: data if attachment == picture else b""
    await model.complete(asked)

    assert len(service.ledger) == 1
    assert base64.b64encode(data) in service.ledger[0].body


async def test_arguments_that_are_no_json_object_are_kept_as_text(talk: OpenTalk) -> None:
    def call(arguments: str) -> dict[str, Any]:
        function = {"name": "f", "arguments": arguments}
        message = {"content": None, "tool_calls": [{"id": "1", "type": "function", "function": function}]}
        return {"choices": [{"message": message, "finish_reason": "tool_calls"}]}

    model, service = await talk("openai", None)
    for given, expected in (
        ('{"a": 1', {UNPARSED: '{"a": 1'}),
        ("[1]", {UNPARSED: "[1]"}),
        ("{'a': 1}", {UNPARSED: "{'a': 1}"}),
        ("", {}),
        ('{"a": NaN}', {UNPARSED: '{"a": NaN}'}),
    ):
        service.reply = call(given)
        assert (await model.complete(asking("Go."))).tool_calls == (ToolCall(name="f", arguments=expected),)


async def test_the_reasoning_of_a_model_is_counted_and_not_taken_for_its_answer(talk: OpenTalk) -> None:
    said = ModelReply(text="42", output_tokens=30, reasoning_tokens=25)
    for provider in ("openai", "gemini"):
        model, _ = await talk(provider, SPEAK[provider](said), stream=True)
        usage = (await model.complete(asking("What?"))).usage
        assert usage is not None
        assert (usage.output_tokens, usage.reasoning_tokens) == (30, 25)
    thought = {"text": "Hm, six by nine …", "thought": True}
    candidate = {"content": {"parts": [thought, {"text": "42"}]}, "finishReason": "STOP"}
    model, _ = await talk("gemini", {"candidates": [candidate]})
    assert (await model.complete(asking("What?"))).text == "42"


async def test_what_anthropic_writes_to_its_cache_is_input_of_its_own_price(talk: OpenTalk) -> None:
    usage = {
        "input_tokens": 100,
        "cache_creation_input_tokens": 1000,
        "cache_read_input_tokens": 0,
        "output_tokens": 10,
    }
    body = {"content": [{"type": "text", "text": "Yes."}], "stop_reason": "end_turn", "model": "m", "usage": usage}
    prices = Prices(input=1.0, cached_input=0.1, cache_write=1.25, output=5.0)
    model, service = await talk("anthropic", body, prices=prices)

    told = (await model.complete(asking("Well?"))).usage
    dearer = {**usage, "cache_creation": {"ephemeral_1h_input_tokens": 1000}}
    service.reply = {**body, "usage": dearer}
    unknown = (await model.complete(asking("Well?"))).usage

    assert told is not None
    assert told.cost is not None
    assert (told.input_tokens, told.cost.amount) == (1100, Decimal("0.0014"))
    assert unknown is not None
    assert unknown.cost is None


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_server_that_does_not_stream_is_understood_all_the_same(talk: OpenTalk, provider: str) -> None:
    def at_once(call: Any) -> Any:
        call.json.pop("stream", None)
        call.path = call.path.replace("streamGenerateContent", "generateContent")
        return SPEAK[provider]("Yes.")(call)

    model, _ = await talk(provider, at_once, stream=True)

    answer = await model.complete(asking("Well?"))

    assert (answer.text, answer.finish_reason, answer.first_token_ms) == ("Yes.", "stop", None)


async def test_a_server_that_refuses_stream_options_is_asked_without_them_from_then_on(talk: OpenTalk) -> None:
    def old(call: Any) -> Any:
        if "stream_options" in call.json:
            detail = "x" * 500 + "Extra inputs are not permitted: stream_options"
            return status(422, '{"detail": "' + detail + '"}')
        return SPEAK["openai"]("Yes.")(call)

    model, service = await talk("openai", old, stream=True, prices=Prices(input=1.0, output=1.0))

    async with asyncio.TaskGroup() as group:
        together = [group.create_task(model.complete(asking("Well?"))) for _ in range(5)]
    last = await model.complete(asking("Well?"))

    answers = [*(each.result() for each in together), last]
    assert {(each.text, each.usage) for each in answers} == {("Yes.", None)}
    assert sum("stream_options" in call.json for call in service.ledger) <= 5
    assert "stream_options" not in service.ledger[-1].json


async def test_streamed_calls_that_all_have_index_0_are_told_apart_by_their_ids(talk: OpenTalk) -> None:
    def chunk(*calls: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {"choices": [{"index": 0, "delta": {"tool_calls": list(calls)}, "finish_reason": finish}]}

    def call(call_id: str | None, name: str | None, arguments: str) -> dict[str, Any]:
        return {"index": 0, "id": call_id, "function": {"name": name, "arguments": arguments}}

    said = [
        chunk(call("a", "look_up", '{"drug"')),
        chunk(call(None, None, ': "aspirin"}')),
        chunk(call("b", "book", '{"day": 1}')),
        chunk(call("b", None, ""), finish="tool_calls"),
    ]
    body = b"".join(b"data: " + json.dumps(each).encode() + b"\n\n" for each in said)
    model, _ = await talk("openai", Answer(body=body, content_type="text/event-stream"), stream=True)

    answer = await model.complete(asking("Hello?"))

    assert answer.tool_calls == (
        ToolCall(name="look_up", arguments={"drug": "aspirin"}),
        ToolCall(name="book", arguments={"day": 1}),
    )


async def test_a_message_of_spaces_only_is_not_sent_to_a_service_that_refuses_it(talk: OpenTalk) -> None:
    model, service = await talk("anthropic", SPEAK["anthropic"](ModelReply(text="Hi")))
    await model.complete(asking("Hello?", " \n", "Still there?"))
    sent = service.ledger[0].json["messages"]
    assert [each["content"][0]["text"] for each in sent] == ["Hello?", "Still there?"]
