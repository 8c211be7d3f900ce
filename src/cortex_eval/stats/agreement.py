"""How far raters agree beyond chance, and how well a judge finds what people find."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Literal, NamedTuple

from cortex_eval.stats.uncertainty import Z_95, Interval, wilson

Weights = Literal["none", "linear", "quadratic"]
Scale = Literal["nominal", "ordinal", "interval"]
Table = Sequence[Sequence[float]]
"""Counts: the rows are the first rater's categories, the columns the second's, in the same order."""


class Kappa(NamedTuple):
    """Agreement of two raters beyond chance."""

    value: float
    low: float
    high: float
    """95 % interval."""
    observed: float
    """Share of items on which they agree; with weights, nearly."""
    by_chance: float
    n: float


class Confusion(NamedTuple):
    """A judge's passes and fails against people's."""

    true_pass: int
    false_pass: int
    """The judge passes what people fail."""
    false_fail: int
    true_fail: int

    @property
    def n(self) -> int:
        """Items that both looked at."""
        return sum(self)

    @property
    def table(self) -> Table:
        """Rows: the judge's pass and fail; columns: people's."""
        return ((self.true_pass, self.false_pass), (self.false_fail, self.true_fail))

    @property
    def accuracy(self) -> float | None:
        """Share of items with the same verdict."""
        return _ratio(self.true_pass + self.true_fail, self.n)

    @property
    def precision(self) -> float | None:
        """Of what the judge passes, the share that people pass."""
        return _ratio(self.true_pass, self.true_pass + self.false_pass)

    @property
    def recall(self) -> float | None:
        """Of what people pass, the share that the judge passes."""
        return _ratio(self.true_pass, self.true_pass + self.false_fail)

    @property
    def specificity(self) -> float | None:
        """Of what people fail, the share that the judge fails."""
        return _ratio(self.true_fail, self.true_fail + self.false_pass)

    @property
    def f1(self) -> float | None:
        """The harmonic mean of precision and recall."""
        return _ratio(2 * self.true_pass, 2 * self.true_pass + self.false_pass + self.false_fail)

    @property
    def f1_interval(self) -> Interval | None:
        """95 %: Wilson's for the share of true passes among all that somebody passes, and from there to F1."""
        # Hand, Christen & Kirielle 2021: F* = TP / (TP + FP + FN) is a plain proportion, and F1 = 2 F* / (1 + F*).
        found = wilson(self.true_pass, self.true_pass + self.false_pass + self.false_fail)
        return None if found is None else Interval(*(2 * each / (1 + each) for each in found))


class Fit(NamedTuple):
    """A threshold and how well it agrees with people, on the labels that it was chosen on."""

    threshold: float
    kappa: float
    confusion: Confusion


def cohen_kappa(table: Table, *, weights: Weights = "none") -> Kappa | None:
    """Cohen's kappa of two raters; None when chance alone would make them agree on everything."""
    n = math.fsum(map(math.fsum, table))
    if n <= 0:
        return None
    size = range(len(table))
    weight = _weights(len(table), weights)
    share = [[cell / n for cell in row] for row in table]
    rows = [math.fsum(row) for row in share]
    columns = [math.fsum(share[i][j] for i in size) for j in size]
    observed = math.fsum(weight[i][j] * share[i][j] for i in size for j in size)
    chance = math.fsum(weight[i][j] * rows[i] * columns[j] for i in size for j in size)
    if 1 - chance < 1e-12:
        return None
    value = (observed - chance) / (1 - chance)  # Cohen 1960; weighted: Cohen 1968
    # Fleiss, Cohen & Everitt 1969, eq. 13: the large-sample variance.
    by_row = [math.fsum(columns[j] * weight[i][j] for j in size) for i in size]
    by_column = [math.fsum(rows[i] * weight[i][j] for i in size) for j in size]
    spread = math.fsum(
        share[i][j] * (weight[i][j] * (1 - chance) - (by_row[i] + by_column[j]) * (1 - observed)) ** 2
        for i in size
        for j in size
    )
    variance = (spread - (observed * chance - 2 * chance + observed) ** 2) / (n * (1 - chance) ** 4)
    half = Z_95 * math.sqrt(max(0.0, variance))
    if half < 1e-6:
        # Raters who never disagreed on n items (or of whom one always says the same) may yet do so on 1 − 0.05^(1/n)
        # of all items (Hanley & Lippman-Hand 1983): the formula's spread of 0 is what it does not know.
        half = (1 - 0.05 ** (1 / n)) / (1 - chance)
    return Kappa(value, max(-1.0, value - half), min(1.0, value + half), observed, chance, n)


def cross_table(
    first: Sequence[Hashable], second: Sequence[Hashable], categories: Sequence[Hashable] | None = None
) -> list[list[int]]:
    """How often each pair of categories occurs; the categories are those that occur, in sorted order, if not given."""
    known = sorted({*first, *second}, key=str) if categories is None else list(categories)
    place = {category: number for number, category in enumerate(known)}
    table = [[0] * len(known) for _ in known]
    for one, other in zip(first, second, strict=True):
        table[place[one]][place[other]] += 1
    return table


def fleiss_kappa(counts: Table) -> float | None:
    """Fleiss' kappa; a row per item: how many raters chose each category, as many raters for each item.

    None when all raters use one category: chance alone would make them agree.
    """
    observed, shares = _observed(counts)
    chance = math.fsum(each * each for each in shares)
    return None if 1 - chance < 1e-12 else (observed - chance) / (1 - chance)  # Fleiss 1971


def randolph_kappa(counts: Table) -> float | None:
    """Free-marginal kappa: chance is one over the number of categories; counts as for `fleiss_kappa`."""
    chance = 1 / len(counts[0])
    return None if len(counts[0]) < 2 else (_observed(counts)[0] - chance) / (1 - chance)  # Randolph 2005


def gwet_ac1(counts: Table) -> float | None:
    """Gwet's AC1, which does not collapse when nearly all items are of one kind; counts as for `fleiss_kappa`."""
    observed, shares = _observed(counts)
    if len(shares) < 2:
        return None
    chance = math.fsum(each * (1 - each) for each in shares) / (len(shares) - 1)
    return (observed - chance) / (1 - chance)  # Gwet 2008


def krippendorff_alpha(units: Sequence[Sequence[float | str | None]], scale: Scale = "nominal") -> float | None:
    """Krippendorff's alpha; a row per item with what each rater said, None where one said nothing.

    None when fewer than two things were said of every item, or when everything that was said is the same.
    """
    rated = [[each for each in unit if each is not None] for unit in units]
    rated = [unit for unit in rated if len(unit) > 1]
    totals = Counter(each for unit in rated for each in unit)
    if len(totals) < 2:
        return None
    n = sum(totals.values())
    distance = _distance(totals, scale)
    # Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", section E.
    observed = math.fsum(
        math.fsum(one * (other - (a == b)) * distance(a, b) for a, one in seen.items() for b, other in seen.items())
        / (len(unit) - 1)
        for unit in rated
        for seen in (Counter(unit),)
    )
    expected = math.fsum(
        one * (other - (a == b)) * distance(a, b) for a, one in totals.items() for b, other in totals.items()
    ) / (n - 1)
    return 1 - observed / expected


def confusion_of(judged: Sequence[bool], people: Sequence[bool]) -> Confusion:
    """The four counts."""
    found = Counter(zip(judged, people, strict=True))
    return Confusion(found[True, True], found[True, False], found[False, True], found[False, False])


def best_threshold(scores: Sequence[float], people: Sequence[bool]) -> Fit | None:
    """The threshold at or above which a score passes that agrees best with people (Cohen's kappa).

    It lies halfway between two scores. None when people pass everything or nothing: then there is nothing to fit.
    """
    if len(set(people)) < 2:
        return None
    ordered = sorted(zip(scores, people, strict=True), reverse=True)
    passes, n = sum(people), len(people)
    best: Fit | None = None
    true_pass = false_pass = 0
    for place, (score, is_pass) in enumerate(ordered):
        true_pass, false_pass = true_pass + is_pass, false_pass + (not is_pass)
        following = ordered[place + 1][0] if place + 1 < n else None
        if following == score:
            continue  # equal scores pass together or not at all
        found = Confusion(true_pass, false_pass, passes - true_pass, n - passes - false_pass)
        kappa = cohen_kappa(found.table)
        value = 0.0 if kappa is None else kappa.value
        if best is None or value > best.kappa:
            best = Fit(score if following is None else (score + following) / 2, value, found)
    return best


def pearson(first: Sequence[float], second: Sequence[float]) -> float | None:
    """The linear correlation; None when one side does not vary."""
    n = len(first)
    if n < 2:
        return None
    means = math.fsum(first) / n, math.fsum(second) / n
    one, other = [each - means[0] for each in first], [each - means[1] for each in second]
    spread = math.fsum(each * each for each in one) * math.fsum(each * each for each in other)
    if spread <= 0:
        return None
    return math.fsum(a * b for a, b in zip(one, other, strict=True)) / math.sqrt(spread)


def spearman(first: Sequence[float], second: Sequence[float]) -> float | None:
    """The correlation of ranks, equal values sharing theirs; None when one side does not vary."""
    return pearson(_ranks(first), _ranks(second))


def _ranks(values: Sequence[float]) -> list[float]:
    places: dict[float, list[int]] = {}
    for rank, value in enumerate(sorted(values), 1):
        places.setdefault(value, []).append(rank)
    return [sum(places[each]) / len(places[each]) for each in values]


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _weights(size: int, kind: Weights) -> list[list[float]]:
    span = max(1, size - 1)
    power = 2 if kind == "quadratic" else 1
    if kind == "none":
        return [[float(i == j) for j in range(size)] for i in range(size)]
    return [[1 - (abs(i - j) / span) ** power for j in range(size)] for i in range(size)]


def _observed(counts: Table) -> tuple[float, list[float]]:
    """Mean share of pairs of raters who agree on an item, and the share of each category."""
    raters = math.fsum(counts[0])
    assert all(abs(math.fsum(row) - raters) < 1e-9 for row in counts), "every item needs as many raters"
    pairs = raters * (raters - 1)
    agreed = math.fsum((math.fsum(cell * cell for cell in row) - raters) / pairs for row in counts) / len(counts)
    total = raters * len(counts)
    return agreed, [math.fsum(row[j] for row in counts) / total for j in range(len(counts[0]))]


def _distance(totals: Mapping[float | str, int], scale: Scale) -> Callable[[float | str, float | str], float]:
    if scale == "nominal":
        return lambda a, b: float(a != b)
    if scale == "interval":
        return lambda a, b: (float(a) - float(b)) ** 2
    ordered = sorted(totals, key=float)
    before = {value: sum(totals[each] for each in ordered[:place]) for place, value in enumerate(ordered)}
    middle = {value: before[value] + totals[value] / 2 for value in ordered}
    return lambda a, b: (middle[a] - middle[b]) ** 2
