"""Scorers of this project's own for translations: chrF with conditions, and negations that must survive."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from cortex_eval import Case, Reply, Score, changed, scorer, scorers

NEGATIONS = {
    "hi": re.compile(r"(?:^|\s)(?:न|ना|मत|नहीं|बिना)(?=[\s,।?]|$)"),
    "es": re.compile(r"\b(?:no|nunca|sin|ningún|ninguna)\b", re.IGNORECASE),
}


@scorers.register("translated")
@dataclass(frozen=True, slots=True)
class Translated:
    """How close the translation is to the reference, letter by letter (chrF); words left in English fail it."""

    strict_numbers: bool = True
    max_untranslated: float = 0.1

    def score_batch(self, pairs: Sequence[tuple[Case, Reply]]) -> list[Score]:
        """chrF of each translation; None, with the reason, when the service says that it has no engine for it."""
        inner = scorers.build("translation", {"strict_numbers": self.strict_numbers})
        scores = inner.score_batch(pairs)  # type: ignore[union-attr]  # the one that is built here works in batches
        return [self._looked_at(reply, score) for (_, reply), score in zip(pairs, scores, strict=True)]

    def _looked_at(self, reply: Reply, score: Score) -> Score:
        if skipped := reply.metadata.get("skipped"):
            return Score(name="translated", value=None, reason=str(skipped))
        left = (score.evidence or {}).get("untranslated") or 0.0
        return changed(score, passed=False) if left > self.max_untranslated else score


@scorer
def negation(case: Case, reply: Reply) -> Score | None:
    """1 when the translation still says "not" where the reference does; a lost "not" costs chrF next to nothing."""
    said_no = NEGATIONS.get(case.language or "")
    if said_no is None or reply.metadata.get("skipped") or not any(map(said_no.search, case.expected.references)):
        return None
    kept = said_no.search(reply.text) is not None
    return Score(name="negation", value=float(kept), reason="" if kept else "The negation is lost.")
