"""Conversations as other projects write them: lists of messages, and annotated dialogues."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cortex_eval.datasets import values
from cortex_eval.datasets.draft import Draft
from cortex_eval.datasets.problems import Mistake

_BOTH_SIDES = (("speaker", "utterance"), ("role", "content"), ("from", "value"))


def read_messages(draft: Draft, key: str, value: Any) -> None:  # Any: JSON
    """The last thing that the user says is played; what came before is history, what comes after is expected."""
    said = values.messages(value, key)
    last = max((index for index, turn in enumerate(said) if "role" not in turn), default=None)
    if last is None:
        raise Mistake(f"{key} holds no message of the user.", field=key, code="empty_input")
    if not said[last]["text"].strip():
        raise Mistake(f"{key}[{last}] is blank: there is nothing to ask.", field=f"{key}[{last}]", code="empty_input")
    if last:
        draft.case["history"] = said[:last]
    answer = next((turn["text"] for turn in said[last + 1 :] if turn["role"] == "assistant" and turn["text"]), None)
    expected: dict[str, Any] = {"answer": answer} if answer else {}  # Any: JSON
    calls = [each["tool_calls"] for each in value[last + 1 :] if isinstance(each.get("tool_calls"), list)]
    if any(calls):
        expected["tools"] = values.tools([call for each in calls for call in each], f"{key}.tool_calls")
    draft.turns = [{**said[last], "expected": expected} if expected else said[last]]


def is_dialogue(turns: Sequence[Any]) -> bool:  # Any: JSON
    """Whether these are turns of both sides: {speaker, utterance}, {role, content} or {from, value}."""
    return all(
        isinstance(turn, Mapping) and any(one in turn and other in turn for one, other in _BOTH_SIDES) for turn in turns
    )


def read_dialogue(draft: Draft, key: str, turns: Sequence[Mapping[str, Any]]) -> None:  # Any: JSON
    """The user's turns are played; what the other side said next is the expected answer."""
    said = values.messages([_message(turn) for turn in turns], key)
    for index, turn in enumerate(said):
        if "role" in turn:
            if not draft.turns:
                draft.case.setdefault("history", []).append(turn)
            continue
        if not turn["text"].strip():
            place = f"{key}[{index}]"
            raise Mistake(f"{place} is blank: there is nothing to ask.", field=place, code="empty_input")
        expected = _state(turns[index])
        if index + 1 < len(said) and said[index + 1].get("role") == "assistant":
            expected = {**_reply(said[index + 1]["text"], turns[index + 1]), **expected}
        draft.turns.append({**turn, "expected": expected} if expected else turn)
    if not draft.turns:
        raise Mistake(f"{key} holds no turn of the user.", field=key, code="empty_input")


def _message(turn: Mapping[str, Any]) -> dict[str, Any]:  # Any: JSON
    if "speaker" not in turn:
        who, what = ("role", "content") if "role" in turn else ("from", "value")
        return {"role": turn[who], "content": turn[what]}
    speaker = turn["speaker"]
    is_system = isinstance(speaker, str) and speaker.casefold() == "system"  # the system that answers, not a prompt
    return {"role": "assistant" if is_system else speaker, "content": turn["utterance"]}


def _reply(text: str, turn: Mapping[str, Any]) -> dict[str, Any]:  # Any: JSON
    expected: dict[str, Any] = {"answer": text} if text.strip() else {}  # Any: JSON
    calls = [frame["service_call"] for frame in _frames(turn) if isinstance(frame.get("service_call"), Mapping)]
    if calls:
        expected["tools"] = [_tool(call) for call in calls]
    return expected


def _state(turn: Mapping[str, Any]) -> dict[str, Any]:  # Any: JSON
    """What the user wants by now, as the annotators of the dialogue noted it."""
    expected: dict[str, Any] = {}  # Any: JSON
    states = [frame["state"] for frame in _frames(turn) if isinstance(frame.get("state"), Mapping)]
    intents = [state["active_intent"] for state in states if state.get("active_intent") not in (None, "", "NONE")]
    if intents:
        expected["intent"] = values.name(intents[0], "active_intent")
    if states:
        slots: dict[str, Any] = {}  # Any: JSON
        for state in states:
            for slot, held in values.mapping(state.get("slot_values", {}), "slot_values").items():
                slots[slot] = held[0] if isinstance(held, list) and len(held) == 1 else held
        expected["entities"] = slots
    return expected


def _tool(call: Mapping[str, Any]) -> dict[str, Any]:  # Any: JSON
    return values.tools({"name": call.get("method"), "arguments": call.get("parameters")}, "service_call")[0]


def _frames(turn: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:  # Any: JSON
    frames = turn.get("frames")
    return (frame for frame in frames if isinstance(frame, Mapping)) if isinstance(frames, list) else iter(())
