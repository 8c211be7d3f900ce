"""Numbers and units of a text, whatever script its digits are in: what a translation must not change."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from decimal import Decimal
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

UNITS: dict[str, str] = {
    unicodedata.normalize("NFC", name): unit
    for unit, names in {
        "%": "% ٪ percent per_cent प्रतिशत फीसदी फ़ीसदी परसेंट",
        "mcg": "mcg µg μg ug microgram micrograms माइक्रोग्राम",
        "mg": "mg mgs milligram milligrams मिलीग्राम मिग्रा मि.ग्रा मि.ग्रा. एमजी",
        "g": "g gm gms gram grams ग्राम",
        "kg": "kg kgs kilo kilos kilogram kilograms किलो किलोग्राम किग्रा कि.ग्रा कि.ग्रा.",
        "ml": "ml millilitre millilitres milliliter milliliters मिली मि.ली मि.ली. मिलीलीटर एमएल",
        "l": "l litre litres liter liters लीटर",
        "mm": "mm millimetre millimetres millimeter millimeters मिमी मि.मी मि.मी. मिलीमीटर",
        "cm": "cm cms centimetre centimetres centimeter centimeters सेमी से.मी से.मी. सेंटीमीटर",
        "m": "m metre metres meter meters मीटर",
        "km": "km kms kilometre kilometres kilometer kilometers किमी कि.मी कि.मी. किलोमीटर",
        "°C": "°c °_c ℃ celsius degree_celsius degrees_celsius °सेल्सियस °_सेल्सियस सेल्सियस डिग्री_सेल्सियस",
        "°F": "°f °_f ℉ fahrenheit degree_fahrenheit degrees_fahrenheit डिग्री_फ़ारेनहाइट डिग्री_फारेनहाइट "
        "फ़ारेनहाइट फारेनहाइट",
        "degree": "° degree degrees डिग्री",
        "mmHg": "mmhg mm_hg एमएमएचजी",
        "IU": "iu आईयू",
        "mEq": "meq",
        "mmol": "mmol",
        "bpm": "bpm",
        "second": "sec secs second seconds सेकंड सेकेंड",
        "minute": "min mins minute minutes मिनट",
        "hour": "h hr hrs hour hours घंटा घंटे घंटों घण्टे",
        "day": "day days दिन दिनों",
        "week": "week weeks सप्ताह सप्ताहों हफ्ता हफ़्ता हफ्ते हफ़्ते हफ्तों हफ़्तों",
        "month": "month months महीना महीने महीनों माह",
        "year": "year years yr yrs साल सालों वर्ष वर्षों बरस",
    }.items()
    for name in (each.replace("_", " ") for each in names.split())
}
"""Unit by the ways to write it, in lower case, English and Hindi."""

_SCALES = {
    unicodedata.normalize("NFC", name): Decimal(10) ** power
    for power, names in {
        2: "hundred सौ",
        3: "thousand हजार हज़ार",
        5: "lakh lakhs लाख",
        6: "million मिलियन",
        7: "crore crores करोड़ करोड",
        9: "billion बिलियन अरब",
        11: "खरब",
        12: "trillion ट्रिलियन",
    }.items()
    for name in names.split()
}
_SEPARATORS = {0x066B: ".", 0x066C: ",", 0x00A0: " ", 0x202F: " "}
"""Those of Arabic digits, and the spaces that do not break."""
NUMBER_WORDS = {
    unicodedata.normalize("NFC", name): number
    for number, names in {
        0: "zero शून्य",
        1: "one once first एक पहला पहली पहले",
        2: "two twice second दो दूसरा दूसरी दूसरे",
        3: "three third तीन तीसरा तीसरी तीसरे",
        4: "four चार",
        5: "five पांच पाँच",
        6: "six छह छः छ",
        7: "seven सात",
        8: "eight आठ",
        9: "nine नौ",
        10: "ten दस",
        11: "eleven ग्यारह",
        12: "twelve बारह",
        13: "thirteen तेरह",
        14: "fourteen चौदह",
        15: "fifteen पंद्रह पन्द्रह",
        16: "sixteen सोलह",
        17: "seventeen सत्रह",
        18: "eighteen अठारह",
        19: "nineteen उन्नीस",
        20: "twenty बीस",
        25: "पच्चीस",
        30: "thirty तीस",
        40: "forty चालीस",
        50: "fifty पचास",
        60: "sixty साठ",
        70: "seventy सत्तर",
        80: "eighty अस्सी",
        90: "ninety नब्बे",
        100: "hundred सौ",
        1000: "thousand हजार हज़ार",
    }.items()
    for name in names.split()
}
"""Numbers by their words, English and Hindi."""


class Quantity(NamedTuple):
    """A number as it stands in a text, with its unit when it has one."""

    value: Decimal
    unit: str | None
    text: str


def read_quantities(text: str) -> list[Quantity]:
    """Every number written in digits, in order.

    Digits of all scripts are the same (५ is 5); 1,000 and 1,00,000 have separators, 2,5 has a decimal comma; a word
    such as *million* or *लाख* behind a number multiplies it.
    """
    text = _plain(text)
    return [_quantity(match) for match in _number_pattern().finditer(text)]


def spoken_numbers(text: str) -> set[Decimal]:
    """Numbers that are written as words, English and Hindi: up to twenty, the tens, hundred, thousand."""
    found = [NUMBER_WORDS[word] for word in _word_pattern().findall(_plain(text)) if word in NUMBER_WORDS]
    # `twenty five` and `two hundred` are two words: what they may come to is added to what they are.
    pairs = pairwise(found)
    compounds = (a + b if b < 10 <= a < 100 else a * b for a, b in pairs)
    return {Decimal(each) for each in (*found, *compounds)}


def _quantity(match: Any) -> Quantity:  # Any: a match of `regex`, which has no public type
    number, fraction = match["number"], match["fraction"]
    if match["european"]:  # 1.234,56
        number = number.replace(".", "").replace(",", ".")
    elif match["grouped"]:  # 1,234 or 12,34,567.8
        number = number.replace(",", "")
    value = Decimal(number.replace(",", "."))
    if fraction:
        value += Decimal(str(unicodedata.numeric(fraction)))
    if match["scale"]:
        value *= _SCALES[match["scale"]]
    if match["sign"]:
        value = -value
    unit = match["unit"]
    return Quantity(value, UNITS[" ".join(unit.split())] if unit else None, match[0].strip())


def _plain(text: str) -> str:
    """NFC, lower case, ASCII digits and separators."""
    if text.isascii():
        return text.lower()
    text = unicodedata.normalize("NFC", text).lower().translate(_SEPARATORS)
    return "".join(str(unicodedata.decimal(char)) if char.isdecimal() else char for char in text)


@cache
def _number_pattern() -> Any:  # Any: a compiled pattern of `regex`, which has no public type
    import regex  # type: ignore[import-untyped]  # has no types; `re` takes the vowel signs of Hindi for word ends

    def any_of(names: Iterable[str]) -> str:
        return "|".join(regex.escape(name).replace(r"\ ", r"\s+") for name in sorted(names, key=len, reverse=True))

    # A date such as 12.05.2020 and a list such as 1,2,3 are numbers of their own, not one with many separators.
    number = r"""(?P<number>
        (?P<grouped>[0-9]{1,3}(?:,[0-9]{2,3})*,[0-9]{3}(?:\.[0-9]+)?(?![.,]?[0-9]))
        |(?P<european>[0-9]{1,3}(?:\.[0-9]{3})+,[0-9]+(?![.,]?[0-9]))
        |(?<![0-9][.,])[0-9]+[.,][0-9]+(?![.,]?[0-9])
        |[0-9]+)"""
    sign = r"(?P<sign>(?<![^\s(\[=<>])[-\u2212](?=[0-9]))?"
    fraction = r"(?P<fraction>[¼½¾⅓⅔⅛])?"
    end = r"(?![\p{L}\p{M}\p{N}])"
    scale = rf"(?:[\s-]?(?P<scale>{any_of(_SCALES)}){end})?"
    unit = rf"(?:[\s-]?(?P<unit>{any_of(UNITS)}){end})?"
    return regex.compile(sign + number + fraction + scale + unit, flags=regex.VERBOSE)


@cache
def _word_pattern() -> Any:  # Any: as above
    import regex

    return regex.compile(r"[\p{L}\p{M}]+")
