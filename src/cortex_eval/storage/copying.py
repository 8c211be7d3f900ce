"""What a run takes over from another one: replies to score anew, or results of cases that did not change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from cortex_eval.storage.cases import LAST_ATTEMPT, REUSED

COPY_REPLIES = f"""INSERT INTO cortex_results (run_no, ordinal, repeat, turn, attempt, state, attempts, latency_ms,
        cached, timestamp, error_kind, error_message, reply, raw)
    SELECT ?, r.ordinal, r.repeat, r.turn, 0, CASE WHEN r.reply IS NULL THEN r.state ELSE 'pending' END,
        r.attempts, r.latency_ms, r.cached, r.timestamp, CASE WHEN r.reply IS NULL THEN r.error_kind END,
        CASE WHEN r.reply IS NULL THEN r.error_message END, r.reply, r.raw
    FROM cortex_results r WHERE r.run_no=? AND {LAST_ATTEMPT}"""  # noqa: S608  # the condition is ours
"""Gives a run the replies of another one over the same dataset: its number, and the number of the other."""
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
