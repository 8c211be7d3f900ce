"""The error that most turns of a run share, in a few words."""

from __future__ import annotations

from collections.abc import Mapping

from cortex_eval.core import shorten


def commonest_error(kinds: Mapping[str, int], messages: Mapping[str, str]) -> str:
    """Its kind and what it says; empty when there is none. The most frequent of `kinds` is the first."""
    named = next(iter(kinds), "")
    kind, message = named.partition(": ")[2], " ".join(messages.get(named, "").split())
    if kind == "raised":
        message = message.partition(" raised ")[2] or message  # which function did is known to whoever called
    return shorten(": ".join(filter(None, (kind, message.removesuffix(".")))))
