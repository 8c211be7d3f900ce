"""What each figure means, in a sentence: of a scorer, its own; so that no list of them can go out of date."""

from __future__ import annotations

import re

from cortex_eval.analysis import Report
from cortex_eval.core import InputError

HOW_TO_READ = (
    "In brackets is the 95 % interval: the figure of many more cases like these would most likely lie in it. "
    "Behind it, such as 28/30: for how many of all it could be scored."
)
_OF_THE_RUN = {
    "overall_score": "The mean of all scores, each with its weight.",
    "pass_rate": "The share of cases that passed.",
}
_OF_THE_TARGET = {
    "latency_ms": "How long a reply took, on average; half of them took less than p50, and 95 % less than p95.",
    "llm_usage_rate": "The share of turns in which the target says that it asked a language model.",
}
_SENTENCE = re.compile(r".*?[.](?=\s|$)", re.DOTALL)


def meanings_of(report: Report) -> dict[str, str]:
    """By metric, in the order of the scorers; a scorer of a project whose file is not loaded has none."""
    found = {name: words for name, words in _OF_THE_RUN.items() if name in report.metrics}
    for name, planned in report.run.manifest.get("scorers", {}).items():
        if name in report.metrics or name in report.unscored:
            found[name] = _first_sentence(str(planned.get("kind", name)))
    found.update((name, words) for name, words in _OF_THE_TARGET.items() if name in report.metrics)
    return {name: words for name, words in found.items() if words}


def _first_sentence(kind: str) -> str:
    from cortex_eval.scoring import scorers  # here: a page of somebody else's rows needs none of them

    try:
        scorer = scorers.find(kind)
    except InputError:
        return ""
    told = " ".join((scorer.__doc__ or "").split())
    if told.startswith(f"{scorer.__name__}("):  # nobody wrote it: a dataclass without words gets its signature
        return ""
    sentence = _SENTENCE.match(told)
    return told if sentence is None else sentence[0]
