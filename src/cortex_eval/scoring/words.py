"""Words of a text in any script: what counts as one, and which script it is in."""

from __future__ import annotations

import re
import string
import unicodedata
from functools import cache
from typing import Any

_ASCII_WORDS = str.maketrans({chr(i): chr(i).lower() if chr(i).isalnum() else " " for i in range(128)})
_INDIC = re.compile("[\u0900-\u0dff\u1cd0-\u1cff\ua8e0-\ua8ff\U00011000-\U000114df]")
_JOINERS = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff\u00ad"))
"""Marks of zero width: they sit inside words and do not make them other words."""

_CJK = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002fa1f]")
_SPACELESS = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_ARTICLES = frozenset({"a", "an", "the"})

_STOP_WORDS_TEXT = """
    a about after all also am an and any are as at be because been before but by can could did do does for from
    had has have he her his how i if in into is it its just may me might more most my no not of on or our she should
    so some such than that the their them then there these they this to was we were what when where which who why
    will with would you your
    और का की के को है हैं हो होता होती था थी थे में से पर तो ही भी यह ये वह वे इस उस एक कि जो क्या कैसे कब क्यों कौन
    मुझे मेरा मेरी मेरे मैं आप आपके आपका आपकी हम ने लिए या कर करें रहा रही रहे जा नहीं ना कुछ
"""
STOP_WORDS = frozenset(_STOP_WORDS_TEXT.split())


def words(text: str) -> list[str]:
    """The words in lower case.

    A word is a run of letters, their marks and digits (a Hindi word keeps its vowel signs); Chinese, Japanese, Thai,
    Lao, Khmer and Burmese, which set no spaces, give one word per character. For text whose letters are all ASCII
    these are the words of rouge-score.
    """
    if text.isascii():
        return text.translate(_ASCII_WORDS).split()
    text = unicodedata.normalize("NFC", text).translate(_JOINERS).lower()
    found: list[str] = _word_pattern().findall(text)
    return found


def squad_words(text: str) -> list[str]:
    """The words as SQuAD's evaluation takes them: lower case, punctuation deleted (`don't` is `dont`), no a, an, the.

    Punctuation is that of every script (the danda too), the text is in NFC, and scripts without spaces give one word
    per character.
    """
    if text.isascii():
        text = text.lower().translate(_without_punctuation())
        return [word for word in text.split() if word not in _ARTICLES]
    text = unicodedata.normalize("NFC", text).translate(_JOINERS).lower()
    found = _squad_patterns()[1].findall(_squad_patterns()[0].sub("", text))
    return [word for word in found if word not in _ARTICLES]


def spoken_words(text: str, *, casefold: bool = True, ignore_punctuation: bool = True) -> list[str]:
    """The words of a transcript: what stands between spaces, in NFC; one per character in scripts without spaces.

    Digits of every script are ASCII ones, and curly apostrophes straight. Without punctuation, its marks are word ends;
    an apostrophe inside a word stays (*don't*), and so do a point or comma inside a number (*2.5*).
    """
    text = unicodedata.normalize("NFC", text).translate(_JOINERS).replace("\u2019", "'")
    if not text.isascii():
        text = "".join(str(unicodedata.decimal(char)) if char.isdecimal() else char for char in text)
    text = text.casefold() if casefold else text
    marks, word = _spoken_patterns()
    found: list[str] = word.findall(marks.sub(" ", text) if ignore_punctuation else text)
    return found


def content_words(text: str) -> set[str]:
    """The distinct words that carry meaning: without the commonest English and Hindi ones."""
    return set(words(text)) - STOP_WORDS


def has_indic_script(text: str) -> bool:
    """Whether there is a letter of Devanagari or another Indic script in it."""
    return not text.isascii() and _INDIC.search(text) is not None


def has_cjk_script(text: str) -> bool:
    """Whether there is a Chinese or Japanese letter in it."""
    return not text.isascii() and _CJK.search(text) is not None


def share_of_latin(text: str) -> float | None:
    """The share of letters that are Latin; None when there are no letters."""
    letters = [char for char in text if char.isalpha()]
    if not letters:
        return None
    return sum(char.isascii() or _is_latin(char) for char in letters) / len(letters)


@cache
def _is_latin(char: str) -> bool:
    return unicodedata.name(char, "").startswith("LATIN")


@cache
def _word_pattern() -> Any:  # Any: a compiled pattern of `regex`, which has no public type
    import regex  # type: ignore[import-untyped]  # has no types; `re` knows no \p{M} and breaks Hindi words at their vowel signs

    return regex.compile(
        rf"(?V1)[[{_SPACELESS}]&&\p{{L}}]\p{{M}}*|[[\p{{L}}\p{{M}}\p{{N}}]--[[{_SPACELESS}]&&\p{{L}}]]+"
    )


@cache
def _without_punctuation() -> dict[int, None]:
    return dict.fromkeys(map(ord, string.punctuation))


@cache
def _spoken_patterns() -> tuple[Any, Any]:  # Any: compiled patterns of `regex`, which has no public type
    """The marks that do not count, and what is a word of the rest."""
    import regex  # as above

    inside_word = r"(?<=[\p{L}\p{M}\p{N}])'(?=[\p{L}\p{M}\p{N}])"
    inside_number = r"(?<=\p{N})[.,](?=\p{N})"
    return regex.compile(rf"(?!{inside_word}|{inside_number})[\p{{P}}]"), _squad_patterns()[1]


@cache
def _squad_patterns() -> tuple[Any, Any]:  # Any: compiled patterns of `regex`, which has no public type
    """What is deleted, and what is a word of the rest."""
    import regex  # as above

    deleted = rf"(?V1)[\p{{P}}{regex.escape(string.punctuation)}]"
    word = rf"(?V1)[[{_SPACELESS}]&&\p{{L}}]\p{{M}}*|[[\S]--[[{_SPACELESS}]&&\p{{L}}]]+"
    return regex.compile(deleted), regex.compile(word)
