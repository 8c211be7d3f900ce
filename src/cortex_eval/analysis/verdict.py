"""What the gate says of a run, and what it rests on: checks, regressions, critical and quarantined cases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Verdict = Literal["passed", "regressed", "below", "error", "inconclusive"]
Severity = Literal["medium", "high"]
CaseOutcome = Literal["passed", "failed", "error", "pending"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One metric beside its baseline."""

    baseline: float
    current: float | None
    """None: not scored in this run."""
    diff: float | None
    improved: bool | None
    low: float | None = None
    high: float | None = None
    """95 % interval of the difference over the pairs that both runs scored; this and the rest: None without pairs."""
    p_value: float | None = None
    """Of looking this much worse if nothing had changed: one-sided, adjusted by Holm over all that the gate judges."""
    worst: float | None = None
    best: float | None = None
    """The difference if what one run did not score had gone as badly, or as well, as can be."""
    smallest_detectable: float | None = None
    """A change for the worse of this size would be seen four times in five; None: none would."""
    pairs: int | None = None
    not_compared: str = ""
    """Why no difference is told, though both figures are known: the metric is scored in another way in this run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Regression:
    """A metric that got worse by more than is allowed."""

    metric: str
    severity: Severity
    baseline: float
    current: float
    diff: float
    allowed: float
    name: str
    """The metric as it is called in `report.metrics`."""
    worst_category: str | None = None
    worst_category_diff: float | None = None
    worst_category_failed: int | None = None
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    """Adjusted, as that of `Change`; None, as the interval: the strict rule found it, which does not ask how sure."""
    against: str = ""
    """The baseline, or the anchor, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that the gate looked at."""

    name: str
    value: float | None
    limit: float | None
    ok: bool
    reason: str

    @property
    def is_open(self) -> bool:
        """Whether it is neither met nor missed: what may be chance, what cannot be known, what should be looked at."""
        return self.name.removeprefix("anchor.").partition(".")[0] in _OPEN


_OPEN = ("noise", "scoring", "evidence", "newly_broken", "flaky", "category")


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """Whether this run may be released."""

    verdict: Verdict
    exit_code: int
    checks: tuple[Check, ...] = ()
    smallest_detectable_drop: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineLabel:
    """Which baseline a report was compared with."""

    name: str
    run_id: str | None = None
    timestamp: str | None = None
    cases: int | None = None
    """Cases that were compared one by one; None: only its figures were."""


def stays_broken(asked_again: Sequence[bool]) -> bool:
    """Whether a critical case that broke never passed when it was asked again; otherwise it is flaky.

    One that nobody asked again, or of which every call failed, stays broken: nothing excuses it.
    """
    return not any(asked_again)


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondLook:
    """A critical case that passed in the baseline and failed here, and was therefore asked again."""

    case_id: str
    category: str | None
    against: str
    """The baseline in which it passed."""
    passes: tuple[bool, ...] = ()
    """The verdicts of asking again; a call that failed gives none."""

    @property
    def is_broken(self) -> bool:
        """Whether it never passed again; otherwise it is flaky."""
        return stays_broken(self.passes)


@dataclass(frozen=True, slots=True, kw_only=True)
class SetAside:
    """A case in quarantine: it was asked and is shown, and decides nothing."""

    case_id: str
    category: str | None
    outcome: CaseOutcome
    reason: str
    until: str | None = None
