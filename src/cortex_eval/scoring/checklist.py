"""Does the reply hold everything that a complete answer holds?"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

from cortex_eval.core import Case, InputError, Range, Reply, Score, shorten
from cortex_eval.scoring.base import scorers
from cortex_eval.scoring.checklist_details import as_in, has_details, spaced
from cortex_eval.scoring.checklist_items import Checklist, Item, Part, make_checklist, plain_item, read_checklist
from cortex_eval.scoring.claims import Claim, sentences
from cortex_eval.scoring.denial import is_taken_back, sentence_around
from cortex_eval.scoring.embedding import HOW_TO_INSTALL, can_embed, load_embedder, words_for_method
from cortex_eval.scoring.patterns import plain
from cortex_eval.scoring.words import content_words, share_of_latin

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    _Vectors = Mapping[str, npt.NDArray[np.float32]]

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


class _Job(NamedTuple):
    """A reply and what is looked for in it."""

    items: tuple[Item, ...]
    whole: str
    sentences: list[Claim]
    lexical_because: str
    """Why meanings are not compared; empty: they are."""

    def texts(self) -> list[str]:
        """Everything whose meaning is compared."""
        examples = (example for item in self.items for part in item.parts for example in part.examples)
        return [*(sentence.text for sentence in self.sentences), *examples]


class _Text(NamedTuple):
    """A reply taken apart."""

    text: str
    sentences: list[Claim]
    vectors: _Vectors | None
    """Of sentences and examples; None: meanings are not compared."""


@scorers.register("completeness")
@dataclass(frozen=True, slots=True)
class Completeness:
    """The share of the items of a checklist that are in the reply; complete at 75 %."""

    version: ClassVar[str] = "2"

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

    @property
    def scores_by(self) -> str:
        """The embedding model, or words."""
        return words_for_method(wants_meanings=self.use_embeddings, has_model=can_embed())

    async def score(self, case: Case, reply: Reply) -> Score:
        """The share of items that are there, with the words for each."""
        return (await asyncio.to_thread(self.score_batch, [(case, reply)]))[0]

    def score_batch(self, pairs: Sequence[tuple[Case, Reply]]) -> list[Score]:
        """One score for each pair; all sentences are embedded together."""
        jobs = [self._prepare(case, reply) for case, reply in pairs]
        texts = list(dict.fromkeys(text for job in jobs if not job.lexical_because for text in job.texts()))
        vectors = dict(zip(texts, load_embedder().embed(texts), strict=True)) if texts else {}
        return [self._score(job, vectors) for job in jobs]

    def _prepare(self, case: Case, reply: Reply) -> _Job:
        own = tuple(dict.fromkeys(text.strip() for text in case.expected.checklist if text.strip()))
        items = tuple(plain_item(text) for text in own) if own else self._list.items
        whole = plain("\n".join((reply.text, *reply.citations)))
        share = share_of_latin(whole)
        because = ""
        if not self.use_embeddings:
            because = "use_embeddings is off"
        elif not can_embed():
            because = f"the embedding model is not installed: {HOW_TO_INSTALL}"
        elif share is None or share < LATIN_NEEDED:
            because = "the embedding model reads English only"
        return _Job(items, whole, sentences(whole), because)

    def _score(self, job: _Job, vectors: _Vectors) -> Score:
        if not job.whole.strip():
            return Score(name="completeness", value=0.0, passed=False, reason="The reply is empty.")
        text = _Text(job.whole, job.sentences, None if job.lexical_because else vectors)
        found = [self._look_for(item, text) for item in job.items]
        present = sum(row["present"] for row in found)
        value = present / len(found)
        missing = [item.text for item, row in zip(job.items, found, strict=True) if not row["present"]]
        only = f"patterns and words only ({job.lexical_because})"
        reason = f"{present} of {len(found)} {'item' if len(found) == 1 else 'items'} "
        reason += f"{'is' if 1 in (present, len(found)) else 'are'} there, by "
        reason += f"{only if job.lexical_because else 'patterns, words and meaning'}."
        if missing:
            reason += f" Missing: {'; '.join(shorten(each, 60) for each in missing)}."
        return Score(
            name="completeness",
            value=value,
            passed=value >= self.complete_at - 1e-9,
            reason=reason,
            measure=float(present),
            unit="items",
            evidence={"items": found, "method": "lexical" if job.lexical_because else "lexical and embedding"},
        )

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
        examples = [text.vectors[example] for example in part.examples]
        hits = []
        for number, sentence in enumerate(text.sentences):
            closeness = max(float(text.vectors[sentence.text] @ example) for example in examples)
            if closeness < self.similarity or not _counts(part, text, sentence.start, sentence.end):
                continue
            if part.patterns is not None or has_details(part.name, as_in(part.name, sentence.text), text.text):
                hits.append(_Hit(number, sentence.text, "meaning"))
        return hits


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
    """Sentences that have most of the words of the part's name, and its details."""
    name = spaced(plain(part.name))
    wanted = content_words(name)
    if not wanted:
        return []
    hits = []
    for number, sentence in enumerate(text.sentences):
        said = as_in(name, sentence.text)
        if len(wanted & content_words(said)) / len(wanted) >= WORDS_NEEDED and has_details(name, said, text.text):
            hits.append(_Hit(number, sentence.text, "words"))
    return hits


def _counts(part: Part, text: _Text, start: int, end: int) -> bool:
    """Whether the words there say what the part wants said."""
    if part.stated:
        return not is_taken_back(text.text, start, end)
    low, high = sentence_around(text.text, start, end)
    return not part.told or not text.text[low:high].rstrip().endswith("?")
