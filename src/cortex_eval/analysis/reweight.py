"""Figures of a quick sample as those of the whole: each case counts for as many as it was drawn from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from cortex_eval.analysis.collect import Key
from cortex_eval.analysis.tally import MEANS, Tally
from cortex_eval.core import RunRecord
from cortex_eval.stats import Estimate, kish_n, weighted_estimate


class Weights(NamedTuple):
    """How much each case of a sample counts, by its category."""

    by_category: Mapping[str, float]
    """Cases of the dataset per case played; the category of cases that state none is ''."""
    tallies: Mapping[Key, Tally]

    @classmethod
    def of(cls, run: RunRecord, tallies: Mapping[Key, Tally]) -> Weights | None:
        """The weights of a run's cases; None when all count the same, as in every run that is not a quick sample."""
        strata: Mapping[str, Mapping[str, int]] = (run.manifest.get("selection") or {}).get("strata") or {}
        found = {name: each["of"] / each["chosen"] for name, each in strata.items() if each["chosen"]}
        if len({round(weight, 9) for weight in found.values()}) < 2:
            return None
        if any((key[0] or "") not in found for key in tallies):
            return None  # the run holds cases that the draw does not know of
        return cls(found, tallies)

    def estimate(self, name: str, *, bounded: bool, has_clusters: bool) -> Estimate:
        """The weighted mean of a metric over all tallies, with its interval."""
        values: list[float] = []
        clusters: list[int] = []
        weights: list[float] = []
        for key, tally in self.tallies.items():
            series = tally.series.get(name)
            if series is not None:
                values += series.values
                clusters += series.clusters
                weights += [self._of(key)] * len(series.values)
        return weighted_estimate(values, weights, clusters if has_clusters else None, bounded=bounded)

    def scaled(self, whole: Tally) -> Tally:
        """The sums behind the `overall_…` figures, each part as large as in the full mix; only these are in it."""
        merged = Tally()
        merged.series = whole.series
        for key, tally in self.tallies.items():
            weight = self._of(key)
            merged.turns += tally.turns * weight  # type: ignore[assignment]  # a count becomes a share
            for name in MEANS:
                mine, theirs = getattr(merged, name), getattr(tally, name)
                mine.total += theirs.total * weight
                mine.count += theirs.count * weight
        return merged

    @property
    def effective_n(self) -> float:
        """So many equally weighted cases would be as informative."""
        return kish_n([self._of(key) for key, tally in self.tallies.items() for _ in range(tally.cases)])

    def _of(self, key: Key) -> float:
        return self.by_category[key[0] or ""]


def selection_notes(run: RunRecord, weights: Weights | None) -> tuple[str, ...]:
    """What a reader should know of the dataset, of how the cases were chosen, and of what was not asked anew."""
    notes: list[str] = [*run.manifest.get("dataset_notes", ())]
    chosen: Mapping[str, Any] = run.manifest.get("selection") or {}
    if weights is not None:
        missed = [name or "(none)" for name, each in chosen["strata"].items() if not each["chosen"]]
        notes.append(
            f"A quick sample: {chosen['chosen']:,} of {chosen['matching']:,} cases, drawn by category with seed "
            f"{run.manifest.get('seed', 0)}. The overall figures are weighted to the full mix (as informative as "
            f"{weights.effective_n:.1f} equally weighted cases); tables by category, tier and language and the "
            "percentiles of latency are as drawn."
        )
        if missed:
            notes.append(f"No case was drawn of {', '.join(missed)}: the overall figures say nothing of them.")
    if (reused := run.manifest.get("reused")) is not None:
        notes.append(_reuse_note(reused))
    return tuple(notes)


def _reuse_note(reused: Mapping[str, Any]) -> str:  # Any: JSON
    if not reused["cases"]:
        return f"Nothing of run {reused['run']} was reused: {reused['why']}. Every case was asked."
    told = "with their verdicts" if not reused["why"] else f"and scored again ({reused['why']})"
    asked = [f"{reused[name]:,} {words}" for name, words in REASONS.items() if reused[name]]
    played = f"{sum(reused[name] for name in REASONS):,} asked" + (f": {', '.join(asked)}" if asked else "")
    return f"Since run {reused['run']}: {reused['cases']:,} unchanged, their replies reused {told}; {played}."


REASONS = {"changed": "changed", "new": "new", "unanswered": "without a whole answer then"}
"""Why a case is asked again, in words."""
