"""Everything that Cortex raises on purpose.

CortexError
├── InputError       config, dataset or arguments are not valid     exit 4
├── TargetError      the system under test did not answer           case: error_target
├── JudgeError       a scorer or judge gave no verdict              case: error_judge
├── Unavailable      nothing more can be asked for now              run pauses, cases stay pending; exit 3
└── StorageError     results could not be saved or found            exit 3
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any


class CortexError(Exception):
    """Whatever went wrong in a way that Cortex can name; its text is meant for the user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One mistake in something that people wrote: what, where, what to do."""

    message: str
    file: str = ""
    line: int | None = None
    field: str = ""
    code: str = "invalid"
    """A short name for machines, such as `dataset_empty` or `duplicate_id`."""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.file and self.line else self.file
        return f"{place}: {self.message}" if place else self.message


class InputError(CortexError):
    """A project file, a dataset or an argument is not valid; carries every problem found."""

    def __init__(self, message: str | Problem | Sequence[Problem]) -> None:
        if isinstance(message, str):
            message = Problem(message=message)
        self.problems: tuple[Problem, ...] = (message,) if isinstance(message, Problem) else tuple(message)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class TargetError(CortexError):
    """The system under test did not answer; `kind` says how it failed."""

    def __init__(
        self, message: str, *, kind: str = "failed", transient: bool = False, retry_after_s: float | None = None
    ) -> None:
        super().__init__(message)
        self.kind = kind
        """connection, timeout, status, rate_limited, auth, not_json, empty, missing_field, too_large, tls, …"""
        self.transient = transient
        """Worth asking again: the same call may succeed later."""
        self.attempts = 1
        """How often the target was asked before this was given up."""
        self.is_alone = False
        """Nobody was answered between the first attempt and the last: the target's fault, perhaps, not the case's."""
        self.retry_after_s = retry_after_s
        """How long the service asked us to wait."""
        self.is_nobody_there = False
        """The address refuses connections, or its name does not resolve: nobody can have heard the call."""
        self.status: int | None = None
        """Of the HTTP answer, when that is what failed."""
        self.body = b""
        """The beginning of that answer, for those who know the service's own words; never shown as it is."""


class JudgeError(CortexError):
    """A scorer or judge gave no verdict; `kind` says why."""

    def __init__(
        self,
        message: str,
        *,
        kind: str = "failed",
        attempts: int = 0,
        evidence: Mapping[str, Any] | None = None,  # Any: JSON
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.attempts = attempts
        """How often a model was asked for it; 0: none was."""
        self.evidence = evidence
        """Tokens, cost and attempts of calls that were answered, and paid for, as scores have them; None: none was."""


class Unavailable(CortexError):  # noqa: N818  # it is what the service is
    """Nothing more can be asked for now: the run pauses and its cases stay pending; `kind` says why."""

    def __init__(self, message: str, *, kind: str) -> None:
        super().__init__(message)
        self.kind = kind
        """target_unavailable, target_unreachable, target_auth, target_unusable, rate_limited, budget, stopped"""


class StorageError(CortexError):
    """Results could not be saved or found; `kind` says why."""

    def __init__(self, message: str, *, kind: str = "storage") -> None:
        super().__init__(message)
        self.kind = kind
        """storage, storage_full, database_down, locked, lost_lease"""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A sentence that offers the nearest known name, or lists them when none is near."""
    names = sorted(known)
    near = get_close_matches(name, names, n=1, cutoff=0.6)
    if near:
        return f"Did you mean {near[0]!r}?"
    return f"Known: {', '.join(names)}." if names else "None is known."
