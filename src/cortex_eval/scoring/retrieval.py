"""Was what should be found retrieved, and does it stand before the rest?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from cortex_eval.core import Case, Range, Reply, Score
from cortex_eval.scoring.base import scorers
from cortex_eval.scoring.retrieved import Retrieved, are_names, folded, names_in, retrieved_for
from cortex_eval.scoring.words import content_words, words

REFERENCE_TEXTS = "reference_contexts"
"""A column of the dataset that holds what should be retrieved, as Ragas calls it; without it the passages are that."""
REFERENCE_IDS = "reference_context_ids"
FEWEST_WORDS = 5
"""A shorter text counts as this long where words are shared: two words in common are an accident."""
NOTHING_RETRIEVED = "The reply does not say what was retrieved: it has no contexts."
CONTEXTS_OF = "contexts_of"
"""In the metadata of a reply, `case`: its contexts are the passages of the case (`targets/own_replies.py` says so)."""
NOTHING_TO_COMPARE = (
    "The row holds only what was retrieved: without reference_contexts or reference_context_ids it would be compared "
    "with itself."
)
SHOWN = 60
"""Characters of a passage in the evidence."""


class Comparison(NamedTuple):
    """What should be retrieved beside what was; by name or by text."""

    by: Literal["ids", "text"]
    wanted: tuple[str, ...]
    retrieved: tuple[str, ...]
    matches: tuple[tuple[bool, ...], ...]
    """For each that was retrieved, in order: which of the wanted ones it is."""

    @property
    def found(self) -> tuple[bool, ...]:
        """Of each wanted one, whether it was retrieved."""
        return tuple(any(row[place] for row in self.matches) for place in range(len(self.wanted)))

    @property
    def relevant(self) -> tuple[bool, ...]:
        """Of each that was retrieved, whether it was wanted."""
        return tuple(any(row) for row in self.matches)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Compares:
    """The settings of both scorers."""

    min_overlap: Annotated[float, Range(0.05, 1)] = 0.5
    """Share of its words that the shorter of two texts has in common with the other, to be the same passage."""
    ids: str = REFERENCE_IDS
    """The column of the dataset with the ids of what should be retrieved."""
    required: bool = False
    """True: a reply for which nothing was retrieved is 0, for a target that always says what it retrieved."""

    def compare(self, case: Case, reply: Reply) -> Comparison | str:
        """What is compared with what; or, in words, what is missing for that."""
        ids, texts = names_in(case.metadata.get(self.ids)), _reference_texts(case)
        if are_names(texts):
            ids, texts = ids or tuple(map(folded, texts)), ()
        if not ids and REFERENCE_TEXTS not in case.metadata and reply.metadata.get(CONTEXTS_OF) == "case":
            return NOTHING_TO_COMPARE
        if not ids and not texts:
            return f"The case does not say what should be retrieved: it has no passages and no {self.ids}."
        found = retrieved_for(case, reply)
        if found.of == "case":
            return NOTHING_RETRIEVED
        if ids and found.names:
            return _by_ids(ids, found)
        if texts and found.texts:
            return _by_text(texts, found, self.min_overlap)
        return "What should be retrieved and what was cannot be compared: one has only ids, the other only texts."


@scorers.register("context_recall")
@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRecall(_Compares):
    """Of what should be retrieved, the share that was."""

    version: ClassVar[str] = "2"

    async def score(self, case: Case, reply: Reply) -> Score:
        """0..1; None when it is not known what should be retrieved, or what was."""
        compared = self.compare(case, reply)
        if isinstance(compared, str):
            return _not_known("context_recall", compared, is_zero=self.required)
        found = compared.found
        missing = [_beginning(name) for name, is_there in zip(compared.wanted, found, strict=True) if not is_there]
        reason = f"{sum(found)} of {len(found)} wanted {_passages(len(found))} retrieved"
        reason += f"; missing: {'; '.join(missing[:3])}." if missing else "."
        return Score(name="context_recall", value=sum(found) / len(found), reason=reason, evidence=_evidence(compared))


@scorers.register("context_precision")
@dataclass(frozen=True, slots=True, kw_only=True)
class ContextPrecision(_Compares):
    """Average precision: whether what was wanted stands before what was not."""

    version: ClassVar[str] = "2"

    async def score(self, case: Case, reply: Reply) -> Score:
        """0..1; None when it is not known what should be retrieved, or what was."""
        compared = self.compare(case, reply)
        if isinstance(compared, str):
            return _not_known("context_precision", compared, is_zero=self.required)
        relevant = compared.relevant
        ranks = [rank for rank, is_wanted in enumerate(relevant, 1) if is_wanted]
        reason = f"{len(ranks)} of {len(relevant)} retrieved {_passages(len(relevant))} wanted"
        reason += f", at rank {', '.join(map(str, ranks))}." if ranks else "."
        return Score(
            name="context_precision", value=average_precision(relevant), reason=reason, evidence=_evidence(compared)
        )


def average_precision(relevant: Sequence[bool]) -> float:
    """The mean of precision@k over the ranks k of the relevant ones; 0 when none is relevant.

    As Ragas has it (`NonLLMContextPrecisionWithReference`): what was not retrieved is no matter here, but of recall.
    """
    precisions = [sum(relevant[:rank]) / rank for rank, is_relevant in enumerate(relevant, 1) if is_relevant]
    return sum(precisions) / len(precisions) if precisions else 0.0


def overlap(wanted: str, retrieved: str) -> float:
    """How much of the shorter text is in the other: 1 when the wanted text stands in it, else the share of its words.

    Distinct words without the commonest ones (Szymkiewicz 1934, Simpson 1943: the overlap coefficient), so that a chunk
    that was cut smaller or larger than the passage is still that passage.
    """
    if f" {_running(wanted)} " in f" {_running(retrieved)} ":
        return 1.0
    first, second = _content(wanted), _content(retrieved)
    return len(first & second) / max(FEWEST_WORDS, min(len(first), len(second)))


def _by_ids(ids: tuple[str, ...], found: Retrieved) -> Comparison:
    matches = tuple(tuple(each in names for each in ids) for names in found.names)
    return Comparison("ids", ids, tuple(names[0] if names else "" for names in found.names), matches)


def _by_text(wanted: tuple[str, ...], found: Retrieved, min_overlap: float) -> Comparison:
    matches = tuple(tuple(overlap(each, text) >= min_overlap for each in wanted) for text in found.texts)
    return Comparison("text", wanted, found.texts, matches)


def _reference_texts(case: Case) -> tuple[str, ...]:
    listed: Any = case.metadata.get(REFERENCE_TEXTS)  # Any: what people put into a column
    texts = [listed] if isinstance(listed, str) else listed if isinstance(listed, list | tuple) else case.passages
    return tuple(each for each in texts if isinstance(each, str) and words(each))


def _not_known(name: str, why: str, *, is_zero: bool) -> Score:
    if is_zero and why == NOTHING_RETRIEVED:
        return Score(name=name, value=0.0, reason="Nothing was retrieved.")
    return Score(name=name, value=None, reason=why)


def _evidence(compared: Comparison) -> Mapping[str, Any]:  # Any: JSON
    return {
        "by": compared.by,
        "wanted": [
            {"passage": _beginning(each), "retrieved": is_there}
            for each, is_there in zip(compared.wanted, compared.found, strict=True)
        ],
        "retrieved": [
            {"passage": _beginning(each), "wanted": is_wanted}
            for each, is_wanted in zip(compared.retrieved, compared.relevant, strict=True)
        ],
    }


def _beginning(text: str) -> str:
    return text if len(text) <= SHOWN else text[: SHOWN - 1].rstrip() + "…"


def _passages(count: int) -> str:
    return "passage was" if count == 1 else "passages were"


@lru_cache(maxsize=512)
def _content(text: str) -> frozenset[str]:
    return frozenset(content_words(text))


@lru_cache(maxsize=512)
def _running(text: str) -> str:
    return " ".join(words(text))
