"""Passages, taken apart once and ready to be searched for what a claim says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from cortex_eval.scoring.claims import sentences
from cortex_eval.scoring.facts import numbers_of, stem
from cortex_eval.scoring.words import STOP_WORDS, words

WINDOW = 3
"""Sentences that may support a claim together."""
TRIED = 12
"""The sentences with most of the claim's words, around which windows are looked at."""
COMMON_WEIGHT = 0.1
"""Of a word such as *the*, where any other word weighs 1: it says little that it is there."""


class Sentence(NamedTuple):
    """A sentence of a passage, and where."""

    passage: int
    start: int
    end: int
    text: str
    words: tuple[str, ...]
    stems: tuple[str, ...]


class Window(NamedTuple):
    """Sentences in a row, of one passage: from the first to the last."""

    first: int
    last: int


class Match(NamedTuple):
    """How much of a claim is where; shares of the claim's words by weight."""

    contained: float
    """In any passage."""
    sentence: float
    """In the one sentence that has most of it."""
    window: float
    best_sentence: int
    best_window: Window


class Library:
    """The sentences of some passages, by their words."""

    def __init__(self, passages: Sequence[str]) -> None:
        self.passages = tuple(passages)
        self.sentences = [
            Sentence(number, start, end, text, tuple(words(text)), tuple(stem(word) for word in words(text)))
            for number, passage in enumerate(passages)
            for text, start, end in sentences(passage)
        ]
        self.having: dict[str, list[int]] = {}
        self.pairs: set[tuple[str, ...]] = set()
        self.triples: set[tuple[str, ...]] = set()
        for i, sentence in enumerate(self.sentences):
            for each in set(sentence.stems):
                self.having.setdefault(each, []).append(i)
            self.pairs.update(runs(sentence.words, 2))
            self.triples.update(runs(sentence.words, 3))
        self.whole = {sentence.words for sentence in self.sentences}
        self.numbers = numbers_of(passages)
        self.running = " ".join(" ".join(sentence.words) for sentence in self.sentences)

    def match(self, stems: Iterable[str]) -> Match:
        """Where most of these stems are; sentences must not be empty."""
        weights = {each: weight(each) for each in stems}
        total = sum(weights.values()) or 1.0
        shares = [0.0] * len(self.sentences)
        for each, share in weights.items():
            for i in self.having.get(each, ()):
                shares[i] += share / total
        tried = sorted(range(len(shares)), key=lambda i: -shares[i])[:TRIED]
        windows = {window for i in tried for window in self._windows_with(i)}
        best_window = min(windows, key=lambda each: (-self._share(each, weights), each.last - each.first, each.first))
        return Match(
            contained=sum(share for each, share in weights.items() if each in self.having) / total,
            sentence=shares[tried[0]],
            window=self._share(best_window, weights) / total,
            best_sentence=tried[0],
            best_window=best_window,
        )

    def nearest(self, stems: Iterable[str], count: int) -> list[int]:
        """The sentences that have most of these stems, in their order; all of them when there are no more."""
        if len(self.sentences) <= count:
            return list(range(len(self.sentences)))
        shares = [0.0] * len(self.sentences)
        for each in set(stems):
            for i in self.having.get(each, ()):
                shares[i] += weight(each)
        return sorted(sorted(range(len(shares)), key=lambda i: -shares[i])[:count])

    def text_of(self, window: Window) -> str:
        """The words of the passage from the first sentence of the window to its last."""
        first, last = self.sentences[window.first], self.sentences[window.last]
        return self.passages[first.passage][first.start : last.end]

    def _windows_with(self, i: int) -> list[Window]:
        passage = self.sentences[i].passage
        low = max(0, i - WINDOW + 1)
        high = min(len(self.sentences), i + WINDOW)
        return [
            Window(first, last)
            for first in range(low, i + 1)
            for last in range(i, min(high, first + WINDOW))
            if self.sentences[first].passage == passage == self.sentences[last].passage
        ]

    def _share(self, window: Window, weights: dict[str, float]) -> float:
        found = {each for i in range(window.first, window.last + 1) for each in self.sentences[i].stems}
        return sum(share for each, share in weights.items() if each in found)


@lru_cache(maxsize=64)
def library(passages: tuple[str, ...]) -> Library:
    """The library of these passages, kept while their answers are looked at."""
    return Library(passages)


@lru_cache(maxsize=65536)
def weight(stem_of_word: str) -> float:
    """How much it says that a word is there."""
    return 1.0 if stem_of_word not in _common_stems() else COMMON_WEIGHT


def runs(tokens: Sequence[str], n: int) -> list[tuple[str, ...]]:
    """Every n tokens in a row."""
    return list(zip(*(tokens[i:] for i in range(n)), strict=False))


@lru_cache(maxsize=1)
def _common_stems() -> frozenset[str]:
    return frozenset(stem(word) for word in STOP_WORDS)
