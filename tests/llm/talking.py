"""What tests of models share: which behaviour plays which provider, and how a question is put."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from cortex_eval.llm import Asked, Message, Model
from cortex_eval.testing import ScriptedService, speak_anthropic, speak_gemini, speak_openai

SPEAK = {"openai": speak_openai, "anthropic": speak_anthropic, "gemini": speak_gemini}
PROVIDERS = tuple(SPEAK)
HOW = (False, True)
"""At once, and as a stream."""


class Talk(NamedTuple):
    """A model and the service that plays it."""

    model: Model
    service: ScriptedService


OpenTalk = Callable[..., Awaitable[Talk]]


def asking(*said: str, **fields: Any) -> Asked:
    """A conversation that the user begins."""
    messages = tuple(Message(role="assistant" if at % 2 else "user", text=text) for at, text in enumerate(said))
    return Asked(messages=messages, **fields)
