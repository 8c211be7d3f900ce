"""Patterns and schemas that people write, compiled; what is wrong with one is told in a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cortex_eval.core import InputError, shorten


class Compiled:
    """A pattern for both engines; at least one is there."""

    __slots__ = ("fast", "full")

    def __init__(self, fast: Any, full: Any) -> None:
        self.fast = fast  # Any: a pattern of re2, which has no types; None: it has look-around or backreferences
        self.full = full  # Any: a pattern of `regex`, which has no public type; None: only re2 reads it

    def reads_fast(self, text: str) -> bool:
        """Whether the fast engine means the same by the pattern on this text."""
        # In ASCII text without a last line break both engines mean the same by \\w, \\b, \\d and $.
        return self.fast is not None and (self.full is None or (text.isascii() and text[-1:] != "\n"))


def compile_pattern(pattern: str, flags: str = "") -> Compiled:
    """The pattern with these flags, such as `is`; InputError when no engine reads it."""
    prefix = f"(?{flags})" if flags else ""
    fast = _compile_re2(prefix + pattern)
    return Compiled(fast, _compile_regex(pattern, prefix, required=fast is None))


def check_pattern(pattern: str) -> None:
    """InputError when no engine reads the pattern; cheaper than compiling it for both."""
    if _compile_re2(pattern) is None:
        _compile_regex(pattern, "", required=True)


def compile_schema(schema: Mapping[str, Any] | bool) -> Any:  # Any: jsonschema_rs has no public type for a validator
    """What validates by this JSON Schema; InputError when it is none, or refers to something outside of it."""
    import jsonschema_rs

    asked: list[str] = []

    def refuse(uri: str) -> Any:  # Any: what a retriever gives back, had it anything
        asked.append(uri)
        raise ValueError(uri)

    try:
        return jsonschema_rs.validator_for(schema if isinstance(schema, bool) else dict(schema), retriever=refuse)
    except ValueError as error:
        if asked:
            raise InputError(
                f"the reference {shorten(asked[0])!r} leads outside, and nothing is fetched. "
                "Put it under $defs and refer to it as '#/$defs/…'."
            ) from error
        raise InputError(f"this is not a JSON Schema: {shorten(str(error).splitlines()[0])}.") from error


def _compile_re2(pattern: str) -> Any:  # Any: see Compiled
    import re2  # linear time, but no look-around and no backreferences

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error:
        return None


def _compile_regex(pattern: str, prefix: str, *, required: bool) -> Any:  # Any: see Compiled
    import regex  # type: ignore[import-untyped]  # has no types; takes all that `re` takes, and keeps a time limit

    try:
        return regex.compile(prefix + pattern)
    except regex.error as error:
        if not required:
            return None
        place = f" at position {max(0, error.pos - len(prefix))}" if error.pos is not None else ""
        raise InputError(f"{shorten(pattern, 120)!r} does not compile: {error.msg}{place}.") from None
