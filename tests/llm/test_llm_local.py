"""A GGUF file run in this process; with CORTEX_TEST_GGUF=FILE a real model answers."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest
from talking import asking

from cortex_eval.asking import ask_target
from cortex_eval.core import Case, InputError, Reply, Turn
from cortex_eval.llm import ModelSettings, make_model
from cortex_eval.net import Guard, Line
from cortex_eval.targets import Conversation, targets

GGUF = os.environ.get("CORTEX_TEST_GGUF", "")
with_a_model = pytest.mark.skipif(not GGUF, reason="set CORTEX_TEST_GGUF to a GGUF file to run a real model")


def test_what_is_no_gguf_file_is_an_input_error(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    (tmp_path / "broken.gguf").write_bytes(b"GGUF, but not really")
    model = make_model(ModelSettings(model="local:broken.gguf", directory=str(tmp_path)))

    with pytest.raises(InputError, match=r"broken\.gguf could not be loaded\. Is it a GGUF file, and whole\?"):
        model.open(Guard())


@pytest.mark.model
@with_a_model
async def test_a_real_model_answers_as_a_chat_target_streaming_with_its_tokens() -> None:
    target = targets.build(
        "chat",
        {
            "model": f"local:{GGUF}",
            "system": "Answer in one short sentence.",
            "max_tokens": 40,
            "temperature": 0,
            "seed": 1,
        },
    )
    case = Case(id="c", turns=(Turn(text="What is the capital of France?"), Turn(text="And which river flows there?")))
    target.connect_by(Guard(is_offline=True))
    replies: list[Reply] = []

    async with target:
        for turn in range(2):
            turns = Conversation.at(case, turn, replies, session_id="s")
            replies.append(await ask_target(Line(), target, turns))

    for reply in replies:
        assert reply.usage is not None
        assert reply.first_token_ms is not None
        assert reply.total_time_ms is not None
        assert reply.text.strip()
        assert 0 < reply.usage.output_tokens <= 40
        assert reply.first_token_ms <= reply.total_time_ms
        assert (reply.finish_reason, reply.model) in {("stop", Path(GGUF).stem), ("length", Path(GGUF).stem)}
        assert reply.usage.cost is None
        print(
            f"\n{reply.text!r}\n  {reply.usage.input_tokens} in ({reply.usage.cached_tokens} cached), "
            f"{reply.usage.output_tokens} out, first token {reply.first_token_ms:.0f} ms, "
            f"all {reply.total_time_ms:.0f} ms, {reply.finish_reason}"
        )
    first, second = (reply.usage.input_tokens for reply in replies if reply.usage)
    assert second > first, "the second turn carries the first one"


@pytest.mark.model
@with_a_model
async def test_a_real_model_keeps_to_a_schema_and_stops_listening_when_it_is_closed() -> None:
    schema = {"type": "object", "properties": {"yes": {"type": "boolean"}}, "required": ["yes"]}
    model = make_model(ModelSettings(model=f"local:{GGUF}"))
    guard = Guard()
    await asyncio.to_thread(model.open, guard)
    try:
        answer = await model.complete(asking("Is water wet? Answer in JSON.", schema=schema, max_tokens=30, seed=1))
    finally:
        await model.close()

    print(f"\n{answer.text!r}")
    assert isinstance(json.loads(answer.text)["yes"], bool)
    (place,) = guard.hosts
    host, _, port = place.rpartition(":")
    assert host == "127.0.0.1"
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection(host, int(port))
