"""How long to wait for a service, how often to ask again, and when to stop asking it altogether."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

LONGEST_DELAY_S = 60.0
TIMEOUT_S = 120.0
BREAK_AFTER = 10
"""Failures in a row after which a service is taken to be down."""
REFUSED_AFTER = 5
"""Answers of 401 or 403 in a row after which the key is taken to be wrong."""
FIRST_CALLS = 5
"""Calls at once until the service has answered one well: a wrong key or address costs no more than these."""
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

    def delay_s(self, failures: int) -> float:
        """How long to wait after this many failures in a row: doubled each time, capped, with jitter."""
        delay = min(self.retry_delay_s * 2.0 ** min(failures - 1, 30), LONGEST_DELAY_S)
        return delay * self.dice.uniform(0.75, 1.25)
