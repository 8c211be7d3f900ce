"""What in a sentence is easily wrong: numbers with their units, names, negations and opposites, in English and Hindi."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Any, NamedTuple

from cortex_eval.scoring.words import words

_NUMBER_WORDS = {
    word: number
    for number, line in enumerate(
        (
            "zero शून्य",
            "",  # `one` and `एक` are articles more often than numbers
            "two twice दो",
            "three thrice तीन",
            "four चार",
            "five पांच पाँच",
            "six छह छः",
            "seven सात",
            "eight आठ",
            "nine नौ",
            "ten दस",
            "eleven ग्यारह",
            "twelve बारह",
        )
    )
    for word in line.split()
}
_UNITS = {
    word: unit
    for unit, line in {
        "mcg": "mcg µg μg microgram micrograms माइक्रोग्राम",
        "mg": "mg milligram milligrams मिलीग्राम मिग्रा",
        "g": "g gm gms gram grams ग्राम",
        "kg": "kg kgs kilo kilos kilogram kilograms किलो किलोग्राम किग्रा",
        "ml": "ml milliliter milliliters millilitre millilitres मिलीलीटर मिली",
        "l": "l liter liters litre litres लीटर",
        "mm": "mm millimeter millimeters millimetre millimetres",
        "cm": "cm centimeter centimeters centimetre centimetres सेंटीमीटर सेमी",
        "km": "km kilometer kilometers kilometre kilometres किलोमीटर किमी",
        "mile": "mile miles मील",
        "second": "second seconds sec secs सेकंड",
        "minute": "minute minutes min mins मिनट",
        "hour": "hour hours hr hrs घंटे घंटा घंटों",
        "day": "day days दिन दिनों",
        "week": "week weeks हफ्ते हफ़्ते सप्ताह हफ्तों",
        "month": "month months महीने महीना माह महीनों",
        "year": "year years वर्ष साल वर्षों सालों",
        "%": "% percent प्रतिशत फीसदी",
        "usd": "dollar dollars usd",
        "inr": "rupee rupees inr रुपये रुपए",
    }.items()
    for word in line.split()
}
_NEGATIONS = frozenset(
    """
    not no never without cannot neither nor none nobody nothing isn aren wasn weren don doesn didn won wouldn shouldn
    couldn can't hasn haven hadn mustn avoid lack lacks fails failed unable नहीं न ना मत बिना नही रहित
    """.split()
)
_OPPOSITES = tuple(
    (frozenset(first.split()), frozenset(second.split()))
    for first, second in (
        ("increase increases increased increasing raise raises raised rises rose", "decrease decreases decreased decreasing lower lowers lowered reduce reduces reduced reducing falls fell"),
        ("high higher highest", "low lower lowest"),
        ("more most", "less least fewer fewest"),
        ("before", "after"),
        ("safe", "unsafe dangerous harmful"),
        ("hot warm heating", "cold cool cooling"),
        ("improve improves improved improving", "worsen worsens worsened worsening aggravate aggravates aggravated"),
        ("male man men he his father son husband boy", "female woman women she her mother daughter wife girl"),
        ("first", "last second third"),
        ("left", "right"),
        ("north northern", "south southern"),
        ("east eastern", "west western"),
        ("larger largest bigger biggest", "smaller smallest"),
        ("older oldest", "younger youngest"),
        ("win wins won", "lose loses lost"),
        ("true", "false"),
        ("always", "never"),
        ("morning सुबह", "evening night शाम रात"),
        ("बढ़ाता बढ़ाती बढ़ाते बढ़ता बढ़ती बढ़ते बढ़ा बढ़ाए", "घटाता घटाती घटाते घटता घटती घटते घटा कम"),
        ("अधिक ज्यादा ज़्यादा", "कम"),
        ("पहले", "बाद"),
        ("गर्म गरम उष्ण", "ठंडा ठंडी ठंडे शीत शीतल"),
        ("सुरक्षित", "असुरक्षित खतरनाक हानिकारक"),
    )
)  # fmt: skip


class Quantity(NamedTuple):
    """A number, and the unit that it counts where one is known."""

    value: str
    unit: str


def quantities(text: str) -> list[Quantity]:
    """The numbers of a text in one spelling (1,000 and 1000, २.५ and 2.5), with their units."""
    found = []
    for match in _number_pattern().finditer(unicodedata.normalize("NFC", text)):
        value = _one_spelling(match["number"]) if match["number"] else str(_NUMBER_WORDS[match["word"].casefold()])
        unit = (match["unit"] or "").casefold().strip("-. ")
        found.append(Quantity(value, _UNITS.get(unit, "")))
    return found


def missing_quantities(claimed: Iterable[Quantity], known: Iterable[Quantity]) -> list[Quantity]:
    """Those of the claimed that are not known, or are known only of another unit."""
    units: dict[str, set[str]] = {}
    for value, unit in known:
        units.setdefault(value, set()).add(unit)
    return [
        each
        for each in claimed
        if each.value not in units or (each.unit and "" not in units[each.value] and each.unit not in units[each.value])
    ]


def names(text: str) -> list[str]:
    """Words with a capital that do not begin a sentence, and words all in capitals; Latin script only."""
    return [match[0].casefold() for match in _name_pattern().finditer(text)]


def denies(text_words: Iterable[str]) -> bool:
    """Whether an odd number of negations is among the words."""
    return sum(word in _NEGATIONS for word in text_words) % 2 == 1


def opposed(claimed: Iterable[str], known: Iterable[str]) -> list[tuple[str, str]]:
    """Words of the claim whose opposite is known, while they themselves are not."""
    ours, theirs = frozenset(claimed), frozenset(known)
    found = []
    for first, second in _OPPOSITES:
        for side, other in ((first, second), (second, first)):
            if ours & side and not ours & other and theirs & other and not theirs & side:
                found.append((min(ours & side), min(theirs & other)))
    return found


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """The word without its commonest endings: a plural and its singular are one. For comparing, not for reading."""
    if word.isascii():
        return _stem_english(word)
    if "\u0900" <= word[0] <= "\u097f":
        # The endings of the light stemmer of Ramanathan and Rao 2003, cut to vowel signs and the plural forms.
        shorter = re.sub("(?:ियों|ाओं|ियाँ|ियां|ों|ें|ीं|[ािीुूेैोौंँ])$", "", word)
        return shorter if len(shorter) >= 2 else word
    return word


def stems(text: str) -> list[str]:
    """The stems of the words, in order."""
    return [stem(word) for word in words(text)]


def _stem_english(word: str) -> str:
    if len(word) <= 3 or word[-1].isdigit():
        return word
    for ending, new in (("ies", "y"), ("ied", "y"), ("ing", ""), ("edly", ""), ("ed", ""), ("ly", ""), ("es", ""), ("s", "")):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith(("ss", "us", "is")):
            word = word[: -len(ending)] + new
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiouls":
        word = word[:-1]  # stopped, stop
    return word[:-1] if len(word) > 3 and word[-1] == "e" else word


def _one_spelling(number: str) -> str:
    digits = "".join(str(unicodedata.digit(char)) if char.isdigit() else char for char in number)
    digits = digits.replace(",", "")
    if "." in digits:
        digits = digits.rstrip("0").rstrip(".")
    return digits.lstrip("0") or "0"


@cache
def _number_pattern() -> Any:  # Any: a compiled pattern of `regex`, which has no public type
    import regex  # type: ignore[import-untyped]  # has no types; `re` knows no \p{Nd}

    spelled = "|".join(sorted(_NUMBER_WORDS, key=len, reverse=True))
    units = "|".join(regex.escape(unit) for unit in sorted(_UNITS, key=len, reverse=True))
    edge = r"[\p{L}\p{M}\p{N}]"
    return regex.compile(
        rf"(?<!{edge})(?:(?P<number>\p{{Nd}}+(?:,\p{{Nd}}{{2,3}})*(?:\.\p{{Nd}}+)?)|(?P<word>{spelled})(?!{edge}))"
        rf"(?:[\s-]?(?P<unit>{units})(?!{edge}))?",
        regex.IGNORECASE,
    )


@cache
def _name_pattern() -> Any:  # Any: a compiled pattern of `regex`, which has no public type
    import regex  # type: ignore[import-untyped]  # has no types; `re` knows no \p{Lu}

    return regex.compile(r"(?<=[\p{L}\p{N},;)'’-] ?[\"“(]?)(?<!\p{L})\p{Lu}[\p{L}\p{M}'’]+|(?<!\p{L})\p{Lu}{2,}(?!\p{L})")
