"""Did the reply come fast enough?"""

from __future__ import annotations

import math
from dataclasses import dataclass

from cortex_eval.core import PARSE_WARNING_MS, TOTAL_WARNING_MS, Case, InputError, JudgeError, Reply, Score
from cortex_eval.scoring.base import scorers


@scorers.register("performance")
@dataclass(frozen=True, slots=True)
class Performance:
    """How fast the reply came: 1 within the time allowed, falling in a straight line to 0 at twice that time."""

    response_time_threshold_ms: float = 1000.0

    def __post_init__(self) -> None:
        if not 0 < self.response_time_threshold_ms < math.inf:
            raise InputError(
                f"performance.response_time_threshold_ms must be more than 0, not {self.response_time_threshold_ms!r}."
            )

    async def score(self, case: Case, reply: Reply) -> Score:  # noqa: ARG002  # the seam's signature
        """0..1 with the time in ms; None when the time is not known."""
        took_ms, limit_ms = reply.total_time_ms, self.response_time_threshold_ms
        if took_ms is None:
            return Score(name="performance", value=None, reason="The time of the reply is not known.")
        if not 0 <= took_ms < math.inf:
            raise JudgeError(f"The time of the reply is {took_ms!r} ms, which cannot be.", kind="bad_time")
        warnings = _warnings(reply)
        return Score(
            name="performance",
            value=min(1.0, max(0.0, 2 - took_ms / limit_ms)),
            reason=f"The reply took {took_ms:.0f} ms; {limit_ms:g} ms are allowed.",
            evidence={"warnings": warnings} if warnings else None,
            measure=took_ms,
            unit="ms",
            direction="lower",
        )


def _warnings(reply: Reply) -> list[str]:
    times = (
        ("parse_time_ms", reply.parse_time_ms, PARSE_WARNING_MS),
        ("total_time_ms", reply.total_time_ms, TOTAL_WARNING_MS),
    )
    return [
        f"{name} {took:.0f} is over {limit:.0f}" for name, took, limit in times if took is not None and took > limit
    ]
