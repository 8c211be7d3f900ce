"""The limits of a gate and the options of a run: what they may be, in the project file and in Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

from cortex_eval.analysis import RUN_FIGURES, SETTING_NAMES, metric_name
from cortex_eval.config.model import AT_ONCE, REPEATS, RETRIES, SECONDS, Limits, Share
from cortex_eval.core import InputError, Problem, did_you_mean, read_settings
from cortex_eval.scoring import scorers

RATES = ("pass_rate", "overall_score")
"""Figures of every run that a gate may look at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What a run from Python may be told, within the ranges of the project file."""

    at_once: Annotated[int, AT_ONCE]
    repeats: Annotated[int, REPEATS]
    passing_threshold: Share
    timeout_s: Annotated[float, SECONDS]
    retries: Annotated[int, RETRIES]
    thresholds: Limits
    baseline: str | None
    name: str
    version: str | None
    fields: Mapping[str, str]
    store: str | Path | None
    resume: str | None


def read_options(scorer_names: Sequence[str], **given: Any) -> RunOptions:  # Any: as somebody wrote it
    """The options of a run with these scorers; raises InputError with everything that is wrong with them."""
    options, mistakes = read_settings(RunOptions, given)
    problems = [Problem(message=each.message, field=".".join(map(str, each.path))) for each in mistakes]
    limits = given["thresholds"] if isinstance(given["thresholds"], Mapping) else {}
    told = {each.field for each in problems}
    for metric, limit in limits.items():
        field = f"thresholds.{metric}"
        if field not in told and (message := wrong_limit(str(metric), limit, scorer_names, of="thresholds")):
            problems.append(Problem(message=message, field=field))
    if options is None or problems:
        raise InputError(problems)
    return options


def wrong_limit(metric: str, limit: float, scorer_names: Sequence[str], *, of: str = "gate.thresholds") -> str:
    """What is wrong with a limit of the gate; empty when nothing is."""
    known = list(dict.fromkeys((*scorer_names, *RATES, *SETTING_NAMES, *SETTING_NAMES.values(), *RUN_FIGURES)))
    plain = metric.removeprefix("max_")
    scorer, _, figure = plain.rpartition(".")
    if metric_name(plain, known) not in known and not (scorer in scorer_names and figure in RUN_FIGURES):
        if plain in scorers and plain not in SETTING_NAMES:
            return f"{of}.{metric}: this suite has no scorer {plain!r}. It has: {', '.join(scorer_names)}."
        near = get_close_matches(plain, (*known, *scorers), n=1)
        if near and near[0] not in known:
            told = f"there is no such figure. Did you mean {near[0]!r}? This suite has no such scorer. It has"
            return f"{of}.{metric}: {told}: {', '.join(scorer_names)}."
        return f"{of}.{metric}: there is no such figure. {did_you_mean(plain, known)}"
    if not plain.endswith("_ms") and not 0 <= limit <= 1:
        return f"{of}.{metric}: must be a number from 0 to 1 (0.9 for 90 %), not {limit:g}."
    return ""
