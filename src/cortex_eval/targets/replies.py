"""A reply read from what a callable returned or a file recorded, in our words or the ones people already use."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from cortex_eval.core import (
    Money,
    Reply,
    TargetError,
    ToolCall,
    Usage,
    did_you_mean,
    read_back,
    short_repr,
    shorten,
    unboxed,
)

WORDS: Mapping[str, tuple[str, ...]] = {
    "text": ("response", "answer", "output", "reply", "actual_output", "agentOutput", "agent_output", "completion"),
    "intent": ("actual_intent", "predicted_intent"),
    "entities": ("actual_entities", "extracted_entities"),
    "tool": ("actual_tool", "tool_name", "selected_tool"),
    "arguments": ("tool_args", "tool_arguments", "tool_input"),
    "label": ("predicted_prakriti", "predicted_label", "prediction"),
    "confidence": ("intent_confidence",),
    "llm_invoked": ("llm_used", "used_llm"),
    "tool_calls": ("tools_called",),
    "contexts": ("sources", "retrieved_contexts", "retrieval_context", "passages", "context_documents"),
    "total_time_ms": ("latency_ms", "response_time_ms"),
}
"""Reply's own names, and what else is read as them; Reply's own name wins when both are there."""

LARGEST_REPLY = 5 * 1024 * 1024
"""Bytes; the same limit as for an HTTP answer."""

_TEXTS = ("text", "intent", "tool", "label", "language", "transcript", "finish_reason", "model")
_NUMBERS = ("confidence", "parse_time_ms", "total_time_ms", "first_token_ms")
_MAPPINGS = ("entities", "arguments", "metadata")
_LISTS = ("contexts", "citations")
_SETTABLE = {*_TEXTS, *_NUMBERS, *_MAPPINGS, *_LISTS, "llm_invoked", "tool_calls", "usage", "raw"}
_CANONICAL = {word: name for name, words in WORDS.items() for word in (name, *words)} | {n: n for n in _SETTABLE}
_PASSAGE_KEYS = ("text", "content", "page_content", "passage")
_KNOWN_OF_A_PASSAGE = ("id", "source", "score")


def reply_from_returned(returned: object, *, whose: str) -> Reply:
    """The reply in what a callable gave back: text, a mapping, or a Reply; `TargetError` for all else."""
    if isinstance(returned, Reply):
        return checked(returned, whose=whose)
    if isinstance(returned, str):
        return checked(Reply(text=returned), whose=whose)
    if isinstance(returned, Mapping):
        return checked(reply_from_mapping(returned, whose=whose), whose=whose)
    if inspect.iscoroutine(returned):
        returned.close()  # or Python would warn that it was never awaited
        raise bad_return(f"{whose} gave back a coroutine that nobody awaited. Make it `async def`, or await it.")
    if inspect.isgenerator(returned) or inspect.isasyncgen(returned):
        raise bad_return(f"{whose} gave back a generator. Put its parts together, and return the text.")
    if returned is None:
        raise bad_return(f"{whose} gave back None. Return the text, a mapping or a Reply.")
    found = f"{type(returned).__name__} {shorten(short_repr(returned))}"
    raise bad_return(f"{whose} gave back {found}. Return the text, a mapping or a Reply.")


def reply_from_mapping(row: Mapping[Any, Any], *, whose: str) -> Reply:  # Any: it comes from foreign code
    """The reply with these parts; unknown keys go to its metadata, wrong types are a `TargetError`."""
    parts: dict[str, Any] = {}
    rest: dict[str, Any] = {}
    for key, value in row.items():
        name = _CANONICAL.get(key) if isinstance(key, str) else None
        if name is None or (name in parts and key != name):
            rest[str(key)] = value
        elif value is not None:
            parts[name] = value
    if not parts:
        keys = shorten(", ".join(sorted(map(str, row))) or "none")
        hint = did_you_mean(str(next(iter(row), "text")), _SETTABLE)
        raise bad_return(f"{whose} gave a mapping that holds nothing of a reply (its keys: {keys}). {hint}")
    read = {name: _part(name, value, whose) for name, value in parts.items()}
    if rest:
        read["metadata"] = {**rest, **read.get("metadata", {})}
    known = _known_of_passages(parts.get("contexts"))
    if known:
        read["metadata"] = {"passages": known, **read.get("metadata", {})}
    return Reply(**read)


def checked(reply: Reply, *, whose: str) -> Reply:
    """The same reply as the store gives it back: of the right types, not too large, and JSON all through."""
    if not isinstance(reply.text, str):
        raise bad_return(f"{whose} gave a text that is {type(reply.text).__name__}, not str.")
    if isinstance(reply.confidence, float) and not 0 <= reply.confidence <= 1:  # not a number is null in JSON
        raise _no_confidence(reply.confidence, whose)
    try:
        kept, size = read_back(Reply, reply)
    except (TypeError, RecursionError) as error:  # orjson's own error is a TypeError
        problem = shorten(str(error))
        raise bad_return(f"{whose} gave a reply that cannot be written as JSON: {problem}.") from error
    except ValueError as error:
        raise bad_return(f"{whose} gave a reply with a wrong type at {shorten(str(error))}.") from error
    if size > LARGEST_REPLY:
        message = f"{whose} gave a reply of {size:,} bytes; at most {LARGEST_REPLY:,} are read."
        raise TargetError(message, kind="too_large")
    if kept.confidence is not None and not 0 <= kept.confidence <= 1:
        raise _no_confidence(kept.confidence, whose)
    if kept.usage is not None and not _is_countable(kept.usage):
        raise _wrong("usage", kept.usage, whose)
    return kept


def _is_countable(usage: Usage) -> bool:
    """Whether it can be added up: no amount that is not a number, nothing below zero."""
    is_sum = usage.cost is None or (usage.cost.amount.is_finite() and usage.cost.amount >= 0)
    counts = (usage.input_tokens, usage.cached_tokens, usage.output_tokens, usage.reasoning_tokens)
    return is_sum and min(counts) >= 0


def bad_return(message: str) -> TargetError:
    """The callable came back, but not with a reply."""
    return TargetError(message, kind="bad_return")


def canonical_name(word: str) -> str | None:
    """Reply's own name for a word that people use; None when it is no part of a reply."""
    return _CANONICAL.get(word)


def settable_names() -> frozenset[str]:
    """The parts of a reply that a callable or a file may give."""
    return frozenset(_SETTABLE)


def _part(name: str, value: Any, whose: str) -> Any:  # Any: checked here
    if name in _TEXTS and isinstance(value, str):
        return value
    if name in _NUMBERS and isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
        if name == "confidence" and not 0 <= value <= 1:
            raise _no_confidence(value, whose)
        return float(value)
    if name in _MAPPINGS and isinstance(value, Mapping):
        return dict(value)
    if name in _LISTS and isinstance(value, str):
        return (value,)
    if name in _LISTS and isinstance(value, Iterable) and not isinstance(value, Mapping):
        return tuple(_passage(each, name, whose) for each in value)
    if name == "llm_invoked" and isinstance(value, bool):
        return value
    if name == "tool_calls" and isinstance(value, Iterable) and not isinstance(value, (str, Mapping)):
        return tuple(_tool_call(each, whose) for each in value)
    if name == "usage" and isinstance(value, (Usage, Mapping)):
        return value if isinstance(value, Usage) else _usage(value, whose)
    if name == "raw":
        return value
    raise _wrong(name, value, whose)


def _passage(value: object, name: str, whose: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        for key in _PASSAGE_KEYS:
            if isinstance(value.get(key), str):
                return str(value[key])
    raise _wrong(name, value, whose)


def tool_call_from(value: object) -> ToolCall | None:
    """A tool call: a name, or {name, arguments} in any box; None: it is none. Text that is no JSON is kept as such."""
    if isinstance(value, ToolCall):
        return value
    if isinstance(value, str):
        return ToolCall(name=value)
    name, arguments = unboxed(value) if isinstance(value, Mapping) else (None, None)
    if isinstance(arguments, str):
        from cortex_eval.llm import UNPARSED

        arguments = {UNPARSED: arguments}
    if not isinstance(name, str) or not isinstance(arguments, Mapping | None):
        return None
    return ToolCall(name=name, arguments=arguments)


def _known_of_passages(passages: object) -> list[dict[str, Any]]:  # Any: JSON
    """All but the texts, as the kind `rag` keeps it; empty when no passage says more of itself."""
    if not isinstance(passages, list | tuple) or not any(isinstance(each, Mapping) for each in passages):
        return []
    rows = [each if isinstance(each, Mapping) else {} for each in passages]
    known = [{key: row.get(key) for key in _KNOWN_OF_A_PASSAGE} for row in rows]
    return known if any(value is not None for row in known for value in row.values()) else []


def _tool_call(value: object, whose: str) -> ToolCall:
    if (call := tool_call_from(value)) is not None:
        return call
    raise bad_return(
        f"{whose} gave {short_repr(value)} among its tool_calls. Give names, or {{name, arguments}} with an object."
    )


def _usage(value: Mapping[str, Any], whose: str) -> Usage:
    known = set(Usage.__struct_fields__) - {"cost"}
    counts = {key: count for key, count in value.items() if key in known and count is not None}
    if any(not isinstance(count, int) or isinstance(count, bool) or count < 0 for count in counts.values()):
        raise _wrong("usage", value, whose)
    cost = value.get("cost")
    if isinstance(cost, Mapping) and "amount" in cost:
        try:
            cost = Money(**{**cost, "amount": Decimal(str(cost["amount"]))})
        except (InvalidOperation, TypeError) as error:
            raise _wrong("usage", value, whose) from error
    if cost is not None and not isinstance(cost, Money):
        raise _wrong("usage", value, whose)
    return Usage(**counts, cost=cost)


def _no_confidence(value: float, whose: str) -> TargetError:
    remedy = " Divide a percentage by 100." if 1 < value <= 100 else ""
    return bad_return(f"{whose} gave a confidence of {value:g}; it must be a number from 0 to 1.{remedy}")


def _wrong(name: str, value: object, whose: str) -> TargetError:
    return bad_return(f"{whose} gave {name!r} as {type(value).__name__} {shorten(short_repr(value))}.")
