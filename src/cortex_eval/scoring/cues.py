"""Turns of phrase in conversations, in English and Hindi: asking back, failing, correcting."""

from __future__ import annotations

import re
import unicodedata


def _phrases(pattern: str) -> re.Pattern[str]:
    return re.compile(unicodedata.normalize("NFC", pattern))  # Hindi has two codes for one letter, as in गड़बड़


_SENTENCE = re.compile(r"[^.!?।？！؟\n]+[.!?।？！؟]*")
_QUESTION_MARKS = ("?", "？", "؟")
_COURTESY = _phrases(
    r"\b(?:anything else|any(?: other| more)? questions|how (?:can|may|could) i (?:help|assist)|"
    r"(?:can|may) i (?:help|assist)|(?:does|did) (?:that|this) (?:help|make sense|answer)|"
    r"(?:like|want) to (?:know|learn|hear) more|how are you|is that (?:clear|okay|ok))\b|"
    r"और (?:कुछ|कोई)|(?:कैसे|क्या) (?:मैं )?(?:आपकी )?मदद"
)
"""Questions that close a reply politely and ask for nothing that the answer would need."""
_ASKS_THE_USER = _phrases(
    r"\b(?:you|your|yours|which|what (?:kind|type|sort)|should i|shall i|do i|or|who|when|where|"
    r"how (?:many|much|long|old))\b"
)
"""*What is diabetes?* as a heading asks nobody."""
_REQUEST = _phrases(
    r"\b(?:please|kindly|can you|could you|would you)(?: \w+)? (?:specify|clarify|tell me|provide|choose|select|"
    r"indicate|be more specific|let me know|elaborate|describe)\b|\blet me know (?:which|what|whether|if|how|where)\b|"
    r"\b(?:i(?:'ll| will)? (?:would )?need|i(?:'d| would) need|need) (?:a (?:bit|little) )?(?:more|some more|further|"
    r"additional) (?:information|details?|context|specifics)\b|\bi(?:'m| am) not sure (?:what|which|whether) you\b|"
    r"\bdid you mean\b|(?:कृपया|मुझे) (?:\S+ ){0,4}(?:बताएं|बताएँ|बताइए|बताइये|स्पष्ट|चुनें)|स्पष्ट करें|"
    r"और जानकारी (?:दें|चाहिए)|क्या आपका मतलब"
)
_FAILURE = _phrases(
    r"\b(?:i|we) (?:do not|don't|did not|didn't|cannot|can't|could not|couldn't|can not|am unable to|was unable to) "
    r"(?:\w+ )?(?:understand|get that|find|help|process|do that|answer|complete|recogni[sz]e|catch that)\b|"
    r"\bi(?:'m| am) (?:not able|unable) to\b|\bsomething went wrong\b|\berror (?:has )?occurred\b|"
    r"^\s*(?:error|exception|traceback)\b|\bfailed to\b|\b(?:please )?(?:try again|rephrase)\b|\bi give up\b|"
    r"समझ (?:नहीं|में नहीं)|नहीं समझ|त्रुटि|गड़बड़ी?|दोबारा (?:कोशिश|पूछ)|फिर से (?:कोशिश|पूछ)"
)
_CORRECTION = _phrases(
    r"^\s*(?:no|nope|wrong|incorrect|not that)\b(?!\s+(?:thanks|thank|problem|worries|more|need|rush))|"
    r"\b(?:i meant|i mean|i said|i asked|i wanted|not what i|that(?:'s| is|s) (?:not|wrong|incorrect)|"
    r"you (?:misunderstood|got (?:it|that) wrong|are wrong)|correction|instead|try again|"
    r"(?:did not|didn't|does not|doesn't|is not|isn't|still not) (?:work|working|right|correct|what i)|"
    r"(?:it|job|run|this|that|which|step|download|workflow|pipeline) (?:has |just |still )?"
    r"(?:failed|fails|crashed|crashes)|"
    r"(?:got|get|getting|gives?|gave|throws?|shows?) (?:me )?(?:an? |the )?(?:\w+ )?error)\b|"
    r"मेरा मतलब|^\s*(?:नहीं|ग़लत|गलत)|(?:यह|ये|वह) (?:ग़लत|गलत)|काम नहीं|फिर से कोशिश"
)


def folded(text: str) -> str:
    """The text as the phrases here are written: lower case, straight quotes."""
    text = unicodedata.normalize("NFC", text).translate({0x2019: "'", 0x2018: "'", 0xA0: " "})
    return text.lower()


def clarifying_words(text: str) -> str:
    """The sentence in which a reply asks back for what it needs to know; empty when it does not."""
    for sentence in _SENTENCE.findall(folded(text)):
        if _COURTESY.search(sentence):
            continue
        is_question = sentence.rstrip("!").endswith(_QUESTION_MARKS)
        if _REQUEST.search(sentence) or (is_question and (_ASKS_THE_USER.search(sentence) or not sentence.isascii())):
            return " ".join(sentence.split())
    return ""


def failure_words(text: str) -> str:
    """The words in which a reply admits that it could not; empty when it does not."""
    found = _FAILURE.search(folded(text))
    return found[0].strip() if found else ""


def correction_words(text: str) -> str:
    """The words with which a user corrects, or reports that something failed; empty when there are none."""
    found = _CORRECTION.search(folded(text))
    return found[0].strip() if found else ""
