"""The signs by which a claim is told to be supported by passages or not: figures of words and of meaning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cortex_eval.scoring.facts import (
    Denials,
    denials,
    missing_quantities,
    names,
    numbers_of,
    opposed,
    stem,
    stems,
)
from cortex_eval.scoring.library import Library, Match, runs
from cortex_eval.scoring.negation import Verdict, may_deny, verdict
from cortex_eval.scoring.quantities_changed import Changed, changed_amount
from cortex_eval.scoring.words import words

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from cortex_eval.scoring.embedding import Tokens

NEAREST = 40
"""Sentences whose meaning is compared with a claim's: those with most of its words. Most passages have fewer."""
FEW_WORDS = 4
"""So few words can stand in a passage by chance, unless they are a sentence of it."""
SAME_MATTER = 0.5
"""Share of a claim's words in one sentence, from which the two speak of the same."""
HELD_AGAINST = 8
"""Sentences with most of a claim's words, of which one may say its opposite, and another the same."""


@dataclass(slots=True)
class Signs:
    """What was found out on one claim."""

    figures: dict[str, float]
    conflicts: list[str] = field(default_factory=list)
    closest: int | None = None
    """The sentence closest in meaning, when meanings were compared."""


def signs_of_words(claim: str, shelf: Library, match: Match, *, asked: str = "") -> Signs:
    """What the words alone tell, in any script."""
    claim_words = words(claim)
    triples = runs(claim_words, 3)
    is_quoted = f" {' '.join(claim_words)} " in f" {shelf.running} "
    is_short = len(claim_words) <= FEW_WORDS and tuple(claim_words) not in shelf.whole
    figures = {
        "contained": match.contained,
        "window": match.window,
        "sentence": match.sentence,
        # A claim of which half the words are missing, and one of which nearly all are.
        "absent": max(0.0, 1 - 2 * match.contained),
        "foreign": max(0.0, 1 - 4 * match.contained),
        "triples": sum(each in shelf.triples for each in triples) / len(triples) if triples else float(is_quoted),
        "quoted": float(is_quoted and not is_short),
        "quoted_shortly": float(is_quoted and is_short),
    }
    signs = Signs(figures)
    _add_conflicts(signs, claim, shelf, match, asked)
    return signs


def _add_conflicts(signs: Signs, claim: str, shelf: Library, match: Match, asked: str) -> None:
    """Numbers and names that no passage has, nor the question; a negation or an opposite against the evidence."""
    numbers = missing_quantities(claim, shelf.numbers | numbers_of([asked]))
    known = {*shelf.having, *stems(asked)}
    strangers = [name for name in names(claim) if stem(name.replace("’", "'").split("'")[0]) not in known]
    denied, opposites = Denials(set(), set()), []
    is_near = match.sentence >= SAME_MATTER
    if is_near and not signs.figures["quoted"]:
        nearest = shelf.sentences[match.best_sentence].words
        denied, opposites = denials(words(claim), nearest), opposed(words(claim), nearest)
    found, changed = _held_against(claim, shelf, is_quoted=bool(signs.figures["quoted"])) if is_near else ("", None)
    if found == "agrees":
        denied = Denials(set(), set())
    signs.conflicts += [f"{changed.ours!r}, where the passage has {changed.theirs!r}"] if changed else []
    signs.conflicts += [f"the number {number} is not in the passages" for number in numbers]
    signs.conflicts += [f"the name {name!r} is not in the passages" for name in strangers]
    signs.conflicts += [f"{ours!r}, where the passage has {theirs!r}" for ours, theirs in opposites]
    if denied.by_claim or found == "denies":
        signs.conflicts.append("it denies what the passage says")
    if denied.by_source or found == "is denied":
        signs.conflicts.append("the passage denies it")
    signs.figures |= {
        "numbers": min(2, len(numbers)) / 2,
        "numbers_aside": match.sentence if numbers else 0.0,
        "names": min(3, len(strangers)) / 3,
        "names_aside": match.sentence if strangers else 0.0,
        "denied": float(bool(denied.by_claim)),
        "denied_there": float(bool(denied.by_source)),
        "opposed": float(bool(opposites)),
        "contradicted": float(changed is not None or found in ("denies", "is denied")),
    }


def _held_against(claim: str, shelf: Library, *, is_quoted: bool) -> tuple[Verdict, Changed | None]:
    """Whether the closest sentences deny the claim, and a number that they have otherwise; a quotation changes none."""
    near = [shelf.sentences[i] for i in shelf.nearest(stems(claim), HELD_AGAINST)]
    texts = [each.text for each in near]
    can_deny = may_deny(words(claim)) or any(may_deny(each.words) for each in near)
    return verdict(claim, texts) if can_deny else "", None if is_quoted else changed_amount(claim, texts)


def add_meaning(signs: Signs, claim: Tokens, sentences: Mapping[int, Tokens], match: Match) -> None:
    """What the embeddings tell: how close the sentences are, and each word of the claim to its closest word in them."""
    import numpy as np

    order = sorted(sentences)
    cosines = np.array([sentences[i].whole for i in order]) @ claim.whole
    signs.closest = order[int(cosines.argmax())]
    window = range(match.best_window.first, match.best_window.last + 1)
    near = {match.best_sentence, signs.closest, *(i for i in window if i in sentences)}
    signs.figures |= {
        "cosine": float(cosines.max()),
        "least": float(_closeness(claim, [sentences[i] for i in sorted(near)]).min()),
        "mean": float(_closeness(claim, [sentences[i] for i in order]).mean()),
    }


def _closeness(claim: Tokens, sentences: Sequence[Tokens]) -> npt.NDArray[np.float32]:
    """For each word piece of the claim, the cosine to the closest one in the sentences (as in BERTScore)."""
    import numpy as np

    pieces = np.concatenate([each.pieces for each in sentences])
    if not len(pieces) or not len(claim.pieces):
        return np.zeros(1, dtype=np.float32)
    closest: npt.NDArray[np.float32] = (claim.pieces @ pieces.T).max(axis=1)
    return closest
