"""Does the reply rest on its passages? Claim by claim, without a language model."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from cortex_eval.core import RATE, Case, InputError, Reply, Score
from cortex_eval.scoring.base import scorers
from cortex_eval.scoring.claims import Claim, TakenApart, take_apart
from cortex_eval.scoring.embedding import can_embed, words_for_method
from cortex_eval.scoring.support import EmbeddedSupport, Question, Support, Supported, parameters
from cortex_eval.scoring.words import words

BY = ("embedded",)
"""Who may look the claims up."""
DOCUMENT_KEYS = ("documents", "source_documents", "full_documents")
"""Under which full source documents are looked for in a case's context and metadata."""
SHORTEST_DOCUMENT = 5
"""In words; less is the name of a document."""
NEVER, ALWAYS = 0.05, 0.95
"""A support at or below the first counts as none, at or above the second as full."""
LABELS = ("grounded", "paraphrased", "inferred", "hallucinated")
_STATES = {
    "empty": "The reply is empty: there is nothing to look up.",
    "refusal": "The reply does not answer, so that it claims nothing.",
    "advice": "The reply only gives standing advice, such as to see a doctor: nothing in it could be looked up.",
    "no_claim": "The reply claims nothing that could be looked up.",
    "no_passages": "There are no passages to hold the reply against.",
}


class Sources(NamedTuple):
    """What a reply may rest on."""

    passages: tuple[str, ...]
    """Those the target says it used, or else those of the case."""
    documents: tuple[str, ...]
    """Full source texts that came with the case."""

    @property
    def all(self) -> tuple[str, ...]:
        """The passages, then the documents."""
        return (*self.passages, *self.documents)


class Grounding(NamedTuple):
    """An answer with each of its claims looked up."""

    state: str
    """`claims`, or why there are none."""
    claims: tuple[Claim, ...]
    supported: tuple[Supported, ...]
    sources: Sources

    @property
    def hallucinated(self) -> int:
        """How many claims no source supports."""
        return sum(each.label == "hallucinated" for each in self.supported)


def sources_of(case: Case, reply: Reply) -> Sources:
    """The passages and documents that the reply may rest on; empty passages and mere names are left out."""
    passages = tuple(each for each in (reply.contexts or case.passages) if each.strip())
    documents: list[str] = []
    for kept in (case.context, case.metadata):
        for key in DOCUMENT_KEYS:
            documents += _texts(kept.get(key))
    return Sources(passages, tuple(each for each in dict.fromkeys(documents) if len(words(each)) >= SHORTEST_DOCUMENT))


def ground(pairs: Sequence[tuple[Case, Reply]], support: Support) -> list[Grounding]:
    """Every claim of every reply, looked up in what the reply may rest on."""
    apart: list[tuple[TakenApart, Sources]] = [
        (take_apart(reply.text), sources_of(case, reply)) for case, reply in pairs
    ]
    questions = [
        Question(claim.text, sources.all, case.input)
        for (case, _), (answer, sources) in zip(pairs, apart, strict=True)
        if sources.all
        for claim in answer.claims
    ]
    found = iter(support.support_many(questions))
    return [
        Grounding(answer.state, answer.claims, tuple(next(found) for _ in answer.claims), sources)
        if sources.all
        else Grounding("no_passages" if answer.claims else answer.state, (), (), sources)
        for answer, sources in apart
    ]


def calibrated_minimum(probabilities: Sequence[float]) -> float:
    """The chance that every claim is supported, from the least likely one and how many there are.

    The more claims, the lower the least likely one is even when all are true; this takes it back. It rises with the
    minimum, is the probability itself for a single claim, and holds an answer with an unsupported claim for as likely
    as one without.
    """
    count, least = len(probabilities), min(1 - 1e-9, max(1e-9, min(probabilities)))
    odds = least / (1 - least)
    # Bayes for the least of n values: its density is n·f₁·(1−F₁)ⁿ⁻¹ when all claims are supported, and
    # f₀·(1−F₁)ⁿ⁻¹ + (n−1)·f₁·(1−F₁)ⁿ⁻²·(1−F₀) when one is not, with f₁/f₀ the odds of a single claim.
    above = {name: 1 - _cumulated(name, math.log(odds)) for name in ("supported", "unsupported")}
    odds = count * odds / (1 + (count - 1) * odds * above["unsupported"] / above["supported"])
    chance = odds / (1 + odds)
    return 0.0 if chance <= NEVER else 1.0 if chance >= ALWAYS else chance


def _cumulated(name: str, logit: float) -> float:
    """The share of such claims whose logit lies below: a logistic distribution."""
    fitted = parameters()["answers"][name]
    return 1 / (1 + math.exp((fitted["mean"] - logit) / fitted["scale"]))


@scorers.register("faithfulness")
@dataclass(frozen=True, slots=True)
class Faithfulness:
    """The chance that everything the reply claims stands in its passages."""

    version: ClassVar[str] = "4"

    by: str = "embedded"
    use_embeddings: bool = True
    """False: compare words only."""

    def __post_init__(self) -> None:
        if self.by not in BY:
            raise InputError(f"faithfulness: by is {self.by!r}; it can be {', '.join(BY)}.")

    @property
    def fingerprint(self) -> str:
        """Whether meanings or only words can be compared here, and with what parameters."""
        return fingerprint_of(self.use_embeddings)

    @property
    def scores_by(self) -> str:
        """The embedding model, or words."""
        return words_for_method(wants_meanings=self.use_embeddings, has_model=can_embed())

    async def score(self, case: Case, reply: Reply) -> Score:
        """0..1; None when nothing is claimed or there is nothing to hold it against."""
        return (await asyncio.to_thread(self.score_batch, [(case, reply)]))[0]

    def score_batch(self, pairs: Sequence[tuple[Case, Reply]]) -> list[Score]:
        """One score for each pair; all texts are embedded together."""
        return [_faithfulness(each) for each in ground(pairs, EmbeddedSupport(self.use_embeddings))]


@scorers.register("hallucination_rate")
@dataclass(frozen=True, slots=True)
class HallucinationRate:
    """The share of the reply's claims that no source supports; reports show this rate, of which less is better."""

    version: ClassVar[str] = "4"

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
        """The rate as its measure and 1 − rate as its value; None when there is nothing to look up, or nowhere."""
        return (await asyncio.to_thread(self.score_batch, [(case, reply)]))[0]

    def score_batch(self, pairs: Sequence[tuple[Case, Reply]]) -> list[Score]:
        """One score for each pair; all texts are embedded together."""
        return [_hallucination_rate(each) for each in ground(pairs, EmbeddedSupport(self.use_embeddings))]


def _faithfulness(found: Grounding) -> Score:
    if not found.supported:
        return _not_applicable("faithfulness", found)
    worst = min(range(len(found.supported)), key=lambda i: found.supported[i].probability)
    value = calibrated_minimum([each.probability for each in found.supported])
    reason = _in_words(value, found.supported[worst], shortened(found.claims[worst].text), len(found.claims))
    return Score(name="faithfulness", value=value, reason=reason, evidence=evidence_of(found))


def _in_words(value: float, least: Supported, quote: str, count: int) -> str:
    """What a value says of the claims; below 1 it is a chance, and the reason does not promise more."""
    why = f" ({least.conflicts[0]})" if least.conflicts else ""
    if least.label == "hallucinated" or value < 0.5:
        return f"{f'Least supported of {count} claims' if count > 1 else 'Not in the passages'}: “{quote}”{why}."
    what = "The claim is" if count == 1 else f"All {count} claims are"
    if value == 1:
        return f"{what} in the passages."
    return f"{what} probably in the passages: a chance of {value:.2f}, by “{quote}”{why}."


def _hallucination_rate(found: Grounding) -> Score:
    if not found.supported:
        return _not_applicable("hallucination_rate", found)
    count = len(found.supported)
    rate = found.hallucinated / count
    unsupported = [
        shortened(claim.text)
        for claim, each in zip(found.claims, found.supported, strict=True)
        if each.label == "hallucinated"
    ]
    if count == 1:
        reason = "The claim is not in the passages" if unsupported else "The claim is in the passages"
    else:
        reason = f"{len(unsupported)} of {count} claims {'is' if len(unsupported) == 1 else 'are'} not in the passages"
    reason += f": “{unsupported[0]}”." if unsupported else "."
    return Score(
        name="hallucination_rate",
        value=1 - rate,
        reason=reason,
        evidence=evidence_of(found),
        measure=rate,
        unit=RATE,
        direction="lower",
    )


def _not_applicable(name: str, found: Grounding) -> Score:
    return Score(name=name, value=None, reason=_STATES[found.state], evidence={"state": found.state})


def evidence_of(found: Grounding) -> dict[str, Any]:  # Any: JSON
    """Every claim with its label, its support and the words that it was held against."""
    labels: Counter[str] = Counter(each.label for each in found.supported)
    methods = sorted({each.method for each in found.supported})
    return {
        "state": "claims",
        "method": methods[0] if len(methods) == 1 else "mixed",
        "labels": {label: labels[label] for label in LABELS},
        "claims": [
            {
                "claim": claim.text,
                "start": claim.start,
                "end": claim.end,
                "label": each.label,
                "support": round(each.probability, 4),
                "conflicts": list(each.conflicts),
                "evidence": _place(each, found.sources),
            }
            for claim, each in zip(found.claims, found.supported, strict=True)
        ],
    }


def _place(each: Supported, sources: Sources) -> dict[str, Any] | None:  # Any: JSON
    if each.evidence is None:
        return None
    number = each.evidence.passage
    in_passages = number < len(sources.passages)
    return {
        "in": "passage" if in_passages else "document",
        "number": number if in_passages else number - len(sources.passages),
        "start": each.evidence.start,
        "end": each.evidence.end,
        "text": each.evidence.text,
    }


def _texts(value: Any) -> list[str]:  # Any: what people put into a context
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return _texts(value.get("text") or value.get("content"))
    if isinstance(value, list | tuple):
        return [text for each in value for text in _texts(each)]
    return []


def fingerprint_of(use_embeddings: bool) -> str:
    """Whether meanings or only words can be compared here, and with what parameters."""
    method = "embedding" if use_embeddings and can_embed() else "lexical"
    return f"{method} {parameters()['version']}"


def shortened(text: str, limit: int = 120) -> str:
    """The beginning of a long claim."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"
