"""What asking the same cases several times showed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from cortex_eval.analysis.cases import CaseFigures
from cortex_eval.stats import pass_at_k, pass_hat_k, repeat_variance


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeats:
    """What asking the same cases k times showed."""

    k: int
    pass_at_k: float
    """The chance that one of k tries passes, over all cases."""
    pass_hat_k: float
    """The chance that all k do."""
    within_variance: float | None
    """Of a verdict, among the tries of a case."""


def repeats_of(cases: Sequence[CaseFigures]) -> Repeats | None:
    """Over the cases with as many verdicts as most have."""
    k = max((len(each.passes) for each in cases), default=0)
    asked = [each.passes for each in cases if len(each.passes) == k]
    if k < 2:
        return None
    some = [pass_at_k(k, sum(each), k) or 0.0 for each in asked]
    every = [pass_hat_k(k, sum(each), k) or 0.0 for each in asked]
    spread = repeat_variance([list(map(float, each)) for each in asked])
    return Repeats(
        k=k,
        pass_at_k=math.fsum(some) / len(asked),
        pass_hat_k=math.fsum(every) / len(asked),
        within_variance=spread.within if spread else None,
    )
