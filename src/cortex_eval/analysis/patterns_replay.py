"""What it takes to win a failed result back: its verdict replayed with some of its faults mended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

Key = tuple[str, ...]
"""What a fault is called."""
Ways = frozenset[frozenset[Key]]
"""Sets of faults, each of which is enough: who mends all faults of one of them wins the result back."""

TRIED_TOGETHER = 3
"""Faults of one result that are tried in every combination; beyond that, only all of them at once."""
WAYS_KEPT = 16
"""Of one conversation, the shortest."""
_ROUNDING = 1e-9


class Part(NamedTuple):
    """A score, or its share of one, that keys stand for: mending any of the keys makes it 1."""

    keys: tuple[Key, ...]
    points: float
    """What the overall score wins by it."""
    is_needed: bool
    """It is critical: without it the result does not pass, whatever the overall score."""


def ways_of(parts: Sequence[Part], lacking: float) -> Ways:
    """The smallest sets of faults whose mending lets the result pass; empty: not even all of them do.

    `lacking` is what the overall score is under the passing threshold, 0 or less when it is not.
    """
    base = frozenset(part.keys[0] for part in parts if part.is_needed and len(part.keys) == 1)  # nothing goes without
    if _wins(base, parts, lacking):
        return frozenset([base]) if base else frozenset()
    others = [key for key in dict.fromkeys(key for part in parts for key in part.keys) if key not in base]
    found: list[frozenset[Key]] = []
    for size in range(1, min(TRIED_TOGETHER, len(others)) + 1):
        for some in combinations(others, size):
            if (not found or not any(way.issubset(base.union(some)) for way in found)) and _wins(
                tried := base.union(some), parts, lacking
            ):
                found.append(tried)
    if not found and _wins(everything := base.union(others), parts, lacking):
        found.append(everything)
    return frozenset(found)


def _wins(mended: frozenset[Key], parts: Sequence[Part], lacking: float) -> bool:
    won = 0.0
    for part in parts:
        if not mended.isdisjoint(part.keys):
            won += part.points
        elif part.is_needed:
            return False
    return won >= lacking - _ROUNDING


def ways_of_all(ways: Sequence[Ways]) -> Ways:
    """What wins a conversation back: every one of its failed turns must be won."""
    joined = ways[0]
    for each in ways[1:]:
        pairs = sorted({one | other for one in joined for other in each}, key=lambda way: (len(way), sorted(way)))
        smallest: list[frozenset[Key]] = []
        for way in pairs:
            if len(smallest) < WAYS_KEPT and not any(known <= way for known in smallest):
                smallest.append(way)
        joined = frozenset(smallest)
    return joined


class Replays:
    """What every failed result needs, counted: the results themselves are not kept."""

    def __init__(self) -> None:
        self._results: Counter[Ways] = Counter()
        self._by_key: dict[Key, list[tuple[Ways, int]]] | None = None

    def add(self, ways: Ways) -> None:
        """One more result that these would win back."""
        if ways:
            self._results[ways] += 1
            self._by_key = None

    def renamed(self, names: Mapping[Key, Key]) -> None:
        """Let faults be called otherwise."""
        if not names:
            return
        changed: Counter[Ways] = Counter()
        for ways, count in self._results.items():
            changed[frozenset(frozenset(names.get(key, key) for key in way) for way in ways)] += count
        self._results, self._by_key = changed, None

    def won_by(self, keys: Iterable[Key]) -> int:
        """Results that would pass with these faults mended and nothing else changed."""
        mended = frozenset(keys)
        return sum(count for ways, count in self._touched(mended) if any(way <= mended for way in ways))

    def needed_with(self, keys: Iterable[Key]) -> Iterator[tuple[frozenset[Key], int]]:
        """What else results need that these faults are a part of, and how many results need it."""
        mended = frozenset(keys)
        for ways, count in self._touched(mended):
            for way in ways:
                if not way <= mended and not way.isdisjoint(mended):
                    yield way - mended, count

    def _touched(self, keys: frozenset[Key]) -> Iterator[tuple[Ways, int]]:
        """The results in which one of these faults plays a part, each once."""
        if self._by_key is None:
            self._by_key = {}
            for ways, count in self._results.items():
                for key in frozenset[Key]().union(*ways):
                    self._by_key.setdefault(key, []).append((ways, count))
        seen: set[Ways] = set()
        for key in keys:
            for ways, count in self._by_key.get(key, ()):
                if len(keys) == 1 or ways not in seen:
                    seen.add(ways)
                    yield ways, count
