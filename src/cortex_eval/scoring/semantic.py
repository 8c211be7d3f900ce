"""Is the reply about what was asked?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from cortex_eval.core import Case, Reply, Score
from cortex_eval.scoring.base import scorers
from cortex_eval.scoring.embedding import load_embedder
from cortex_eval.scoring.similarity import ByMeaning, why_words
from cortex_eval.scoring.words import content_words, words

_SHOWN = {"question": "to the question", "expected": "to the expected answer"}


class _Closeness(NamedTuple):
    question: float | None
    expected: float | None
    fall_back: str = ""
    """Why words were compared and not meanings."""


@scorers.register("relevance")
@dataclass(frozen=True, slots=True)
class Relevance(ByMeaning):
    """How close in meaning the reply is to the question, or to an expected answer, whichever is closer."""

    def score_batch(self, pairs: Sequence[tuple[Case, Reply]]) -> list[Score]:
        """One score for each pair; all texts are embedded together."""
        reasons = [self._reason_for_words(case, reply) for case, reply in pairs]
        embedded = [pair for pair, reason in zip(pairs, reasons, strict=True) if not reason]
        by_meaning = iter(self._compare_meanings(embedded))
        return [
            _to_score(case, reply, _compare_words(case, reply, reason) if reason else next(by_meaning))
            for (case, reply), reason in zip(pairs, reasons, strict=True)
        ]

    def _reason_for_words(self, case: Case, reply: Reply) -> str:
        return why_words(
            self.embedding_model,
            wanted=self.use_embedding_similarity,
            languages=(case.language, reply.language),
            texts=(case.input, reply.text, *case.expected.references),
        )

    def _compare_meanings(self, pairs: Sequence[tuple[Case, Reply]]) -> list[_Closeness]:
        if not pairs:
            return []
        texts = list(
            dict.fromkeys(text for case, reply in pairs for text in (case.input, reply.text, *case.expected.references))
        )
        vectors = dict(zip(texts, load_embedder(self.embedding_model).embed(texts), strict=True))
        return [
            _Closeness(
                question=float(vectors[case.input] @ vectors[reply.text]) if case.input.strip() else None,
                expected=max(
                    (float(vectors[each] @ vectors[reply.text]) for each in case.expected.references if each.strip()),
                    default=None,
                ),
            )
            for case, reply in pairs
        ]


def _compare_words(case: Case, reply: Reply, reason: str) -> _Closeness:
    """The share of the question's words in the reply, and the words in common with the expected answer (Dice)."""
    found, asked = content_words(reply.text), content_words(case.input)
    wanted = [content_words(reference) for reference in case.expected.references]
    return _Closeness(
        question=len(asked & found) / len(asked) if asked else None,
        expected=max((2 * len(each & found) / (len(each) + len(found)) for each in wanted if each), default=None),
        fall_back=reason,
    )


def _to_score(case: Case, reply: Reply, closeness: _Closeness) -> Score:
    if not reply.text.strip():
        return Score(name="relevance", value=0.0, reason="The reply is empty.")
    figures = {"question": closeness.question, "expected": closeness.expected}
    echo = words(reply.text) == words(case.input)
    if echo:  # nothing is closer to a question than the question itself, and nothing answers it less
        figures["question"] = 0.0
    known = {name: figure for name, figure in figures.items() if figure is not None}
    method = f"shared words (lexical fall-back: {closeness.fall_back})" if closeness.fall_back else "meaning"
    evidence = {
        "method": "lexical" if closeness.fall_back else "embedding",
        **{name: round(figure, 4) for name, figure in known.items()},
    }
    if not known:
        return Score(
            name="relevance", value=None, reason=f"There is nothing to compare by {method}.", evidence=evidence
        )
    shown = ", ".join(f"{figure:.2f} {_SHOWN[name]}" for name, figure in known.items())
    note = " The reply only repeats the question." if echo else ""
    return Score(
        name="relevance",
        value=min(1.0, max(0.0, *known.values())),
        reason=f"Closeness by {method}: {shown}.{note}",
        evidence=evidence,
    )
