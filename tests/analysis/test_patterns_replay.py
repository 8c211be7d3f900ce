"""What it takes to win failed results back: the verdict replayed, against the rule that made it."""

from __future__ import annotations

from itertools import chain, combinations

from hypothesis import given
from hypothesis import strategies as st

from cortex_eval.analysis.patterns_replay import Part, Replays, ways_of, ways_of_all

A, B, C, D, E = (("fault", name) for name in "abcde")


def part(*keys: tuple[str, ...], points: float = 0.0, needed: bool = False) -> Part:
    return Part(keys, points, needed)


def sets(*ways: tuple[tuple[str, ...], ...]) -> frozenset[frozenset[tuple[str, ...]]]:
    return frozenset(frozenset(way) for way in ways)


def test_the_points_that_are_lacking_must_be_won():
    parts = [part(A, points=0.5), part(B, points=0.2), part(C, points=0.2)]

    assert ways_of(parts, 0.3) == sets((A,), (B, C))
    assert ways_of(parts, 0.6) == sets((A, B), (A, C))
    assert ways_of(parts, 0.95) == frozenset(), "not even all of them are enough"


def test_what_is_critical_must_be_mended_whatever_else_is():
    parts = [part(A, points=0.1, needed=True), part(B, points=0.8)]

    assert ways_of(parts, 0.0) == sets((A,))
    assert ways_of(parts, 0.4) == sets((A, B))


def test_a_fault_that_several_others_are_part_of_mends_them_all():
    parts = [part(A, E, points=0.3), part(B, E, points=0.3)]

    assert ways_of(parts, 0.5) == sets((A, B), (E,))


def test_a_conversation_needs_every_one_of_its_turns():
    assert ways_of_all([sets((A,), (B,)), sets((A,), (C,))]) == sets((A,), (B, C))
    assert ways_of_all([sets((A,)), frozenset()]) == frozenset()


def test_results_are_counted_once_whichever_way_wins_them():
    replays = Replays()
    for ways in (sets((A,), (B,)), sets((A,), (B,)), sets((A, C)), sets((D,)), frozenset()):
        replays.add(ways)

    assert [replays.won_by(keys) for keys in ([A], [B], [C], [A, C], [A, B, C, D])] == [2, 2, 0, 3, 4]
    assert list(replays.needed_with([C])) == [(frozenset([A]), 1)]


@given(
    points=st.lists(st.tuples(st.integers(0, 20), st.booleans()), min_size=1, max_size=4),
    lacking=st.integers(-5, 50),
    mended=st.sets(st.integers(0, 3)),
)
def test_the_ways_are_the_rule_itself(points, lacking, mended):
    keys = [A, B, C, D][: len(points)]
    parts = [part(key, points=won / 100, needed=needed) for key, (won, needed) in zip(keys, points, strict=True)]
    chosen = {keys[place] for place in mended if place < len(keys)}
    won = sum(each.points for each in parts if each.keys[0] in chosen)
    passes = won >= lacking / 100 - 1e-9 and all(each.keys[0] in chosen for each in parts if each.is_needed)
    nothing_is_wrong = lacking <= 0 and not any(each.is_needed for each in parts)

    ways = ways_of(parts, lacking / 100)

    if not nothing_is_wrong and len(keys) <= 3:
        assert any(way <= chosen for way in ways) == passes
    assert all(not one < other for one, other in combinations(sorted(ways, key=len), 2))
    assert set(chain.from_iterable(ways)) <= set(keys)
