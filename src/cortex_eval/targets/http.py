"""Services over HTTP: any JSON by mapping (`http`), and the plain chatbot of many projects (`chatbot`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from cortex_eval.core import InputError, Reply, Secret, changed, hide_header, is_likely_secret, to_json
from cortex_eval.net import check_url, parse_json, shown
from cortex_eval.targets.base import Target, targets
from cortex_eval.targets.conversation import Conversation
from cortex_eval.targets.mapping import (
    check_template,
    compile_paths,
    fill_template,
    read_plain_reply,
    read_reply,
    remarks_on,
    sendable,
)


def request_headers(given: Mapping[str, str], key: Secret | None) -> dict[str, str]:
    """The headers of every call; `InputError` for one that cannot be sent."""
    headers = dict(given)
    for name, value in headers.items():
        if not value.isprintable() or not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name):
            raise InputError(f"headers.{name} must be one line of text, and its name a word.")
        if is_likely_secret(name):
            hide_header(value)  # from now on it is masked wherever it would be shown or stored
    if key is not None:
        headers.setdefault("Authorization", f"Bearer {key.reveal()}")
    return headers


def travelling(headers: Mapping[str, str], turns: Conversation) -> dict[str, str]:
    """The headers of one call: whoever is asked again, or in the same conversation, can tell."""
    return {**headers, "Idempotency-Key": turns.idempotency_key, "X-Session-Id": turns.session_id}


def noted(reply: Reply, encoding: str) -> Reply:
    """The reply, with the encoding that the answer was read by where it was not UTF-8."""
    return changed(reply, metadata={**reply.metadata, "encoding": encoding}) if encoding else reply


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
        self._headers = request_headers(self.headers, self.api_key)
        self._shown = shown(self.api_url)

    async def ask(self, turns: Conversation) -> Reply:
        """Send the seed's request; the reply's `text` must be there."""
        body = to_json({"query": turns.text, "context": turns.context, "user_id": self.test_user_id})
        headers = travelling(self._headers, turns)
        parsed = parse_json(self.api_url, await self._open_client().send("POST", self.api_url, body, headers=headers))
        return noted(read_plain_reply(parsed.value, where=self._shown), parsed.encoding)


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
        self._headers = request_headers(self.headers, self.api_key)
        self._shown = shown(self.api_url)
        self._paths = compile_paths(self.reply, field="reply")

    def remarks(self) -> list[str]:
        """Paths of `reply` at which no answer had anything."""
        return remarks_on(self._paths, self.reply)

    async def ask(self, turns: Conversation) -> Reply:
        """Fill the template, send it, read the answer by its paths."""
        body = to_json(fill_template(self.body, sendable(turns, user_id=self.test_user_id)))
        received = await self._open_client().send(
            self.method,
            self.api_url,
            None if self.method == "GET" else body,
            headers=travelling(self._headers, turns),
        )
        parsed = parse_json(self.api_url, received)
        return noted(read_reply(parsed.value, self._paths, where=self._shown), parsed.encoding)
