"""A weak intent classifier on CLINC150, so that an error analysis has something real to read.

`python benchmarks/weak_intents.py DATA [FOLDER]` trains it on the training split in DATA (a folder with
`data_full.json` and `domains.json` of clinc/oos-eval), plays the test split, and prints what `cortex analyze` would.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from cortex_eval import Case, Reply, Report, evaluate
from cortex_eval.core import Expected, Turn
from cortex_eval.reports import render_analysis

OUT_OF_SCOPE = "oos"
FLOOR = 0.08
"""A question that is no closer than this to any intent is taken to be out of scope."""


class WordOverlap:
    """The intent whose training questions share the most words with a question, by the cosine of word counts."""

    def __init__(self, examples: Iterable[tuple[str, str]]) -> None:
        counts: dict[str, Counter[str]] = {}
        for text, intent in examples:
            counts.setdefault(intent, Counter()).update(_words(text))
        self._intents = {intent: _unit(found) for intent, found in counts.items()}

    def __call__(self, question: str) -> Reply:
        """The nearest intent, with its cosine as the confidence."""
        asked = _unit(Counter(_words(question)))
        scores = {intent: _cosine(asked, centre) for intent, centre in self._intents.items()}
        best = max(scores, key=scores.__getitem__)
        return Reply(intent=best if scores[best] >= FLOOR else OUT_OF_SCOPE, confidence=min(1.0, scores[best]))


def clinc_cases(folder: Path, split: str = "test", *, oos: str = "oos_test") -> Iterator[Case]:
    """The questions of a split, with their domain as the category."""
    data = json.loads((folder / "data_full.json").read_text())
    domains = json.loads((folder / "domains.json").read_text())
    domain_of = {intent: domain for domain, intents in domains.items() for intent in intents}
    for number, (text, intent) in enumerate([*data[split], *data[oos]]):
        turn = Turn(text=text, expected=Expected(intent=intent))
        yield Case(id=f"{intent}_{number:05}", turns=(turn,), category=domain_of.get(intent, "out_of_scope"))


def play(folder: Path, store: Path | None = None) -> Report:
    """The report of the weak classifier on the test split."""
    data = json.loads((folder / "data_full.json").read_text())
    classifier = WordOverlap((text, intent) for text, intent in data["train"])
    return evaluate(clinc_cases(folder), classifier, ["intent"], name="clinc150", store=store)


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z']+", text.lower())


def _unit(counts: Counter[str]) -> Mapping[str, float]:
    length = math.sqrt(sum(count * count for count in counts.values()))
    return {word: count / length for word, count in counts.items()} if length else {}


def _cosine(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    return sum(weight * other.get(word, 0.0) for word, weight in one.items())


if __name__ == "__main__":
    played = play(Path(sys.argv[1]), Path(sys.argv[2]) / "cortex.db" if len(sys.argv) > 2 else None)
    print(render_analysis(played))
