"""Cases that passed although a scorer failed them: what a green run may hide."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from cortex_eval.analysis.patterns_causes import WORDING
from cortex_eval.analysis.patterns_read import first_sentence
from cortex_eval.core import Result, RunRecord

CASES_KEPT = 5
"""Of each scorer; their count is always exact."""
SEVERITIES = ("critical", "high", "medium", "low")
GRAVE = SEVERITIES[:2]
_REASON_KEPT = 120
_SHOWN_ONLY = frozenset({"performance"})
"""Kinds that say nothing of what was replied."""
_DEGREES = """
    coherence completeness confidence context_precision context_recall interpretability readability relevance
    similarity speech summary translation
"""
_BY_DEGREE = (WORDING - {"contains", "exact"}) | frozenset(_DEGREES.split())
"""Kinds that measure how much, for a mean: with less than the passing threshold nothing is wrong yet."""
Scores = Mapping[str, Mapping[str, Any]]  # Any: JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class Overruled:
    """A scorer that failed cases which passed all the same."""

    scorer: str
    count: int
    cases: tuple[str, ...]
    """The first of them; the one with the gravest finding first."""
    weight: float
    """Its share in the overall score of a case that all scorers apply to."""
    lacks_weight: bool = False
    """It weighs nothing because `metric_weights` does not name it, and not because somebody wanted that."""
    severity: str = ""
    """Of the gravest finding, where the scorer has findings as `safety` does; empty: it has none."""
    finding: str = ""
    """That finding in words."""

    @property
    def is_grave(self) -> bool:
        """Whether a rule of severity high or critical was broken."""
        return self.severity in GRAVE


@dataclass(frozen=True, slots=True, kw_only=True)
class LetThrough:
    """Cases that passed although a scorer failed them."""

    count: int
    """Of the cases, each once."""
    scorers: tuple[Overruled, ...]
    """The gravest findings first, then those that failed most cases."""

    @property
    def is_grave(self) -> bool:
        """Whether one of them broke a rule of severity high or critical."""
        return any(each.is_grave for each in self.scorers)


class _Finding(NamedTuple):
    rank: int
    ordinal: int = 0
    case: str = ""
    severity: str = ""
    words: str = ""


_NO_FINDING = _Finding(len(SEVERITIES))


class _Entry:
    """What one scorer failed."""

    def __init__(self) -> None:
        self.count = 0
        self.cases: list[tuple[int, str]] = []
        """The first in the dataset, whatever the order of asking."""
        self.gravest = _NO_FINDING


class LetThroughs:
    """Takes the scores of cases that passed while one of them did not."""

    def __init__(self, run: RunRecord) -> None:
        planned = run.manifest.get("scorers")
        self._planned: Mapping[str, Mapping[str, Any]] = planned if isinstance(planned, Mapping) else {}
        self._weights = sum(float(each.get("weight", 1.0)) for each in self._planned.values())
        self._lacking = frozenset(run.manifest.get("unweighted", ()))
        self._threshold = float(run.manifest.get("passing_threshold", 0.7))
        self._count = 0
        self._entries: dict[str, _Entry] = {}

    def look_at(self, row: Result, scores: Scores) -> None:
        """The usual case, of one result that passed: in few of them a scorer failed."""
        for score in scores.values():  # takes half as long as a search through the text
            if score.get("passed") is False:
                self.add(row, (scores,))
                return

    def add(self, row: Result, turns: Iterable[Scores]) -> None:
        """One more case that passed, by any of its results; `turns`: the scores of those in which one failed."""
        failed: set[str] = set()
        for scores in turns:
            for name, score in scores.items():
                if score.get("passed") is not False or not self._matters(name, score):
                    continue
                entry = self._entries.get(name)
                if entry is None:
                    entry = self._entries[name] = _Entry()
                if name not in failed:
                    failed.add(name)
                    entry.count += 1
                    insort(entry.cases, (row.ordinal, row.case_id))
                    del entry.cases[CASES_KEPT:]
                entry.gravest = min(entry.gravest, _gravest(score, row))
        self._count += bool(failed)

    def summed(self) -> LetThrough | None:
        """What was found; None: nothing."""
        if not self._count:
            return None
        found = [self._overruled(name, entry) for name, entry in self._entries.items()]
        return LetThrough(
            count=self._count,
            scorers=tuple(sorted(found, key=lambda each: (_rank(each.severity), -each.count))),
        )

    def _matters(self, name: str, score: Mapping[str, Any]) -> bool:
        """Whether a reader of a green run should know of it: not what is only shown, nor what is a matter of degree."""
        planned = self._planned.get(name, {})
        kind, value = planned.get("kind", name), score.get("value")
        if kind in _SHOWN_ONLY:
            return False
        if planned.get("weight", 1.0) == 0 and name not in self._lacking:  # somebody wanted it so
            return _gravest(score).severity in GRAVE
        is_degree = kind in _BY_DEGREE and planned.get("threshold") is None
        return not (is_degree and value is not None and 0 < value < self._threshold)

    def _overruled(self, name: str, entry: _Entry) -> Overruled:
        first = entry.gravest.case
        cases = (*([first] if first else []), *(case for _, case in entry.cases if case != first))
        return Overruled(
            scorer=name,
            count=entry.count,
            cases=cases[:CASES_KEPT],
            weight=float(self._planned.get(name, {}).get("weight", 1.0)) / max(1.0, self._weights),
            lacks_weight=name in self._lacking,
            severity=entry.gravest.severity,
            finding=entry.gravest.words,
        )


def _gravest(score: Mapping[str, Any], row: Result | None = None) -> _Finding:
    """The worst of what a scorer found in a reply, if it finds such things."""
    evidence = score.get("evidence")
    findings = evidence.get("findings") if isinstance(evidence, Mapping) else None
    ordinal, case = (row.ordinal, row.case_id) if row else (0, "")
    told = [
        _Finding(_rank(severity), ordinal, case, severity, first_sentence(str(each.get("reason", "")), _REASON_KEPT))
        for each in (findings if isinstance(findings, list) else ())
        if isinstance(each, Mapping) and (severity := str(each.get("severity", "")))
    ]
    return min(told, default=_NO_FINDING)


def _rank(severity: str) -> int:
    return SEVERITIES.index(severity) if severity in SEVERITIES else len(SEVERITIES)
