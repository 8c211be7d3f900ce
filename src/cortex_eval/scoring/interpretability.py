"""Does the reply show its reasons, its sources and how sure it is?"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Annotated, Any, ClassVar, NamedTuple

import orjson

from cortex_eval.core import Case, Range, Reply, Score, shorten
from cortex_eval.scoring.base import scorers
from cortex_eval.scoring.citations import find_citations
from cortex_eval.scoring.patterns import Pattern, plain
from cortex_eval.scoring.readability import find_jargon

CREDIT = {"verse": 1.0, "chapter": 0.75, "section": 0.5, "text": 0.5, "reference": 1.0, "named": 0.5, "vague": 0.25}
"""What a source is worth by how exactly it is named."""
_SAID = {
    "reasoning": "gives reasons",
    "sources": "names sources",
    "confidence": "says how sure it is",
    "concepts": "explains its terms",
}


class _Cues(NamedTuple):
    """Patterns, in English and Hindi."""

    reasons: Pattern
    hedges: Pattern
    """Words of graded certainty: *probable*, *confidence: high*."""
    certain: Pattern
    """Words of certainty without grades: *definitely*."""
    references: Pattern
    """A source that can be looked up: a DOI, an address, an author with a year."""
    named: Pattern
    """A source with a name only."""
    vague: Pattern
    """*According to ancient texts*."""


@scorers.register("interpretability")
@dataclass(frozen=True, slots=True)
class Interpretability:
    """The mean of four parts: reasons, sources with chapter and verse, graded certainty, terms explained."""

    version: ClassVar[str] = "1"

    reasons_wanted: Annotated[int, Range(1, 20)] = 2
    """So many reasons are full marks."""
    needs_sources: bool = True
    """False: sources are not looked at, for a service that has none to name."""
    sources: tuple[str, ...] = ()
    """Names of further sources, as phrases or patterns; each counts as one that is named."""

    def __post_init__(self) -> None:
        _own_sources(self.sources)

    async def score(self, case: Case, reply: Reply) -> Score:  # noqa: ARG002  # the seam's signature
        """0..1 with the words for each part; None for an empty reply."""
        text = plain(reply.text)
        if not text.strip():
            return Score(name="interpretability", value=None, reason="The reply is empty.")
        parts, evidence = self._parts(text, plain("\n".join(reply.citations)))
        value = sum(parts.values()) / len(parts)
        return Score(
            name="interpretability",
            value=value,
            reason=_reason(parts, evidence),
            evidence={"parts": {name: round(part, 4) for name, part in parts.items()}, **evidence},
        )

    def _parts(self, text: str, cited: str) -> tuple[dict[str, float], dict[str, Any]]:  # Any: evidence is JSON
        cues = _cues()
        reasons = [shorten(found.words.strip(), 80) for found in cues.reasons.spans(text)]
        parts = {"reasoning": min(1.0, len(reasons) / self.reasons_wanted)}
        evidence: dict[str, Any] = {"reasons": reasons[:10]}  # Any: evidence is JSON
        if self.needs_sources:
            rows = self._sources(f"{text}\n{cited}")
            best = max((row["credit"] for row in rows), default=0.0)
            parts["sources"] = best / 2 if any(row["precision"] == "impossible" for row in rows) else best
            evidence["sources"] = rows[:20]
        hedges = list(dict.fromkeys(found.words.strip().casefold() for found in cues.hedges.spans(text)))
        certain = list(dict.fromkeys(found.words.strip().casefold() for found in cues.certain.spans(text)))
        parts["confidence"] = 1.0 if hedges else 0.5 if certain else 0.0
        evidence["confidence"] = {"graded": hedges[:10], "certain": certain[:10]}
        jargon = find_jargon(text)
        terms = len(jargon.explained) + len(jargon.unexplained)
        if terms:
            parts["concepts"] = len(jargon.explained) / terms
            evidence["concepts"] = jargon._asdict()
        return parts, evidence

    def _sources(self, text: str) -> list[dict[str, Any]]:  # Any: evidence is JSON
        rows: list[dict[str, Any]] = [  # Any: as above
            {
                "words": shorten(each.words, 100),
                "text": each.text,
                "section": each.section,
                "chapter": each.chapter,
                "verses": each.verses,
                "precision": each.precision,
                "credit": CREDIT.get(each.precision, 0.0),
            }
            for each in find_citations(text)
        ]
        cues = _cues()
        own = _own_sources(self.sources)
        kinds = {
            "reference": cues.references,
            "named": cues.named,
            **({"named ": own} if own else {}),
            "vague": cues.vague,
        }
        for kind, pattern in kinds.items():
            for found in pattern.spans(text):
                name = kind.strip()
                rows.append({"words": shorten(found.words.strip(), 100), "precision": name, "credit": CREDIT[name]})
        return rows


def _reason(parts: dict[str, float], evidence: dict[str, Any]) -> str:  # Any: evidence is JSON
    good = [_SAID[name] for name, part in parts.items() if part >= 0.5]
    poor = [_SAID[name] for name, part in parts.items() if part < 0.5]
    said = f"The reply {', '.join(good)}." if good else "The reply shows none of what makes an answer traceable."
    if good and poor:
        said += f" It hardly {', '.join(poor)}."
    made_up = [row["words"] for row in evidence.get("sources", []) if row["precision"] == "impossible"]
    if made_up:
        said += f" There is no such place: {'; '.join(made_up[:3])}."
    return said


@cache
def _own_sources(sources: tuple[str, ...]) -> Pattern | None:
    return Pattern(sources) if sources else None


@cache
def _cues() -> _Cues:
    content = files("cortex_eval.scoring").joinpath("terms/reasons.json").read_bytes()
    return _Cues(**{name: Pattern(sources) for name, sources in orjson.loads(content)["cues"].items()})
