"""Does one sentence say the opposite of another? A *not* on one side only, over the same words; English and Hindi."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from cortex_eval.scoring.facts import stem
from cortex_eval.scoring.quantities import NUMBER_WORDS
from cortex_eval.scoring.words import STOP_WORDS

SAME = 0.8
"""Share of a clause's words that a clause of the other text must have, for the two to say the same or the opposite."""
WHOLE = 0.7
"""Share of all words of the text that the sentence with that clause must have."""
SCOPE = 0.6
"""Share of what is denied that the other clause must speak of."""
LONGEST, MOST = 40, 60
"""Words that a negation reaches, and clauses of one sentence that are looked at: a text may have no full stop."""
FEWEST = 2
"""Words of a clause in common, from which the two can be held against each other."""

Verdict = Literal["agrees", "denies", "is denied", ""]
"""Of a text against others: they say the same, it denies what they say, they deny what it says, or nothing is known."""

_NEGATIONS_TEXT = """
    not no never without neither nor none nobody nothing avoid avoids avoided avoiding unable forget forgets hesitate
    fail fails failed lack lacks dont doesnt didnt नहीं नही न ना मत बिना रहित
"""
# Behind these another clause begins.
_BREAKS_TEXT = """
    but because although though if when whenever unless while whereas since so which who whose then otherwise however
    instead rather except लेकिन परंतु किंतु क्योंकि अगर यदि जब तब तो ताकि बल्कि मगर इसलिए
"""
# Behind `and`, these show that another clause begins, and not another thing.
_BEGINS_TEXT = """
    do does did is are was were should must can will may might has have never not no avoid it they you he she we i this
    these there then also please
"""
# What a negation bears on instead of its verb: "do not take more than four" says nothing against taking four.
_LIMITS_TEXT = """
    more less fewer over under above below until till unless without except only all every everyone everything always
    necessarily both too much many long longer later enough exceed than alone together immediately solely entirely fully
    completely directly exactly just yet still anymore again अधिक ज्यादा ज़्यादा कम सभी हमेशा केवल सिर्फ
"""
_FUNCTION_TEXT = """
    must shall ought being get gets got any ever even really usually generally normally typically currently please let
    us each per very quite there here s t d ll re ve m
"""
# Words that deny in their own way.
_UNCLEAR_TEXT = """
    unlikely false untrue denied denies deny refused refuses prevented prevents rather instead except unless
"""
_NEGATIONS, _BREAKS, _BEGINS, _LIMITS, _FUNCTION, _UNCLEAR = (
    frozenset(unicodedata.normalize("NFC", text).split())
    for text in (_NEGATIONS_TEXT, _BREAKS_TEXT, _BEGINS_TEXT, _LIMITS_TEXT, _FUNCTION_TEXT, _UNCLEAR_TEXT)
)
# What has the form of a negation and denies nothing, and what it is read as.
_NO_NEGATION = (
    (re.compile(r"\b(?:no|not) (?:more|later|longer) than\b"), "at most"),
    (re.compile(r"\b(?:no|not) (?:less|fewer|earlier|sooner) than\b"), "at least"),
    (re.compile(r"\bnot (only|just|merely|simply)\b"), r"\1"),
    (re.compile(r"\bno (doubt|matter|wonder)\b|\bwithout (doubt|question|delay)\b"), " "),
    (re.compile(r"\bor (?:might |may |could )?not\b|\bif not\b|\bno\. ?(?=\d)|^\W*no[,.] "), " "),
)
_TOKENISED = re.compile(r"(?<=\d) ?, (?=\d{3}(?!\d))")
"""Tokenised text sets a space inside a number: *3, 800*."""
_SHORT = (
    (re.compile(r"\bcan(?:no|['’])t\b"), "can not"),
    (re.compile(r"\bwon['’]t\b"), "will not"),
    (re.compile(r"\bshan['’]t\b"), "shall not"),
    (re.compile(r"n['’]t\b"), " not"),
)
_FORMS = {
    form: verb
    for verb, forms in {
        "take": "took taken",
        "give": "gave given",
        "eat": "ate eaten",
        "drink": "drank drunk",
        "go": "goes going went gone",
        "keep": "kept",
        "feel": "felt",
        "drive": "drove driven",
        "stop": "stopped stopping",
    }.items()
    for form in forms.split()
}
"""Verbs that are often denied in advice, by forms that their stem does not show."""
_DENYING = _NEGATIONS | {"cannot", "t"}
_BEFORE_NOUNS = frozenset({"avoid", "avoids", "avoided", "avoiding", "without", "lack", "lacks"})
_LIST_AHEAD = 4
"""Words behind a comma within which another comma, or an `or`, makes it a list."""


class Clause(NamedTuple):
    """A part of a sentence with its negations."""

    content: frozenset[str]
    """Stems of the words that carry meaning."""
    heads: frozenset[str]
    """Stems of what its negations deny first of all: the verb or what is said of the subject."""
    scope: frozenset[str]
    """Stems that stand in the reach of a negation."""
    limits: frozenset[str]
    """Words of the whole clause, such as *more* and *without*, that a negation can bear on."""
    limited: frozenset[str]
    """Those of them in the reach of a negation."""
    negations: int
    is_unclear: bool
    """It has a word that denies in its own way."""


def verdict(text: str, others: Sequence[str]) -> Verdict:
    """Whether the others say what the text says, or its opposite; what one of them says as closely, is said."""
    whole = content_of(text)
    near = [
        each
        for each in others
        if len(whole & content_of(each)) >= WHOLE * len(whole) and not each.rstrip().endswith("?")
    ]
    word_by_word = {_word_by_word(text, each) for each in near} if len(whole) >= FEWEST else set()
    if word_by_word & {"denies", "is denied"} and "agrees" not in word_by_word:
        return "denies" if "denies" in word_by_word else "is denied"
    theirs = [clause for each in near for clause in clauses(each)]
    agrees = bool(theirs)
    for clause in clauses(text):
        close = [(_share(clause, each), each) for each in theirs]
        alike = max((share for share, each in close if each.negations % 2 == clause.negations % 2), default=0.0)
        against = max((share for share, each in close if opposite(clause, each)), default=0.0)
        if against >= SAME and against > alike:
            return "denies" if clause.negations % 2 else "is denied"
        agrees = agrees and alike >= SAME
    return "agrees" if agrees else ""


def _word_by_word(text: str, other: str) -> Verdict:
    """The same where the other has every word of the text in a row, but for negations."""
    ours, theirs = _bare(text), _bare(other)
    place = theirs.running.find(ours.running)
    if place < 0:
        return ""
    first = theirs.running.count(" ", 0, place)
    last = first + ours.running.count(" ") - 2
    inside = sum(theirs.negated[first : last + 1])
    if inside % 2 == sum(ours.negated) % 2:
        return "agrees"
    return "denies" if sum(ours.negated) % 2 else "is denied"


class _Bare(NamedTuple):
    """A text without its negations."""

    running: str
    """Its words, each between two spaces."""
    negated: tuple[int, ...]
    """Of each word, how many negations stand right before it."""


@lru_cache(maxsize=1024)
def _bare(text: str) -> _Bare:
    kept: list[str] = []
    negated: list[int] = []
    waiting = 0
    for word in tokens_of(text):
        if word in _NEGATIONS:
            waiting += 1
        elif not word[0].isalnum():
            waiting = 0
        elif word not in ("do", "does", "did"):
            kept.append(word)
            negated.append(waiting)
            waiting = 0
    return _Bare(f" {' '.join(kept)} ", tuple(negated))


def may_deny(text_words: Iterable[str]) -> bool:
    """Whether there can be a negation in a text of these words, as `words` gives them: *don't* is *don* and *t*."""
    return not _DENYING.isdisjoint(text_words)


def opposite(one: Clause, other: Clause) -> bool:
    """Whether one denies what the other says of the same; two negations cancel each other."""
    if one.negations % 2 == other.negations % 2 or one.is_unclear or other.is_unclear:
        return False
    return _takes_back(one, other) or _takes_back(other, one)


def has_negation(text: str) -> bool:
    """Whether a clause of the text is denied, but for two negations that cancel each other."""
    return any(clause.negations % 2 for clause in clauses(text))


@lru_cache(maxsize=1024)
def clauses(text: str) -> tuple[Clause, ...]:
    """The clauses of a sentence, in order; those without a word that carries meaning are left out."""
    found = [_clause(tokens) for tokens in _split(tokens_of(text))[:MOST]]
    return tuple(each for each in found if each.content)


def _takes_back(denying: Clause, said: Clause) -> bool:
    if not denying.heads & (said.content - said.scope) or not denying.limited <= said.limits:
        return False
    return len(denying.scope & said.content) >= SCOPE * len(denying.scope)


def _share(clause: Clause, other: Clause) -> float:
    common = len(clause.content & other.content)
    return common / len(clause.content) if common >= FEWEST else 0.0


def tokens_of(text: str) -> list[str]:
    """The words, the numbers and the marks between clauses, in lower case; *don't* is *do not*."""
    text = unicodedata.normalize("NFC", text).lower()
    text = _TOKENISED.sub(",", text)
    for pattern, plain in (*_SHORT, *_NO_NEGATION):
        text = pattern.sub(plain, text)
    return _token_pattern().findall(text)  # type: ignore[no-any-return]  # `regex` has no types


def _split(tokens: Sequence[str]) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for i, word in enumerate(tokens):
        if word == "," and _is_list(tokens, i):
            continue
        ends = not word[0].isalnum() or (word in _BREAKS and parts[-1])
        if ends or (word == "and" and tokens[i + 1 : i + 2] and tokens[i + 1] in _BEGINS):
            parts.append([])
        if word[0].isalnum():
            parts[-1].append(word)
    return parts


def _is_list(tokens: Sequence[str], comma: int) -> bool:
    """Whether the comma stands between the things of a list: *ice, butter or oil*."""
    ahead = tokens[comma + 1 : comma + 1 + _LIST_AHEAD]
    return any(word in (",", "or", "nor") for word in ahead[1:]) and not _BEGINS & set(ahead)


def _clause(tokens: Sequence[str]) -> Clause:
    places = [i for i, word in enumerate(tokens) if word in _NEGATIONS]
    if places and tokens[places[0]] != "nor":
        places = [i for i in places if tokens[i] != "nor"]  # it goes on with the negation before it
    heads: set[str] = set()
    reach: set[str] = set()
    for i in places:
        if tokens[i].isascii():
            behind = tokens[i + 1 : i + 1 + LONGEST]
            heads |= _heads(tokens[i], behind)
            reach.update(behind)
        else:  # Hindi denies from behind or from before its verb
            around = tokens[max(0, i - LONGEST) : i + LONGEST]
            heads |= _hindi_heads(around, min(i, LONGEST))
            reach.update(around)
    return Clause(
        content=content_stems(tokens),
        heads=frozenset(heads),
        scope=content_stems(reach),
        limits=frozenset(tokens) & _LIMITS | _durations(tokens),
        limited=frozenset(reach) & _LIMITS | (_durations(tokens) if reach else frozenset()),
        negations=len(places),
        is_unclear=not _UNCLEAR.isdisjoint(tokens),
    )


def _heads(negation: str, behind: Sequence[str]) -> set[str]:
    """The first word that carries meaning, the one it leads to (*safe to take*), and those set beside it by *or*."""
    heads: set[str] = set()
    wanted = True
    for word in behind:
        if word in _NEGATIONS:
            continue
        if word in ("to", "that", "or", "nor") and heads:
            wanted = True
        elif wanted and is_content(word):
            if negation in _BEFORE_NOUNS and not word.endswith("ing"):
                break  # "avoid ice" denies no "ice": it is to be had, and not said to be so
            heads.add(_stem(word))
            wanted = False
    return heads


def _hindi_heads(tokens: Sequence[str], place: int) -> set[str]:
    behind = tokens[place + 1 : place + 2]
    if behind and is_content(behind[0]) and tokens[place] not in ("बिना", "रहित"):
        return {_stem(behind[0])}
    before = [word for word in tokens[:place] if is_content(word)]
    return {_stem(before[-1])} if before else set()


def _durations(tokens: Sequence[str]) -> frozenset[str]:
    """`for`, where a number follows: *not for 8 hours* leaves open what is after them."""
    return frozenset(
        "for"
        for word, following in pairwise(tokens)
        if word == "for" and (following[0].isdecimal() or following in NUMBER_WORDS)
    )


@lru_cache(maxsize=1024)
def content_of(text: str) -> frozenset[str]:
    """The stems of the words of a text that carry meaning."""
    return content_stems(tokens_of(text))


def content_stems(tokens: Iterable[str]) -> frozenset[str]:
    """The stems of the words that carry meaning."""
    return frozenset(_stem(word) for word in tokens if is_content(word))


def _stem(word: str) -> str:
    return stem(_FORMS.get(word, word))


def is_content(word: str) -> bool:
    """Whether a word carries meaning, and is neither a negation nor what one bears on."""
    return (
        word[0].isalnum()
        and word not in STOP_WORDS
        and word not in _FUNCTION
        and word not in _NEGATIONS
        and word not in _LIMITS
    )


@cache
def _token_pattern() -> Any:  # Any: a compiled pattern of `regex`, which has no public type
    import regex  # type: ignore[import-untyped]  # has no types; `re` breaks Hindi words at their vowel signs

    return regex.compile(r"\p{N}+(?:[.,:]\p{N}+)*|[\p{L}\p{M}][\p{L}\p{M}\p{N}]*|[,;:()।—–]")
