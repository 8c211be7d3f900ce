"""Is what the reply cites among what was retrieved?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from cortex_eval.core import Case, Range, Reply, Score
from cortex_eval.scoring.base import scorers
from cortex_eval.scoring.claims import source_marks, take_apart
from cortex_eval.scoring.retrieved import Retrieved, folded, retrieved_for
from cortex_eval.scoring.words import words

SHOWN = 20
"""Names of passages in the evidence, at most."""
QUOTATION = 5
"""Words that a citation needs to be looked up in the texts of the passages, as a quotation."""
WITHOUT_IDS = "the passages came without ids. A target of kind rag keeps them, and metadata.passages does."
_LABEL = re.compile(r"(?:sources?|refs?\.?|references?|citations?|स्रोत|संदर्भ|सन्दर्भ) ?[:：] ?", re.IGNORECASE)
_NUMBERS = re.compile(r"\^?\d{1,3}(?: ?[,;–-] ?\^?\d{1,3})*")
_RANGE = re.compile(r"(\d{1,3}) ?[–-] ?\^?(\d{1,3})|(\d{1,3})")
_FILE = re.compile(r"(\d{1,3})(:\d{1,3})?(?:†(.*))?")
_LINK = re.compile(r"\]\((https?://.*)\)")
_BRACKETS = re.compile(r"\[([^\[\]\n]{1,100})\]")
_SPELLED = {"one": 1, "two": 2, "three": 3}


class Cited(NamedTuple):
    """One thing that a reply cites."""

    words: str
    """As it is written: `[9]`, `d99`."""
    by: Literal["field", "text"]
    """Given apart by the target, or found in what it says."""
    number: int | None = None
    """Of a passage, as the target counts them."""
    name: str = ""
    """Empty: it has neither, and cannot be looked up."""

    @property
    def key(self) -> str:
        """The same for two that cite the same in other words: `[1]` twice, `d1` and `[d1]`."""
        return (
            f"#{self.number}" if self.number is not None and self.name.isdecimal() else folded(self.name or self.words)
        )


class Held(NamedTuple):
    """A citation, held against what was retrieved."""

    cited: Cited
    is_there: bool | None
    """None: it is a name, and the passages have none that is known."""
    passage: int | None = None
    """The place of the one that is meant, from 0."""


@scorers.register("citations")
@dataclass(frozen=True, slots=True)
class Citations:
    """Of what the reply cites, the share that was retrieved."""

    version: ClassVar[str] = "1"

    required: bool = False
    """True: a reply that claims something and cites nothing is 0."""
    first_number: Annotated[int, Range(0, 1)] = 1
    """What the target calls its first passage: [1], or [0]."""

    async def score(self, case: Case, reply: Reply) -> Score:
        """0..1; None when nothing is cited, or nothing is known that it could be held against."""
        found = retrieved_for(case, reply)
        cited = cited_in(reply, found)
        if not cited:
            return self._without(reply)
        if not found.size:
            reason = "What was retrieved is not known: the reply has no contexts and the case no passages."
            evidence = {"citations": [_row(Held(each, None)) for each in cited]}
            return Score(name="citations", value=None, reason=reason, evidence=evidence)
        held = [hold(each, found, first_number=self.first_number) for each in cited]
        return _share(held, found)

    def _without(self, reply: Reply) -> Score:
        if self.required and take_apart(reply.text).state == "claims":
            return Score(name="citations", value=0.0, reason="The reply claims something and cites nothing.")
        return Score(name="citations", value=None, reason="The reply cites nothing.")


def cited_in(reply: Reply, found: Retrieved) -> list[Cited]:
    """What the reply cites, each thing once: what the target gives apart, then the marks in the text.

    `[1]`, `[2, 5]`, `[doc1]`, `(passage 2)` and `(source: Charaka 1.2)` are marks, and so is the name of a passage in
    square brackets, or what is written like one: `[d99]` where there is a `d1`.
    """
    given = [_given(each) for each in reply.citations if each.strip()]
    marked = (each for mark in source_marks(reply.text) for each in _read_mark(mark))
    named = (Cited(f"[{name}]", "text", name=name) for name in _bracketed_names(reply.text, found))
    distinct: dict[str, Cited] = {}
    for each in (*given, *marked, *named):
        distinct.setdefault(each.key, each)
    return list(distinct.values())


def hold(cited: Cited, found: Retrieved, *, first_number: int = 1) -> Held:
    """Whether it is there: a passage of this name, or of this number; a name in prose may also stand in a passage."""
    place = found.named(cited.name)
    if place is None and cited.number is not None and not _has_better_address(cited, found):
        place = cited.number - first_number
        if 0 <= place < found.size:
            return Held(cited, True, place)
        is_sure = cited.by == "text" or found.names  # apart, it may be an id, and nobody says which ids there are
        return Held(cited, False if is_sure else None)
    if place is None:
        place = _place_in_words(cited, found)
    if place is not None:
        return Held(cited, True, place)
    return Held(cited, False if found.names and cited.name else None)


def _has_better_address(cited: Cited, found: Retrieved) -> bool:
    """Whether `[1](https://…)` can be held against the addresses of the passages."""
    return cited.name.startswith("http") and any(name.startswith("http") for names in found.names for name in names)


def _given(text: str) -> Cited:
    name = text.strip().removeprefix("[").removesuffix("]").strip()
    number = int(name) if name.isdecimal() and len(name) <= 3 else None
    return Cited(text.strip(), "field", number, name)


def _read_mark(mark: str) -> Iterator[Cited]:
    """What one mark cites; a list or a range in it is several things."""
    link = _LINK.search(mark)
    inner = (mark[: link.start()] if link else mark[:-1])[1:].strip()
    if mark.startswith("【"):
        yield from _read_file_mark(mark, inner)
        return
    label = _LABEL.match(inner)
    rest = inner[label.end() :].strip() if label else inner
    if _NUMBERS.fullmatch(rest):
        for number in _numbers(rest):
            yield Cited(mark if link else f"[{number}]", "text", number, link[1] if link else str(number))
    elif label:
        for name in rest.split(";"):
            yield Cited(mark, "text", name=name.strip())
    else:  # doc1, passages 1 and 2, passage two
        spelled = [number for word, number in _SPELLED.items() if inner.casefold().endswith(f" {word}")]
        numbers = [int(each) for each in re.findall(r"\d+", inner)] or spelled
        name = inner if len(numbers) == 1 and " " not in inner else ""
        for number in numbers:
            yield Cited(mark if len(numbers) == 1 else f"[{number}]", "text", number, name or str(number))


def _read_file_mark(mark: str, inner: str) -> Iterator[Cited]:
    """Of OpenAI's file search: 【4†handbook.pdf】; in 【4:0†source】 the numbers are no places of passages."""
    match = _FILE.fullmatch(inner)
    number, part, name = match.groups("") if match else ("", "", "")
    if number and not part and "." not in name:
        yield Cited(mark, "text", int(number), number)
    else:
        yield Cited(mark, "text", name=name if "." in name else "")


def _numbers(text: str) -> Iterator[int]:
    for first, last, single in _RANGE.findall(text):
        if single:
            yield int(single)
        elif int(first) <= int(last):
            yield from range(int(first), int(last) + 1)
        else:
            yield from (int(first), int(last))


def _bracketed_names(text: str, found: Retrieved) -> Iterator[str]:
    known = {name for names in found.names for name in names}
    shapes = {shape for shape in map(_shape, known) if shape}
    for match in _BRACKETS.finditer(text) if known else ():
        for piece in re.split(r"[,;]", match[1]):
            name = piece.strip()
            if (folded(name) in known or _shape(folded(name)) in shapes) and not name.isdecimal():
                yield name


def _shape(name: str) -> str:
    """d1 and d99 are alike; empty when letters or digits are missing, for then too much would be."""
    shape = re.sub(r"\d+", "#", name)
    return shape if "#" in shape and any(char.isalpha() for char in shape) else ""


def _place_in_words(cited: Cited, found: Retrieved) -> int | None:
    """A passage that has the words: a quotation in its text, or, in prose, the source in its name or text."""
    wanted = words(cited.name)
    if cited.by == "text":
        for place, names in enumerate(found.names):
            if any(_has(words(name), wanted) or _has(wanted, words(name)) for name in names):
                return place
    elif len(wanted) < QUOTATION:
        return None
    return next((place for place, text in enumerate(found.texts) if _has(words(text), wanted)), None)


def _has(whole: list[str], part: list[str]) -> bool:
    """Whether the words of the part stand in a row in the whole; one of numbers and short words says too little."""
    is_telling = any(len(word) >= 3 and not word.isdecimal() for word in part)
    return is_telling and f" {' '.join(part)} " in f" {' '.join(whole)} "


def _share(held: list[Held], found: Retrieved) -> Score:
    checked = [each for each in held if each.is_there is not None]
    nowhere = [each.cited.words for each in checked if not each.is_there]
    evidence = {
        "citations": [_row(each) for each in held],
        "nowhere": nowhere,
        "retrieved": {
            "of": found.of,
            "count": found.size,
            "names": [names[0] for names in found.names if names][:SHOWN],
        },
    }
    unknown = [each.cited.words for each in held if each.is_there is None]
    why = "the mark names no passage." if found.names else WITHOUT_IDS
    if not checked:
        reason = f"Not known whether {', '.join(unknown)} was retrieved: {why}"
        return Score(name="citations", value=None, reason=reason, evidence=evidence)
    reason = _reason(nowhere, checked, found)
    if unknown:
        reason += f" Not looked up: {', '.join(unknown)}; {why}"
    value = 1 - len(nowhere) / len(checked)
    return Score(name="citations", value=value, reason=reason, evidence=evidence)


def _reason(nowhere: list[str], checked: list[Held], found: Retrieved) -> str:
    whose = "retrieved" if found.of == "reply" else "of the case"
    passages = f"the {found.size} {'passage' if found.size == 1 else 'passages'} {whose}"
    if len(checked) == 1:
        return f"{checked[0].cited.words} is {'not ' if nowhere else ''}among {passages}."
    if nowhere:
        verb = "is" if len(nowhere) == 1 else "are"
        return f"{len(nowhere)} of {len(checked)} citations {verb} not among {passages}: {', '.join(nowhere)}."
    return f"All {len(checked)} citations are among {passages}."


def _row(held: Held) -> dict[str, Any]:  # Any: JSON
    number = None if held.passage is None else held.passage + 1
    return {"citation": held.cited.words, "in": held.cited.by, "retrieved": held.is_there, "passage": number}
