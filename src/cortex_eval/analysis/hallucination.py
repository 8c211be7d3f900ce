"""How much of what a run's replies claim stands in no source: over all claims, and over all replies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from cortex_eval.core import Result
from cortex_eval.stats import Estimate, estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Hallucination:
    """Hallucinated claims of one scorer over a whole run."""

    claims: int
    hallucinated: int
    rate: float
    """Hallucinated claims of all claims: a long reply weighs more than a short one."""
    low: float
    high: float
    """Its 95 % interval, which knows that the claims of one reply go together."""
    replies: int
    """Replies that claim something."""
    with_any: int
    """Of these, the ones with at least one hallucinated claim."""
    any_rate: float
    any_low: float
    any_high: float
    labels: Mapping[str, int] = field(default_factory=dict)
    """Claims by label: grounded, paraphrased, inferred, hallucinated."""
    states: Mapping[str, int] = field(default_factory=dict)
    """Replies without a claim by why: refusal, advice, no_claim, empty, no_passages."""


class PooledRate(NamedTuple):
    """Hallucinations over a whole run."""

    rate: Estimate
    """Hallucinated claims of all claims; the interval knows that the claims of one answer go together."""
    answers_with_any: Estimate
    """Answers with at least one hallucinated claim, of those that claim something."""
    claims: int
    hallucinated: int


class Hallucinations:
    """Notes the claims of each result that goes by; only counts are kept."""

    def __init__(self) -> None:
        self._answers: dict[str, list[tuple[int, int]]] = {}
        self._labels: dict[str, Counter[str]] = {}
        self._states: dict[str, Counter[str]] = {}

    def note(self, row: Result, scores: Mapping[str, dict[str, Any]], reply: object = None) -> None:  # noqa: ARG002
        """Add one result: those of its scores whose evidence labels claims, or says why there are none."""
        if b'"state":' not in row.scores_json:
            return
        for name, score in scores.items():
            evidence = score.get("evidence")
            if not isinstance(evidence, dict) or "state" not in evidence:
                continue
            labels = evidence.get("labels")
            if isinstance(labels, dict) and "hallucinated" in labels:
                self._answers.setdefault(name, []).append((labels["hallucinated"], sum(labels.values())))
                self._labels.setdefault(name, Counter()).update(labels)
            elif isinstance(evidence["state"], str):
                self._states.setdefault(name, Counter())[evidence["state"]] += 1

    def summed(self) -> dict[str, Hallucination]:
        """The figures of every scorer that labelled at least one claim."""
        return {name: self._of(name) for name in self._answers}

    def _of(self, name: str) -> Hallucination:
        answers = self._answers[name]
        pooled = pooled_rate(answers)
        rate, some = pooled.rate, pooled.answers_with_any
        assert rate.mean is not None and rate.low is not None and rate.high is not None, "there are claims"  # noqa: PT018
        assert some.mean is not None and some.low is not None and some.high is not None, "there are claims"  # noqa: PT018
        replies = sum(claims > 0 for _, claims in answers)
        return Hallucination(
            claims=pooled.claims,
            hallucinated=pooled.hallucinated,
            rate=rate.mean,
            low=rate.low,
            high=rate.high,
            replies=replies,
            with_any=sum(hallucinated > 0 for hallucinated, _ in answers),
            any_rate=some.mean,
            any_low=some.low,
            any_high=some.high,
            labels=dict(self._labels[name]),
            states=dict(self._states.get(name, ())),
        )


def pooled_rate(answers: Sequence[tuple[int, int]]) -> PooledRate:
    """The run's rate from (hallucinated claims, all claims) of each answer; answers without claims do not count."""
    counted = [(hallucinated, claims) for hallucinated, claims in answers if claims > 0]
    values = [float(i < hallucinated) for hallucinated, claims in counted for i in range(claims)]
    clusters = [number for number, (_, claims) in enumerate(counted) for _ in range(claims)]
    return PooledRate(
        rate=estimate(values, clusters),
        answers_with_any=estimate([float(hallucinated > 0) for hallucinated, _ in counted]),
        claims=len(values),
        hallucinated=sum(hallucinated for hallucinated, _ in counted),
    )
