"""The `chat` target: what a model is sent of a case, and what the reply holds."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from cortex_eval.asking import ask_target
from cortex_eval.core import Case, InputError, Reply, Secret, TargetError, ToolCall, Turn, reply_from_json, to_json
from cortex_eval.net import Guard, Line, Patience
from cortex_eval.targets import Conversation, Target, targets
from cortex_eval.testing import (
    Call,
    ModelReply,
    ScriptedService,
    cut,
    login_page,
    sequence,
    speak_anthropic,
    speak_gemini,
    speak_openai,
)

Serve = Callable[..., ScriptedService]
SPEAK = {"openai": speak_openai, "anthropic": speak_anthropic, "gemini": speak_gemini}


def chat(service: ScriptedService, **settings: Any) -> Target:
    return targets.build("chat", {"model": "openai:model-1", "base_url": service.url, **settings})


def at(case: Case, turn: int = 0, *replies: str) -> Conversation:
    return Conversation.at(case, turn, [Reply(text=text) for text in replies], session_id="s1")


async def asked(target: Target, turns: Conversation) -> Reply:
    async with target:
        return await target.ask(turns)


HELLO = at(Case.of("Is it open?", id="c1"))


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("provider", SPEAK)
async def test_a_reply_holds_the_answer_with_its_tokens_cost_and_parameters(
    scripted_service: Serve, provider: str, stream: bool
) -> None:
    said = ModelReply(text="Yes, until six.", input_tokens=1000, cached_tokens=500, output_tokens=100)
    bot = scripted_service(SPEAK[provider](said))
    prices = {"input": 0.4, "cached_input": 0.1, "output": 1.6}
    target = chat(bot, model=f"{provider}:model-1", prices=prices, temperature=0, max_tokens=60, stream=stream)

    reply = await asked(target, HELLO)

    assert (reply.text, reply.model, reply.finish_reason) == ("Yes, until six.", "model-1", "stop")
    assert reply.usage is not None
    assert reply.usage.cost is not None
    assert (reply.usage.input_tokens, reply.usage.cached_tokens, reply.usage.output_tokens) == (1000, 500, 100)
    assert reply.usage.cost.amount == Decimal("0.00041")
    assert (reply.first_token_ms is not None) == stream
    assert reply.metadata["parameters"]["temperature"] == 0
    assert reply.raw
    assert bot.ledger[0].headers["Idempotency-Key"] == "s1-0"
    assert reply_from_json(to_json(reply)) == reply, "it can be stored"


async def test_all_that_was_said_goes_along_and_only_that(scripted_service: Serve) -> None:
    bot = scripted_service(speak_openai("Fine."))
    case = Case(
        id="c1",
        history=(Turn(role="system", text="You are a nurse."), Turn(text="Hi."), Turn(role="tool", text="36.6")),
        turns=(Turn(text="I feel ill."), Turn(text="And now?")),
        passages=("A passage.",),
        context={"ward": 7},
    )

    await asked(chat(bot, system="Be brief."), at(case, 1, "Since when?"))

    assert [(each["role"], each["content"]) for each in bot.ledger[0].json["messages"]] == [
        ("system", "Be brief."),
        ("system", "You are a nurse."),
        ("user", "Hi."),
        ("user", "Result of a tool:\n36.6"),
        ("user", "I feel ill."),
        ("assistant", "Since when?"),
        ("user", "And now?"),
    ]
    assert b"A passage." not in bot.ledger[0].body
    assert b"ward" not in bot.ledger[0].body


async def test_a_prompt_says_what_else_of_the_case_is_sent(scripted_service: Serve) -> None:
    bot = scripted_service(speak_openai("Fine."))
    case = Case.of("How many {beds}?", id="c1", passages=("It has 9 beds.",), context={"ward": 7})

    await asked(chat(bot, prompt='Sources: {passages}\nContext: {context}\nReply as {"n": 1}. {input}'), at(case))

    assert bot.ledger[0].json["messages"][-1]["content"] == (
        'Sources: ["It has 9 beds."]\nContext: {"ward":7}\nReply as {"n": 1}. How many {beds}?'
    ), "the text of a case is never expanded"
    with pytest.raises(InputError, match=r"prompt: there is no placeholder \{passage\}\. Did you mean 'passages'"):
        chat(bot, prompt="{passage}")


@pytest.mark.parametrize("stream", [True, False])
async def test_calls_of_tools_become_the_tool_and_arguments_of_the_reply(scripted_service: Serve, stream: bool) -> None:
    calls = (ToolCall(name="book", arguments={"day": "Monday"}), ToolCall(name="notify", arguments={}))
    bot = scripted_service(speak_openai(ModelReply(tool_calls=calls)))
    tools = [{"name": "book", "description": "Book a visit.", "parameters": {"type": "object"}}, {"name": "notify"}]

    reply = await asked(chat(bot, tools=tools, stream=stream), HELLO)

    assert (reply.tool, reply.arguments, reply.tool_calls) == ("book", {"day": "Monday"}, calls)
    assert (reply.text, reply.finish_reason) == ("", "tool_calls")
    assert [each["function"]["name"] for each in bot.ledger[0].json["tools"]] == ["book", "notify"]


async def test_a_schema_may_be_written_out_or_lie_in_a_file(scripted_service: Serve, tmp_path: Path) -> None:
    bot = scripted_service(speak_openai('{"ok": true}'))
    schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}}
    (tmp_path / "schema.json").write_text(json.dumps(schema))
    (tmp_path / "broken.json").write_text("{")

    await asked(chat(bot, json_schema=schema), HELLO)
    await asked(chat(bot, json_schema=str(tmp_path / "schema.json")), HELLO)

    assert [call.json["response_format"]["json_schema"]["schema"] for call in bot.ledger] == [schema, schema]
    with pytest.raises(InputError, match=r"json_schema: .*broken\.json is not JSON"):
        chat(bot, json_schema=str(tmp_path / "broken.json"))
    with pytest.raises(InputError, match=r"json_schema: .*none\.json cannot be read"):
        chat(bot, json_schema=str(tmp_path / "none.json"))


async def test_further_fields_go_along_as_they_are(scripted_service: Serve) -> None:
    bot = scripted_service(speak_openai("Yes."))

    reply = await asked(chat(bot, extra={"reasoning_effort": "low"}, seed=3, stop=["END"], stream=False), HELLO)

    assert bot.ledger[0].json["reasoning_effort"] == "low"
    assert reply.metadata["parameters"] == {"model": "model-1", "seed": 3, "stop": ["END"], "reasoning_effort": "low"}


async def test_F18_a_stream_that_is_cut_is_asked_again_and_never_taken_as_whole(scripted_service: Serve) -> None:
    def flaky(call: Call) -> Any:
        whole = speak_openai("All is well, come tomorrow.")(call)
        return cut(len(whole.body) // 2, whole, framing="close") if call.number < 3 else whole

    bot = scripted_service(flaky)
    target = chat(bot)

    async with target:
        reply = await ask_target(Line(patience=Patience(retry_delay_s=0)), target, HELLO)
        bot.reply = lambda call: cut(300, speak_openai("All is well.")(call), framing="close")
        with pytest.raises(TargetError) as raised:
            await ask_target(Line(patience=Patience(retry_delay_s=0)), target, HELLO)

    assert (reply.text, reply.attempts) == ("All is well, come tomorrow.", 3)
    assert (raised.value.kind, raised.value.attempts) == ("truncated", 3)
    assert {call.headers["Idempotency-Key"] for call in bot.ledger} == {"s1-0"}


async def test_TR01_TR04_what_is_no_answer_is_an_error_and_what_passes_is_asked_again(scripted_service: Serve) -> None:
    bot = scripted_service(login_page())
    target = chat(bot)
    async with target:
        with pytest.raises(TargetError, match="not with JSON") as raised:
            await target.ask(HELLO)
        assert raised.value.kind == "not_json"
        bot.ledger.clear()
        bot.reply = lambda call: sequence(500, 503, speak_openai("Yes.")(call))(call)
        reply = await ask_target(Line(patience=Patience(retry_delay_s=0)), target, HELLO)
    assert (reply.text, reply.attempts) == ("Yes.", 3)


async def test_it_calls_only_whom_the_guard_allows_and_says_whom_it_will_call(scripted_service: Serve) -> None:
    bot = scripted_service(speak_openai("Yes."))
    elsewhere = targets.build("chat", {"model": "m", "base_url": "https://models.example.org/v1"})
    offline = Guard(is_offline=True)
    elsewhere.connect_by(offline)

    with pytest.raises(TargetError, match="--offline") as raised:
        await asked(elsewhere, HELLO)
    here = chat(bot)
    here.connect_by(offline)
    await asked(here, HELLO)

    assert raised.value.kind == "offline"
    assert elsewhere.hosts == ("models.example.org",)  # type: ignore[attr-defined]  # of `chat` alone
    assert list(offline.hosts) == [f"127.0.0.1:{bot.url.rpartition(':')[2].strip('/')}"]


async def test_a_key_is_sent_and_shown_nowhere(scripted_service: Serve) -> None:
    bot = scripted_service(lambda call: {"error": {"message": f"bad key {call.headers['Authorization']}"}})

    with pytest.raises(TargetError) as raised:
        await asked(chat(bot, api_key=Secret("sk-secret-of-this-test")), HELLO)

    assert bot.ledger[0].headers["Authorization"] == "Bearer sk-secret-of-this-test"
    assert "sk-secret-of-this-test" not in str(raised.value)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"temperature": 3}, "from 0 to 2"),
        ({"max_tokens": 0}, "from 1 to"),
        ({"tools": [{"description": "nameless"}]}, "name is missing"),
        ({"tools": [{"name": "f", "parameter": {}}]}, "Did you mean 'parameters'"),
        ({"prices": {"input": 1, "output": "cheap"}}, "must be a number"),
        ({"modle": "m"}, "Did you mean 'model'"),
    ],
)
def test_a_setting_that_cannot_be_is_told_by_its_name(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as raised:
        targets.build("chat", {"model": "m", "base_url": "http://127.0.0.1:9/v1", **settings})
    assert said in str(raised.value)


def test_a_missing_key_is_told_before_anything_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)

    with pytest.raises(InputError, match="Set ANTHROPIC_API_KEY"):
        targets.build("chat", {"model": "anthropic:claude-haiku-4-5"})
