"""Another number of the same thing: *two tablets*, where the source has *one tablet*."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from cortex_eval.scoring.facts import stem
from cortex_eval.scoring.negation import FEWEST, MOST, SAME, content_stems, is_content, tokens_of
from cortex_eval.scoring.quantities import NUMBER_WORDS, UNITS

_HALVES = frozenset({"half", "आधा", "आधी", "आधे"})
_TIMES = frozenset({"once", "twice", "thrice"})
_ORDINALS = frozenset(
    {"first", "second", "third"} | {word for word in NUMBER_WORDS if word[:3] in ("पहल", "दूस", "तीस")}
)
_SCALES = frozenset({"million", "billion", "trillion", "lakh", "lakhs", "crore", "crores"})
_BETWEEN = frozenset({"to", "or", "a", "an", "of", "the"}) | _SCALES
"""What may stand between a number and what it counts."""
_BOUNDS = {
    word: bound
    for bound, texts in {
        "<": "less fewer under below most maximum upto almost nearly before within",
        ">": "more over above least minimum exceed exceeds exceeding after",
        "~": "about around approximately roughly some circa",
    }.items()
    for word in texts.split()
}
_BEHIND_BOUNDS = frozenset({"than", "of"})
AS_NEAR = 0.2
"""By so much closer must a sentence with another number be than one with this number."""


class Amount(NamedTuple):
    """Some of something."""

    name: str
    """The stem of what is counted, or the unit."""
    numbers: frozenset[Decimal]
    bound: str
    """`<`, `>` or `~` for *at most*, *more than*, *about* and their like; one is held against others of its kind."""
    text: str
    """As it is written: `two tablets`."""


class Changed(NamedTuple):
    """A number of something, and the other one that the source has of it."""

    ours: str
    theirs: str


def changed_amount(text: str, others: Sequence[str]) -> Changed | None:
    """A number that is another one in what speaks of the same, and nowhere near the same; None: there is none."""
    ours = amounts(text)
    content = _about(text) if ours else frozenset()
    if len(content) < FEWEST:
        return None
    near = [(len(content & _about(other)) / len(content), each) for other in others for each in amounts(other)]
    for amount in ours:
        known = [(share, each) for share, each in near if each.name == amount.name]
        alike = max((share for share, each in known if each.numbers & amount.numbers), default=0.0)
        against, other = max(
            (
                (share, each)
                for share, each in known
                if each.bound == amount.bound and not each.numbers & amount.numbers
            ),
            default=(0.0, amount),
            key=lambda found: found[0],
        )
        if against >= SAME and against > alike + AS_NEAR:
            return Changed(amount.text, other.text)
    return None


@lru_cache(maxsize=1024)
def amounts(text: str) -> tuple[Amount, ...]:
    """The numbers of a text, in digits or words, with what they count; *one or two tablets* has two."""
    found: list[Amount] = []
    waiting: dict[Decimal, str] = {}
    bound = ""
    for word in tokens_of(text):
        value = _value(word)
        if value is not None:
            waiting[value] = word
        name = "time" if word in _TIMES else "" if value is not None else word
        if waiting and (name in UNITS or (name and is_content(name) and name not in _SCALES)):
            shown = word if word in _TIMES else f"{[*waiting.values()][-1]} {word}"
            found.append(Amount(UNITS.get(name) or stem(name), frozenset(waiting), bound, shown))
        if name and name not in _BETWEEN:
            waiting, bound = {}, _BOUNDS.get(name, bound if name in _BEHIND_BOUNDS else "")
    return tuple(dict.fromkeys(found))[:MOST]


@lru_cache(maxsize=1024)
def _about(text: str) -> frozenset[str]:
    """What a text speaks of, aside from numbers."""
    return content_stems(word for word in tokens_of(text) if _value(word) is None)


@lru_cache(maxsize=4096)
def _value(word: str) -> Decimal | None:
    """The number that a word is; a time of day is none."""
    if word in _HALVES:
        return Decimal("0.5")
    if word == "thrice":
        return Decimal(3)
    if word in NUMBER_WORDS and word not in _ORDINALS:
        return Decimal(NUMBER_WORDS[word])
    if not word[0].isdecimal() or ":" in word:
        return None
    whole, comma, rest = word.partition(",")
    plain = word.replace(",", "") if comma and len(rest.replace(",", "")) % 3 == 0 and whole else word.replace(",", ".")
    try:
        return Decimal(plain)
    except ArithmeticError:  # 1.2.3
        return None
