"""What is wrong with a reply beside an expected answer: numbers, yes and no, length and words, in a fixed order."""

from __future__ import annotations

import re
from collections.abc import Callable

from cortex_eval.analysis.patterns_read import Cause, Read, is_spaceless, plain, quote

_SHORT, _LONG = 1 / 3, 3
_FEWEST_WORDS = 6
"""Of an expected answer, or of a reply, from which its length tells something."""
_NEARLY_ALL, _MOST, _HALF, _HARDLY_ANY = 0.9, 0.75, 0.5, 0.15
"""Shares of the words of an expected answer."""
_FEW = 3
"""Words of an expected answer, besides its numbers, that do not tell yet what it is about."""
_YES, _NO = frozenset({"yes", "yeah", "yep", "हाँ", "हां", "जी"}), frozenset({"no", "nope", "नहीं", "नही"})
_NO_MATTER = frozenset({"doubt", "matter", "need", "problem", "worries"})
"""*No problem* denies nothing."""
_SENTENCE = 25
"""In words: of longer texts a *not* tells little."""
_OPENING = 80
_FIRST_WORDS = re.compile(r"[^\s,.;:!?।–—-]+")
_LINKING_TEXT = """
    additionally although always among another around both day each either especially even every first furthermore get
    give however include includes including instead like make makes many moreover much must need often one only other
    others over same several since specifically still take therefore though through thus together under until up us use
    used using usually various very want way well while within without yet
"""
_LINKING = frozenset(_LINKING_TEXT.split())
"""Words that nobody misses in a reply; not so common that they tell nothing at all."""
_WORDS_COUNTED = 40
"""Missing words of one reply that are counted."""


def _other_number(read: Read) -> Cause | None:
    """Another number stands where one of the expected answer should."""
    missing, others, _ = read.numbers
    if not missing or not others or (read.nearest.words > _FEW and read.share <= _HARDLY_ANY):
        return None  # none is wrong, or all is
    return Cause("wrong_number", ("other",), (f"{others[0]} instead of {missing[0]}",))


def _no_number(read: Read) -> Cause | None:
    missing = read.numbers.missing
    if not missing or not read.nearest.words or read.share < _HALF:
        return None  # something else is said
    return Cause("wrong_number", ("none",), missing[:1])


def _opposite(read: Read) -> Cause | None:
    """Yes instead of no, or a negation or an opposite in a sentence of the same words."""
    from cortex_eval.scoring import disagree

    if read.is_long:
        return None
    text, reference = read.reply.text, read.nearest.reference
    says, wanted = _assent(text), {_assent(each) for each in read.references}
    if says is None or None in wanted:
        said, lengths = _lengths(read)
        is_alike = read.nearest.words > 1 and (read.share >= _MOST or len(read.nearest.missing) == 1)
        is_alike = is_alike and max(said, *lengths) <= _SENTENCE
        if not is_alike or not disagree(text, reference):
            return None
    elif says in wanted:
        return None
    return Cause("opposite_answer", details=(_instead(text, reference),))


def _assent(text: str) -> bool | None:
    """Whether a text begins with yes, or with no; None: with neither."""
    first, second, *_ = *_FIRST_WORDS.findall(plain(text[:_OPENING]).removeprefix("जी "))[:2], "", ""
    return True if first in _YES else False if first in _NO and second not in _NO_MATTER else None


def _too_short(read: Read) -> Cause | None:
    said, lengths = _lengths(read)
    if not lengths or min(lengths) < _FEWEST_WORDS or said >= _SHORT * min(lengths) or not _is_a_part(read):
        return None
    return Cause("too_short", details=(f"{_words(said)} instead of {min(lengths)}",))


def _is_a_part(read: Read) -> bool:
    """Whether the reply says little else than what is expected, or asked."""
    from cortex_eval.scoring import content_words, stem, stems

    if read.is_long:
        return len(read.reply.text) < min(map(len, read.references))
    said = {stem(word) for word in content_words(read.reply.text)} or {*stems(read.reply.text)}
    known = {each for text in (*read.references, read.asked) for each in stems(text)}
    return bool(said) and len(said & known) >= _HALF * len(said)


def _too_long(read: Read) -> Cause | None:
    said, lengths = _lengths(read)
    if not lengths or said < _FEWEST_WORDS * _LONG or said <= _LONG * max(lengths):
        return None
    if not read.is_long and read.share < (_MOST if read.nearest.words > _FEW else _NEARLY_ALL):
        return None  # it says something else, at length
    return Cause("too_long", details=(f"{_words(said)} instead of {max(lengths)}",))


def _lengths(read: Read) -> tuple[int, list[int]]:
    return len(read.reply.text.split()), [len(each.split()) for each in read.references]


def by_words(read: Read) -> Cause:
    """How much of the expected answer is in the reply, by its words."""
    reference, _, missing = read.nearest
    if read.share >= _NEARLY_ALL:
        return Cause("other_wording", details=(_instead(read.reply.text, reference),))
    if read.share <= _HARDLY_ANY and not read.numbers.has_some:
        return Cause("other_answer", details=(_instead(read.reply.text, reference),))
    if any(map(is_spaceless, missing)):
        return Cause("partial_answer")  # its letters are no words
    return Cause("partial_answer", details=tuple(sorted(missing - _LINKING)[:_WORDS_COUNTED]))


def _instead(text: str, reference: str) -> str:
    return f"“{quote(text)}” instead of “{quote(reference)}”"


def _words(count: int) -> str:
    return f"{count} {'word' if count == 1 else 'words'}"


BY_REFERENCE: tuple[Callable[[Read], Cause | None], ...] = (
    _other_number,
    _opposite,
    _too_short,
    _no_number,
    _too_long,
)
