"""Why a reply is not good enough, as far as case, reply and evidence tell it: rules in a fixed order, no model."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal
from unicodedata import category

from cortex_eval.analysis.patterns_expected import BY_REFERENCE, by_words
from cortex_eval.analysis.patterns_read import LONGEST_READ, QUOTED, Cause, Read, plain, quote

WORDING = frozenset({"accuracy", "bleu", "chrf", "contains", "edit", "exact", "f1", "rouge", "rouge1", "rouge2", "ter"})
"""Kinds of scorers that hold the words of a reply against those of the expected answers."""
MEANING = frozenset(
    {"completeness", "judge", "relevance", "relevance_judge", "rubric", "similarity", "summary", "translation"}
)
"""Kinds that ask whether a reply says what it should."""
_BY_WORDS: Mapping[str, tuple[str, ...]] = {
    "judge": ("other_answer",),
    "relevance": ("other_answer", "partial_answer"),
    "relevance_judge": ("other_answer",),
    "similarity": ("other_answer", "partial_answer"),
    "translation": ("other_answer",),
}
"""Those of them that may fail for how much of the expected answer is in the reply, and for which of its causes."""
GROUNDED = frozenset({"faithfulness", "faithfulness_judge", "hallucination_rate"})
"""Kinds that look the claims of a reply up in its passages."""
_SPECIAL_TEXT = """
    clarification classification coherence confidence context_retention entities intent interpretability json_limit
    json_schema language pairwise performance readability recovery safety speech tool
"""
SPECIAL = frozenset(_SPECIAL_TEXT.split())
"""Kinds of which the text of a reply tells less than they say themselves. Any other is `regex`, or somebody's own."""
_NEED_TEXT = frozenset(
    {"clarification", "coherence", "interpretability", "json_limit", "json_schema", "language", "readability"}
)
"""Those of them that fail a reply for having no text at all."""

REPLY_TYPES = (
    "empty_reply",
    "cut_off",
    "refusal",
    "canned_reply",
    "repeats_question",
    "wrong_number",
    "opposite_answer",
    "too_short",
    "too_long",
    "missing_text",
    "other_wording",
    "other_answer",
    "partial_answer",
    "unsupported_number",
    "unsupported_claim",
)
"""Types of patterns that are found here; beside them `wrong_language`."""

_CUT = ("length", "max_output_tokens", "max_tokens", "model_context_window_exceeded", "model_length")
_WITHHELD = ("content_filter", "content_filtered", "guardrail_intervened", "prohibited_content", "refusal", "safety")
_MAIN = 0.6
"""The share of its words from which a text is in a script, and not mixed."""
_FEWEST_SAID = 3
"""Words from which a reply is in a language, and no name."""
_NAME_WORDS = 3
"""An expected text of so few words is something to be named, and no sentence."""
_NAMES_SHOWN = 3
_LONGEST_REFUSAL = 500
"""In characters: what is longer says something."""
_LEAD_IN = 12
"""In characters: *You asked:* may stand before a question that is repeated."""
_TAG = re.compile("<[^<>]*>")
_CLAIM_QUOTED = 120
_NUMBER = re.compile(r"the number (.+) is not in the passages")
JSON = Mapping[str, Any]  # Any: JSON


def cause_of(read: Read, kind: str, score: JSON) -> Cause | None:
    """Why the reply fails a scorer of this kind: the first rule that holds; None: nothing that can be seen."""
    evidence = score.get("evidence")
    evidence = evidence if isinstance(evidence, Mapping) else {}
    if kind in SPECIAL:
        return read.first(_NO_TEXT) if kind in _NEED_TEXT else None
    if kind in GROUNDED:
        return _unsupported(evidence)
    general = read.first(_GENERAL)
    is_own = kind not in WORDING | MEANING
    if is_own and score.get("reason"):  # it says itself what it looks for, which may be a refusal
        return general if general is not None and general.type in ("empty_reply", "cut_off") else None
    if general is not None:
        return general
    missing = _missing(evidence) if kind == "contains" else []
    if missing and not set(missing) <= set(read.references):  # texts of the project file
        return Cause("missing_text", details=tuple(f"“{quote(each)}”" for each in missing))
    if is_own or not read.references or evidence.get("items") or evidence.get("criteria"):
        return None  # nobody knows what it looks for, or a list says what is missing
    by_reference = read.first(BY_REFERENCE)
    if by_reference is not None and (by_reference.type != "too_long" or kind in WORDING - {"contains"}):
        return by_reference
    if read.is_long:
        return None
    words = by_words(read)
    if missing and not read.is_compared and words.type != "other_wording" and all(map(_is_name, missing)):
        return Cause("missing_text", details=(" or ".join(f"“{quote(each)}”" for each in missing[:_NAMES_SHOWN]),))
    return words if kind in WORDING or words.type in _BY_WORDS.get(kind, ()) else None


def is_empty(read: Read) -> bool:
    """Whether the reply says nothing: then all that is wrong with it has this one cause."""
    return read.first(_NO_TEXT) is not None


def _empty(read: Read) -> Cause | None:
    reply = read.reply
    if reply.tool or reply.tool_calls or reply.intent or reply.label or reply.attachments:
        return None  # it says something, if not in words
    if not _is_wordless(reply.text):
        return None
    if reply.text.strip() and any(map(_is_wordless, read.references)):
        return None  # a sign is expected, and one came
    return Cause("empty_reply")


def _is_wordless(text: str) -> bool:
    """Whether there is no letter, digit or picture in it, but for tags."""
    if text.lstrip().startswith(("<", "&")):
        from html import unescape  # 2 ms, and seldom needed

        text = unescape(_TAG.sub("", text[:LONGEST_READ]))
    return not any(char.isalnum() or category(char) == "So" for char in text)  # 👍 says something


def _cut_off(read: Read) -> Cause | None:
    reason = (read.reply.finish_reason or "").casefold()
    return Cause("cut_off", details=(f"finish_reason {reason}",)) if reason in _CUT else None


def _refuses(read: Read) -> Cause | None:
    if (read.reply.finish_reason or "").casefold() in _WITHHELD:
        return Cause("refusal", details=(f"finish_reason {read.reply.finish_reason}",))
    how = _turned_down(read.reply.text)
    if not how or any(_turned_down(each) == "refusal" for each in read.references):
        return None
    if any(plain(each) in plain(read.reply.text) for each in read.references):
        return None
    if how == "elsewhere" and any(_turned_down(each) or _elsewhere().search(each) for each in read.references):
        return None  # that is where the user should be sent
    return Cause("refusal", details=(f"“{quote(read.reply.text)}”",))


def _turned_down(text: str) -> Literal["", "refusal", "elsewhere"]:
    """Whether nothing but refusals, standing advice and directions to somebody else is said; empty: more is."""
    from cortex_eval.scoring import take_apart

    if len(text) > _LONGEST_REFUSAL:
        return ""
    apart = take_apart(text)
    if apart.state == "claims":
        return "elsewhere" if all(_elsewhere().search(claim.text) for claim in apart.claims) else ""
    return "refusal" if apart.state == "refusal" else "elsewhere" if apart.state == "advice" else ""


@cache
def _elsewhere() -> re.Pattern[str]:
    """Sentences that send the user to somebody else, or back, or say that nothing was found."""
    return re.compile(
        r"\b(?:i|we) (?:can|may) only (?:help|answer|assist|talk|speak)\b|"
        r"\b(?:contact|call|e-?mail|reach(?: out to)?|ask|visit|speak (?:to|with)|talk to|write to|get in touch with) "
        r"(?:\w+ ){0,4}(?:support|service|care|team|help ?desk|help ?line|agent|representative|office|branch|website|"
        r"administrator|provider)\b|"
        r"\b(?:is|are|was|were) not (?:\w+ly )?(?:found|given|included|mentioned|provided|specified|stated) "
        r"(?:in|by) the (?:\w+ ){0,2}(?:article|content|context|documents?|information|passages?|sources?|text)\b|"
        r"(?:सहायता|सपोर्ट|कस्टमर|ग्राहक|हेल्पलाइन)(?: \S+){0,3} (?:से|पर) (?:\S+ ){0,2}?(?:संपर्क|सम्पर्क|बात|कॉल)",
        re.IGNORECASE,
    )


def _other_language(read: Read) -> Cause | None:
    """Another script than any expected answer, or the question, is in; two languages of one script need a model."""
    from cortex_eval.scoring import count_scripts, detect_language

    expected, said = read.references or (read.asked,), read.reply.text[:LONGEST_READ]
    if said.isascii() and any(each.isascii() for each in expected):
        return None
    theirs, ours = count_scripts(said), [count_scripts(each[:LONGEST_READ]) for each in expected]
    if theirs.total() < _FEWEST_SAID or not all(_is_other_script(each, theirs) for each in ours):
        return None
    asked = count_scripts(read.asked[:LONGEST_READ])
    is_of_question = not _is_other_script(ours[0], asked)
    if not is_of_question and ours[0].total() <= _NAME_WORDS and not _is_other_script(asked, theirs):
        return None  # a name in letters of its own, and the language of the question
    one = detect_language((f"{read.asked} {expected[0]}" if is_of_question else expected[0])[:LONGEST_READ])
    other = detect_language(said)
    assert one is not None, "it has letters"
    assert other is not None, "it has letters"
    wanted, found = one.language or f"{one.script} letters", other.language or f"{other.script} letters"
    if wanted == found:
        wanted, found = (f"{wanted} in {each.script} letters" for each in (one, other))
    return Cause("wrong_language", (wanted, found), (f"{wanted} → {found}",))


def _is_other_script(ours: Counter[str], theirs: Counter[str]) -> bool:
    """Whether nearly nothing is in the script that our text is in; False where that is mixed."""
    if not ours:
        return False
    ((script, count),) = ours.most_common(1)
    is_mixed = count < _MAIN * ours.total() or theirs[script] > (1 - _MAIN) * theirs.total()
    return not is_mixed and not {script, *theirs} <= {"Han", "Kana"}


def _canned(read: Read) -> Cause | None:
    return Cause("canned_reply", details=(f"“{quote(read.reply.text)}”",)) if read.is_canned else None


def _repeats_question(read: Read) -> Cause | None:
    said, asked = plain(read.reply.text), plain(read.asked)
    if asked.count(" ") < 2 or asked not in said or len(said) > 1.2 * len(asked) + _LEAD_IN:
        return None
    if any(plain(each) == asked for each in read.references) or _adds_an_answer(read, said.replace(asked, " ", 1)):
        return None
    return Cause("repeats_question", details=(f"“{quote(read.reply.text)}”",))


def _adds_an_answer(read: Read, rest: str) -> bool:
    """Whether what is said beside the question has a number, or a word of an expected answer."""
    from cortex_eval.scoring import content_words, stems

    wanted = {stem for each in read.references for word in content_words(each) for stem in stems(word)}
    return any(char.isdigit() for char in rest) or not wanted.isdisjoint(stems(rest))


def _missing(evidence: JSON) -> list[str]:
    """What `contains` looked for and did not find."""
    missing = evidence.get("missing")
    return [str(each) for each in missing if str(each).strip()] if isinstance(missing, list) else []


def _is_name(text: str) -> bool:
    """Whether so short a text is something to be named, and no sentence."""
    return len(text.split()) <= _NAME_WORDS and len(text) <= (QUOTED if text.isascii() else QUOTED // 4)


def _unsupported(evidence: JSON) -> Cause | None:
    """The first claim that is in no passage, and a number in it that is not."""
    claims = [each for each in evidence.get("claims") or () if isinstance(each, Mapping)]
    wrong = [each for each in claims if each.get("label") == "hallucinated"]
    if not wrong and claims and all(isinstance(each.get("support"), int | float) for each in claims):
        wrong = [min(claims, key=lambda each: float(each["support"]))]
    for claim in wrong:
        for conflict in claim.get("conflicts") or ():
            if number := _NUMBER.search(str(conflict)):
                return Cause("unsupported_number", details=(f"{number[1]} in {_claim(claim)}",))
    if not wrong:
        return None
    conflicts = wrong[0].get("conflicts") or ()
    return Cause("unsupported_claim", details=(_claim(wrong[0]) + (f" ({conflicts[0]})" if conflicts else ""),))


def _claim(claim: JSON) -> str:
    return f"“{quote(str(claim.get('claim', '')), _CLAIM_QUOTED)}”"


_NO_TEXT: tuple[Callable[[Read], Cause | None], ...] = (_empty,)
_GENERAL: tuple[Callable[[Read], Cause | None], ...] = (
    _empty,
    _cut_off,
    _refuses,
    _other_language,
    _canned,
    _repeats_question,
)
