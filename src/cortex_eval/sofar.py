"""What a run adds up to so far: settled results are read while it goes on, so that little is left to do at its end."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import chain, takewhile
from typing import TYPE_CHECKING

from cortex_eval import analysis
from cortex_eval.core import Result, RunRecord, StorageError
from cortex_eval.storage import Store

if TYPE_CHECKING:  # loaded while the first calls are under way
    from cortex_eval.analysis import GateSettings, Sums

See = Callable[[Result], None] | None
FIRST_S = 1.0
"""A run that is shorter is summed up at its end."""
PAUSE_S, LAST_PAUSE_S = 0.2, 0.05
"""Between two looks; the shorter one when the last cases are under way, so that few are left for the end."""
BUSY = 0.75
"""Share of its time that the event loop may be at work for others."""
READ_AT_ONCE = 1_000
"""Cases."""
HELD_BYTES = 4_000_000
"""Of results that wait to be added: more of them are read again from the store."""
_RESULT_BYTES = 1_000
"""Of a result without its case, reply and scores."""
PIECE = 25
"""Cases that are added before calls get their turn again: about a millisecond."""
PIECE_PAUSE_S = 0.004


class SoFar:
    """The sums of a run over the cases, in the order of asking, up to the first one that is not settled.

    What was just kept is at hand as the store would give it, and everything else is read from there: a report that is
    made again adds up the same in the same order.
    """

    def __init__(self, store: Store, run: RunRecord, gate: GateSettings, see: See = None) -> None:
        self._store, self._run, self._gate, self._see = store, run, gate, see
        self._ordinals: Sequence[int] = store.runs.numbers(run.id)[2]
        self._begun = 0
        """Cases, in the order of asking, that may be under way; none of the others is."""
        self._open: dict[int, int] = {}
        """How many repeats of a case are not settled; only where some are not."""
        self._held: dict[int, Sequence[Result]] = {}
        """Results of cases that are settled and not in the sums yet; of those beyond `HELD_BYTES`, none."""
        self._held_bytes = 0
        self._added = 0
        """Cases that are in the sums."""
        self._sums: Sums | None = None
        self._error: Exception | None = None
        """What went wrong with adding; it is raised when the run has ended and everything is kept."""

    def begin(self, upto: int, open_: Iterable[int]) -> None:
        """Cases up to this place are begun with, or done already; `open_`: those to be asked, one for each repeat."""
        self._begun = upto
        self._open |= Counter(open_)

    def settle(self, ordinal: int, make: Callable[[], Sequence[Result]]) -> None:
        """One repeat of a case has got its verdicts, or its error, for good; `make`: its results, if they are at hand.

        Those of several repeats, and what does not fit into the memory, are read when their time comes.
        """
        left = self._open.pop(ordinal, 1) - 1
        if left > 0:
            self._open[ordinal] = left
        if self._run.repeats == 1 and self._held_bytes <= HELD_BYTES and (made := make()) and not made[0].repeat:
            self._held[ordinal] = made
            self._held_bytes += sum(map(_size, made))

    async def follow(self) -> None:
        """Sum up what is settled as the run goes on, in small pieces; to be cancelled at its end."""
        await asyncio.sleep(FIRST_S)
        while self._error is None:
            is_nearly_done = len(self._ordinals) - self._begun <= READ_AT_ONCE
            if await _busy_for(LAST_PAUSE_S if is_nearly_done else PAUSE_S) > BUSY:
                continue  # there is no time to spare: at the end is as good
            if len(settled := self._settled()) >= PIECE:
                await self._add(await self._results_of(settled))

    async def _add(self, found: Sequence[Sequence[Result]]) -> None:
        if self._sums is None:
            self._sums = await asyncio.to_thread(analysis.Sums, self._run, self._gate, self._see)
        for start in range(0, len(found), PIECE):
            piece = found[start : start + PIECE]
            try:
                self._sums.add(chain.from_iterable(piece))
            except Exception as error:  # noqa: BLE001  # a bug, which must not cost the rest of the run
                self._error = error
                return
            for place in self._ordinals[self._added : self._added + len(piece)]:
                self._held_bytes -= sum(map(_size, self._held.pop(place, ())))
            self._added += len(piece)
            await asyncio.sleep(PIECE_PAUSE_S)

    def _settled(self) -> Sequence[int]:
        """The next cases that are settled, up to the first one that is not."""
        end = first = self._added
        while end < min(self._begun, first + READ_AT_ONCE) and self._ordinals[end] not in self._open:
            end += 1
        return self._ordinals[first:end]

    async def _results_of(self, ordinals: Sequence[int]) -> list[Sequence[Result]]:
        """The results of these cases, each case's together, up to the first one whose verdict is not on disk yet."""
        found = {}
        if further := [each for each in ordinals if each not in self._held]:
            await self._store.flush(self._run.id)  # a verdict of an earlier part may stand where the new one goes
            found = await asyncio.to_thread(self._read, further)
        return list(takewhile(_is_final, (self._held.get(each) or found.get(each, []) for each in ordinals)))

    def _read(self, ordinals: Sequence[int]) -> dict[int, list[Result]]:
        found: dict[int, list[Result]] = {}
        with suppress(StorageError):  # whoever writes waits or tells; what is not read now is read in the end
            for result in self._store.results.read_at(self._run.id, ordinals):
                found.setdefault(result.ordinal, []).append(result)
        return found

    def complete(self) -> Sums:
        """What all results add up to that are in the store, settled or not: the run has ended."""
        if self._error is not None:
            raise self._error
        sums = self._sums or analysis.Sums(self._run, self._gate, self._see)
        sums.add(self._store.results.read_at(self._run.id, self._ordinals[self._added :]))
        return sums


async def _busy_for(pause_s: float) -> float:
    """Wait, and tell which share of that time the event loop was at work."""
    began, worked = time.monotonic(), time.thread_time()
    await asyncio.sleep(pause_s)
    return (time.thread_time() - worked) / (time.monotonic() - began)


def _size(result: Result) -> int:
    return _RESULT_BYTES + len(result.case_json or b"") + len(result.reply_json or b"") + len(result.scores_json)


def _is_final(results: Sequence[Result]) -> bool:
    return bool(results) and all(each.state != "pending" for each in results)
