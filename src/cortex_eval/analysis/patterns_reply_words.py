"""What is said of replies that are not good enough: what is wrong with them, and what to do next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from cortex_eval.analysis.patterns import Priority
from cortex_eval.analysis.patterns_fixes import SHOWN, Words, counted, named
from cortex_eval.analysis.patterns_gather import Entry
from cortex_eval.analysis.patterns_replay import Key


class _Faults(NamedTuple):
    """What a pattern is made of."""

    cases: int
    scorers: tuple[str, ...]
    parts: Mapping[str, int]
    """Cases by what tells faults of this type apart, such as whether a number is wrong or missing."""
    details: Counter[str]
    """Of each part only what its most frequent scorer saw: two scorers of one reply see the same."""

    @property
    def commonest(self) -> str:
        """What came up most often; empty: nothing was noted."""
        return self.details.most_common(1)[0][0] if self.details else ""

    def some(self, shown: int = SHOWN) -> str:
        """A few examples, with how often they came up where that is more than once."""
        most = self.details.most_common(shown)
        return ", ".join(f"{text} ({count})" if count > 1 else text for text, count in most)


class _Said(NamedTuple):
    title: str
    action: str
    evidence: str = ""
    priority: Priority = "medium"


def reply_words(type_: str, keys: Sequence[Key], entries: Mapping[Key, Entry]) -> Words:
    """Of replies that fail for one reason, whichever scorers say so."""
    scorers = Counter[str]()
    parts: dict[str, Key] = {}
    for key in keys:
        scorers[key[1]] += len(entries[key].cases)
        part = "".join(key[2:])
        if part not in parts or len(entries[key].cases) > len(entries[parts[part]].cases):
            parts[part] = key
    details = sum((entries[key].details for key in parts.values()), Counter[str]())
    cases = {case for key in keys for case in entries[key].cases}
    names = tuple(name for name, _ in scorers.most_common())
    counts = {part: len(entries[key].cases) for part, key in parts.items()}
    said = _SAID[type_](_Faults(len(cases), names, counts, details))
    evidence = "; ".join(filter(None, (said.evidence, f"fails {counted(scorers)}" if len(scorers) > 1 else "")))
    return Words(said.title, said.action, said.priority, evidence, names)


def _empty(_: _Faults) -> _Said:
    return _Said(
        "Replies are empty",
        "Look at what the target sent in these cases: a field that is not read, a filter, or an answer never written",
        priority="high",
    )


def _cut_off(of: _Faults) -> _Said:
    return _Said(
        "Replies are cut off before they end",
        "Raise the limit of tokens of the target's model, or ask it for shorter answers",
        of.some(),
        "high",
    )


def _refusal(of: _Faults) -> _Said:
    return _Said(
        "Replies refuse, or send the user elsewhere",
        f"Give the target what it needs to answer {_questions(of.cases)}; it says most often: {of.commonest}",
        of.some(),
        "high",
    )


def _canned(of: _Faults) -> _Said:
    return _Said(
        "The same reply goes to different questions",
        f"Find out why {_questions(of.cases)} get the reply {of.commonest}: a fallback, or a text found too often",
        of.some(),
        "high",
    )


def _repeats(of: _Faults) -> _Said:
    return _Said(
        "Replies repeat the question and do not answer it",
        "Check that the answer, and not the question, is read from what the target sends",
        f"such as {of.commonest}",
        "high",
    )


def _number(of: _Faults) -> _Said:
    other, none = of.parts.get("other", 0), of.parts.get("none", 0)
    counts = [
        f"{other} of {of.cases} replies have others" if other else "",
        f"{none} of {of.cases} lack some" if none else "",
    ]
    title = "Numbers of the expected answer are missing"
    if other:
        title = (
            "Numbers of the expected answer are different or missing"
            if none
            else "Numbers differ from the expected answer"
        )
    how_many = f"{', '.join(filter(None, counts))}, such as " if of.cases > 1 else ""
    return _Said(
        title,
        f"Give the target the numbers of the expected answers: {how_many}{of.commonest}",
        f"such as {of.some()}",
        "high",
    )


def _opposite(of: _Faults) -> _Said:
    return _Said(
        "Replies say the opposite of the expected answer",
        f"Check what the target knows about {_questions(of.cases)}, such as {of.commonest}",
        f"such as {of.commonest}",
        "high",
    )


def _short(of: _Faults) -> _Said:
    return _Said(
        "Replies are much shorter than the expected answer",
        f"Ask the target for whole answers: some have {of.commonest}",
        of.some(),
    )


def _long(of: _Faults) -> _Said:
    return _Said(
        "Replies are much longer than the expected answer",
        f"Ask the target for short answers (some have {of.commonest}), or score by meaning: relevance",
        of.some(),
    )


def _missing_text(of: _Faults) -> _Said:
    texts = list(of.details)
    title = f"{texts[0]} is not in the reply" if len(texts) == 1 else "The reply does not name what is expected"
    return _Said(
        title,
        f"Make the target name what is expected: {of.some()}",
        f"{len(texts)} different texts are missing" if len(texts) > SHOWN else "",
    )


def _other_wording(of: _Faults) -> _Said:
    others = " or ".join(name for name in ("f1", "relevance") if name not in of.scorers)
    or_score = f", or score by {others}" if others else ""
    return _Said(
        "Replies have nearly all words of the expected answer, put differently",
        f"{_read(of.cases)}: where one is right, add its wording to the answers of the case{or_score}",
        f"such as {of.commonest}",
    )


def _other_answer(of: _Faults) -> _Said:
    return _Said(
        "Replies say something else than the expected answer",
        f"Check what the target finds for {_questions(of.cases)}: hardly a word of the expected answer is there",
        f"such as {of.commonest}",
    )


def _partial(of: _Faults) -> _Said:
    often = of.details.most_common(SHOWN)
    missed = [f"“{text}”" for text, count in often if count > 1 and 4 * count >= of.cases]
    what = f"See whether replies should say {named(missed)}" if missed else f"{_read(of.cases)} beside what is expected"
    return _Said(
        "Replies lack words of the expected answer",
        f"{what}; where one is right all the same, add its wording to the answers of the case",
        f"words most often missing: {counted(of.details, 6)}" if often and often[0][1] > 1 else "",
    )


def _unsupported_number(of: _Faults) -> _Said:
    return _Said(
        "Replies state numbers that are not in the passages",
        f"Keep the target to the numbers of its passages, or add their source, such as of {of.commonest}",
        f"such as {'; '.join(list(of.details)[:SHOWN])}",
        "high",
    )


def _unsupported_claim(of: _Faults) -> _Said:
    return _Said(
        "Replies claim what the passages do not say",
        f"Keep the target to its passages, or add the source of what it says, such as {of.commonest}",
        f"such as {'; '.join(list(of.details)[:SHOWN])}",
        "high",
    )


def _read(count: int) -> str:
    return "Read this reply" if count == 1 else "Read both replies" if count == 2 else "Read three of these replies"


def _questions(count: int) -> str:
    return "these questions" if count != 1 else "this question"


_SAID: Mapping[str, Callable[[_Faults], _Said]] = {
    "empty_reply": _empty,
    "cut_off": _cut_off,
    "refusal": _refusal,
    "canned_reply": _canned,
    "repeats_question": _repeats,
    "wrong_number": _number,
    "opposite_answer": _opposite,
    "too_short": _short,
    "too_long": _long,
    "missing_text": _missing_text,
    "other_wording": _other_wording,
    "other_answer": _other_answer,
    "partial_answer": _partial,
    "unsupported_number": _unsupported_number,
    "unsupported_claim": _unsupported_claim,
}
