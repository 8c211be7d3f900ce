"""The seam for scorers: what one is, how one is made, how a plan holds one."""

from __future__ import annotations

import dis
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, ClassVar, Protocol, runtime_checkable

from cortex_eval.core import Case, Level, Registry, Reply, Score, Secret, to_json


@runtime_checkable
class Scorer(Protocol):
    """Looks at one reply. A dataclass whose fields are its settings; it keeps no state between calls.

    A scorer may also say (all optional, read with `getattr`):
    - `level: ClassVar[Level]`, "turn" by default. A "case" scorer has `score_case(case, replies)` instead of `score`.
    - `version: ClassVar[str]`, changed whenever the same input may give another score.
    - `fingerprint`, a text for what else decides its scores, such as the content of a rules file.
    - `scores_by`, what it goes by here, in words, where that depends on what is installed: runs that differ in it are
      not compared, and say so with these words. What is there for want of an extra ends in `(without cortex-eval[…])`.
    - `score_batch(pairs)`, a plain method that scores many (case, reply) pairs at once; it is called in a worker
      thread, for work that would hold up the event loop.
    - `async open(bench)`, called before the first reply of a run, and `async close()`, after the last one: for a scorer
      that calls somebody. Its calls take their places at `bench.outside`, as those of `await bench.seat(…)` do; one
      that asks a language model is a `ModelScorer`. `Unavailable` passes through: the case stays pending.
    """

    async def score(self, case: Case, reply: Reply) -> Score:
        """What this scorer says of the reply; `JudgeError` when it cannot say anything."""


class BatchScorer(Protocol):
    """A scorer that works on many replies at once, off the event loop."""

    def score_batch(self, pairs: Sequence[tuple[Case, Reply]]) -> list[Score]:
        """One score for each pair, in order."""


class CaseScorer(Protocol):
    """A scorer that looks at a whole conversation."""

    level: ClassVar[Level]

    async def score_case(self, case: Case, replies: Sequence[Reply]) -> Score:
        """What this scorer says of the conversation; `replies` has one reply per turn."""


AnyScorer = Scorer | BatchScorer | CaseScorer

scorers: Registry[AnyScorer] = Registry(
    "scorer",
    {
        "accuracy": "cortex_eval.scoring.text",
        "bleu": "cortex_eval.scoring.text",
        "chrf": "cortex_eval.scoring.text",
        "citations": "cortex_eval.scoring.cited",
        "checks": "cortex_eval.scoring.checks",
        "clarification": "cortex_eval.scoring.conversations",
        "classification": "cortex_eval.scoring.classification",
        "coherence": "cortex_eval.scoring.coherence",
        "completeness": "cortex_eval.scoring.checklist",
        "confidence": "cortex_eval.scoring.confidence",
        "contains": "cortex_eval.scoring.text",
        "context_precision": "cortex_eval.scoring.retrieval",
        "context_recall": "cortex_eval.scoring.retrieval",
        "context_retention": "cortex_eval.scoring.conversations",
        "edit": "cortex_eval.scoring.text",
        "entities": "cortex_eval.scoring.dialogue",
        "exact": "cortex_eval.scoring.text",
        "f1": "cortex_eval.scoring.text",
        "faithfulness": "cortex_eval.scoring.grounding",
        "faithfulness_judge": "cortex_eval.scoring.judges",
        "hallucination_rate": "cortex_eval.scoring.grounding",
        "intent": "cortex_eval.scoring.dialogue",
        "interpretability": "cortex_eval.scoring.interpretability",
        "json_limit": "cortex_eval.scoring.json_form",
        "json_schema": "cortex_eval.scoring.json_form",
        "judge": "cortex_eval.scoring.judge",
        "language": "cortex_eval.scoring.language",
        "pairwise": "cortex_eval.scoring.pairwise",
        "performance": "cortex_eval.scoring.performance",
        "readability": "cortex_eval.scoring.readability",
        "recovery": "cortex_eval.scoring.conversations",
        "regex": "cortex_eval.scoring.structure",
        "relevance": "cortex_eval.scoring.semantic",
        "relevance_judge": "cortex_eval.scoring.judges",
        "rouge": "cortex_eval.scoring.text",
        "rouge1": "cortex_eval.scoring.text",
        "rouge2": "cortex_eval.scoring.text",
        "rubric": "cortex_eval.scoring.rubric",
        "safety": "cortex_eval.scoring.safety",
        "speech": "cortex_eval.scoring.speech",
        "similarity": "cortex_eval.scoring.similarity",
        "summary": "cortex_eval.scoring.summary",
        "ter": "cortex_eval.scoring.text",
        "tool": "cortex_eval.scoring.dialogue",
        "translation": "cortex_eval.scoring.translation",
    },
)


_WAITING = frozenset({"GET_AWAITABLE", "GET_AITER", "GET_ANEXT", "BEFORE_ASYNC_WITH", "SEND"})
"""What `await`, `async for` and `async with` become."""
WITH_A_MODEL = {"faithfulness": "faithfulness_judge", "relevance": "relevance_judge"}
"""Scorers that a language model can take over, and which one then does."""


def kind_for(kind: str, settings: Mapping[str, Any]) -> str:
    """The registered name behind a kind: with a `model`, or `models`, some scorers ask them."""
    return WITH_A_MODEL.get(kind, kind) if "model" in settings or "models" in settings else kind


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedScorer:
    """A scorer with its place in a plan."""

    name: str
    scorer: AnyScorer
    kind: str
    """The registered name; `name` may be another one given in the project file."""
    weight: float = 1.0
    """Share in the overall score; 0: shown, not counted."""
    threshold: float | None = None
    """The score passes at or above it; None: the plan's passing threshold."""
    critical: bool = False
    """When it fails, the case fails, whatever the overall score."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    lacks_weight: bool = False
    """`metric_weights` does not name it, so that it weighs nothing without anybody having said so."""

    _stamp: tuple[Level, str, str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Once, not per score: a hash of the settings costs more than most scorers do.
        level: Level = getattr(self.scorer, "level", "turn")
        version = str(getattr(self.scorer, "version", "1"))
        object.__setattr__(self, "_stamp", (level, version, _fingerprint(self, version)))

    @property
    def level(self) -> Level:
        """What it looks at: a turn, a case or a run."""
        return self._stamp[0]

    @property
    def never_waits(self) -> bool:
        """Whether a score is there in one step: it is made by an async method without an `await`."""
        if hasattr(self.scorer, "open") or hasattr(self.scorer, "score_batch"):
            return False
        method = getattr(type(self.scorer), "score_case" if self.level == "case" else "score", None)
        code = getattr(method, "__code__", None)
        return code is not None and not any(each.opname in _WAITING for each in dis.get_instructions(code))

    @property
    def version(self) -> str:
        """The version of the scorer's code."""
        return self._stamp[1]

    @property
    def fingerprint(self) -> str:
        """Changes when the scorer's kind, version or settings change."""
        return self._stamp[2]

    @property
    def scores_by(self) -> str:
        """What it goes by, in words: what its scorer says of that, else the models that it asks; empty: always one."""
        models = self.settings.get("models") or [self.settings.get("model")]
        named = models if isinstance(models, list | tuple) else []
        said = getattr(self.scorer, "scores_by", "") or ", ".join(each for each in named if isinstance(each, str))
        return str(said)

    @property
    def stamp(self) -> tuple[Level, str, str]:
        """Level, version and fingerprint, as every score of this scorer carries them."""
        return self._stamp


def _fingerprint(planned: PlannedScorer, version: str) -> str:
    settings = {
        key: repr(value) if isinstance(value, Secret) else str(value) if isinstance(value, PurePath) else value
        for key, value in planned.settings.items()
    }
    extra = str(getattr(planned.scorer, "fingerprint", ""))
    try:
        text = to_json([planned.kind, version, settings, extra], sort_keys=True)
    except TypeError:  # settings given in Python may be anything
        text = to_json([planned.kind, version, repr(sorted(settings.items())), extra])
    return hashlib.sha256(text).hexdigest()[:16]


ScoreFunction = Callable[[Case, Reply], Any]  # Any: bool, float, Score or None, or an awaitable of one
