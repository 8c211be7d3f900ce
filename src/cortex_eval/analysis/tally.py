"""Numbers added up over some cases: sums, counts, and the values that intervals are made from."""

from __future__ import annotations

from array import array
from typing import Any

from cortex_eval.core import Direction

ERRORS_SHOWN = 20
"""Error messages kept per category; their count is always exact."""
REASONS_KEPT = 20
"""Different reasons counted per scorer that did not apply: one that names the case in its own would fill the memory."""


class Series:
    """The values of one metric, and the cluster of each."""

    __slots__ = (
        "clusters",
        "direction",
        "errors",
        "first_error",
        "is_case_level",
        "not_applicable",
        "reasons",
        "values",
    )

    def __init__(self) -> None:
        self.values = array("d")
        self.clusters = array("q")
        self.errors = 0
        self.first_error = ""
        self.not_applicable = 0
        self.reasons: dict[str, int] = {}
        self.is_case_level = False
        self.direction: Direction = "higher"

    def add(self, value: float, cluster: int) -> None:
        """One more value."""
        self.values.append(value)
        self.clusters.append(cluster)

    def add_unscored(self, score: dict[str, Any]) -> None:
        """A score without a value: its scorer failed, or had nothing to say."""
        if (error := score.get("error")) is not None:
            self.errors += 1
            self.first_error = self.first_error or str(error.get("message") or error.get("kind", ""))
            return
        self.not_applicable += 1
        self.is_case_level |= score.get("level") == "case"
        reason = str(score.get("reason", ""))
        if reason in self.reasons or len(self.reasons) < REASONS_KEPT:
            self.reasons[reason] = self.reasons.get(reason, 0) + 1

    def merge(self, other: Series) -> None:
        """Take over another part's values."""
        self.values.extend(other.values)
        self.clusters.extend(other.clusters)
        self.errors += other.errors
        self.first_error = self.first_error or other.first_error
        self.not_applicable += other.not_applicable
        for reason, count in other.reasons.items():
            self.reasons[reason] = self.reasons.get(reason, 0) + count
        self.is_case_level |= other.is_case_level
        if other.direction == "lower":
            self.direction = "lower"


class Mean:
    """A running sum and count."""

    __slots__ = ("count", "total")

    def __init__(self) -> None:
        self.total = 0.0
        self.count = 0

    def add(self, value: float) -> None:
        """One more value."""
        self.total += value
        self.count += 1

    @property
    def value(self) -> float | None:
        """The mean; None of nothing."""
        return self.total / self.count if self.count else None


_COUNTS = (
    *("cases", "turns", "places", "passed", "failed", "errors", "pending"),
    *("error_rows", "intent_missed", "tool_missed"),
)
MEANS = ("intent", "intent_hits", "entities", "tool", "tool_hits", "confidence", "total_ms", "llm_invoked")


class Tally:
    """Everything counted over some cases: one category, tier, language and set of tags, or the merged whole."""

    __slots__ = (*_COUNTS, *MEANS, "beside", "error_list", "series")

    def __init__(self) -> None:
        self.cases = self.turns = self.passed = self.failed = self.errors = self.pending = 0
        self.places = 0
        """Turns of cases, repeats not counted."""
        self.error_rows = 0
        self.intent_missed = self.tool_missed = 0
        """Results in error that should have had one."""
        self.intent, self.entities, self.tool = Mean(), Mean(), Mean()
        self.intent_hits, self.tool_hits = Mean(), Mean()
        """1 for a full hit, else 0: a credit for a near one is only in the means above."""
        self.confidence, self.total_ms, self.llm_invoked = Mean(), Mean(), Mean()
        self.series: dict[str, Series] = {}
        self.beside: dict[str, Series] = {}
        """Figures that are not scorers, result by result: entity_precision, entity_recall, parse_time_ms."""
        self.error_list: list[dict[str, Any]] = []

    def merge(self, other: Tally) -> None:
        """Take over another part's counts and values."""
        for name in _COUNTS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in MEANS:
            mine, theirs = getattr(self, name), getattr(other, name)
            mine.total += theirs.total
            mine.count += theirs.count
        for name, series in other.series.items():
            self.series_of(name).merge(series)
        for name, series in other.beside.items():
            self.beside.setdefault(name, Series()).merge(series)
        self.error_list.extend(other.error_list[: ERRORS_SHOWN - len(self.error_list)])

    def series_of(self, name: str) -> Series:
        """The values of a metric, begun when first asked for."""
        found = self.series.get(name)
        if found is None:
            found = self.series[name] = Series()
        return found
