"""Finds replies that go to several questions, while failed cases go by: the first ones wait for the third."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import orjson

from cortex_eval.analysis.patterns_read import is_spaceless, plain
from cortex_eval.core import Result

WAITING_BYTES = 250_000
"""Of failed cases whose reply came up once or twice so far; when there are more, the first do not wait any longer."""
_ROW_BYTES = 2_000
"""Of a result without its case and reply."""
QUESTIONS = 3
"""So many different questions, with as many different answers, make a reply a canned one."""
REPLIES_KEPT = 10_000
"""Different replies that are remembered, as numbers: 3 MB."""
_FEWEST_WORDS = 4
"""Shorter replies, such as a name or *yes*, may well be meant for several questions."""
_FEWEST_LETTERS = 8
"""The same of scripts that set no spaces between words."""


class Failed(NamedTuple):
    """The failed results of a case."""

    rows: list[Result]
    turns: float
    """Of one repeat."""
    canned: frozenset[int] = frozenset()
    """Places of the rows whose reply is canned."""


class _Said(NamedTuple):
    """A reply, the question and what was expected, each as a number."""

    reply: int
    asked: int
    expected: int


class CannedReplies:
    """Finds replies that went to different questions with different answers; only failed cases are shown to it."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[_Said, ...]] = {}
        """Reply → the first questions with different answers that it went to."""
        self._canned: set[int] = set()
        self._waiting: dict[int, list[Failed]] = {}
        self._bytes = 0

    def told(self, case: Failed) -> Iterator[Failed]:
        """Every case of which it is now known whether its reply is canned, this one or earlier ones.

        A conversation does not wait: of its replies, only those that came up before are canned.
        """
        said = [_said(row) for row in case.rows]
        canned = {place: each for place, each in enumerate(said) if each is not None and self._note(each)}
        for each in canned.values():
            yield from (known._replace(canned=frozenset({0})) for known in self._let_go(each.reply))
        first, *others = said
        if first is None or others or canned:
            yield case._replace(canned=frozenset(canned))
            return
        self._waiting.setdefault(first.reply, []).append(case)
        self._bytes += _size(case)
        while self._bytes > WAITING_BYTES:
            yield from self._let_go(next(iter(self._waiting)))

    def rest(self) -> Iterator[Failed]:
        """Those that still wait: no other question got their reply."""
        for reply in list(self._waiting):
            yield from self._let_go(reply)

    def _let_go(self, reply: int) -> list[Failed]:
        """Those that wait for others with this reply."""
        waiting = self._waiting.pop(reply, [])
        self._bytes -= sum(map(_size, waiting))
        return waiting

    def _note(self, said: _Said) -> bool:
        """Whether this reply has gone to so many different questions with different answers."""
        if said.reply in self._canned:
            return True
        known = self._known.get(said.reply, ())
        if not known and len(self._known) >= REPLIES_KEPT:
            return False
        if all(each.asked != said.asked and each.expected != said.expected for each in known):
            self._known[said.reply] = known = (*known, said)
        if len(known) < QUESTIONS:
            return False
        self._canned.add(said.reply)
        return True


def _size(case: Failed) -> int:
    return sum(_ROW_BYTES + len(row.case_json or b"") + len(row.reply_json or b"") for row in case.rows)


def _said(row: Result) -> _Said | None:
    """What was said and to what; None: it is too short to tell anything."""
    if row.error is not None or row.reply_json is None or row.case_json is None:
        return None
    text = plain(orjson.loads(row.reply_json).get("text") or "")
    if text.count(" ") < _FEWEST_WORDS - 1 and not (len(text) >= _FEWEST_LETTERS and is_spaceless(text)):
        return None
    turns = orjson.loads(row.case_json)["turns"]
    turn = turns[min(row.turn, len(turns) - 1)]
    asked, expected = plain(turn.get("text") or ""), turn.get("expected") or {}
    answer = (expected.get("answer"), *(expected.get("answers") or ()))
    return _Said(hash(text), hash(asked), hash(answer if any(answer) else asked))
