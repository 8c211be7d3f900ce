"""Datasets by name and content, and their cases."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any

import orjson

from cortex_eval.core import Case, DatasetVersion, InputError, case_from_json, did_you_mean
from cortex_eval.datasets import CaseReader, CaseRow, Facts
from cortex_eval.storage.database import Database, Transaction, now, storable

CASES = "cortex_cases (dataset_no, ordinal, case_id, category, tier, language, cluster_id, tags, turns, body)"
HELD_ROWS = 10_000
"""A dataset up to this size is held in memory while it is stored, so that storing it can be tried again."""


class Datasets:
    """Every dataset version that was imported or run."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def find(self, name: str, *, file_sha256: str = "", version: str = "") -> tuple[int, DatasetVersion] | None:
        """The dataset of this name with this file content or version; the newest one when neither is given."""
        rows = self._db.fetch(
            "SELECT no, name, version, cases, file, file_sha256, created FROM cortex_datasets "
            "WHERE name=? AND (?='' OR file_sha256=?) AND (?='' OR version=?) ORDER BY no DESC LIMIT 1",
            (name, file_sha256, file_sha256, version, version),
        )
        return (rows[0][0], dataset_from_row(rows[0][1:])) if rows else None

    def all(self) -> list[DatasetVersion]:
        """Every dataset version, newest first."""
        rows = self._db.fetch(
            "SELECT name, version, cases, file, file_sha256, created FROM cortex_datasets ORDER BY no DESC"
        )
        return [dataset_from_row(row) for row in rows]

    def keep(self, name: str, cases: CaseReader, *, file: str = "", file_sha256: str = "") -> tuple[int, str]:
        """Keep a dataset, all of it or nothing; gives its number and version.

        The same content under the same name is kept once.
        """
        name, file = storable(name), storable(file)
        rows = cases.rows()
        first = list(islice(rows, HELD_ROWS + 1))  # read before the transaction: a file may be slow
        is_all = len(first) <= HELD_ROWS

        def load(tx: Transaction) -> int:
            no: int = tx.fetch(
                "INSERT INTO cortex_datasets (name, version, cases, file, file_sha256, created) "
                "VALUES (?,?,0,?,?,?) RETURNING no",
                (name, secrets.token_hex(8), file, file_sha256, now()),
            )[0][0]
            tx.load(CASES, (_case_row(no, row) for row in chain(first, rows)))
            known = tx.fetch("SELECT no FROM cortex_datasets WHERE name=? AND version=?", (name, cases.version))
            if known:
                tx.fetch("DELETE FROM cortex_datasets WHERE no=?", (no,))
                no = known[0][0]
            tx.fetch(
                "UPDATE cortex_datasets SET version=?, cases=?, file=?, file_sha256=? WHERE no=?",
                (cases.version, cases.cases, file, file_sha256, no),
            )
            return no

        # Cases are read once: when a large dataset fails on the way that is told, and it is not there.
        return self._db.change(load, may_repeat=is_all), cases.version

    def size_of(self, dataset_no: int) -> int:
        """How many cases a dataset has."""
        return int(self._db.fetch("SELECT cases FROM cortex_datasets WHERE no=?", (dataset_no,))[0][0])

    def version_of(self, dataset_no: int) -> str:
        """The content hash of a dataset."""
        return str(self._db.fetch("SELECT version FROM cortex_datasets WHERE no=?", (dataset_no,))[0][0])

    def case_facts(self, dataset_no: int) -> Iterator[Facts]:
        """What selection needs to know of every case, in order."""
        rows = self._db.stream(
            "SELECT ordinal, case_id, category, tier, language, tags FROM cortex_cases "
            "WHERE dataset_no=? ORDER BY ordinal",
            (dataset_no,),
        )
        for ordinal, case_id, category, tier, language, tags in rows:
            yield Facts(ordinal, case_id, category, tier, language, tuple(orjson.loads(tags)) if tags else ())

    def cases_of(self, name: str) -> Iterator[Case]:
        """The cases of the newest version of a dataset, read as they are asked for."""
        found = self.find(name)
        if found is None:
            raise InputError(f"There is no dataset {name!r}. {did_you_mean(name, {each.name for each in self.all()})}")
        rows = self._db.stream("SELECT body FROM cortex_cases WHERE dataset_no=? ORDER BY ordinal", (found[0],))
        for (body,) in rows:
            yield case_from_json(body)

    def case_bodies(self, dataset_no: int, ordinals: Sequence[int]) -> list[tuple[int, bytes]]:
        """The JSON of these cases, in the order asked for."""
        if not ordinals:
            return []
        marks = ",".join("?" * len(ordinals))
        rows: dict[int, bytes] = dict(
            self._db.fetch(
                f"SELECT ordinal, body FROM cortex_cases WHERE dataset_no=? AND ordinal IN ({marks})",  # noqa: S608
                (dataset_no, *ordinals),
            )
        )
        return [(ordinal, rows[ordinal]) for ordinal in ordinals]


def _case_row(dataset_no: int, row: CaseRow) -> tuple[Any, ...]:
    tags = orjson.dumps(row.tags).decode() if row.tags else None
    return (
        dataset_no,
        row.ordinal,
        storable(row.id),
        _text(row.category),
        row.tier,
        _text(row.language),
        _text(row.cluster_id),
        tags,
        row.turns,
        row.json,
    )


def _text(value: str | None) -> str | None:
    return storable(value) if value else value


def dataset_from_row(row: Sequence[Any]) -> DatasetVersion:
    """The value behind a row of `cortex_datasets`."""
    name, version, cases, file, file_sha256, created = row
    return DatasetVersion(name=name, version=version, cases=cases, file=file, file_sha256=file_sha256, created=created)
