"""A sample health chatbot on loopback: a real HTTP service with planted weaknesses, for the demo and for tests.

It is a sample, not a medical product: it looks answers up in about a hundred short texts of its own, and it is wrong on
purpose in the ways that WEAKNESSES.md lists, so that a report has something to find.
"""

from __future__ import annotations

import asyncio
import json
from types import TracebackType
from typing import Any, Self, get_args

from cortex_eval.core import InputError, did_you_mean
from cortex_eval.demo.knowledge import Version, load_knowledge
from cortex_eval.demo.listening import Listening
from cortex_eval.testing import Answer, Call

_ABOUT = (
    "This is the sample health chatbot of Cortex, version {version}. It is not a medical product, and some of its "
    "answers are wrong on purpose. POST /chat with a bearer key and {{query, context, user_id}}."
)


class HealthChatbot(Listening):
    """The sample chatbot, on loopback while it is entered.

    `with HealthChatbot() as bot: bot.url` in plain code, `async with` in async code. Version 1.1 is 1.0 with one more
    fault.
    """

    noun = "sample chatbot"
    path = "chat"

    def __init__(self, *, version: Version = "1.0", port: int = 0) -> None:
        known = get_args(Version)
        if version not in known:
            raise InputError(f"The {self.noun} has no version {version!r}. {did_you_mean(version, known)}")
        super().__init__(version="1" if version == "1.0" else "2", port=port)
        self.release: Version = version
        """What it calls its version."""

    async def __aenter__(self) -> Self:
        return await asyncio.to_thread(self.__enter__)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.__exit__, kind, error, trace)

    def answer(self, call: Call) -> Answer:
        """What it says to one call: `{text, intent, confidence}`; 401 without a key, 400 without a query."""
        if call.method != "POST":
            about = _ABOUT.format(version=self.release)
            return _said({"service": "health-chatbot", "version": self.release, "sample": True, "about": about})
        scheme, _, key = call.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not key.strip():
            return _said({"error": "A bearer key is needed: any word will do, this is a sample service."}, status=401)
        try:
            query, previous_query = _read_question(call.body)
        except ValueError as error:
            return _said({"error": str(error)}, status=400)
        found = load_knowledge().answer(query, previous_query=previous_query, version=self.release)
        body = {"text": found.text, "intent": found.intent, "confidence": found.confidence}
        return _said(body, latency_s=found.delay_s)  # planted: one topic is slow (weakness 5)


def _said(body: dict[str, Any], *, status: int = 200, latency_s: float = 0.0) -> Answer:  # Any: JSON
    return Answer(status=status, body=json.dumps(body).encode(), latency_s=latency_s)


def _read_question(body: bytes) -> tuple[str, str]:
    """The question and the one before it; `ValueError` says what is wrong with the body."""
    try:
        said: Any = json.loads(body)  # Any: whatever came; checked below
    except ValueError as error:
        raise ValueError(f"The body is not JSON: {error}") from error
    query = said.get("query") if isinstance(said, dict) else None
    if not isinstance(query, str) or not query.strip():
        raise ValueError("The body needs a 'query' that is a text with something in it.")
    context = said.get("context")
    previous = context.get("previous_query") if isinstance(context, dict) else None
    return query, previous if isinstance(previous, str) else ""
