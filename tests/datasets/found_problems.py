"""What is found wrong with a dataset that must not pass."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cortex_eval.core import Problem
from cortex_eval.datasets import validate_file


def problems_of(path: Path, **options: Any) -> tuple[Problem, ...]:
    """Every problem of a file that has some, and therefore no version."""
    found = validate_file(path, **options)
    assert not found.ok
    assert found.version is None
    return found.problems


def only_problem(path: Path, **options: Any) -> Problem:
    """The problem of a file that has exactly one."""
    (problem,) = problems_of(path, **options)
    return problem
