"""What tokens cost: a dated table of list prices, or what the project file says; an unknown price is None."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import orjson

from cortex_eval.core import Money, Range, Usage

MILLION = Decimal(1_000_000)
DATED = re.compile(r"-(\d{4}-\d{2}-\d{2}|\d{8}|\d{3,4}|latest)$")
"""What a service adds to the name of a family: -2025-04-14, -20251001, -001."""

Price = Annotated[float, Range(0, 1_000_000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """US dollars for a million tokens, as people write them."""

    input: Price
    output: Price
    """Reasoning is in it: services bill it as output."""
    cached_input: Price | None = None
    """None: as dear as other input."""
    cache_write: Price | None = None
    """None: unknown, and so is the cost of a call that wrote to the cache."""
    up_to: int | None = None
    """Tokens of input up to which these prices hold; beyond, they are unknown."""
    table: str = "settings"
    """Where they are from."""

    def cost(self, usage: Usage, *, cache_written: int = 0) -> Money | None:
        """What a call cost; None when a price that it needs is not known."""
        if (cache_written and self.cache_write is None) or (self.up_to is not None and usage.input_tokens > self.up_to):
            return None
        cached = self.input if self.cached_input is None else self.cached_input
        fresh = max(0, usage.input_tokens - usage.cached_tokens - cache_written)
        amount = (
            fresh * _exact(self.input)
            + usage.cached_tokens * _exact(cached)
            + cache_written * _exact(self.cache_write or 0.0)
            + usage.output_tokens * _exact(self.output)
        )
        return Money(amount=(amount / MILLION).normalize() + 0, price_table=self.table)


PriceOf = Callable[[str | None], Prices | None]
"""The prices of a model by the name that the service gave back, if it gave one."""


def price_of(service: str, model: str | None) -> Prices | None:
    """The list prices of a service's model; a dated name has those of its family, an unknown one has none."""
    table = price_table()
    rows = table["services"].get(service, {}).get("models", {})
    name = (model or "").removeprefix("models/")
    row = rows.get(name) or rows.get(DATED.sub("", name))
    return Prices(**row, table=f"cortex-{table['dated']}") if row else None


@cache
def price_table() -> dict[str, Any]:  # Any: JSON, of the form that the file shows
    """The table that comes with Cortex, with its date and where it is from."""
    read: dict[str, Any] = orjson.loads(Path(__file__).with_name("prices.json").read_bytes())
    return read


def _exact(price: float) -> Decimal:
    return Decimal(repr(price))  # 0.4 as it was written, not as the nearest binary fraction
