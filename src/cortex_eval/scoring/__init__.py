"""Scorers: deterministic, embedded, judged; one file and one class each."""

from typing import TYPE_CHECKING, Any

from cortex_eval.core import first_use

if TYPE_CHECKING:
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
    from cortex_eval.scoring.claims import take_apart
    from cortex_eval.scoring.combine import (
        PASSING_THRESHOLD,
        Verdict,
        Weights,
        check_passing_threshold,
        check_weights,
        state_of,
    )
    from cortex_eval.scoring.detect import count_scripts, detect_language
    from cortex_eval.scoring.embedding import (
        HOW_TO_INSTALL,
        Embedder,
        cache_folder,
        can_embed,
        embedders,
        load_embedder,
    )
    from cortex_eval.scoring.facts import disagree, stem, stems
    from cortex_eval.scoring.function import FunctionScorer, plan_scorer, scorer
    from cortex_eval.scoring.opening import opened
    from cortex_eval.scoring.quantities import NUMBER_WORDS, read_quantities
    from cortex_eval.scoring.run import Batcher, check_score, run_scorer
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
    from cortex_eval.scoring.words import content_words

__all__ = [
    "HOW_TO_INSTALL",
    "JUDGES",
    "NUMBER_WORDS",
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
    "cache_folder",
    "can_embed",
    "check_passing_threshold",
    "check_score",
    "check_weights",
    "content_words",
    "count_scripts",
    "detect_language",
    "disagree",
    "embedders",
    "judge_names",
    "kind_for",
    "load_embedder",
    "opened",
    "plan_scorer",
    "prompt_facts",
    "read_attacks",
    "read_quantities",
    "read_trials",
    "run_attacks",
    "run_scorer",
    "run_trials",
    "scorer",
    "scorers",
    "scores_to_json",
    "state_of",
    "stem",
    "stems",
    "take_apart",
]

_HOMES = {
    "HOW_TO_INSTALL": "embedding",
    "JUDGES": "trials",
    "NUMBER_WORDS": "quantities",
    "PASSING_THRESHOLD": "combine",
    "AnyScorer": "base",
    "Attacked": "trials",
    "BatchScorer": "base",
    "Batcher": "run",
    "Bench": "bench",
    "CaseScorer": "base",
    "Embedder": "embedding",
    "FunctionScorer": "function",
    "JudgeModel": "bench",
    "Judged": "board",
    "Outcome": "trials",
    "PlannedScorer": "base",
    "PromptFacts": "trials",
    "ScoreFunction": "base",
    "Scoreboard": "board",
    "Scorer": "base",
    "Verdict": "combine",
    "VerdictCache": "bench",
    "Weights": "combine",
    "cache_folder": "embedding",
    "can_embed": "embedding",
    "check_passing_threshold": "combine",
    "check_score": "run",
    "check_weights": "combine",
    "content_words": "words",
    "count_scripts": "detect",
    "detect_language": "detect",
    "disagree": "facts",
    "embedders": "embedding",
    "judge_names": "trials",
    "kind_for": "base",
    "load_embedder": "embedding",
    "opened": "opening",
    "plan_scorer": "function",
    "prompt_facts": "trials",
    "read_attacks": "trials",
    "read_quantities": "quantities",
    "read_trials": "trials",
    "run_attacks": "trials",
    "run_scorer": "run",
    "run_trials": "trials",
    "scorer": "function",
    "scorers": "base",
    "scores_to_json": "board",
    "state_of": "combine",
    "stem": "facts",
    "stems": "facts",
    "take_apart": "claims",
}
"""The file of each name: it is imported when the name is first used."""


def __getattr__(name: str) -> Any:  # Any: whichever name is asked for
    return first_use(__name__, _HOMES, name)
