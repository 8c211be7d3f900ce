"""What all judges of a run share: one line to each model, and the verdicts that were given before."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from cortex_eval.net import Called, Limits, Line, Outside, Patience

if TYPE_CHECKING:  # projects without judges need not load the clients of LLM services
    from cortex_eval.llm import Asked, Completion, Model, ModelSettings


class VerdictCache(Protocol):
    """Where verdicts are kept that need not be asked for again."""

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
        self.model = model
        self.line = Line(f"the model {chosen.name!r}", chosen.patience, bench.outside)
        self._bench = bench

    async def call(self, asked: Asked, *, idempotency_key: str) -> Called[Completion]:
        """The model's answer, in one of the places that calls of a run have; errors as in `Line.call`."""
        async with self._bench.outside.place() as place:
            return await self.line.call(lambda: self.model.complete(asked, idempotency_key=idempotency_key), place)

    async def find(self, key: str) -> bytes | None:
        """What was kept under this key."""
        cache = self._bench.cache
        return None if cache is None else await asyncio.to_thread(cache.find, key)

    def keep(self, key: str, body: bytes) -> None:
        """Keep an answer that could be read."""
        if self._bench.cache is not None:
            self._bench.cache.keep(key, "verdict", body)


class Bench:
    """The models of one run, made when the first judge asks for them."""

    def __init__(self, outside: Outside, cache: VerdictCache | None = None) -> None:
        self.outside = outside
        self.cache = cache
        self._seats: list[tuple[JudgeModel, Seat]] = []

    async def seat(self, chosen: JudgeModel) -> Seat:
        """The place to ask this model from: the same one for every judge that names it."""
        for known, seat in self._seats:
            if known == chosen:
                return seat
        from cortex_eval.llm import make_model

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
