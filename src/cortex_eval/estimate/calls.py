"""The calls that a plan would make, with the tokens and the money that they would take."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from cortex_eval.config import AsksModel, IsModel, Plan
from cortex_eval.core import Case, Reply, Usage
from cortex_eval.estimate.work import Work
from cortex_eval.manifest import read_rows
from cortex_eval.scoring import PlannedScorer
from cortex_eval.targets import Conversation

if TYPE_CHECKING:
    from cortex_eval.llm import Prices

CHARACTERS_A_TOKEN = 4
"""Of English text, by the rule of thumb that services give; other scripts have fewer."""
TOKENS_OUT = 256
"""Of a reply, when the target does not limit it."""


@runtime_checkable
class Measured(Protocol):
    """A judge that can say beforehand how much text a model of its would be told."""

    def characters(self, case: Case, replies: Sequence[Reply]) -> Sequence[int]:
        """In each call for this score; empty: the model would not be asked."""


class Known(NamedTuple):
    """What is known of some calls beside their number."""

    tokens: int | None
    cost_usd: Decimal | None
    by: str


class Count:
    """Calls to language models, with the tokens and the money that they would take, added up."""

    def __init__(self) -> None:
        self.calls = self.at_most = self.longest = 0
        self.verdicts = 0
        """Scores that the calls are for: a jury, a rubric or many claims take several calls for one."""
        self.tokens: int | None = 0
        self.cost_usd: Decimal | None = Decimal(0)
        self.tables: set[str] = set()

    def add(
        self, characters: int | None, tokens_out: int, prices: Prices | None, *, times: int, attempts: int = 1
    ) -> None:
        """So many calls more; what they would be told may not be known."""
        self.calls, self.at_most = self.calls + times, self.at_most + times * attempts
        self.longest = max(self.longest, tokens_out)
        if characters is None:
            self.tokens = self.cost_usd = None
            return
        used = Usage(input_tokens=math.ceil(characters / CHARACTERS_A_TOKEN), output_tokens=tokens_out)
        money = prices.cost(used) if prices else None
        if self.tokens is not None:
            self.tokens += times * (used.input_tokens + used.output_tokens)
        self.cost_usd = None if self.cost_usd is None or money is None else self.cost_usd + times * money.amount
        self.tables |= {prices.table} if prices else set()

    def known(self) -> Known:
        """What is known of tokens and money, and by which rule."""
        if not self.calls or self.tokens is None:
            return Known(None, None, "")
        rule = f"{CHARACTERS_A_TOKEN} characters a token in, {self.longest:,} tokens out"
        tables = sorted("the project file" if each == "settings" else f"the table {each}" for each in self.tables)
        by = rule if self.cost_usd is None else f"prices of {' and '.join(tables)}; {rule}"
        return Known(self.tokens, self.cost_usd, by)


class Counts(NamedTuple):
    """Calls to language models, by who makes them."""

    target: Count
    judge: Count


def measure(plan: Plan, work: Work) -> Counts:
    """Every call to a language model that the plan would make."""
    target, judges = plan.target, [each for each in plan.scorers if isinstance(each.scorer, AsksModel)]
    counts = Counts(Count(), Count())
    if not judges and not isinstance(target, IsModel):
        return counts
    from cortex_eval.llm import prices_of  # projects without models need not load it

    prices = prices_of(target.model_settings) if isinstance(target, IsModel) else None
    judged_at = {
        each.name: [prices_of(chosen.settings) for chosen in each.scorer.jury()]
        for each in judges
        if isinstance(each.scorer, AsksModel)
    }
    tokens_out = getattr(target, "max_tokens", None) or TOKENS_OUT
    said = "x" * (CHARACTERS_A_TOKEN * tokens_out)
    chosen = set(work.ordinals)
    for row in (row for row in read_rows(plan.dataset).rows() if row.ordinal in chosen):
        case = row.case
        replies = [Reply(text=said, contexts=case.passages or (said,))] * row.turns
        for turn in range(row.turns):
            if isinstance(target, IsModel) and (times := work.asked(row.ordinal)):
                size = target.characters(Conversation.at(case, turn, replies[:turn], session_id=""))
                counts.target.add(size, tokens_out, prices, times=times)
            for judge in judges:
                times = work.judged(row.ordinal, judge)
                if times and (judge.level == "turn" or turn == row.turns - 1):
                    about = case.at(turn), replies[: turn + 1]
                    _add_verdicts(counts.judge, judge, *about, jury=judged_at[judge.name], times=times)
    return counts


def _add_verdicts(
    count: Count,
    judge: PlannedScorer,
    case: Case,
    replies: Sequence[Reply],
    *,
    jury: Sequence[Prices | None],
    times: int,
) -> None:
    scorer = judge.scorer
    tokens_out, attempts = getattr(scorer, "max_tokens", TOKENS_OUT), getattr(scorer, "attempts", 1)
    sizes = scorer.characters(case, replies) if isinstance(scorer, Measured) else [None]
    count.verdicts += times if sizes else 0
    for prices in jury:
        for size in sizes:
            count.add(size, tokens_out, prices, times=times, attempts=attempts)
