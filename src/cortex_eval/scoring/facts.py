"""What is easily wrong in a sentence: numbers with units, names, negations and opposites, in English and Hindi."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from decimal import Decimal
from functools import cache, lru_cache
from typing import Any, NamedTuple

from cortex_eval.scoring.quantities import read_quantities, spoken_numbers
from cortex_eval.scoring.quantities_equal import CLOCK, Time, equal_quantities, read_times, without_times
from cortex_eval.scoring.words import STOP_WORDS, words

_DEGREES = frozenset({"degree", "°C", "°F"})
_ONLY = tuple([word] for word in ("only", "just", "merely", "simply"))
"""*Not only* denies nothing."""
REACH = 3
"""So many words a negation takes back."""
_NEGATIONS_TEXT = """
    not no never without cannot neither nor none nobody nothing isn aren wasn weren don doesn didn won wouldn shouldn
    couldn hasn haven hadn mustn avoid lack lacks fails failed unable नहीं न ना मत बिना नही रहित
"""
_NEGATIONS = frozenset(_NEGATIONS_TEXT.split())
_OPPOSITES = tuple(
    tuple(frozenset(unicodedata.normalize("NFC", side).split()) for side in sides)
    for sides in (
        ("increase increases increased increasing raise raises raised rises rose",
         "decrease decreases decreased decreasing lower lowers lowered reduce reduces reduced reducing falls fell"),
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


def numbers_of(texts: Iterable[str]) -> dict[Decimal, set[str | None]]:
    """The numbers of some texts, in digits or in words, each with its units; None: it also stands without one.

    A time of day is the minutes since midnight, with the unit `CLOCK`; its hours and minutes are numbers too.
    """
    units: dict[Decimal, set[str | None]] = {}
    for text in texts:
        for value, unit, _ in read_quantities(text):
            units.setdefault(value, set()).add(unit)
        for value in spoken_numbers(text):
            units.setdefault(value, set()).add(None)
        for time in read_times(text):
            for minutes in time.minutes:
                units.setdefault(Decimal(minutes), set()).add(CLOCK)
    return units


class Denials(NamedTuple):
    """Stems of words."""

    by_claim: set[str]
    by_source: set[str]


def missing_quantities(claim: str, known: Mapping[Decimal, AbstractSet[str | None]]) -> list[str]:
    """The numbers of a claim, as written, that are not known, or only with other units; 4000 mg is known by 4 g.

    A number in words is looked for like one in digits; *one*, which is an article more often, is not.
    """
    # Of `twenty five` the numbers 20, 5 and 25 are read: it is missing only when none of them is there.
    spoken = spoken_numbers(claim) - {Decimal(1)}
    is_unknown = bool(spoken) and not spoken & known.keys()
    return missing_in_digits(claim, known) + ([f"{max(spoken):f}"] if is_unknown else [])


def missing_in_digits(claim: str, known: Mapping[Decimal, AbstractSet[str | None]]) -> list[str]:
    """The same for numbers in digits alone."""
    missing = [each.text for each in read_times(claim) if not _is_time_known(each, known)]
    return missing + [
        text for value, unit, text in read_quantities(without_times(claim)) if not _is_there(value, unit, known)
    ]


def _is_time_known(time: Time, known: Mapping[Decimal, AbstractSet[str | None]]) -> bool:
    """Whether a passage has this time, or, of a full hour, its number: 14:00, where it says *at 14*."""
    if any(CLOCK in known.get(Decimal(each), ()) for each in time.minutes):
        return True
    return time.minutes[0] % 60 == 0 and any(None in known.get(Decimal(each // 60), ()) for each in time.minutes)


def _is_there(value: Decimal, unit: str | None, known: Mapping[Decimal, AbstractSet[str | None]]) -> bool:
    if value in known and _is_known(unit, known[value] - {CLOCK}):
        return True
    return any(each.unit in known.get(each.value, ()) for each in equal_quantities(value, unit))


def _is_known(unit: str | None, units: AbstractSet[str | None]) -> bool:
    """Whether a number with this unit can be meant; one without a unit can be anything, and `350 degrees` be 350 °F."""
    if not units:
        return False
    if unit is None or None in units or unit in units:
        return True
    return "degree" in {unit, *units} and bool(_DEGREES & {unit}) and bool(_DEGREES & units)


def names(text: str) -> list[str]:
    """Words with a capital that do not begin a sentence, and words all in capitals; Latin script only."""
    return [match[0].casefold() for match in _name_pattern().finditer(text)]


def denied_words(text_words: Sequence[str]) -> set[str]:
    """The words that a negation takes back: the three after it, in Hindi the three before it and the one after."""
    denied: set[str] = set()
    for i, word in enumerate(text_words):
        if word in _NEGATIONS and text_words[i + 1 : i + 2] not in _ONLY:
            near = text_words[i + 1 : i + 1 + REACH] if word.isascii() else text_words[max(0, i - REACH) : i + 2]
            denied.update(each for each in near if each not in _NEGATIONS)
    return denied - STOP_WORDS


def denials(claim: Sequence[str], source: Sequence[str]) -> Denials:
    """Words that one denies and the other uses without denying them, by who denies."""
    ours, theirs = ({stem(word) for word in denied_words(each)} for each in (claim, source))
    said, known = ({stem(word) for word in each if word not in STOP_WORDS} for each in (claim, source))
    return Denials(by_claim=ours & (known - theirs), by_source=theirs & (said - ours))


def opposed(claimed: Iterable[str], known: Iterable[str]) -> list[tuple[str, str]]:
    """Words of the claim whose opposite is known, while they themselves are not."""
    ours, theirs = frozenset(claimed), frozenset(known)
    found = []
    for first, second in _OPPOSITES:
        for side, other in ((first, second), (second, first)):
            if ours & side and not ours & other and theirs & other and not theirs & side:
                found.append((min(ours & side), min(theirs & other)))
    return found


def disagree(one: str, other: str) -> bool:
    """Whether one of two texts denies a word of the other, or has its opposite; two negations cancel each other."""
    ours, theirs = words(one), words(other)
    negations = sum(word in _NEGATIONS for word in (*ours, *theirs))
    return bool((negations % 2 and any(denials(ours, theirs))) or opposed(ours, theirs))


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
    for ending, new in (
        ("ies", "y"),
        ("ied", "y"),
        ("ing", ""),
        ("edly", ""),
        ("ed", ""),
        ("ly", ""),
        ("es", ""),
        ("s", ""),
    ):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith(("ss", "us", "is")):
            word = word[: -len(ending)] + new
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiouls":
        word = word[:-1]  # stopped, stop
    return word[:-1] if len(word) > 3 and word[-1] == "e" else word


@cache
def _name_pattern() -> Any:  # Any: a compiled pattern of `regex`, which has no public type
    import regex  # type: ignore[import-untyped]  # has no types; `re` knows no \p{Lu}

    # Behind a word of the same sentence; or in capitals, with or without digits, wherever it stands.
    edge = r"(?<![\p{L}\p{N}])"
    return regex.compile(
        rf"(?<=[\p{{L}}\p{{N}},;)'’-] ?[\"“(]?){edge}\p{{Lu}}[\p{{L}}\p{{M}}\p{{N}}'’]+"
        rf"|{edge}\p{{Lu}}{{2,}}\p{{N}}*(?![\p{{L}}\p{{N}}])"
    )
