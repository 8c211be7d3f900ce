"""Results: replies as soon as they came, verdicts as soon as they are known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import orjson

from cortex_eval.core import (
    Failure,
    Reply,
    Result,
    State,
    changed,
    redact,
    redact_bytes,
    reply_from_json,
    reply_to_json,
)
from cortex_eval.scoring import Judged
from cortex_eval.storage.database import Database, Row, now, storable
from cortex_eval.storage.leases import Leases
from cortex_eval.storage.writer import Statement

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
COPY_REPLIES = f"""INSERT INTO cortex_results (run_no, ordinal, repeat, turn, attempt, state, attempts, latency_ms,
        cached, timestamp, error_kind, error_message, reply, raw)
    SELECT ?, r.ordinal, r.repeat, r.turn, 0, CASE WHEN r.reply IS NULL THEN r.state ELSE 'pending' END,
        r.attempts, r.latency_ms, r.cached, r.timestamp, CASE WHEN r.reply IS NULL THEN r.error_kind END,
        CASE WHEN r.reply IS NULL THEN r.error_message END, r.reply, r.raw
    FROM cortex_results r WHERE r.run_no=? AND {LAST_ATTEMPT}"""  # noqa: S608  # the condition is ours
"""Gives a run the replies of another one over the same dataset: its number, and the number of the other."""
REUSED = 2
"""In the column `cached`: taken over from another run with its verdict. 1: only the reply was not asked for."""
COPY_UNCHANGED = f"""INSERT INTO cortex_results (run_no, ordinal, repeat, turn, attempt, state, attempts, latency_ms,
        cached, timestamp, overall, passed, scores, reply, raw)
    SELECT new.no, now.ordinal, r.repeat, r.turn, 0, CASE WHEN {{is_kept}} THEN r.state ELSE 'pending' END, r.attempts,
        r.latency_ms, CASE WHEN {{is_kept}} THEN {REUSED} ELSE 1 END, r.timestamp,
        CASE WHEN {{is_kept}} THEN r.overall END, CASE WHEN {{is_kept}} THEN r.passed END,
        CASE WHEN {{is_kept}} THEN r.scores END, r.reply, r.raw
    FROM cortex_runs new JOIN cortex_cases now ON now.dataset_no=new.dataset_no
    JOIN cortex_runs old ON old.no=? JOIN cortex_cases was ON was.dataset_no=old.dataset_no AND was.case_id=now.case_id
    JOIN cortex_results r ON r.run_no=old.no AND r.ordinal=was.ordinal
    WHERE new.no=? AND r.repeat<new.repeats AND r.repeat<old.repeats AND {LAST_ATTEMPT}
    AND now.ordinal IN ({{marks}})"""  # noqa: S608  # as above
"""Gives a run the results of another one for some of its cases: the numbers of the other and its own, and places."""
COPIED_AT_ONCE = 500
"""Cases in one such statement."""


class Reused(NamedTuple):
    """What a run takes over from an earlier one instead of asking."""

    run_no: int
    """Of the earlier one."""
    ordinals: Sequence[int]
    """Places, in the new run's dataset, of the cases."""
    with_verdicts: bool
    """Otherwise the replies are scored again."""

    def statements(self, run_no: int) -> Iterator[tuple[str, tuple[int, ...]]]:
        """What copies it to the run of this number."""
        is_kept = "r.state IN ('passed', 'failed')" if self.with_verdicts else "1=0"
        for start in range(0, len(self.ordinals), COPIED_AT_ONCE):
            places = self.ordinals[start : start + COPIED_AT_ONCE]
            marks = ",".join("?" * len(places))
            yield COPY_UNCHANGED.format(is_kept=is_kept, marks=marks), (self.run_no, run_no, *places)


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


class Results:
    """The results of every run. They are written by whoever holds the run, and by nobody else."""

    def __init__(self, db: Database, leases: Leases) -> None:
        self._db, self._leases = db, leases

    async def save_reply(self, slot: Slot, reply: Reply) -> Reply:
        """Keep a reply; it is on disk when this returns, which gives the reply as it was kept: without secrets."""
        body, raw = reply_to_json(reply)
        kept, kept_raw = redact_bytes(body), raw and redact_bytes(raw)
        await self._db.writer.write(
            INSERT_REPLY,
            (
                *self._place(slot),
                reply.attempts,
                reply.total_time_ms,
                int(reply.cached),
                now(),
                kept,
                kept_raw,
            ),
        )
        if kept is body and kept_raw is raw:
            return reply
        return changed(reply_from_json(kept), raw=kept_raw and orjson.loads(kept_raw))

    async def save_error(self, slot: Slot, failure: Failure, *, attempts: int) -> None:
        """Keep that the target did not answer; it is on disk when this returns."""
        kind, message = _told(failure)
        await self._db.writer.write(INSERT_ERROR, (*self._place(slot), attempts, now(), kind, message))

    def save_verdict(self, slot: Slot, judged: Judged) -> None:
        """Keep what the scorers said; on disk with the next group, and at the latest with `flush`."""
        passed = None if judged.passed is None else int(judged.passed)
        scores = redact_bytes(judged.scores_json)
        self._db.writer.put(
            UPDATE_VERDICT,
            (*self._place(slot), judged.state, judged.overall, passed, scores, *_told(judged.failure)),
        )

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
            "SELECT turn, reply FROM cortex_results WHERE run_no=? AND ordinal=? AND repeat=? "
            "AND reply IS NOT NULL ORDER BY attempt",
            (run_no, ordinal, repeat),
        )
        return {turn: reply_from_json(reply) for turn, reply in rows}

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
        body = "c.body" if with_cases else "NULL"
        beyond = "r.repeat>=u.repeats" if asked_again else "r.repeat<u.repeats"
        rows = self._db.stream(
            f"""SELECT c.case_id, r.ordinal, r.repeat, r.turn, r.attempt, r.state, r.overall, r.passed, r.attempts,
                r.latency_ms, r.cached, r.timestamp, r.error_kind, r.error_message, r.scores, r.reply, {body},
                c.category, c.tier, c.language, c.cluster_id, c.tags
            FROM cortex_runs u JOIN cortex_results r ON r.run_no=u.no
            JOIN cortex_cases c ON c.dataset_no=u.dataset_no AND c.ordinal=r.ordinal
            WHERE u.id=? AND {beyond} AND {LAST_ATTEMPT} AND ({where}) ORDER BY r.ordinal, r.repeat, r.turn""",  # noqa: S608
            (run_id, *parameters),
        )
        for row in rows:
            yield _result(run_id, row)

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


def _told(failure: Failure | None) -> tuple[str | None, str | None]:
    return (storable(failure.kind), storable(redact(failure.message))) if failure else (None, None)


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
        error=Failure(row[12], row[13]) if row[12] else None,
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
