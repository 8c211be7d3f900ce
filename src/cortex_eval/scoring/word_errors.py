"""Word and character errors between what was said and what was heard: the counts of sclite, the rates of jiwer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import Literal, NamedTuple

LISTED_CELLS = 250_000
"""Up to so many pairs of words the edits are listed one by one; beyond it they are only counted."""
MAX_VARIANTS = 256

EditKind = Literal["substituted", "deleted", "inserted"]


class Edit(NamedTuple):
    """One word that was heard wrongly, missed, or made up."""

    kind: EditKind
    wanted: str
    heard: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WordErrors:
    """Errors of one transcript; those of several can be added up by field to the errors of a whole test."""

    words: int
    """Of the reference."""
    substituted: int
    deleted: int
    inserted: int

    @property
    def errors(self) -> int:
        """All of them."""
        return self.substituted + self.deleted + self.inserted

    @property
    def rate(self) -> float | None:
        """Errors per word of the reference; None when it has no words."""
        return self.errors / self.words if self.words else None


def count_errors(wanted: Sequence[str], heard: Sequence[str]) -> WordErrors:
    """The fewest errors that turn one list of words into the other; among equals, the fewest substitutions.

    The number of errors is that of Levenshtein 1966, as in jiwer. The split of it is the one that sclite's weights
    (4 for a substitution, 3 for the others) give wherever those do not ask for more errors than needed.
    """
    from rapidfuzz.distance import Levenshtein  # imported late: 40 ms

    # One figure for both: a substitution costs a little more, and all substitutions together less than one error.
    weight = len(wanted) + len(heard) + 1
    cost = Levenshtein.distance(wanted, heard, weights=(weight, weight, weight + 1))
    errors, substituted = divmod(cost, weight)
    deleted = (errors - substituted + len(wanted) - len(heard)) // 2
    return WordErrors(
        words=len(wanted), substituted=substituted, deleted=deleted, inserted=errors - substituted - deleted
    )


def list_edits(wanted: Sequence[str], heard: Sequence[str]) -> list[Edit] | None:
    """The errors of `count_errors` one by one, in order; None when the texts are too long to list them."""
    start = 0
    while start < min(len(wanted), len(heard)) and wanted[start] == heard[start]:
        start += 1
    wanted, heard = wanted[start:], heard[start:]
    if len(wanted) * len(heard) > LISTED_CELLS:
        return None
    costs = _costs(wanted, heard)
    weight = len(wanted) + len(heard) + 1
    edits: list[Edit] = []
    i = j = 0
    while i < len(wanted) or j < len(heard):
        here = costs[i][j]
        if i < len(wanted) and j < len(heard):
            is_same = wanted[i] == heard[j]
            if here == costs[i + 1][j + 1] + (0 if is_same else weight + 1):
                if not is_same:
                    edits.append(Edit("substituted", wanted[i], heard[j]))
                i, j = i + 1, j + 1
                continue
        if i < len(wanted) and here == costs[i + 1][j] + weight:
            edits.append(Edit("deleted", wanted[i], ""))
            i += 1
        else:
            edits.append(Edit("inserted", "", heard[j]))
            j += 1
    return edits


def variants(reference: str) -> list[str]:
    """The texts that a reference with alternatives stands for, in the way of NIST: `{ color / colour }`, `{ @ / the }`.

    `@` is the empty alternative. A reference without them stands for itself; of very many, the first 256 are taken.
    """
    if "{" not in reference:
        return [reference]
    import re

    parts = re.split(r"\{\s+([^{}]*?)\s+\}", reference)
    if len(parts) == 1:
        return [reference]
    choices = [[part] if i % 2 == 0 else re.split(r"\s+/\s+", part) for i, part in enumerate(parts)]
    return [
        "".join("" if each == "@" else each for each in chosen) for chosen in islice(product(*choices), MAX_VARIANTS)
    ]


def _costs(wanted: Sequence[str], heard: Sequence[str]) -> list[list[int]]:
    """What it costs to turn the rest of one list, from each place on, into the rest of the other."""
    weight = len(wanted) + len(heard) + 1
    below = [(len(heard) - j) * weight for j in range(len(heard) + 1)]
    rows = [below]
    for i in range(len(wanted) - 1, -1, -1):
        row = [0] * (len(heard) + 1)
        row[-1] = below[-1] + weight
        word = wanted[i]
        for j in range(len(heard) - 1, -1, -1):
            if word == heard[j]:
                row[j] = min(below[j + 1], below[j] + weight, row[j + 1] + weight)
            else:
                row[j] = min(below[j + 1] + weight + 1, below[j] + weight, row[j + 1] + weight)
        rows.append(row)
        below = row
    rows.reverse()
    return rows
