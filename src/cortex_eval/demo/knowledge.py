"""How the sample chatbot finds its answers: BM25 over short texts of our own, with planted faults."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple

Version = Literal["1.0", "1.1"]

# Planted: digits are not words here, so "type 1" and "type 2" diabetes look alike (weakness 4).
_WORD = re.compile(r"[a-z]+|[\u0900-\u0963\u0966-\u097f]+")
_FOLLOW_UP_BONUS = 6.0
"""What the topic of the previous question is worth, in BM25 points."""
_FLOOR = 8.0
"""A best passage below this is no answer: one rare word in common is not enough."""

_CLOSINGS = {
    "medication": "Ask your doctor or pharmacist if you are not sure.",
    "small_talk": "",
    "emergency": "",
}
_CLOSING = "This is general information, not a diagnosis."
_CLOSING_HI = "यह सामान्य जानकारी है, डॉक्टर की सलाह नहीं।"
_NO_ANSWER = "I am sorry, I can only help with questions about health. If you feel unwell, please see a doctor."


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A text that can be an answer, with the words that patients use for it."""

    article: str
    intent: str
    text: str
    words: tuple[str, ...]
    language: str = "en"
    delay_s: float = 0.0
    """Planted: how long the chatbot takes to find it."""
    closing: bool = True
    """Planted when false: the answer goes out without its disclaimer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What the chatbot answers."""

    text: str
    intent: str
    confidence: float
    delay_s: float = 0.0


def words_of(text: str) -> list[str]:
    """The words that retrieval looks at: lower case, no stop words, plurals as singulars."""
    found = (word for word in _WORD.findall(text.lower()) if word not in _data().stop_words)
    return [word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word for word in found]


class Knowledge:
    """Passages and an Okapi BM25 index over them."""

    def __init__(self, passages: tuple[Passage, ...]) -> None:
        self._passages = passages
        self._counts = [Counter(passage.words) for passage in passages]
        self._mean_length = sum(len(passage.words) for passage in passages) / len(passages)
        seen = Counter(word for counts in self._counts for word in counts)
        # Robertson and Zaragoza 2009, with the +1 that keeps the weight of frequent words above 0
        self._weights = {word: math.log(1 + (len(passages) - n + 0.5) / (n + 0.5)) for word, n in seen.items()}

    def answer(self, query: str, *, previous_query: str = "", version: Version = "1.0") -> Found:
        """The best passage for the question, with its closing sentence; an apology when nothing fits."""
        scores = self._scores(query)
        if previous_query:
            self._favour(scores, self._best(self._scores(previous_query)))
        best = self._best(scores)
        if best is None:
            return Found(text=_NO_ANSWER, intent="unknown", confidence=0.1)
        passage = self._passages[best]
        rival = max((s for p, s in zip(self._passages, scores, strict=True) if p.article != passage.article), default=0)
        closing = _closing(passage, version)
        return Found(
            text=f"{passage.text} {closing}".rstrip(),
            intent=passage.intent,
            confidence=round(scores[best] / (scores[best] + rival), 2),
            delay_s=passage.delay_s,
        )

    def _favour(self, scores: list[float], topic: int | None) -> None:
        # Planted: after a question about a medicine the chatbot forgets what was said (weakness 6).
        if topic is None or self._passages[topic].intent == "medication":
            return
        for number, passage in enumerate(self._passages):
            if passage.article == self._passages[topic].article and passage.language == self._passages[topic].language:
                scores[number] += _FOLLOW_UP_BONUS

    def _best(self, scores: list[float]) -> int | None:
        best = max(range(len(scores)), key=scores.__getitem__)
        return best if scores[best] >= _FLOOR else None

    def _scores(self, query: str, k: float = 1.2, b: float = 0.75) -> list[float]:
        asked = set(words_of(query))
        scores = []
        for counts in self._counts:
            length = k * (1 - b + b * counts.total() / self._mean_length)
            scores.append(
                sum(self._weights[w] * counts[w] * (k + 1) / (counts[w] + length) for w in asked if w in counts)
            )
        return scores


@cache
def load_knowledge() -> Knowledge:
    """The chatbot's own texts, from the package."""
    return Knowledge(tuple(_passage(article, row) for article in _data().articles for row in article["passages"]))


class _Data(NamedTuple):
    stop_words: frozenset[str]
    articles: list[dict[str, Any]]  # Any: JSON of our own


@cache
def _data() -> _Data:
    read = json.loads(files(__package__).joinpath("articles.json").read_text(encoding="utf-8"))
    return _Data(frozenset(read["stop_words"].split()), read["articles"])


def _passage(article: dict[str, Any], row: dict[str, Any]) -> Passage:  # Any: JSON of our own
    words = 2 * words_of(f"{article['title']} {row['terms']}") + words_of(row["text"])
    return Passage(
        article=article["id"],
        intent=article["intent"],
        text=row["text"],
        words=tuple(words),
        language=row.get("lang", "en"),
        delay_s=article.get("delay_s", 0.0),
        closing=article.get("closing", True),
    )


def _closing(passage: Passage, version: Version) -> str:
    if not passage.closing:
        return ""
    # Planted: 1.1 "shortened" the answers about medicines and lost the advice to ask (weakness 7).
    if passage.intent == "medication" and version == "1.1":
        return ""
    closing = _CLOSINGS.get(passage.intent, _CLOSING)
    return _CLOSING_HI if closing and passage.language == "hi" else closing
