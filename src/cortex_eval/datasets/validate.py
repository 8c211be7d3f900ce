"""Checking a dataset without storing or running anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cortex_eval.core import Case, Expected, InputError, Problem
from cortex_eval.datasets.files import CaseReader, read_cases
from cortex_eval.datasets.opening import Format

NOTHING_EXPECTED_ANYWHERE = (
    "No case says what is expected: scorers such as accuracy and contains have nothing to compare with."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """What a look at a whole dataset found."""

    ok: bool
    cases: int
    """Sound cases; 0 when the dataset is not valid, because nothing of it would be used."""
    version: str | None
    """None when the dataset is not valid."""
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    """What is not wrong and yet may not be meant."""

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """The machine-readable answer of `cortex datasets validate --json`."""
        return {
            "ok": self.ok,
            "errors": [
                {
                    "file": problem.file,
                    "line": problem.line,
                    "field": problem.field,
                    "message": problem.message,
                    "code": problem.code,
                }
                for problem in self.problems
            ],
            "cases": self.cases,
            "version": self.version,
            "notes": list(self.notes),
        }


def validate_file(
    path: str | Path,
    *,
    fields: Mapping[str, str] | None = None,
    encoding: str | None = None,
    kind: Format | None = None,
    name: str | None = None,
) -> Validation:
    """Everything that is wrong with a file; never raises for what is in it."""
    try:
        return validate_cases(read_cases(path, fields=fields, encoding=encoding, kind=kind, name=name))
    except InputError as error:
        return Validation(ok=False, cases=0, version=None, problems=error.problems)


def validate_cases(reader: CaseReader) -> Validation:
    """Everything that is wrong with the cases of a reader, which is used up by this."""
    expects = False
    try:
        for row in reader.rows():
            expects = expects or (b'"expected":' in row.json and _says_what_is_expected(row.case))
    except InputError as error:
        return Validation(ok=False, cases=0, version=None, problems=error.problems, notes=reader.notes)
    notes = reader.notes if expects else (*reader.notes, _nothing_expected(reader.maybe_answer))
    return Validation(ok=True, cases=reader.cases, version=reader.version, notes=notes)


def _nothing_expected(maybe_answer: str | None) -> str:
    if maybe_answer is None:
        return NOTHING_EXPECTED_ANYWHERE
    advice = f"fields: {{expected.answer: {maybe_answer}}}"
    return f"{NOTHING_EXPECTED_ANYWHERE} If {maybe_answer!r} holds good answers, and no system's replies: {advice}."


def _says_what_is_expected(case: Case) -> bool:
    """Whether a case says anything of what a good reply holds."""
    nothing = Expected()
    return any(turn.expected != nothing for turn in case.turns)
