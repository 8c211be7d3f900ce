"""Which cases fail more often than the rest: by category, tier, language, entity, length and the like, and by pairs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from cortex_eval.analysis.patterns import Slice, percent
from cortex_eval.analysis.patterns_gather import Count, Fact, Failures, Sort, facts_of
from cortex_eval.core import language_label
from cortex_eval.stats import design_effect, holm, wilson

SMALLEST = 5
"""Cases of a slice: of fewer, chance says too much."""
LEVEL = 0.05
SLICES_KEPT = 12
_CROSSED = 16
"""Facts that are looked at two by two: those with the most failures beyond the rest's rate."""
_LIFT = 2.0
"""What failed cases have in common is told when it is this much more frequent among them than among others."""
_SAME = 0.9
"""Slices that share so much of their cases are one."""

_SAYS = {
    "category": "belong to category {0}",
    "tier": "belong to tier {0}",
    "language": "use the language {0}",
    "tag": "have the tag {0}",
    "entity": "name the entity {0}",
    "turns": "have {0} turns",
    "needs": "need {0}",
}


class Table(NamedTuple):
    """Cases by fact and by pair of facts, with the whole."""

    total: Count
    facts: Mapping[Fact, Count]
    members: Mapping[Fact, frozenset[Sort]]
    of_sort: Mapping[Sort, frozenset[Fact]]
    effect: float
    """The design effect of clusters: so many cases count as one (Rao & Scott 1981, first order)."""


class _Tested(NamedTuple):
    facts: tuple[Fact, ...]
    held: Count
    p_value: float


def find_slices(failures: Failures, table: Table) -> tuple[Slice, ...]:
    """The slices that fail more often than the rest, significant at 5 % after Holm; most to win first."""
    if not 0 < table.total.failed < table.total.cases:
        return ()
    single = [
        _Tested((fact,), count, _p_value(count, table.total, table.effect))
        for fact, count in table.facts.items()
        if SMALLEST <= count.cases <= table.total.cases - SMALLEST and count.failed >= 2
    ]
    crossed = _crossed(failures, table, single)
    turns = _turns(failures)
    p_values = holm([each.p_value for each in (*single, *crossed, *turns)])
    found = [
        _slice(tested, p_value, table, failures)
        for tested, p_value in zip((*single, *crossed, *turns), p_values, strict=True)
        if p_value is not None and p_value < LEVEL
    ]
    explained = _explained(found, table)
    ranked = sorted(
        (each for each in found if each.facts[0] not in explained or len(each.facts) > 1),
        key=lambda each: (-each.gain, each.p_value, each.facts),
    )
    return _distinct(ranked, table, failures)[:SLICES_KEPT]


def shared_fact(cases: Sequence[str], failures: Failures, table: Table, *, besides: Collection[str] = ()) -> str:
    """What the failed cases of a pattern have in common and others rarely have, in words; empty when nothing is.

    `besides` are the names that the pattern is about: that its cases have those goes without saying.
    """
    sorts = [failures.failed_sorts[case] for case in cases if case in failures.failed_sorts]
    if len(sorts) < 3:
        return ""
    inside: Counter[Fact] = Counter()
    for sort, count in Counter(sorts).items():
        for fact in table.of_sort[sort]:
            inside[fact] += count
    total = table.total.cases
    tested = []
    for fact, count in inside.items():
        holders = table.facts[fact].cases
        others = (holders - count) / max(1, total - len(sorts))
        goes_without = fact[0] == "intent" or not {*fact}.isdisjoint(besides)
        if not goes_without and 2 * count > len(sorts) and count / len(sorts) >= _LIFT * others:
            tested.append((fact, count, fisher_greater(count, len(sorts), holders, total)))
    adjusted = holm([p_value for *_, p_value in tested])
    pairs = zip(tested, adjusted, strict=True)
    real = [(p, -count, fact) for (fact, count, _), p in pairs if p is not None and p < LEVEL]
    if not real or total == len(sorts):
        return ""
    _, minus_count, fact = min(real)
    others = (table.facts[fact].cases + minus_count) / (total - len(sorts))
    value = language_label(fact[1]) if fact[0] == "language" else fact[1]
    says = _SAYS.get(fact[0], "have {0}").format(value)
    return f"{-minus_count} of {len(sorts)} {says}, as {percent(others)} of all others do"


def fisher_greater(hits: float, drawn: float, marked: float, total: float) -> float:
    """The chance of at least so many marked among those drawn (Fisher's exact test, one-sided).

    With clusters the counts are divided by the design effect; what is then no whole number is rounded against a find.
    """
    hits_, drawn_, marked_, total_ = math.floor(hits), math.ceil(drawn), math.ceil(marked), math.floor(total)
    total_ = max(total_, drawn_, marked_, drawn_ + marked_ - hits_)
    low, high = max(hits_, drawn_ + marked_ - total_), min(drawn_, marked_)
    if low > high:
        return 1.0
    whole = _log_choose(total_, drawn_)
    return min(
        1.0,
        math.fsum(
            math.exp(_log_choose(marked_, hit) + _log_choose(total_ - marked_, drawn_ - hit) - whole)
            for hit in range(low, high + 1)
        ),
    )


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def _p_value(inside: Count, whole: Count, effect: float) -> float:
    if inside.failed * whole.cases <= whole.failed * inside.cases:
        return 1.0
    figures = (inside.failed, inside.cases, whole.failed, whole.cases)
    return fisher_greater(*(figure / effect for figure in figures))


def tabulate(failures: Failures) -> Table:
    """Cases and failures by fact."""
    facts: dict[Fact, list[int]] = {}
    members: dict[Fact, set[Sort]] = {}
    of_sort = {sort: frozenset(facts_of(sort)) for sort in failures.sorts}
    for sort, (cases, failed) in failures.sorts.items():
        for fact in of_sort[sort]:
            count = facts.setdefault(fact, [0, 0])
            count[0] += cases
            count[1] += failed
            members.setdefault(fact, set()).add(sort)
    whole = Count(sum(each[0] for each in failures.sorts.values()), sum(each[1] for each in failures.sorts.values()))
    effect = design_effect(failures.case_failed, failures.case_clusters) if failures.case_clusters else 1.0
    return Table(
        whole,
        {fact: Count(*count) for fact, count in facts.items()},
        {fact: frozenset(found) for fact, found in members.items()},
        of_sort,
        effect or 1.0,
    )


def _crossed(failures: Failures, table: Table, single: Sequence[_Tested]) -> list[_Tested]:
    """Pairs of facts whose cases fail more often than those of either fact without the other."""
    excess = sorted(single, key=lambda each: -_excess(each.held, table.total))[:_CROSSED]
    tested = []
    for place, one in enumerate(excess):
        for other in excess[place + 1 :]:
            both = table.members[one.facts[0]] & table.members[other.facts[0]]
            count = Count(sum(failures.sorts[sort][0] for sort in both), sum(failures.sorts[sort][1] for sort in both))
            if count.cases < SMALLEST or count.failed < 2:
                continue
            p_value = max(_p_value(count, each.held, table.effect) for each in (one, other))
            tested.append(_Tested((*one.facts, *other.facts), count, p_value))
    return tested


def _explained(found: Sequence[Slice], table: Table) -> set[Fact]:
    """Facts that only fail more often because of the cases that have another fact too."""
    explained = set()
    for pair in found:
        for fact in pair.facts if len(pair.facts) == 2 else ():
            held, whole = table.facts[fact], table.total
            alone = Count(held.cases - pair.cases, held.failed - pair.failed)
            if _p_value(alone, Count(whole.cases - pair.cases, whole.failed - pair.failed), table.effect) >= LEVEL:
                explained.add(fact)
    return explained


def _turns(failures: Failures) -> list[_Tested]:
    """Turns by their number in the conversation."""
    if not failures.turn_numbers:
        return []
    effect = design_effect(failures.turn_failed, failures.turn_clusters) or 1.0
    counts: dict[int, list[int]] = {}
    for number, failed in zip(failures.turn_numbers, failures.turn_failed, strict=True):
        count = counts.setdefault(number, [0, 0])
        count[0] += 1
        count[1] += failed
    whole = Count(len(failures.turn_numbers), sum(failures.turn_failed))
    return [
        _Tested((("turn", str(number + 1)),), Count(*count), _p_value(Count(*count), whole, effect))
        for number, count in counts.items()
        if SMALLEST <= count[0] <= whole.cases - SMALLEST and count[1] >= 2
    ]


def _excess(inside: Count, whole: Count) -> float:
    """Failures beyond what the rest's rate would give."""
    rest = Count(whole.cases - inside.cases, whole.failed - inside.failed)
    return inside.failed - inside.cases * (rest.failed / rest.cases if rest.cases else 0.0)


def _slice(tested: _Tested, p_value: float, table: Table, failures: Failures) -> Slice:
    facts, count, _ = tested
    of_turns = facts[0][0] == "turn"
    whole = Count(len(failures.turn_numbers), sum(failures.turn_failed)) if of_turns else table.total
    effect = (design_effect(failures.turn_failed, failures.turn_clusters) or 1.0) if of_turns else table.effect
    interval = wilson(count.failed, count.cases, effective_n=max(1.0, count.cases / effect))
    assert interval is not None, "a slice has cases"
    rest = Count(whole.cases - count.cases, whole.failed - count.failed)
    return Slice(
        facts=facts,
        cases=count.cases,
        failed=count.failed,
        rate=count.failed / count.cases,
        low=interval.low,
        high=interval.high,
        rest_rate=rest.failed / rest.cases if rest.cases else 0.0,
        p_value=p_value,
        gain=_excess(count, whole) / whole.cases,
        unit="turns" if of_turns else "cases",
    )


def _distinct(slices: Sequence[Slice], table: Table, failures: Failures) -> tuple[Slice, ...]:
    """One of several slices that hold nearly the same cases."""
    kept: list[Slice] = []
    sorts_of: list[frozenset[Sort]] = []

    def overlap(one: frozenset[Sort], other: frozenset[Sort]) -> float:
        shared, either = (sum(failures.sorts[sort][0] for sort in sorts) for sorts in (one & other, one | other))
        return shared / either if either else 0.0

    for each in slices:
        of_cases = each.unit == "cases"
        sorts = frozenset.intersection(*(table.members[fact] for fact in each.facts)) if of_cases else frozenset()
        same = next((place for place, other in enumerate(sorts_of) if overlap(sorts, other) >= _SAME), None)
        if same is None:
            kept.append(each)
            sorts_of.append(sorts)
        elif len(each.facts) == 1 and each.facts[0] not in kept[same].facts:
            kept[same] = replace(kept[same], same_as=(*kept[same].same_as, each.title))
    return tuple(kept)
