"""A project file read as far as it can be understood, and everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, NamedTuple, TypeVar

from cortex_eval.config.document import Document
from cortex_eval.config.model import ProjectModel, ScorerModel, WeightsModel
from cortex_eval.core import KeyPath, Problem, did_you_mean, read_settings, short_repr
from cortex_eval.scoring import scorers

T = TypeVar("T")

NOT_SCORERS = ("metric_weights", "passing_threshold")
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
    model, problems = read_block(document, ProjectModel, document.values, ())
    assert model is not None, "every key of a project file has a default"
    return Checked(model, [*_said_twice(document), *problems, *_metrics_problems(document)])


def read_block(
    document: Document, model: type[T], values: Mapping[str, Any], path: KeyPath
) -> tuple[T | None, list[Problem]]:
    """The block of a project file at this place, and what is wrong in it."""
    read, mistakes = read_settings(model, values, path)
    problems = [document.problem(each.path, each.message) for each in mistakes if each.path not in document.unset]
    return read, problems


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
