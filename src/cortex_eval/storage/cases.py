"""A case in the store, from the dataset it came with to its replies and verdicts."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

import orjson

from cortex_eval.core import (
    Case,
    DatasetVersion,
    Failure,
    InputError,
    Reply,
    Result,
    State,
    case_from_json,
    changed,
    did_you_mean,
    redact,
    redact_bytes,
    reply_from_json,
    reply_to_json,
)
from cortex_eval.datasets import CaseReader, CaseRow, Facts
from cortex_eval.scoring import Judged
from cortex_eval.storage.database import Database, Row, Transaction, now, storable
from cortex_eval.storage.leases import Leases
from cortex_eval.storage.writer import Statement

CASES = "cortex_cases (dataset_no, ordinal, case_id, category, tier, language, cluster_id, tags, turns, body)"
HELD_ROWS = 10_000
"""A dataset up to this size is held in memory while it is stored, so that storing it can be tried again."""
READ_AT_ONCE = 200
"""Cases whose results are read together where their order is not that of the dataset."""
FENCED = "(SELECT no FROM cortex_runs WHERE no=? AND epoch=? /*FOR SHARE*/)"
"""A run's number, or nothing when the run has another epoch by now; a result without a run is refused."""
INSERT_REPLY = Statement(
    """INSERT INTO cortex_results (run_no, ordinal, repeat, turn, attempt, state, attempts, latency_ms, cached,
    timestamp, reply, raw)""",
    f"({FENCED},?,?,?,?,'pending',?,?,?,?,?,?)",
    "ON CONFLICT (run_no, ordinal, repeat, turn, attempt) DO NOTHING",
    is_fenced=True,
)
INSERT_ERROR = Statement(
    """INSERT INTO cortex_results (run_no, ordinal, repeat, turn, attempt, state, attempts, cached, timestamp,
    error_kind, error_message)""",
    f"({FENCED},?,?,?,?,'error_target',?,0,?,?,?)",
    "ON CONFLICT (run_no, ordinal, repeat, turn, attempt) DO NOTHING",
    is_fenced=True,
)
UPDATE_VERDICT = Statement(  # the row is there; as an upsert, many verdicts are one statement
    """INSERT INTO cortex_results (run_no, ordinal, repeat, turn, attempt, state, overall, passed, scores, error_kind,
    error_message, attempts, cached, timestamp)""",
    f"({FENCED},?,?,?,?,?,?,?,?,?,?,1,0,'')",
    """ON CONFLICT (run_no, ordinal, repeat, turn, attempt) DO UPDATE SET state=excluded.state,
    overall=excluded.overall, passed=excluded.passed, scores=excluded.scores, error_kind=excluded.error_kind,
    error_message=excluded.error_message""",
    is_fenced=True,
    key_size=6,
)
LAST_ATTEMPT = """NOT EXISTS (SELECT 1 FROM cortex_results later WHERE later.run_no=r.run_no
    AND later.ordinal=r.ordinal AND later.repeat=r.repeat AND later.turn=r.turn AND later.attempt>r.attempt)"""
READ = f"""SELECT c.case_id, r.ordinal, r.repeat, r.turn, r.attempt, r.state, r.overall, r.passed, r.attempts,
        r.latency_ms, r.cached, r.timestamp, r.error_kind, r.error_message, r.scores, r.reply, {{body}},
        c.category, c.tier, c.language, c.cluster_id, c.tags
    FROM cortex_runs u JOIN cortex_results r ON r.run_no=u.no
    JOIN cortex_cases c ON c.dataset_no=u.dataset_no AND c.ordinal=r.ordinal
    WHERE u.id=? AND {LAST_ATTEMPT} AND {{where}} ORDER BY r.ordinal, r.repeat, r.turn"""  # noqa: S608  # see above
REUSED = 2
"""In the column `cached`: taken over from another run with its verdict. 1: only the reply was not asked for."""


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


class Slot(NamedTuple):
    """Where one result goes."""

    run_no: int
    ordinal: int
    repeat: int
    turn: int
    attempt: int


class StoredTurn(NamedTuple):
    """What is already there of one turn."""

    state: State
    attempt: int


class Kept(NamedTuple):
    """A reply as it was kept: without secrets."""

    reply: Reply
    json: bytes
    timestamp: str


class Results:
    """The results of every run. They are written by whoever holds the run, and by nobody else."""

    def __init__(self, db: Database, leases: Leases) -> None:
        self._db, self._leases = db, leases

    async def save_reply(self, slot: Slot, reply: Reply) -> Kept:
        """Keep a reply; it is on disk when this returns."""
        body, raw = reply_to_json(reply)
        kept, kept_raw, timestamp = redact_bytes(body), raw and redact_bytes(raw), now()
        await self._db.writer.write(
            INSERT_REPLY,
            (
                *self._place(slot),
                reply.attempts,
                reply.total_time_ms,
                int(reply.cached),
                timestamp,
                kept,
                kept_raw,
            ),
        )
        is_masked = kept is not body or kept_raw is not raw
        return Kept(_with_raw(reply_from_json(kept), kept_raw) if is_masked else reply, kept, timestamp)

    async def save_error(self, slot: Slot, failure: Failure, *, attempts: int) -> None:
        """Keep that the target did not answer; it is on disk when this returns."""
        kind, message = _told(failure)
        await self._db.writer.write(INSERT_ERROR, (*self._place(slot), attempts, now(), kind, message))

    def save_verdict(self, slot: Slot, judged: Judged) -> Judged:
        """Keep what the scorers said; on disk with the next group, and at the latest with `flush`.

        Gives the verdict as it is kept: without secrets.
        """
        passed = None if judged.passed is None else int(judged.passed)
        scores, told = redact_bytes(judged.scores_json), _told(judged.failure)
        self._db.writer.put(
            UPDATE_VERDICT,
            (*self._place(slot), judged.state, judged.overall, passed, scores, *told),
        )
        if scores is judged.scores_json and judged.failure is None:
            return judged
        return judged._replace(scores_json=scores, failure=_failure(*told))

    def _place(self, slot: Slot) -> tuple[int, ...]:
        run_no, ordinal, repeat, turn, attempt = slot
        return run_no, self._leases.epoch_of(run_no), ordinal, repeat, turn, attempt

    def stored_turns(self, run_no: int) -> dict[tuple[int, int], dict[int, StoredTurn]]:
        """What is there of a run: by case and repeat, the last attempt of each turn."""
        there: dict[tuple[int, int], dict[int, StoredTurn]] = {}
        rows = self._db.stream(
            "SELECT ordinal, repeat, turn, state, attempt FROM cortex_results WHERE run_no=? "
            "ORDER BY ordinal, repeat, turn, attempt",
            (run_no,),
        )
        for ordinal, repeat, turn, state, attempt in rows:
            there.setdefault((ordinal, repeat), {})[turn] = StoredTurn(state, attempt)
        return there

    def stored_replies(self, run_no: int, ordinal: int, repeat: int) -> dict[int, Reply]:
        """The replies of one conversation by turn, each from its last attempt."""
        rows = self._db.fetch(
            "SELECT turn, reply, raw FROM cortex_results WHERE run_no=? AND ordinal=? AND repeat=? "
            "AND reply IS NOT NULL ORDER BY attempt",
            (run_no, ordinal, repeat),
        )
        return {turn: _with_raw(reply_from_json(reply), raw) for turn, reply, raw in rows}

    def read(
        self,
        run_id: str,
        *,
        with_cases: bool = True,
        where: str = "TRUE",
        parameters: Sequence[Any] = (),
        asked_again: bool = False,
    ) -> Iterator[Result]:
        """The results of a run by case, repeat and turn, the last attempt of each; read as they are asked for.

        With `asked_again`, only those of asking beyond the run's repeats; otherwise never those.
        """
        beyond = "r.repeat>=u.repeats" if asked_again else "r.repeat<u.repeats"
        sql = READ.format(body="c.body" if with_cases else "NULL", where=f"{beyond} AND ({where})")
        for row in self._db.stream(sql, (run_id, *parameters)):
            yield _result(run_id, row)

    def read_at(self, run_id: str, ordinals: Sequence[int]) -> Iterator[Result]:
        """The same for these cases, in this order: that of asking, for instance."""
        for start in range(0, len(ordinals), READ_AT_ONCE):
            places = ordinals[start : start + READ_AT_ONCE]
            where = f"r.repeat<u.repeats AND r.ordinal IN ({','.join('?' * len(places))})"
            found: dict[int, list[Result]] = {}
            for row in self._db.fetch(READ.format(body="c.body", where=where), (run_id, *places)):
                found.setdefault(row[1], []).append(_result(run_id, row))
            yield from chain.from_iterable(found[place] for place in places if place in found)

    def failed_cases(self, run_id: str) -> list[str]:
        """The cases of a run that did not pass, errors included."""
        rows = self._db.fetch(
            f"""SELECT c.case_id FROM cortex_runs u JOIN cortex_results r ON r.run_no=u.no
            JOIN cortex_cases c ON c.dataset_no=u.dataset_no AND c.ordinal=r.ordinal
            WHERE u.id=? AND r.repeat<u.repeats AND r.state != 'passed' AND {LAST_ATTEMPT}
            GROUP BY c.case_id, r.ordinal ORDER BY r.ordinal""",  # noqa: S608
            (run_id,),
        )
        return [row[0] for row in rows]


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


def as_read(run_id: str, case: Case, body: bytes, slot: Slot, kept: Kept, judged: Judged) -> Result:
    """What `Results.read` would give for a turn that was just kept, at a fifth of the cost."""
    return Result(
        run_id=run_id,
        case_id=case.id,
        ordinal=slot.ordinal,
        repeat=slot.repeat,
        turn=slot.turn,
        attempt=slot.attempt,
        state=judged.state,
        overall=judged.overall,
        passed=judged.passed,
        attempts=kept.reply.attempts,
        latency_ms=kept.reply.total_time_ms,
        cached=kept.reply.cached,
        timestamp=kept.timestamp,
        error=judged.failure,
        scores_json=bytes(memoryview(judged.scores_json)) or b"{}",  # copies: what orjson gives holds on to 4 KiB
        reply_json=bytes(memoryview(kept.json)),
        case_json=body,
        category=case.category,
        tier=case.tier,
        language=case.language,
        cluster_id=case.cluster_id,
        tags=case.tags,
    )


def _told(failure: Failure | None) -> tuple[str | None, str | None]:
    return (storable(failure.kind), storable(redact(failure.message))) if failure else (None, None)


def _failure(kind: str | None, message: str | None) -> Failure | None:
    return Failure(kind, message or "") if kind else None


def _with_raw(reply: Reply, raw: bytes | None) -> Reply:
    return changed(reply, raw=orjson.loads(raw)) if raw is not None else reply


def _result(run_id: str, row: Row) -> Result:
    return Result(
        run_id=run_id,
        case_id=row[0],
        ordinal=row[1],
        repeat=row[2],
        turn=row[3],
        attempt=row[4],
        state=row[5],
        overall=row[6],
        passed=None if row[7] is None else bool(row[7]),
        attempts=row[8],
        latency_ms=row[9],
        cached=bool(row[10]),
        timestamp=row[11],
        error=_failure(row[12], row[13]),
        scores_json=row[14] or b"{}",
        reply_json=row[15],
        case_json=row[16],
        category=row[17],
        tier=row[18],
        language=row[19],
        cluster_id=row[20],
        tags=tuple(orjson.loads(row[21])) if row[21] else (),
        reused=row[10] == REUSED,
    )
