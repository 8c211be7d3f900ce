"""Killed around a verdict: a stored answer is judged on resume, whoever answered it is not asked again."""

from __future__ import annotations

import json
import re
import signal
import sqlite3
from collections import Counter
from contextlib import closing
from typing import Any

import pytest

from cortex_eval.testing import Call, ScriptedService, asked_text, hang, speak_openai, status

pytestmark = pytest.mark.slow

KILLS = 20
PASS = speak_openai('{"reason": "It is.", "verdict": "pass"}')
TONE = {"tone": {"kind": "judge", "prompt": "Polite? {answer}"}}


def number_in(text: str) -> int:
    return int(re.search(r"(?:Question|Answer) (\d+)", text)[1])


def case_of(call: Call) -> int:
    """Which case the target or the judge was asked about."""
    return number_in(asked_text(call) if "messages" in call.json else call.json["query"])


def rows(count: int) -> list[dict[str, str]]:
    return [{"id": str(n), "input": f"Question {n}"} for n in range(count)]


def answer(call: Call) -> dict[str, str]:
    return {"text": f"Answer {case_of(call)}"}


def stored(project: Any, columns: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(project.store_path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return connection.execute(f"SELECT {columns} FROM cortex_results ORDER BY ordinal").fetchall()


def judged_project(make_project: Any, bot: ScriptedService, model: ScriptedService, count: int, **blocks: Any) -> Any:
    return make_project(
        rows(count),
        {"kind": "chatbot", "api_url": bot.url},
        scorers=[TONE],
        models={"judge": {"model": "m1", "base_url": model.url}},
        **blocks,
    )


def test_P04_F02_of_a_run_killed_20_times_between_answer_and_verdict_no_answer_is_asked_for_again(
    scripted_service, make_project
):
    """In each round one verdict is given, and the kill comes while two judges think."""
    cases, given = 2 * KILLS, 0
    bot = scripted_service(answer)
    model = scripted_service(lambda call: PASS(call) if call.number <= given + 1 else hang())
    project = judged_project(make_project, bot, model, cases, execution={"max_concurrent_tests": 2})

    kept: set[int] = set()
    for _ in range(KILLS):
        before, given = len(bot.ledger), len(model.ledger)
        process = project.start("run", *(["--resume", "latest"] if kept else []))
        model.wait_for_calls(given + 3)
        process.kill()
        process.communicate()
        states = dict(stored(project, "ordinal, state"))
        assert {states[case_of(call)] for call in model.ledger[-2:]} == {"pending"}, "answered, and not judged"
        assert kept.isdisjoint(case_of(call) for call in bot.ledger[before:]), "no stored answer is asked for again"
        kept = set(states)
    before, model.reply = len(bot.ledger), PASS
    done = project.cortex("run", "--resume", "latest", "--json", "--results")

    report = json.loads(done.stdout)
    assert report["totals"]["passed"] == cases, done.stderr
    assert {case_of(call) for call in bot.ledger[before:]} == set(range(cases)) - kept
    cut_off = {case_of(call) for call in model.ledger if not call.answered}
    assert len(cut_off) >= 2
    assert cut_off <= {case_of(call) for call in model.ledger if call.answered}, "only the judge is asked again"
    evidence = {int(each["case_id"]): each["scores"]["tone"]["evidence"] for each in report["results"]}
    marked = {case for case, each in evidence.items() if each.get("may_repeat")}
    asked = Counter(case_of(call) for call in model.ledger)
    assert {case for case, count in asked.items() if count > 1} <= marked, "F03: its second asking shows"
    assert marked.isdisjoint(set(range(cases)) - kept), "a reply of the last part was not judged before"


KILL_POINT = '''
"""Kills the process when the second group with a verdict is about to be committed."""
import os, signal
from cortex_eval.storage import cases, writer

commit, seen = writer.GroupWriter._commit, 0


def killed(self, sink, rows):
    global seen
    seen += cases.UPDATE_VERDICT in rows
    if seen == 2 and "KILL_BEFORE_COMMIT" in os.environ:
        os.kill(os.getpid(), signal.SIGKILL)
    commit(self, sink, rows)


writer.GroupWriter._commit = killed
'''


def test_F03_of_a_run_killed_20_times_between_verdict_and_commit_only_the_judge_is_asked_again(
    scripted_service, make_project, monkeypatch
):
    cases = 3 * KILLS
    bot, model = scripted_service(answer), scripted_service(status(503))
    project = judged_project(
        make_project, bot, model, cases, plugins=["kill_point.py"],
        execution={"max_concurrent_tests": 2, "retry_count": 0},
    )  # fmt: skip
    (project.root / "kill_point.py").write_text(KILL_POINT, encoding="utf-8")
    assert project.cortex("run").returncode == 3, "all are answered, none is judged"
    assert len(bot.ledger) == cases
    model.ledger.clear()
    # A verdict takes longer than a group waits: each group holds one or two.
    model.reply, model.latency_s = PASS, 0.06
    monkeypatch.setenv("KILL_BEFORE_COMMIT", "1")

    lost, before = 0, set()
    for _ in range(KILLS):
        process = project.start("run", "--resume", "latest")
        process.communicate(timeout=60)
        assert process.returncode == -signal.SIGKILL
        kept = stored(project, "ordinal, state, scores")
        passed = {ordinal for ordinal, state, _ in kept if state == "passed"}
        assert before < passed, "what was committed stays"
        answered = {case_of(call) for call in model.ledger if call.answered}
        assert answered > passed, "the kill came after the judge's reply and before its commit"
        lost, before = lost + len(answered - passed), passed
    monkeypatch.delenv("KILL_BEFORE_COMMIT")
    done = project.cortex("run", "--resume", "latest", "--json", "--results")

    report = json.loads(done.stdout)
    assert report["totals"]["passed"] == cases, done.stderr
    assert len(bot.ledger) == cases, "0 new target calls"
    asked = Counter(case_of(call) for call in model.ledger)
    assert set(asked) == set(range(cases))
    assert asked.total() - cases <= lost + 2 * KILLS, "only verdicts that were not committed, and those in flight"
    assert sum(count > 1 for count in asked.values()) >= KILLS // 2
    assert {each["scores"]["tone"]["value"] for each in report["results"]} == {1.0}
