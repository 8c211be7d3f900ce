"""What all judges of a run share: one line to each model, and the verdicts that were given before."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol
from zlib import crc32

from cortex_eval.net import Called, Limits, Line, Outside, Patience

if TYPE_CHECKING:  # projects without judges need not load the clients of LLM services
    from cortex_eval.llm import Asked, Completion, Model, ModelSettings


PLACES = 1 << 21
"""One byte each: 100,000 kept verdicts leave 95 in 100 questions that need not be looked up."""


class VerdictCache(Protocol):
    """Where verdicts are kept that need not be asked for again."""

    def all_keys(self) -> Iterable[str]:
        """All keys."""

    def find(self, key: str) -> bytes | None:
        """What is kept under this key."""

    def keep(self, key: str, kind: str, body: bytes) -> None:
        """Keep it."""


def _judges_patience() -> Patience:
    return Patience(waits_out=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeModel:
    """A model that judges may ask, as an entry under `models:` describes it."""

    name: str
    """What people call it, such as `judge`."""
    settings: ModelSettings
    patience: Patience = field(default_factory=_judges_patience)
    """It does not wait for a dead service: the reply is kept, and `cortex rescore` judges it later."""


class Seat:
    """One model and the line to it, for all judges that name it: limits are the service's, not a judge's."""

    def __init__(self, chosen: JudgeModel, model: Model, bench: Bench) -> None:
        self.chosen, self.model = chosen, model
        self.line = Line(f"the model {chosen.name!r}", chosen.patience, bench.outside)
        self._bench = bench

    async def call(self, asked: Asked, *, idempotency_key: str) -> Called[Completion]:
        """The model's answer, in one of the places that calls of a run have; errors as in `Line.call`."""
        async with self._bench.outside.place() as place:
            return await self.line.call(lambda: self.model.complete(asked, idempotency_key=idempotency_key), place)

    async def find(self, key: str) -> bytes | None:
        """What was kept under this key, before this run or in it."""
        bench = self._bench
        if bench.cache is None or not bench.may_hold(key):
            return None
        return await asyncio.to_thread(bench.cache.find, key)

    def keep(self, key: str, body: bytes) -> None:
        """Keep an answer that could be read."""
        if self._bench.cache is not None:
            self._bench.cache.keep(key, "verdict", body)
            self._bench.note(key)


class Bench:
    """The models of one run, made when the first judge asks for them."""

    def __init__(self, outside: Outside, cache: VerdictCache | None = None) -> None:
        self.outside = outside
        self.cache = cache
        self._seats: list[tuple[JudgeModel, Seat]] = []
        self._held: bytearray | None = None

    def may_hold(self, key: str) -> bool:
        """Whether something may be kept under this key; False is certain, as far as this process can know.

        A look into the store costs half a millisecond and another thread, and nearly all questions are new.
        """
        return self._held is None or bool(self._held[_place(key)])

    def note(self, key: str) -> None:
        """Something is kept under this key."""
        if self._held is not None:
            self._held[_place(key)] = 1

    async def seat(self, chosen: JudgeModel) -> Seat:
        """The place to ask this model from: the same one for every judge that names it."""
        for known, seat in self._seats:
            if known == chosen:
                return seat
        from cortex_eval.llm import make_model

        if self.cache is not None and self._held is None:
            self._held = await asyncio.to_thread(_held_by, self.cache)
        model = make_model(chosen.settings)
        # A model that thinks before it speaks sends nothing for a while: only the total time counts.
        await asyncio.to_thread(model.open, self.outside.guard, Limits(idle_s=None))
        seat = Seat(chosen, model, self)
        self._seats.append((chosen, seat))
        return seat

    async def close(self) -> None:
        """Let go of every connection."""
        while self._seats:
            await self._seats.pop()[1].model.close()


def _held_by(cache: VerdictCache) -> bytearray:
    held = bytearray(PLACES)
    for key in cache.all_keys():
        held[_place(key)] = 1
    return held


def _place(key: str) -> int:
    return crc32(key.encode()) % PLACES
