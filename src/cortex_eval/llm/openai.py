"""Models behind `/chat/completions`: OpenAI's, and every server that speaks as it does."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from typing import Any

from cortex_eval.core import TargetError, Usage, to_json
from cortex_eval.llm.base import Asked, Completion, Model
from cortex_eval.llm.exchange import Request, exchange, missing
from cortex_eval.llm.gather import Gathered, count
from cortex_eval.llm.messages import Linked, link_calls, picture
from cortex_eval.llm.schemas import is_strict
from cortex_eval.llm.service import Service

FINISHES = {"function_call": "tool_calls"}
BROKEN_OFF = ("error", "abort")
"""Finish reasons of gateways and vLLM for an answer that was not finished."""
NOT_PARAMETERS = ("messages", "tools", "response_format")


class OpenAIModel(Model):
    """One model of an OpenAI-compatible server."""

    def __init__(self, service: Service) -> None:
        super().__init__()
        self.service = service
        self.name, self.host, self.is_streaming = service.model, service.host, service.is_streaming
        self._asks_for_usage = service.is_streaming
        self._format: tuple[Mapping[str, Any], dict[str, Any]] | None = None
        """The schema that was asked for last, and how it is sent: a judge asks for the same one every time."""

    async def complete(self, asked: Asked, *, idempotency_key: str = "") -> Completion:
        """The model's answer; `TargetError` when there is none, or when it was cut on its way."""
        asked_for_usage = self._asks_for_usage  # others on their way may find out first
        try:
            return await self._complete(asked, idempotency_key)
        except TargetError as error:
            if not asked_for_usage or not _is_refused(error, b"stream_options"):
                raise
        self._asks_for_usage = False  # this server does not know it: it is not sent again, and usage stays unknown
        return await self._complete(asked, idempotency_key)

    async def _complete(self, asked: Asked, idempotency_key: str) -> Completion:
        body = self._body(asked)
        headers = {"Idempotency-Key": idempotency_key} if idempotency_key else {}
        if self.service.key is not None:
            headers["Authorization"] = f"Bearer {self.service.key.reveal()}"
        request = Request(
            url=f"{self.service.base_url}/chat/completions",
            body=body,
            headers=headers,
            is_streaming=self.is_streaming,
        )
        started = time.monotonic()
        gathered = await exchange(self._opened(), request, _Reader(self.host))
        parameters = {key: value for key, value in body.items() if key not in NOT_PARAMETERS}
        return gathered.completion(started=started, parameters=parameters, price_of=self.service.price_of)

    def _body(self, asked: Asked) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.name,
            "messages": [self._message(each) for each in link_calls(asked.messages)],
        }
        given = {"temperature": asked.temperature, "seed": asked.seed, "stop": list(asked.stop) or None}
        # OpenAI's newer models refuse max_tokens; many other servers know only that.
        given["max_completion_tokens" if self.service.is_own else "max_tokens"] = asked.max_tokens
        body |= {name: value for name, value in given.items() if value is not None}
        if asked.tools:
            body["tools"] = [
                {
                    "type": "function",
                    "function": {"name": each.name, "description": each.description, "parameters": each.parameters},
                }
                for each in asked.tools
            ]
        if asked.schema is not None:
            if self._format is None or self._format[0] is not asked.schema:
                self._format = asked.schema, _response_format(asked.schema)
            body["response_format"] = self._format[1]
        if self.is_streaming:
            body["stream"] = True
            if self._asks_for_usage:
                body["stream_options"] = {"include_usage": True}
        return {**body, **asked.extra}

    def _message(self, linked: Linked) -> dict[str, Any]:
        message = linked.message
        said: dict[str, Any] = {"role": message.role, "content": message.text}
        if message.attachments:
            pictures = [
                f"data:{each.media_type};base64,{picture(each, self.read_attachment)}" for each in message.attachments
            ]
            said["content"] = [
                {"type": "text", "text": message.text},
                *({"type": "image_url", "image_url": {"url": url}} for url in pictures),
            ]
        if linked.call_ids:
            said["content"] = message.text or None
            said["tool_calls"] = [
                {
                    "id": call_id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": to_json(call.arguments or {}).decode()},
                }
                for call_id, call in zip(linked.call_ids, message.tool_calls, strict=True)
            ]
        if message.role == "tool":
            said["tool_call_id"] = linked.answers
        return said


class _Reader:
    """Chat completions, and their chunks."""

    def __init__(self, host: str) -> None:
        self.host = host
        self._latest_call: object = None
        self._begun: dict[object, tuple[object, int]] = {}
        """By the index of a streamed call: the id that it began with, and how many calls began under that index."""

    def whole(self, body: dict[str, Any], into: Gathered) -> None:
        """Read the first choice of an answer."""
        choices = body.get("choices")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
            raise missing(self.host, "choices", body)
        choice = choices[0]
        message = choice.get("message")
        if not isinstance(message, dict):
            raise missing(self.host, "message in choices[0]", choice)
        self._head(body, into)
        into.head = body
        self._choice(choice, message, into)
        has_content = isinstance(message.get("content"), (str, list))
        if not has_content and not into.calls and not into.texts and into.finish in (None, "stop"):
            raise missing(self.host, "content in choices[0].message", message)

    def piece(self, body: dict[str, Any], into: Gathered) -> None:
        """Read one chunk; the last one may hold only the usage."""
        self._head(body, into)
        into.head |= {key: value for key, value in body.items() if key != "choices" and value is not None}
        choices = body.get("choices")
        if isinstance(choices, list) and choices and isinstance(choices[0], dict):
            delta = choices[0].get("delta")
            self._choice(choices[0], delta if isinstance(delta, dict) else {}, into)

    def _head(self, body: dict[str, Any], into: Gathered) -> None:
        if isinstance(body.get("model"), str):
            into.model = body["model"]
        if isinstance(body.get("usage"), dict):
            into.usage = read_usage(body["usage"])

    def _choice(self, choice: dict[str, Any], message: dict[str, Any], into: Gathered) -> None:
        into.say(_text(message.get("content")))
        refusal = message.get("refusal")
        if isinstance(refusal, str) and refusal:
            into.say(refusal)
            into.refused = True
        calls = message.get("tool_calls")
        for place, call in enumerate(calls if isinstance(calls, list) else []):
            if isinstance(call, dict):
                self._call(call, place, into)
        if isinstance(choice.get("error"), dict) or choice.get("finish_reason") in BROKEN_OFF:
            raise TargetError(f"{self.host} broke its answer off.", kind="truncated", transient=True)
        finish = choice.get("finish_reason")
        if isinstance(finish, str) and finish:
            into.finish = "refusal" if into.refused and finish == "stop" else FINISHES.get(finish, finish)

    def _call(self, call: dict[str, Any], place: int, into: Gathered) -> None:
        function = call.get("function")
        function = function if isinstance(function, dict) else {}
        arguments = function.get("arguments")
        if not isinstance(arguments, str):  # some servers send the object itself
            arguments = "" if arguments is None else to_json(arguments).decode()
        key = self._key_of(call, place, into)
        into.call(key, name=str(function.get("name") or ""), arguments=arguments)

    def _key_of(self, call: dict[str, Any], place: int, into: Gathered) -> object:
        """Which call this is a piece of: the one of its index; a server without indexes begins a new one with an id.

        Some servers call every index 0. There, too, another id is another call.
        """
        index, call_id = call.get("index"), call.get("id")
        if index is None:
            self._latest_call = call_id or (self._latest_call if into.is_streamed else place)
            return self._latest_call
        known, begun = self._begun.get(index, (None, 0))
        begun += bool(known and call_id and call_id != known)
        self._begun[index] = call_id or known, begun
        self._latest_call = (index, begun)
        return self._latest_call


def read_usage(usage: dict[str, Any]) -> Usage:
    """The tokens of an answer; cached ones are part of the input, reasoning is part of the output."""
    return Usage(
        input_tokens=count(usage, "prompt_tokens"),
        cached_tokens=count(usage, "prompt_tokens_details", "cached_tokens"),
        output_tokens=count(usage, "completion_tokens"),
        reasoning_tokens=count(usage, "completion_tokens_details", "reasoning_tokens"),
    )


def _text(content: object) -> str:
    if isinstance(content, list):
        parts = (each.get("text") for each in content if isinstance(each, dict) and each.get("type") == "text")
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def _response_format(schema: Mapping[str, Any]) -> dict[str, Any]:
    name = re.sub(r"[^A-Za-z0-9_-]", "_", str(schema.get("title") or "answer"))[:64]
    return {"type": "json_schema", "json_schema": {"name": name, "schema": schema, "strict": is_strict(schema)}}


def _is_refused(error: TargetError, field: bytes) -> bool:
    return error.status in (400, 422) and field in error.body
