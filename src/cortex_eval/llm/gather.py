"""An answer while it comes in: the pieces, who calls which tool, how it ended."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import orjson
from msgspec import Struct, field

from cortex_eval.core import ToolCall, Usage, changed
from cortex_eval.llm.base import Completion
from cortex_eval.llm.prices import PriceOf

UNPARSED = "_unparsed"
"""Where arguments stand that are not a JSON object, as the text that the model wrote."""


class _Call(Struct):
    name: str = ""
    arguments: str = ""


class Gathered(Struct):
    """What came so far."""

    texts: list[str] = field(default_factory=list)
    calls: dict[object, _Call] = field(default_factory=dict)
    finish: str | None = None
    model: str | None = None
    usage: Usage | None = None
    cache_written: int | None = 0
    """Tokens written to the service's cache, which may cost more than others; None: of an unknown price."""
    head: dict[str, Any] = field(default_factory=dict)
    """The service's own payload, without the pieces."""
    is_done: bool = False
    """The service said that nothing more comes."""
    is_streamed: bool = False
    refused: bool = False
    """The model declined, in the place that the service has for it."""
    first_at: float | None = None

    def say(self, text: str) -> None:
        """Add a piece of the text."""
        if text:
            self._began()
            self.texts.append(text)

    def call(self, key: object, *, name: str = "", arguments: str = "") -> None:
        """Begin a call, or add a piece of one: those of the same key belong together."""
        self._began()
        call = self.calls.setdefault(key, _Call())
        call.name = call.name or name
        call.arguments += arguments

    def _began(self) -> None:
        if self.first_at is None:
            self.first_at = time.monotonic()

    @property
    def is_whole(self) -> bool:
        """Whether the end was told; without it the answer may be cut anywhere."""
        return self.finish is not None or self.is_done

    def completion(self, *, started: float, parameters: Mapping[str, Any], price_of: PriceOf) -> Completion:
        """The answer as others take it."""
        calls = tuple(
            ToolCall(name=each.name, arguments=read_arguments(each.arguments)) for each in self.calls.values()
        )
        first_ms = None if self.first_at is None else round((self.first_at - started) * 1000, 3)
        return Completion(
            text="".join(self.texts),
            tool_calls=calls,
            finish_reason="tool_calls" if calls and self.finish == "stop" else self.finish,
            model=self.model,
            usage=self._priced(price_of),
            first_token_ms=first_ms if self.is_streamed else None,
            parameters=dict(parameters),
            raw=self.head,
        )

    def _priced(self, price_of: PriceOf) -> Usage | None:
        prices = price_of(self.model)
        if self.usage is None or prices is None or self.cache_written is None:
            return self.usage
        return changed(self.usage, cost=prices.cost(self.usage, cache_written=self.cache_written))


def read_arguments(text: str) -> dict[str, Any]:
    """The arguments of a call: a JSON object, read strictly; anything else is kept as text under `_unparsed`."""
    if not text.strip():
        return {}
    try:
        read = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {UNPARSED: text}
    return read if isinstance(read, dict) else {UNPARSED: text}


def count(usage: Any, *names: str) -> int:  # Any: JSON of a service
    """A number of tokens somewhere in what a service says of its usage; what is not there counts as none."""
    for name in names:
        usage = usage.get(name) if isinstance(usage, dict) else None
    return usage if isinstance(usage, int) and not isinstance(usage, bool) and usage > 0 else 0
