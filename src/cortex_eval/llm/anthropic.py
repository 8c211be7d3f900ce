"""Models behind Anthropic's `/v1/messages`."""

from __future__ import annotations

import time
from typing import Any

from cortex_eval.core import Usage, to_json
from cortex_eval.llm.base import Asked, Completion, Model
from cortex_eval.llm.exchange import Request, exchange, missing
from cortex_eval.llm.gather import Gathered, count
from cortex_eval.llm.messages import Linked, link_calls, picture, system_of
from cortex_eval.llm.schemas import for_anthropic
from cortex_eval.llm.service import Service

VERSION = "2023-06-01"
MAX_TOKENS = 8192
"""The service wants a limit with every request; this one is sent when the settings name none."""
FINISHES = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
}
NOT_PARAMETERS = ("messages", "system", "tools", "output_config")


class AnthropicModel(Model):
    """One model of Anthropic's, or of a gateway that speaks as it does."""

    def __init__(self, service: Service) -> None:
        super().__init__()
        self.service = service
        self.name, self.host, self.is_streaming = service.model, service.host, service.is_streaming

    async def complete(self, asked: Asked, *, idempotency_key: str = "") -> Completion:
        """The model's answer; `TargetError` when there is none, or when it was cut on its way."""
        body = self._body(asked)
        headers = {"anthropic-version": VERSION}
        if self.service.key is not None:
            headers["x-api-key"] = self.service.key.reveal()
        if idempotency_key:
            headers["Idempotency-Key"] = idempotency_key
        request = Request(
            url=f"{self.service.base_url}/messages", body=body, headers=headers, is_streaming=self.is_streaming
        )
        started = time.monotonic()
        gathered = await exchange(self._opened(), request, _Reader(self.host))
        parameters = {key: value for key, value in body.items() if key not in NOT_PARAMETERS}
        return gathered.completion(started=started, parameters=parameters, price_of=self.service.price_of)

    def _body(self, asked: Asked) -> dict[str, Any]:
        linked = [each for each in link_calls(asked.messages) if each.message.role != "system"]
        messages = [said for each in linked if (said := self._message(each))["content"]]
        body: dict[str, Any] = {
            "model": self.name,
            "messages": messages,
            "max_tokens": asked.max_tokens or MAX_TOKENS,  # there is no seed: it is not sent
        }
        if system := system_of(asked.messages):
            body["system"] = system
        if asked.temperature is not None:
            body["temperature"] = asked.temperature
        if asked.stop:
            body["stop_sequences"] = list(asked.stop)
        if asked.tools:
            body["tools"] = [
                {"name": each.name, "description": each.description, "input_schema": each.parameters}
                for each in asked.tools
            ]
        if asked.schema is not None:
            body["output_config"] = {"format": {"type": "json_schema", "schema": for_anthropic(asked.schema)}}
        if self.is_streaming:
            body["stream"] = True
        return {**body, **asked.extra}

    def _message(self, linked: Linked) -> dict[str, Any]:
        """A message in blocks; the service refuses empty ones and those of spaces only, so they are left out."""
        message = linked.message
        if message.role == "tool":
            result = {"type": "tool_result", "tool_use_id": linked.answers, "content": message.text}
            return {"role": "user", "content": [result]}
        blocks: list[dict[str, Any]] = [
            {
                "type": "image",
                "source": {
                    "type": "base64",
                    "media_type": each.media_type,
                    "data": picture(each, self.read_attachment),
                },
            }
            for each in message.attachments
        ]
        if message.text.strip():
            blocks.append({"type": "text", "text": message.text})
        blocks += [
            {"type": "tool_use", "id": call_id, "name": call.name, "input": call.arguments or {}}
            for call_id, call in zip(linked.call_ids, message.tool_calls, strict=bool(linked.call_ids))
        ]
        return {"role": message.role, "content": blocks}


class _Reader:
    """Messages, and the events that one is made of."""

    def __init__(self, host: str) -> None:
        self.host = host
        self._usage: dict[str, Any] = {}

    def whole(self, body: dict[str, Any], into: Gathered) -> None:
        """Read a message."""
        blocks = body.get("content")
        if not isinstance(blocks, list):
            raise missing(self.host, "content", body)
        self._head(body, into)
        into.head = body
        for index, block in enumerate(each for each in blocks if isinstance(each, dict)):
            self._block(index, block, into)
        self._stop(body, into)

    def piece(self, body: dict[str, Any], into: Gathered) -> None:
        """Read one event; those of a kind that is not known are passed over, as the service asks."""
        kind, index = body.get("type"), body.get("index")
        if kind == "message_start" and isinstance(body.get("message"), dict):
            into.head = {key: value for key, value in body["message"].items() if key != "content"}
            self._head(body["message"], into)
        elif kind == "content_block_start" and isinstance(body.get("content_block"), dict):
            self._block(index, body["content_block"], into)
        elif kind == "content_block_delta" and isinstance(body.get("delta"), dict):
            delta = body["delta"]
            if delta.get("type") == "text_delta":
                into.say(str(delta.get("text", "")))
            elif delta.get("type") == "input_json_delta":
                into.call(index, arguments=str(delta.get("partial_json", "")))
        elif kind == "message_delta":
            self._head(body, into)
            delta = body.get("delta")
            self._stop(delta if isinstance(delta, dict) else {}, into)
        elif kind == "message_stop":
            into.is_done = True

    def _block(self, index: object, block: dict[str, Any], into: Gathered) -> None:
        if block.get("type") == "text":
            into.say(str(block.get("text", "")))
        elif block.get("type") == "tool_use":
            given = block.get("input")  # empty when the arguments follow in pieces
            into.call(index, name=str(block.get("name", "")), arguments=to_json(given).decode() if given else "")

    def _head(self, body: dict[str, Any], into: Gathered) -> None:
        if isinstance(body.get("model"), str):
            into.model = body["model"]
        if isinstance(body.get("usage"), dict):
            self._usage |= {key: value for key, value in body["usage"].items() if value is not None}
            into.head["usage"] = self._usage
            into.usage = read_usage(self._usage)
            written = count(self._usage, "cache_creation_input_tokens")
            is_dearer = count(self._usage, "cache_creation", "ephemeral_1h_input_tokens") > 0
            into.cache_written = None if is_dearer else written

    def _stop(self, body: dict[str, Any], into: Gathered) -> None:
        reason = body.get("stop_reason")
        if isinstance(reason, str) and reason:
            into.finish = FINISHES.get(reason, reason)


def read_usage(usage: dict[str, Any]) -> Usage:
    """The tokens of an answer; the service counts what it read from and wrote to its cache apart from other input."""
    cached = count(usage, "cache_read_input_tokens")
    return Usage(
        input_tokens=count(usage, "input_tokens") + cached + count(usage, "cache_creation_input_tokens"),
        cached_tokens=cached,
        output_tokens=count(usage, "output_tokens"),  # thinking is in it, and is not told apart
    )
