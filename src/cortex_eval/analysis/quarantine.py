"""Cases in quarantine: asked and shown, but in none of the figures, so that they do not decide."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from cortex_eval.analysis.gate_settings import Quarantined
from cortex_eval.analysis.verdict import CaseOutcome, Check, SetAside
from cortex_eval.core import Result, RunRecord

_WORST_FIRST: tuple[CaseOutcome, ...] = ("error", "pending", "failed", "passed")


class _Seen(NamedTuple):
    """A case of the list that was in the run."""

    ordinal: int
    category: str | None
    states: set[str]


class Quarantine:
    """Takes the cases of a project's list out of a stream of results, and remembers what became of them."""

    def __init__(self, entries: Iterable[Quarantined], run: RunRecord) -> None:
        moment = run.started or run.created  # not today: a report that is made again says the same
        listed = list(entries)
        self.entries: Mapping[str, Quarantined] = {each.case: each for each in listed if each.holds_at(moment)}
        """By case: those that hold."""
        self._ended = [each for each in listed if not each.holds_at(moment)]
        self._seen: dict[str, _Seen] = {}

    def passing(self, results: Iterable[Result]) -> Iterable[Result]:
        """The results of all other cases."""
        return self._without(results) if self.entries else results

    def _without(self, results: Iterable[Result]) -> Iterator[Result]:
        for result in results:
            if result.case_id in self.entries:
                state = "error" if result.state.startswith("error") else result.state
                self._seen.setdefault(result.case_id, _Seen(result.ordinal, result.category, set())).states.add(state)
            else:
                yield result

    def set_aside(self) -> tuple[SetAside, ...]:
        """What became of those that were in the run, in the order of the dataset."""
        return tuple(
            SetAside(
                case_id=name,
                category=seen.category,
                outcome=next((each for each in _WORST_FIRST if each in seen.states), "pending"),
                reason=self.entries[name].reason,
                until=self.entries[name].until,
            )
            for name, seen in sorted(self._seen.items(), key=lambda each: each[1].ordinal)
        )

    def checks(self) -> tuple[Check, ...]:
        """How many, which, and what of the list no longer does anything."""
        found = self.set_aside()
        checks = []
        if found:
            told = ", ".join(f"{each.case_id} ({each.outcome})" for each in found)
            count = "1 case is" if len(found) == 1 else f"{len(found)} cases are"
            reason = f"{count} in quarantine and did not decide: {told}"
            checks.append(Check(name="quarantine", value=len(found), limit=None, ok=True, reason=reason))
        return (*checks, *self._ended_checks())

    def _ended_checks(self) -> Iterator[Check]:
        if self._ended:
            told = ", ".join(f"{each.case} (until {each.until})" for each in self._ended)
            reason = f"the quarantine is over, and these decide again: {told}"
            yield Check(name="quarantine.ended", value=len(self._ended), limit=None, ok=True, reason=reason)

    def notes(self) -> tuple[str, ...]:
        """The same for those who read the figures."""
        ended = tuple(f"{each.reason[0].upper()}{each.reason[1:]}." for each in self._ended_checks())
        found = self.set_aside()
        if not found:
            return ended
        told = "; ".join(
            f"{each.case_id} ({each.outcome}): {each.reason}{f', until {each.until}' if each.until else ''}"
            for each in found
        )
        count = "1 case in quarantine is" if len(found) == 1 else f"{len(found)} cases in quarantine are"
        return (f"{count} in none of these figures: {told}.", *ended)
