"""What went wrong in a run, in a few words: the error that most turns share, and the first cases that did not pass."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cortex_eval.core import CortexError, Result, shorten

NAMED = 3
"""Cases: pytest shows about a hundred characters of the end of a value."""


def commonest_error(kinds: Mapping[str, int], messages: Mapping[str, str]) -> str:
    """Its kind and what it says; empty when there is none. The most frequent of `kinds` is the first."""
    named = next(iter(kinds), "")
    kind, message = named.partition(": ")[2], " ".join(messages.get(named, "").split())
    if kind == "raised":
        message = message.partition(" raised ")[2] or message  # which function did is known to whoever called
    return shorten(": ".join(filter(None, (kind, message.removesuffix(".")))))


def not_passed(results: Iterable[Result], total: int) -> str:
    """The first cases that failed or are in error, by id and the beginning of what was asked; empty when none is."""
    found: dict[str, str] = {}
    try:
        for each in results:
            if each.state not in ("passed", "pending") and each.case_id not in found:
                asked = "" if each.case_json is None else f" {shorten(each.case.input, 25)!r}"
                found[each.case_id] = f"{shorten(each.case_id, 20)}{asked}"
                if len(found) == NAMED:
                    break
    except CortexError:  # the store is gone; a text for people is no place to say so
        return ""
    more = f" and {total - len(found)} more" if found and total > len(found) else ""
    return ", ".join(found.values()) + more
