"""Scripted language models: the same reply in the words of OpenAI, Anthropic or Gemini, at once or as a stream.

Each `speak_…` makes a behaviour for `ScriptedService` that streams when it is asked to. Faults go around it:
`ScriptedService(lambda call: cut(200, speak_openai("Yes.")(call), framing="close"))`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from cortex_eval.core import ToolCall
from cortex_eval.testing.answers import Answer, Call

ANTHROPIC_STOPS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "content_filter": "refusal"}
GEMINI_STOPS = {"stop": "STOP", "length": "MAX_TOKENS", "tool_calls": "STOP", "content_filter": "SAFETY"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply:
    """What a scripted model answers, whatever service it plays."""

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish: str | None = None
    """stop, length, tool_calls, content_filter; None: as the reply suggests."""
    model: str | None = None
    """None: as it was asked for."""
    input_tokens: int = 12
    """Cached ones among them."""
    cached_tokens: int = 0
    output_tokens: int = 7
    """Reasoning among them, where the service tells."""
    reasoning_tokens: int = 0
    has_usage: bool = True
    pieces: int = 4
    """Into how many a stream cuts the text."""


Replies = str | ModelReply | Callable[[Call], str | ModelReply]


def speak_openai(reply: Replies | None = None) -> Callable[[Call], Answer]:
    """Chat completions; without a reply the model says what it was asked."""

    def answer(call: Call) -> Answer:
        said = _reply(reply, call)
        body = call.json if isinstance(call.json, dict) else {}
        model = said.model or str(body.get("model", ""))
        if not body.get("stream"):
            return Answer.of(_openai_whole(said, model))
        options = body.get("stream_options")
        wants_usage = isinstance(options, dict) and bool(options.get("include_usage"))
        return _stream([*_openai_chunks(said, model, wants_usage), "[DONE]"])

    return answer


def speak_anthropic(reply: Replies | None = None) -> Callable[[Call], Answer]:
    """Messages, or their events."""

    def answer(call: Call) -> Answer:
        said = _reply(reply, call)
        body = call.json if isinstance(call.json, dict) else {}
        whole = _anthropic_whole(said, said.model or str(body.get("model", "")))
        return _stream(_anthropic_events(said, whole), named=True) if body.get("stream") else Answer.of(whole)

    return answer


def speak_gemini(reply: Replies | None = None) -> Callable[[Call], Answer]:
    """generateContent, or streamGenerateContent when that is asked for."""

    def answer(call: Call) -> Answer:
        said = _reply(reply, call)
        model = said.model or call.path.rpartition("/models/")[2].partition(":")[0]
        parts: list[dict[str, Any]] = [{"text": said.text}] if said.text else []
        parts += [{"functionCall": {"name": each.name, "args": each.arguments or {}}} for each in said.tool_calls]
        if "streamGenerateContent" not in call.path:
            return Answer.of(_gemini_response(said, model, parts, is_last=True))
        pieces = [[{"text": piece}] for piece in _cut(said.text, said.pieces)] + [
            [each] for each in parts if "text" not in each
        ]
        last = len(pieces) - 1
        responses = [_gemini_response(said, model, each, is_last=at == last) for at, each in enumerate(pieces)]
        return _stream(responses or [_gemini_response(said, model, [], is_last=True)])

    return answer


def asked_text(call: Call) -> str:
    """The text of the last message that a model was sent, in whichever service's words."""
    body = call.json if isinstance(call.json, dict) else {}
    messages = body.get("messages") or body.get("contents") or [{}]
    said = messages[-1].get("content", messages[-1].get("parts", ""))
    if isinstance(said, str):
        return said
    return "".join(str(part.get("text", "")) for part in said if isinstance(part, dict))


def _reply(reply: Replies | None, call: Call) -> ModelReply:
    said = asked_text(call) if reply is None else reply(call) if callable(reply) else reply
    return ModelReply(text=said) if isinstance(said, str) else said


def _finish(said: ModelReply) -> str:
    return said.finish or ("tool_calls" if said.tool_calls else "stop")


def _arguments(call: ToolCall) -> str:
    return orjson.dumps(call.arguments or {}).decode()


def _cut(text: str, pieces: int) -> list[str]:
    size = max(1, -(-len(text) // max(1, pieces)))
    return [text[at : at + size] for at in range(0, len(text), size)]


def _openai_usage(said: ModelReply) -> dict[str, Any]:
    return {
        "prompt_tokens": said.input_tokens,
        "completion_tokens": said.output_tokens,
        "total_tokens": said.input_tokens + said.output_tokens,
        "prompt_tokens_details": {"cached_tokens": said.cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": said.reasoning_tokens},
    }


def _openai_whole(said: ModelReply, model: str) -> dict[str, Any]:
    calls = [
        {"id": f"call_{at}", "type": "function", "function": {"name": each.name, "arguments": _arguments(each)}}
        for at, each in enumerate(said.tool_calls)
    ]
    content = said.text if said.text or not calls else None
    message = {"role": "assistant", "content": content, **({"tool_calls": calls} if calls else {})}
    choice = {"index": 0, "message": message, "finish_reason": _finish(said)}
    body = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": model, "choices": [choice]}
    return {**body, "usage": _openai_usage(said)} if said.has_usage else body


def _openai_chunks(said: ModelReply, model: str, wants_usage: bool) -> list[Mapping[str, Any]]:
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": piece} for piece in _cut(said.text, said.pieces)]
    for at, each in enumerate(said.tool_calls):
        start = {"name": each.name, "arguments": ""}
        deltas.append({"tool_calls": [{"index": at, "id": f"call_{at}", "type": "function", "function": start}]})
        deltas += [
            {"tool_calls": [{"index": at, "function": {"arguments": piece}}]} for piece in _cut(_arguments(each), 3)
        ]
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model}
    chunks = [{**head, "choices": [{"index": 0, "delta": each, "finish_reason": None}]} for each in deltas]
    chunks.append({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": _finish(said)}]})
    if wants_usage and said.has_usage:
        chunks.append({**head, "choices": [], "usage": _openai_usage(said)})
    return list(chunks)


def _anthropic_whole(said: ModelReply, model: str) -> dict[str, Any]:
    blocks: list[dict[str, Any]] = [{"type": "text", "text": said.text}] if said.text else []
    blocks += [
        {"type": "tool_use", "id": f"toolu_{at}", "name": each.name, "input": each.arguments or {}}
        for at, each in enumerate(said.tool_calls)
    ]
    usage = {
        "input_tokens": said.input_tokens - said.cached_tokens,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": said.cached_tokens,
        "output_tokens": said.output_tokens,
    }
    finish = _finish(said)
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": blocks,
        "stop_reason": ANTHROPIC_STOPS.get(finish, finish),
        "stop_sequence": None,
        **({"usage": usage} if said.has_usage else {}),
    }


def _anthropic_events(said: ModelReply, whole: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    usage = {"usage": {**whole["usage"], "output_tokens": 1}} if said.has_usage else {}
    start = {**whole, "content": [], "stop_reason": None, **usage}
    sent: list[Mapping[str, Any]] = [{"type": "message_start", "message": start}, {"type": "ping"}]
    for index, block in enumerate(whole["content"]):
        is_text = block["type"] == "text"
        empty = {**block, "text": ""} if is_text else {**block, "input": {}}
        sent.append({"type": "content_block_start", "index": index, "content_block": empty})
        if is_text:
            deltas = [{"type": "text_delta", "text": piece} for piece in _cut(block["text"], said.pieces)]
        else:
            pieces = _cut(orjson.dumps(block["input"]).decode(), 3)
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ["", *pieces]]
        sent += [{"type": "content_block_delta", "index": index, "delta": each} for each in deltas]
        sent.append({"type": "content_block_stop", "index": index})
    delta = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    counted = {"usage": {"output_tokens": said.output_tokens}} if said.has_usage else {}
    return [*sent, {"type": "message_delta", "delta": delta, **counted}, {"type": "message_stop"}]


def _gemini_response(said: ModelReply, model: str, parts: list[dict[str, Any]], *, is_last: bool) -> dict[str, Any]:
    finish = _finish(said)
    candidate: dict[str, Any] = {"index": 0, "content": {"role": "model", "parts": parts}}
    if is_last:
        candidate["finishReason"] = GEMINI_STOPS.get(finish, finish)
    usage = {
        "promptTokenCount": said.input_tokens,
        "cachedContentTokenCount": said.cached_tokens,
        "candidatesTokenCount": said.output_tokens - said.reasoning_tokens,
        "thoughtsTokenCount": said.reasoning_tokens,
        "totalTokenCount": said.input_tokens + said.output_tokens,
    }
    return {
        "candidates": [candidate],
        "modelVersion": model,
        "responseId": "r1",
        **({"usageMetadata": usage} if said.has_usage else {}),
    }


def _stream(events: Iterable[Mapping[str, Any] | str], *, named: bool = False) -> Answer:
    lines = []
    for each in events:
        name = f"event: {each['type']}\n".encode() if named and not isinstance(each, str) else b""
        lines.append(name + b"data: " + (each.encode() if isinstance(each, str) else orjson.dumps(each)) + b"\n\n")
    return Answer(body=b"".join(lines), content_type="text/event-stream; charset=utf-8")
