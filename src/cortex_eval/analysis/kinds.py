"""Items sorted into kinds by a judge and by people: how far they agree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from cortex_eval.analysis.labels import Item, Labels
from cortex_eval.core import InputError
from cortex_eval.stats import Interval, Kappa, cohen_kappa, cross_table, wilson


class Words(NamedTuple):
    """How two who sort items into kinds agree."""

    kinds: list[str]
    table: list[list[int]]
    """Rows: the scorer's kinds; columns: people's."""
    kappa: Kappa | None
    accuracy: float
    accuracy_interval: Interval | None
    n: int
    not_found: int
    """Labels that are in no figure: without a score, or disputed."""
    disputed: int
    """Of these, items with a score on which no kind was named by more people than any other."""


def compare_words(scored: Mapping[Item, str], labels: Labels) -> Words:
    """Agreement on kinds that are words, of one label an item; where there are several, of the commonest one."""
    pairs, disputed = [], 0
    for item, by_rater in labels.ratings.items():
        said = [_word(each) for each in by_rater.values()]
        votes = sorted(((said.count(each), each) for each in set(said)), reverse=True)
        is_clear = len(votes) == 1 or votes[0][0] > votes[1][0]
        disputed += item in scored and not is_clear
        if item in scored and is_clear:
            pairs.append((scored[item], votes[0][1]))
    if not pairs:
        raise InputError("No label belongs to an item that was scored. Do the ids of both files agree?")
    first, second = [each[0] for each in pairs], [each[1] for each in pairs]
    kinds = sorted({*first, *second})
    same = sum(one == other for one, other in pairs)
    table = cross_table(first, second, kinds)
    return Words(
        kinds, table, cohen_kappa(table), same / len(pairs), wilson(same, len(pairs)), len(pairs),
        len(labels.ratings) - len(pairs), disputed,
    )  # fmt: skip


def _word(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"
