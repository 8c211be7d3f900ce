"""Tokens and money of many calls, added up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from cortex_eval.analysis.report import TokenUse


class Use:
    """Tokens and money of many calls."""

    def __init__(self) -> None:
        self.tokens = {"input_tokens": 0, "cached_tokens": 0, "output_tokens": 0, "reasoning_tokens": 0}
        self.cost: dict[str, Decimal] = {}
        self.replies = 0
        self.unpriced = 0

    def add(self, usage: Mapping[str, Any]) -> None:
        """Count one reply."""
        self.replies += 1
        for name in self.tokens:
            self.tokens[name] += usage.get(name, 0)
        cost = usage.get("cost")
        if cost is None:
            self.unpriced += 1
        else:
            currency = cost.get("currency", "USD")
            self.cost[currency] = self.cost.get(currency, Decimal(0)) + Decimal(cost["amount"])

    def summed(self) -> TokenUse | None:
        """All of it; None when no reply stated anything."""
        if not self.replies:
            return None
        cost = {currency: str(amount) for currency, amount in self.cost.items()} or None
        return TokenUse(replies=self.replies, cost=cost, unpriced=self.unpriced, **self.tokens)


def judge_usages(scores: Mapping[str, Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """What each verdict of a judge took that was asked for and not found in the cache; an error is paid for as well."""
    for score in scores.values():
        error = score.get("error")
        is_judged = error is not None or score.get("source") == "judge"
        evidence = (score if error is None else error).get("evidence")
        if is_judged and isinstance(evidence, dict) and not evidence.get("cached"):
            tokens = evidence.get("tokens") or {}
            yield {
                "input_tokens": tokens.get("input", 0),
                "output_tokens": tokens.get("output", 0),
                "cost": evidence.get("cost"),
                "calls": evidence.get("attempts", 1),
            }
