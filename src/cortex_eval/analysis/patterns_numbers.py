"""Numbers of an expected answer that a reply lacks; one in words, another unit or another notation is the same."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cache
from typing import Any, NamedTuple
from unicodedata import normalize


class Lacking(NamedTuple):
    """Numbers as they are shown."""

    missing: tuple[str, ...] = ()
    """Of the nearest expected answer, and not in the reply."""
    others: tuple[str, ...] = ()
    """Of the reply, known neither from an expected answer nor from the question, that may stand for the first."""
    has_some: bool = False
    """Whether a number of the expected answer is in the reply."""


class Number(NamedTuple):
    """A number of a text, with what it measures."""

    raw: Decimal
    measure: str | None
    """What it measures; None: there is no unit."""
    value: Decimal
    """In one unit of its measure."""
    text: str

    def is_same(self, other: Number) -> bool:
        """Whether both may be meant for the same; one without a unit can be anything."""
        if self.measure == other.measure:
            return self.value == other.value
        if None in (self.measure, other.measure):
            bare, named = (self, other) if self.measure is None else (other, self)
            if named.measure == _CLOCK:
                return bare.raw * 60 % _HALF_A_DAY == named.value
            return bare.raw == named.raw or (named.measure == "%" and bare.raw * 100 == named.raw)
        return {self.measure, other.measure} in _DEGREES and self.raw == other.raw


_SIZES: Mapping[str, tuple[str, Decimal]] = {
    unit: (measure, Decimal(size))
    for measure, sizes in {
        "mass": {"mcg": "0.000001", "mg": "0.001", "g": "1", "kg": "1000"},
        "volume": {"ml": "0.001", "l": "1"},
        "length": {"mm": "0.001", "cm": "0.01", "m": "1", "km": "1000"},
        "time": {"second": "1", "minute": "60", "hour": "3600", "day": "86400", "week": "604800"},
        "months": {"month": "1", "year": "12"},
    }.items()
    for unit, size in sizes.items()
}
_CLOCK = "clock"
_HALF_A_DAY = 720
"""In minutes: 9 pm and 21:00 are one, and 9 may be either."""
_DEGREES = ({"degree", "°C"}, {"degree", "°F"})
_CLOCK_TIME = re.compile(
    r"(?<![\d:.])(?:(\d{1,2})(?:[:.]([0-5]\d))?\s?[ap]\.?m\b\.?|([01]?\d|2[0-4]):([0-5]\d)(?!\d|:\d))", re.IGNORECASE
)
_TAG = re.compile(r"<[a-zA-Z/!][^<>]{0,200}>")
_NO_NUMBER = re.compile(
    r"^[ \t]*\(?\d{1,2}[.)][ \t]+(?=\S)|(?<=[.;:!?] )\(?\d{1,2}[.)] (?=\S)|"  # of a list
    r"\[\d+(?:\s*[,–-]\s*\d+)*\]|"  # of a source
    r"\b(?:https?://|www\.)\S+|\b[^\W\d_]+-?\d[\w-]*",  # an address; a name such as B12
    re.MULTILINE,
)
_SHORTHAND = re.compile(r"(?<=\d)\s?(k|mn|mio|bn)\b", re.IGNORECASE)
_LONGHAND = {"k": " thousand", "mn": " million", "mio": " million", "bn": " billion"}
_TEXT_WORDS = 40
"""Of an expected answer that is more than a sentence or two."""
_MOST_READ = 200
"""Different numbers of one text: what has more is a table, and not compared."""
_DIGIT = re.compile(r"\d")
_ASCII_WORD = re.compile("[a-z]+")
_ALONE_TEXT = """
    one first second third once एक पहला पहली पहले दूसरा दूसरी दूसरे तीसरा तीसरी तीसरे
"""
_ALONE_NO_NUMBER = frozenset(normalize("NFC", _ALONE_TEXT).split())
"""Words that are articles, units or an order more often than a number."""
_BETWEEN = frozenset({"and"})
_NOT_READ_TEXT = """
    half halves quarter quarters dozen dozens fortnight fortnights couple decade decades century centuries noon midday
    midnight double doubled triple tripled आधा आधी आधे डेढ़ ढाई सवा पौने साढ़े दर्जन दर्जनों दोगुना दुगना तिगुना
"""
NOT_READ = frozenset(normalize("NFC", _NOT_READ_TEXT).split())
"""Words for numbers that are not reckoned: where the reply has one, its numbers tell nothing."""
_MORE_WORDS: Mapping[str, int] = {
    name: number
    for number, names in {
        4: "fourth",
        5: "fifth",
        6: "sixth",
        7: "seventh",
        8: "eighth",
        9: "ninth",
        10: "tenth",
        11: "eleventh",
        12: "twelfth",
        20: "twentieth",
        21: "इक्कीस",
        22: "बाईस बाइस",
        23: "तेईस तेइस",
        24: "चौबीस",
        26: "छब्बीस",
        27: "सत्ताईस सत्ताइस",
        28: "अट्ठाईस अट्ठाइस",
        29: "उनतीस",
        31: "इकतीस",
        32: "बत्तीस",
        35: "पैंतीस",
        36: "छत्तीस",
        45: "पैंतालीस",
        48: "अड़तालीस",
        72: "बहत्तर",
        75: "पचहत्तर",
    }.items()
    for name in names.split()
}
_MONTHS_TEXT = (
    "january jan जनवरी|february feb फरवरी फ़रवरी|march mar मार्च|april apr अप्रैल|may मई|june jun जून|july jul जुलाई|"
    "august aug अगस्त|september sep sept सितंबर सितम्बर|october oct अक्टूबर|november nov नवंबर नवम्बर|"
    "december dec दिसंबर दिसम्बर"
)
_MONTHS = {
    name: i for i, names in enumerate(normalize("NFC", _MONTHS_TEXT).split("|"), start=1) for name in names.split()
}


def lacking_numbers(references: Sequence[str], reply: str, asked: str) -> Lacking:
    """Numbers of an expected answer that the reply lacks, and others that it has; the nearest answer counts.

    In a longer text many a number stands beside the point: there, only one with a unit counts.
    """
    wanted = [stated_numbers(each) for each in references]
    if not all(wanted) or not wanted:  # most have no number, which is soon seen
        return Lacking()
    words = set(plain_words(reply))
    if words & NOT_READ:
        return Lacking()
    said = _distinct(known_numbers(reply))
    if max(map(len, (said, *wanted))) > _MOST_READ:
        return Lacking()
    lacking = [[each for each in some if not is_in(each, said)] for some in wanted]
    missing = min(lacking, key=len)
    is_text = len(references[lacking.index(missing)].split()) > _TEXT_WORDS
    has_some = any(len(each) < len(some) for each, some in zip(lacking, wanted, strict=True))
    if not missing:
        return Lacking(has_some=has_some)
    known = _distinct(number for text in (*references, asked) for number in known_numbers(text))
    if is_text and not any(each.measure is not None for each in missing):
        return Lacking(has_some=has_some)
    missing.sort(key=lambda each: each.measure is None)
    first = missing[0].measure
    others = [
        each
        for each in stated_numbers(reply)
        if not is_in(each, known) and (each.measure == first or (not is_text and None in (each.measure, first)))
    ]
    others.sort(key=lambda each: (each.measure != first, _distance(each, missing[0])))
    return Lacking(tuple(each.text for each in missing), tuple(each.text for each in others), has_some)


def _distance(one: Number, other: Number) -> Decimal:
    """How far apart two numbers are, as a share of the larger."""
    return abs(one.raw - other.raw) / max(abs(one.raw), abs(other.raw), Decimal(1))


def _distinct(numbers: Iterable[Number]) -> list[Number]:
    """Each number once, as it is first written."""
    found: dict[tuple[Decimal, str | None], Number] = {}
    for each in numbers:
        found.setdefault((each.raw, each.measure), each)
    return [*found.values()]


def is_in(number: Number, numbers: Iterable[Number]) -> bool:
    """Whether one of these may be meant for the same."""
    return any(number.is_same(each) for each in numbers)


def stated_numbers(text: str) -> list[Number]:
    """The numbers that a text states: neither marks of lists and sources, nor parts of names and addresses."""
    if not _may_have_number(text):
        return []
    return _distinct(_read(_NO_NUMBER.sub(" ", _without_markup(text))))


def known_numbers(text: str) -> Iterator[Number]:
    """All that may be meant for a number in a text."""
    if not _may_have_number(text) and not _MONTHS.keys() & set(plain_words(text)):
        return
    text = _without_markup(text)
    yield from _read(text)
    for word in plain_words(text):
        if value := _MONTHS.get(word) or _number_words().get(word):
            yield Number(Decimal(value), None, Decimal(value), word)


def _may_have_number(text: str) -> bool:
    return _DIGIT.search(text) is not None or has_number_word(text)


def has_number_word(text: str) -> bool:
    """Whether a number may be written out in it."""
    return not _number_words().keys().isdisjoint(plain_words(text))


def _without_markup(text: str) -> str:
    text = _TAG.sub(" ", text) if "<" in text else text
    if "&" in text:
        from html import unescape  # 2 ms, and seldom needed

        text = unescape(text)
    return text if text.isascii() else normalize("NFC", text)


def _read(text: str) -> list[Number]:
    from cortex_eval.scoring import read_quantities

    found = []
    for match in _CLOCK_TIME.finditer(text):
        hour, minute = (match[1], match[2]) if match[1] else (match[3], match[4])
        minutes = Decimal((int(hour) * 60 + int(minute or 0)) % _HALF_A_DAY)
        found.append(Number(minutes, _CLOCK, minutes, match[0].strip()))
    text = _CLOCK_TIME.sub(" ", text) if found else text
    text = _SHORTHAND.sub(lambda match: _LONGHAND[match[1].lower()], _in_digits(text))
    for value, unit, shown in read_quantities(text):
        measure, size = _SIZES.get(unit or "", (unit, Decimal(1)))
        found.append(Number(value, measure, value * size, shown))
    return found


def _in_digits(text: str) -> str:
    """The text with its number words in digits: *one hundred and five* is 105."""

    def digits(match: Any) -> str:  # Any: a match of `regex`, which has no public type
        values = [_number_words()[word] for word in plain_words(match[0]) if word not in _BETWEEN]
        if len(values) == 1 and match[0].lower() in _ALONE_NO_NUMBER:
            return str(match[0])
        numbers = _composed(values)
        if len(numbers) == 2 and 13 <= numbers[0] <= 20 and 10 <= numbers[1] <= 99:
            return f"{numbers[0]}{numbers[1]}"  # nineteen eighty-four
        return " ".join(map(str, numbers))

    if not has_number_word(text):
        return text
    return str(_run_pattern().sub(digits, text))


def _composed(values: Iterable[int]) -> list[int]:
    """The numbers that some number words make up: 2, 100, 5 is 205; what does not go together stands alone."""
    numbers: list[int] = []
    whole = part = 0
    last: int | None = None
    for value in values:
        if last is not None and not _goes_on(last, value, part):
            numbers.append(whole + part)
            whole = part = 0
        if value > 100:
            whole, part = whole + max(part, 1) * value, 0
        elif value == 100:
            part = max(part, 1) * value
        else:
            part += value
        last = value
    return [*numbers, whole + part]


def _goes_on(last: int, value: int, part: int) -> bool:
    """Whether a number word belongs to those before it: *twenty five* and *two hundred* do, *two three* does not."""
    if value >= 100:
        return last < value and (part > 0 or last > value)
    return last >= 100 or (last >= 20 and last % 10 == 0 and 0 < value < 10)


def plain_words(text: str) -> list[str]:
    """The words of a text in lower case, without digits."""
    if text.isascii():
        return _ASCII_WORD.findall(text.lower())
    return [str(each) for each in _word_pattern().findall(text.lower())]


@cache
def _number_words() -> Mapping[str, int]:
    from cortex_eval.scoring import NUMBER_WORDS

    return {**NUMBER_WORDS, **{normalize("NFC", name): number for name, number in _MORE_WORDS.items()}}


@cache
def _word_pattern() -> Any:  # Any: a compiled pattern of `regex`, which has no public type
    import regex  # type: ignore[import-untyped]  # has no types; `re` breaks Hindi words at their vowel signs

    return regex.compile(r"[\p{L}\p{M}]+")


@cache
def _run_pattern() -> Any:  # Any: as above
    """Number words in a row."""
    import regex

    names = "|".join(sorted(_number_words(), key=len, reverse=True))
    word = rf"(?<![\p{{L}}\p{{M}}])(?:{names})(?![\p{{L}}\p{{M}}])"
    return regex.compile(rf"{word}(?:[\s-]+(?:and\s+)?{word})*", regex.IGNORECASE)
