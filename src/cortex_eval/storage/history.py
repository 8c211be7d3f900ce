"""What trends are made of: what came of finished runs, runs made elsewhere, and how verdicts of two runs differ."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Literal, NamedTuple

import orjson

from cortex_eval.core import redact_bytes, to_json
from cortex_eval.datasets import CaseRow
from cortex_eval.storage.cases import LAST_ATTEMPT, REUSED
from cortex_eval.storage.database import Database, Transaction, now, storable

VERDICTS = f"""SELECT r.ordinal AS ordinal,
        MIN(CASE r.state WHEN 'passed' THEN 1 WHEN 'failed' THEN 0 ELSE -1 END) AS verdict
    FROM cortex_results r JOIN cortex_runs u ON u.no=r.run_no
    WHERE r.run_no=? AND r.repeat<u.repeats AND {LAST_ATTEMPT} {{and_more}} GROUP BY r.ordinal"""  # noqa: S608  # ours
"""Place of a case → 1 when all its turns and repeats passed, 0 when one failed, -1 when one ended in an error."""
ANSWERED = f"""(SELECT count(*) FROM cortex_results r WHERE r.run_no=old.no AND r.ordinal=was.ordinal AND r.repeat<?
    AND r.repeat<old.repeats AND r.reply IS NOT NULL AND {LAST_ATTEMPT})"""  # noqa: S608  # as above
"""Turns of a case that were answered in a run, over its first repeats: how many of those."""
Standing = Literal["same", "changed", "unanswered"]
LOOKED_UP_AT_ONCE = 500
"""Cases in one statement."""


class FinishedRun(NamedTuple):
    """What came of a run, without its results."""

    id: str
    suite: str
    target: str
    status: str
    finished: str
    summary: Mapping[str, Any]  # Any: the report file


class OutsideRun(NamedTuple):
    """A run that was made elsewhere, as it is kept."""

    suite: str
    target: str
    run_id: str
    finished: str
    body: Mapping[str, Any]  # Any: JSON of whoever keeps it


class Verdicts(NamedTuple):
    """The verdicts of two runs side by side."""

    compared: int
    """Cases with a verdict in both."""
    changed: frozenset[str]
    """Ids of those with different ones."""


class History:
    """Runs that are over, this store's own and imported ones."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def finished(
        self, *, suite: str = "", target: str = "", before: str = "", limit: int = 1_000_000
    ) -> list[FinishedRun]:
        """Finished runs, newest first; `before` names a run that they are older than. Rescored ones are left out:
        the target was not asked in them."""
        rows = self._db.fetch(
            """SELECT id, suite, target_name, status, finished, summary FROM cortex_runs
            WHERE (?='' OR suite=?) AND (?='' OR target_name=?) AND summary IS NOT NULL AND finished IS NOT NULL
            AND parent_id IS NULL AND (?='' OR no < (SELECT no FROM cortex_runs WHERE id=?))
            ORDER BY no DESC LIMIT ?""",
            (suite, suite, target, target, before, before, limit),
        )
        return [FinishedRun._make((*row[:-1], orjson.loads(row[-1]))) for row in rows]

    def is_own(self, run_id: str) -> bool:
        """Whether a run of this id was made with this store."""
        return bool(self._db.fetch("SELECT 1 FROM cortex_runs WHERE id=?", (run_id,)))

    def imported(
        self, *, suite: str = "", target: str = "", until: str = "", limit: int = 1_000_000
    ) -> list[OutsideRun]:
        """Runs made elsewhere, newest first; `until`: finished no later than this."""
        rows = self._db.fetch(
            """SELECT suite, target, run_id, finished, body FROM cortex_history
            WHERE (?='' OR suite=?) AND (?='' OR target=?) AND (?='' OR finished<=?)
            ORDER BY finished DESC, run_id LIMIT ?""",
            (suite, suite, target, target, until, until, limit),
        )
        return [OutsideRun._make((*row[:-1], orjson.loads(row[-1]))) for row in rows]

    def keep(self, runs: Sequence[OutsideRun]) -> None:
        """Keep runs made elsewhere, all of them or none; one that is there already is replaced."""

        def store(tx: Transaction) -> None:
            for run in runs:
                tx.fetch(
                    """INSERT INTO cortex_history (suite, target, run_id, finished, body, created)
                    VALUES (?,?,?,?,?,?) ON CONFLICT (suite, target, run_id) DO UPDATE
                    SET finished=excluded.finished, body=excluded.body""",
                    (*map(storable, run[:4]), redact_bytes(to_json(run.body)), now()),
                )

        self._db.change(store)

    def forget(self, run_id: str) -> int:
        """Remove what was imported under this id; gives how many points that were."""
        sql = "DELETE FROM cortex_history WHERE run_id=? RETURNING run_id"
        return len(self._db.change(lambda tx: tx.fetch(sql, (run_id,))))

    def compare_verdicts(self, run_id: str, other_id: str, *, without: Collection[str] = ()) -> Verdicts:
        """The cases that both runs have a verdict on, and those with different ones.

        Left out are the cases that `without` names, and a verdict that the first run took over from another one,
        which says nothing.
        """
        sql = """SELECT CASE WHEN a.verdict<>b.verdict THEN c.case_id END AS changed, count(*)
            FROM cortex_cases c JOIN ({own}) a ON a.ordinal=c.ordinal {cases} JOIN ({other}) b ON b.ordinal={place}
            WHERE c.dataset_no=? AND a.verdict>=0 AND b.verdict>=0 {but} GROUP BY 1"""
        own, other = VERDICTS.format(and_more=f"AND r.cached<>{REUSED}"), VERDICTS.format(and_more="")
        (own_no, dataset_no), (other_no, others) = map(self._numbers, (run_id, other_id))
        cases, place, between = "JOIN cortex_cases o ON o.dataset_no=? AND o.case_id=c.case_id", "o.ordinal", [others]
        if dataset_no == others:
            cases, place, between = "", "c.ordinal", []
        but = f"AND c.case_id NOT IN ({','.join('?' * len(without))})" if without else ""
        sql = sql.format(own=own, other=other, cases=cases, place=place, but=but)
        rows = self._db.fetch(sql, (own_no, *between, other_no, dataset_no, *map(storable, without)))
        changed = frozenset(case_id for case_id, _ in rows if case_id is not None)
        return Verdicts(sum(count for _, count in rows), changed)

    def _numbers(self, run_id: str) -> tuple[int, int]:
        no, dataset_no = self._db.fetch("SELECT no, dataset_no FROM cortex_runs WHERE id=?", (run_id,))[0]
        return no, dataset_no

    def undecided_cases(self, run_id: str) -> frozenset[str]:
        """The cases of a run whose repeats ended with different verdicts; errors are none."""
        rows = self._db.fetch(
            f"""SELECT case_id FROM (
                SELECT c.case_id AS case_id, r.repeat AS repeat,
                    MIN(CASE r.state WHEN 'passed' THEN 1 WHEN 'failed' THEN 0 ELSE -1 END) AS verdict
                FROM cortex_runs u JOIN cortex_results r ON r.run_no=u.no
                JOIN cortex_cases c ON c.dataset_no=u.dataset_no AND c.ordinal=r.ordinal
                WHERE u.id=? AND r.repeat<u.repeats AND {LAST_ATTEMPT} GROUP BY c.case_id, r.repeat) each_repeat
            WHERE verdict>=0 GROUP BY case_id HAVING MIN(verdict)<>MAX(verdict)""",  # noqa: S608  # as above
            (run_id,),
        )
        return frozenset(case_id for (case_id,) in rows)

    def standing(self, run_no: int, dataset_no: int, repeats: int) -> dict[int, Standing]:
        """How the cases of a dataset stand to a run: place → the same and answered whole, the same, or changed.

        A case that the run did not have in its dataset is not there.
        """
        rows = self._db.stream(
            f"""SELECT now.ordinal, CASE WHEN now.body<>was.body THEN 'changed'
                WHEN now.turns * ? = {ANSWERED} THEN 'same' ELSE 'unanswered' END
            FROM cortex_runs old JOIN cortex_cases was ON was.dataset_no=old.dataset_no
            JOIN cortex_cases now ON now.dataset_no=? AND now.case_id=was.case_id
            WHERE old.no=? ORDER BY now.ordinal""",  # noqa: S608  # as above
            (repeats, repeats, dataset_no, run_no),
        )
        return {row[0]: row[1] for row in rows}

    def standing_of(self, cases: Iterable[CaseRow], run_no: int, repeats: int) -> dict[int, Standing]:
        """The same of cases that are not kept: nothing is written."""
        rows, found = iter(cases), dict[int, Standing]()
        while chunk := list(islice(rows, LOOKED_UP_AT_ONCE)):
            found.update(self._standing_of(chunk, run_no, repeats))
        return found

    def _standing_of(self, cases: Sequence[CaseRow], run_no: int, repeats: int) -> Iterator[tuple[int, Standing]]:
        ids = [storable(row.id) for row in cases]
        marks = ",".join("?" * len(ids))
        rows = self._db.fetch(
            f"""SELECT was.case_id, was.body, {ANSWERED} FROM cortex_runs old
            JOIN cortex_cases was ON was.dataset_no=old.dataset_no
            WHERE old.no=? AND was.case_id IN ({marks})""",  # noqa: S608  # as above
            (repeats, run_no, *ids),
        )
        kept = {case_id: (body, answered) for case_id, body, answered in rows}
        for row, case_id in zip(cases, ids, strict=True):
            if case_id in kept:
                body, answered = kept[case_id]
                is_whole = answered == row.turns * repeats
                yield row.ordinal, "changed" if body != row.json else "same" if is_whole else "unanswered"

    def unjudged(self, run_no: int, repeats: int) -> dict[str, int]:
        """Ids of cases without a verdict, with how many of their first repeats in that run lack one."""
        rows = self._db.fetch(
            f"""SELECT c.case_id, count(DISTINCT r.repeat) FROM cortex_runs u JOIN cortex_results r ON r.run_no=u.no
            JOIN cortex_cases c ON c.dataset_no=u.dataset_no AND c.ordinal=r.ordinal
            WHERE u.no=? AND r.repeat<? AND r.repeat<u.repeats AND r.state NOT IN ('passed', 'failed')
            AND {LAST_ATTEMPT} GROUP BY c.case_id""",  # noqa: S608  # as above
            (run_no, repeats),
        )
        return dict(rows)
