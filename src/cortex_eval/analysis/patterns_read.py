"""A failed result as its causes need it: reply, question and expected answers, each read at most once."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

from cortex_eval.analysis.patterns_numbers import Lacking, lacking_numbers
from cortex_eval.core import Reply, Result, Turn

LONGEST_READ = 10_000
"""In characters: what is longer is not read word for word."""
QUOTED = 60
_SENTENCE = re.compile(r"(?<=[.!?।])\s+(?=[^a-z])")
"""The end of a sentence: `e.g. this` is none."""
_SPACELESS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")


class Cause(NamedTuple):
    """What is wrong with a reply."""

    type: str
    part: tuple[str, ...] = ()
    """What tells two faults of this type apart, such as the languages."""
    details: tuple[str, ...] = ()
    """Examples, as they are shown: numbers stay in them."""


class Nearest(NamedTuple):
    """An expected answer beside the reply."""

    reference: str
    words: int = 0
    """That carry meaning; numbers are not counted."""
    missing: frozenset[str] = frozenset()
    """Those of them that are not in the reply in any form."""

    @property
    def share(self) -> float:
        """Of its words that are in the reply."""
        return 1 - len(self.missing) / self.words


class Read:
    """A failed result, read as far as its scorers' causes need it."""

    def __init__(self, row: Result, *, is_canned: bool = False, is_compared: bool = False) -> None:
        self._row = row
        self.is_canned = is_canned
        """The same reply went to a question with another answer."""
        self.is_compared = is_compared
        """It fails a scorer, too, that compares more than whether an expected answer is in it."""
        self._found: dict[tuple[Callable[[Read], Cause | None], ...], Cause | None] = {}

    @cached_property
    def reply(self) -> Reply:
        """What the target said."""
        return self._row.reply or Reply()

    @cached_property
    def _turn(self) -> Turn:
        if self._row.case_json is None:
            return Turn(text="")
        turns = self._row.case.turns
        return turns[min(self._row.turn, len(turns) - 1)]

    @property
    def asked(self) -> str:
        """The question."""
        return self._turn.text

    @cached_property
    def references(self) -> tuple[str, ...]:
        """The expected answers."""
        return tuple(each for each in self._turn.expected.references if each.strip())

    @cached_property
    def is_long(self) -> bool:
        """Whether there is too much of it to be read word for word."""
        return max(map(len, (self.reply.text, self.asked, *self.references))) > LONGEST_READ

    def first(self, rules: tuple[Callable[[Read], Cause | None], ...]) -> Cause | None:
        """What the first of these rules says that holds, found once; None: nothing that can be seen."""
        if rules not in self._found:
            self._found[rules] = next((cause for rule in rules if (cause := rule(self)) is not None), None)
        return self._found[rules]

    @cached_property
    def numbers(self) -> Lacking:
        """Numbers of an expected answer that the reply lacks, and others that it has."""
        return Lacking() if self.is_long else lacking_numbers(self.references, self.reply.text, self.asked)

    @cached_property
    def nearest(self) -> Nearest:
        """The expected answer with most of its words in the reply; numbers are looked at by themselves."""
        from cortex_eval.scoring import content_words, stem, stems

        found, best = {*stems(self.reply.text)}, Nearest(self.references[0])
        for reference in self.references:
            wanted = {word for word in content_words(reference) if not word.isdecimal()}
            tried = Nearest(reference, len(wanted), frozenset(word for word in wanted if stem(word) not in found))
            if tried.words and (not best.words or tried.share > best.share):
                best = tried
        return best

    @cached_property
    def share(self) -> float:
        """Of the words of the nearest expected answer that are in the reply."""
        from cortex_eval.scoring import stems

        reference, text = self.nearest.reference, self.reply.text
        if self.nearest.words:
            return self.nearest.share
        if any(char.isdigit() for char in reference):
            return 0.0 if self.numbers.missing else 1.0 if self.numbers.has_some else 0.5  # half of it: who knows
        small = {*stems(reference)}  # such as *no*; a sign has none
        return 1.0 if (small <= {*stems(text)} if small else reference.strip() in text) else 0.0


def is_spaceless(text: str) -> bool:
    """Whether a text begins in a script that sets no spaces: Thai, Lao, Burmese, Khmer, Japanese, Chinese."""
    return not text.isascii() and _SPACELESS.match(text) is not None


def plain(text: str) -> str:
    """The text without what makes no difference between two that say the same."""
    return " ".join(text.casefold().split()).strip(" .!?।…\"'“”")


def quote(text: str, width: int = QUOTED) -> str:
    """The beginning of a text in a line; no word and no number is cut in two."""
    line = " ".join(text.split())
    if len(line) <= width:
        return line
    return (line[:width].rpartition(" ")[0] or line[:width]) + " …"


def first_sentence(text: str, width: int) -> str:
    """What a reason says first, without what it quotes and cites after that; cut between words where it is too long."""
    line = " ".join(text.split())
    first = _SENTENCE.split(line, maxsplit=1)[0]
    if len(first) <= width:
        return first
    kept = first[: width - 1]
    if kept.count("(") > kept.count(")"):
        kept = kept[: kept.rindex("(")] or kept
    return f"{kept.rpartition(' ')[0].rstrip(' ,;:') or kept}…"
