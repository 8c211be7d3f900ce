"""From what was noted of failures to patterns: each with its cause, its fix and what the fix would win back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from cortex_eval.analysis.patterns import (
    CASES_KEPT,
    OTHER_CAUSES,
    ROOT_CAUSE_MAP,
    ConfusedPair,
    CriticalFailure,
    Pattern,
    Priority,
    Slice,
    locate,
    percent,
)
from cortex_eval.analysis.patterns_blame import PAIR
from cortex_eval.analysis.patterns_causes import REPLY_TYPES
from cortex_eval.analysis.patterns_fixes import Words, confusion_words, words_of
from cortex_eval.analysis.patterns_gather import TAGS, Entry, Failures
from cortex_eval.analysis.patterns_groups import FEWEST, group_pairs, group_types
from cortex_eval.analysis.patterns_replay import Key
from cortex_eval.analysis.patterns_reply_words import reply_words
from cortex_eval.analysis.patterns_slices import Table, find_slices, shared_fact, tabulate
from cortex_eval.core import CRITICAL_TAG, language_label

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
    critical: tuple[CriticalFailure, ...] = ()
    """What failed that must not, gravest first, also where it came up only once."""

    @property
    def patterns(self) -> tuple[Pattern, ...]:
        """The patterns: errors of the set-up, what is critical, then by what a fix would win back."""
        return tuple(each.pattern for each in self.found)


class _Draft(NamedTuple):
    """Faults that are one pattern."""

    type: str
    keys: tuple[Key, ...]
    words: Words
    pairs: tuple[ConfusedPair, ...] = ()


def diagnose(failures: Failures, *, locations: Mapping[str, str] | None = None) -> Diagnosis:
    """Patterns in the order of mending, and slices; empty at once when nothing failed."""
    if not failures.failed_sorts:
        return Diagnosis()
    failures.settle()
    failures.respell()
    table = tabulate(failures)
    slices = find_slices(failures, table)
    order = failures.places
    found = [_built(draft, failures, table, order) for draft in _drafts(failures.entries)]
    found += [_of_slice(each, failures, table) for each in slices if _is_gap(each)]
    ranked = sorted(_with_partners(found, failures), key=_rank)
    placed = locate(tuple(each.pattern for each in ranked), locations or {})
    kept = [each._replace(pattern=pattern) for each, pattern in zip(ranked, placed, strict=True)]
    pairs = _all_pairs(failures.entries)[:CONFUSIONS_KEPT]
    critical = critical_failures(failures.entries, order)
    return Diagnosis(tuple(kept[:PATTERNS_KEPT]), slices, pairs, (*critical, *_tagged(failures, critical, order)))


def _rank(found: Found) -> tuple[int, int, float, float, int, str]:
    """Errors of the set-up; broken safety rules that are critical, the gravest first; what else is critical; the rest.

    Within each by what a fix wins back.
    """
    each = found.pattern
    is_grave_rule = each.is_critical and each.type == "safety_rule"
    order = 0 if each.is_setup else 1 if is_grave_rule else 2 if each.is_critical else 3
    return order, each.gravity if is_grave_rule else 0, -each.gain, -each.share, -each.count, each.title


def _with_partners(found: Sequence[Found], failures: Failures) -> list[Found]:
    """The same, and of patterns that win nothing alone, with which others they do."""
    owners: dict[Key, Found] = {}
    for each in sorted(found, key=lambda one: -one.pattern.gain):
        owners.update((key, each) for key in each.keys if key not in owners)
    return [_with_partner(each, owners, failures) if each.pattern.gain == 0 else each for each in found]


def _with_partner(found: Found, owners: Mapping[Key, Found], failures: Failures) -> Found:
    needed: Counter[tuple[str, ...]] = Counter()
    for keys, count in failures.replays.needed_with(found.keys):
        if all(key in owners for key in keys):
            needed[tuple(sorted({owners[key].pattern.title for key in keys} - {found.pattern.title}))] += count
    needed.pop((), None)
    if not needed:
        return found
    titles = min(needed, key=lambda each: (-needed[each], len(each), each))
    together = found.keys.union(*(each.keys for each in owners.values() if each.pattern.title in titles))
    joint = failures.replays.won_by(together) / failures.repeats / failures.cases
    return found._replace(pattern=replace(found.pattern, needs=titles, joint_gain=joint))


def critical_failures(entries: Mapping[Key, Entry], order: Mapping[str, int]) -> tuple[CriticalFailure, ...]:
    """By rule and by critical scorer, what failed: rules of severity critical first, then what is most frequent."""
    merged: dict[tuple[str, str, str], list[Entry]] = {}
    for key, entry in entries.items():
        if entry.is_critical:
            is_rule = key[0] == "safety_rule"
            scorer = key[1] if len(key) > 1 else "context_retention"  # lost context is no one scorer's alone
            name, severity = (key[2], key[3]) if is_rule else (scorer, "")
            merged.setdefault((severity, name, scorer), []).append(entry)
    found = []
    for (severity, name, scorer), parts in merged.items():
        cases = tuple(sorted({case for entry in parts for case in entry.cases}, key=order.__getitem__))
        details = sum((entry.details for entry in parts), Counter[str]())
        said = details.most_common(1)[0][0] if details else ""
        failure = CriticalFailure(
            name=name,
            scorer=scorer,
            reason=next((entry.examples[said] for entry in parts if said in entry.examples), said),
            count=len(cases),
            cases=cases[:CASES_KEPT],
            is_rule=name != scorer,
            severity=severity,
        )
        found.append((severity != "critical", -len(cases), name, failure))
    return tuple(each[-1] for each in sorted(found, key=lambda one: one[:3]))


def _tagged(failures: Failures, told: Sequence[CriticalFailure], order: Mapping[str, int]) -> Iterator[CriticalFailure]:
    """Cases tagged as critical that failed in no way that is critical by itself."""
    known = {case for each in told for case in each.cases}
    tagged = [case for case, sort in failures.failed_sorts.items() if CRITICAL_TAG in sort[TAGS]]
    if cases := sorted((case for case in tagged if case not in known), key=order.__getitem__):
        kept = tuple(cases[:CASES_KEPT])
        yield CriticalFailure(name=CRITICAL_TAG, scorer="", reason="", count=len(cases), cases=kept)


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
        elif type_ in REPLY_TYPES:  # one, whichever scorers say so
            yield _Draft(type_, tuple(keys), reply_words(type_, keys, entries))
        elif type_ == "wrong_language":
            yield from (_Draft(type_, some, words_of(type_, some, entries)) for some in _by_languages(keys))
        else:  # one for each error kind, judge error and safety rule
            yield from (_Draft(type_, (key,), words_of(type_, [key], entries)) for key in keys)
    yield from _by_scorer(left, entries)


def _by_languages(keys: Iterable[Key]) -> Iterator[tuple[Key, ...]]:
    """The faults of each pair of languages, whichever scorers say so."""
    pairs: dict[Key, list[Key]] = {}
    for key in keys:
        pairs.setdefault(key[2:], []).append(key)
    yield from map(tuple, pairs.values())


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
    cases.sort(key=order.__getitem__)  # one that waited for a second reply like its own came late
    entries = [failures.entries[key] for key in draft.keys]
    won = failures.replays.won_by(draft.keys)
    if draft.type == "scorer_failure" and len(draft.keys) > 1:  # no one fix mends them all
        entries = [max(entries, key=lambda entry: entry.credit)]
        won = max(failures.replays.won_by([key]) for key in draft.keys)
    is_critical = any(entry.is_critical for entry in entries)
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
        priority="high" if is_critical else draft.words.priority,
        gain=won / failures.repeats / failures.cases,
        share=sum(entry.credit for entry in entries) / failures.cases,
        is_critical=is_critical,
        severity=draft.words.severity,
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
    there = (case for case, sort in failures.failed_sorts.items() if fact in table.of_sort[sort])
    cases = tuple(sorted(there, key=failures.places.__getitem__))
    is_language = fact[0] == "language"
    shown = language_label(fact[1]) if is_language else fact[1]
    type_ = "language_gap" if is_language else "question_length"
    priority: Priority = "medium" if is_language else "low"
    questions = f"questions {'in' if is_language else 'of'} {shown}"
    action = f"Find out why {questions} fail more often than the others, and mend that"
    interval = f"[{percent(found.low)}, {percent(found.high)}]"
    rates = f"{percent(found.rate)} {interval} of {found.cases} fail, {percent(found.rest_rate)} of the"
    pattern = Pattern(
        type=type_,
        title=f"Q{questions[1:]} fail more often",
        count=len(cases),
        cases=cases[:CASES_KEPT],
        root_cause=OTHER_CAUSES[type_],
        action=action,
        priority=priority,
        gain=found.gain,
        share=found.gain,
        evidence=f"{rates} others (p {found.p_value:.2g} after Holm)",
        about=(fact[1],),
    )
    return Found(pattern, frozenset(), cases)
