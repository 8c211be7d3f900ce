"""The signs by which a claim is told to be supported by passages or not: figures of words and of meaning."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cortex_eval.scoring.facts import denies, missing_quantities, names, opposed, stem, stems
from cortex_eval.scoring.library import Library, Match, runs, weight
from cortex_eval.scoring.words import words

if TYPE_CHECKING:
    from cortex_eval.scoring.embedding import Tokens

NEAREST = 40
"""Sentences whose meaning is compared with a claim's: those with most of its words. Most passages have fewer."""
WORST_SHARE = 0.2
"""Of the word pieces of a claim: a claim is wrong where its worst words are, not on average."""


@dataclass(slots=True)
class Signs:
    """What was found out on one claim."""

    figures: dict[str, float]
    conflicts: list[str] = field(default_factory=list)
    closest: int | None = None
    """The sentence closest in meaning, when meanings were compared."""


def signs_of_words(claim: str, shelf: Library, match: Match, *, asked: str = "") -> Signs:
    """What the words alone tell, in any script."""
    claim_words, claim_stems = words(claim), stems(claim)
    distinct = set(claim_stems)
    total = sum(weight(each) for each in distinct) or 1.0
    known = {*shelf.having, *stems(asked)}
    missing = [each for each in distinct if each not in shelf.having and weight(each) == 1.0]
    pairs, triples = runs(claim_words, 2), runs(claim_words, 3)
    in_pairs = sum(each in shelf.pairs for each in pairs) / len(pairs) if pairs else match.contained
    nearby = [shelf.sentences[i] for i in range(match.best_window.first, match.best_window.last + 1)]
    figures = {
        "contained": match.contained,
        "window": match.window,
        "sentence": match.sentence,
        "asked": sum(weight(each) for each in distinct if each in known) / total,
        "pairs": in_pairs,
        "triples": sum(each in shelf.triples for each in triples) / len(triples) if triples else in_pairs,
        "order": _common_run(claim_stems, [each for one in nearby for each in one.stems]) / max(1, len(claim_stems)),
        "quoted": float(f" {' '.join(claim_words)} " in f" {shelf.running} "),
        "missing": min(6, len(missing)) / 6,
        "any_missing": float(bool(missing)),
        "length": math.log1p(len(claim_words)) / 4,
        "fragment": float(len(claim_words) <= 4),
    }
    signs = Signs(figures)
    _add_conflicts(signs, claim, shelf, match)
    return signs


def _add_conflicts(signs: Signs, claim: str, shelf: Library, match: Match) -> None:
    """Numbers and names that no passage has; a negation or an opposite against the evidence."""
    numbers = missing_quantities(claim, shelf.numbers)
    strangers = [name for name in names(claim) if stem(name.replace("’", "'").split("'")[0]) not in shelf.having]
    nearest = shelf.sentences[match.best_sentence]
    claim_words = words(claim)
    # A negation in one and not the other says something only where both speak of the same.
    denied = denies(claim_words) != denies(nearest.words) and match.sentence >= 0.5
    opposites = opposed(claim_words, nearest.words) if match.sentence >= 0.4 else []
    signs.conflicts += [f"the number {number} is not in the passages" for number in numbers]
    signs.conflicts += [f"the name {name!r} is not in the passages" for name in strangers]
    signs.conflicts += [f"{ours!r}, where the passage has {theirs!r}" for ours, theirs in opposites]
    if denied:
        signs.conflicts.append("one of claim and passage denies what the other says")
    signs.figures |= {
        "numbers": min(2, len(numbers)) / 2,
        "any_number": float(bool(numbers)),
        "names": min(3, len(strangers)) / 3,
        "denied": float(denied),
        "opposed": float(bool(opposites)),
    }


def add_meaning(signs: Signs, claim: Tokens, sentences: Mapping[int, Tokens], match: Match) -> None:
    """What the embeddings tell: how close the sentences are, and each word of the claim to its closest word in them."""
    import numpy as np

    order = sorted(sentences)
    cosines = np.array([sentences[i].whole for i in order]) @ claim.whole
    signs.closest = order[int(cosines.argmax())]
    near = {*range(match.best_window.first, match.best_window.last + 1), match.best_sentence, signs.closest}
    of_near = _closeness(claim, [sentences[i] for i in sorted(near) if i in sentences])
    of_all = _closeness(claim, [sentences[i] for i in order])
    signs.figures |= {
        "cosine": float(cosines.max()),
        "cosine_of_match": float(sentences[match.best_sentence].whole @ claim.whole),
        "near": float(of_near.mean()),
        "near_worst": _worst(of_near),
        "near_least": float(of_near.min()),
        "all": float(of_all.mean()),
        "all_worst": _worst(of_all),
        "all_least": float(of_all.min()),
    }


def _closeness(claim: Tokens, sentences: Sequence[Tokens]):  # type: ignore[no-untyped-def]  # an array of numpy, imported late
    """For each word piece of the claim, the cosine to the closest one in the sentences (as in BERTScore)."""
    import numpy as np

    pieces = np.concatenate([each.pieces for each in sentences])
    if not len(pieces) or not len(claim.pieces):
        return np.zeros(1)
    return (claim.pieces @ pieces.T).max(axis=1)


def _worst(closeness) -> float:  # type: ignore[no-untyped-def]  # as above
    import numpy as np

    return float(np.sort(closeness)[: max(1, round(len(closeness) * WORST_SHARE))].mean())


def _common_run(one: Sequence[str], other: Sequence[str]) -> int:
    from rapidfuzz.distance import LCSseq  # imported late: 40 ms

    return int(LCSseq.similarity(one, other))
