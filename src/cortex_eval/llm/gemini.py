"""Models behind Google's `generateContent`."""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import quote

from cortex_eval.core import Usage, to_json
from cortex_eval.llm.base import Asked, Completion, Model
from cortex_eval.llm.exchange import Request, exchange, missing
from cortex_eval.llm.gather import Gathered, count
from cortex_eval.llm.messages import Linked, link_calls, picture, system_of
from cortex_eval.llm.schemas import for_gemini
from cortex_eval.llm.service import Service

FINISHES = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "SAFETY": "content_filter",
    "RECITATION": "content_filter",
    "LANGUAGE": "content_filter",
    "BLOCKLIST": "content_filter",
    "PROHIBITED_CONTENT": "content_filter",
    "SPII": "content_filter",
    "IMAGE_SAFETY": "content_filter",
}


class GeminiModel(Model):
    """One Gemini model."""

    def __init__(self, service: Service) -> None:
        super().__init__()
        self.service = service
        self.name, self.host, self.is_streaming = service.model, service.host, service.is_streaming

    async def complete(self, asked: Asked, *, idempotency_key: str = "") -> Completion:
        """The model's answer; `TargetError` when there is none, or when it was cut on its way."""
        body = self._body(asked)
        headers = {"Idempotency-Key": idempotency_key} if idempotency_key else {}
        if self.service.key is not None:
            headers["x-goog-api-key"] = self.service.key.reveal()  # never in the address: addresses end up in logs
        name = quote(self.name.removeprefix("models/"), safe="")
        verb = "streamGenerateContent?alt=sse" if self.is_streaming else "generateContent"
        request = Request(
            url=f"{self.service.base_url}/models/{name}:{verb}",
            body=body,
            headers=headers,
            is_streaming=self.is_streaming,
        )
        started = time.monotonic()
        gathered = await exchange(self._opened(), request, _Reader(self.host))
        config = {key: value for key, value in body["generationConfig"].items() if key != "responseSchema"}
        parameters = {"model": self.name, "stream": self.is_streaming, **config}
        return gathered.completion(started=started, parameters=parameters, price_of=self.service.price_of)

    def _body(self, asked: Asked) -> dict[str, Any]:
        linked = [each for each in link_calls(asked.messages) if each.message.role != "system"]
        body: dict[str, Any] = {"contents": [said for each in linked if (said := self._content(each))["parts"]]}
        if system := system_of(asked.messages):
            body["systemInstruction"] = {"parts": [{"text": system}]}
        if asked.tools:
            declarations = [
                {"name": each.name, "description": each.description, "parameters": for_gemini(each.parameters)}
                for each in asked.tools
            ]
            for each in declarations:
                if not each["parameters"].get("properties"):  # type: ignore[attr-defined]  # a schema, as made above
                    del each["parameters"]  # it refuses an object without properties
            body["tools"] = [{"functionDeclarations": declarations}]
        config: dict[str, Any] = {
            "temperature": asked.temperature,
            "maxOutputTokens": asked.max_tokens,
            "seed": asked.seed,
            "stopSequences": list(asked.stop) or None,
        }
        if asked.schema is not None:
            config |= {"responseMimeType": "application/json", "responseSchema": for_gemini(asked.schema)}
        extra = dict(asked.extra)
        config |= extra.pop("generationConfig", {})
        body["generationConfig"] = {key: value for key, value in config.items() if value is not None}
        return {**body, **extra}

    def _content(self, linked: Linked) -> dict[str, Any]:
        """A message in parts; empty ones are left out."""
        message = linked.message
        if message.role == "tool":
            result = {"name": linked.tool, "response": {"result": message.text}}
            return {"role": "user", "parts": [{"functionResponse": result}]}
        parts: list[dict[str, Any]] = [{"text": message.text}] if message.text else []
        parts += [
            {"inlineData": {"mimeType": each.media_type, "data": picture(each, self.read_attachment)}}
            for each in message.attachments
        ]
        parts += [{"functionCall": {"name": each.name, "args": each.arguments or {}}} for each in message.tool_calls]
        return {"role": "model" if message.role == "assistant" else "user", "parts": parts}


class _Reader:
    """Responses; those of a stream have the same form, each with a piece of the answer."""

    def __init__(self, host: str) -> None:
        self.host = host

    def whole(self, body: dict[str, Any], into: Gathered) -> None:
        """Read the first candidate."""
        self.piece(body, into)
        into.head = body
        if into.finish is None and not _candidate(body):
            raise missing(self.host, "candidates", body)

    def piece(self, body: dict[str, Any], into: Gathered) -> None:
        """Read what one response adds."""
        into.head |= {key: value for key, value in body.items() if key != "candidates"}
        if isinstance(body.get("modelVersion"), str):
            into.model = body["modelVersion"]
        if isinstance(body.get("usageMetadata"), dict):
            into.usage = read_usage(body["usageMetadata"])
        candidate = _candidate(body)
        content = candidate.get("content")
        parts = content.get("parts") if isinstance(content, dict) else None
        for part in parts if isinstance(parts, list) else []:
            if isinstance(part, dict) and not part.get("thought"):
                self._part(part, into)
        reason = candidate.get("finishReason")
        if isinstance(reason, str) and reason:
            into.finish = FINISHES.get(reason, reason.lower())
        feedback = body.get("promptFeedback")
        if isinstance(feedback, dict) and feedback.get("blockReason"):
            into.finish = "content_filter"  # the question itself was refused: there is no candidate

    def _part(self, part: dict[str, Any], into: Gathered) -> None:
        if isinstance(part.get("text"), str):
            into.say(part["text"])
        call = part.get("functionCall")
        if isinstance(call, dict):  # always whole, also in a stream
            arguments = to_json(call.get("args") or {}).decode()
            into.call(len(into.calls), name=str(call.get("name", "")), arguments=arguments)


def _candidate(body: dict[str, Any]) -> dict[str, Any]:
    candidates = body.get("candidates")
    first = candidates[0] if isinstance(candidates, list) and candidates else {}
    return first if isinstance(first, dict) else {}


def read_usage(usage: dict[str, Any]) -> Usage:
    """The tokens of an answer; the service counts thoughts apart from the answer, and bills them alike."""
    thoughts = count(usage, "thoughtsTokenCount")
    return Usage(
        input_tokens=count(usage, "promptTokenCount") + count(usage, "toolUsePromptTokenCount"),
        cached_tokens=count(usage, "cachedContentTokenCount"),
        output_tokens=count(usage, "candidatesTokenCount") + thoughts,
        reasoning_tokens=thoughts,
    )
