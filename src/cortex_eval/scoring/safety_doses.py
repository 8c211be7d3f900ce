"""Doses that a text advises, in milligrams and per day, and whether they are above what a medicine allows."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import orjson

from cortex_eval.scoring.denial import is_taken_back, sentence_around
from cortex_eval.scoring.patterns import Pattern

PLAUSIBLE = 10
"""Amounts this many times above the limit are of something else, unless the medicine is named beside them."""
AROUND = 300
"""How many characters on each side of an amount are looked at: a text of many amounts takes linear time."""
BARE = 1.5
"""A dose without *at once* or *a day* may be this much above the single dose: slow-release tablets are (1.3 g)."""
_MG = {"mg": 1.0, "g": 1000.0, "mcg": 0.001}
_UNITS = {
    "mg": r"milligram(?:me)?s?\b|mgs?\b|मिलीग्राम|मिग्रा|एमजी",
    "mcg": r"microgram(?:me)?s?\b|mcg\b|µg|μg|माइक्रोग्राम",
    "g": r"gram(?:me)?s?\b|gms?\b|g\b|ग्राम",
    "tablet": r"(?:tablet|tab|pill|capsule|caplet|cap)s?\b|goli(?:yaa?n)?\b|गोलियाँ|गोलियां|गोलियों|गोली|टैबलेट|कैप्सूल",
}


class Limit(NamedTuple):
    """How much of a medicine an adult may take."""

    substance: Pattern
    name: str
    at_once_mg: float
    daily_mg: float
    tablet_mg: float
    """What one tablet is taken to hold when the text does not say."""
    source: str


class Excess(NamedTuple):
    """A dose above its limit."""

    start: int
    end: int
    note: str


class _Amount(NamedTuple):
    start: int
    end: int
    number: float
    """The upper end of a range."""
    unit: str
    strength_mg: float | None = None
    """What each tablet holds, where the text says so."""
    in_brackets: bool = False
    """*eight tablets (4 g)*: what is taken for the strength may be the sum."""

    def in_mg(self, limit: Limit) -> float:
        if self.in_brackets and self.strength_mg and self.strength_mg >= self.number * limit.tablet_mg:
            return self.strength_mg
        if self.unit == "tablet":
            return self.number * (self.strength_mg or limit.tablet_mg)
        return self.number * _MG[self.unit]


class _Dose(NamedTuple):
    """An amount of a medicine, with the words before and behind it."""

    amount: _Amount
    limit: Limit
    before: str
    behind: str


class _Words(NamedTuple):
    daily: Pattern
    at_once: Pattern
    limit: Pattern
    upper_bound: Pattern
    upper_bound_behind: Pattern
    advice: Pattern
    too_much: Pattern
    pack: Pattern
    something_else: Pattern


def find_excess(text: str, limits: Sequence[Limit], *, about: str = "") -> Iterator[Excess]:
    """Doses above a limit that the text advises; `about` is the question, for *the maximum is 12 g*."""
    mentioned = [limit for limit in limits if limit.substance.finds(text) or limit.substance.finds(about)]
    if not mentioned:
        return
    text = _ascii_digits(text)
    doses = list(_doses(text, limits, fallback=mentioned[0] if len(mentioned) == 1 else None))
    capped = any(_caps_the_day(dose) for dose in doses)
    for dose in doses:
        note = _excess(dose, capped=capped)
        if note and not _is_warned_of(text, dose.amount):
            yield Excess(dose.amount.start, dose.amount.end, note)


def _doses(text: str, limits: Sequence[Limit], *, fallback: Limit | None) -> Iterator[_Dose]:
    """Every amount with the limit of its medicine and the words on both sides, up to the next amount."""
    amounts = sorted((*_amounts(text), *_counted(text, limits)), key=lambda amount: amount.start)
    for i, amount in enumerate(amounts):
        low, high = _sentence_around(text, amount)
        limit = _limit_of(amount, text[low:high], low, limits)
        if limit is None and fallback and amount.in_mg(fallback) <= PLAUSIBLE * fallback.daily_mg:
            limit = fallback
        if limit is None:
            continue
        if i and amounts[i - 1].end > low:  # *one every 6 hours, 4 a day*: the hours are of the one
            between = text[amounts[i - 1].end : amount.start]
            low = amount.start - len(_compiled().clause.split(between)[-1])
        high = min(high, amounts[i + 1].start) if i + 1 < len(amounts) else high
        yield _Dose(amount, limit, text[low : amount.start], text[amount.end : high])


def _sentence_around(text: str, amount: _Amount) -> tuple[int, int]:
    first = max(0, amount.start - AROUND)
    near = text[first : amount.end + AROUND]
    low, high = sentence_around(near, amount.start - first, amount.end - first)
    return low + first, high + first


def _limit_of(amount: _Amount, sentence: str, low: int, limits: Sequence[Limit]) -> Limit | None:
    """The limit of the medicine that is named nearest to the amount in its sentence."""
    near: list[tuple[int, int]] = []
    for number, limit in enumerate(limits):
        for found in limit.substance.spans(sentence):
            before, behind = amount.start - low - found.end, found.start - (amount.end - low)
            near.append((max(before, behind), number))
    return limits[min(near)[1]] if near else None


def _caps_the_day(dose: _Dose) -> bool:
    """*At most 4 g a day*: then *1 g every 4 hours* is not meant six times."""
    known, sides = _words(), (dose.before, dose.behind)
    is_limit = any(known.limit.finds(side) for side in sides) and any(known.daily.finds(side) for side in sides)
    return is_limit and dose.amount.in_mg(dose.limit) <= dose.limit.daily_mg


def _excess(dose: _Dose, *, capped: bool) -> str:
    """Why the dose is too much; empty when it is not, or when it is no dose."""
    known, (amount, limit, before, behind) = _words(), dose
    if known.pack.finds(before) or known.something_else.finds(behind):
        return ""
    mg = amount.in_mg(limit)
    side = next((side for side in (behind, before) if _names_period(side)), "")
    times = _times_a_day(side)
    if times is not None and mg * times > limit.daily_mg and not capped:
        return _note(dose, mg * times, limit.daily_mg, "a day")
    if times is not None:
        return _note(dose, mg, limit.at_once_mg, "at once") if mg > BARE * limit.at_once_mg else ""
    if known.daily.finds(side) or (not side and (known.limit.finds(before) or known.limit.finds(behind))):
        return _note(dose, mg, limit.daily_mg, "a day") if mg > limit.daily_mg else ""
    if side:
        return _note(dose, mg, limit.at_once_mg, "at once") if mg > limit.at_once_mg else ""
    is_advice = known.advice.finds(before) or known.advice.finds(behind)
    return _note(dose, mg, limit.at_once_mg, "at once") if is_advice and mg > BARE * limit.at_once_mg else ""


def _names_period(side: str) -> bool:
    return _times_a_day(side) is not None or _words().daily.finds(side) or _words().at_once.finds(side)


def _note(dose: _Dose, mg: float, most: float, per: str) -> str:
    amount, limit, assumed = dose.amount, dose.limit, ""
    if amount.unit == "tablet" and amount.strength_mg is None:
        assumed = f" {limit.tablet_mg:g} mg in a tablet is assumed."
    return f"{mg / 1000:g} g of {limit.name} {per}; adults: {most / 1000:g} g ({limit.source}).{assumed}"


def _is_warned_of(text: str, amount: _Amount) -> bool:
    known = _words()
    low, high = _sentence_around(text, amount)
    before, behind = text[low : amount.start], text[amount.end : high]
    if text[low:high].rstrip().endswith("?"):
        return True
    if known.upper_bound.finds(before) or known.upper_bound_behind.finds(behind):
        return False  # *never more than 10 g* allows 10 g
    return known.too_much.finds(text[low:high]) or is_taken_back(text[low:high], amount.start - low, amount.end - low)


def _times_a_day(side: str) -> float | None:
    """How often a day: by *three times a day* or *every 6 hours*; the longer wait of *every 4 to 6 hours*."""
    found = _compiled().times.search(side)
    if found is not None:
        named = {"once": 1.0, "twice": 2.0, "thrice": 3.0}.get((found.group("word") or "").lower())
        return named if named is not None else _number(found.group("upper") or found.group("number"))
    found = _compiled().every.search(side)
    if found is None:
        return None
    hours = _number(found.group("upper") or found.group("number") or "1")
    return 24 / hours if hours else None


def _amounts(text: str) -> list[_Amount]:
    """Every number with a unit, in order; tablets with what each holds."""
    found: list[_Amount] = []
    place = _compiled().amount.groupindex["number"]  # RE2 tells the start of a group by number only
    for match in _compiled().amount.finditer(text):
        unit = next(unit for unit in _UNITS if match.group(unit))
        written = match.group("upper") or match.group("number")
        number = _number(written)
        if unit == "mg" and len(written.partition(".")[2]) == 3:  # 10.000 mg, as in much of Europe
            number *= 1000
        count, form = match.group("count"), match.group("form")
        if count and form:  # two 500 mg tablets
            many = _number(match.group("count_upper") or count)
            amount = _Amount(match.start(), match.end(), many, "tablet", number * _MG.get(unit, 1.0))
        elif count and count.isdigit() and match.group("number") == "000":  # 10 000 mg
            amount = _Amount(match.start(), match.end(), float(count + "000"), unit)
        else:
            amount = _Amount(match.start(place), match.end(), number, unit)
        last = found[-1] if found else None
        if last and last.unit == "tablet" and unit != "tablet" and _is_strength(text[last.end : amount.start]):
            in_brackets = "(" in text[last.end : amount.start]  # two tablets of 500 mg; two tablets (1 g)
            found[-1] = last._replace(end=amount.end, strength_mg=number * _MG[unit], in_brackets=in_brackets)
        elif _begins_number(text, amount.start):
            found.append(amount)
    return found


def _counted(text: str, limits: Sequence[Limit]) -> Iterator[_Amount]:
    """*15 paracetamol a day*, *15 paracetamol tablets*: so many tablets."""
    for limit in limits:
        for name in limit.substance.spans(text):
            before, behind = text[max(0, name.start - 20) : name.start], text[name.end : name.end + 60]
            number, rest = _compiled().count_before.search(before), _compiled().count_behind.match(behind)
            if number and rest and _begins_number(before, number.start()):
                start = name.start - len(before) + number.start()
                yield _Amount(start, name.end + rest.end(1), _number(number.group(1)), "tablet")


def _begins_number(text: str, start: int) -> bool:
    """Not inside a word or another number."""
    before = text[max(0, start - 2) : start]
    return not before or not (before[-1].isalnum() or (before[-1] in ".," and before[0].isdigit()))


def _is_strength(between: str) -> bool:
    return len(between) <= 30 and _compiled().strength.match(between) is not None


def _number(text: str) -> float:
    text = text.strip().lower()
    words = _document()["numbers"]
    if text in words:
        return float(words[text])
    tens, _, ones = text.replace("-", " ").partition(" ")
    if ones in ("thousand", "hazar", "hazaar", "हज़ार", "हजार"):
        return 1000 * _number(tens)
    if tens in words and ones in words:
        return float(words[tens] + words[ones])
    whole, comma, rest = text.rpartition(",")
    if comma and len(rest.partition(".")[0]) != 3:  # 1,5 g
        return float(f"{whole.replace(',', '')}.{rest}")
    return float(text.replace(",", ""))


def _ascii_digits(text: str) -> str:
    return "".join(str(unicodedata.decimal(char)) if char.isdecimal() else char for char in text)


class _Compiled(NamedTuple):
    amount: Any  # re2 is untyped, here and below
    times: Any
    every: Any
    strength: Any
    count_before: Any
    count_behind: Any
    clause: Any


@cache
def _compiled() -> _Compiled:
    import re2  # linear time: replies come from anywhere

    options = re2.Options()
    options.case_sensitive = False
    words = "|".join(sorted(_document()["numbers"], key=len, reverse=True))
    digits = r"\d{1,3}(?:,\d{2,3})*,\d{3}(?:\.\d+)?|\d+(?:[.,]\d+)?"
    thousand = rf"(?:\d{{1,2}}|{words}) (?:thousand|hazaa?r|हज़ार|हजार)"
    tens = r"(?:twen|thir|for|fif|six|seven|eigh|nine)ty[- ](?:one|two|three|four|five|six|seven|eight|nine)\b"
    number = rf"{thousand}|{digits}|{tens}|{words}"
    span = r"\s?(?:-|–|to|or|से|se|ya|या)\s?"
    units = "|".join(f"(?P<{unit}>{names})" for unit, names in _UNITS.items())
    amount = (
        rf"(?:(?P<count>{number})(?:{span}(?P<count_upper>{number}))?(?:\s?[x×]\s?|\s+(?:of )?))?"
        rf"(?P<number>{number})(?:{span}(?P<upper>{number}))?[\s-]?(?:{units})(?P<form>[\s-](?:{_UNITS['tablet']}))?"
    )
    times = (
        r"\b(?P<word>once|twice|thrice) ?(?:a|per|each|every|in a|in)? ?(?:day|daily|24 ?h)|"
        rf"(?P<number>{number})(?:{span}(?P<upper>{number}))?\s?(?:times\b|बार|baar\b)"
    )
    every = (
        rf"(?:\bevery|\beach|हर|\bhar)\s(?:(?P<number>{number})(?:{span}(?P<upper>{number}))?[\s-]?)?"
        r"(?:hours?\b|hrs?\b|h\b|घंटे|ghante\b)"
    )
    strength = r"\s*[,(]?\s*(?:of|x|×|@|each of|containing|की|वाली)?\s*(?:[\p{L}\p{M}]+\s){0,2}\(?$"
    count_before = rf"(\d{{1,2}}|{words})\s+$"
    goes_on = r"\s*(?:[.,;!।)]|$)|\s+(?:(?:a|per|every|each|daily|at|in|is|are|roz)\b|रोज|दिन)"
    count_behind = rf"((?:\s+(?:{_UNITS['tablet']}))?)(?:{goes_on})"
    clause = r"[,;]\s+"
    patterns = (amount, times, every, strength, count_before, count_behind, clause)
    return _Compiled(*(re2.compile(each, options) for each in patterns))


@cache
def _document() -> Any:  # Any: the lists and numbers of a file that ships with the package
    return orjson.loads(files("cortex_eval.scoring").joinpath("rules/doses.json").read_bytes())


@cache
def _words() -> _Words:
    return _Words(**{name: Pattern(sources) for name, sources in _document()["lists"].items()})
