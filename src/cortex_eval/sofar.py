"""What a run adds up to so far: settled results are read while it goes on, so that little is left to do at its end."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from cortex_eval import analysis
from cortex_eval.core import Result, RunRecord, StorageError
from cortex_eval.storage import Store

if TYPE_CHECKING:  # loaded while the first calls are under way
    from cortex_eval.analysis import GateSettings, Sums

See = Callable[[Result], None] | None
FIRST_S = 1.0
"""A run that is shorter is summed up at its end."""
PAUSE_S = 0.1
READ_AT_ONCE = 200
"""Cases."""
PIECE = 25
"""Cases that are added before calls get their turn again: about a millisecond."""
PIECE_PAUSE_S = 0.004


class SoFar:
    """The sums of a run over the cases, in the order of asking, up to the first one that is not settled.

    Everything is read from the store, and a report that is made again adds up the same in the same order.
    """

    def __init__(self, store: Store, run: RunRecord, gate: GateSettings, see: See = None) -> None:
        self._store, self._run, self._gate, self._see = store, run, gate, see
        self._ordinals: Sequence[int] = store.runs.numbers(run.id)[2]
        self._begun = 0
        """Cases, in the order of asking, that may be under way; none of the others is."""
        self._open: Counter[int] = Counter()
        """Repeats of a case that are not settled."""
        self._added = 0
        """Cases that are in the sums."""
        self._sums: Sums | None = None

    def begin(self, upto: int, open_: Iterable[int]) -> None:
        """Cases up to this place are begun with, or done already; `open_`: those to be asked, one for each repeat."""
        self._begun = upto
        self._open.update(open_)

    def settle(self, ordinal: int) -> None:
        """One repeat of a case has got its verdict, or its error, for good."""
        self._open[ordinal] -= 1
        if self._open[ordinal] <= 0:
            del self._open[ordinal]

    async def follow(self) -> None:
        """Sum up what is settled as the run goes on, in small pieces; to be cancelled at its end."""
        await asyncio.sleep(FIRST_S)
        while True:
            settled = self._settled_after(self._added)
            if len(settled) < PIECE:
                await asyncio.sleep(PAUSE_S)
                continue
            try:
                await self._store.flush(self._run.id)
                found = await asyncio.to_thread(self._read, settled)
            except StorageError:  # whoever writes waits or tells; what is not read now is read in the end
                await asyncio.sleep(FIRST_S)
            else:
                if self._sums is None:
                    self._sums = await asyncio.to_thread(analysis.Sums, self._run, self._gate, self._see)
                await self._add(self._sums, settled, found)

    def _read(self, ordinals: Sequence[int]) -> dict[int, list[Result]]:
        found: dict[int, list[Result]] = {}
        for result in self._store.results.read_at(self._run.id, ordinals):
            found.setdefault(result.ordinal, []).append(result)
        return found

    async def _add(self, sums: Sums, ordinals: Sequence[int], found: Mapping[int, Sequence[Result]]) -> None:
        for start in range(0, len(ordinals), PIECE):
            piece = ordinals[start : start + PIECE]
            sums.add(result for ordinal in piece for result in found.get(ordinal, ()))
            self._added += len(piece)
            await asyncio.sleep(PIECE_PAUSE_S)

    def _settled_after(self, place: int) -> Sequence[int]:
        """The cases from this place on that are settled, up to the first one that is not."""
        end = place
        while end < min(self._begun, place + READ_AT_ONCE) and self._ordinals[end] not in self._open:
            end += 1
        return self._ordinals[place:end]

    def complete(self) -> Sums:
        """What all results add up to that are in the store, settled or not: the run has ended."""
        sums = self._sums or analysis.Sums(self._run, self._gate, self._see)
        sums.add(self._store.results.read_at(self._run.id, self._ordinals[self._added :]))
        return sums
