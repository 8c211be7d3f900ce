"""What people said of items, read from a file: one label an item, or one a rater."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from cortex_eval.core import InputError, Problem, short_repr
from cortex_eval.datasets import read_rows

IDS = ("id", "item", "case_id", "caseId", "test_id")
VALUES = ("label", "value", "score", "rating", "verdict")
PASSES = ("pass", "passed", "yes", "true", "correct", "good", "supported")
FAILS = ("fail", "failed", "no", "false", "incorrect", "bad", "not_supported")


class Item(NamedTuple):
    """What a label speaks of: a case, and where it matters which, one turn or repeat of it (both from 0)."""

    id: str
    turn: int | None = None
    repeat: int | None = None


class Labels(NamedTuple):
    """Every label of a file."""

    ratings: Mapping[Item, Mapping[str, float | str]]
    """By item and rater; a rater without a name is ''. Numbers, or words when they are no verdicts."""
    probabilities: Mapping[Item, float]
    """With which an item was drawn for labelling, where the file says so."""

    @property
    def raters(self) -> list[str]:
        """Everybody who rated something."""
        return sorted({rater for by_rater in self.ratings.values() for rater in by_rater})

    @property
    def is_numeric(self) -> bool:
        """Whether all labels are numbers or verdicts."""
        return all(isinstance(each, float) for by_rater in self.ratings.values() for each in by_rater.values())


def read_labels(
    path: Path, *, positive: Sequence[str] = (), span: tuple[float, float] = (0.0, 1.0), value: str = ""
) -> Labels:
    """The labels in a file with the columns `id, label` or `item, rater, value`; `InputError` tells what is wrong.

    Words in `positive` are 1 and all others 0. Numbers are brought from `span` to 0..1. `value` names the column of
    the labels when it is called otherwise.
    """
    ratings: dict[Item, dict[str, float | str]] = {}
    probabilities: dict[Item, float] = {}
    problems: list[Problem] = []
    for number, row in enumerate(read_rows(path), 1):
        try:
            item, rater, label = _row(row.values, value)
            read = _value(label, positive, span)
            if rater in ratings.get(item, ()):
                raise InputError(f"{item.id!r} has two labels" + (f" by {rater!r}." if rater else "."))
            ratings.setdefault(item, {})[rater] = read
            if (share := row.values.get("probability")) not in (None, ""):
                probabilities[item] = _probability(share)
        except InputError as error:
            problems.append(Problem(message=str(error), file=str(path), line=row.line or number, code="label"))
    if problems:
        raise InputError(problems[:20])
    if not ratings:
        raise InputError(f"{path}: there are no labels in it.")
    if probabilities and len(probabilities) < len(ratings):
        raise InputError(f"{path}: only some rows have a probability. Fill the column for all, or leave it out.")
    return Labels(ratings, probabilities)


def _row(values: Mapping[str, object], value: str) -> tuple[Item, str, object]:
    id_column = next((name for name in IDS if name in values), None)
    column = value or next((name for name in VALUES if name in values), None)
    if id_column is None or column is None or column not in values:
        raise InputError(f"needs the columns id and label, or item, rater and value; it has {', '.join(values)}.")
    label = values[column]
    if label is None or (isinstance(label, str) and not label.strip()):
        raise InputError(f"the {column} of {values[id_column]!r} is empty.")
    item = Item(str(values[id_column]), _place(values.get("turn")), _place(values.get("repeat")))
    return item, str(values.get("rater") or ""), label


def _place(value: object) -> int | None:
    if value is None or value == "":
        return None
    try:
        return int(str(value))
    except ValueError:
        raise InputError(f"turn and repeat are whole numbers from 0, not {short_repr(value)}.") from None


def _value(label: object, positive: Sequence[str], span: tuple[float, float]) -> float | str:
    if positive:
        return float(str(label).strip() in positive)
    if isinstance(label, bool):
        return float(label)
    word = str(label).strip()
    if word.casefold() in PASSES or word.casefold() in FAILS:
        return float(word.casefold() in PASSES)
    try:
        number = float(word)
    except ValueError:
        return word
    low, high = span
    if not math.isfinite(number) or not low <= number <= high:
        raise InputError(
            f"the label {short_repr(label)} is not from {low:g} to {high:g}. Say on which scale people rated: "
            "--label-range 1 5."
        )
    return (number - low) / (high - low)


def _probability(value: object) -> float:
    try:
        share = float(str(value))
    except ValueError:
        share = math.nan
    if not 0 < share <= 1:
        raise InputError(f"a probability is a number above 0, up to 1, not {short_repr(value)}.")
    return share
