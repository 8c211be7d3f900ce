"""Datasets by name and content, and their cases."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any

import orjson

from cortex_eval.core import Case, DatasetVersion, InputError, case_from_json, did_you_mean
from cortex_eval.datasets import CaseReader, CaseRow, Facts
from cortex_eval.storage.database import Database, now
from cortex_eval.storage.writer import MOST_ROWS, Statement

INSERT_CASE = Statement("INSERT INTO cortex_cases", "(?,?,?,?,?,?,?,?,?,?)")


class Datasets:
    """Every dataset version that was imported or run."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def find(self, name: str, *, file_sha256: str = "", version: str = "") -> tuple[int, DatasetVersion] | None:
        """The dataset of this name with this file content or version; the newest one when neither is given."""
        with self._db.reading() as connection:
            row = connection.execute(
                "SELECT no, name, version, cases, file, file_sha256, created FROM cortex_datasets "
                "WHERE name=? AND (?='' OR file_sha256=?) AND (?='' OR version=?) ORDER BY no DESC LIMIT 1",
                (name, file_sha256, file_sha256, version, version),
            ).fetchone()
        return (row[0], dataset_from_row(row[1:])) if row else None

    def all(self) -> list[DatasetVersion]:
        """Every dataset version, newest first."""
        with self._db.reading() as connection:
            rows = connection.execute(
                "SELECT name, version, cases, file, file_sha256, created FROM cortex_datasets ORDER BY no DESC"
            ).fetchall()
        return [dataset_from_row(row) for row in rows]

    def keep(self, name: str, cases: CaseReader, *, file: str = "", file_sha256: str = "") -> tuple[int, str]:
        """Keep a dataset, all of it or nothing; gives its number and version.

        The same content under the same name is kept once.
        """
        with self._db.changing() as connection:
            no = connection.execute(
                "INSERT INTO cortex_datasets (name, version, cases, file, file_sha256, created) VALUES (?,?,0,?,?,?)",
                (name, secrets.token_hex(8), file, file_sha256, now()),
            ).lastrowid
            assert no is not None
            rows = (_case_row(no, row) for row in cases.rows())
            while chunk := list(islice(rows, MOST_ROWS)):
                connection.execute(INSERT_CASE.sql(len(chunk)), list(chain.from_iterable(chunk)))
            known = connection.execute(
                "SELECT no FROM cortex_datasets WHERE name=? AND version=?", (name, cases.version)
            ).fetchone()
            if known:
                connection.execute("DELETE FROM cortex_datasets WHERE no=?", (no,))
                no = int(known[0])
            connection.execute(
                "UPDATE cortex_datasets SET version=?, cases=?, file=?, file_sha256=? WHERE no=?",
                (cases.version, cases.cases, file, file_sha256, no),
            )
        return no, cases.version

    def size_of(self, dataset_no: int) -> int:
        """How many cases a dataset has."""
        with self._db.reading() as connection:
            row = connection.execute("SELECT cases FROM cortex_datasets WHERE no=?", (dataset_no,)).fetchone()
        return int(row[0])

    def version_of(self, dataset_no: int) -> str:
        """The content hash of a dataset."""
        with self._db.reading() as connection:
            row = connection.execute("SELECT version FROM cortex_datasets WHERE no=?", (dataset_no,)).fetchone()
        return str(row[0])

    def case_facts(self, dataset_no: int) -> Iterator[Facts]:
        """What selection needs to know of every case, in order."""
        with self._db.reading() as connection:
            rows = connection.execute(
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
        with self._db.reading() as connection:
            rows = connection.execute("SELECT body FROM cortex_cases WHERE dataset_no=? ORDER BY ordinal", (found[0],))
            for (body,) in rows:
                yield case_from_json(body)

    def case_bodies(self, dataset_no: int, ordinals: Sequence[int]) -> list[tuple[int, bytes]]:
        """The JSON of these cases, in the order asked for."""
        marks = ",".join("?" * len(ordinals))
        with self._db.reading() as connection:
            rows = dict(
                connection.execute(
                    f"SELECT ordinal, body FROM cortex_cases WHERE dataset_no=? AND ordinal IN ({marks})",  # noqa: S608
                    (dataset_no, *ordinals),
                ).fetchall()
            )
        return [(ordinal, rows[ordinal]) for ordinal in ordinals]


def _case_row(dataset_no: int, row: CaseRow) -> tuple[Any, ...]:
    tags = orjson.dumps(row.tags).decode() if row.tags else None
    return (
        dataset_no,
        row.ordinal,
        row.id,
        row.category,
        row.tier,
        row.language,
        row.cluster_id,
        tags,
        row.turns,
        row.json,
    )


def dataset_from_row(row: Sequence[Any]) -> DatasetVersion:
    """The value behind a row of `cortex_datasets`."""
    name, version, cases, file, file_sha256, created = row
    return DatasetVersion(name=name, version=version, cases=cases, file=file, file_sha256=file_sha256, created=created)
