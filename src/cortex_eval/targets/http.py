"""Services over HTTP: any JSON by mapping (`http`), and the plain chatbot of many projects (`chatbot`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from cortex_eval.core import InputError, Reply, Secret, to_json
from cortex_eval.targets.base import Conversation, Target, targets
from cortex_eval.targets.client import JsonClient, check_url, parse_json
from cortex_eval.targets.mapping import (
    check_template,
    compile_paths,
    fill_template,
    read_plain_reply,
    read_reply,
    sendable,
)


def _headers(given: Mapping[str, str], key: Secret | None) -> dict[str, str]:
    headers = dict(given)
    if key is not None:
        headers.setdefault("Authorization", f"Bearer {key.reveal()}")
    for name, value in headers.items():
        if "\n" in value or "\r" in value:
            raise InputError(f"headers.{name} must be one line.")
    return headers


@targets.register("chatbot")
@dataclass
class Chatbot(Target):
    """A bot that takes `query`, `context`, `user_id` and gives back `text`, and whatever else of a reply it knows."""

    kind: ClassVar[str] = "chatbot"
    is_remote: ClassVar[bool] = True

    api_url: str
    api_key: Secret | None = None
    test_user_id: str = "eval-tester"
    headers: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_url(self.api_url)
        self._headers = _headers(self.headers, self.api_key)

    async def ask(self, turns: Conversation) -> Reply:
        """Send the seed's request; the reply's `text` must be there."""
        body = await self.post(
            self.api_url,
            {"query": turns.text, "context": turns.context, "user_id": self.test_user_id},
            headers={**self._headers, "Idempotency-Key": turns.idempotency_key},
        )
        return read_plain_reply(body, where=self.api_url)


@targets.register("http")
@dataclass
class HttpTarget(Target):
    """Any service that takes JSON and gives JSON: `body` is a template, `reply` says where things are."""

    kind: ClassVar[str] = "http"
    is_remote: ClassVar[bool] = True

    api_url: str
    api_key: Secret | None = None
    method: Literal["POST", "PUT", "GET"] = "POST"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = field(default_factory=lambda: {"input": "{input}", "session_id": "{session_id}"})
    """A JSON template; `{input}`, `{context}`, `{messages}` and the like are filled in. Any: whatever JSON can be."""
    reply: Mapping[str, str] = field(default_factory=lambda: {"text": "$.text"})
    """Reply field to path, such as `text: $.answer`."""
    test_user_id: str = "eval-tester"

    def __post_init__(self) -> None:
        check_url(self.api_url)
        check_template(self.body, field="body")
        if "text" not in self.reply:
            raise InputError("reply: say where the text is, such as text: $.answer.")
        self._headers = _headers(self.headers, self.api_key)
        self._paths = compile_paths(self.reply, field="reply")

    async def ask(self, turns: Conversation) -> Reply:
        """Fill the template, send it, read the answer by its paths."""
        if self._client is None:
            self._client = JsonClient()
        body = to_json(fill_template(self.body, sendable(turns, user_id=self.test_user_id)))
        data = await self._client.send(
            self.method,
            self.api_url,
            None if self.method == "GET" else body,
            headers={**self._headers, "Idempotency-Key": turns.idempotency_key},
        )
        return read_reply(parse_json(self.api_url, data), self._paths, where=self.api_url)
