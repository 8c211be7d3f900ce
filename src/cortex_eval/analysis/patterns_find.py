"""From what was noted of failures to patterns: each with its cause, its fix and what the fix would win back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from cortex_eval.analysis.patterns import (
    CASES_KEPT,
    OTHER_CAUSES,
    ROOT_CAUSE_MAP,
    ConfusedPair,
    Pattern,
    Priority,
    Slice,
    locate,
    percent,
)
from cortex_eval.analysis.patterns_blame import PAIR, Key
from cortex_eval.analysis.patterns_fixes import Words, confusion_words, words_of
from cortex_eval.analysis.patterns_gather import Entry, Failures
from cortex_eval.analysis.patterns_groups import FEWEST, group_pairs, group_types
from cortex_eval.analysis.patterns_slices import Table, find_slices, shared_fact, tabulate

PATTERNS_KEPT = 30
CONFUSIONS_KEPT = 50
_CAUSES = {**ROOT_CAUSE_MAP, **OTHER_CAUSES}


class Found(NamedTuple):
    """A pattern, and the faults that it is made of."""

    pattern: Pattern
    keys: frozenset[Key]
    """Empty: it is a slice, and its cases are those that failed there."""
    cases: tuple[str, ...]
    """All of them."""


class Diagnosis(NamedTuple):
    """Why the cases of a run fail."""

    found: tuple[Found, ...] = ()
    slices: tuple[Slice, ...] = ()
    confusions: tuple[ConfusedPair, ...] = ()
    """What was taken for what most often, over all scorers that compare labels."""

    @property
    def patterns(self) -> tuple[Pattern, ...]:
        """The patterns, most to win back first."""
        return tuple(each.pattern for each in self.found)


class _Draft(NamedTuple):
    """Faults that are one pattern."""

    type: str
    keys: tuple[Key, ...]
    words: Words
    pairs: tuple[ConfusedPair, ...] = ()


def diagnose(failures: Failures, *, locations: Mapping[str, str] | None = None) -> Diagnosis:
    """Patterns ranked by gain, and slices; empty at once when nothing failed."""
    if not failures.entries:
        return Diagnosis()
    failures.settle()
    table = tabulate(failures)
    slices = find_slices(failures, table)
    order = {case: place for place, case in enumerate(failures.failed_sorts)}
    found = [_built(draft, failures, table, order) for draft in _drafts(failures.entries)]
    found += [_of_slice(each, failures, table) for each in slices if _is_gap(each)]
    ranked = sorted(found, key=lambda each: (-each.pattern.gain, -each.pattern.count, each.pattern.title))
    placed = locate(tuple(each.pattern for each in ranked), locations or {})
    kept = [each._replace(pattern=pattern) for each, pattern in zip(ranked, placed, strict=True)]
    return Diagnosis(tuple(kept[:PATTERNS_KEPT]), slices, _all_pairs(failures.entries)[:CONFUSIONS_KEPT])


def _drafts(entries: Mapping[Key, Entry]) -> Iterator[_Draft]:
    by_type: dict[str, list[Key]] = {}
    for key in entries:
        by_type.setdefault(key[0], []).append(key)
    left = [*by_type.pop("scorer_failure", ())]
    by_type.pop(PAIR, None)
    for type_, keys in by_type.items():
        if type_ in ("intent_confusion", "label_confusion", "tool_selection_error"):
            drafts, rest = _confusions(type_, keys, entries)
            yield from drafts
            left += rest
        elif type_ in ("missing_entity", "wrong_entity"):
            drafts, rest = _entity_types(type_, keys, entries)
            yield from drafts
            left += rest
        elif type_ in ("context_not_retained", "llm_fallback_failure", "edge_case"):
            yield _Draft(type_, tuple(keys), words_of(type_, keys, entries))
        else:  # one for each error kind, judge error and safety rule
            yield from (_Draft(type_, (key,), words_of(type_, [key], entries)) for key in keys)
    yield from _by_scorer(left, entries)


def _confusions(type_: str, keys: Iterable[Key], entries: Mapping[Key, Entry]) -> tuple[list[_Draft], list[Key]]:
    """Patterns of what is taken for what, scorer by scorer, and the faults that belong to none."""
    drafts: list[_Draft] = []
    left: list[Key] = []
    by_scorer: dict[str, dict[tuple[str, str], Key]] = {}
    for key in keys:
        by_scorer.setdefault(key[1], {})[key[2], key[3]] = key
    for pairs in by_scorer.values():
        rest = dict(pairs)
        counts = {pair: len(entries[key].cases) for pair, key in pairs.items()}
        for group in group_pairs(counts):
            members = tuple(rest.pop(pair) for pair in group.pairs)
            drafts.append(_Draft(type_, members, confusion_words(type_, group, counts), _pairs_of(members, entries)))
        if type_ == "tool_selection_error" and rest:  # the seed asks for no pair that comes up twice
            members = tuple(rest.values())
            drafts.append(_Draft(type_, members, words_of(type_, members, entries), _pairs_of(members, entries)))
        elif rest:
            left += rest.values()
    return drafts, left


def _pairs_of(keys: Sequence[Key], entries: Mapping[Key, Entry]) -> tuple[ConfusedPair, ...]:
    pairs = [
        ConfusedPair(
            expected=key[2],
            actual=key[3],
            count=len(entries[key].cases),
            cases=tuple(entries[key].cases[:CASES_KEPT]),
            scorer=key[1],
        )
        for key in keys
    ]
    return tuple(sorted(pairs, key=lambda pair: (-pair.count, pair.expected, pair.actual)))


def _all_pairs(entries: Mapping[Key, Entry]) -> tuple[ConfusedPair, ...]:
    """What was taken for what, also where a pattern of another type explains it."""
    merged: dict[Key, Entry] = {}
    for key, entry in entries.items():
        if key[0].endswith("_confusion") or key[0] == PAIR:
            held = merged.setdefault((PAIR, *key[1:]), Entry())
            held.cases = list(dict.fromkeys((*held.cases, *entry.cases)))
    return _pairs_of([*merged], merged)


def _entity_types(type_: str, keys: Sequence[Key], entries: Mapping[Key, Entry]) -> tuple[list[_Draft], list[Key]]:
    """Patterns by the entity type that is most often wrong, and the faults that came up only once."""
    drafts: list[_Draft] = []
    left: list[Key] = []
    begin = 3 if type_ == "missing_entity" else 2
    counts: Counter[tuple[str, ...]] = Counter()
    for key in keys:
        counts[key[begin:]] += len(entries[key].cases)
    for name, sets in group_types(counts):
        members = tuple(key for key in keys if key[begin:] in sets)
        if len(_cases_of(members, entries)) < FEWEST:
            left += members
        else:
            drafts.append(_Draft(type_, members, words_of(type_, members, entries, name=name)))
    taken = {key for draft in drafts for key in draft.keys} | set(left)
    return drafts, left + [key for key in keys if key not in taken]


def _by_scorer(keys: Iterable[Key], entries: Mapping[Key, Entry]) -> Iterator[_Draft]:
    """What no other rule explains: which scorer fails, and what it says most often."""
    by_scorer: dict[str, list[Key]] = {}
    for key in keys:
        by_scorer.setdefault(key[1], []).append(key)
    for name, members in by_scorer.items():
        if len(_cases_of(members, entries)) >= FEWEST:
            yield _Draft("scorer_failure", tuple(members), words_of("scorer_failure", members, entries, name=name))


def _cases_of(keys: Iterable[Key], entries: Mapping[Key, Entry]) -> list[str]:
    """The cases of these faults, each once, those of the first fault first."""
    return list(dict.fromkeys(case for key in keys for case in entries[key].cases))


def _built(draft: _Draft, failures: Failures, table: Table, order: Mapping[str, int]) -> Found:
    cases = _cases_of(draft.keys, failures.entries)
    if len(draft.keys) > 1:  # each fault has its cases in the order of the dataset, all together have not
        cases = sorted(cases, key=order.__getitem__)
    entries = [failures.entries[key] for key in draft.keys]
    if draft.type == "scorer_failure":  # no one fix mends them all
        entries = [max(entries, key=lambda entry: entry.credit)]
    points = [entry.points for entry in entries if entry.points is not None]
    known = ("needs",) if draft.type == "context_not_retained" else draft.words.about
    common = shared_fact(cases, failures, table, besides=known)
    category = _main_category(cases, failures)
    pattern = Pattern(
        type=draft.type,
        title=draft.words.title,
        count=len(cases),
        cases=tuple(cases[:CASES_KEPT]),
        root_cause=_CAUSES[draft.type],
        action=draft.words.action,
        priority=draft.words.priority,
        gain=sum(entry.credit for entry in entries) / failures.cases,
        score_gain=sum(points) / failures.scored if points and failures.scored else None,
        evidence="; ".join(part for part in (draft.words.evidence, common) if part),
        confusions=draft.pairs,
        about=(*draft.words.about, *((category,) if category else ())),
    )
    return Found(pattern, frozenset(draft.keys), tuple(cases))


def _main_category(cases: Sequence[str], failures: Failures) -> str | None:
    """The category of at least half of these cases."""
    counts = Counter(failures.failed_sorts[case][0] for case in cases)
    category, count = counts.most_common(1)[0]
    return category if category is not None and 2 * count >= len(cases) else None


def _is_gap(found: Slice) -> bool:
    return len(found.facts) == 1 and found.facts[0][0] in ("language", "length")


def _of_slice(found: Slice, failures: Failures, table: Table) -> Found:
    fact = found.facts[0]
    cases = tuple(case for case, sort in failures.failed_sorts.items() if fact in table.of_sort[sort])
    is_language = fact[0] == "language"
    type_ = "language_gap" if is_language else "question_length"
    priority: Priority = "medium" if is_language else "low"
    action = f"Bring {fact[1]} up to the others" if is_language else f"Look at how questions of {fact[1]} are read"
    interval = f"[{percent(found.low)}, {percent(found.high)}]"
    rates = f"{percent(found.rate)} {interval} of {found.cases} fail, {percent(found.rest_rate)} of the"
    pattern = Pattern(
        type=type_,
        title=f"{'Language' if is_language else 'Questions of'} {fact[1]} fail{'s' if is_language else ''} more often",
        count=len(cases),
        cases=cases[:CASES_KEPT],
        root_cause=OTHER_CAUSES[type_],
        action=action,
        priority=priority,
        gain=found.gain,
        evidence=f"{rates} others (p {found.p_value:.2g} after Holm)",
        about=(fact[1],),
    )
    return Found(pattern, frozenset(), cases)
