"""The same case asked several times: how likely some try passes, or all do, and how much tries differ."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple


class RepeatVariance(NamedTuple):
    """Where the spread of scores comes from."""

    within: float
    """Variance among the repeats of a case."""
    between: float
    """Variance among the true means of cases, at least 0."""
    cases: int
    """Cases with two repeats or more, on which `within` rests."""

    @property
    def share_within(self) -> float | None:
        """Of all variance of a single try, the share that asking again would change; None without any variance."""
        whole = self.within + self.between
        return self.within / whole if whole > 0 else None


def pass_at_k(tries: int, passed: int, k: int) -> float | None:
    """The chance that at least one of k tries passes, when so many of these did; None with fewer than k tries.

    The unbiased estimate of Chen et al. (2021), *Evaluating Large Language Models Trained on Code*, eq. 1.
    """
    if tries < k or k < 1:
        return None
    return 1 - math.comb(tries - passed, k) / math.comb(tries, k)


def pass_hat_k(tries: int, passed: int, k: int) -> float | None:
    """The chance that all of k tries pass (pass^k), when so many of these did; None with fewer than k tries.

    The unbiased estimate of Yao et al. (2024), *τ-bench*, section 3.
    """
    if tries < k or k < 1:
        return None
    return math.comb(passed, k) / math.comb(tries, k)


def repeat_variance(cases: Iterable[Sequence[float]]) -> RepeatVariance | None:
    """The variance within and between cases, each given by the values of its repeats.

    One-way analysis of variance for groups of unequal size (Snedecor & Cochran 1989, section 13.5); None when no case
    was asked twice or there is a single case.
    """
    groups = [list(each) for each in cases if each]
    if len(groups) < 2 or all(len(each) < 2 for each in groups):
        return None
    n = sum(map(len, groups))
    means = [math.fsum(each) / len(each) for each in groups]
    mean = math.fsum(map(math.fsum, groups)) / n
    inside = math.fsum((value - own) ** 2 for each, own in zip(groups, means, strict=True) for value in each)
    across = math.fsum(len(each) * (own - mean) ** 2 for each, own in zip(groups, means, strict=True))
    within = inside / (n - len(groups))
    usual_size = (n - math.fsum(len(each) ** 2 for each in groups) / n) / (len(groups) - 1)
    between = max(0.0, (across / (len(groups) - 1) - within) / usual_size)
    return RepeatVariance(within, between, sum(len(each) > 1 for each in groups))
