"""Does a conversation hang together: does each reply keep to the subject and to what was said before?"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, NamedTuple

from cortex_eval.core import Case, Level, Range, Reply, Score
from cortex_eval.scoring.base import scorers
from cortex_eval.scoring.conversations import carried_share
from cortex_eval.scoring.embedding import (
    HOW_TO_INSTALL,
    MINILM,
    can_embed,
    embedders,
    load_embedder,
    words_for_method,
)
from cortex_eval.scoring.words import content_words, share_of_latin, words

LATIN_NEEDED = 0.8
COSINES = (0.05, 0.40)
"""From nothing in common to plainly on the subject. In 90 dialogues between people and a booking service (Schema-Guided
Dialogue) the mean is 0.33, with replies of other dialogues of the same service 0.22, between unrelated texts 0.05."""
SHARES = (0.0, 0.40)
"""The same for the share of a reply's words that were said before."""


class _Closeness(NamedTuple):
    values: dict[int, float]
    """Turn → how close its reply is to what it answers, 0..1."""
    fall_back: str = ""


@scorers.register("coherence")
@dataclass(frozen=True, slots=True)
class Coherence:
    """How well the replies keep to the subject, and to the entities of the turns before."""

    level: ClassVar[Level] = "case"
    version: ClassVar[str] = "1"

    carried_weight: Annotated[float, Range(0, 1)] = 0.5
    """Share of the carried entities in the value, where there are any to carry."""
    use_embedding_similarity: bool = True
    """False: compare words, not meanings."""
    embedding_model: str = MINILM

    def __post_init__(self) -> None:
        embedders.find(self.embedding_model)  # an unknown name is told before anything runs

    @property
    def fingerprint(self) -> str:
        """Whether meanings or only words can be compared here."""
        return "embedding" if self._can_embed() else "lexical"

    @property
    def scores_by(self) -> str:
        """The embedding model, or words."""
        return words_for_method(wants_meanings=self.use_embedding_similarity, has_model=self._can_embed())

    async def score_case(self, case: Case, replies: Sequence[Reply]) -> Score:
        """0..1; None for a single turn, and where nothing can be compared."""
        if len(replies) + len(case.history) < 2:
            return Score(name="coherence", value=None, reason="A single turn is not a conversation.")
        carried = {
            turn: share for turn in range(len(replies)) if (share := carried_share(case, replies, turn)) is not None
        }
        close = await asyncio.to_thread(self._closeness, case, replies)
        subject = _mean(close.values)
        kept = _mean(carried)
        if subject is None and kept is None:
            return Score(name="coherence", value=None, reason="There is neither text nor an entity to compare.")
        weight = 0.0 if kept is None else 1.0 if subject is None else self.carried_weight
        value = (1 - weight) * (subject or 0.0) + weight * (kept or 0.0)
        method = "lexical" if close.fall_back else "embedding"
        evidence = {
            "method": None if subject is None else method,
            "subject": None if subject is None else round(subject, 4),
            "carried": None if kept is None else round(kept, 4),
            "turns": [
                {"turn": turn, "subject": _rounded(close.values.get(turn)), "carried": _rounded(carried.get(turn))}
                for turn in range(len(replies))
            ],
        }
        return Score(name="coherence", value=value, reason=_reason(subject, kept, close), evidence=evidence)

    def _can_embed(self) -> bool:
        is_minilm = self.embedding_model.endswith("all-MiniLM-L6-v2")
        return self.use_embedding_similarity and (can_embed() or not is_minilm)

    def _closeness(self, case: Case, replies: Sequence[Reply]) -> _Closeness:
        """How close each reply is to its turn, and to its turn together with the reply before it."""
        spoken = [turn for turn, reply in enumerate(replies) if reply.text.strip()]
        if not spoken:
            return _Closeness({})
        fall_back = self._reason_for_words(case, replies)
        raw = self._shares_of_words(case, replies, spoken) if fall_back else self._cosines(case, replies, spoken)
        low, high = SHARES if fall_back else COSINES
        values = {turn: min(1.0, max(0.0, (found - low) / (high - low))) for turn, found in raw.items()}
        seen: set[tuple[str, ...]] = set()
        for turn in spoken:  # a bot that says the same thing over and over is close to everything
            said = tuple(words(replies[turn].text))
            if said in seen:
                values[turn] = 0.0
            seen.add(said)
        return _Closeness(values, fall_back)

    def _reason_for_words(self, case: Case, replies: Sequence[Reply]) -> str:
        if not self.use_embedding_similarity:
            return "use_embedding_similarity is off"
        if not self._can_embed():
            return f"the embedding model is not installed: {HOW_TO_INSTALL}"
        if case.language and not case.language.casefold().startswith("en"):
            return f"the embedding model reads English only, and the language is {case.language}"
        text = " ".join([*(turn.text for turn in case.turns), *(reply.text for reply in replies)])
        share = share_of_latin(text)
        if share is not None and share < LATIN_NEEDED:
            return "the embedding model reads English only, and the text is in another script"
        return ""

    def _cosines(self, case: Case, replies: Sequence[Reply], spoken: Sequence[int]) -> dict[int, float]:
        asked = [case.turns[turn].text for turn in spoken]
        in_context = [f"{_reply_before(case, replies, turn)} {case.turns[turn].text}".strip() for turn in spoken]
        answered = [replies[turn].text for turn in spoken]
        vectors = load_embedder(self.embedding_model).embed([*asked, *in_context, *answered])
        n = len(spoken)
        return {
            turn: (float(vectors[2 * n + i] @ vectors[i]) + float(vectors[2 * n + i] @ vectors[n + i])) / 2
            for i, turn in enumerate(spoken)
        }

    def _shares_of_words(self, case: Case, replies: Sequence[Reply], spoken: Sequence[int]) -> dict[int, float]:
        said = content_words(" ".join(turn.text for turn in case.history))
        shares = {}
        for turn, reply in enumerate(replies):
            said |= content_words(case.turns[turn].text)
            own = content_words(reply.text)
            if turn in spoken:
                shares[turn] = len(own & said) / len(own) if own else 0.0
            said |= own
        return shares


def _reply_before(case: Case, replies: Sequence[Reply], turn: int) -> str:
    if turn:
        return replies[turn - 1].text
    return case.history[-1].text if case.history else ""


def _reason(subject: float | None, kept: float | None, close: _Closeness) -> str:
    parts = []
    if subject is not None:
        parts.append(f"Replies keep to the subject at {subject:.2f}")
    if kept is not None:
        parts.append(f"{'entities' if parts else 'Entities'} of earlier turns are kept at {kept:.2f}")
    note = f" Shared words were compared (lexical fall-back: {close.fall_back})." if close.fall_back else ""
    return "; ".join(parts) + "." + note


def _mean(values: dict[int, float]) -> float | None:
    return sum(values.values()) / len(values) if values else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
