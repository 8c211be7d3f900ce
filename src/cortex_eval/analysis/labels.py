"""What people said of items, read from a file: one label an item, or one of each person."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from cortex_eval.analysis.label_sheet import FAILS, PASSES, PLACES, Sheet, find_columns, is_empty
from cortex_eval.core import InputError, Problem, short_repr
from cortex_eval.datasets import read_rows

MOST_MISTAKES = 20
VARYING = r"'[^']*'|\d[\d.]*"
"""What differs between two rows with the same mistake."""


class Item(NamedTuple):
    """What a label speaks of: a case, and where it matters which, one turn or repeat of it (both from 0)."""

    id: str
    turn: int | None = None
    repeat: int | None = None


class Labels(NamedTuple):
    """Every label of a file."""

    ratings: dict[Item, dict[str, float | str]]
    """By item and rater; a rater without a name is ''. Numbers, or words when they are no verdicts."""
    probabilities: dict[Item, float]
    """With which an item was drawn for labelling, where the file says so."""
    unread: tuple[str, ...] = ()
    """Columns of the file that were not taken for labels, and are nothing else that is known."""

    @property
    def raters(self) -> list[str]:
        """Everybody who rated something."""
        return sorted({rater for by_rater in self.ratings.values() for rater in by_rater})

    @property
    def is_numeric(self) -> bool:
        """Whether all labels are numbers or verdicts."""
        return all(isinstance(each, float) for by_rater in self.ratings.values() for each in by_rater.values())


def read_labels(
    path: Path,
    *,
    positive: Sequence[str] = (),
    span: tuple[float, float] = (0.0, 1.0),
    columns: Sequence[str] = (),
    scale: str = "people rated: --label-range",
) -> Labels:
    """The labels of a file: `id, label`, or `id, rater, label`, or `id` and a column for each person.

    Words in `positive` are 1 and all others 0. Numbers are brought from `span` to 0..1. `columns` names that of the
    labels when it is called otherwise, or those of several people. `InputError` tells what is wrong, each mistake once.
    """
    if not span[0] < span[1]:
        raise InputError(f"A scale goes from its lowest value to its highest, not from {span[0]:g} to {span[1]:g}.")
    rows = [(row.line or number, row.values) for number, row in enumerate(read_rows(path), 1)]
    if not rows:
        raise InputError(f"{path}: there are no labels in it.")
    try:
        sheet = find_columns([values for _, values in rows], named=columns, positive=positive)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    found = Labels({}, {}, sheet.unread)
    mistakes: list[tuple[int, str]] = []
    for line, values in rows:
        try:
            _read_row(values, sheet, found, lambda label: _value(label, positive, span, scale))
        except InputError as error:
            mistakes.append((line, str(error)))
    if mistakes:
        raise InputError(_told_once(mistakes, path)[:MOST_MISTAKES])
    if not found.ratings:
        raise InputError(f"{path}: there are no labels in it.")
    if found.probabilities and len(found.probabilities) < len(found.ratings):
        raise InputError(f"{path}: only some rows have a probability. Fill the column for all, or leave it out.")
    return found


def _read_row(values: Mapping[str, object], sheet: Sheet, found: Labels, read: Callable[[object], float | str]) -> None:
    """Add the labels of one row; a person who left a cell empty did not rate the item."""
    if is_empty(values.get(sheet.id)):
        raise InputError(f"the {sheet.id} is empty.")
    turn, repeat, share = (values.get(sheet.places.get(name, "")) for name in PLACES)
    item = Item(str(values[sheet.id]), _place(turn), _place(repeat))
    if sheet.by_person:
        said = {name.strip(): values[name] for name in sheet.values if not is_empty(values.get(name))}
    else:
        column = next((name for name in sheet.values if name in values), sheet.values[0])
        if is_empty(values.get(column)):
            raise InputError(f"the {column} of {values[sheet.id]!r} is empty.")
        said = {str(values.get(sheet.rater or "") or "").strip(): values[column]}
    ratings = found.ratings.setdefault(item, {}) if said else {}
    for rater, label in said.items():
        if rater in ratings:
            raise InputError(f"{item.id!r} has two labels" + (f" by {rater!r}." if rater else "."))
        ratings[rater] = read(label)
    if said and not is_empty(share):
        found.probabilities[item] = _probability(share)


def _told_once(mistakes: Sequence[tuple[int, str]], path: Path) -> list[Problem]:
    """Each mistake in the words of its first row, with the rows where it comes again."""
    alike: dict[str, list[tuple[int, str]]] = {}
    for line, message in mistakes:
        alike.setdefault(re.sub(VARYING, "", message), []).append((line, message))
    problems = []
    for each in alike.values():
        (line, message), lines = each[0], [str(line) for line, _ in each]
        if len(each) > 1:
            more = f" and {len(each) - 3} more" if len(each) > 3 else ""
            message += f" So it is in {len(each)} rows: lines {', '.join(lines[:3])}{more}."
        problems.append(Problem(message=message, file=str(path), line=line, code="label"))
    return problems


def _place(value: object) -> int | None:
    if value is None or value == "":
        return None
    try:
        return int(str(value))
    except ValueError:
        raise InputError(f"turn and repeat are whole numbers from 0, not {short_repr(value)}.") from None


def _value(label: object, positive: Sequence[str], span: tuple[float, float], scale: str) -> float | str:
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
            f"the label {short_repr(label)} is not from {low:g} to {high:g}. Say on which scale {scale} 1 5."
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
