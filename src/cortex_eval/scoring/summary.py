"""Is the reply a good summary? What it says stands in the source, and what the references say stands in it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from cortex_eval.core import Case, Reply, Score
from cortex_eval.scoring.base import scorers
from cortex_eval.scoring.embedding import MiniLM, Tokens, can_embed, load_embedder, words_for_method
from cortex_eval.scoring.grounding import Grounding, evidence_of, fingerprint_of, ground, shortened
from cortex_eval.scoring.overlap import rouge_l
from cortex_eval.scoring.support import EmbeddedSupport, reads_as_english


@scorers.register("summary")
@dataclass(frozen=True, slots=True)
class Summary:
    """Half how far the source supports the reply's claims, half how close the reply is to a reference summary."""

    version: ClassVar[str] = "3"

    use_embeddings: bool = True
    """False: compare words only."""

    @property
    def fingerprint(self) -> str:
        """As for faithfulness."""
        return fingerprint_of(self.use_embeddings)

    @property
    def scores_by(self) -> str:
        """The embedding model, or words."""
        return words_for_method(wants_meanings=self.use_embeddings, has_model=can_embed())

    async def score(self, case: Case, reply: Reply) -> Score:
        """0..1; None when there is neither a source nor a reference."""
        return (await asyncio.to_thread(self.score_batch, [(case, reply)]))[0]

    def score_batch(self, pairs: Sequence[tuple[Case, Reply]]) -> list[Score]:
        """One score for each pair; all texts are embedded together."""
        grounded = ground(pairs, EmbeddedSupport(self.use_embeddings))
        closest = self._closest(pairs)
        return [
            _to_score(reply, found, close) for (_, reply), found, close in zip(pairs, grounded, closest, strict=True)
        ]

    def _closest(self, pairs: Sequence[tuple[Case, Reply]]) -> list[tuple[float, str] | None]:
        """The best match with a reference of each pair, and by what; None without one."""
        compared = [(reply.text, [each for each in case.expected.references if each.strip()]) for case, reply in pairs]
        by_meaning = self.use_embeddings and can_embed()
        readable = [by_meaning and all(map(reads_as_english, (text, *wanted))) for text, wanted in compared]
        texts = [
            text for (own, wanted), is_so in zip(compared, readable, strict=True) if is_so for text in (own, *wanted)
        ]
        tokens = _tokens(list(dict.fromkeys(texts)))
        found: list[tuple[float, str] | None] = []
        for (text, wanted), is_so in zip(compared, readable, strict=True):
            if not wanted:
                found.append(None)
            elif is_so:
                found.append((max(matched(tokens[text], tokens[each]) for each in wanted), "embedding"))
            else:
                found.append((max(rouge_l(text, each) for each in wanted), "lexical"))
        return found


def matched(one: Tokens, other: Tokens) -> float:
    """F1 of two texts whose word pieces are each matched with the closest of the other's.

    Zhang et al. 2020, *BERTScore*, eq. 1–3, without weights by rarity and without rescaling; on MiniLM's last layer.
    """
    closeness = one.pieces @ other.pieces.T
    precision, recall = float(closeness.max(axis=1).mean()), float(closeness.max(axis=0).mean())
    return max(0.0, 2 * precision * recall / (precision + recall)) if precision + recall > 0 else 0.0


def _tokens(texts: Sequence[str]) -> Mapping[str, Tokens]:
    if not texts:
        return {}  # nor need the model be loaded
    embedder = load_embedder()
    assert isinstance(embedder, MiniLM)
    return dict(zip(texts, embedder.embed_tokens(texts), strict=True))


def _to_score(reply: Reply, found: Grounding, close: tuple[float, str] | None) -> Score:
    if not reply.text.strip():
        return Score(name="summary", value=0.0, reason="The reply is empty.")
    parts: dict[str, float] = {}
    if found.supported:
        parts["support"] = sum(each.probability for each in found.supported) / len(found.supported)
    if close is not None:
        parts["closeness"] = close[0]
    if not parts:
        return Score(name="summary", value=None, reason="There is neither a source nor a reference summary.")
    said = []
    if found.supported:
        least = min(range(len(found.supported)), key=lambda i: found.supported[i].probability)
        said.append(f"{parts['support']:.2f} of what it says is in the source")
        if found.supported[least].label == "hallucinated":
            said[-1] += f", least of all “{shortened(found.claims[least].text)}”"
    if close is not None:
        said.append(
            f"{close[0]:.2f} close to the nearest reference by {'meaning' if close[1] == 'embedding' else 'words'}"
        )
    evidence = {name: round(value, 4) for name, value in parts.items()}
    return Score(
        name="summary",
        value=min(1.0, sum(parts.values()) / len(parts)),
        reason=f"{'; '.join(said)}.",
        evidence={**evidence, **({"grounding": evidence_of(found)} if found.supported else {})},
    )
