"""How close in meaning is the reply to an expected answer?"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from cortex_eval.core import Case, Reply, Score
from cortex_eval.scoring.base import scorers
from cortex_eval.scoring.embedding import (
    HOW_TO_INSTALL,
    MINILM,
    can_embed,
    embedders,
    load_embedder,
    words_for_method,
)
from cortex_eval.scoring.words import content_words, share_of_latin

LATIN_NEEDED = 0.8
"""Share of Latin letters from which a text is taken to be in the model's script; a foreign word or two is no matter."""


class Pair(NamedTuple):
    """A text and those that it is held against."""

    text: str
    others: tuple[str, ...]
    languages: tuple[str | None, ...] = ()
    """Of any of them, as far as they are stated."""


class Closeness(NamedTuple):
    """How close a text is to the nearest of others, and by what."""

    value: float | None
    """0..1; None: there is nothing to compare with."""
    fall_back: str = ""
    """Why words were compared and not meanings; empty: meanings were."""

    @property
    def method(self) -> str:
        """In words, as reasons say it."""
        return f"shared words (lexical fall-back: {self.fall_back})" if self.fall_back else "meaning"


@dataclass(frozen=True, slots=True)
class ByMeaning:
    """A scorer that compares meanings where it can, and words elsewhere."""

    version: ClassVar[str] = "1"

    use_embedding_similarity: bool = True
    """False: compare words, not meanings."""
    embedding_model: str = MINILM

    def __post_init__(self) -> None:
        embedders.find(self.embedding_model)  # an unknown name is told before anything runs

    @property
    def fingerprint(self) -> str:
        """Whether meanings or only words can be compared here."""
        return "embedding" if has_model(self.embedding_model, wanted=self.use_embedding_similarity) else "lexical"

    @property
    def scores_by(self) -> str:
        """The embedding model, or words."""
        has = has_model(self.embedding_model, wanted=self.use_embedding_similarity)
        return words_for_method(wants_meanings=self.use_embedding_similarity, has_model=has)

    async def score(self, case: Case, reply: Reply) -> Score:
        """0..1; None when there is nothing to compare with."""
        return (await asyncio.to_thread(self.score_batch, [(case, reply)]))[0]

    def score_batch(self, pairs: Sequence[tuple[Case, Reply]]) -> list[Score]:
        """One score for each pair; all texts are embedded together."""
        raise NotImplementedError


@scorers.register("similarity")
@dataclass(frozen=True, slots=True)
class Similarity(ByMeaning):
    """How close in meaning the reply is to the nearest expected answer, whatever the question was."""

    def score_batch(self, pairs: Sequence[tuple[Case, Reply]]) -> list[Score]:
        """One score for each pair; all texts are embedded together."""
        jobs = [
            Pair(reply.text, case.expected.references, (case.language, reply.language))
            if reply.text.strip()
            else Pair("", ())
            for case, reply in pairs
        ]
        found = compare(jobs, self.embedding_model, wanted=self.use_embedding_similarity)
        return [_to_score(case, reply, each) for (case, reply), each in zip(pairs, found, strict=True)]


def compare(pairs: Sequence[Pair], model: str = MINILM, *, wanted: bool = True) -> list[Closeness]:
    """How close each text is to the nearest of the others: the cosine of their embeddings, or the words in common.

    Words are compared (2 · common / words of both) where meanings are not `wanted`, or cannot be compared.
    """
    reasons = [
        why_words(model, wanted=wanted, languages=each.languages, texts=(each.text, *each.others)) for each in pairs
    ]
    texts = dict.fromkeys(
        text
        for pair, why in zip(pairs, reasons, strict=True)
        if not why and pair.others
        for text in (pair.text, *pair.others)
    )
    vectors = dict(zip(texts, load_embedder(model).embed([*texts]), strict=True)) if texts else {}
    found = []
    for (text, others, _), why in zip(pairs, reasons, strict=True):
        others = tuple(each for each in others if each.strip())
        figures = [_share(text, each) if why else float(vectors[text] @ vectors[each]) for each in others]
        found.append(Closeness(min(1.0, max(0.0, *figures)) if figures else None, why))
    return found


def has_model(model: str, *, wanted: bool) -> bool:
    """Whether meanings are wanted and can be compared here."""
    return wanted and (can_embed() or not model.endswith("all-MiniLM-L6-v2"))


def why_words(model: str, *, wanted: bool, languages: Sequence[str | None], texts: Sequence[str]) -> str:
    """Why the words of these texts are compared and not their meanings; empty: meanings are."""
    if not wanted:
        return "use_embedding_similarity is off"
    if not has_model(model, wanted=wanted):
        return f"the embedding model is not installed: {HOW_TO_INSTALL}"
    for language in languages:
        if language and not language.casefold().startswith("en"):
            return f"the embedding model reads English only, and the language is {language}"
    for text in texts:
        share = share_of_latin(text)
        if share is not None and share < LATIN_NEEDED:
            return "the embedding model reads English only, and the text is in another script"
    return ""


def _share(one: str, other: str) -> float:
    """Of the words of both that carry meaning, those in common (Dice)."""
    ours, theirs = content_words(one), content_words(other)
    return 2 * len(ours & theirs) / (len(ours) + len(theirs)) if ours or theirs else 0.0


def _to_score(case: Case, reply: Reply, found: Closeness) -> Score:
    if not any(each.strip() for each in case.expected.references):
        return Score(name="similarity", value=None, reason="There is no expected answer to compare with.")
    if not reply.text.strip():
        return Score(name="similarity", value=0.0, reason="The reply is empty.")
    nearest = "the nearest expected answer" if len(case.expected.references) > 1 else "the expected answer"
    return Score(
        name="similarity",
        value=found.value,
        reason=f"Closeness to {nearest} by {found.method}: {found.value:.2f}.",
        evidence={"method": "lexical" if found.fall_back else "embedding"},
    )
