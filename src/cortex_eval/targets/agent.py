"""Agents over HTTP that say what they understood: intent, entities, tool, how sure they are (`agent`)."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar

from cortex_eval.core import Reply, Secret, TargetError, short_repr, to_json
from cortex_eval.net import check_url, parse_json, shown
from cortex_eval.targets.base import Target, targets
from cortex_eval.targets.conversation import Conversation
from cortex_eval.targets.http import noted, request_headers, travelling
from cortex_eval.targets.mapping import (
    Path,
    check_template,
    compile_paths,
    fill_template,
    read_reply,
    remarks_on,
    sendable,
)

STATED = (
    "text",
    "intent",
    "entities",
    "tool",
    "arguments",
    "tool_calls",
    "confidence",
    "llm_invoked",
    "parse_time_ms",
    "language",
    "model",
)
"""What is read of an answer under its own name."""
AS_ACTUAL = ("intent", "entities", "tool")
"""What seed 003 also calls `actual_intent` and the like, in its `TestResult`."""
SAYS_SOMETHING = frozenset({"text", "intent", "tool", "tool_calls"})
"""An answer without any of these is no answer of an agent."""


@targets.register("agent")
@dataclass
class AgentTarget(Target):
    """A service that takes `query`, `context`, `session_id` and states what it understood; a text is not needed.

    From the second turn on the context holds previous_query, previous_intent, previous_entities and turn_number.
    """

    kind: ClassVar[str] = "agent"
    is_remote: ClassVar[bool] = True

    api_url: str
    api_key: Secret | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = field(
        default_factory=lambda: {"query": "{input}", "context": "{context}", "session_id": "{session_id}"}
    )
    """A JSON template, as of `http`. Any: whatever JSON can be."""
    reply: Mapping[str, str] = field(default_factory=dict)
    """Reply field to path, such as `intent: $.parse.intent`; a field that is not named keeps its own name."""
    test_user_id: str = "eval-tester"

    def __post_init__(self) -> None:
        check_url(self.api_url)
        check_template(self.body, field="body")
        self._headers = request_headers(self.headers, self.api_key)
        self._paths = compile_paths({name: f"$.{name}" for name in STATED} | dict(self.reply), field="reply")
        others = {name: f"$.actual_{name}" for name in AS_ACTUAL if name not in self.reply}
        self._other_paths = compile_paths(others, field="reply")

    def remarks(self) -> list[str]:
        """Paths of `reply` at which no answer had anything."""
        return remarks_on(self._paths, self.reply)

    async def ask(self, turns: Conversation) -> Reply:
        """Send the turn with what the one before it was understood as; read what the agent states."""
        body = to_json(fill_template(self.body, sendable(turns, user_id=self.test_user_id)))
        headers = travelling(self._headers, turns)
        parsed = parse_json(self.api_url, await self._open_client().send("POST", self.api_url, body, headers=headers))
        where = shown(self.api_url)
        return noted(read_reply(parsed.value, self._stated(parsed.value, where), where=where), parsed.encoding)

    def _stated(self, answer: Any, where: str) -> dict[str, Path]:  # Any: JSON
        """The paths that lead to something; null is an answer too: the agent found no such thing."""
        there = {**_leading(self._other_paths, answer), **_leading(self._paths, answer)}
        if there.keys().isdisjoint(SAYS_SOMETHING):
            found = sorted(answer) if isinstance(answer, dict) else type(answer).__name__
            raise TargetError(
                f"{where} gave neither an intent nor a text; it gave {short_repr(found, 200)}. "
                "Say under reply: where they are, such as intent: $.parse.intent.",
                kind="missing_field",
            )
        return {name: path for name, path in there.items() if path.find(answer) is not None}


def _leading(paths: Mapping[str, Path], answer: Any) -> dict[str, Path]:  # Any: JSON
    leading = {}
    for name, path in paths.items():
        with suppress(KeyError):
            path.find(answer)
            leading[name] = path
    return leading
