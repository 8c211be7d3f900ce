"""What a dataset tries out: each intent in one turn, in several, with context, with entities, at the edge."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import orjson

from cortex_eval.core import Case, InputError, to_json

Kind = Literal["single_turn", "multi_turn", "context", "entity_heavy", "edge_case"]
Rows = Literal["intent", "category"]

KINDS: tuple[Kind, ...] = ("single_turn", "multi_turn", "context", "entity_heavy", "edge_case")
ENTITY_HEAVY = 2
"""Expected entities that make a turn heavy with them."""
NOT_STATED = "(none)"
CELLS_KEPT = 20_000
"""Different intents, categories and kinds counted apart: an intent of its own for every case would fill the memory."""
_EDGES = frozenset({"edge", "edge_case", "edge_cases", "adversarial"})
_CONTEXTS = frozenset({"context", "context_dependent", "coreference"})
_SINGLE, _MULTI, _CONTEXT, _ENTITIES, _EDGE = (1 << place for place in range(len(KINDS)))
_SEPARATORS = re.compile(r"[\s_-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverageRow:
    """How one intent, or category, is tried out."""

    turns: int
    """All turns that expect this intent, or stand in this category; repeats are not counted."""
    counts: Mapping[str, int]
    """Turns of each of `KINDS`; a turn can be of several."""

    @property
    def gaps(self) -> tuple[Kind, ...]:
        """The kinds that are never tried."""
        return tuple(kind for kind in KINDS if not self.counts[kind])


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """The coverage matrix of a dataset, or of the cases that a run played."""

    by: Rows
    """What the rows are: intents where any are expected, else categories."""
    cases: int
    turns: int
    rows: Mapping[str, CoverageRow]
    """Most turns first; `(none)` are the turns that state no intent while others do."""
    left_out: int = 0
    """Turns that are in no row, because there are too many different ones to count apart."""

    @property
    def gaps(self) -> int:
        """Cells of the matrix without a single turn."""
        return sum(len(row.gaps) for row in self.rows.values())

    @property
    def cells(self) -> int:
        """Cells of the matrix."""
        return len(self.rows) * len(KINDS)

    def to_dict(self) -> dict[str, Any]:
        """As it stands in the report file and in `cortex datasets coverage --json`."""
        return {
            "by": self.by,
            "cases": self.cases,
            "turns": self.turns,
            "columns": list(KINDS),
            "rows": {
                name: {"turns": row.turns, **row.counts, "gaps": list(row.gaps)} for name, row in self.rows.items()
            },
            "cells": self.cells,
            "gaps": self.gaps,
            "left_out": self.left_out,
        }


class Coverages:
    """Counts each case that goes by, in its stored form; only counts are kept."""

    def __init__(self) -> None:
        self.cases = 0
        self._cells: dict[tuple[str | None, str | None, int], int] = {}
        """Turns by intent, category and kinds, one bit for each kind."""
        self._spelled: dict[str, str] = {}
        self._labelled: dict[tuple[str | None, tuple[str, ...]], int] = {}
        self._left_out = 0

    def add(self, case: bytes, category: str | None, tags: tuple[str, ...] = ()) -> None:
        """Count one case, given as JSON."""
        self.cases += 1
        label = (category, tags)
        given = self._labelled.get(label)
        if given is None:
            given = self._labels(label)
        if case.count(b'"text":') == 1 and not (
            b'"intent"' in case or b'"entities"' in case or b'"context"' in case or b'"requires_context"' in case
        ):  # one plain question, as in most datasets: nothing in it needs to be read
            self._count(None, category, given | _SINGLE)
            return
        read = orjson.loads(case)
        turns, has_history = read["turns"], "history" in read
        given |= _MULTI if has_history or len(turns) > 1 else _SINGLE
        if has_history or (len(turns) == 1 and "context" in read):
            given |= _CONTEXT
        for turn in turns:
            expected, kinds = turn.get("expected"), given
            if "requires_context" in turn:
                kinds |= _CONTEXT
            intent = None
            if expected is not None:
                intent = expected.get("intent")
                if "entities" in expected and _entities(expected["entities"]) >= ENTITY_HEAVY:
                    kinds |= _ENTITIES
            self._count(intent, category, kinds)

    def summed(self, by: Rows | None = None) -> Coverage | None:
        """The matrix so far; None when there is nothing to make rows of."""
        if by is None:
            by = "intent" if any(intent is not None for intent, _, _ in self._cells) else "category"
        counted: dict[str | None, list[int]] = {}
        for (intent, category, kinds), turns in self._cells.items():
            name = self._as_first_spelled(intent) if by == "intent" else category
            row = counted.setdefault(name, [0] * (len(KINDS) + 1))
            row[-1] += turns
            for place in range(len(KINDS)):
                row[place] += turns if kinds >> place & 1 else 0
        if all(name is None for name in counted):
            return None
        order = sorted(counted, key=lambda name: (name is None, -counted[name][-1], name or ""))
        rows = {
            NOT_STATED if name is None else name: CoverageRow(
                turns=counted[name][-1], counts=dict(zip(KINDS, counted[name], strict=False))
            )
            for name in order
        }
        turns = sum(self._cells.values()) + self._left_out
        return Coverage(by=by, cases=self.cases, turns=turns, rows=rows, left_out=self._left_out)

    def _count(self, intent: str | None, category: str | None, kinds: int) -> None:
        cell = (intent, category, kinds)
        turns = self._cells.get(cell)
        if turns is None and len(self._cells) >= CELLS_KEPT:
            self._left_out += 1
        else:
            self._cells[cell] = 1 if turns is None else turns + 1

    def _labels(self, label: tuple[str | None, tuple[str, ...]]) -> int:
        """The kinds that category and tags name."""
        names = {_name(each) for each in (label[0], *label[1]) if each}
        kinds = (_EDGE if names & _EDGES else 0) | (_CONTEXT if names & _CONTEXTS else 0)
        if len(self._labelled) < CELLS_KEPT:
            self._labelled[label] = kinds
        return kinds

    def _as_first_spelled(self, intent: str | None) -> str | None:
        """data-search and DATA_SEARCH are one."""
        return None if intent is None else self._spelled.setdefault(_name(intent), intent)


def coverage_of(cases: Iterable[Case], *, by: Rows | None = None) -> Coverage:
    """The coverage matrix of these cases; `by` None: intents where any are expected, else categories."""
    found = Coverages()
    for case in cases:
        found.add(to_json(case), case.category, case.tags)
    matrix = found.summed(by)
    if matrix is None:
        wanted = {"intent": "expects an intent", "category": "states a category"}
        lacks = wanted[by] if by else f"{wanted['intent']} or {wanted['category']}"
        raise InputError(f"None of the {found.cases:,} cases {lacks}, so there is nothing to make rows of.")
    return matrix


def _name(label: str) -> str:
    return _SEPARATORS.sub("_", label.strip()).casefold()


def _entities(expected: Any) -> int:  # Any: whatever JSON holds
    """How many values are expected, those within lists and mappings counted one by one."""
    if isinstance(expected, dict):
        return sum(map(_entities, expected.values()))
    if isinstance(expected, list):
        return sum(map(_entities, expected))
    return 0 if expected is None else 1
