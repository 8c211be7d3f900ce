"""Metrics become scorers: those of a project file, and those that Python hands over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from cortex_eval.config.mistakes import NOT_SCORERS, read_block
from cortex_eval.config.model import ScorerModel, SuiteModel, WeightsModel, keys_of
from cortex_eval.config.models import AsksModel, give_model
from cortex_eval.config.places import Problems
from cortex_eval.config.project import Project, from_root
from cortex_eval.core import InputError, KeyPath, check_settings, did_you_mean
from cortex_eval.scoring import PlannedScorer, check_weights, kind_for, scorers

SEED_WEIGHTS = {"accuracy": 0.4, "relevance": 0.3, "safety": 0.2, "performance": 0.1}
"""Seed 000's scorers and weights, used when the project file names none."""
SEED_RULES = "./config/healthcare_rules.json"
"""The path in seed 000's block; the shipped rules stand in when no such file is there."""


def plan_scorers(
    project: Project, blocks: Mapping[str, tuple[KeyPath, Any]], suite: SuiteModel, problems: Problems
) -> tuple[tuple[PlannedScorer, ...], float, list[str]]:
    """The scorers of a suite with their weights, its passing threshold, and what the user should know of them."""
    metrics = project.model.metrics
    given = {key: metrics[key] for key in NOT_SCORERS if key in metrics}
    settings = read_block(project.document, WeightsModel, given, ("metrics",))[0] or WeightsModel()
    planned = [
        each for name, (path, block) in blocks.items() if (each := plan_block(name, path, block, project, problems))
    ]
    notes: list[str] = []
    with problems.at("metrics", "metric_weights"):
        planned, notes = weighted(planned, blocks, settings.metric_weights)
    notes += [str(note) for each in planned for note in getattr(each.scorer, "notes", ())]
    threshold = settings.passing_threshold if suite.passing_threshold is None else suite.passing_threshold
    return tuple(planned), threshold, notes


def find_blocks(project: Project, suite_name: str, suite: SuiteModel) -> dict[str, tuple[KeyPath, Any]]:
    """The scorers of a suite by name, with their settings and where those are written."""
    configured: dict[str, tuple[KeyPath, Any]] = {
        name: (("metrics", name), block) for name, block in project.model.metrics.items() if name not in NOT_SCORERS
    }
    if suite.scorers is None:
        weights = project.model.metrics.get("metric_weights")
        wanted = [name for name in SEED_WEIGHTS if not isinstance(weights, Mapping) or name in weights]
        return {**{name: (("metrics", name), {}) for name in wanted}, **configured}
    blocks: dict[str, tuple[KeyPath, Any]] = {}
    for number, entry in enumerate(suite.scorers):
        place: KeyPath = ("suites", suite_name, "scorers", number)
        for name, block in {entry: None}.items() if isinstance(entry, str) else entry.items():
            inherited: tuple[KeyPath, Any] = configured.get(name, (place, {}))
            blocks[name] = ((*place, name), block) if block is not None else inherited
    return blocks


def plan_block(name: str, path: KeyPath, block: Any, project: Project, problems: Problems) -> PlannedScorer | None:
    """The scorer that a block describes; None when something is wrong with it, which is noted."""
    if not isinstance(block or {}, Mapping):
        return None  # `check_document` has told it
    shared, found = read_block(project.document, ScorerModel, block or {}, path)
    problems.found += found
    if shared is None:
        return None
    kind = shared.kind or name
    if kind not in scorers and path[0] == "metrics":
        return None  # `unknown_scorers` has told it
    with problems.at(*path):
        settings = dict(shared.settings)
        if settings.get("healthcare_compliance_rules") == SEED_RULES and not (project.root / SEED_RULES).is_file():
            del settings["healthcare_compliance_rules"]
        cls = scorers.find(kind_for(kind, settings))
        checked = check_settings(cls, settings, owner=".".join(map(str, path)), also=keys_of(ScorerModel))
        scorer = cls(**from_root(checked, project.root))
        if isinstance(scorer, AsksModel) and (wrong := give_model(scorer, project)):
            problems.found += wrong
            return None
        return PlannedScorer(
            name=name,
            scorer=scorer,
            kind=kind,
            weight=1.0 if shared.weight is None else shared.weight,
            threshold=getattr(scorer, "threshold", None) if shared.threshold is None else shared.threshold,
            critical=getattr(scorer, "critical", None) is True if shared.critical is None else shared.critical,
            settings=settings,
        )
    return None


def weighted(
    planned: Sequence[PlannedScorer], blocks: Mapping[str, tuple[KeyPath, Any]], weights: Mapping[str, float] | None
) -> tuple[list[PlannedScorer], list[str]]:
    """The scorers with their weights: their own, else those of `metric_weights`, else the seed's, else equal ones.

    And what the user should know of that: what was done to the weights, and which scorers have none.
    """
    names = [each.name for each in planned]
    own = {name for name, (_, block) in blocks.items() if isinstance(block, Mapping) and "weight" in block}
    notes: list[str] = []
    if weights is not None:
        for name in weights:
            if name not in names and name not in scorers:
                raise InputError(f"metric_weights.{name}: there is no such scorer. {did_you_mean(name, names)}")
        weights, note = check_weights(weights)
        notes += [note] if note else []
        if not any(weights.get(name) for name in names):
            weights = None
    elif set(names) <= set(SEED_WEIGHTS):
        weights = SEED_WEIGHTS
    if weights is None:
        return list(planned), notes
    found = [
        each
        if each.name in own
        else replace(each, weight=weights.get(each.name, 0.0), lacks_weight=each.name not in weights)
        for each in planned
    ]
    return found, [*notes, *filter(None, [without_weight(found)])]


def without_weight(planned: Sequence[PlannedScorer]) -> str:
    """Which scorers decide nothing though nobody said so, for a failed check then stands in a green run; or empty."""
    names = [each.name for each in planned if each.lacks_weight and not each.critical]
    if not names:
        return ""
    if len(names) == 1:
        what = f"{names[0]} has no weight in metric_weights: it is shown and does not count"
        return f"{what}. Give it one (0: only shown), or make it critical: true."
    what = f"{', '.join(names[:-1])} and {names[-1]} have no weight in metric_weights: they are shown and do not count"
    return f"{what}. Give each one (0: only shown), or make it critical: true."
