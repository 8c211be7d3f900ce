"""How well asking and judging overlap: one limit on calls for both, and no pause between the two."""

from __future__ import annotations

from typing import NamedTuple

from measuring import (
    CORTEX,
    Finding,
    RunningService,
    Took,
    best_and_median,
    check_stored,
    project,
    run_bare,
    run_process,
    service,
)

CASES, AT_ONCE, LATENCY_MS = 1_000, 50, 50
ROUNDS = 3
PROJECT = """\
services:
  bot: {{kind: chatbot, api_url: "http://127.0.0.1:{port}/chat", timeout_seconds: 30}}
models:
  judge: {{base_url: "http://127.0.0.1:{port}/v1", model: local}}
execution: {{max_concurrent_tests: {at_once}}}
suites:
  judged:
    dataset: cases.jsonl
    service: bot
    scorers:
      - judge: {{prompt: "Does the answer fit the question? Question: {{input}} Answer: {{answer}}"}}
"""


class Judged(NamedTuple):
    """One run with a judge, and what the service saw of it."""

    took: Took
    most_in_flight: int
    early: float
    """Share of the judge's calls that began before the last answer to a question."""


def judging(cases: int = CASES, at_once: int = AT_ONCE) -> list[Finding]:
    """Every case is one call to the chatbot and one to the judge; both take 50 ms and share one limit."""
    with service(LATENCY_MS) as running:
        run_judged(running, cases=100, at_once=at_once)  # compiles what judges need
        rounds, bare = [], []
        for _ in range(ROUNDS):
            rounds.append(run_judged(running, cases=cases, at_once=at_once))
            bare.append(run_bare(running, cases=2 * cases, at_once=at_once))
    ideal_s = 2 * cases * LATENCY_MS / 1000 / at_once
    share = min(each.took.wall_s for each in rounds) / ideal_s
    most = max(each.most_in_flight for each in rounds)
    early = min(each.early for each in rounds)
    return [
        Finding(f"wall time of the run ÷ {ideal_s:g} s", f"{share:.2f} ×", "≤ 1.3 ×", share <= 1.3),
        Finding("… in seconds", best_and_median([each.took.wall_s for each in rounds])),
        Finding("… of the bare loop, as many calls", best_and_median([each.wall_s for each in bare])),
        Finding("most calls in flight, chatbot and judge together", str(most), f"≤ {at_once}", most <= at_once),
        Finding("judged while others were still being asked", f"{early:.0%} of the calls to the judge"),
    ]


def run_judged(running: RunningService, *, cases: int, at_once: int) -> Judged:
    """`cortex run` with a judge; checks that each case was asked once and judged once, and that all is kept."""
    with project(running, cases=cases, at_once=at_once, text=PROJECT) as folder:
        running.stats(reset=True)
        took = run_process([CORTEX, "run", "judged"], cwd=folder)
        seen = running.stats(reset=True)
        assert (seen["calls"], seen["asked"], seen["judged"]) == (cases, cases, cases), seen
        check_stored(folder, cases, passed=cases)
    return Judged(took, seen["most_in_flight"], seen["judged_early"] / cases)
