"""What a change did to the patterns: which it removed, added, shrank or grew, and whether that may be noise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

from cortex_eval.analysis.patterns import CASES_KEPT, Pattern
from cortex_eval.analysis.patterns_find import Diagnosis, Found
from cortex_eval.analysis.patterns_gather import Failures
from cortex_eval.analysis.patterns_replay import Key
from cortex_eval.stats import holm, mcnemar_exact

LEVEL = 0.05

Effect = Literal["removed", "added", "shrank", "grew", "same"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternChange:
    """One pattern before and after a change."""

    type: str
    title: str
    effect: Effect
    before: int
    after: int
    """Cases that show it, of those that both runs played."""
    new_cases: tuple[str, ...]
    """Cases that show it only after the change, at most 50."""
    gone_cases: tuple[str, ...]
    p_value: float | None
    """Exact McNemar on the cases that changed, two-sided, after Holm over all patterns; None: no case changed."""
    may_be_noise: bool
    action: str = ""

    def to_dict(self) -> dict[str, Any]:
        """As an object of `cortex analyze --json`."""
        return asdict(self)


class _Side(NamedTuple):
    failures: Failures
    diagnosis: Diagnosis


def compare_patterns(
    before: Failures, of_before: Diagnosis, after: Failures, of_after: Diagnosis
) -> tuple[PatternChange, ...]:
    """Every pattern of either run over the cases that both played; what changed most comes first.

    Both runs are measured by the same rule: a pattern of one is looked for in the other fault by fault.
    """
    common = (before.played or set()) & (after.played or set())
    sides = (_Side(before, of_before), _Side(after, of_after))
    rows = []
    for pattern, keys, cases in _matched(of_before.found, of_after.found):
        first, second = (_cases(each.failures, keys, cases) & common for each in sides)
        rows.append((pattern, first, second))
    tested = [mcnemar_exact(len(b - a), len(a - b)) if a != b else None for _, a, b in rows]
    changes = [_change(*row, p_value) for row, p_value in zip(rows, holm(tested), strict=True)]
    return tuple(sorted(changes, key=lambda each: (-abs(each.after - each.before), -each.after, each.title)))


def _matched(
    before: Iterable[Found], after: Iterable[Found]
) -> Iterator[tuple[Pattern, frozenset[Key], frozenset[str]]]:
    """Patterns of both runs, those that are mostly the same joined; the later one gives the words."""
    left = list(before)
    for found in after:
        same = [each for each in left if _is_same(each, found)]
        left = [each for each in left if each not in same]
        keys = found.keys.union(*(each.keys for each in same))
        yield found.pattern, keys, frozenset() if keys else _named(found, *same)
    for found in left:
        yield found.pattern, found.keys, frozenset() if found.keys else _named(found)


def _is_same(one: Found, other: Found) -> bool:
    if one.pattern.type != other.pattern.type:
        return False
    if not one.keys or not other.keys:
        return one.pattern.title == other.pattern.title
    return one.pattern.title == other.pattern.title or 2 * len(one.keys & other.keys) >= len(one.keys)


def _named(*found: Found) -> frozenset[str]:
    return frozenset(case for each in found for case in each.cases)


def _cases(failures: Failures, keys: frozenset[Key], cases: frozenset[str]) -> set[str]:
    """The cases of a run that show these faults; of a slice, those of its cases that failed."""
    if not keys:
        return set(cases & failures.failed_sorts.keys())
    return {case for key in keys if key in failures.entries for case in failures.entries[key].cases}


def _change(pattern: Pattern, before: set[str], after: set[str], p_value: float | None) -> PatternChange:
    effect: Effect = "same"
    if before and not after:
        effect = "removed"
    elif after and not before:
        effect = "added"
    elif len(after) != len(before):
        effect = "grew" if len(after) > len(before) else "shrank"
    return PatternChange(
        type=pattern.type,
        title=pattern.title,
        effect=effect,
        before=len(before),
        after=len(after),
        new_cases=tuple(sorted(after - before)[:CASES_KEPT]),
        gone_cases=tuple(sorted(before - after)[:CASES_KEPT]),
        p_value=p_value,
        may_be_noise=p_value is not None and p_value >= LEVEL,
        action=pattern.action,
    )
