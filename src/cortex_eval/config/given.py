"""Scorers, models and gates that Python hands over, read by the code that reads the project file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from cortex_eval.analysis import GateSettings
from cortex_eval.config.build import make_gate
from cortex_eval.config.document import read_environment, read_given
from cortex_eval.config.mistakes import check_document
from cortex_eval.config.model import SuiteModel
from cortex_eval.config.models import AsksModel, give_model
from cortex_eval.config.places import Problems
from cortex_eval.config.project import Project, all_problems
from cortex_eval.config.request import Request
from cortex_eval.config.scorers import plan_block, weighted
from cortex_eval.core import InputError, KeyPath, Problem, short_repr
from cortex_eval.scoring import AnyScorer, PlannedScorer, plan_scorer

ScorerLike = str | Mapping[str, Any] | PlannedScorer | AnyScorer | Callable[..., Any]
Models = Mapping[str, Mapping[str, Any]]


def read_scorers(given: Iterable[ScorerLike], models: Models | None = None) -> tuple[PlannedScorer, ...]:
    """The scorers of a list as `scorers:` would hold them, or of objects and functions; judges know these models.

    `InputError` tells everything that is wrong with them. Relative paths start where the program runs.
    """
    if isinstance(given, (str, Mapping)) or not isinstance(given, Iterable):
        raise InputError(f"scorers must be a list, such as scorers=['accuracy'], not {short_repr(given)}.")
    project = _project({} if models is None else {"models": models})
    problems = Problems(project.document)
    planned: list[PlannedScorer] = []
    blocks: dict[str, tuple[KeyPath, Any]] = {}
    for item in given:
        for each, block in _entries(item, project, problems):
            if each.name in blocks:
                raise InputError(f"Two scorers are called {each.name!r}. Give one of them another name.")
            planned.append(each)
            blocks[each.name] = ((), block)
    if problems.found:
        raise _told(problems.found)
    if not planned:
        raise InputError("evaluate() needs at least one scorer, such as scorers=['accuracy'].")
    return tuple(weighted(planned, blocks, None)[0])


def read_gate(
    block: Mapping[str, Any] | None,
    scorer_names: Sequence[str],
    *,
    thresholds: Mapping[str, float],
    baseline: str | None = None,
) -> GateSettings:
    """The gate of a block as `gate:` would hold it, with these limits beside its own; `InputError` as above."""
    project = _project({} if block is None else {"gate": block})
    own = project.model.gate
    suite = SuiteModel(dataset="", gate=replace(own, thresholds={**own.thresholds, **thresholds}))
    try:
        return make_gate(project, "evaluate", suite, Request(baseline=baseline), scorer_names)
    except InputError as error:
        raise _told(
            [replace(each, field=each.field.removeprefix("suites.evaluate.")) for each in error.problems]
        ) from None


def _told(problems: Iterable[Problem]) -> InputError:
    """What is wrong, without the place in a file that is none."""
    return InputError([replace(each, file="", line=None) for each in all_problems(problems).problems])


def _project(values: Mapping[str, Any]) -> Project:
    """A project with nothing but these blocks."""
    document = read_given(values, read_environment(Path()) if values else {})
    model, problems = check_document(document)
    if problems:
        raise _told(problems)
    return Project(document=document, model=model, root=Path(), store=Path(), output_dir=Path())


def _entries(
    item: ScorerLike, project: Project, problems: Problems
) -> list[tuple[PlannedScorer, Mapping[str, Any] | None]]:
    """The scorers of one entry, each with its block; what is wrong is noted."""
    if isinstance(item, str):
        item = {item: None}
    if not isinstance(item, Mapping):
        planned = item if isinstance(item, PlannedScorer) else plan_scorer(item)
        with problems.at("scorers", planned.name):
            if isinstance(planned.scorer, AsksModel):
                problems.found += give_model(planned.scorer, project)
        return [(planned, {"weight": planned.weight} if isinstance(item, PlannedScorer) else None)]
    found = []
    for name, block in item.items():
        if block is not None and not isinstance(block, Mapping):
            wrong = f"The settings of the scorer {name!r} must be keys and values, not {short_repr(block)}."
            raise InputError(wrong)
        if planned_block := plan_block(name, ("scorers", name), block, project, problems):
            found.append((planned_block, block))
    return found
