"""Tool calls as models, and the libraries around them, write them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import orjson

_BOXES = ("function", "functionCall", "function_call")
"""Where OpenAI and Gemini put the call itself."""
_NAMES = ("name", "tool_name", "toolName")
_ARGUMENTS = ("arguments", "args", "input", "input_parameters", "parameters")
"""As OpenAI, LangChain and Gemini, Anthropic, DeepEval, and schema-guided dialogues call them."""


class Unboxed(NamedTuple):
    """What a call holds; whoever reads it checks that the name is a text and the arguments are an object, or None."""

    name: Any  # Any: JSON, as it came
    arguments: Any  # Any: as above


def unboxed(call: Mapping[str, Any]) -> Unboxed:  # Any: JSON
    """Name and arguments of a call, whatever box it comes in; arguments that are JSON in a text are read."""
    inner = next((call[box] for box in _BOXES if isinstance(call.get(box), Mapping)), call)
    name = next((inner[key] for key in _NAMES if inner.get(key) is not None), None)
    arguments = next((inner[key] for key in _ARGUMENTS if inner.get(key) is not None), None)
    if isinstance(arguments, str):
        with suppress(orjson.JSONDecodeError):
            arguments = orjson.loads(arguments) if arguments.strip() else {}
    return Unboxed(name, arguments)
