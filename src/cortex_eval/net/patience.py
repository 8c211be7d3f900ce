"""How long to wait for a service, how often to ask again, and when to stop asking it altogether."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from cortex_eval.core import TargetError

LONGEST_DELAY_S = 60.0
TIMEOUT_S = 120.0
BREAK_AFTER = 10
"""Failures in a row after which a service is taken to be down."""
REFUSED_AFTER = 5
"""Answers of 401 or 403 in a row after which the key is taken to be wrong."""
FIRST_CALLS = 5
"""Calls at once until the service has answered one well: a wrong key or address costs no more than these."""
SPREAD_S = 0.1
"""Then those who waited for that are let go over this time, or over that of the answer where it is shorter."""
MISFITS = frozenset({"not_json", "not_audio", "missing_field", "redirect", "tls", "offline", "forbidden_address"})
MISFIT_STATUS = frozenset({404, 405, 410, 415, 501})
"""Answers that no service of the kind that was meant gives."""
UNREACHED_S = 30.0
"""How long an address is waited for that never answered and where nobody listens: it may be just starting, or wrong."""
PROBE_SOON_S = 5.0
"""How often it is tried meanwhile: there is nobody whom that could burden."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """The limits of calls to one service, and what to do when they fail."""

    timeout_s: float = TIMEOUT_S
    """Of each attempt, from the first byte sent to the last byte read."""
    retries: int = 2
    """Further attempts after a failure that may pass by itself."""
    retry_delay_s: float = 1.0
    """Before the second attempt; doubled each time, with jitter."""
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    break_after: int | None = BREAK_AFTER
    """Failures in a row that open the breaker; None: there is none, as for what runs on this machine."""
    probe_every_s: float = 30.0
    """How often a service that is down is tried."""
    pause_limit_s: float = 600.0
    """How long a service that is down, or asks us to slow down, is waited for; 0: not at all."""
    waits_out: bool = True
    """Whether callers wait while the service is down. A judge's do not: the answer is stored and judged later."""
    dice: random.Random = field(default_factory=random.Random, compare=False, repr=False)
    """Where the jitter comes from."""

    def limit_s(self, *, is_down: bool, is_unreached: bool) -> float:
        """How long a service is waited for; `is_unreached`: it never answered, and nobody listens at its address.

        One that asks to slow down is not dead: it gets a minute even when nobody waits for dead ones.
        """
        limit_s = self.pause_limit_s if is_down else max(self.pause_limit_s, LONGEST_DELAY_S)
        return min(limit_s, UNREACHED_S) if is_unreached else limit_s

    def probe_s(self, *, is_unreached: bool) -> float:
        """How often a service that is down is tried."""
        return min(self.probe_every_s, PROBE_SOON_S) if is_unreached else self.probe_every_s

    def delay_s(self, failures: int) -> float:
        """How long to wait after this many failures in a row: doubled each time, capped, with jitter."""
        delay = min(self.retry_delay_s * 2.0 ** min(failures - 1, 30), LONGEST_DELAY_S)
        return delay * self.dice.uniform(0.75, 1.25)


def is_misfit(error: TargetError) -> bool:
    """Whether it may not be the service that was meant."""
    return error.kind in MISFITS or error.status in MISFIT_STATUS


def minutes(seconds: float) -> str:
    """Time left, in words."""
    return f"{max(seconds, 0):.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
