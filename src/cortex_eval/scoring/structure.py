"""Does the reply have the form it should have?"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any, ClassVar

from cortex_eval.core import Case, InputError, JudgeError, Reply, Score, shorten
from cortex_eval.scoring.base import scorers

TIME_LIMIT_S = 0.25
"""What one search may take (RELIABILITY D20)."""
INLINE_LIMIT_S = 0.005
"""What it may take on the event loop; past it the search starts again in a thread."""


@scorers.register("regex")
@dataclass(frozen=True, slots=True)
class Regex:
    """1 when the pattern is found in the reply (or, with `should_match: false`, when it is not), 0 otherwise."""

    version: ClassVar[str] = "1"

    pattern: str
    should_match: bool = True
    ignore_case: bool = False
    multiline: bool = False
    """`^` and `$` also match at line breaks."""
    dotall: bool = False
    """`.` also matches a line break."""
    whole: bool = False
    """The pattern must match the whole reply, spaces around it aside."""
    _fast: Any = field(init=False, repr=False, compare=False)  # Any: a pattern of re2, which has no types; None: cannot
    _full: Any = field(init=False, repr=False, compare=False)  # Any: a pattern of `regex`, which has no public type

    def __post_init__(self) -> None:
        flags = "".join(
            letter for letter, on in (("i", self.ignore_case), ("m", self.multiline), ("s", self.dotall)) if on
        )
        prefix = f"(?{flags})" if flags else ""
        object.__setattr__(self, "_fast", _compile_re2(prefix + self.pattern))
        object.__setattr__(self, "_full", _compile_regex(self.pattern, prefix, required=self._fast is None))

    async def score(self, case: Case, reply: Reply) -> Score:  # noqa: ARG002  # the seam's signature
        """1 or 0; JudgeError when the search takes longer than a quarter of a second."""
        match = await self._find(reply.text.strip() if self.whole else reply.text)
        if match is None:
            reason = f"The pattern {shorten(self.pattern, 80)!r} is not in the reply."
            return Score(name="regex", value=0.0 if self.should_match else 1.0, reason=reason)
        start, end = match.span()
        found = reply.text.strip()[start:end] if self.whole else reply.text[start:end]
        return Score(
            name="regex",
            value=1.0 if self.should_match else 0.0,
            reason=f"The pattern was found: {shorten(found, 80)!r}.",
            evidence={"span": [start, end], "text": shorten(found)},
        )

    async def _find(self, text: str) -> Any:  # Any: a match of either engine
        # In ASCII text without a last line break both engines mean the same by \w, \b, \d and $.
        if self._fast is not None and (self._full is None or (text.isascii() and text[-1:] != "\n")):
            return self._fast.fullmatch(text) if self.whole else self._fast.search(text)
        search = self._full.fullmatch if self.whole else self._full.search
        try:
            return search(text, timeout=INLINE_LIMIT_S)
        except TimeoutError:
            pass  # once more, where it does not hold up the replies that are being timed
        try:
            return await asyncio.to_thread(search, text, timeout=TIME_LIMIT_S, concurrent=True)
        except TimeoutError:
            raise JudgeError(
                f"The pattern {shorten(self.pattern, 80)!r} took longer than {TIME_LIMIT_S * 1000:.0f} ms on a reply "
                f"of {len(text)} characters. Write it without nested repetition.",
                kind="regex_timeout",
            ) from None


def _compile_re2(pattern: str) -> Any:  # Any: see Regex._fast
    import re2  # linear time, but no look-around and no backreferences

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error:
        return None


def _compile_regex(pattern: str, prefix: str, *, required: bool) -> Any:  # Any: see Regex._full
    import regex  # type: ignore[import-untyped]  # has no types; takes all that `re` takes, and keeps a time limit

    try:
        return regex.compile(prefix + pattern)
    except regex.error as error:
        if not required:
            return None
        place = f" at position {max(0, error.pos - len(prefix))}" if error.pos is not None else ""
        raise InputError(f"regex.pattern {shorten(pattern, 120)!r} does not compile: {error.msg}{place}.") from None
