"""What a plan would do, in figures."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any, NamedTuple


class Side(NamedTuple):
    """What the target would take, or all judges together."""

    calls: int
    """When every reply comes at the first attempt, and every verdict can be read."""
    at_most: int
    """With every verdict asked for as often as a judge may; retries of failed calls not counted."""
    tokens: int | None
    cost_usd: Decimal | None
    """None: not known, which is not 0."""
    by: str
    """What tokens and cost rest on, in words; empty when neither is known."""


class Taken(NamedTuple):
    """What a run since another one takes over from it, and what it asks all the same."""

    run: str
    cases: int
    """Taken over."""
    changed: int
    new: int
    unanswered: int
    """Asked, because of that."""
    why: str
    """Why nothing is taken over, or why the replies are scored again; empty: with their verdicts."""
    unjudged: int
    """Of the cases taken over, those that have no verdict there and are scored."""


class Host(NamedTuple):
    """Somebody who would be called."""

    host: str
    who: tuple[str, ...]
    """Whose address it is: names of the target and of models."""
    refused: str | None
    """`offline`: --offline would refuse it; `forbidden_address`: no run may call it; None: neither."""


class Limit(NamedTuple):
    """A budget, and whether the run would stay within it."""

    name: str
    limit: Decimal
    expected: Decimal | None
    stops_after_calls: int | None
    """None: it is enough, or that is not known."""


class Visible(NamedTuple):
    """The smallest fall of the pass rate that a comparison would show."""

    drop: float | None
    """None: with so few cases not even a fall to 0."""
    power: float
    level: float
    pairs: int
    """Cases, or clusters of them."""
    pass_rate: float
    pass_rate_of: str
    """Where that rate is from, in words."""
    against: str
    tests: int = 1
    """Metrics that the gate would judge together and that share the level, by the hardest of Holm's steps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What a plan would do."""

    suite: str
    dataset: str
    target: str
    cases: int
    of: int
    """Cases in the dataset."""
    repeats: int
    reused: Taken | None
    """None: it is no run since another one."""
    scorers: tuple[str, ...]
    at_once: int
    asked: Side
    judged: Side
    latency_ms: float | None
    """Mean of one call, by the earlier run."""
    seconds: float | None
    """Without judges, whose time no run puts down."""
    seconds_at_1s: float
    by_run: str | None
    hosts: tuple[Host, ...]
    is_offline: bool
    budgets: tuple[Limit, ...]
    visible: Visible
    notes: tuple[str, ...] = ()
    """What is to be known of the plan and of its dataset, such as columns that are probably misspelt."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it; sums of money are text."""
        plain = asdict(self) | {"offline": self.is_offline, "smallest_detectable_drop": self.visible._asdict()}
        plain["calls"] = {
            "target": self.asked.calls,
            "judge": self.judged.calls,
            "judge_at_most": self.judged.at_most,
        }
        sides = {"target": self.asked, "judge": self.judged}
        plain["tokens"] = {name: side.tokens for name, side in sides.items()}
        plain["cost_usd"] = {name: side.cost_usd for name, side in sides.items()} | {"total": self.cost_usd}
        plain["by"] = {name: side.by or None for name, side in sides.items()}
        plain["reused"] = self.reused._asdict() if self.reused else None
        plain["hosts"] = [each._asdict() for each in self.hosts]
        plain["budgets"] = [each._asdict() for each in self.budgets]
        for name in ("asked", "judged", "visible", "is_offline"):
            del plain[name]
        return plain

    @property
    def cost_usd(self) -> Decimal | None:
        """Of target and judges together; None when a part of it is not known."""
        return total_of(self.asked.cost_usd, self.judged.cost_usd, self.judged.calls)


def total_of(target: Decimal | None, judge: Decimal | None, judge_calls: int) -> Decimal | None:
    """Of target and judges together; None when a part of it is not known."""
    if target is None or (judge is None and judge_calls):
        return None
    return target + (judge or 0)
