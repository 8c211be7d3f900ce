"""Names that a translation should keep: found by their capitals, recognised in Hindi letters by their consonants."""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache
from typing import Any

from cortex_eval.scoring.words import words

ALIKE = 0.7
"""From this similarity of their consonants on, two words in different scripts are the same name."""

_DEVANAGARI = {
    "k": "कखक़ख़",
    "j": "गघजझग़ज़",
    "c": "चछ",
    "t": "टठतथ",
    "d": "डढदध",
    "r": "रऱऋृड़ढ़",
    "n": "नणङञमंँऩ",
    "p": "प",
    "f": "फफ़",
    "b": "बभ",
    "v": "व",
    "l": "लळऴ",
    "s": "सशष",
}
_SOUND_OF_LETTER = {letter: sound for sound, letters in _DEVANAGARI.items() for letter in letters if letter != "़"}
_LATIN_RULES = tuple(
    (re.compile(pattern), sound)
    for pattern, sound in (
        (r"sch|sh|ss", "s"),
        (r"ch(?=[lr])|ck", "k"),
        (r"ph", "f"),
        (r"c(?=[eiy])", "s"),
        (r"(?<!s)ch", "C"),
        (r"[cq]", "k"),
        (r"x", "ks"),
        (r"w", "v"),
        (r"[gz]", "j"),
        (r"m", "n"),
        (r"[aeiouyh']", ""),
        (r"C", "c"),
    )
)


def names(text: str) -> list[str]:
    """Words with a capital letter that do not open a sentence, each once: the names and abbreviations of the text."""
    found: list[str] = _name_pattern().findall(text)
    return list(dict.fromkeys(found))


def is_named(name: str, text: str) -> bool:
    """Whether the name is in the text: as it is written, or in another script with the same consonants."""
    found = words(text)
    folded = words(name)
    if all(word in found for word in folded):
        return True
    sound = sounds(name)
    if len(sound) < 2:
        return False  # too short to tell from any other word
    from rapidfuzz.distance import Levenshtein  # imported late: 40 ms

    return any(
        Levenshtein.normalized_similarity(sound, sounds(word)) >= ALIKE for word in set(found) if not word.isascii()
    )


@lru_cache(maxsize=8192)
def sounds(word: str) -> str:
    """The consonants of a Latin or Devanagari word, with those that change between the scripts taken together."""
    word = unicodedata.normalize("NFC", word).lower()
    if word and "\u0900" <= word[0] <= "\u097f":
        word = word.replace("ड\u093c", "र").replace("ढ\u093c", "र")
        found = "".join(_SOUND_OF_LETTER.get(char, "") for char in word)
    else:
        plain = unicodedata.normalize("NFD", word)
        found = "".join(char for char in plain if char.isascii() and char.isalpha())
        for pattern, sound in _LATIN_RULES:
            found = pattern.sub(sound, found)
    return re.sub(r"(.)\1+", r"\1", found)


@cache
def _name_pattern() -> Any:  # Any: a compiled pattern of `regex`, which has no public type
    import regex  # type: ignore[import-untyped]  # has no types; `re` knows no \p{Lu}

    # Not behind the start of the text, of a sentence or of a quotation: any word has a capital there.
    opening = r"""(?<!^|[.!?:।\n]["'“‘(\s]*|["“‘(])"""
    return regex.compile(rf"{opening}(?<![\p{{L}}\p{{N}}'’])\p{{Lu}}[\p{{L}}\p{{M}}]+")
