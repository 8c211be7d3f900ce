"""What rouge-score says of two texts; importing it takes a second, which only the tests that ask it pay."""

from functools import cache
from typing import Any


@cache
def _scorer() -> Any:  # rouge-score has no types
    from rouge_score import rouge_scorer

    return rouge_scorer.RougeScorer(["rouge1", "rouge2", "rougeL"])


def rouge_of(found: str, wanted: str) -> dict[str, float]:
    """Its F-measures by their names."""
    return {name: score.fmeasure for name, score in _scorer().score(wanted, found).items()}
