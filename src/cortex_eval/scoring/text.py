"""Does the reply say what the expected answer says, in its words?"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any, Literal

from cortex_eval.core import Case, InputError, Reply, Score, shorten
from cortex_eval.scoring.base import scorers
from cortex_eval.scoring.overlap import bleu, chrf, edit_similarity, overlap, rouge_l, rouge_n, token_f1
from cortex_eval.scoring.ter import ter
from cortex_eval.scoring.words import words

NO_REFERENCE = "There is no expected answer to compare with."
EMPTY_REPLY = "The reply is empty."
_SPACES = re.compile(r"\s+")


@scorers.register("exact")
@dataclass(frozen=True, slots=True)
class Exact:
    """1 when the reply is one of the expected answers, 0 otherwise."""

    casefold: bool = True
    """Upper and lower case are the same."""
    strip: bool = True
    """Spaces around the text do not count."""
    collapse_spaces: bool = True
    """Any run of spaces and line breaks is one space."""
    ignore_punctuation: bool = False
    """Punctuation marks do not count, in any script."""

    async def score(self, case: Case, reply: Reply) -> Score:
        """1 or 0; None without an expected answer."""
        references = case.expected.references
        if not references:
            return Score(name="exact", value=None, reason=NO_REFERENCE)
        found = self._normalise(reply.text)
        if any(found == self._normalise(reference) for reference in references):
            return Score(name="exact", value=1.0, reason="The reply is the expected answer.")
        if not reply.text.strip():
            return Score(name="exact", value=0.0, reason=EMPTY_REPLY)
        return Score(
            name="exact", value=0.0, reason=f"The reply is not the expected answer {shorten(references[0], 80)!r}."
        )

    def _normalise(self, text: str) -> str:
        return normalise(
            text,
            casefold=self.casefold,
            strip=self.strip,
            collapse_spaces=self.collapse_spaces,
            ignore_punctuation=self.ignore_punctuation,
        )


@scorers.register("contains")
@dataclass(frozen=True, slots=True)
class Contains:
    """1 when the reply contains what it should, 0 otherwise."""

    values: tuple[str, ...] = ()
    """What to look for; empty: an expected answer of the case."""
    match: Literal["any", "all"] = "any"
    """Whether one of the values is enough; of several expected answers one always is."""
    casefold: bool = True
    """Upper and lower case are the same."""
    whole_words: bool = False
    """`art` is not found in `heart`; word ends are known in every script."""
    _wanted: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if any(not value.strip() for value in self.values):
            raise InputError("contains.values has an empty text; every reply contains that. Remove it.")
        if self.match not in ("any", "all"):
            raise InputError(f"contains.match must be 'any' or 'all', not {self.match!r}.")
        object.__setattr__(self, "_wanted", tuple(_folded(value, self.casefold) for value in self.values))

    async def score(self, case: Case, reply: Reply) -> Score:
        """1 or 0; None when there is nothing to look for."""
        shown, wanted = self.values, self._wanted
        if not wanted:
            shown = tuple(reference for reference in case.expected.references if reference.strip())
            wanted = tuple(_folded(reference, self.casefold) for reference in shown)
            if not wanted:
                return Score(name="contains", value=None, reason=NO_REFERENCE)
        text = _folded(reply.text, self.casefold)
        if not text:
            return Score(name="contains", value=0.0, reason=EMPTY_REPLY)
        missing = [name for name, value in zip(shown, wanted, strict=True) if not self._is_in(value, text)]
        needs_all = self.match == "all" and bool(self.values)
        if missing and (needs_all or len(missing) == len(wanted)):
            quoted = ", ".join(repr(shorten(each, 60)) for each in missing)
            return Score(
                name="contains", value=0.0, reason=f"Not in the reply: {quoted}.", evidence={"missing": missing}
            )
        return Score(name="contains", value=1.0, reason="The reply contains what it should.")

    def _is_in(self, value: str, text: str) -> bool:
        if not self.whole_words:
            return value in text
        return _whole_word(value).search(text) is not None


@scorers.register("bleu")
@dataclass(frozen=True, slots=True)
class Bleu:
    """Sentence BLEU: phrases of up to four words that the reply shares with the expected answer."""

    async def score(self, case: Case, reply: Reply) -> Score:
        """0..1; None without an expected answer."""
        return _best("bleu", case, reply, bleu)


@scorers.register("rouge")
@dataclass(frozen=True, slots=True)
class Rouge:
    """ROUGE-L: words that the reply shares with the expected answer, in the same order."""

    async def score(self, case: Case, reply: Reply) -> Score:
        """0..1; None without an expected answer."""
        return _best("rouge", case, reply, rouge_l)


@scorers.register("rouge1")
@dataclass(frozen=True, slots=True)
class Rouge1:
    """ROUGE-1: words that the reply shares with the expected answer, in any order."""

    def score_batch(self, pairs: Sequence[tuple[Case, Reply]]) -> list[Score]:
        """0..1 for each reply; None without an expected answer."""
        return [_best("rouge1", case, reply, partial(rouge_n, n=1)) for case, reply in pairs]


@scorers.register("rouge2")
@dataclass(frozen=True, slots=True)
class Rouge2:
    """ROUGE-2: pairs of neighbouring words that the reply shares with the expected answer."""

    def score_batch(self, pairs: Sequence[tuple[Case, Reply]]) -> list[Score]:
        """0..1 for each reply; None without an expected answer, or where every expected answer is a single word."""
        return [self._one(case, reply) for case, reply in pairs]

    def _one(self, case: Case, reply: Reply) -> Score:
        references = _references(case)
        if references and all(len(words(reference)) < 2 for reference in references):
            return Score(name="rouge2", value=None, reason="The expected answer is one word: it has no pairs of words.")
        return _best("rouge2", case, reply, partial(rouge_n, n=2))


@scorers.register("f1")
@dataclass(frozen=True, slots=True)
class F1:
    """F1 of the words that reply and expected answer share, as SQuAD reckons it."""

    def score_batch(self, pairs: Sequence[tuple[Case, Reply]]) -> list[Score]:
        """0..1 for each reply; None without an expected answer."""
        return [_best("f1", case, reply, token_f1) for case, reply in pairs]


@scorers.register("edit")
@dataclass(frozen=True, slots=True)
class Edit:
    """How few characters would have to be changed to make the reply the expected answer."""

    casefold: bool = True
    """Upper and lower case are the same."""
    ignore_punctuation: bool = False
    """Punctuation marks do not count, in any script."""

    def score_batch(self, pairs: Sequence[tuple[Case, Reply]]) -> list[Score]:
        """0..1 for each reply; None without an expected answer."""
        return [_best("edit", case, reply, self._similarity) for case, reply in pairs]

    def _similarity(self, found: str, wanted: str) -> float:
        settings = {"casefold": self.casefold, "ignore_punctuation": self.ignore_punctuation}
        return edit_similarity(normalise(found, **settings), normalise(wanted, **settings))


@scorers.register("ter")
@dataclass(frozen=True, slots=True)
class Ter:
    """Translation edit rate: words to change, and phrases to move, to make the reply the expected answer."""

    def score_batch(self, pairs: Sequence[tuple[Case, Reply]]) -> list[Score]:
        """1 − TER, at least 0, for each reply; None without an expected answer."""
        return [self._one(case, reply) for case, reply in pairs]

    def _one(self, case: Case, reply: Reply) -> Score:
        references = _references(case)
        if not references:
            return Score(name="ter", value=None, reason=NO_REFERENCE)
        rate = min(ter(reply.text, reference) for reference in references)
        reason = f"{rate:.0%} of the words of the expected answer would have to be changed or moved."
        return Score(
            name="ter",
            value=max(0.0, 1 - rate),
            reason=reason if reply.text.strip() else EMPTY_REPLY,
            measure=rate,
            unit="TER",
            direction="lower",
        )


@scorers.register("chrf")
@dataclass(frozen=True, slots=True)
class Chrf:
    """chrF: pieces of words that the reply shares with the expected answer; the fairest one to inflected languages."""

    async def score(self, case: Case, reply: Reply) -> Score:
        """0..1; None without an expected answer."""
        return _best("chrf", case, reply, chrf)

    def score_batch(self, pairs: Sequence[tuple[Case, Reply]]) -> list[Score]:
        """The same for many replies: ten times slower than its neighbours, it should not hold up the event loop."""
        return [_best("chrf", case, reply, chrf) for case, reply in pairs]


@scorers.register("accuracy")
@dataclass(frozen=True, slots=True)
class Accuracy:
    """How much of the expected answer's wording is in the reply: a mix of BLEU and ROUGE-L."""

    bleu_weight: float = 0.5
    rouge_weight: float = 0.5

    def __post_init__(self) -> None:
        total = self.bleu_weight + self.rouge_weight
        if not (self.bleu_weight >= 0 and self.rouge_weight >= 0 and abs(total - 1) <= 1e-6):
            raise InputError(
                f"accuracy: bleu_weight {self.bleu_weight:g} and rouge_weight {self.rouge_weight:g} sum to {total:g}. "
                "Both must be 0 or more, and their sum must be 1."
            )

    async def score(self, case: Case, reply: Reply) -> Score:
        """0..1 for the reference that agrees best; None without an expected answer."""
        references = _references(case)
        if not references:
            return Score(name="accuracy", value=None, reason=NO_REFERENCE)
        if not reply.text.strip():
            return Score(name="accuracy", value=0.0, reason=EMPTY_REPLY)
        best = -1.0
        for reference in references:
            pair = overlap(reply.text, reference)
            value = self.bleu_weight * pair.bleu + self.rouge_weight * pair.rouge
            if value > best:
                best, parts = value, pair
        return Score(
            name="accuracy",
            value=min(1.0, best),
            reason=f"The reply {_shares(best)} the expected answer (BLEU {parts.bleu:.2f}, ROUGE-L {parts.rouge:.2f}).",
            evidence={"bleu": round(parts.bleu, 6), "rouge": round(parts.rouge, 6)},
        )


def normalise(
    text: str,
    *,
    casefold: bool = True,
    strip: bool = True,
    collapse_spaces: bool = True,
    ignore_punctuation: bool = False,
) -> str:
    """The text in Unicode NFC, without the differences that do not matter."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    if casefold:
        text = text.casefold()
    if ignore_punctuation:
        text = "".join(char for char in text if not unicodedata.category(char).startswith("P"))
    if collapse_spaces:
        return _one_space(text) if strip else _SPACES.sub(" ", text)
    return text.strip() if strip else text


def _best(name: str, case: Case, reply: Reply, measure: Callable[[str, str], float]) -> Score:
    references = _references(case)
    if not references:
        return Score(name=name, value=None, reason=NO_REFERENCE)
    if not reply.text.strip():
        return Score(name=name, value=0.0, reason=EMPTY_REPLY)
    value = max(measure(reply.text, reference) for reference in references)
    return Score(name=name, value=value, reason=f"The reply {_shares(value)} the expected answer.")


def _references(case: Case) -> tuple[str, ...]:
    return tuple(reference for reference in case.expected.references if reference.strip())


def _shares(value: float) -> str:
    if value >= 0.999:
        return "has the wording of"
    if value >= 0.6:
        return "shares most of the wording of"
    if value >= 0.3:
        return "shares some of the wording of"
    if value >= 0.05:
        return "shares little of the wording of"
    return "shares next to none of the wording of"


def _folded(text: str, casefold: bool) -> str:
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    return _one_space(text.casefold() if casefold else text)


def _one_space(text: str) -> str:
    if text.isascii() and "  " not in text and text.isprintable():
        return text.strip()  # most texts have no line break and no double space; looking is cheaper than splitting
    return " ".join(text.split())


@lru_cache(maxsize=1024)
def _whole_word(value: str) -> Any:  # Any: a compiled pattern of `regex`, which has no public type
    import regex  # type: ignore[import-untyped]  # has no types; `re` takes the vowel signs of Hindi for word ends

    inside = r"[\p{L}\p{M}\p{N}]"
    return regex.compile(rf"(?<!{inside}){regex.escape(value)}(?!{inside})")
