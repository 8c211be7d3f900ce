"""The seam for language models: what is asked, what comes back, what a model is."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from msgspec import Struct, field

from cortex_eval.core import Attachment, ToolCall, Usage
from cortex_eval.net import Guard, JsonClient, Limits


class Message(Struct, frozen=True, kw_only=True):
    """One thing that was said."""

    role: Literal["system", "user", "assistant", "tool"]
    text: str
    attachments: tuple[Attachment, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    """Of an assistant."""
    tool_call_id: str | None = None
    """Of a tool: the call that this answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A function that the model may ask to be called; people list them under `tools:`."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = dataclasses.field(default_factory=lambda: {"type": "object", "properties": {}})
    """A JSON Schema."""


class Asked(Struct, frozen=True, kw_only=True):
    """One request to a model."""

    messages: tuple[Message, ...]
    schema: Mapping[str, Any] | None = None
    """The answer must be JSON of this JSON Schema, where the service can hold the model to it."""
    tools: Sequence[Tool] = ()
    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    stop: Sequence[str] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the request body, in the service's own words."""


class Completion(Struct, frozen=True, kw_only=True):
    """What a model answered."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str | None = None
    """stop, length, tool_calls, content_filter, refusal; or the service's own word when it is none of these."""
    model: str | None = None
    """As the service names it."""
    usage: Usage | None = None
    """Cached tokens are part of the input, reasoning is part of the output; None: the service did not say."""
    first_token_ms: float | None = None
    """Only when the answer was streamed."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """What was asked of the service beside the messages, tools and schema: model, temperature, stream and the like."""
    raw: Any = None  # Any: the service's own payload; of a stream only what is not a piece of the answer


class Model(ABC):
    """One language model behind one service. Retries, limits and timing are not its business: see `net.Line`."""

    name: str
    """As the service is asked for it."""
    is_streaming: bool
    host: str
    """Whom it calls, such as `api.openai.com`; empty when it runs in this process."""

    read_attachment: Callable[[Attachment], bytes] | None = None
    """Where the bytes of an attachment come from; None: a message with one cannot be sent."""

    def __init__(self) -> None:
        self._client: JsonClient | None = None

    def open(self, guard: Guard, limits: Limits | None = None) -> None:
        """Be ready to be asked, calling only whom the guard allows. One that runs in this process is loaded here."""
        self._client = JsonClient(guard, limits)

    async def close(self) -> None:
        """Let go of every connection."""
        if self._client is not None:
            await self._client.close()
            self._client = None

    def _opened(self) -> JsonClient:
        assert self._client is not None, "a model is opened before it is asked"
        return self._client

    @abstractmethod
    async def complete(self, asked: Asked, *, idempotency_key: str = "") -> Completion:
        """The model's answer; `TargetError` when there is none, or when it was cut on its way."""
