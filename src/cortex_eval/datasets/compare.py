"""What changed between two datasets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cortex_eval.core import Case, case_from_json
from cortex_eval.datasets.files import CaseReader, cases_from, read_cases
from cortex_eval.datasets.write import canonical_row

Dataset = str | Path | CaseReader | Iterable[Case | Mapping[str, Any]]  # Any: JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedCase:
    """A case that both datasets have, but not with the same content."""

    id: str
    fields: tuple[str, ...]
    """What is not the same, such as `input`, `expected.answer` or `turns[1].expected.intent`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetDiff:
    """What one has to do to get from the first dataset to the second."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[ChangedCase, ...]
    unchanged: int
    is_reordered: bool
    """The cases that both have do not come in the same order."""
    old_version: str
    new_version: str

    @property
    def is_same(self) -> bool:
        """Whether both have the same cases in the same order."""
        return self.old_version == self.new_version

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """The machine-readable answer of `cortex datasets diff --json`."""
        return {
            "added": list(self.added),
            "removed": list(self.removed),
            "changed": [{"id": each.id, "fields": list(each.fields)} for each in self.changed],
            "unchanged": self.unchanged,
            "reordered": self.is_reordered,
            "old_version": self.old_version,
            "new_version": self.new_version,
        }


def compare_datasets(old: Dataset, new: Dataset) -> DatasetDiff:
    """Cases that were added, removed or changed, by id; the first dataset is held in memory, the second streams by."""
    before_reader, after_reader = _reader(old), _reader(new)
    before = {row.id: (row.ordinal, row.json) for row in before_reader.rows()}
    added: list[str] = []
    changed: list[ChangedCase] = []
    kept: list[int] = []
    for row in after_reader.rows():
        found = before.pop(row.id, None)
        if found is None:
            added.append(row.id)
            continue
        ordinal, json = found
        kept.append(ordinal)
        if json != row.json:
            fields = tuple(_differing(_row(json), _row(row.json)))
            if fields:  # keys in another order are no change
                changed.append(ChangedCase(id=row.id, fields=fields))
    return DatasetDiff(
        added=tuple(added),
        removed=tuple(before),
        changed=tuple(changed),
        unchanged=len(kept) - len(changed),
        is_reordered=kept != sorted(kept),
        old_version=before_reader.version,
        new_version=after_reader.version,
    )


def _reader(dataset: Dataset) -> CaseReader:
    if isinstance(dataset, CaseReader):
        return dataset
    return read_cases(dataset) if isinstance(dataset, str | Path) else cases_from(dataset)


def _row(json: bytes) -> dict[str, Any]:  # Any: JSON
    return canonical_row(case_from_json(json))


_NOT_THERE = object()


def _differing(old: object, new: object, path: str = "") -> Iterator[str]:
    """The paths of the fields that differ; lists of turns are looked into, other lists are one value."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in [*old, *(key for key in new if key not in old)]:
            place = f"{path}.{key}" if path else str(key)
            yield from _differing(old.get(key, _NOT_THERE), new.get(key, _NOT_THERE), place)
    elif path == "turns" and isinstance(old, list) and isinstance(new, list):
        for index in range(max(len(old), len(new))):
            was, is_now = (side[index] if index < len(side) else _NOT_THERE for side in (old, new))
            yield from _differing(was, is_now, f"turns[{index}]")
    elif old != new:
        yield path
