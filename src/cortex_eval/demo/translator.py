"""A sample translation service on loopback: Apertium for Spanish where it is installed, a phrase table for Hindi.

It is a sample. English to Spanish is real machine translation by Debian's Apertium, a program of its own; where that is
not on the PATH the service says so and translates nothing. English to Hindi is a table of a few dozen sentences with
gaps, phrases and words: what it does not know stays as it is. It is wrong on purpose in the ways that WEAKNESSES.md of
the project `healthcare` lists, so that a report has something to find.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from cortex_eval.demo.listening import Listening, Version
from cortex_eval.testing import Answer, Call

PAIRS = {("en", "hi"): "phrase-table", ("en", "es"): "apertium"}
"""What can be translated, and by what."""
_MODE = "eng-spa"
"""What Apertium calls the pair."""
_LONGEST_S = 10
"""Seconds that Apertium may take."""
NO_APERTIUM = (
    "Not translated: Apertium for English to Spanish is not installed here (Debian: apt-get install apertium-eng-spa)."
)
_SENTENCE = re.compile(r"[^.?!]+(?:[.](?=\d)[^.?!]+)*[.?!]?")
_GAP = re.compile(r"\\\{(\w)\\\}")
_NUMBERS = frozenset("nm")
"""Gaps that take a number."""
_ABOUT = {
    "service": "translator",
    "sample": True,
    "about": "The sample translation service of Cortex. Some of its translations are wrong on purpose. "
    "POST {text, source_language, target_language}.",
}


class Translated(NamedTuple):
    """A translation, and how it came about."""

    text: str
    metadata: dict[str, Any]  # Any: JSON


class _Said(NamedTuple):
    text: str
    unknown: list[str]
    """Words that are not in the table."""


class Translator(Listening):
    """The sample translation service, on loopback while it is entered.

    `with Translator() as translator: translator.url`. Version 2 is version 1 made faster: it translates the first
    sentence of a Hindi message only.
    """

    noun = "sample translation service"
    path = "translate"

    def answer(self, call: Call) -> Answer | dict[str, Any]:  # Any: JSON
        """What it says to one call: `{translation, target_language, metadata: {engine, …}, version}`."""
        if call.method != "POST":
            return {**_ABOUT, "version": self.version, "pairs": [f"{a}-{b}" for a, b in PAIRS]}
        body = call.json if isinstance(call.json, dict) else {}
        text, pair = body.get("text"), (body.get("source_language"), body.get("target_language"))
        if not isinstance(text, str) or not text.strip():
            return _refuse("The body needs a 'text' with something in it.")
        if pair not in PAIRS:
            return _refuse(f"It translates {', '.join(f'{a} to {b}' for a, b in PAIRS)}, not {pair[0]} to {pair[1]}.")
        found = into_hindi(text, version=self.version) if pair[1] == "hi" else into_spanish(text)
        return {
            "translation": found.text,
            "target_language": pair[1],
            "metadata": found.metadata,
            "version": self.version,
        }


def _refuse(message: str) -> Answer:
    return Answer(status=400, body=json.dumps({"error": message}).encode())


def has_apertium() -> bool:
    """Whether English can be translated into Spanish here."""
    program = shutil.which("apertium")
    return program is not None and _MODE in _modes(program)


@cache
def _modes(program: str) -> tuple[str, ...]:
    done = subprocess.run([program, "-l"], capture_output=True, text=True, timeout=_LONGEST_S, check=False)  # noqa: S603  # found on the PATH, no shell
    return tuple(done.stdout.split())


def into_spanish(text: str) -> Translated:
    """By Apertium; where it is not installed the text is empty and the metadata says why under `skipped`."""
    if not has_apertium():
        return Translated("", {"engine": "none", "skipped": NO_APERTIUM})
    program = shutil.which("apertium") or "apertium"
    done = subprocess.run(  # noqa: S603  # found on the PATH, no shell; the text goes in by stdin
        [program, "-u", "-f", "txt", _MODE],
        input=text,
        capture_output=True,
        text=True,
        timeout=_LONGEST_S,
        check=True,
    )
    return Translated(" ".join(done.stdout.split()), {"engine": "apertium", "mode": _MODE})


def into_hindi(text: str, *, version: Version = "1") -> Translated:
    """By the phrase table, sentence by sentence; words that it does not know stay as they are, and are listed."""
    parts = [part.strip() for part in _SENTENCE.findall(text) if part.strip()]
    if version == "2":
        parts = parts[:1]  # planted: weakness 16
    unknown: list[str] = []
    done = [_sentence(part, unknown) for part in parts]
    return Translated(" ".join(done), {"engine": "phrase-table", "unknown": unknown})


def _sentence(part: str, unknown: list[str]) -> str:
    closing = "?" if part.endswith("?") else "।"
    inside = part.rstrip(".?!")
    found = _halves(inside) or _by_pattern(inside)
    said = found or _chunks(inside)
    unknown += said.unknown
    return said.text + closing


def _halves(text: str) -> _Said | None:
    """Two orders in one sentence, such as "drink plenty of water and rest for 3 days"; None when it is not that."""
    first, joined, second = text.partition(" and ")
    halves = [_by_pattern(half) for half in (first, second)] if joined else [None]
    known = [half for half in halves if half is not None]
    if len(known) < 2:
        return None
    return _Said(" और ".join(half.text for half in known), [word for half in known for word in half.unknown])


def _by_pattern(text: str) -> _Said | None:
    """The text by the first sentence of the table that it fits; None when it fits none."""
    for pattern in _table().sentences:
        found = pattern.english.fullmatch(text)
        if found is not None:
            inside = {name: _chunks(value) for name, value in found.groupdict().items()}
            gaps = {name: said.text for name, said in inside.items()}
            return _Said(pattern.hindi.format(**gaps), [word for said in inside.values() for word in said.unknown])
    return None


def _chunks(text: str) -> _Said:
    """Phrase by phrase, the longest first; then word by word."""
    words, at = text.split(), 0
    said, unknown = [], []
    while at < len(words):
        for end in range(len(words), at, -1):
            found = _table().phrase(" ".join(words[at:end]))
            if found is not None:
                said.append(found)
                at = end
                break
        else:
            unknown.append(words[at])
            said.append(words[at])
            at += 1
    return _Said(" ".join(filter(None, said)), unknown)


@dataclass(frozen=True, slots=True)
class _Pattern:
    english: re.Pattern[str]
    hindi: str


class _Table(NamedTuple):
    sentences: list[_Pattern]
    phrases: list[_Pattern]
    words: dict[str, str]

    def phrase(self, text: str) -> str | None:
        """The Hindi for a phrase or word; a number is itself; None when it is not in the table."""
        if re.fullmatch(r"\d+(?:[.,/]\d+)*", text):
            return text
        for each in self.phrases:
            found = each.english.fullmatch(text)
            if found is not None:
                return each.hindi.format(**found.groupdict())
        return self.words.get(text.strip(",;").lower())


@cache
def _table() -> _Table:
    read = json.loads(files(__package__).joinpath("phrases_hi.json").read_text(encoding="utf-8"))
    sentences = [_Pattern(_compiled(row["en"]), row["hi"]) for row in read["sentences"]]
    phrases = [_Pattern(_compiled(english), hindi) for english, hindi in read["phrases"].items()]
    return _Table(sentences, phrases, read["words"])


def _compiled(english: str) -> re.Pattern[str]:
    def gap(found: re.Match[str]) -> str:
        return rf"(?P<{found[1]}>\d+(?:\.\d+)?)" if found[1] in _NUMBERS else rf"(?P<{found[1]}>.+?)"

    return re.compile(_GAP.sub(gap, re.escape(english)), re.IGNORECASE)
