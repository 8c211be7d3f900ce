"""What the store remembers: results, and a run beside them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from msgspec import Struct, field

from cortex_eval.core.case import Case
from cortex_eval.core.codec import case_from_json, reply_from_json
from cortex_eval.core.result import Failure, Reply, ResultKey, RunStatus, State


class Result(Struct, kw_only=True):
    """One turn of one case in one run, as the store gives it back.

    Case, reply and scores stay in their stored form until asked for: a report reads them by the hundred thousand.
    """

    run_id: str
    case_id: str
    ordinal: int
    """Place of the case in its dataset."""
    repeat: int
    turn: int
    attempt: int
    state: State
    overall: float | None
    passed: bool | None
    """None while pending and after an error: an error is never a score."""
    attempts: int
    """Calls made for this reply, retries included."""
    latency_ms: float | None
    cached: bool
    timestamp: str
    error: Failure | None
    scores_json: bytes
    reply_json: bytes | None = None
    case_json: bytes | None = None
    category: str | None = None
    """This and the next four are the case's own, so that a summary need not read the case."""
    tier: int | None = None
    language: str | None = None
    cluster_id: str | None = None
    tags: tuple[str, ...] = ()
    reused: bool = False
    """Taken over from another run, with its verdict: nobody was asked, and no judge was paid."""

    @property
    def key(self) -> ResultKey:
        """What makes this result unique."""
        return ResultKey(self.run_id, self.case_id, self.repeat, self.turn, self.attempt)

    @property
    def case(self) -> Case:
        """The case, standing at this result's turn."""
        assert self.case_json is not None, "these results were read without their cases"
        return case_from_json(self.case_json).at(self.turn)

    @property
    def reply(self) -> Reply | None:
        """What the target said; None when it did not answer."""
        return reply_from_json(self.reply_json) if self.reply_json else None

    @property
    def scores(self) -> dict[str, dict[str, Any]]:
        """Every score by name, as JSON objects with the fields of `Score` that are not at their defaults."""
        scores: dict[str, dict[str, Any]] = orjson.loads(self.scores_json)
        return scores


class DatasetVersion(Struct, frozen=True, kw_only=True):
    """A dataset pinned by its content."""

    name: str
    version: str
    """SHA-256 over the cases, whatever file they came in."""
    cases: int
    file: str = ""
    file_sha256: str = ""
    created: str = ""


class RunRecord(Struct, frozen=True, kw_only=True):
    """What the store knows of a run beside its results."""

    id: str
    suite: str
    status: RunStatus
    target_name: str
    target_kind: str
    target_version: str | None
    dataset: DatasetVersion
    cases: int
    """Cases selected for this run, before repeats."""
    repeats: int
    created: str
    started: str | None = None
    finished: str | None = None
    manifest: Mapping[str, Any] = field(default_factory=dict)
    """Git commit, resolved config and its hash, scorers, seeds, selection, environment, cache hits, parent run."""
    summary: Mapping[str, Any] = field(default_factory=dict)
    """The report without results, once the run is finished."""
    exit_code: int | None = None
    owner: str = ""

    @property
    def is_settled(self) -> bool:
        """Whether it is completed with nothing in error: there is nothing left that a resume could do."""
        return self.status == "completed" and self.summary.get("totals", {}).get("errors") == 0

    @property
    def paused(self) -> str:
        """Why it stopped before its end, such as `target_unavailable: …`; empty when it did not, or was asked to."""
        reason = self.manifest.get("paused") or {}
        message = reason.get("message")
        return f"{reason['kind']}: {message}" if message else ""
