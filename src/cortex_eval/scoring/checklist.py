"""Does the reply hold everything that a complete answer holds?"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

from cortex_eval.core import Case, InputError, Range, Reply, Score, shorten
from cortex_eval.scoring.base import scorers
from cortex_eval.scoring.checklist_items import Checklist, Item, Part, make_checklist, plain_item, read_checklist
from cortex_eval.scoring.claims import Claim, sentences
from cortex_eval.scoring.denial import is_taken_back, sentence_around
from cortex_eval.scoring.embedding import HOW_TO_INSTALL, can_embed, load_embedder
from cortex_eval.scoring.patterns import plain
from cortex_eval.scoring.words import content_words, share_of_latin

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

WORDS_NEEDED = 0.6
"""The share of an item's content words that one sentence must have, where there is no pattern."""
LATIN_NEEDED = 0.8
BEFORE = 1
"""How many sentences before the first part the others may stand; how many behind it, the part itself says."""


class _Hit(NamedTuple):
    """Where a part was found."""

    sentence: int
    words: str
    method: str
    """pattern, words or meaning."""


class _Text(NamedTuple):
    """A reply taken apart."""

    text: str
    sentences: list[Claim]
    vectors: npt.NDArray[np.float32] | None
    """One row per sentence; None: meanings are not compared."""


@scorers.register("completeness")
@dataclass(frozen=True, slots=True)
class Completeness:
    """The share of the items of a checklist that are in the reply; complete at 75 %."""

    version: ClassVar[str] = "1"

    checklist: Path | None = None
    """A JSON file of items; None: `items`, or the eight of an Ayurvedic consultation."""
    items: tuple[str | Mapping[str, Any], ...] = ()  # Any: what an item may hold is checked when it is read
    """A checklist in the settings. A case with a checklist of its own is looked at by that one."""
    complete_at: Annotated[float, Range(0, 1)] = 0.75
    """From this share on the reply is complete, and passes."""
    strict: bool = True
    """False: an item is there when its first part is (*Prakriti* without *confidence level*)."""
    use_embeddings: bool = True
    """Also find sentences that mean what an item means, in English."""
    similarity: Annotated[float, Range(0, 1)] = 0.65
    """How close in meaning a sentence must be (cosine)."""
    _list: Checklist = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.checklist is not None and self.items:
            raise InputError("completeness: give 'checklist' or 'items', not both.")
        made = make_checklist(self.items, source="completeness.items") if self.items else read_checklist(self.checklist)
        object.__setattr__(self, "_list", made)

    @property
    def fingerprint(self) -> str:
        """Changes with the items, and with what they can be found by here."""
        return f"{self._list.digest} {'embedding' if self.use_embeddings and can_embed() else 'lexical'}"

    async def score(self, case: Case, reply: Reply) -> Score:
        """The share of items that are there, with the words for each."""
        return (await asyncio.to_thread(self.score_batch, [(case, reply)]))[0]

    def score_batch(self, pairs: Sequence[tuple[Case, Reply]]) -> list[Score]:
        """One score for each pair."""
        return [self._score(case, reply) for case, reply in pairs]

    def _score(self, case: Case, reply: Reply) -> Score:
        own = tuple(dict.fromkeys(text.strip() for text in case.expected.checklist if text.strip()))
        items = tuple(plain_item(text) for text in own) if own else self._list.items
        if not reply.text.strip() and not reply.citations:
            return Score(name="completeness", value=0.0, passed=False, reason="The reply is empty.")
        text, lexical_because = self._take_apart(reply)
        found = [self._look_for(item, text) for item in items]
        present = sum(row["present"] for row in found)
        value = present / len(items)
        missing = [item.text for item, row in zip(items, found, strict=True) if not row["present"]]
        by = f"patterns and words only ({lexical_because})" if lexical_because else "patterns, words and meaning"
        reason = f"{present} of {len(items)} items are there, by {by}."
        if missing:
            reason += f" Missing: {'; '.join(shorten(each, 60) for each in missing)}."
        return Score(
            name="completeness",
            value=value,
            passed=value >= self.complete_at - 1e-9,
            reason=reason,
            measure=float(present),
            unit="items",
            evidence={"items": found, "method": "lexical" if lexical_because else "lexical and embedding"},
        )

    def _take_apart(self, reply: Reply) -> tuple[_Text, str]:
        """The reply as sentences, and why meanings cannot be compared, if so."""
        whole = plain("\n".join((reply.text, *reply.citations)))
        found = sentences(whole)
        share = share_of_latin(whole)
        if not self.use_embeddings:
            because = "use_embeddings is off"
        elif not can_embed():
            because = f"the embedding model is not installed: {HOW_TO_INSTALL}"
        elif share is None or share < LATIN_NEEDED:
            because = "the embedding model reads English only"
        else:
            return _Text(whole, found, load_embedder().embed([each.text for each in found])), ""
        return _Text(whole, found, None), because

    def _look_for(self, item: Item, text: _Text) -> dict[str, Any]:  # Any: evidence is JSON
        instead = item.instead.first(text.text) if item.instead is not None else None
        if instead is not None:
            return {"item": item.id, "present": True, "words": [shorten(instead.words, 120)], "method": "pattern"}
        hits = self._parts_together(item, text)
        wanted = item.parts if self.strict else item.parts[:1]
        present = all(part.name in hits for part in wanted)
        row: dict[str, Any] = {"item": item.id, "present": present}  # Any: evidence is JSON
        if hits:
            row["words"] = [shorten(hit.words.strip(), 120) for hit in hits.values()]
            row["method"] = ", ".join(dict.fromkeys(hit.method for hit in hits.values()))
        lacking = [part.name for part in item.parts if part.name not in hits]
        if hits and lacking:
            row["lacking"] = lacking
        return row

    def _parts_together(self, item: Item, text: _Text) -> dict[str, _Hit]:
        """As many of the item's parts as stand near one place of the first part."""
        first, *others = ((part, self._hits(part, text)) for part in item.parts)
        best: dict[str, _Hit] = {}
        for hit in first[1]:
            near = {first[0].name: hit}
            for part, hits in others:
                low, high = hit.sentence - BEFORE, hit.sentence + part.near
                found = next((each for each in hits if low <= each.sentence <= high), None)
                if found is not None:
                    near[part.name] = found
            if len(near) > len(best):
                best = near
            if len(best) == len(item.parts):
                break
        return best

    def _hits(self, part: Part, text: _Text) -> list[_Hit]:
        """Where the part is: by pattern or words, and where there is none, by meaning."""
        hits = _by_pattern(part, text) if part.patterns is not None else _by_words(part, text)
        return hits or self._by_meaning(part, text)

    def _by_meaning(self, part: Part, text: _Text) -> list[_Hit]:
        if text.vectors is None or not part.examples or not text.sentences:
            return []
        closeness = (text.vectors @ _vectors(part.examples).T).max(axis=1)
        hits = []
        for number, sentence in enumerate(text.sentences):
            if closeness[number] >= self.similarity and _counts(part, text, sentence.start, sentence.end):
                hits.append(_Hit(number, sentence.text, "meaning"))
        return hits


@lru_cache(maxsize=4096)
def _vectors(examples: tuple[str, ...]) -> npt.NDArray[np.float32]:
    return load_embedder().embed(examples)


def _by_pattern(part: Part, text: _Text) -> list[_Hit]:
    assert part.patterns is not None
    hits = []
    for start, end, words in part.patterns.spans(text.text):
        if not _counts(part, text, start, end):
            continue
        number = next((i for i, each in enumerate(text.sentences) if each.end > start), len(text.sentences) - 1)
        hits.append(_Hit(number, words, "pattern"))
    return hits


def _by_words(part: Part, text: _Text) -> list[_Hit]:
    """Sentences that have most of the words of the part's name."""
    wanted = content_words(plain(part.name))
    if not wanted:
        return []
    return [
        _Hit(number, sentence.text, "words")
        for number, sentence in enumerate(text.sentences)
        if len(wanted & content_words(sentence.text)) / len(wanted) >= WORDS_NEEDED
    ]


def _counts(part: Part, text: _Text, start: int, end: int) -> bool:
    """Whether the words there say what the part wants said."""
    if part.stated:
        return not is_taken_back(text.text, start, end)
    low, high = sentence_around(text.text, start, end)
    return not part.told or not text.text[low:high].rstrip().endswith("?")
