"""F18, P15: an answer that is cut on its way is never taken as whole, wherever it is cut and however it is framed."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest
from talking import HOW, PROVIDERS, SPEAK, OpenTalk, asking

from cortex_eval.core import TargetError, ToolCall
from cortex_eval.llm import Completion, Model
from cortex_eval.testing import ModelReply, cut

TEXT = "Take one tablet with water — नमस्ते — and rest. "
CALL = ToolCall(name="note", arguments={"text": "rest " * 4})
REPEATS = {"openai": 8, "anthropic": 8, "gemini": 22}
REPLIES = {name: ModelReply(text=TEXT * times, tool_calls=(CALL,), pieces=2) for name, times in REPEATS.items()}
"""A little over 2 kB as a stream."""
FRAMINGS = ("length", "chunked", "close")
AT_ONCE = 40


async def outcomes(model: Model, cuts: list[int]) -> list[tuple[int, Completion | TargetError]]:
    """What becomes of an answer that is cut after each of these bytes; the cut travels as the idempotency key."""
    places = asyncio.Semaphore(AT_ONCE)
    found: list[tuple[int, Completion | TargetError]] = []

    async def one(after: int) -> None:
        async with places:
            try:
                found.append((after, await model.complete(asking("Well?"), idempotency_key=str(after))))
            except TargetError as error:
                found.append((after, error))

    async with asyncio.TaskGroup() as group:
        for after in cuts:
            group.create_task(one(after))
    return sorted(found, key=lambda each: each[0])


async def check_cuts(
    talk: OpenTalk, provider: str, framing: Any, *, stream: bool, step: int, first: int = 0
) -> Counter[str]:
    def answer(call: Any) -> Any:
        return cut(int(call.headers["Idempotency-Key"]), SPEAK[provider](REPLIES[provider])(call), framing=framing)

    model, service = await talk(provider, answer, stream=stream)
    await outcomes(model, [0])
    size = len(SPEAK[provider](REPLIES[provider])(service.ledger[0]).body)
    assert size > (2_000 if stream else 500)

    kinds: Counter[str] = Counter()
    for after, outcome in await outcomes(model, [*range(first, size, step), size - 1, size]):
        if isinstance(outcome, TargetError):
            kinds[outcome.kind] += 1
            assert after < size or framing == "chunked", f"the whole answer was refused: {outcome}"
        else:
            kinds["whole"] += 1
            assert (outcome.text, outcome.tool_calls) == (REPLIES[provider].text, (CALL,)), f"cut after byte {after}"
    return kinds


@pytest.mark.parametrize("framing", FRAMINGS)
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_F18_a_stream_cut_at_many_places_gives_no_partial_answer(
    talk: OpenTalk, provider: str, framing: str
) -> None:
    kinds = await check_cuts(talk, provider, framing, stream=True, step=61)

    assert kinds.keys() <= ({"truncated", "whole", "empty"} if framing == "close" else {"truncated", "whole"})
    assert kinds["truncated"] > 30
    assert kinds["empty"] <= 1  # nothing at all came: only with `close`, where nobody can tell


@pytest.mark.parametrize("step", [pytest.param(3, marks=pytest.mark.slow), pytest.param(1, marks=pytest.mark.soak)])
@pytest.mark.parametrize("framing", FRAMINGS)
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_F18_P15_a_stream_cut_after_every_byte_gives_no_partial_answer(
    talk: OpenTalk, provider: str, framing: str, step: int
) -> None:
    """With a step of 3 the framings share the bytes: each is the last one of some answer."""
    kinds = await check_cuts(talk, provider, framing, stream=True, step=step, first=FRAMINGS.index(framing) % step)

    assert kinds["truncated"] >= 2_000 // step
    assert set(kinds) <= {"truncated", "whole", "empty"}
    assert kinds["empty"] <= 1


@pytest.mark.parametrize("framing", FRAMINGS)
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_F18_an_answer_at_once_that_is_cut_gives_no_partial_answer(
    talk: OpenTalk, provider: str, framing: str
) -> None:
    kinds = await check_cuts(talk, provider, framing, stream=False, step=61)

    assert kinds["whole"] == (0 if framing == "chunked" else 1)  # the last chunk never comes
    assert set(kinds) <= {"truncated", "not_json", "empty", "whole"}


@pytest.mark.parametrize("stream", HOW)
async def test_an_answer_that_told_its_end_is_whole_though_the_connection_broke(talk: OpenTalk, stream: bool) -> None:
    def answer(call: Any) -> Any:
        said = SPEAK["openai"]("Yes.")(call)
        return cut(len(said.body), said, framing="chunked")  # all of it, but the last chunk never comes

    model, _ = await talk("openai", answer, stream=stream)

    if stream:
        assert (await model.complete(asking("Well?"))).text == "Yes."
    else:
        with pytest.raises(TargetError, match="cut its answer short"):
            await model.complete(asking("Well?"))
