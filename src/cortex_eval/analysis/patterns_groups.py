"""Confused pairs put together by what they have in common, so that one fix is one pattern."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Literal, NamedTuple

FEWEST = 2
"""Seed 003 §7.2: a pattern begins where the most common pair comes up twice."""
GROUPS_KEPT = 20
"""Per scorer; what is left is counted with the scorer's other failures."""

Pair = tuple[str, str]
"""Expected, and what it was taken for."""


class Group(NamedTuple):
    """Pairs that share what was expected, or what was found."""

    side: Literal["expected", "found"]
    name: str
    pairs: tuple[Pair, ...]
    """Most frequent first."""


def group_pairs(counts: Mapping[Pair, int]) -> list[Group]:
    """The fewest causes that explain the most: again and again the label that most of what is left has in common.

    A label that swallows others is one fault, and so is one that is never recognised; a pair of which neither holds is
    a group of its own. A group needs one pair that came up twice.
    """
    left = dict(counts)
    groups: list[Group] = []
    totals: Counter[tuple[Literal["expected", "found"], str]] = Counter()
    for (expected, found), count in left.items():
        totals["found", found] += count
        totals["expected", expected] += count
    while totals and len(groups) < GROUPS_KEPT:
        side, name = min(totals, key=lambda each: (-totals[each], each[0] == "expected", each[1]))
        if totals[side, name] < FEWEST:
            break
        place = 0 if side == "expected" else 1
        pairs = sorted((pair for pair in left if pair[place] == name), key=lambda pair: (-left[pair], pair))
        for pair in pairs if left[pairs[0]] >= FEWEST else ():
            totals["expected", pair[0]] -= left[pair]
            totals["found", pair[1]] -= left[pair]
        if left[pairs[0]] >= FEWEST:
            groups.append(Group(side, name, tuple(pairs)))
            for pair in pairs:
                del left[pair]
        del totals[side, name]
    return groups


def group_types(counts: Mapping[tuple[str, ...], int]) -> list[tuple[str, list[tuple[str, ...]]]]:
    """Sets of names by the name that most of them share: each set goes to one name only, the commonest."""
    left = dict(counts)
    groups: list[tuple[str, list[tuple[str, ...]]]] = []
    while left and len(groups) < GROUPS_KEPT:
        totals: Counter[str] = Counter()
        for names, count in left.items():
            for name in names:
                totals[name] += count
        best = min(totals, key=lambda name: (-totals[name], name))
        members = [names for names in left if best in names]
        groups.append((best, members))
        for names in members:
            del left[names]
    return groups
