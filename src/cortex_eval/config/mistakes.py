"""A project file read as far as it can be understood, and everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from typing import Any, NamedTuple, TypeVar

from cortex_eval.config.document import Document
from cortex_eval.config.model import (
    ExecutionModel,
    GateModel,
    ModelModel,
    ProjectModel,
    ScorerModel,
    ServiceModel,
    SuiteModel,
    WeightsModel,
    keys_of,
)
from cortex_eval.core import InputError, KeyPath, Mistake, Problem, did_you_mean, read_settings, short_repr
from cortex_eval.datasets import check_fields
from cortex_eval.scoring import scorers

T = TypeVar("T")

NOT_SCORERS = ("metric_weights", "passing_threshold")
OWN_KEYS = "x-"
"""Top keys that begin like this are the author's own, such as blocks that anchors name."""
IN_PYTHON = {"at_once": "max_concurrent_tests", "retries": "retry_count", "timeout_s": "timeout_seconds"}
"""Options of `evaluate()` that are called otherwise here."""
TWINS = {"services": "targets", "service": "target"}
"""Pairs of keys that mean the same."""


class Checked(NamedTuple):
    """A project file as far as it could be understood, and what is wrong with it."""

    model: ProjectModel
    problems: list[Problem]


def check_document(document: Document) -> Checked:
    """Read the values into the model, leaving out what is wrong, so that later steps can find more mistakes.

    A value that is wrong only because its variable is not set is left out without a word: whether that matters depends
    on what is run.
    """
    values = {key: each for key, each in document.values.items() if not key.startswith(OWN_KEYS)}
    model, problems = read_block(document, ProjectModel, values, ())
    assert model is not None, "every key of a project file has a default"
    return Checked(model, [*_said_twice(document), *problems, *_metrics_problems(document)])


def read_block(
    document: Document, model: type[T], values: Mapping[str, Any], path: KeyPath
) -> tuple[T | None, list[Problem]]:
    """The block of a project file at this place, and what is wrong in it."""
    read, mistakes = read_settings(model, values, path)
    problems = [
        document.problem(each.path, _with_its_place(each) if each.kind == "unknown" else each.message)
        for each in mistakes
        if each.kind == "unknown" or each.path not in document.unset
    ]
    return read, problems


def _with_its_place(mistake: Mistake) -> str:
    """What is said of a key that is not known here: where it stands, if it does elsewhere."""
    key = str(mistake.path[-1])
    places = _places()
    named = IN_PYTHON.get(key, key)
    if named not in places and "Known: " in mistake.message:
        named = next(iter(get_close_matches(key, places, n=1, cutoff=0.75)), key)
    if named not in places:
        return mistake.message
    return f"there is no key {'.'.join(map(str, mistake.path))!r}. Did you mean {places[named]!r}?"


@cache
def _places() -> dict[str, str]:
    """Every key below the top of a project file, with the place where it stands."""
    found: dict[str, str] = {}
    blocks: list[tuple[type, str]] = [
        (SuiteModel, "suites.NAME"),
        (ServiceModel, "services.NAME"),
        (ExecutionModel, "execution"),
        (WeightsModel, "metrics"),
        (GateModel, "gate"),
        (ModelModel, "models.NAME"),
    ]
    top = keys_of(ProjectModel)
    for model, place in blocks:
        for key in keys_of(model):
            if key not in top:
                found.setdefault(key, f"{place}.{key}")
    return found


def _said_twice(document: Document) -> list[Problem]:
    suites = document.values.get("suites")
    blocks: list[tuple[KeyPath, Any]] = [((), document.values)]
    blocks += [(("suites", name), suite) for name, suite in suites.items()] if isinstance(suites, dict) else []
    return [
        document.problem((*place, second), f"{first!r} and {second!r} are the same key; use one of them.")
        for place, block in blocks
        for first, second in TWINS.items()
        if isinstance(block, dict) and first in block and second in block
    ]


def unknown_scorers(document: Document) -> list[Problem]:
    """A problem for each block of `metrics` that no scorer reads: a `critical: true` must not be lost to a typo."""
    metrics = document.values.get("metrics")
    problems = []
    for name, block in metrics.items() if isinstance(metrics, dict) else ():
        if block is not None and not isinstance(block, Mapping) and get_close_matches(str(name), NOT_SCORERS):
            continue  # not meant for a scorer: told as what it is
        kind = block.get("kind", name) if isinstance(block, Mapping) else name
        if name not in NOT_SCORERS and isinstance(kind, str) and kind not in scorers:
            known = (*scorers, *NOT_SCORERS)
            message = f"metrics.{name}: there is no scorer {kind!r}. {did_you_mean(kind, known)}"
            problems.append(document.problem(("metrics", name), message))
    return problems


def wrong_fields(document: Document, model: ProjectModel) -> list[Problem]:
    """A problem for each of `fields` that no case has, or that is named twice."""
    places: list[tuple[KeyPath, Mapping[str, str]]] = []
    for name, suite in model.suites.items():
        places.append((("suites", name, "fields"), suite.fields))
        if not isinstance(suite.dataset, str):
            places.append((("suites", name, "dataset", "fields"), suite.dataset.fields))
    problems = []
    for place, fields in places:
        good: dict[str, str] = {}
        for meant, column in fields.items():
            try:
                check_fields({**good, meant: column})
                good[meant] = column
            except InputError as error:
                problems.append(document.problem((*place, meant), str(error)))
    return problems


def _metrics_problems(document: Document) -> list[Problem]:
    """What is wrong in `metrics` whichever scorer it is for; their own settings are checked when they are used."""
    metrics = document.values.get("metrics")
    if not isinstance(metrics, dict):
        return []
    shared = {key: metrics[key] for key in NOT_SCORERS if key in metrics}
    problems = read_block(document, WeightsModel, shared, ("metrics",))[1]
    for name, block in metrics.items():
        if name in NOT_SCORERS or block is None:
            continue
        if isinstance(block, Mapping):
            problems += read_block(document, ScorerModel, block, ("metrics", name))[1]
        else:
            near = get_close_matches(str(name), NOT_SCORERS, n=1)
            message = f"metrics.{name}: must be keys and values, not {short_repr(block)}."
            if near:
                message = f"there is no key 'metrics.{name}'. Did you mean {near[0]!r}?"
            problems.append(document.problem(("metrics", name), message))
    return problems
