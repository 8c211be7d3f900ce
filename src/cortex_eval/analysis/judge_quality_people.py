"""Is a judge as good as a person? Its agreement with each of them, beside theirs with each other."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, NamedTuple

from cortex_eval.analysis.judge_quality_figures import Figure
from cortex_eval.stats import Z_95, cohen_kappa, confusion_of

MOST_PEOPLE = 12
"""Beyond that, a crowd: pairs of people share few items."""
CLOSE = 0.1
"""A judge that may be this much worse than a person, and not more, is as good as one."""

Measure = Literal["kappa", "concordance"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """How far two agree on the items that both looked at."""

    first: str
    """'' is the judge."""
    second: str
    """'' is what people say together: the majority of verdicts, or the mean."""
    agreement: Figure
    same: int
    """Items of which both say exactly the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AmongPeople:
    """A judge among several people."""

    measure: Measure
    """Cohen's kappa of verdicts; of grades Lin's concordance, which is kappa with squared weights."""
    pairs: Sequence[Agreement]
    """The judge with all, with each person, and each two people."""
    with_people: float | None
    """The judge's agreement with one person, on average."""
    between_people: float | None
    """That of two people, on average."""
    difference: Figure | None
    """The first less the second, on the items that at least two people rated."""

    @property
    def verdict(self) -> Literal["better", "as_good", "worse", "unknown"]:
        """What that means for the question whether the judge is as good as a person."""
        found = self.difference
        if found is None or found.low is None or found.high is None:
            return "unknown"
        if found.low > 0:
            return "better"
        if found.low >= -CLOSE:
            return "as_good"
        return "worse" if found.high < 0 else "unknown"


class Rated(NamedTuple):
    """One item: what the judge says, what people say together and what each of them says."""

    judged: float
    passes: bool
    """By the judge."""
    together: float
    by_person: Mapping[str, float]
    cluster: Hashable


def among_people(rated: Sequence[Rated], people: Sequence[str]) -> AmongPeople | None:
    """Compare a judge with each person and people with each other; None unless there are two people, and no crowd."""
    if not 2 <= len(people) <= MOST_PEOPLE:
        return None
    is_verdict = all(value in (0.0, 1.0) for each in rated for value in each.by_person.values())
    pairs = [_agreement("", "", rated, is_verdict)]
    pairs += [_agreement("", person, rated, is_verdict) for person in people]
    pairs += [_agreement(*two, rated, is_verdict) for two in combinations(people, 2)]
    shared = [each for each in rated if len(each.by_person) > 1]
    sums = _Compared(shared, people, is_verdict)
    whole = sums.averages()
    return AmongPeople(
        measure="kappa" if is_verdict else "concordance",
        pairs=pairs,
        with_people=whole[0],
        between_people=whole[1],
        difference=sums.difference(),
    )


def _agreement(first: str, second: str, rated: Sequence[Rated], is_verdict: bool) -> Agreement:
    both = list(_both(first, second, rated, is_verdict))
    same = sum(abs(a - b) < 1e-9 for a, b, _ in both)
    figure = Figure(value=None, n=len(both))
    if is_verdict and both:
        kappa = cohen_kappa(confusion_of([a > 0.5 for a, _, _ in both], [b > 0.5 for _, b, _ in both]).table)
        if kappa is not None:
            figure = Figure(value=kappa.value, low=kappa.low, high=kappa.high, n=len(both))
    elif both:
        sums = _Sums.of(both)
        value = sums.concordance()
        left = [(sums - part).concordance() for part in _by_cluster(both).values()]
        low, high = _jackknife(value, left, len(both))
        if value is not None:
            figure = Figure(value=value, low=low, high=high, n=len(both))
    return Agreement(first=first, second=second, agreement=figure, same=same)


def _both(first: str, second: str, rated: Sequence[Rated], is_verdict: bool) -> Iterator[tuple[float, float, Hashable]]:
    """What two say of the items that both looked at; of verdicts without a majority people say nothing together."""
    for each in rated:
        judged = float(each.passes) if is_verdict else each.judged
        one = each.by_person.get(first) if first else judged
        other = each.by_person.get(second) if second else each.together
        if not second and is_verdict:
            other = None if each.together == 0.5 else float(each.together > 0.5)
        if one is not None and other is not None:
            yield one, other, each.cluster


class _Sums(NamedTuple):
    """All that the concordance of two needs to know; of parts it is added and taken away."""

    n: float = 0.0
    a: float = 0.0
    b: float = 0.0
    aa: float = 0.0
    bb: float = 0.0
    ab: float = 0.0

    @classmethod
    def of(cls, both: Sequence[tuple[float, float, Hashable]]) -> _Sums:
        columns = zip(*((1.0, a, b, a * a, b * b, a * b) for a, b, _ in both), strict=True)
        return cls(*map(math.fsum, columns)) if both else cls()

    def __sub__(self, other: _Sums) -> _Sums:
        return _Sums(*(mine - its for mine, its in zip(self, other, strict=True)))

    def concordance(self) -> float | None:
        """Lin's (1989); of 0 and 1 it is Cohen's kappa. None when neither varies and both say the same."""
        if self.n < 2:
            return None
        a, b = self.a / self.n, self.b / self.n
        apart = self.aa / self.n - a * a + self.bb / self.n - b * b + (a - b) ** 2
        return None if apart < 1e-12 else 2 * (self.ab / self.n - a * b) / apart


def _by_cluster(both: Sequence[tuple[float, float, Hashable]]) -> dict[Hashable, _Sums]:
    parts: dict[Hashable, list[tuple[float, float, Hashable]]] = {}
    for place, each in enumerate(both):
        parts.setdefault(("alone", place) if each[2] is None else each[2], []).append(each)
    return {cluster: _Sums.of(part) for cluster, part in parts.items()}


class _Compared:
    """The judge's agreement with people less theirs with each other, with all items and without one cluster."""

    def __init__(self, shared: Sequence[Rated], people: Sequence[str], is_verdict: bool) -> None:
        # An item without a cluster stands alone: it gets a name of its own, the same for every pair.
        named = [
            each if each.cluster is not None else each._replace(cluster=("alone", place))
            for place, each in enumerate(shared)
        ]
        self.n = len(named)
        self._clusters = list(dict.fromkeys(each.cluster for each in named))
        self._whole: list[list[_Sums]] = []
        self._parts: list[list[dict[Hashable, _Sums]]] = []
        for pairs in ([("", person) for person in people], list(combinations(people, 2))):
            both = [list(_both(*two, named, is_verdict)) for two in pairs]
            self._whole.append([_Sums.of(each) for each in both])
            self._parts.append([_by_cluster(each) for each in both])

    def averages(self, without: Hashable = None) -> tuple[float | None, float | None]:
        """The mean agreement of the judge with a person, and of two people."""
        means = []
        for whole, parts in zip(self._whole, self._parts, strict=True):
            found = [
                (sums - part[without] if without in part else sums).concordance()
                for sums, part in zip(whole, parts, strict=True)
            ]
            known = [each for each in found if each is not None]
            means.append(math.fsum(known) / len(known) if known else None)
        return means[0], means[1]

    def difference(self) -> Figure | None:
        """With its interval by leaving one cluster out at a time; None when it is undefined."""
        value = _less(self.averages())
        if value is None:
            return None
        low, high = _jackknife(value, [_less(self.averages(cluster)) for cluster in self._clusters], self.n, bound=2.0)
        return Figure(value=value, low=low, high=high, n=self.n)


def _less(means: tuple[float | None, float | None]) -> float | None:
    return None if means[0] is None or means[1] is None else means[0] - means[1]


def _jackknife(
    value: float | None, left: Sequence[float | None], n: int, *, bound: float = 1.0
) -> tuple[float | None, float | None]:
    """95 % interval from what is found without each cluster (Tukey 1958); None twice when one cannot be had."""
    known = [each for each in left if each is not None]
    if value is None or len(known) < 2 or len(known) < len(left):
        return None, None
    mean = math.fsum(known) / len(known)
    spread = math.fsum((each - mean) ** 2 for each in known)
    half = Z_95 * math.sqrt((len(known) - 1) / len(known) * spread)
    # As in `cohen_kappa`: what was never seen on n items may yet be so on 1 − 0.05^(1/n) of all.
    half = half if half > 1e-6 else 1 - 0.05 ** (1 / n)
    return max(-bound, value - half), min(bound, value + half)
