"""Quantities that are the same in other words: 4 g and 4000 mg, 14:00 and 2 pm."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from cortex_eval.scoring.quantities import read_quantities

CLOCK = "clock"
"""The unit of a time of day, counted in minutes since midnight."""
_NOON = 12 * 60
_SIZES: tuple[dict[str, Decimal], ...] = (
    {"mcg": Decimal(1), "mg": Decimal(1000), "g": Decimal(10) ** 6, "kg": Decimal(10) ** 9},
    {"ml": Decimal(1), "l": Decimal(1000)},
    {"mm": Decimal(1), "cm": Decimal(10), "m": Decimal(1000), "km": Decimal(10) ** 6},
    {
        "second": Decimal(1),
        "minute": Decimal(60),
        "hour": Decimal(3600),
        "day": Decimal(86400),
        "week": Decimal(604800),
    },
    {"month": Decimal(1), "year": Decimal(12)},
)
"""Units that can be told in each other, and how large they are."""
_TIME = re.compile(
    r"(?<![\d:.,])(?P<hour>[01]?\d|2[0-4])"
    r"(?:(?::(?P<minute>[0-5]\d)(?![\d:]))(?: ?(?P<half>[ap])\.?m\b\.?)?"
    r"|(?:\.(?P<minute2>[0-5]\d))? ?(?P<half2>[ap])\.?m\b\.?"
    r"| o['’]?clock| ?बजे)",
    re.IGNORECASE,
)


class Equal(NamedTuple):
    """A quantity."""

    value: Decimal
    unit: str


class Time(NamedTuple):
    """A time of day as it is written."""

    text: str
    minutes: tuple[int, ...]
    """Since midnight; two where it is not said whether it is before or after noon."""


def equal_quantities(value: Decimal, unit: str | None) -> list[Equal]:
    """The same in other units; none for a number without a unit, or with one that stands alone."""
    sizes = next((each for each in _SIZES if unit in each), {})
    return [Equal(value * sizes[unit] / size, name) for name, size in sizes.items() if unit and name != unit]


def read_times(text: str) -> list[Time]:
    """The times of day, in order: 14:00, 2:30 pm, 2 pm, 2 o'clock, 2 बजे."""
    if not any(char.isdecimal() for char in text):
        return []
    return [Time(match[0].strip(), _minutes(match)) for match in _TIME.finditer(text)]


def without_times(text: str) -> str:
    """The text less its times of day."""
    return _TIME.sub(" ", text) if any(char.isdecimal() for char in text) else text


def as_written(claim: str, passages: tuple[str, ...]) -> str:
    """The claim with its times and quantities as the passages write them, where they have the same in other words."""
    if not any(char.isdecimal() for char in claim):
        return claim
    known = _written(passages)
    for time in dict.fromkeys(read_times(claim)):
        claim = claim.replace(time.text, known.times.get(time.minutes[-1], time.text))
    for value, unit, text in dict.fromkeys(read_quantities(claim)):
        if unit is None:
            continue
        same = (Equal(value, unit), *equal_quantities(value, unit))
        written = next((known.quantities[each] for each in same if each in known.quantities), text)
        if written != text:
            claim = re.sub(rf"(?<!\w){re.escape(text)}(?!\w)", written, claim, flags=re.IGNORECASE)
    return claim


class _Written(NamedTuple):
    times: dict[int, str]
    """By the minutes since midnight."""
    quantities: dict[Equal, str]


@lru_cache(maxsize=64)
def _written(passages: tuple[str, ...]) -> _Written:
    times = {minutes: time.text for text in passages for time in read_times(text) for minutes in time.minutes}
    return _Written(
        times,
        {
            Equal(value, unit): written
            for text in passages
            for value, unit, written in read_quantities(without_times(text))
            if unit is not None
        },
    )


def _minutes(match: re.Match[str]) -> tuple[int, ...]:
    hour, half = int(match["hour"]), (match["half"] or match["half2"] or "").lower()
    minute = int(match["minute"] or match["minute2"] or 0)
    if half:
        return ((hour % 12 + (12 if half == "p" else 0)) * 60 + minute,)
    if hour <= 12 and not match["hour"].startswith("0"):
        return ((hour % 12) * 60 + minute, (hour % 12) * 60 + minute + _NOON)
    return ((hour % 24) * 60 + minute,)
