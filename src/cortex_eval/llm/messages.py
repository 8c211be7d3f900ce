"""What every service needs of a conversation, however it words it: which result belongs to which call, and pictures."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from typing import NamedTuple

from cortex_eval.core import Attachment, TargetError
from cortex_eval.llm.base import Message


class Linked(NamedTuple):
    """A message, and how it hangs together with the calls around it."""

    message: Message
    call_ids: tuple[str, ...] = ()
    """Of the calls that an assistant makes, in order."""
    answers: str = ""
    """Of a tool: the call that it answers."""
    tool: str = ""
    """Of a tool: its name."""


def link_calls(messages: Sequence[Message]) -> list[Linked]:
    """Give every call its id: the n-th tool message after an assistant's message answers the n-th of its calls."""
    linked: list[Linked] = []
    open_calls: list[tuple[str, str]] = []
    made = 0
    for place, message in enumerate(messages):
        if message.tool_calls:
            answers = [each.tool_call_id for each in messages[place + 1 : place + 1 + len(message.tool_calls)]]
            answers += [None] * (len(message.tool_calls) - len(answers))
            ids = tuple(given or f"call_{made + number}" for number, given in enumerate(answers, 1))
            made += len(ids)
            open_calls = [(call_id, call.name) for call_id, call in zip(ids, message.tool_calls, strict=True)]
            linked.append(Linked(message, call_ids=ids))
        elif message.role == "tool":
            answers_id, tool = open_calls.pop(0) if open_calls else (message.tool_call_id or "call_0", "tool")
            linked.append(Linked(message, answers=answers_id, tool=tool))
        else:
            linked.append(Linked(message))
    return linked


def system_of(messages: Sequence[Message]) -> str:
    """Everything that the system says, for services that want it apart."""
    return "\n\n".join(each.text for each in messages if each.role == "system" and each.text)


def picture(attachment: Attachment, read: Callable[[Attachment], bytes] | None) -> str:
    """The bytes of an image in base64; `TargetError` for what is no image, or when nobody can read it."""
    if not attachment.media_type.startswith("image/"):
        raise TargetError(
            f"{attachment.name or 'An attachment'} is {attachment.media_type}; only images go to a model.",
            kind="attachment",
        )
    if read is None:
        raise TargetError(
            f"{attachment.name or attachment.sha256[:12]} cannot be sent: nothing here can read attachments.",
            kind="attachment",
        )
    return base64.b64encode(read(attachment)).decode()
