"""Replies that passed and state another number than the expected answer: another dose, time or phone number."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Sequence
from decimal import Decimal
from itertools import product
from typing import NamedTuple

import orjson

from cortex_eval.analysis.patterns import CASES_KEPT, PassedNumber, PassedNumbers
from cortex_eval.analysis.patterns_blame import Counting
from cortex_eval.analysis.patterns_causes import MEANING, WORDING
from cortex_eval.analysis.patterns_numbers import (
    NOT_READ,
    Number,
    has_number_word,
    is_in,
    known_numbers,
    plain_words,
    stated_numbers,
)
from cortex_eval.analysis.patterns_read import LONGEST_READ
from cortex_eval.core import Result

HELD_BYTES = 1_000_000
"""Of cases that wait to be looked at: that takes longer than to see that there is nothing to look at."""
_LENIENT = WORDING | MEANING
"""Kinds of scorers that may let another number pass, for the rest of the reply is as expected."""
_EXPECTED, _END = b'"expected":', b'"}'
_ANSWER, _TEXT, _NEXT = b'"expected":{"answer":"', b'{"text":"', b'","'
_APART, _BEFORE = re.compile(rb'["?!;)]|[.,:]? |[.,:]"'), b' "('
_DIGITS, _HINDI_DIGIT = b"0123456789", re.compile(rb"\xe0\xa5[\xa6-\xaf]")
_WRITTEN = re.compile(r"\d+(?:[.,:]\d+)*\s?[^\W\d_]*")
_SENTENCE_END = re.compile(r"(?<=[.!?।])\s+|[\n\r;]+")
_PHONE = re.compile(r"(?<![\w.,/-])\+?\(?\d[\d() -]{5,18}\d(?![\w/]|[.,-]\d)")
_PHONE_DIGITS = range(7, 16)
_NO_PHONE = re.compile(r"\d{4} ?- ?\d{4}|\d{4}-\d\d-\d\d|\d{1,2}-\d{1,2}-\d{2,4}|\d{1,3}(?: \d{3})+|[\d ]*\d ?- ?\d+")
"""Years, dates, thousands and ranges."""
_RANGE = re.compile(r"(\d+(?:[.,]\d+)?)[^\W\d_%]*%?\s?(?:-|–|to|and|से)\s?(\d+(?:[.,]\d+)?)")
_FEWEST_WORDS = 2
"""That two sentences share which are about the same."""
_ALIKE, _SURE = 0.5, 0.75
"""The share of the words of the shorter one; the larger for numbers without a unit."""
_MANY = 3
"""Numbers of one sentence, of which the same sentence elsewhere has one at least."""
_ROUNDED = Decimal("0.05")
"""How far apart two numbers may be of which one is the other, rounded."""


class OtherNumber(NamedTuple):
    """Two numbers as they are shown."""

    expected: str
    said: str


class _Sentence(NamedTuple):
    text: str
    stems: set[str]
    """Of the words that carry meaning; numbers are not among them."""
    numbers: list[Number]
    new: list[Number]
    """Those of them that the other side does not have."""


class _Held(NamedTuple):
    row: Result
    references: tuple[str, ...]
    asked: str
    reply: str


class PassedReplies:
    """Takes cases that passed, and finds those with another number; of nearly all others only a digit is looked for."""

    def __init__(self, counting: Counting) -> None:
        self._counting = counting
        self.is_due = not counting.kinds or not _LENIENT.isdisjoint(counting.kinds.values())
        """Whether a scorer of this run may let another number pass; of a run without a plan nobody knows."""
        self._held: deque[_Held] = deque()
        self._bytes = 0
        self._found: list[tuple[int, PassedNumber]] = []
        self._count = 0
        self._last = ""
        """The case that was found last: its other turns and repeats are not counted again."""

    def add(self, rows: Sequence[Result]) -> None:
        """Look at cases of one turn that passed; where no digit is in what is expected, all at once."""
        expected = [case[case.rfind(_EXPECTED) :] for case in (row.case_json or b"" for row in rows)]
        if not _has_digit(b"".join(expected)):
            return
        for row, rest in zip(rows, expected, strict=True):
            wanted = rest[: rest.find(_END)]
            if _has_digit(wanted) and not _is_said(wanted, row.reply_json):  # and not only in what stands behind it
                self.add_turn(row)

    def add_turn(self, row: Result) -> None:
        """Look at one turn of a case that passed."""
        held = _candidate(row)
        if held is not None:
            self._held.append(held)
            self._bytes += _size(row)
            while self._bytes > HELD_BYTES:
                self._look_at(self._held.popleft())

    def summed(self) -> PassedNumbers | None:
        """What was found; None: nothing."""
        while self._held:
            self._look_at(self._held.popleft())
        if not self._count:
            return None
        in_order = sorted(self._found, key=lambda each: each[0])
        return PassedNumbers(count=self._count, cases=tuple(each for _, each in in_order))

    def _look_at(self, held: _Held) -> None:
        row, references, asked, reply = held
        self._bytes -= _size(row)
        if row.case_id == self._last or not self._is_let_through(row):
            return
        if (other := other_number(references, reply, asked)) is None:
            return
        self._count, self._last = self._count + 1, row.case_id
        if len(self._found) < CASES_KEPT:
            found = PassedNumber(case=row.case_id, question=asked, expected=other.expected, said=other.said)
            self._found.append((row.ordinal, found))

    def _is_let_through(self, row: Result) -> bool:
        """Whether a scorer that compares words or meaning found the reply good enough."""
        kinds = self._counting.kinds
        return any(score.get("passed") and kinds.get(name, name) in _LENIENT for name, score in row.scores.items())


def _has_digit(text: bytes) -> bool:
    """Whether there is one of ours or of Hindi; five times as fast as a pattern for both."""
    if len(text.translate(None, _DIGITS)) < len(text):
        return True
    return not text.isascii() and _HINDI_DIGIT.search(text) is not None


def _is_said(wanted: bytes, reply: bytes | None) -> bool:
    """Whether a reply has the one expected answer in it as it is, and not as a part of other words or numbers."""
    if reply is None or not wanted.startswith(_ANSWER) or b"\\" in wanted or not reply.startswith(_TEXT):
        return False  # to be read
    answer, end = wanted[len(_ANSWER) :], reply.find(_NEXT)
    at = reply.find(answer, len(_TEXT) - 1, end)
    if at < 0 or b'"' in answer:
        return False
    return _APART.match(reply, at + len(answer)) is not None and reply[at - 1] in _BEFORE


def _size(row: Result) -> int:
    return len(row.case_json or b"") + len(row.reply_json or b"")


def _candidate(row: Result) -> _Held | None:
    """The case, if each expected answer has a number that the reply does not have as it is written there."""
    if row.case_json is None or row.reply_json is None:
        return None
    turns = orjson.loads(row.case_json)["turns"]
    turn = turns[min(row.turn, len(turns) - 1)]
    expected = turn.get("expected") or {}
    references = tuple(each for each in (expected.get("answer"), *(expected.get("answers") or ())) if each)
    reply = orjson.loads(row.reply_json).get("text") or ""
    if not references or len(reply) > LONGEST_READ or max(map(len, references)) > LONGEST_READ:
        return None
    said = _written(reply)
    if any(_written(each) <= said for each in references):
        return None
    return _Held(row, references, turn.get("text") or "", reply)


def _written(text: str) -> set[str]:
    return {each.replace(" ", "").lower() for each in _WRITTEN.findall(text)}


def other_number(references: Sequence[str], reply: str, asked: str) -> OtherNumber | None:
    """A number of the expected answer in whose place the reply has another one; None: there is none, or it is not sure.

    It is in its place when it measures the same, in a sentence that says the same but for it. What is known from an
    expected answer or the question, in a range that is expected, or a rounded one, is no other number; and where there
    are several expected answers, the reply has to differ from all of them.
    """
    if not _has_new(reply, (*references, asked)) or not NOT_READ.isdisjoint(plain_words(reply)):
        return None
    found = [
        _other_phone(each, reply, (*references, asked)) or _in_its_place(each, references, reply, asked)
        for each in references
    ]
    return found[0] if all(found) else None


def _has_new(reply: str, known: Sequence[str]) -> bool:
    """Whether the reply may have a number that is not known: soon seen, and most have none."""
    return not _written(reply) <= set().union(*map(_written, known)) or has_number_word(reply)


def _other_phone(reference: str, reply: str, known: Iterable[str]) -> OtherNumber | None:
    """Another phone number, where none of those expected is in the reply."""
    wanted, said = _phones(reference), _phones(reply)
    there = {number for text in known for number in _phones(text).values()}
    others = [shown for shown, number in said.items() if not any(_is_same_phone(number, each) for each in there)]
    is_told = any(_is_same_phone(one, other) for one in wanted.values() for other in said.values())
    return OtherNumber(next(iter(wanted)), others[0]) if wanted and others and not is_told else None


def _phones(text: str) -> dict[str, str]:
    """Phone numbers as they are written, with their digits alone."""
    found = {}
    for match in _PHONE.finditer(text):
        shown = match[0].strip()
        digits = "".join(filter(str.isdigit, shown))
        if len(digits) in _PHONE_DIGITS and not _NO_PHONE.fullmatch(shown):
            found[shown] = digits
    return found


def _is_same_phone(one: str, other: str) -> bool:
    """Whether two are one but for the code of the country or the area."""
    return one.endswith(other) or other.endswith(one)


def _in_its_place(reference: str, references: Sequence[str], reply: str, asked: str) -> OtherNumber | None:
    """The first number of an expected answer that the reply lacks, and the one that it has in the same sentence."""
    known = [number for text in (*references, asked) for number in known_numbers(text)]
    beside = _with_new(reply, known)
    if not beside:  # most replies
        return None
    for sentence in _with_new(reference, list(known_numbers(reply))):
        for place in [each for each in beside if _is_about_the_same(sentence, each)] or _only(sentence, beside):
            for number, other in product(sentence.new, place.new):
                if other.measure == number.measure and _is_another(number, sentence, other, place):
                    return OtherNumber(number.text.rstrip("."), other.text.rstrip("."))
    return None


def _with_new(text: str, known: Sequence[Number]) -> list[_Sentence]:
    """The sentences of a text with numbers that are not known."""
    found = []
    for each in _SENTENCE_END.split(_PHONE.sub(" ", text)):
        numbers = stated_numbers(each)
        if new := [number for number in numbers if not is_in(number, known)]:
            found.append(_Sentence(each, _stems(each), numbers, new))
    return found


def _is_about_the_same(wanted: _Sentence, said: _Sentence) -> bool:
    """Whether two sentences share most of their words, and of three numbers at least one."""
    shared = len(wanted.stems & said.stems)
    if shared < _FEWEST_WORDS or shared < _ALIKE * min(len(wanted.stems), len(said.stems)):
        return False
    return len(wanted.numbers) < _MANY or any(is_in(each, said.numbers) for each in wanted.numbers)


def _only(wanted: _Sentence, beside: Sequence[_Sentence]) -> list[_Sentence]:
    """Of an expected answer that is hardly more than a number: what states the one number of the reply."""
    is_bare = len(wanted.stems) < _FEWEST_WORDS and len(wanted.numbers) == 1
    return list(beside) if is_bare and sum(len(each.numbers) for each in beside) == 1 else []


def _is_another(number: Number, wanted: _Sentence, other: Number, said: _Sentence) -> bool:
    """Whether none may be meant for the other: as a rounded one, or within a range."""
    if number.measure is None and len(wanted.stems & said.stems) < _SURE * min(len(wanted.stems), len(said.stems)):
        return False  # it may count anything
    apart, largest = abs(other.value - number.value), max(abs(other.value), abs(number.value))
    is_whole = other.raw % 1 == number.raw % 1 == 0
    if not is_whole and apart <= _ROUNDED * largest:
        return False
    ranges, theirs = _ranges(wanted.text), _ranges(said.text)
    if any(number.raw in each for each in ranges) and any(other.raw in each for each in theirs):
        return True  # two ranges with other ends
    return not _is_within(other, number, ranges) and not _is_within(number, other, theirs)


def _is_within(number: Number, end: Number, ranges: Sequence[tuple[Decimal, Decimal]]) -> bool:
    """Whether it lies in a range of which the other is an end."""
    if not end.raw:
        return False
    raw = number.value / (end.value / end.raw)  # in the unit of the range
    return any(low <= raw <= high and end.raw in (low, high) for low, high in ranges)


def _ranges(text: str) -> list[tuple[Decimal, Decimal]]:
    low_and_high = _RANGE.findall(text)
    return [(Decimal(low.replace(",", ".")), Decimal(high.replace(",", "."))) for low, high in low_and_high]


def _stems(text: str) -> set[str]:
    from cortex_eval.scoring import content_words, stem

    return {stem(word) for word in content_words(text) if not any(map(str.isdigit, word))}
