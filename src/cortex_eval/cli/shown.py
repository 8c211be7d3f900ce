"""What commands show of runs: a report read back, facts for a list, cases that did not pass."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cortex_eval.analysis import Allowance, GateSettings, Report
from cortex_eval.cli.options import cut
from cortex_eval.core import RunRecord
from cortex_eval.engine import find_baseline, report_on
from cortex_eval.storage import Store


def gate_of(record: RunRecord) -> GateSettings:
    """The gate that a run was judged by."""
    kept = dict(record.manifest.get("gate", {}))
    if "regression" in kept:
        kept["regression"] = {name: Allowance(**each) for name, each in kept["regression"].items()}
    return GateSettings(**kept)


def report_of(store: Store, name: str) -> Report:
    """The report of a run, made anew from what is stored."""
    record = store.runs.find(name)
    gate = gate_of(record)
    baseline = find_baseline(store, gate.baseline, record.suite)
    return report_on(store, record.id, gate, baseline, is_partial=record.status != "completed")


def run_facts(record: RunRecord) -> dict[str, str]:
    """A run in a line."""
    totals = record.summary.get("totals", {})
    score = totals.get("overall_score")
    return {
        "id": record.id,
        "started": record.started or record.created,
        "suite": record.suite,
        "target": " ".join(filter(None, (record.target_name, record.target_version))),
        "status": record.status,
        "cases": str(record.cases),
        "score": "–" if score is None else f"{score:.3f}",
        "verdict": record.summary.get("gate", {}).get("verdict", "–"),
    }


def failed_lines(store: Store, record: RunRecord) -> Iterator[str]:
    """Each result that did not pass: what was asked, what came, why it failed."""
    for result in store.results.read(record.id, where="r.state NOT IN ('passed', 'pending')"):
        case, reply = result.case, result.reply
        turn = f" turn {result.turn + 1}" if len(case.turns) > 1 else ""
        overall = "" if result.overall is None else f"  {result.overall:.2f}"
        yield f"{result.case_id}{turn}  {result.state}{overall}"
        yield f"  asked     {cut(case.input, 66)}"
        if case.expected.answer:
            yield f"  expected  {cut(case.expected.answer, 66)}"
        if reply is not None:
            yield f"  replied   {cut(reply.text, 66)}"
        if result.error is not None:
            yield f"  error     {result.error.kind}: {cut(result.error.message, 160)}"
        for name, score in _low_scores(result.scores):
            yield f"  {name:<9} {score.get('value', 0):.2f}  {cut(score.get('reason', ''), 60)}"
        yield ""


def _low_scores(scores: dict[str, dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    return [(name, each) for name, each in scores.items() if each.get("passed") is False]
