"""One result as a row of the report file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import orjson

from cortex_eval.core import RATE, Result

REPLY_FIELDS = (
    "text",
    "intent",
    "entities",
    "tool",
    "arguments",
    "confidence",
    "llm_invoked",
    "contexts",
    "parse_time_ms",
    "total_time_ms",
)


def is_named_for_its_measure(score: Mapping[str, Any]) -> bool:
    """Whether this score is reported by its measure: `hallucination_rate` is the rate, of which less is better."""
    return score.get("unit") == RATE and isinstance(score.get("measure"), (int, float))


def figure_of(score: Mapping[str, Any]) -> float | None:
    """The number that a stored score is shown by: its value, or its measure where it is named for that."""
    value: float | None = score.get("value")
    return value if value is None or not is_named_for_its_measure(score) else score["measure"]


def result_row(result: Result, *, stored: Callable[[bytes], Any] = orjson.loads) -> dict[str, Any]:
    """The row of one result; `stored` says what becomes of JSON that is passed on as it is (such as a Fragment)."""
    said, expected = asked_at(result)
    return {
        "case_id": result.case_id,
        "turn": result.turn,
        "repeat": result.repeat,
        "category": result.category,
        "tier": result.tier,
        "language": result.language,
        "input": said,
        "expected": expected,
        "state": result.state,
        "attempts": result.attempts,
        "timestamp": result.timestamp,
        "error": {"kind": result.error.kind, "message": result.error.message} if result.error else None,
        "reply": reply_fields(result),
        "scores": stored(result.scores_json),
        "overall": result.overall,
        "passed": result.passed,
    }


def asked_at(result: Result) -> tuple[str | None, dict[str, Any]]:
    """What was asked at this result's turn and what was expected; nothing when results were read without cases."""
    if result.case_json is None:
        return None, {}
    turn = orjson.loads(result.case_json)["turns"][result.turn]
    return turn["text"], turn.get("expected") or {}


def reply_fields(result: Result) -> dict[str, Any] | None:
    """The reply's fields that a report shows; None when there was no reply."""
    if not result.reply_json:
        return None
    get = orjson.loads(result.reply_json).get
    row = {name: get(name) for name in REPLY_FIELDS}
    if row["text"] is None:
        row["text"] = ""
    if row["contexts"] is None:
        row["contexts"] = []
    if row["total_time_ms"] is None:
        row["total_time_ms"] = result.latency_ms
    return row


def flat_row(result: Result) -> dict[str, Any]:  # Any: JSON
    """A row of plain values, with a column per scorer."""
    row = result_row(result)
    flat = {key: row[key] for key in ("case_id", "repeat", "turn", "category", "tier", "language", "input", "state")}
    flat |= {"reply": row["reply"]["text"] if row["reply"] else None, "latency_ms": result.latency_ms}
    flat |= {"attempts": row["attempts"], "overall": row["overall"], "passed": row["passed"]}
    flat |= {name: figure_of(score) for name, score in row["scores"].items()}
    return flat
