"""Scorers: deterministic, embedded, judged; one file and one class each."""

from cortex_eval.scoring.base import (
    AnyScorer,
    BatchScorer,
    CaseScorer,
    PlannedScorer,
    ScoreFunction,
    Scorer,
    kind_for,
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
from cortex_eval.scoring.trials import (
    JUDGES,
    Attacked,
    Outcome,
    PromptFacts,
    judge_names,
    prompt_facts,
    read_attacks,
    read_trials,
    run_attacks,
    run_trials,
)
from cortex_eval.scoring.words import content_words, has_indic_script, share_of_latin, words

__all__ = [
    "HOW_TO_INSTALL",
    "JUDGES",
    "PASSING_THRESHOLD",
    "AnyScorer",
    "Attacked",
    "BatchScorer",
    "Batcher",
    "Bench",
    "CaseScorer",
    "Embedder",
    "FunctionScorer",
    "JudgeModel",
    "Judged",
    "Outcome",
    "PlannedScorer",
    "PromptFacts",
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
    "judge_names",
    "kind_for",
    "load_embedder",
    "normalise",
    "opened",
    "overlap",
    "plan_scorer",
    "prompt_facts",
    "read_attacks",
    "read_trials",
    "rouge_l",
    "run_attacks",
    "run_scorer",
    "run_trials",
    "scorer",
    "scorers",
    "scores_to_json",
    "share_of_latin",
    "state_of",
    "words",
]
