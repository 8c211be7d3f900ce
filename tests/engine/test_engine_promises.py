"""Whole runs by the command, with bad targets, bad verdicts and readers beside them: what is promised still holds."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from made_plans import cases, chatbot, plan_for, right, rows, waits

from cortex_eval.config import Plan
from cortex_eval.control import Stop
from cortex_eval.core import Case, Reply, TargetError
from cortex_eval.engine import execute
from cortex_eval.storage import Store
from cortex_eval.targets import Conversation, Target
from cortex_eval.testing import Answer, Call, asked_text, cut, gzip_bomb, hang, huge, speak_openai
from cortex_eval.testing.answers import Framing

sys.path.insert(0, str(Path(__file__).parents[1] / "scoring"))
from test_verdicts import MALFORMED

BAD = {
    "raise": "raised", "exit": "raised", "interrupt": "raised", "cancel": "raised", "none": "bad_return",
    "hang": "timeout", "_exit": "crashed", "segfault": "crashed", "killed": "crashed", "surrogate": "bad_return",
    "deep": "raised",
}  # fmt: skip
BOT = """
import asyncio, ctypes, os, signal, sys, threading

def ask(text):
    if text == "raise": raise ValueError("no clinic")
    if text == "exit": sys.exit(0)
    if text == "interrupt": raise KeyboardInterrupt
    if text == "cancel": raise asyncio.CancelledError
    if text == "none": return None
    if text == "hang": threading.Event().wait()
    if text == "_exit": os._exit(0)
    if text == "segfault": ctypes.string_at(0)
    if text == "killed": os.kill(os.getpid(), signal.SIGKILL)
    if text == "surrogate": return "\\ud800"
    if text == "deep": return ask_deep(text)
    return "fine " + text

def ask_deep(text): return ask_deep(text)

async def ask_async(text):
    if text == "hang": await asyncio.Event().wait()
    return ask(text)
"""


@pytest.mark.slow
@pytest.mark.parametrize("function", ["ask", "ask_async"])
def test_P22_whatever_a_python_target_does_its_case_errors_and_all_others_finish(make_project, function):
    good = [f"Question {n}" for n in range(30)]
    asked = [*good[:10], *BAD, *good[10:]]
    project = make_project(
        [{"id": text, "input": text, "ground_truth": f"fine {text}"} for text in asked],
        {"kind": "python", "call": f"bot:{function}", "timeout_seconds": 2},
        execution={"max_concurrent_tests": 4, "retry_count": 0},
    )
    (project.root / "bot.py").write_text(BOT, encoding="utf-8")

    done = project.cortex("run", "--json", "--results")

    assert done.returncode == 3, done.stderr
    results = {each["case_id"]: each for each in json.loads(done.stdout)["results"]}
    assert {text: results[text]["state"] for text in good} == dict.fromkeys(good, "passed")
    assert set(results) == set(asked), "every case has its end"
    kinds = {text: (results[text]["error"] or {}).get("kind") for text in BAD}
    assert kinds == BAD
    assert {results[text]["state"] for text in BAD} == {"error_target"}


def verdicts(call: Call) -> Any:
    """One malformed verdict after the other, and good ones for the rest."""
    number = int(asked_text(call).split("Answer ")[1].split()[0])
    names = [name for name, (scale, _, _) in MALFORMED.items() if scale == "score"]
    text = MALFORMED[names[number]][1] if number < len(names) else '{"reason": "Good.", "score": 0.5}'
    return speak_openai(text)(call)


@pytest.mark.slow
@pytest.mark.parametrize(("tolerated", "code"), [(0.0, 3), (0.9, 2), (0.05, 3)])
def test_P16_malformed_verdicts_of_a_whole_run_are_errors_and_every_average_says_how_many_it_is_of(
    scripted_service, make_project, tolerated, code
):
    bad = sum(scale == "score" for scale, _, _ in MALFORMED.values())
    bot, model = scripted_service(right), scripted_service(verdicts)
    project = make_project(
        [{"id": str(n), "input": f"Question {n}"} for n in range(bad + 10)],
        {"kind": "chatbot", "api_url": bot.url},
        scorers=[{"tone": {"kind": "judge", "prompt": "Polite? {answer}", "scale": "score"}}],
        models={"judge": {"model": "m1", "base_url": model.url}},
        execution={"retry_count": 0},
        gate={"max_error_rate": tolerated},
    )

    done = project.cortex("run", "--json", "--results")

    report = json.loads(done.stdout, parse_constant=pytest.fail)
    assert done.returncode == code, done.stderr
    tone = report["metrics"]["tone"]
    assert (tone["mean"], tone["scored"], tone["total"], tone["errors"]) == (0.5, 10, bad + 10, bad)
    assert (report["totals"]["errors"], report["totals"]["failed"]) == (bad, 10)
    wrong = [each for each in report["results"] if int(each["case_id"]) < bad]
    assert {each["state"] for each in wrong} == {"error_judge"}
    assert {each["overall"] for each in wrong} == {None}
    assert all("value" not in each["scores"]["tone"] for each in wrong)
    shown = project.cortex("runs", "show", "latest").stdout
    assert f"10/{bad + 10}" in shown


@pytest.mark.slow
def test_P05_the_earlier_result_stays_until_the_new_one_is_committed(scripted_service, make_project):
    def fails(call: Call) -> Any:
        return 400 if call.json["query"] == "Question 1" else right(call)

    bot = scripted_service(fails)
    project = make_project(
        [{"id": str(n), "input": f"Question {n}", "ground_truth": f"Answer {n}"} for n in range(3)],
        {"kind": "chatbot", "api_url": bot.url},
    )

    def stored() -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(project.store_path)) as connection:
            return connection.execute("SELECT * FROM cortex_results ORDER BY ordinal, attempt").fetchall()

    assert project.cortex("run").returncode == 3
    before = stored()
    bot.reply = hang()
    process = project.start("run", "--resume", "latest")
    bot.wait_for_calls(4)
    assert stored() == before, "while it is asked again"
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert stored() == before, "when that came to nothing"
    with Store(project.store_path) as store:
        seen = list(store.results.read(store.runs.find("latest").id))
    assert [each.state for each in seen] == ["passed", "error_target", "passed"]

    bot.reply = right
    assert project.cortex("run", "--resume", "latest").returncode == 0
    after = stored()
    assert [row for row in after if row in before] == before, "the earlier one is beside the new one"
    assert len(after) == len(before) + 1


@pytest.mark.slow
async def test_F18_P15_of_an_answer_of_2_kb_that_is_cut_after_each_byte_none_is_scored(scripted_service, store):
    whole = b'{"text": "Take one tablet. Do not take two.", "more": "' + b"x" * 1_950 + b'"}'
    assert len(whole) > 2_000
    framings: tuple[Framing, ...] = ("length", "chunked", "close")

    def cut_there(call: Call) -> Answer:
        after = int(call.json["query"].split()[1])
        return cut(after, whole, framing=framings[after % 3])

    bot = scripted_service(cut_there)
    plan = plan_for(bot.url, cases(len(whole)), scorers=["performance"], at_once=40)

    report = await execute(without_breaker(plan), store)

    assert (report.totals.passed, report.totals.failed, report.totals.errors) == (0, 0, len(whole))
    kinds = Counter({each.removeprefix("error_target: "): count for each, count in report.error_kinds.items()})
    assert kinds["truncated"] >= len(whole) - 1, kinds
    assert "performance" not in report.metrics


def without_breaker(plan: Plan) -> Plan:
    return replace(plan, patience=replace(plan.patience, break_after=None))


async def test_F19_a_name_that_resolves_after_a_while_costs_retries_and_no_case(scripted_service, store, monkeypatch):
    bot = scripted_service(right)
    port, failures = int(bot.url.rstrip("/").rpartition(":")[2]), 6
    real = socket.getaddrinfo

    def resolve(host: Any, *given: Any, **named: Any) -> Any:
        nonlocal failures
        if host != "clinic.test":
            return real(host, *given, **named)
        if failures:
            failures -= 1
            raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
        return real("127.0.0.1", *given, **named)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    plan = plan_for(chatbot(f"http://clinic.test:{port}/"), cases(20), retries=3, at_once=4)
    soon = replace(plan.patience, probe_every_s=0.01)  # several calls share a failure: it may look as if it were down

    report = await execute(replace(plan, patience=soon), store)

    assert (report.totals.passed, failures) == (20, 0)
    assert report.run.manifest["calls"]["made"] > 20
    assert {row[-1] for row in rows(store)} == {"passed"}


GROWTH = """
import asyncio, resource, sys
from cortex_eval.core import Case, TargetError
from cortex_eval.targets import Conversation, targets

def peak_mb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

async def main(good, bad):
    async def ask(url):
        async with targets.build("chatbot", {"api_url": url}) as target:
            await target.ask(Conversation.at(Case.of("Hello?", id="1"), 0, [], session_id="s"))
    await ask(good)
    before = peak_mb()
    try:
        await ask(bad)
    except TargetError as error:
        print(error.kind, peak_mb() - before)

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "answer",
    [pytest.param(lambda: gzip_bomb(10 * 1024**3), id="TR06"), pytest.param(lambda: huge(50 * 1024**2), id="TR08")],
)
def test_TR06_TR08_what_is_too_large_is_given_up_at_the_limit_and_memory_stays_small(scripted_service, answer):
    good, bad = scripted_service({"text": "Hi."}), scripted_service(answer())

    done = subprocess.run(
        [sys.executable, "-c", GROWTH, good.url, bad.url], capture_output=True, text=True, timeout=120, check=False
    )

    assert done.returncode == 0, done.stderr
    kind, growth_mb = done.stdout.split()
    assert kind == "too_large"
    assert float(growth_mb) < 50


@pytest.mark.slow
def test_P12_a_run_of_the_command_and_readers_of_every_kind_share_a_store(scripted_service, make_project):
    bot = scripted_service(right, latency_s=0.01)
    project = make_project(
        [{"id": str(n), "input": f"Question {n}", "ground_truth": f"Answer {n}"} for n in range(1_500)],
        {"kind": "chatbot", "api_url": bot.url},
        execution={"max_concurrent_tests": 8},
    )
    running = project.start("run", "--json")
    bot.wait_for_calls(5)
    reads = 0
    while running.poll() is None:
        for command in (("runs", "list", "--json"), ("runs", "show", "latest", "--json"), ("baseline", "list")):
            done = project.cortex(*command)
            assert done.returncode == 0, done.stderr
            assert "locked" not in done.stderr
            reads += 1
    out, err = running.communicate()

    assert running.returncode == 0, err
    assert "locked" not in err
    assert json.loads(out)["totals"]["passed"] == 1_500
    assert reads >= 3
    with closing(sqlite3.connect(project.store_path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


class Leaky(Target):
    """A target of somebody's own that lets a cancellation of its own making escape, as wrapped clients do."""

    kind = "leaky"

    async def ask(self, turns: Conversation) -> Reply:
        if turns.text == "Question 3":
            inner = asyncio.ensure_future(asyncio.Event().wait())
            inner.cancel()
            await inner
        return Reply(text=turns.text.replace("Question", "Answer"))


@pytest.mark.parametrize("at_once", [1, 4])
async def test_P22_a_target_that_lets_a_cancellation_escape_costs_its_own_case_only(store, at_once):
    report = await execute(plan_for(Leaky(), cases(20), at_once=at_once), store)

    assert (report.totals.passed, report.totals.errors, report.run.status) == (19, 1, "completed")
    assert report.error_kinds == {"error_target: raised": 1}


async def test_P22_a_scorer_that_lets_a_cancellation_escape_costs_its_own_score_only(scripted_service, store):
    async def leaks(case: Case, reply: Reply) -> float:
        if case.id == "3":
            raise asyncio.CancelledError
        return 1.0

    bot = scripted_service(right)
    report = await execute(plan_for(bot.url, cases(20), scorers=[waits(leaks)]), store)

    assert (report.totals.passed, report.totals.errors, report.run.status) == (19, 1, "completed")
    assert report.error_kinds == {"error_judge: crashed": 1}


async def test_P01_failures_of_a_target_that_has_no_breaker_are_on_disk_at_once(store):
    """What runs on this machine is never taken to be down: nothing is kept in memory until that is known."""
    stop, asked = Stop(), 0

    async def never(question: str) -> str:
        nonlocal asked
        asked += 1
        if asked == 12:
            stop.request("test")
        raise TargetError("busy", kind="overloaded", transient=True)

    class Mine(Target):
        kind = "mine"

        async def ask(self, turns: Conversation) -> Reply:
            return Reply(text=await never(turns.text))

    report = await execute(without_breaker(plan_for(Mine(), cases(40), at_once=2)), store, stop=stop)

    assert report.run.status == "paused"
    assert len(rows(store)) == asked
    assert {row[-1] for row in rows(store)} == {"error_target"}
