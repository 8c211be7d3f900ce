"""References to classical texts of Ayurveda, by text, section, chapter and verse, in English and Hindi."""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import Any, Literal, NamedTuple

Precision = Literal["verse", "chapter", "section", "text", "impossible"]

# How many chapters each section has; a chapter beyond that is made up.
CHAPTERS: dict[str, dict[str, int]] = {
    "Charaka Samhita": {
        "Sutrasthana": 30,
        "Nidanasthana": 8,
        "Vimanasthana": 8,
        "Sharirasthana": 8,
        "Indriyasthana": 12,
        "Chikitsasthana": 30,
        "Kalpasthana": 12,
        "Siddhisthana": 12,
    },
    "Sushruta Samhita": {
        "Sutrasthana": 46,
        "Nidanasthana": 16,
        "Sharirasthana": 10,
        "Chikitsasthana": 40,
        "Kalpasthana": 8,
        "Uttarasthana": 66,
    },
    "Ashtanga Hridaya": {
        "Sutrasthana": 30,
        "Sharirasthana": 6,
        "Nidanasthana": 16,
        "Chikitsasthana": 22,
        "Kalpasthana": 6,
        "Uttarasthana": 40,
    },
}
_TEXTS = {
    "Charaka Samhita": r"ch?arak(?:a)?(?:'s)?(?:[ -]?sa[mn]hit[ao])?\b|चरक(?: ?संहिता)?",
    "Sushruta Samhita": r"sh?ush?rut(?:a)?(?:'s)?(?:[ -]?sa[mn]hit[ao])?\b|सुश्रुत(?: ?संहिता)?",
    "Ashtanga Hridaya": r"ash?tanga[ -]?h(?:ri|ru)day\w*|अष्टांग ?हृदय",
    "Ashtanga Sangraha": r"ash?tanga[ -]?sa[nm]graha\b|अष्टांग ?संग्रह",
    "Bhavaprakasha": r"bhava[ -]?prakash?a?\b|भाव ?प्रकाश",
    "Madhava Nidana": r"madhava[ -]?nidana?m?\b|माधव ?निदान",
    "Sharangadhara Samhita": r"sh?ara?n?gadhara?(?:[ -]?samhita)?\b|शा(?:र्ङ्ग|रंग)धर(?: ?संहिता)?",
    "Kashyapa Samhita": r"kash?yapa[ -]?samhita\b|काश्यप ?संहिता",
    "Bhela Samhita": r"bhela[ -]?samhita\b|भेल ?संहिता",
}
_SHORT_TEXTS = {  # only with a section and a place behind them
    "Charaka Samhita": r"ch?a?\. ?s(?:am)?\.|ch?a\.|CS|च\. ?(?:सं\.)?",
    "Sushruta Samhita": r"su\. ?s(?:am)?\.|SS|सु\. ?(?:सं\.)?",
    "Ashtanga Hridaya": r"A\. ?H\.?|AHS?|अ\. ?हृ\.",
}
_SECTIONS = {
    "Sutrasthana": r"sutra[ -]?sth?ana?m?\b|सूत्र ?स्थान",
    "Nidanasthana": r"nidana[ -]?sth?ana?m?\b|निदान ?स्थान",
    "Vimanasthana": r"vimana[ -]?sth?ana?m?\b|विमान ?स्थान",
    "Sharirasthana": r"sh?arira[ -]?sth?ana?m?\b|शारीर ?स्थान",
    "Indriyasthana": r"indriya[ -]?sth?ana?m?\b|इन्द्रिय ?स्थान|इंद्रिय ?स्थान",
    "Chikitsasthana": r"ch?ikitsa[ -]?sth?ana?m?\b|चिकित्सा ?स्थान",
    "Kalpasthana": r"kalpa[ -]?(?:siddhi[ -]?)?sth?ana?m?\b|कल्प ?स्थान",
    "Siddhisthana": r"siddhi[ -]?sth?ana?m?\b|सिद्धि ?स्थान",
    "Uttarasthana": r"uttara[ -]?(?:sth?ana?m?|tantra)\b|उत्तर ?(?:स्थान|तंत्र|तन्त्र)",
}
_SHORT_SECTIONS = {  # only behind a text, with a place behind them
    "Sutrasthana": r"su(?:tra)?\b\.?(?: ?sth?a?\.)?|सू\.",
    "Nidanasthana": r"ni(?:dana)?\b\.?(?: ?sth?a?\.)?|नि\.",
    "Vimanasthana": r"vi(?:mana)?\b\.?(?: ?sth?a?\.)?|वि\.",
    "Sharirasthana": r"sh?a(?:rira)?\b\.?(?: ?sth?a?\.)?|शा\.",
    "Indriyasthana": r"in(?:driya)?\b\.?(?: ?sth?a?\.)?|इ\.",
    "Chikitsasthana": r"ch?i(?:kitsa)?\b\.?(?: ?sth?a?\.)?|चि\.",
    "Kalpasthana": r"ka(?:lpa)?\b\.?(?: ?sth?a?\.)?|क\.",
    "Siddhisthana": r"si(?:ddhi)?\b\.?(?: ?sth?a?\.)?|सि\.",
    "Uttarasthana": r"utt?(?:ara)?\b\.?(?: ?sth?a?\.)?|उ\.",
}
_NUMBER = "[0-9०-९]{1,3}"


class Citation(NamedTuple):
    """One reference to a text."""

    words: str
    text: str
    """The name of the text; empty when only a section is named."""
    section: str
    chapter: int | None
    verses: str
    """Such as 41 or 41-43, in ASCII digits; empty when none is named."""
    precision: Precision
    start: int


def find_citations(text: str) -> list[Citation]:
    """Every reference in a text, in order; one with a chapter that its section does not have is *impossible*."""
    found = []
    for match in _pattern().finditer(_unaccented(text)):
        parts = {name.rstrip("0123456789"): words for name, words in match.groupdict().items() if words}
        book = _which(_TEXTS, parts.get("book")) or _which(_SHORT_TEXTS, parts.get("short"))
        section = _which(_SECTIONS, parts.get("section")) or _which(_SHORT_SECTIONS, parts.get("part"))
        chapter = int(_ascii(parts["chapter"])) if "chapter" in parts else None
        verses = "".join(_ascii(parts.get("verses", "")).replace("–", "-").replace("—", "-").split())
        words = text[match.start() : match.end()].strip(" ,;(\n")
        precision = _precision(book, section, chapter, verses)
        found.append(Citation(words, book, section, chapter, verses, precision, match.start()))
    return found


def _precision(book: str, section: str, chapter: int | None, verses: str) -> Precision:
    known = CHAPTERS.get(book, {})
    if known and section and section not in known:
        return "impossible"
    if chapter is not None and (chapter == 0 or (section in known and chapter > known[section])):
        return "impossible"
    if chapter is not None:
        return "verse" if verses else "chapter"
    return "section" if section else "text"


def _which(names: dict[str, str], words: str | None) -> str:
    if not words:
        return ""
    return next((name for name in names if _compiled(names[name]).fullmatch(words)), "")


def _ascii(text: str) -> str:
    return "".join(str(unicodedata.decimal(char)) if char.isdecimal() else char for char in text)


def _unaccented(text: str) -> str:
    """Sūtrasthāna as Sutrasthana, character by character, so that places stay what they are."""
    if text.isascii():
        return text
    return "".join(
        unicodedata.normalize("NFD", char)[0] if "LATIN" in unicodedata.name(char, "") else char for char in text
    )


@cache
def _compiled(source: str) -> Any:  # Any: re2 is untyped
    import re2

    options = re2.Options()
    options.case_sensitive = False
    return re2.compile(source, options)


@cache
def _pattern() -> Any:  # Any: re2 is untyped
    """A text with what may follow it, an abbreviated text with its place, or a section with its place."""
    books, sections = "|".join(_TEXTS.values()), "|".join(_SECTIONS.values())
    shorts, parts = "|".join(_SHORT_TEXTS.values()), "|".join(_SHORT_SECTIONS.values())
    gap = r"[,.;:\s(-]*"
    verse_word = r"(?:verses?|vv?\.|sh?lokas?|श्लोक)"

    def place(number: int, *, is_sure: bool = False) -> str:
        """Chapter and verse; after a bare text (`is_sure`) only with a word or a mark that says so."""
        verses = rf"(?P<verses{number}>{_NUMBER}(?: ?[-–—] ?{_NUMBER})?)"
        behind = rf"(?:[.:/]\s?|,?\s*{verse_word}\s*){verses}"
        named = rf"(?:chapters?|ch\.?|adhyaya|अध्याय)[\s:]*(?P<chapter{number}>{_NUMBER})(?:{behind})?"
        plain = rf"(?P<chapter{number}0>{_NUMBER})(?:{behind.replace(f'verses{number}', f'verses{number}0')})"
        return rf"{gap}(?:{named}|{plain}{'' if is_sure else '?'})"

    behind_book = (
        rf"{gap}(?P<section1>{sections})(?:{place(1)})?|{gap}(?P<part1>{parts}){place(2)}|{place(3, is_sure=True)}"
    )
    book = rf"(?P<book>{books})(?:{behind_book})?"
    short = rf"(?P<short>{shorts}){gap}(?:(?P<section2>{sections})|(?P<part2>{parts})){place(4)}"
    lone = rf"(?P<section3>{sections}){place(5)}"
    return _compiled(rf"(?:^|[^\pL\pM])(?:{book}|{short}|{lone})")
