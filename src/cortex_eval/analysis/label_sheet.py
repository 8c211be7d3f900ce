"""Which columns of a sheet of labels mean what: one label a row, one a rater and row, or a column for each person."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from cortex_eval.core import InputError, did_you_mean

IDS = ("id", "item", "case_id", "caseid", "test_id", "item_id", "case")
VALUES = ("label", "value", "score", "rating", "verdict")
RATERS = ("rater", "expert", "annotator", "reviewer", "labeler", "labeller", "person", "who", "by")
PLACES = ("turn", "repeat", "probability")
CONTEXT = (
    "question", "input", "prompt", "query", "reply", "answer", "output", "response", "actual_output", "expected",
    "expected_output", "reference", "context", "comment", "comments", "note", "notes", "reason", "explanation",
    "category", "language", "tier", "tags", "difficulty", "date", "time", "timestamp", "model", "run", "suite",
    "scorer", "split", "name", "title", "text",
)  # fmt: skip
"""What stands beside labels so that people see what they label."""
PASSES = ("pass", "passed", "yes", "true", "correct", "good", "supported")
FAILS = ("fail", "failed", "no", "false", "incorrect", "bad", "not_supported")
LONGEST_WORD = 40
"""Characters beyond which a cell is a text and no label."""


class Sheet(NamedTuple):
    """The columns of a sheet, as they are called there."""

    id: str
    values: tuple[str, ...]
    """Of the labels: in each row the first that it has, or, `by_person`, all of them."""
    by_person: bool
    """Each column of labels is one person's, who is called as the column."""
    rater: str | None
    places: Mapping[str, str]
    """turn, repeat and probability, where they are."""
    unread: tuple[str, ...]
    """Columns that are no labels as far as can be told, and none of what usually stands beside labels."""


def find_columns(
    rows: Sequence[Mapping[str, object]], *, named: Sequence[str] = (), positive: Sequence[str] = ()
) -> Sheet:
    """What the columns of these rows are; `named` are those of the labels, when somebody says so."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    known: dict[str, str] = {}
    for name in columns:
        known.setdefault(_plain(name), name)
    for name in named:
        if name not in columns:
            raise InputError(f"there is no column {name!r}. {did_you_mean(name, columns)}")
    id_column = _first(IDS, known)
    places = {name: known[name] for name in PLACES if name in known}
    rater = _first(RATERS, known)
    values = tuple(named) or tuple(known[name] for name in VALUES if name in known)
    others = [name for name in columns if name not in (id_column, *places.values()) and _plain(name) not in CONTEXT]
    by_person = len(named) > 1
    if id_column is not None and not values:
        values, by_person = _of_people([name for name in others if name != rater], rows, positive), True
    if id_column is None or not values:
        raise InputError(
            "needs the columns id and label, or id, rater and label, or id and a column for each person; "
            f"it has {', '.join(columns)}."
        )
    rater = None if by_person else rater
    unread = tuple(name for name in others if name not in (*values, rater))
    return Sheet(id_column, values, by_person, rater, places, unread)


def is_empty(cell: object) -> bool:
    """Whether nothing was written there."""
    return cell is None or (isinstance(cell, str) and not cell.strip())


def _of_people(
    columns: Sequence[str], rows: Sequence[Mapping[str, object]], positive: Sequence[str]
) -> tuple[str, ...]:
    """Those columns that hold labels: verdicts or numbers; words that come again and again where there are none."""
    cells = {name: [row[name] for row in rows if not is_empty(row.get(name))] for name in columns}
    filled = {name: [str(each).strip() for each in found] for name, found in cells.items() if found}
    if positive:
        return tuple(name for name, found in filled.items() if any(each in positive for each in found))
    sure = tuple(name for name, found in filled.items() if 2 * sum(map(_is_label, found)) >= len(found))
    return sure or tuple(name for name, found in filled.items() if _are_kinds(found))


def _is_label(word: str) -> bool:
    if word.casefold() in PASSES or word.casefold() in FAILS:
        return True
    try:
        float(word)
    except ValueError:
        return False
    return True


def _are_kinds(words: Sequence[str]) -> bool:
    return len(set(words)) <= max(2, len(words) // 2) and max(map(len, words)) <= LONGEST_WORD


def _first(names: Iterable[str], known: Mapping[str, str]) -> str | None:
    return next((known[name] for name in names if name in known), None)


def _plain(name: str) -> str:
    return name.strip().casefold().replace(" ", "_").replace("-", "_")
