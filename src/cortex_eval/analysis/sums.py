"""What the results of a run add up to: only numbers are kept, and they may be added while the run goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from cortex_eval.analysis.classification import Confusions
from cortex_eval.analysis.collect import Collector
from cortex_eval.analysis.confidence import Confidences
from cortex_eval.analysis.gate_settings import GateSettings
from cortex_eval.analysis.hallucination import Hallucinations
from cortex_eval.analysis.let_through import LetThroughs
from cortex_eval.analysis.patterns_gather import Failures
from cortex_eval.analysis.quarantine import Quarantine
from cortex_eval.core import Result, RunRecord


class Sums:
    """Takes the results of a run; whatever is said of all of them is made from this. `see` is shown every result."""

    def __init__(self, run: RunRecord, gate: GateSettings, see: Callable[[Result], None] | None = None) -> None:
        self.confidences, self.confusions, self.hallucinations = Confidences(), Confusions(), Hallucinations()
        self.collected = Collector(LetThroughs(run), (self.confidences, self.confusions, self.hallucinations))
        self.failures, self.quarantine = Failures(run), Quarantine(gate.quarantine, run)
        self._see = see

    def add(self, results: Iterable[Result]) -> None:
        """Add results, those of a case one after the other; a case is in one such call, and in no other."""
        self.collected.read(self.failures.noting(self.quarantine.passing(self._shown(results))))

    def _shown(self, results: Iterable[Result]) -> Iterable[Result]:
        return results if self._see is None else _each_to(self._see, results)


def _each_to(see: Callable[[Result], None], results: Iterable[Result]) -> Iterator[Result]:
    for result in results:
        see(result)
        yield result
