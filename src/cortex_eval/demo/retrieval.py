"""A sample RAG service on loopback: it finds texts in a small library, quotes them and cites them, with planted faults.

It is a sample, not a medical product: real retrieval (Okapi BM25) over some forty short texts of our own, answers made
of their sentences, no language model behind it. It is wrong on purpose in the ways that WEAKNESSES.md of the project
`healthcare` lists, so that a report has something to find.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from cortex_eval.demo.listening import Listening, Version
from cortex_eval.testing import Answer, Call

_WORD = re.compile(r"[a-z]+|\d+|[\u0900-\u0963\u0966-\u097f]+")
_SENTENCE = re.compile(r"[^.।]+(?:\.(?=\d)[^.।]+)*[.।]")
_SHOWN = 3
"""So many passages are handed over."""
_QUOTED = 2
"""So many sentences make an answer."""
_FLOOR = 6.0
"""A best text below this is no answer: one rare word in common is not enough."""
_BESIDE = 0.4
"""A further text is shown from this share of the best one's score on."""
_HURRIED = 10
"""Words of the question that version 2 looks at (planted, weakness 10)."""
_NOT_FOUND = "I am sorry, I could not find anything about that in the library."
_NOT_FOUND_HI = "माफ़ कीजिए, इस बारे में पुस्तकालय में कोई जानकारी नहीं मिली।"
_ABOUT = {
    "service": "health-library",
    "sample": True,
    "about": "The sample RAG service of Cortex. It is not a medical product, and some of its answers are wrong on "
    "purpose. POST {query, context, user_id, session_id}.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryText:
    """One text of the library."""

    id: str
    title: str
    source: str
    text: str
    words: tuple[str, ...]
    """What it is found by: those of the text, and twice those of the title and the words that people search with."""
    added: str = ""
    """Planted: a sentence that the service makes up (weakness 6)."""
    clicks: float = 0.0
    """Planted: points for having been read often, however old it is (weakness 7)."""
    uncited: bool = False
    """Planted: it is used and not cited (weakness 8)."""


class Ranked(NamedTuple):
    """A text with how well it fits a question."""

    score: float
    text: LibraryText


class Library:
    """Texts and an Okapi BM25 index over them."""

    def __init__(self, texts: Sequence[LibraryText], *, k: float = 1.2, b: float = 0.75) -> None:
        self._texts, self._k, self._b = tuple(texts), k, b
        self._counts = [Counter(text.words) for text in texts]
        self._mean_length = sum(counts.total() for counts in self._counts) / len(texts)
        seen = Counter(word for counts in self._counts for word in counts)
        # Robertson and Zaragoza 2009, with the +1 that keeps the weight of frequent words above 0
        self._weights = {word: math.log(1 + (len(texts) - n + 0.5) / (n + 0.5)) for word, n in seen.items()}

    def search(self, query: str) -> list[Ranked]:
        """Every text that shares a word with the question, the best first."""
        asked = set(words_of(query))
        found = []
        for text, counts in zip(self._texts, self._counts, strict=True):
            score = self._score(asked, counts)
            if score > 0:
                found.append(Ranked(score + text.clicks, text))
        return sorted(found, key=lambda each: (-each.score, each.text.id))

    def best_sentences(self, query: str, text: str) -> str:
        """The sentences of a text that fit the question best, in their order."""
        asked = set(words_of(query))
        parts = [part.strip() for part in _SENTENCE.findall(text)]
        fit = [sum(self._weights.get(word, 0.0) for word in asked & set(words_of(part))) for part in parts]
        best = sorted(range(len(parts)), key=lambda i: (-fit[i], i))[:_QUOTED]
        return " ".join(parts[i] for i in sorted(best))

    def _score(self, asked: set[str], counts: Counter[str]) -> float:
        length = self._k * (1 - self._b + self._b * counts.total() / self._mean_length)
        there = (word for word in asked if word in counts)
        return sum(self._weights[w] * counts[w] * (self._k + 1) / (counts[w] + length) for w in there)


class HealthLibrary(Listening):
    """The sample RAG service, on loopback while it is entered.

    `with HealthLibrary() as rag: rag.url`. Version 2 is version 1 made faster: it looks only at the first words of a
    question.
    """

    noun = "sample RAG service"
    path = "rag"

    def answer(self, call: Call) -> Answer | dict[str, Any]:  # Any: JSON
        """What it says to one call: `{answer, passages: [{id, text, source, score}], citations, version}`."""
        if call.method != "POST":
            return {**_ABOUT, "version": self.version}
        body = call.json if isinstance(call.json, dict) else {}
        query = body.get("query")
        if not isinstance(query, str) or not query.strip():
            message = {"error": "The body needs a 'query' that is a text with something in it."}
            return Answer(status=400, body=json.dumps(message).encode())
        return answer_from_library(query, version=self.version)


def answer_from_library(query: str, *, version: Version = "1") -> dict[str, Any]:  # Any: JSON
    """The service's whole reply; the same question always gets the same one."""
    library = load_library()
    looked_for = " ".join(query.split()[:_HURRIED]) if version == "2" else query
    found = library.search(looked_for)
    if not found or found[0].score < _FLOOR:
        text = _NOT_FOUND_HI if re.search(r"[\u0900-\u097f]", query) else _NOT_FOUND
        return {"answer": text, "passages": [], "citations": [], "version": version}
    best = found[0].text
    shown = [each for each in found[:_SHOWN] if each.score >= _BESIDE * found[0].score]
    return {
        "answer": _with_marks(library.best_sentences(query, best.text), best),
        "passages": [
            {"id": text.id, "text": text.text, "source": text.source, "score": round(score, 3)} for score, text in shown
        ],
        "citations": [] if best.uncited else [best.id],
        "version": version,
    }


def _with_marks(quoted: str, text: LibraryText) -> str:
    """The quoted sentences with the number of the passage behind them, and what is made up without one."""
    mark = "" if text.uncited else "[1]"
    return f"{quoted}{mark} {text.added}".rstrip()


def words_of(text: str) -> list[str]:
    """The words that retrieval looks at: lower case, no stop words, plurals as singulars."""
    found = (word for word in _WORD.findall(text.lower()) if word not in _data().stop_words)
    return [word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word for word in found]


@cache
def load_library() -> Library:
    """The service's own texts, from the package."""
    return Library([_text(row) for row in _data().texts])


class _Data(NamedTuple):
    stop_words: frozenset[str]
    texts: list[dict[str, Any]]  # Any: JSON of our own


@cache
def _data() -> _Data:
    read = json.loads(files(__package__).joinpath("health_library.json").read_text(encoding="utf-8"))
    return _Data(frozenset(read["stop_words"].split()), read["texts"])


def _text(row: dict[str, Any]) -> LibraryText:  # Any: JSON of our own
    return LibraryText(
        id=row["id"],
        title=row["title"],
        source=row["source"],
        text=row["text"],
        words=tuple(2 * words_of(f"{row['title']} {row['terms']}") + words_of(row["text"])),
        added=row.get("added", ""),
        clicks=row.get("clicks", 0.0),
        uncited=row.get("uncited", False),
    )
