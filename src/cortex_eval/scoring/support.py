"""How far passages support a claim: the seam, and what fills it without a language model."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple, Protocol

from cortex_eval.scoring.claims import without_references
from cortex_eval.scoring.embedding import MiniLM, Tokens, can_embed, load_embedder
from cortex_eval.scoring.facts import stems
from cortex_eval.scoring.library import Library, Match, Window, library
from cortex_eval.scoring.quantities_equal import as_written
from cortex_eval.scoring.signs import NEAREST, Signs, add_meaning, signs_of_words
from cortex_eval.scoring.words import share_of_latin, words

Label = Literal["grounded", "paraphrased", "inferred", "hallucinated"]
LATIN_NEEDED = 0.8
"""Share of Latin letters from which the embedding model, which reads English, is asked."""
SUPPORTED = 0.5
"""A claim less likely supported than not is called hallucinated."""
QUOTED = 0.6
"""Share of a claim's runs of three words that stand in the passages, from which it is grounded and not paraphrased."""
COVERED = 0.6
"""Share of a claim's words in its evidence, below which it is inferred and not paraphrased."""

CONTRADICTED = 0.1
"""What is left of a claim's chance when the passages say its opposite, or another number of the same."""


class Evidence(NamedTuple):
    """The words of a passage that a claim was held against."""

    passage: int
    start: int
    end: int
    """In characters of that passage."""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Supported:
    """What is known of one claim."""

    probability: float
    """That the passages support it."""
    label: Label
    evidence: Evidence | None = None
    conflicts: tuple[str, ...] = ()
    """What in the claim is not in the passages or goes against them, in words."""
    method: str = ""
    figures: Mapping[str, float] = field(default_factory=dict)


class Question(NamedTuple):
    """One claim to look up."""

    claim: str
    passages: tuple[str, ...]
    asked: str = ""
    """What the user had asked: a claim may repeat its words."""


class Support(Protocol):
    """Looks claims up in passages. The built-in one compares words and meanings; a trained model can take its place."""

    def support(self, claim: str, passages: Sequence[str], *, asked: str = "") -> Supported:
        """How far the passages support the claim."""

    def support_many(self, questions: Sequence[Question]) -> list[Supported]:
        """The same for many claims, in order; called off the event loop."""


@dataclass(slots=True)
class _LookedUp:
    question: Question
    claim: str
    shelf: Library
    match: Match
    signs: Signs


@dataclass(frozen=True, slots=True)
class EmbeddedSupport:
    """Compares words, runs of words, numbers, names and negations, and the meaning of English words."""

    use_embeddings: bool = True

    def support(self, claim: str, passages: Sequence[str], *, asked: str = "") -> Supported:
        """How far the passages support the claim."""
        return self.support_many([Question(claim, tuple(passages), asked)])[0]

    def support_many(self, questions: Sequence[Question]) -> list[Supported]:
        """The same for many claims, in order; all texts are embedded together."""
        # A model that got stuck says the same thing a thousand times: it is looked up once.
        looked_up = {question: look_up(question) for question in dict.fromkeys(questions)}
        if self.use_embeddings and can_embed():
            compare_meanings([each for each in looked_up.values() if each is not None and _is_readable(each.question)])
        found = {question: _NOTHING if each is None else _supported(each) for question, each in looked_up.items()}
        return [found[question] for question in questions]


_YES_OR_NO = frozenset(unicodedata.normalize("NFC", "yes no yeah nope हाँ हां जी नहीं").split())
_NOTHING = Supported(probability=0.0, label="hallucinated", conflicts=("the passages are empty",), method="lexical")


def look_up(question: Question) -> _LookedUp | None:
    """The signs that the words give; None when the passages have no words."""
    shelf = library(question.passages)
    if not shelf.sentences:
        return None
    claim = as_written(_said(question), question.passages)
    match = shelf.match(stems(claim))
    return _LookedUp(question, claim, shelf, match, signs_of_words(claim, shelf, match, asked=question.asked))


def _said(question: Question) -> str:
    """What is claimed: *yes* and *no* claim what was asked."""
    is_bare = set(words(question.claim)) <= _YES_OR_NO
    return question.asked if is_bare and words(question.asked) else without_references(question.claim)


def compare_meanings(looked_up: Sequence[_LookedUp]) -> None:
    """Add the signs that the embeddings give; each text is embedded once."""
    if not looked_up:
        return  # nor need the model be loaded
    nearest = [each.shelf.nearest(stems(each.claim), NEAREST) for each in looked_up]
    texts = list(
        dict.fromkeys(
            text
            for each, near in zip(looked_up, nearest, strict=True)
            for text in (each.claim, *(each.shelf.sentences[i].text for i in near))
        )
    )
    embedder = load_embedder()
    assert isinstance(embedder, MiniLM)
    tokens: dict[str, Tokens] = dict(zip(texts, embedder.embed_tokens(texts), strict=True))
    for each, near in zip(looked_up, nearest, strict=True):
        sentences = {i: tokens[each.shelf.sentences[i].text] for i in {*near, each.match.best_sentence}}
        add_meaning(each.signs, tokens[each.claim], sentences, each.match)


def probability(figures: Mapping[str, float], method: str) -> float:
    """The fitted probability that a claim with these signs is supported."""
    fitted = parameters()["claims"][method]
    score = fitted["intercept"] + math.fsum(weight * _term(name, figures) for name, weight in fitted["weights"].items())
    return 1 / (1 + math.exp(-score))


def _term(name: str, figures: Mapping[str, float]) -> float:
    """A figure, or the product of several: `contained*numbers`."""
    return math.prod(figures[part] for part in name.split("*"))


@cache
def parameters() -> dict[str, Any]:  # Any: JSON of our own
    """The fitted parameters, and how and on what they were fitted."""
    import json

    text = files("cortex_eval.scoring").joinpath("grounding.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def _supported(found: _LookedUp) -> Supported:
    figures = found.signs.figures
    method = "embedding" if "cosine" in figures else "lexical"
    chance = probability(figures, method) * (CONTRADICTED if figures["contradicted"] else 1)
    return Supported(
        probability=chance,
        label=_label(chance, figures),
        evidence=_evidence(found),
        conflicts=tuple(found.signs.conflicts),
        method=method,
        figures=figures,
    )


def _label(chance: float, figures: Mapping[str, float]) -> Label:
    if chance < SUPPORTED:
        return "hallucinated"
    if figures["quoted"] or figures["triples"] >= QUOTED:
        return "grounded"
    return "paraphrased" if figures["window"] >= COVERED else "inferred"


def _evidence(found: _LookedUp) -> Evidence:
    """The one sentence that has most of the claim; more of them when they have more; the closest when words fail."""
    match, signs = found.match, found.signs
    window = (
        match.best_window if match.window > match.sentence + 0.05 else Window(match.best_sentence, match.best_sentence)
    )
    if signs.closest is not None and match.window < 0.5:
        window = Window(signs.closest, signs.closest)
    first, last = found.shelf.sentences[window.first], found.shelf.sentences[window.last]
    return Evidence(first.passage, first.start, last.end, found.shelf.text_of(window))


def _is_readable(question: Question) -> bool:
    return all(reads_as_english(text) for text in (question.claim, *question.passages))


@lru_cache(maxsize=1024)
def reads_as_english(text: str) -> bool:
    """Whether the embedding model can read it."""
    share = share_of_latin(text)
    return bool(words(text)) and share is not None and share >= LATIN_NEEDED
