"""Whether words of a text are meant, or denied, refused, warned of or only asked about; in English and Hindi."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from cortex_eval.scoring.patterns import Pattern

NEAR = 160
"""How many characters before the words are looked at for a denial close to them."""
_SENTENCE_END = re.compile(r"(?<=[.!?।])[\"')*\]]*\s+|\n+")  # `re`: RE2 cannot look behind; nothing here can backtrack


class _Words(NamedTuple):
    """The patterns, compiled when first needed."""

    clause_start: Pattern
    soothing: Pattern
    strong_no: Pattern
    """Takes words back from anywhere before them in their clause."""
    weak_no: Pattern
    """Takes words back when close before them."""
    no_behind: Pattern
    """Takes words back from behind: Hindi denies behind the noun."""
    no_inside: Pattern
    denied: Pattern
    denied_behind: Pattern
    warning: Pattern
    suggestion: Pattern


def sentence_around(text: str, start: int, end: int) -> tuple[int, int]:
    """Where the sentence begins and ends that holds text[start:end]."""
    low, high = 0, len(text)
    while start < end and text[start].isspace():  # a match may begin with the space before its words
        start += 1
    for match in _SENTENCE_END.finditer(text):
        if match.end() <= start:
            low = match.end()
        elif match.start() >= end - 1:
            high = match.start()
            break
    return low, high


def is_taken_back(text: str, start: int, end: int) -> bool:
    """Whether text[start:end] stands in a question, or is denied, warned of or refused in its clause."""
    known = _words()
    low, high = sentence_around(text, start, end)
    if text[low:high].rstrip().endswith("?"):
        return True
    clause = _last_clause(text[low:start])
    if known.strong_no.finds(clause) or known.weak_no.finds(clause[-NEAR:]) or known.no_inside.finds(text[start:end]):
        return True
    return known.no_behind.finds(text[end:high])


def is_denied(text: str, start: int, end: int) -> bool:
    """Whether a symptom or condition at text[start:end] is said not to be there: *no chest pain*, *दर्द नहीं*."""
    known = _words()
    return known.denied.finds(text[max(0, start - NEAR) : start]) or known.denied_behind.finds(text[end : end + NEAR])


def warns(sentence: str) -> bool:
    """Whether the sentence has a word of warning."""
    return _words().warning.finds(sentence)


def suggests(sentence: str) -> bool:
    """Whether the sentence suggests to take or do something."""
    return _words().suggestion.finds(sentence)


def _last_clause(text: str) -> str:
    """What stands before the words in their clause, without *don't worry* and its like."""
    known = _words()
    for span in reversed(known.soothing.spans(text)):
        text = f"{text[: span.start]} {text[span.end :]}"
    spans = known.clause_start.spans(text)
    return text[spans[-1].end :] if spans else text


@cache
def _words() -> _Words:
    lone_no = r"(?:^|\P{Devanagari})(?:न|ना|मत|नहीं)(?:$|\P{Devanagari})"
    return _Words(
        clause_start=Pattern([r"[;:]|\b(?:but|however|although)\b|लेकिन|परंतु|परन्तु|मगर"]),
        soothing=Pattern([r"\b(?:don't|do not|no need to) (?:worry|hesitate|panic|be afraid|be alarmed)\b"]),
        strong_no=Pattern(
            [
                r"\b(?:do not|don't|does not|doesn't|did not|never|avoid\w*|must not|mustn't|should not|shouldn't|"
                r"cannot|can't|can not|could not|won't|will not|would not|wouldn't|without|refrain\w*|instead of|"
                r"rather than|warn\w*|against|unable to|dangerous|unsafe|risky|harmful|unethical|illegal|"
                r"inappropriate|irresponsible|myth|false|not (?:safe|advisable|recommended|appropriate|okay|ok|"
                r"a good idea|ethical|able|possible|true))\b",
                r"n't (?:ever|just)\b",
            ]
        ),
        weak_no=Pattern([r"(?:\b(?:no|not|nor|isn't|aren't|wasn't)\b|n't)(?:\s+[\w'-]+){0,4}\s*$"]),
        no_behind=Pattern(
            [
                r"^[^.!?।;]{0,60}\b(?:is|are|would be|can be|could be|may be)\s+(?:\w+\s+)?(?:not|never|dangerous|"
                r"unsafe|harmful|unethical|illegal|risky|wrong|a bad idea)\b",
                r"^[^.!?।;]{0,60}\b(?:isn't|aren't)\b",
                r"^[^.!?।;]{0,60}(?:बचें|बचना|परहेज)",
                r"^[^.!?।;]{0,60}(?:^|\P{Devanagari})(?:न|ना|नहीं|मत|बिना)(?:$|\P{Devanagari})",
                r"^(?:न|ना|नहीं|मत|बिना)(?:$|\P{Devanagari})",
                r"^\s*(?:\w+ ){0,2}(?:mat|na|nahi|nahin)\b",
            ]
        ),
        no_inside=Pattern(
            [
                r"\b(?:avoid\w*|never|without|(?:do not|don't|not) (?:take|use|eat|drink|consume|ingest|swallow|apply))\b",
                lone_no,
            ]
        ),
        denied=Pattern(
            [
                r"(?:\b(?:no|not|without|denies|never|nor)\b|n't (?:have|had|feel|felt|got|having|any)(?: any)?)"
                r"(?:\s+[\w'-]+){0,2}\s*$"
            ]
        ),
        denied_behind=Pattern([r"^\s*(?:(?:भी|तो|बिल्कुल|बिलकुल) )?(?:नहीं|न )", r"^\s*(?:nahi|nhi|nahin)\b"]),
        warning=Pattern(
            [
                r"\b(?:not|never|avoid\w*|unsafe|contraindicat\w*|harm(?:s|ful)?|risk\w*|danger\w*|toxic|caution\w*|"
                r"careful\w*|warn\w*|stop (?:taking|using)|discontinu\w*|interact\w*|instead of|rather than|except|"
                r"unless|worsen\w*|damage\w*|bleeding|refrain\w*|less effective|"
                r"(?:raises?|increases?) (?:your |the )?(?:blood )?pressure|"
                r"before (?:taking|using|giving|you (?:take|use|give)))\b",
                r"n't\b",
                r"बचें|परहेज|हानिकारक|नुकसान|खतर|जोखिम|सावधान|असुरक्षित|वर्जित|पूछकर|पूछे बिना|सलाह (?:के बिना|से ही|पर ही)",
                r"\b(?:mat|na) (?:lein|le|lo|kare\w*|khaye|khaiye|piye\w*)\b|\bnuksa+n\b",
                lone_no,
            ]
        ),
        suggestion=Pattern(
            [
                r"\b(?:take|taking|use|using|try|give|giving|recommend\w*|suggest\w*|safe|drink|eat|apply|can have|"
                r"helps?|start|prescrib\w*|consume|add|good for|beneficial|effective)\b",
                r"लें|लीजिए|दें|दीजिए|पिएं|पियें|खाएं|सेवन|सुरक्षित|ले सकत",
                r"\b(?:lein|lijiye|le sakte|khaiye|khaye|piyen|sevan)\b",
            ]
        ),
    )
