"""Notes what fails while results go by: faults by name, and how many cases of each sort there are."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson

from cortex_eval.analysis.patterns import PassedNumbers
from cortex_eval.analysis.patterns_blame import Blame, Counting, blames_of, same_reason, ways_to_win
from cortex_eval.analysis.patterns_canned import CannedReplies, Failed
from cortex_eval.analysis.patterns_names import (
    LABELLED,
    one_spelling,
    respelt,
    respelt_details,
    stated_intent,
    written_names,
)
from cortex_eval.analysis.patterns_passed import PassedReplies
from cortex_eval.analysis.patterns_replay import Key, Replays, Ways, ways_of_all
from cortex_eval.core import Result, RunRecord

HELD_BYTES = 1_000_000
"""Of cases that passed and are looked at only when another one fails."""
DETAILS_KEPT = 50
"""Different reasons or values counted per fault: more would fill the memory, and nobody reads them."""
WORDS_KEPT = 2_000
"""The same of words and texts that replies lack: the commonest are seldom among the first."""
SORTS_KEPT = 20_000
"""Sorts of cases told apart; when every case has tags of its own, those of later ones are left out."""
READ_AT_ONCE = 100
"""Cases that passed: together it is soon seen that none expects a number."""
_LENGTHS = (3, 10, 30, 100)
_LENGTH_NAMES = ("1–3 words", "4–10 words", "11–30 words", "31–100 words", "over 100 words")
_TEXT, _INTENT, _ENTITIES, _NEEDS = b'"text":"', b'"intent":"', b'"entities":{', b'"requires_context":true'
TAGS, INTENTS = 3, 7
"""Where in a sort its tags and intents are."""
_TURN_NAMES = ("1", "2–3", "4 or more")

Fact = tuple[str, str]
"""What is so about a case, such as `("entity", "software")`."""
Sort = tuple[Any, ...]  # Any: what is known of a case, in an order that only `facts_of` looks at


@dataclass(slots=True)
class Entry:
    """Every case with one fault."""

    cases: list[str] = field(default_factory=list)
    credit: float = 0.0
    """Its share of the failures: a case that fails for several reasons counts for a part."""
    points: float | None = None
    """Of the overall scores of these cases, summed."""
    details: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)
    """Of reasons that are counted as one although figures and names in them differ: the first of each, as it was."""
    is_critical: bool = False

    def add(self, case_id: str, blame: Blame, *, credit: float, per: float) -> None:
        """Take down one more fault of this name; `per`: what a point of this result is of its case's score."""
        if not self.cases or self.cases[-1] != case_id:
            self.cases.append(case_id)
        self.credit += credit
        if blame.points is not None:
            self.points = (self.points or 0.0) + blame.points * per
        for each in blame.details:
            detail = same_reason(each) if blame.key[0] == "scorer_failure" else each
            kept = WORDS_KEPT if blame.key[0] in ("missing_text", "partial_answer") else DETAILS_KEPT
            if detail in self.details or len(self.details) < kept:
                self.details[detail] += 1
                if detail != each:
                    self.examples.setdefault(detail, each)


class Count(NamedTuple):
    """Cases of one sort, and those of them that did not pass."""

    cases: int
    failed: int


class Failures:
    """Takes results, contiguous by case, and keeps what an error analysis needs: nothing of cases that pass."""

    def __init__(self, run: RunRecord, *, keep_played: bool = False) -> None:
        self.counting = Counting.of(run)
        self.repeats = max(1, run.repeats)
        self.replays = Replays()
        """What each failed repeat of a case would take to pass."""
        self.entries: dict[Key, Entry] = {}
        self.cases = 0
        """Cases that passed, failed or ended in an error."""
        self.scored = 0
        """Those of them with an overall score."""
        self.sorts: dict[Sort, list[int]] = {}
        self._held: list[tuple[str | None, int | None, str | None, tuple[str, ...], bytes | None]] = []
        self._held_bytes = 0
        self.failed_sorts: dict[str, Sort] = {}
        """Failed cases with their sort."""
        self.places: dict[str, int] = {}
        """The same with their places in the dataset."""
        self.turn_numbers, self.turn_failed, self.turn_clusters = array("i"), array("b"), array("q")
        """Turns of conversations: which one, whether it failed, whose it is."""
        self.case_failed, self.case_clusters = array("b"), array("q")
        """The same of cases, where some are in clusters."""
        self._clusters: dict[str, int] = {}
        self.stated: dict[str, str] = {}
        """How the target spells intents that were wrong."""
        self._canned = CannedReplies() if self.counting.reads_replies else None
        self._passed = PassedReplies(self.counting)
        """Replies that passed, and say another number."""
        self._looks_at_passed = self._passed.is_due
        self._unread: list[Result] = []
        self.played: set[str] | None = set() if keep_played else None

    def noting(self, results: Iterable[Result]) -> Iterator[Result]:
        """The same results, each noted as it goes by."""
        rows: list[Result] = []
        for result in results:
            if rows and rows[0].case_id != result.case_id:
                self._add_case(rows)
                rows = [result]
            else:
                rows.append(result)
            yield result
        if rows:
            self._add_case(rows)

    def _add_case(self, rows: list[Result]) -> None:
        first = rows[0]
        if self.played is not None:
            self.played.add(first.case_id)
        if len(rows) == 1 and first.passed and first.cluster_id is None:
            self._hold(first)
            if self._looks_at_passed:
                self._unread.append(first)
                if len(self._unread) == READ_AT_ONCE:
                    self._read_passed()
            return
        bad = [row for row in rows if row.passed is False or row.error is not None]
        if not bad and all(row.passed is None for row in rows):
            return
        self._count(first, is_failed=bool(bad))
        self.scored += any(row.overall is not None for row in rows)
        if not bad and self._looks_at_passed:
            for row in rows:
                self._passed.add_turn(row)
        if bad:
            case = Failed(bad, len(rows) / self.repeats)
            for told in self._canned.told(case) if self._canned is not None else (case,):
                self._blame(told)
        if first.cluster_id is not None:
            self.case_failed.append(bool(bad))
            self.case_clusters.append(self._clusters.setdefault(first.cluster_id, len(self._clusters)))
        if len(rows) > 1 and rows[-1].turn:
            self._note_turns(rows)

    def _read_passed(self) -> None:
        self._passed.add(self._unread)
        self._unread.clear()

    def passed_numbers(self) -> PassedNumbers | None:
        """Cases that passed with another number than expected; None: none was found."""
        self._read_passed()
        return self._passed.summed()

    def _hold(self, row: Result) -> None:
        """The usual case, which passed: where none fails, nobody will ask of what sort it was."""
        self.cases += 1
        self.scored += row.overall is not None
        case = row.case_json
        self._held.append((row.category, row.tier, row.language, row.tags, case))
        self._held_bytes += len(case) if case is not None else 0
        if self._held_bytes > HELD_BYTES or self.failed_sorts:
            self._count_held()

    def settle(self) -> None:
        """Count what was held back; whoever asks for `sorts` or `entries` calls this first."""
        for waiting in self._canned.rest() if self._canned is not None else ():
            self._blame(waiting)
        self._count_held()

    def _count_held(self) -> None:
        for *known, case in self._held:
            self._add_sort((*known, *_read_of(case)))
        self._held.clear()
        self._held_bytes = 0

    def _count(self, row: Result, *, is_failed: bool) -> None:
        """One more case of its sort."""
        self.cases += 1
        sort = self._add_sort((row.category, row.tier, row.language, row.tags, *_read_of(row.case_json)))
        if is_failed:
            self.sorts[sort][1] += 1
            self.failed_sorts[row.case_id], self.places[row.case_id] = sort, row.ordinal

    def _add_sort(self, sort: Sort) -> Sort:
        count = self.sorts.get(sort)
        if count is None:
            if len(self.sorts) >= SORTS_KEPT:
                sort = (*sort[:3], (), *sort[4:6], (), (), sort[8])
            count = self.sorts.setdefault(sort, [0, 0])
        count[0] += 1
        return sort

    def _note_turns(self, rows: list[Result]) -> None:
        for row in rows:
            if row.passed is not None:
                self.turn_numbers.append(row.turn)
                self.turn_failed.append(not row.passed)
                self.turn_clusters.append(self.cases)

    def _blame(self, case: Failed) -> None:
        """Share each failed repeat of a case among its faults."""
        repeats: dict[int, list[Blame]] = {}
        ways: dict[int, list[Ways]] = {}
        for place, row in enumerate(case.rows):
            found = blames_of(row, self.counting, is_canned=place in case.canned)
            repeats.setdefault(row.repeat, []).extend(found)
            self._note_spelling(row, found)
            ways.setdefault(row.repeat, []).append(ways_to_win(row, found, self.counting))
        case_id = case.rows[0].case_id
        for repeat, blames in repeats.items():
            self.replays.add(ways_of_all(ways[repeat]))
            whole = sum(blame.share for blame in blames) * self.repeats
            for blame in blames:
                for key in (blame.key, *blame.also):
                    entry = self.entries.get(key)
                    if entry is None:
                        entry = self.entries[key] = Entry()
                    entry.add(case_id, blame, credit=blame.share / whole, per=1 / case.turns / self.repeats)
                self.entries[blame.key].is_critical |= blame.is_critical

    def _note_spelling(self, row: Result, blames: Iterable[Blame]) -> None:
        """Remember how the target spells an intent that was wrong."""
        for key in (key for blame in blames for key in (blame.key, *blame.also) if key[0] in LABELLED):
            if key[-1] not in self.stated and (stated := stated_intent(row.reply_json)):
                self.stated.setdefault(one_spelling(stated), stated)

    def respell(self) -> None:
        """Call intents from now on what the dataset calls them; whoever asks for `sorts` has settled them before."""
        if not any(key[0] in LABELLED for key in self.entries):
            return
        names = written_names((name for sort in self.sorts for name in sort[INTENTS]), self.stated)
        changed = {key: new for key in self.entries if (new := respelt(key, names)) != key}
        for entry in self.entries.values():
            entry.details = respelt_details(entry.details, names)
        self.entries = {changed.get(key, key): entry for key, entry in self.entries.items()}
        self.replays.renamed(changed)


def _read_of(case: bytes | None) -> Sort:
    """What a case itself tells: length, turns, entities, intents, whether it needs what was said before."""
    if case is None:
        return (None, None, (), (), False)
    start = case.find(_TEXT) + len(_TEXT)
    if (
        b"\\" not in case
        and case.find(_TEXT, start) < 0
        and case.find(_ENTITIES, start) < 0
        and case.find(_NEEDS, start) < 0
    ):  # one plain question, as in most datasets: it need not be read to be measured
        length = bisect_left(_LENGTHS, case.count(b" ", start, case.find(b'"', start)) + 1)
        at = case.find(_INTENT, start)
        intent = (case[at + len(_INTENT) : case.find(b'"', at + len(_INTENT))].decode(),) if at >= 0 else ()
        return (length, 0, (), intent, False)
    turns = orjson.loads(case)["turns"]
    length = bisect_left(_LENGTHS, turns[0]["text"].count(" ") + 1)
    wanted = [turn.get("expected") or {} for turn in turns]
    entities = tuple(sorted({name for each in wanted for name in each.get("entities") or ()}))
    intents = tuple(sorted({each["intent"] for each in wanted if each.get("intent")}))
    needs = any(turn.get("requires_context") for turn in turns)
    bucket = 0 if len(turns) == 1 else 1 if len(turns) <= 3 else 2
    return (length, bucket, entities, intents, needs)


def facts_of(sort: Sort) -> Iterator[Fact]:
    """The facts that make up a sort of cases."""
    category, tier, language, tags, length, turns, entities, intents, needs_context = sort
    for name, value in (("category", category), ("tier", tier), ("language", language)):
        if value is not None:
            yield name, str(value)
    yield from (("tag", tag) for tag in tags)
    yield from (("entity", name) for name in entities)
    yield from (("intent", name) for name in intents)
    if length is not None:
        yield "length", _LENGTH_NAMES[length]
        yield "turns", _TURN_NAMES[turns]
    if needs_context:
        yield "needs", "what was said before"
