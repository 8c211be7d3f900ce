"""Results and runs for tests, in the form in which the store gives them back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from cortex_eval.analysis import Baseline, GateSettings, Report, summarise
from cortex_eval.core import Case, DatasetVersion, Expected, Failure, Reply, Result, RunRecord, Turn, to_json

STARTED = "2026-11-15T09:12:08Z"
FINISHED = "2026-11-15T09:14:00Z"


def made_run(cases: int, **fields: Any) -> RunRecord:
    row: dict[str, Any] = {
        "id": "7f3a",
        "suite": "triage",
        "status": "completed",
        "target_name": "helpdesk",
        "target_kind": "chatbot",
        "target_version": "2.3",
        "dataset": DatasetVersion(name="triage.jsonl", version="4c19e2" + "0" * 58, cases=cases),
        "cases": cases,
        "repeats": 1,
        "created": STARTED,
        "started": STARTED,
        "finished": FINISHED,
    }
    return RunRecord(**{**row, **fields})


def made_case(number: int, texts: Sequence[str] = ("Where is my bill?",), **fields: Any) -> Case:
    expected = fields.pop("expected", Expected(answer="In your inbox."))
    turns = tuple(Turn(text=text, expected=expected) for text in texts)
    return Case(id=fields.pop("id", f"case_{number:04}"), turns=turns, **fields)


def made_result(case: Case, number: int = 0, **fields: Any) -> Result:
    """One result; `scores` are {name: value or the stored object}, `reply` a Reply, `text` short for one."""
    scores = {
        name: score if isinstance(score, dict) else {"value": score, "passed": score >= 0.7}
        for name, score in fields.pop("scores", {"accuracy": 0.9}).items()
    }
    state = fields.get("state", "passed")
    text = fields.pop("text", "It is in your inbox.")
    reply = fields.pop("reply", None if state == "error_target" else Reply(text=text, total_time_ms=200.0))
    scored = [score["value"] for score in scores.values() if score.get("value") is not None]
    overall = sum(scored) / len(scored) if scored and not state.startswith("error") else None
    row: dict[str, Any] = {
        "run_id": "7f3a",
        "case_id": case.id,
        "ordinal": number,
        "repeat": 0,
        "turn": 0,
        "attempt": 1,
        "state": state,
        "overall": overall,
        "passed": None if state not in ("passed", "failed") else state == "passed",
        "attempts": 1,
        "latency_ms": reply.total_time_ms if reply else None,
        "cached": False,
        "timestamp": FINISHED,
        "error": Failure("timeout", "no answer in 10 s") if state == "error_target" else None,
        "scores_json": to_json(scores),
        "reply_json": to_json(reply) if reply else None,
        "case_json": to_json(case),
        "category": case.category,
        "tier": case.tier,
        "language": case.language,
        "cluster_id": case.cluster_id,
        "tags": case.tags,
    }
    return Result(**{**row, **fields})


def made_report(
    results: Iterable[Result],
    *,
    run: RunRecord | None = None,
    gate: GateSettings | None = None,
    passing_threshold: float = 0.7,
    baseline: Baseline | None = None,
    is_partial: bool = False,
) -> Report:
    rows = list(results)
    run = run or made_run(len({row.case_id for row in rows}))
    return summarise(
        run,
        lambda: iter(rows),
        gate=gate or GateSettings(),
        passing_threshold=passing_threshold,
        baseline=baseline,
        is_partial=is_partial,
    )


def simple_results(count: int, value: float = 0.9, **fields: Any) -> list[Result]:
    return [made_result(made_case(i), i, scores={"accuracy": value}, **fields) for i in range(count)]
