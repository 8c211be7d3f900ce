"""Two runs of the same cases: is the difference more than chance, and how large may it be?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from cortex_eval.stats.uncertainty import Z_95, Interval

if TYPE_CHECKING:  # numpy takes a fifth of a second that `import cortex_eval` must not pay
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Alternative = Literal["two-sided", "less", "greater"]
"""`less`: the sum of the differences is below 0."""
Way = Literal["exact", "monte carlo", "normal", "undefined"]

FLIPS = 9_999
"""Random sign flips: with the observed signs that makes 10,000, and 0.0001 the smallest p-value."""
ENUMERATED = 13
"""Up to so many differences, all their signs are gone through: 8,192 at most."""
_STEPS = 12
"""Differences are sought on a lattice whose step is the smallest of them, or that over 2, 3 … 12."""
_MOST_STEPS = 20_000
_MOST_DRAWN = 20_000
"""Above so many differences the sum of flips is normal to four decimals, and drawing them only takes longer."""
_AT_ONCE = 1_000_000
"""Bytes of signs held in memory together."""
_NEAR = 1e-9


class PermutationTest(NamedTuple):
    """How often chance alone would show as much."""

    p_value: float | None
    """None: there was nothing to test."""
    way: Way


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSums:
    """The differences of pairs, added up by cluster: what every figure of a comparison is made from."""

    sums: tuple[float, ...]
    """One for each cluster: the sum of b − a over its pairs."""
    sizes: tuple[int, ...]
    """Pairs in each cluster."""

    @property
    def pairs(self) -> int:
        """All pairs."""
        return sum(self.sizes)

    @property
    def difference(self) -> float | None:
        """The mean of b − a over all pairs; None of nothing."""
        return math.fsum(self.sums) / self.pairs if self.sums else None


def cluster_sums(differences: Sequence[float], clusters: Sequence[str | int] | None = None) -> ClusterSums:
    """The differences added up by cluster; None: every pair is its own."""
    if clusters is None:
        return ClusterSums(sums=tuple(differences), sizes=(1,) * len(differences))
    sums: dict[str | int, float] = {}
    sizes: dict[str | int, int] = {}
    for difference, cluster in zip(differences, clusters, strict=True):
        sums[cluster] = sums.get(cluster, 0.0) + difference
        sizes[cluster] = sizes.get(cluster, 0) + 1
    return ClusterSums(sums=tuple(sums.values()), sizes=tuple(sizes.values()))


def sign_flip_test(sums: Sequence[float], alternative: Alternative = "two-sided", *, seed: int = 0) -> PermutationTest:
    """The sign-flip permutation test of one difference per cluster (Fisher 1935): p-value and how it was got.

    If the two runs did not differ, each difference could as well have had the other sign. With equal differences, such
    as those of single verdicts, this is exact McNemar; whenever the differences are whole multiples of some step the
    exact distribution is found, and with few clusters too. Else 9,999 random flips are drawn from the seed, and the
    observed one counts among them, so that no p-value is 0 (Phipson & Smyth 2010); beyond 20,000 clusters the limit
    of that, the normal distribution, is taken.
    """
    import numpy as np

    found = np.asarray(sums, dtype=float)
    if not found.size:
        return PermutationTest(None, "undefined")
    largest = float(np.abs(found).max())
    found = found[np.abs(found) > largest * _NEAR]  # a difference of 0 has no sign to flip
    if not found.size:
        return PermutationTest(1.0, "exact")
    if (steps := _lattice(found)) is not None:
        return PermutationTest(_p_on_lattice(steps, alternative), "exact")
    if found.size <= ENUMERATED:
        turned = _all_flips(found.size) @ found
        return PermutationTest(_as_extreme(found, turned, alternative) / len(turned), "exact")
    if found.size > _MOST_DRAWN:
        return PermutationTest(_p_normal(float(found.sum()) / math.hypot(*found.tolist()), alternative), "normal")
    return PermutationTest(_p_drawn(found, alternative, seed), "monte carlo")


def mcnemar_exact(fallen: int, risen: int, alternative: Alternative = "two-sided") -> float:
    """McNemar's exact test: of the pairs that differ, so many got worse and so many better.

    `less`: more got worse than chance would make. With no pair that differs the p-value is 1.
    """
    total = fallen + risen

    def at_most(count: int) -> float:
        if count < 0:
            return 0.0
        # Summed as integers: exact for any number of pairs.
        return float(sum(math.comb(total, k) for k in range(count + 1)) / (1 << total)) if count < total else 1.0

    if alternative == "two-sided":
        return min(1.0, 2 * at_most(min(fallen, risen)))
    return at_most(risen if alternative == "less" else fallen)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjusted p-values for all tests of a family (Holm 1979); what was not tested stays None and does not count.

    Where the adjusted values at or below a level are called significant, the chance of even one false call is at most
    that level, however the tests hang together.
    """
    tested = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for rank, (p, place) in enumerate(tested):
        highest = max(highest, min(1.0, (len(tested) - rank) * p))
        adjusted[place] = highest
    return adjusted


def difference_interval(differences: ClusterSums, *, bounds: Interval | None = None) -> Interval | None:
    """The 95 % interval of the mean difference; None when its spread is not known: fewer than two clusters.

    Cluster-robust and normal (Liang & Zeger 1986; Miller 2024), as if one more cluster had got better and one worse,
    each by the most that any did: with single verdicts that is the interval of Bonett & Price (2012), which holds its
    level when few pairs differ or none. Without any difference, `bounds` (such as −1..1 for shares) say what the most
    could be; without bounds nothing is known.
    """
    count, pairs = len(differences.sums), differences.pairs
    mean = differences.difference
    if count < 2 or mean is None:
        return None
    size = pairs / count
    most = max(map(abs, differences.sums))
    if most <= _NEAR:
        if bounds is None:
            return None
        most = size * max(abs(bounds.low), abs(bounds.high))
    total = pairs + 2 * size
    centre = math.fsum(differences.sums) / total
    spread = math.fsum(
        (each - count_of * centre) ** 2 for each, count_of in zip(differences.sums, differences.sizes, strict=True)
    )
    spread += (most - size * centre) ** 2 + (most + size * centre) ** 2
    half = Z_95 * math.sqrt(spread) / total
    low, high = min(mean, centre - half), max(mean, centre + half)
    return Interval(low, high) if bounds is None else Interval(max(bounds.low, low), min(bounds.high, high))


def _lattice(sums: Floats) -> NDArray[np.int64] | None:
    """The differences as whole numbers of some common step, if there is one and they are not too many steps."""
    import numpy as np

    smallest = float(np.abs(sums).min())
    for parts in range(1, _STEPS + 1):
        steps = sums * (parts / smallest)
        whole = np.rint(steps)
        sizes = np.abs(whole)
        if sizes.sum() > _MOST_STEPS and sizes.max() > 1:
            return None
        if np.abs(steps - whole).max() < 1e-6:
            return whole.astype(np.int64)
    return None


def _p_on_lattice(steps: NDArray[np.int64], alternative: Alternative) -> float:
    """The exact p-value, from the distribution of the sum over all sign flips (Pagano & Tritchler 1983)."""
    import numpy as np

    sizes, counts = np.unique(np.abs(steps), return_counts=True)
    chances = np.ones(1)
    for size, count in zip(sizes.tolist(), counts.tolist(), strict=True):
        spaced = np.zeros(size * count + 1)
        spaced[::size] = _half_binomial(count)
        chances = np.convolve(chances, spaced)
    # chances[w]: that the differences with a plus sign add up to w steps; the sum is then 2 w − total.
    plus = int(steps[steps > 0].sum())
    minus = int(-steps[steps < 0].sum())
    if alternative == "less":
        return min(1.0, float(chances[: plus + 1].sum()))
    if alternative == "greater":
        return min(1.0, float(chances[: minus + 1].sum()))  # it is symmetric
    return min(1.0, 2 * float(chances[: min(plus, minus) + 1].sum()))


def _half_binomial(count: int) -> Floats:
    """The chances of 0, 1 … count heads in so many throws of a fair coin."""
    import numpy as np

    logs = [math.lgamma(count + 1) - math.lgamma(k + 1) - math.lgamma(count - k + 1) for k in range(count + 1)]
    return np.exp(np.asarray(logs) - count * math.log(2))


def _p_drawn(found: Floats, alternative: Alternative, seed: int) -> float:
    """The p-value from random flips: eight signs are a byte, and what each byte turns over is added up beforehand."""
    import numpy as np

    eights = np.pad(found, (0, -found.size % 8)).reshape(-1, 8)
    by_byte = (eights @ _all_flips(8).T).ravel()
    places = np.arange(len(eights)) * 256
    generator = np.random.default_rng(seed)
    rows_at_once = max(1, _AT_ONCE // len(eights))
    extreme = 0
    for start in range(0, FLIPS, rows_at_once):
        rows = min(rows_at_once, FLIPS - start)
        drawn = np.frombuffer(generator.bytes(rows * len(eights)), dtype=np.uint8).reshape(rows, -1)
        extreme += _as_extreme(found, by_byte[drawn + places].sum(axis=1), alternative)
    return (1 + extreme) / (1 + FLIPS)


def _p_normal(z: float, alternative: Alternative) -> float:
    z = z if alternative == "less" else -z if alternative == "greater" else -abs(z)
    below = 0.5 * math.erfc(-z / math.sqrt(2))  # one minus the other tail would be 0 from eight deviations on
    return min(1.0, 2 * below) if alternative == "two-sided" else below


def _all_flips(count: int) -> Floats:
    """Every way to turn so many signs over, 1 where one is turned; a row for each."""
    import numpy as np

    numbers = np.arange(1 << count, dtype=np.uint32)
    return ((numbers[:, None] >> np.arange(count, dtype=np.uint32)) & 1).astype(float)


def _as_extreme(sums: Floats, turned: Floats, alternative: Alternative) -> int:
    """How many flips show as much as was observed, given the sum of the differences that each turns over."""
    import numpy as np

    total = float(sums.sum())
    near = float(np.abs(sums).sum()) * _NEAR  # sums of the same numbers in another order are equal only nearly
    found = total - 2 * turned
    if alternative == "less":
        return int((found <= total + near).sum())
    if alternative == "greater":
        return int((found >= total - near).sum())
    return int((np.abs(found) >= abs(total) - near).sum())
