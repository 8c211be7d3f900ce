"""Why a reply is not good enough, as far as case, reply and evidence tell it: rules in a fixed order, no model."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache, cached_property
from typing import Any, NamedTuple

from cortex_eval.core import Reply, Result, Turn

WORDING = frozenset({"accuracy", "bleu", "chrf", "contains", "edit", "exact", "f1", "rouge", "rouge1", "rouge2", "ter"})
"""Kinds of scorers that hold the words of a reply against those of the expected answers."""
MEANING = frozenset({"completeness", "judge", "relevance", "relevance_judge", "rubric", "summary", "translation"})
"""Kinds that ask whether a reply says what it should."""
_BY_WORDS: Mapping[str, tuple[str, ...]] = {
    "judge": ("other_answer",),
    "relevance": ("other_answer", "partial_answer"),
    "relevance_judge": ("other_answer",),
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

REPLY_TYPES = (
    "empty_reply",
    "cut_off",
    "refusal",
    "canned_reply",
    "repeats_question",
    "wrong_number",
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

_CUT = ("length", "max_tokens")
_WITHHELD = ("content_filter", "refusal", "safety")
_SHORT, _LONG = 1 / 3, 3
_FEWEST_WORDS = 6
"""Of an expected answer, or of a reply, from which its length tells something."""
_MOST, _HARDLY_ANY = 0.75, 0.15
"""Shares of the words of an expected answer."""
_MAIN = 0.6
"""The share of its words from which a text is in a script, and not mixed."""
_NAME_WORDS = 3
"""An expected text of so few words is something to be named, and no sentence."""
_NAMES_SHOWN = 3
_LONGEST_REFUSAL = 500
"""In characters: what is longer says something."""
_LONGEST_READ = 10_000
"""In characters: what is longer is not read word for word."""
_QUOTED = 60
_CLAIM_QUOTED = 120
_WORDS_COUNTED = 40
"""Missing words of one reply that are counted."""
_NUMBER = re.compile(r"the number (.+) is not in the passages")
JSON = Mapping[str, Any]  # Any: JSON


class Cause(NamedTuple):
    """What is wrong with a reply."""

    type: str
    part: tuple[str, ...] = ()
    """What tells two faults of this type apart, such as the languages."""
    details: tuple[str, ...] = ()
    """Examples, as they are shown: numbers stay in them."""


class Read:
    """A failed result, read as far as its scorers' causes need it."""

    def __init__(self, row: Result, *, is_canned: bool = False) -> None:
        self._row = row
        self.is_canned = is_canned
        """The same reply went to a question with another answer."""

    @cached_property
    def reply(self) -> Reply:
        """What the target said."""
        return self._row.reply or Reply()

    @cached_property
    def _turn(self) -> Turn:
        if self._row.case_json is None:
            return Turn(text="")
        turns = self._row.case.turns
        return turns[min(self._row.turn, len(turns) - 1)]

    @property
    def asked(self) -> str:
        """The question."""
        return self._turn.text

    @cached_property
    def references(self) -> tuple[str, ...]:
        """The expected answers."""
        return tuple(each for each in self._turn.expected.references if each.strip())

    @cached_property
    def is_long(self) -> bool:
        """Whether there is too much of it to be read word for word."""
        return max(map(len, (self.reply.text, self.asked, *self.references))) > _LONGEST_READ

    @cached_property
    def general(self) -> Cause | None:
        """What is wrong whichever scorer says so; None: nothing that can be seen."""
        return next((cause for rule in _GENERAL if (cause := rule(self)) is not None), None)

    @cached_property
    def by_reference(self) -> Cause | None:
        """What is wrong beside an expected answer, in numbers and length; None: nothing that can be seen."""
        return next((cause for rule in _BY_REFERENCE if (cause := rule(self)) is not None), None)

    @cached_property
    def numbers(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Numbers of an expected answer that the reply lacks, and others that it has; the nearest answer counts."""
        from cortex_eval.scoring import missing_quantities, numbers_of

        if self.is_long or any(not missing_quantities(each, {}) for each in self.references):
            return (), ()  # most have no number, which is soon seen
        said = numbers_of([self.reply.text])
        lacking = min((missing_quantities(each, said) for each in self.references), key=len)
        if not lacking:
            return (), ()
        known = numbers_of([*self.references, self.asked])
        return tuple(lacking), tuple(missing_quantities(self.reply.text, known))

    @cached_property
    def nearest(self) -> tuple[str, frozenset[str], frozenset[str]]:
        """The expected answer with most of its words in the reply, its words, and those of them that are missing."""
        from cortex_eval.scoring import content_words

        found, best = content_words(self.reply.text), None
        for reference in self.references:
            wanted = frozenset(content_words(reference))
            tried = (reference, wanted, wanted - found)
            if wanted and (best is None or len(tried[2]) * len(best[1]) < len(best[2]) * len(wanted)):
                best = tried
        return best or (self.references[0], frozenset(), frozenset())


def cause_of(read: Read, kind: str, score: JSON) -> Cause | None:
    """Why the reply fails a scorer of this kind: the first rule that holds; None: nothing that can be seen."""
    evidence = score.get("evidence")
    evidence = evidence if isinstance(evidence, Mapping) else {}
    if kind in SPECIAL:
        return None
    if kind in GROUNDED:
        return _unsupported(evidence)
    general = read.general
    is_own = kind not in WORDING | MEANING
    if is_own and score.get("reason"):  # it says itself what it looks for, which may be a refusal
        return general if general is not None and general.type in ("empty_reply", "cut_off") else None
    if general is not None:
        return general
    missing = _missing(evidence) if kind == "contains" else []
    if missing and not set(missing) <= set(read.references):  # texts of the project file
        return Cause("missing_text", details=tuple(f"“{_quote(each)}”" for each in missing))
    if not read.references:
        return None
    by_reference = read.by_reference
    if by_reference is not None and (by_reference.type != "too_long" or kind in WORDING - {"contains"}):
        return by_reference
    if read.is_long:
        return None
    by_words = _by_words(read)
    if missing and by_words.type != "other_wording" and all(each.count(" ") < _NAME_WORDS for each in missing):
        return Cause("missing_text", details=(" or ".join(f"“{each}”" for each in missing[:_NAMES_SHOWN]),))
    return by_words if kind in WORDING or by_words.type in _BY_WORDS.get(kind, ()) else None


def _empty(read: Read) -> Cause | None:
    reply = read.reply
    if reply.tool or reply.tool_calls or reply.intent or reply.label or reply.attachments:
        return None  # it says something, if not in words
    if any(char.isalnum() for char in reply.text):
        return None
    return Cause("empty_reply")


def _cut_off(read: Read) -> Cause | None:
    reason = (read.reply.finish_reason or "").casefold()
    return Cause("cut_off", details=(f"finish_reason {reason}",)) if reason in _CUT else None


def _refuses(read: Read) -> Cause | None:
    if (read.reply.finish_reason or "").casefold() in _WITHHELD:
        return Cause("refusal", details=(f"finish_reason {read.reply.finish_reason}",))
    if not _is_refusal(read.reply.text) or any(_is_refusal(each) for each in read.references):
        return None
    return Cause("refusal", details=(f"“{_quote(read.reply.text)}”",))


def _is_refusal(text: str) -> bool:
    """Whether nothing but refusals, standing advice and directions to somebody else is said."""
    from cortex_eval.scoring import take_apart

    if len(text) > _LONGEST_REFUSAL:
        return False
    apart = take_apart(text)
    if apart.state == "claims":
        return all(_elsewhere().search(claim.text) for claim in apart.claims)
    return apart.state in ("refusal", "advice")


@cache
def _elsewhere() -> re.Pattern[str]:
    """Sentences that send the user to somebody else, or back."""
    return re.compile(
        r"\b(?:i|we) (?:can|may) only (?:help|answer|assist|talk|speak)\b|"
        r"\b(?:contact|call|e-?mail|reach(?: out to)?|ask|visit|speak (?:to|with)|talk to|write to|get in touch with) "
        r"(?:\w+ ){0,4}(?:support|service|care|team|help ?desk|help ?line|agent|representative|office|branch|website|"
        r"administrator|provider)\b|"
        r"(?:सहायता|सपोर्ट|कस्टमर|ग्राहक|हेल्पलाइन)(?: \S+){0,3} (?:से|पर) (?:\S+ ){0,2}?(?:संपर्क|सम्पर्क|बात|कॉल)",
        re.IGNORECASE,
    )


def _other_language(read: Read) -> Cause | None:
    """Another script than that of the expected answer, or of the question; two languages of one script need a model."""
    from cortex_eval.scoring import count_scripts, detect_language

    wanted, said = next(iter(read.references), read.asked), read.reply.text
    if wanted.isascii() and said.isascii():
        return None
    wanted, said = wanted[:_LONGEST_READ], said[:_LONGEST_READ]
    ours, theirs = count_scripts(wanted), count_scripts(said)
    if theirs.total() < 2 or not ours:
        return None
    ((script, count),) = ours.most_common(1)
    is_mixed = count < _MAIN * ours.total() or theirs[script] > (1 - _MAIN) * theirs.total()
    if is_mixed or {script, *theirs} <= {"Han", "Kana"}:
        return None
    one, other = detect_language(wanted), detect_language(said)
    assert one is not None, "it has letters"
    assert other is not None, "it has letters"
    asked, found = one.language or f"{one.script} letters", other.language or f"{other.script} letters"
    if asked == found:
        asked, found = (f"{asked} in {each.script} letters" for each in (one, other))
    return Cause("wrong_language", (asked, found), (f"{asked} → {found}",))


def _canned(read: Read) -> Cause | None:
    return Cause("canned_reply", details=(f"“{_quote(read.reply.text)}”",)) if read.is_canned else None


def _repeats_question(read: Read) -> Cause | None:
    said, asked = plain(read.reply.text), plain(read.asked)
    if asked.count(" ") < 2 or not said.startswith(asked) or len(said) > 1.2 * len(asked):
        return None
    if any(plain(each) == asked for each in read.references):
        return None
    return Cause("repeats_question", details=(f"“{_quote(read.reply.text)}”",))


def _other_number(read: Read) -> Cause | None:
    """Another number stands where one of the expected answer should."""
    missing, others = read.numbers
    if not missing or not others:
        return None
    return Cause("wrong_number", ("other",), (f"{others[0]} instead of {missing[0]}",))


def _no_number(read: Read) -> Cause | None:
    missing, _ = read.numbers
    return Cause("wrong_number", ("none",), missing[:1]) if missing else None


def _too_short(read: Read) -> Cause | None:
    said, lengths = _lengths(read)
    if not lengths or min(lengths) < _FEWEST_WORDS or said >= _SHORT * min(lengths):
        return None
    return Cause("too_short", details=(f"{_words(said)} instead of {min(lengths)}",))


def _too_long(read: Read) -> Cause | None:
    said, lengths = _lengths(read)
    if not lengths or said < _FEWEST_WORDS * _LONG or said <= _LONG * max(lengths):
        return None
    return Cause("too_long", details=(f"{_words(said)} instead of {max(lengths)}",))


def _lengths(read: Read) -> tuple[int, list[int]]:
    return len(read.reply.text.split()), [len(each.split()) for each in read.references]


def _missing(evidence: JSON) -> list[str]:
    """What `contains` looked for and did not find."""
    missing = evidence.get("missing")
    return [str(each) for each in missing if str(each).strip()] if isinstance(missing, list) else []


def _by_words(read: Read) -> Cause:
    """How much of the expected answer is in the reply, by its words."""
    reference, wanted, missing = read.nearest
    share = 1 - len(missing) / len(wanted) if wanted else 0.0
    if share >= _MOST:
        return Cause("other_wording", details=(_instead(read.reply.text, reference),))
    if share <= _HARDLY_ANY:
        return Cause("other_answer", details=(_instead(read.reply.text, reference),))
    return Cause("partial_answer", details=tuple(sorted(missing)[:_WORDS_COUNTED]))


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


def plain(text: str) -> str:
    """The text without what makes no difference between two that say the same."""
    return " ".join(text.casefold().split()).strip(" .!?।…\"'“”")


def _claim(claim: JSON) -> str:
    return f"“{_quote(str(claim.get('claim', '')), _CLAIM_QUOTED)}”"


def _instead(text: str, reference: str) -> str:
    return f"“{_quote(text)}” instead of “{_quote(reference)}”"


def _words(count: int) -> str:
    return f"{count} {'word' if count == 1 else 'words'}"


def _quote(text: str, width: int = _QUOTED) -> str:
    """The beginning of a text in a line; no word and no number is cut in two."""
    line = " ".join(text.split())
    if len(line) <= width:
        return line
    return (line[:width].rpartition(" ")[0] or line[:width]) + " …"


_GENERAL: tuple[Callable[[Read], Cause | None], ...] = (
    _empty,
    _cut_off,
    _refuses,
    _other_language,
    _canned,
    _repeats_question,
)
_BY_REFERENCE: tuple[Callable[[Read], Cause | None], ...] = (_other_number, _too_short, _no_number, _too_long)
