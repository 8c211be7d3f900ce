"""The sample services of the project `healthcare` at one address: chatbot, RAG service, translator, voice line."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Mapping
from urllib.parse import urlsplit

from cortex_eval.demo import knowledge
from cortex_eval.demo.listening import Listening, Spoken, Version
from cortex_eval.demo.retrieval import HealthLibrary
from cortex_eval.demo.service import HealthChatbot
from cortex_eval.demo.translator import Translator
from cortex_eval.demo.voice_line import VoiceLine
from cortex_eval.testing import Answer, Call

_CHATBOT: Mapping[Version, knowledge.Version] = {"1": "1.0", "2": "1.1"}
"""What the chatbot of the project `health` calls the same versions."""


class HealthcareServices(Listening):
    """The sample services of a clinic, on loopback while it is entered.

    `with HealthcareServices() as clinic: clinic.url`. The chatbot is at `/chat`, the RAG service at `/rag`, the
    translator at `/translate`, the voice line at `/voice`; each is honest about being a sample, and each has its
    planted faults. Version 2 is version 1 with a regression in every one of them.
    """

    noun = "sample clinic"
    path = ""

    def __init__(self, *, version: Version = "1", port: int = 0) -> None:
        super().__init__(version=version, port=port)
        parts = (
            HealthChatbot(version=_CHATBOT[version]),
            HealthLibrary(version=version),
            Translator(version=version),
            VoiceLine(version=version),
        )
        self._parts: dict[str, Listening] = {part.path: part for part in parts}
        for part in parts:
            self._entered.callback(part.close)

    @property
    def url(self) -> str:
        """The address that the paths begin with, such as `http://127.0.0.1:41234`; empty before it is entered."""
        return super().url.rstrip("/")

    def answer(self, call: Call) -> Spoken | Awaitable[Spoken]:
        """What the service at this path says; 404 for a path that none is at."""
        path = urlsplit(call.path).path.strip("/")
        if path in self._parts:
            return self._parts[path].answer(call)
        known = ", ".join(f"/{each}" for each in self._parts)
        if call.method != "POST" and not path:
            return {"service": "clinic", "sample": True, "version": self.version, "paths": known}
        message = {"error": f"There is nothing at /{path}. There is: {known}."}
        return Answer(status=404, body=json.dumps(message).encode())
