"""Does the reply have the form it should have?"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any, ClassVar

from cortex_eval.core import Case, InputError, JudgeError, Reply, Score, shorten
from cortex_eval.datasets import Compiled, compile_pattern
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
    _compiled: Compiled = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        flags = "".join(
            letter for letter, on in (("i", self.ignore_case), ("m", self.multiline), ("s", self.dotall)) if on
        )
        try:
            object.__setattr__(self, "_compiled", compile_pattern(self.pattern, flags))
        except InputError as error:
            raise InputError(f"regex.pattern {error}") from None

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
        compiled = self._compiled
        engine = compiled.fast if compiled.reads_fast(text) else compiled.full
        search = engine.fullmatch if self.whole else engine.search
        if engine is compiled.fast:
            return search(text)
        try:
            return search(text, timeout=INLINE_LIMIT_S)
        except TimeoutError:
            pass  # once more, where it does not hold up the replies that are being timed
        try:
            return await asyncio.to_thread(search, text, timeout=TIME_LIMIT_S, concurrent=True)
        except TimeoutError:
            raise took_too_long(self.pattern, text) from None


def search_in_thread(compiled: Compiled, pattern: str, text: str) -> Any:  # Any: a match of either engine, or None
    """Where the pattern is first, for callers off the event loop; JudgeError past a quarter of a second."""
    if compiled.reads_fast(text):
        return compiled.fast.search(text)
    try:
        return compiled.full.search(text, timeout=TIME_LIMIT_S, concurrent=True)
    except TimeoutError:
        raise took_too_long(pattern, text) from None


def took_too_long(pattern: str, text: str) -> JudgeError:
    """What to say of a search that was given up."""
    return JudgeError(
        f"The pattern {shorten(pattern, 80)!r} took longer than {TIME_LIMIT_S * 1000:.0f} ms on a reply "
        f"of {len(text)} characters. Write it without nested repetition.",
        kind="regex_timeout",
    )
