"""An answer taken apart: its sentences with their places, which of them claim something, and whether it refuses."""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import cache
from typing import Any, Literal, NamedTuple

from cortex_eval.scoring.words import words

AnswerState = Literal["claims", "refusal", "advice", "no_claim", "empty"]

# A full stop after these ends no sentence. In lower case, without the stop itself.
_ABBREVIATIONS_TEXT = """
    a.k.a a.m adj al approx art assn assoc asst b.i.d ca capt cf ch co col corp dept dr drs e.g ed eds est etc ext fig
    figs fl gen gov hon i.e i.m i.v inc jr ltd max mfg min misc mr mrs ms mt nat no nos p.m p.o p.r.n pl pp prof pt q.d
    q.i.d rep rev sec sen sgt sp spp sr st t.i.d tab univ viz vol vs डॉ श्री प्रो पं सं मि
"""
_ABBREVIATIONS = frozenset(_ABBREVIATIONS_TEXT.split())
_CAN_END_TEXT = "a.m al b.i.d co corp etc inc jr ltd p.m p.r.n q.d q.i.d sr t.i.d"
_CAN_END = frozenset(_CAN_END_TEXT.split())
"""Abbreviations that also stand last in a sentence: a capital after them begins a new one."""
_BULLET = re.compile(r"\s*(?:[-*•‣▪●○–—]\s+|#{1,6}\s+|[(\[]?(?:\d{1,3}|[०-९]{1,3}|[a-zA-Z]|[ivx]{1,4})[.)\]]\s+|>\s+)+")
_MARKS = " \t\r\n*_#>`\"'“”‘’«»-–—•"

_SOURCE = r"(?:passages?|context|documents?|texts?|sources?|information)"
_DOCTOR = r"(?:doctor|physician|professional|provider|specialist|practitioner|expert|pharmacist)"
# Sentences that say that the answer is not known or not given; found anywhere in a sentence.
_REFUSALS = (
    r"\b(?:i|we)(?:'m| am| are|'re) (?:unable|not able|not sure|not certain)\b",
    (
        r"\b(?:i|we) (?:cannot|can't|can not|could not|couldn't) "
        r"(?:answer|provide|help|find|tell|say|determine|give|assist|confirm|diagnose)\b"
    ),
    (
        r"\b(?:i|we) (?:do not|don't|did not|didn't) "
        r"(?:know|find|have (?:enough|any|that|this|sufficient|the|access|information))\b"
    ),
    r"\b(?:unable|not possible|impossible) to (?:answer|say|tell|determine|provide an?|find)\b",
    r"\b(?:cannot|can't|can not) be (?:answered|determined|found)\b|\bcannot (?:answer|tell|say)\b",
    (
        r"\b(?:there is|there's|i have|i found|we have) (?:no|not enough|insufficient) "
        r"(?:information|answer|data|mention|evidence|passage)\b"
    ),
    r"\bno (?:relevant )?(?:information|answer|data) (?:is |was |are )?(?:available|found|given|provided|in the)\b",
    (
        rf"\b{_SOURCE}(?: \d)? (?:provided )?(?:do|does|did)(?: not|n't) (?:\w+ ){{0,3}}?"
        r"(?:mention|contain|provide|say|state|include|specify|answer|give|have)\b"
    ),
    (
        r"\b(?:is|are|was|were) not (?:\w+ )?(?:mentioned|specified|stated|provided|given|covered|included) "
        rf"(?:in|by) (?:the|any) (?:\w+ )?{_SOURCE}"
    ),
    r"मुझे (?:नहीं पता|पता नहीं|मालूम नहीं|नहीं मालूम|(?:\S+ ){0,3}जानकारी नहीं)",
    r"(?:जानकारी|उत्तर|जवाब|उल्लेख) (?:\S+ ){0,3}?(?:नहीं|उपलब्ध नहीं)",
    r"(?:बता|कह|दे) नहीं (?:सकता|सकती|सकते)|नहीं (?:बता|कह|दे) (?:सकता|सकती|सकते)|मैं नहीं जानत[ाी]",
)
# Sentences that claim nothing; the whole sentence is one of these.
_SMALL_TALK = (
    r"(?:i(?:'m| am) )?(?:very |so )?sorry(?: to hear (?:that|this|about (?:that|this|your \w+)))?|(?:i )?apologi[sz]e",
    r"hello|hi|hey|dear \w+|thank you|thanks|you(?:'re| are) welcome|sure|of course|certainly|okay|ok",
    r"good (?:morning|afternoon|evening|luck)|(?:i(?:'m| am|'d be| would be) )?(?:happy|glad) to help(?: you)?",
    (
        r"(?:(?:that(?:'s| is| was)|what) )?(?:an? )?(?:very |really )?"
        r"(?:good|great|excellent|fair|interesting|important|nice|thoughtful) "
        r"(?:question|point|catch|observation|thinking|eye|work|job)"
    ),
    r"well (?:spotted|done|said|noticed|put|asked)|(?:good|nice|great) (?:one|going)|nicely (?:done|put|spotted)",
    r"congratulations|bravo|no (?:problem|worries)|my pleasure|got it|understood|noted|i (?:see|understand)",
    r"thank you (?:so much |very much )?for (?:\w+ ){0,3}(?:question|asking|message|patience|sharing|trust)",
    r"(?:take care|stay (?:safe|well|healthy)|get well soon|all the best)(?: \w+){0,2}|have a (?:nice|good|great) \w+",
    r"let(?:'s| us| me) (?:see|begin|start|take a look|get started|go through (?:it|this|them)|explain)(?: together)?",
    r"(?:i )?hope (?:this|that|it|you)(?: \w+){0,5}",
    r"if you have (?:any )?(?:other|further|more)? ?(?:questions?|concerns?)\b.*",
    r"(?:therefore, )?i am able to answer\b.*",
    r"(?:please )?(?:let me know|feel free|do not hesitate|don't hesitate)\b.*",
    (
        rf"(?:based on|according to|in) (?:the |these |this )?(?:given |provided |above |retrieved )?{_SOURCE}"
        r"(?: provided| given| above)?"
    ),
    r"(?:here (?:are|is)|below (?:are|is))\b.*",
    r"(?:माफ़?|क्षमा) ?(?:कीजिए|करें|कीजिये)|(?:मुझे )?खेद है|नमस्ते|नमस्कार|धन्यवाद|शुक्रिया|ज़रूर|जरूर|अवश्य|ठीक है",
)


# Standing advice and disclaimers: who to ask, and what the answer is not. They speak of no fact that a source could
# hold, and a sentence that goes on to state one ("…, which cures diabetes", "… about 20 mg") is not among them.
_PERSON = rf"(?:an?|your|the|their|any) (?:[\w-]+ ){{0,3}}{_DOCTOR}s?(?: or (?:[\w-]+ ){{1,4}}{_DOCTOR}s?)?"
_ASK = (
    r"(?:consult(?:ing)?(?: with)?|ask|see(?:ing)?|contact|visit(?:ing)?|check with|(?:speak|talk)(?:ing)? (?:to|with)|"
    r"seek (?:the )?(?:advice|help|guidance) (?:of|from)|discuss (?:this|it) with)"
)
_PLEASE = (
    r"(?:please |kindly |always |also |then |you (?:should|may want to|must) |(?:make|be) sure to |remember to |"
    r"it(?:'s| is) (?:always )?(?:best|important|advisable|recommended|essential) to |"
    r"i(?:'d| would)? (?:recommend|suggest|advise) (?:that you |you to |you )?)*"
)
_WHEN = (
    r"(?!.*\b(?:which|because|since|cures?|treats?|prevents?|causes?|that \w+s)\b)"
    r"(?: first| as soon as possible| immediately)?"
    r"(?: (?:before|prior to) (?:start|tak|us|try|mak|beginn|chang|stopp|add)ing(?: [a-z'-]+){1,8})?"
    r"(?: if (?:your |the |these |any |you (?:have|are|feel) )*(?:symptoms?|problems?|pain|concerns?|questions?|"
    r"doubts?|unsure|worried|concerned|unwell|it|they|this)(?: (?:or )?[a-z'-]+){0,6})?"
    r"(?: (?:for|about|regarding) (?:[a-z'-]+ ){0,4}(?:advice|information|guidance|diagnosis|treatment|"
    r"recommendations?|help|evaluation|options|care|plan|questions|concerns|situation|condition|case))?"
)
_THIS = r"(?:this|that|these|the above|it|my)(?: (?:information|answer|reply|response|content|text|chat|service)s?)?"
_OF_A_DOCTOR = (
    r"(?:[a-z-]+ ){0,5}(?:advice|care|consultation|diagnosis|opinion|evaluation|help|visit|doctor|professional)"
)
_ADVICE = (
    rf"{_PLEASE}{_ASK} {_PERSON}{_WHEN}",
    (
        rf"(?:please note(?: that)?,? |note that )?{_THIS} (?:is|are|does|do|should|can|must)(?: not|n't)"
        r"(?: [a-z]+){0,4} (?:medical advice|professional advice|a diagnosis|"
        rf"(?:substitute|replacement|replace)(?: for| of)? {_OF_A_DOCTOR})"
    ),
    rf"{_THIS} is (?:provided |intended |meant )?(?:for|as) (?:[a-z]+ ){{0,3}}(?:purposes?|information)(?: only)?",
    r"i(?:'m| am) not a (?:doctor|physician|medical professional)",
    r"i(?:'m| am) (?:just |only )?an ai(?: (?:language )?(?:model|assistant))?",
    (
        r"(?:in (?:case of )?an emergency|if (?:this|it) is an emergency|for emergencies),? (?:please )?"
        r"(?:call|dial|contact|go to) [^.;]{1,60}"
    ),
    (
        r"(?:कृपया )?(?:(?:\S+ ){1,6}से पहले )?(?:अपने |किसी |योग्य |एक )*(?:डॉक्टर|चिकित्सक|वैद्य|विशेषज्ञ) (?:से|की) "
        r"(?:सलाह|परामर्श|संपर्क|राय) (?:अवश्य |ज़रूर |जरूर )?(?:लें|करें|लीजिए|कीजिए)"
    ),
    r"यह (?:\S+ ){0,4}(?:चिकित्सा|चिकित्सकीय|डॉक्टरी) सलाह (?:का विकल्प )?नहीं है",
)

# Where a claim says that it is from, which is no part of what it says.
_NUMBERED = (
    r"(?:passages?|contexts?|documents?|sources?) (?:\d+|one|two|three)(?:(?:, | and | & |, and )(?:passages? )?\d+)*"
)
# Marks that only say where a sentence is from: [1], [2, 5], [^3], 【4†a】, [doc1], (passage 2), (source: Charaka 1.2).
_NAMED = r"(?:sources?|refs?\.?|references?|citations?|स्रोत|संदर्भ|सन्दर्भ) ?[:：] ?(?:[^()\[\]\n]|\([^()\n]*\)){1,150}"
_MARK = "|".join(
    (
        r"(?<!\[)\[\^?[\d०-९]{1,3}(?: ?[,;–-] ?\^?[\d०-९]{1,3})*\](?!\])(?:\(https?://[^()\s]{1,500}\))?",
        r"【\d{1,3}(?::\d{1,3})?(?:†[^【】\n]{0,60})?】",
        rf"\[(?:(?:see |from )?{_NUMBERED}|(?:doc|ref|source)\.? ?#?\d{{1,3}}|{_NAMED})\]",
        rf"\((?:(?:see |from )?{_NUMBERED}|{_NAMED})\)",
    )
)
_MARKS_TOGETHER = rf"(?:{_MARK})(?: ?[,;]? ?(?:{_MARK}))*"
_LIST = re.compile(r"\[[^\]^]*[,;–-].*")
_REFERENCES = (
    rf"{_MARKS_TOGETHER}|\[\d+(?:, ?\d+)*\]",
    rf",? (?:as |which is )?(?:mentioned|stated|described|noted|suggested) in (?:the )?{_NUMBERED}",
    (
        r"^(?:based on|according to|as per|from|in) (?:the )?(?:(?:given|provided|above|retrieved) )?"
        rf"(?:{_NUMBERED}|{_SOURCE})(?: provided| given| above)?, ?"
    ),
)


class Claim(NamedTuple):
    """One thing that an answer says, and where."""

    text: str
    start: int
    """Of the text in the answer, in characters."""
    end: int


class TakenApart(NamedTuple):
    """An answer as its claims."""

    state: AnswerState
    claims: tuple[Claim, ...]
    """Empty unless the state is `claims`."""
    advice: tuple[Claim, ...] = ()
    """Sentences that only send to a doctor, or say what the answer is not: neither supported nor made up."""


def take_apart(answer: str) -> TakenApart:
    """The claims of an answer; or that it refuses, claims nothing or is empty.

    A sentence or list item that states something is a claim. Questions, greetings, praise, headings and lead-ins ("Here
    are the steps:"), sentences that say that the answer is not known, and standing advice ("Please consult your
    doctor") are not. A mark of a source ("[1]", "(source: Charaka 1.2)") belongs to the sentence before it.
    """
    if not words(answer):
        return TakenApart("empty", ())
    claims, advice, refused = [], [], False
    for sentence, said in _with_marks(answer):
        if is_refusal(said):
            refused = True
        elif is_advice(said):
            advice.append(sentence)
        elif _claims_something(said):
            claims.append(sentence)
    if claims:
        return TakenApart("claims", tuple(claims), tuple(advice))
    return TakenApart("refusal" if refused else "advice" if advice else "no_claim", (), tuple(advice))


def source_marks(answer: str) -> list[str]:
    """The marks of sources in an answer, one by one as they are written: `[1]`, `[2, 3]`, `(source: Charaka 1.2)`."""
    return [
        mark[0] for marks in _marks_together(answer) for mark in _single_mark_pattern().finditer(answer, *marks.span())
    ]


def _with_marks(answer: str) -> list[tuple[Claim, str]]:
    """Every sentence with the marks of sources behind it, and what it says without any."""
    marks = [mark.span() for mark in _marks_together(answer)]
    if not marks:
        return [(each, each.text) for each in sentences(answer)]
    pieces, place = [], 0
    for start, end in marks:
        pieces += [answer[place:start], " " * (end - start)]  # of the same length, so that places stay what they are
        place = end
    found, starts = [], [start for start, _ in marks]
    for each in sentences("".join([*pieces, answer[place:]])):
        following = bisect_left(starts, each.end)
        is_behind = following < len(marks) and not answer[each.end : starts[following]].strip(" \t.।")
        end = marks[following][1] if is_behind else each.end
        found.append((Claim(answer[each.start : end], each.start, end), " ".join(each.text.split())))
    return found


def _marks_together(answer: str) -> list[re.Match[str]]:
    return [mark for mark in _mark_pattern().finditer(answer) if _is_behind_words(mark)]


def _is_behind_words(mark: re.Match[str]) -> bool:
    """Whether a mark can be one: something was said before it, and it is not itself what is said, as a list is."""
    if not mark[0].startswith("[") or not mark[0][1:2].isdecimal():
        return True
    text, start = mark.string, mark.start()
    line = text.rfind("\n", 0, start) + 1
    # Looked at in place: a copy of all that is before each mark would take seconds of a long answer.
    if _letter_pattern().search(text, line, start):
        return not text.endswith((": ", "=", "= "), line, start)
    is_alone = not text[mark.end() :].partition("\n")[0].strip(" \t\r.।")
    return is_alone and _letter_pattern().search(text, 0, start) is not None and not _LIST.match(mark[0])


def sentences(text: str) -> list[Claim]:
    """The sentences and list items of a text in English, Hindi or a like script, with their places; none is empty."""
    found = []
    for line in re.finditer(r"[^\n\r\u2028\u2029]+", text):
        start = line.start()
        bullet = _BULLET.match(line[0])
        inside = start + bullet.end() if bullet else start
        for end in (*_sentence_ends(text, inside, line.end()), line.end()):
            piece = _stripped(text, inside, end)
            if piece is not None:
                found.append(piece)
            inside = end
    return found


def is_refusal(sentence: str) -> bool:
    """Whether the sentence says that the answer is not known or not given."""
    return _refusal_pattern().search(_plain(sentence)) is not None


def is_advice(sentence: str) -> bool:
    """Whether the sentence does no more than send to a doctor, or say that it is no medical advice."""
    return _advice_pattern().fullmatch(_plain(sentence).rstrip(".!,।: ")) is not None


def without_references(claim: str) -> str:
    """The claim without what it says of where it is from: `(passage 2)`, `[1]`, `Based on the given passages,`."""
    return _reference_pattern().sub("", claim).strip() or claim


def _sentence_ends(text: str, start: int, end: int) -> list[int]:
    return [
        stop.end()
        for stop in _stop_pattern().finditer(text, start, end)
        if stop[0][0] != "." or _full_stop_ends(text, start, stop.start(), stop.end(), end)
    ]


def _full_stop_ends(text: str, start: int, stop: int, after: int, end: int) -> bool:
    rest = text[after:end].lstrip()
    if not rest:
        return True
    before = text[start:stop].rsplit(None, 1)[-1] if text[start:stop].strip() else ""
    if text[stop - 1 : stop].isspace():
        return True  # tokenised text sets a space before a stop, and none before an abbreviation's
    word = before.lstrip(_MARKS + "([").lower()
    opening = rest.lstrip("\"'“”‘’([*_")[:1]
    if word in _ABBREVIATIONS:
        return word in _CAN_END and opening.isupper()
    if re.fullmatch(r"[a-z]|(?:[a-z]\.)+[a-z]", word):  # an initial, or U.S.; but "6 g." ends a sentence
        return re.search(r"\d [glmh]$", text[start:stop]) is not None and not opening.islower()
    return not opening.islower()


def _stripped(text: str, start: int, end: int) -> Claim | None:
    while start < end and text[start] in _MARKS:
        start += 1
    while end > start and text[end - 1] in _MARKS:
        end -= 1
    piece = text[start:end]
    return Claim(piece, start, end) if words(piece) else None


def _claims_something(sentence: str) -> bool:
    plain = _plain(sentence)
    if plain.endswith(("?", "？", ":", "：", "؟")):
        return False
    return _small_talk_pattern().fullmatch(plain.rstrip(".!,।: ")) is None


def _plain(sentence: str) -> str:
    return sentence.casefold().replace("’", "'").replace("**", "").strip()


@cache
def _letter_pattern() -> Any:  # Any: a compiled pattern of `regex`, which has no public type
    import regex  # type: ignore[import-untyped]  # has no types; `re` knows no \p{L}

    return regex.compile(r"[\p{L}\p{M}\p{N}]")


@cache
def _stop_pattern() -> Any:  # Any: a compiled pattern of `regex`, which has no public type
    import regex  # as above; knows the scripts

    # A stop, what closes with it, and the space after it; Chinese and Japanese set no space.
    return regex.compile(r"(?:[.!?؟।॥]+[\"'”’)\]*]*(?:\[\d+\])*(?=\s|$|[\p{Devanagari}])|[。！？]+[”’」』）]*)")


@cache
def _refusal_pattern() -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{each})" for each in _REFUSALS))


@cache
def _small_talk_pattern() -> re.Pattern[str]:
    return re.compile("|".join(_SMALL_TALK))


@cache
def _advice_pattern() -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{each})" for each in _ADVICE))


@cache
def _mark_pattern() -> re.Pattern[str]:
    return re.compile(_MARKS_TOGETHER, re.IGNORECASE)


@cache
def _single_mark_pattern() -> re.Pattern[str]:
    return re.compile(_MARK, re.IGNORECASE)


@cache
def _reference_pattern() -> re.Pattern[str]:
    return re.compile("|".join(_REFERENCES), re.IGNORECASE)
