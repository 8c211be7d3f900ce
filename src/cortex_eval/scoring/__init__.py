"""Scorers: deterministic, embedded, judged; one file and one class each."""

from cortex_eval.scoring.base import (
    AnyScorer,
    BatchScorer,
    CaseScorer,
    PlannedScorer,
    ScoreFunction,
    Scorer,
    scorers,
)
from cortex_eval.scoring.bench import Bench, JudgeModel, VerdictCache
from cortex_eval.scoring.board import Judged, Scoreboard, scores_to_json
from cortex_eval.scoring.combine import (
    PASSING_THRESHOLD,
    Verdict,
    Weights,
    check_passing_threshold,
    check_weights,
    combine,
    state_of,
)
from cortex_eval.scoring.embedding import HOW_TO_INSTALL, Embedder, cache_folder, can_embed, embedders, load_embedder
from cortex_eval.scoring.function import FunctionScorer, plan_scorer, scorer
from cortex_eval.scoring.opening import opened
from cortex_eval.scoring.overlap import bleu, chrf, overlap, rouge_l
from cortex_eval.scoring.run import Batcher, check_score, run_scorer
from cortex_eval.scoring.text import normalise
from cortex_eval.scoring.words import content_words, has_indic_script, share_of_latin, words

__all__ = [
    "HOW_TO_INSTALL",
    "PASSING_THRESHOLD",
    "AnyScorer",
    "BatchScorer",
    "Batcher",
    "Bench",
    "CaseScorer",
    "Embedder",
    "FunctionScorer",
    "JudgeModel",
    "Judged",
    "PlannedScorer",
    "ScoreFunction",
    "Scoreboard",
    "Scorer",
    "Verdict",
    "VerdictCache",
    "Weights",
    "bleu",
    "cache_folder",
    "can_embed",
    "check_passing_threshold",
    "check_score",
    "check_weights",
    "chrf",
    "combine",
    "content_words",
    "embedders",
    "has_indic_script",
    "load_embedder",
    "normalise",
    "opened",
    "overlap",
    "plan_scorer",
    "rouge_l",
    "run_scorer",
    "scorer",
    "scorers",
    "scores_to_json",
    "share_of_latin",
    "state_of",
    "words",
]
