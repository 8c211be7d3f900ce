"""Every exit code of the installed command, and that what it prints never disagrees with it."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import signal
import subprocess
import sys

import pytest
from stopped_runs import stop_and_let_go, tell_to_stop

VERDICTS = {0: "PASSED", 1: "REGRESSION", 2: "BELOW THRESHOLD", 3: "ERROR"}
LOW_BAR = {"mode": "strict", "thresholds": {"pass_rate": 0.1}}


def some_wrong(call):
    """Right but for every second question."""
    number = int(re.search(r"\d+", call.json["query"])[0])
    return {"text": f"Answer to {call.json['query']}" if number % 2 else "No idea."}


def last_verdict(text):
    """The word that begins the verdict, the last paragraph of the summary."""
    return re.search(r"^([A-Z][A-Z ]+?)  ", text.rstrip().rpartition("\n\n")[2], re.MULTILINE)[1]


def test_0_when_the_run_passes(clinic):
    done = clinic().installed("run")

    assert done.code == 0
    assert last_verdict(done.out) == VERDICTS[0]


@pytest.mark.slow
def test_1_when_a_worse_version_is_compared_with_the_baseline(clinic):
    project = clinic(gate=LOW_BAR)
    assert project.installed("run").code == 0
    assert project.installed("baseline", "set", "latest", "--name", "main").code == 0
    project.bot.reply = some_wrong

    without = project.installed("run")
    compared = project.installed("run", "--baseline", "main")

    assert without.code == 0
    assert compared.code == 1
    assert last_verdict(compared.out) == VERDICTS[1]
    assert "exact fell 1.00 → 0.50 (allowed 0.02)" in compared.out
    assert project.installed("run", "--baseline", "mian").code == 4


@pytest.mark.parametrize("arguments", [(), ("--fail-under", "0.6")])
def test_2_when_the_score_is_too_low(clinic, arguments):
    done = clinic(reply=some_wrong, gate=LOW_BAR if arguments else {}).installed("run", *arguments)

    assert done.code == 2
    assert last_verdict(done.out) == VERDICTS[2]
    assert "overall_score 0.50 is under" in done.out


@pytest.mark.parametrize("reply", [500, "not JSON"], ids=["status", "not_json"])
def test_3_when_the_target_does_not_answer(clinic, reply):
    done = clinic(reply=reply).installed("run")

    assert done.code == 3
    assert last_verdict(done.out) == VERDICTS[3]
    assert "4 of 4 cases ended in an error" in " ".join(done.out.split())


def test_3_comes_before_2_when_both_hold(clinic):
    done = clinic(reply=lambda call: 500 if call.number == 1 else {"text": "No."}).installed("run")

    assert done.code == 3
    assert last_verdict(done.out) == VERDICTS[3]


def test_4_when_the_project_file_is_not_valid(clinic):
    project = clinic(gate={"modus": "strict"})

    done = project.installed("run")

    assert (done.code, done.out) == (4, "")
    assert "cortex.yaml:" in done.err
    assert project.bot.ledger == []


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_130_and_143_when_stopped_and_the_printed_command_goes_on_without_repeating_a_call(clinic, number, code):
    gate = asyncio.Event()

    async def reply(call):
        if call.number > 8:
            await gate.wait()
        return {"text": f"Answer to {call.json['query']}"}

    project = clinic(cases=40, reply=reply)
    config = project.root / "cortex.yaml"
    named = config.rename(project.root / "my project.yaml")  # the printed command must name it
    running = project.start("run", "--config", str(named))
    project.bot.wait_for_calls(12)  # 8 are answered, 4 are in flight
    out, err = stop_and_let_go(running, project.bot, gate, number)

    assert running.returncode == code
    assert out == ""
    assert "Stopped: 12 of 40 cases are done and kept." in err
    assert len(project.bot.ledger) == 12
    printed = re.search(r"^Go on: cortex (.+)$", err, re.MULTILINE)[1]
    resumed = project.installed(*shlex.split(printed))
    assert resumed.code == 0, resumed.err
    assert "40/40" in resumed.out
    asked = project.is_asked()
    assert len(asked) == len(set(asked)) == 40


@pytest.mark.slow
def test_a_second_ctrl_c_stops_at_once_and_nothing_stored_is_lost(clinic):
    async def reply(call):
        if call.number > 8:
            await asyncio.Event().wait()
        return {"text": f"Answer to {call.json['query']}"}

    project = clinic(cases=12, reply=reply)
    running = project.start("run")
    project.bot.wait_for_calls(12)
    tell_to_stop(running)
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=10)

    assert running.returncode == 130
    assert "8 of 12 cases are done and kept" in err
    (run,) = project.installed("runs", "list", "--json").json
    assert run["status"] == "paused"


@pytest.mark.slow
def test_resuming_a_finished_run_changes_nothing_and_gives_its_code(clinic):
    project = clinic(reply=some_wrong)
    first = project.installed("run", "--json")
    before = project.installed("runs", "show", "latest", "--json").json
    files = sorted((project.root / "reports").rglob("*"))
    config = json.loads((project.root / "cortex.yaml").read_text())
    project.write("cortex.yaml", {**config, "gate": {"thresholds": {"pass_rate": 0.1}}})  # would let it pass

    again = project.installed("run", "--resume", first.json["run"]["id"][:5], "--json")

    assert (first.code, again.code) == (2, 2)
    assert again.json == first.json
    assert again.json["run"]["finished"] == before["run"]["finished"]
    assert "nothing is left to do" in again.err
    assert len(project.bot.ledger) == 4
    assert project.installed("runs", "show", "latest", "--json").json == before
    assert sorted((project.root / "reports").rglob("*")) == files


@pytest.mark.slow
def test_resuming_a_run_with_errors_asks_only_for_what_is_missing(clinic):
    project = clinic(reply=lambda call: 503 if call.number == 2 else {"text": f"Answer to {call.json['query']}"})
    assert project.installed("run").code == 3

    resumed = project.installed("run", "--resume", "latest")

    assert resumed.code == 0
    assert len(project.bot.ledger) == 5


@pytest.mark.slow
def test_an_interrupted_run_is_still_compared_with_its_baseline_when_it_goes_on(clinic):
    project = clinic(gate=LOW_BAR)
    project.installed("run")
    project.installed("baseline", "set", "latest")
    project.bot.reply = lambda call: 503 if call.number == 8 else some_wrong(call)
    assert project.installed("run", "--baseline", "default").code == 3
    project.bot.reply = some_wrong

    resumed = project.installed("run", "--resume", "latest")

    assert resumed.code == 1
    assert last_verdict(resumed.out) == VERDICTS[1]


def test_a_bug_is_not_taken_for_a_regression():
    code = "from cortex_eval.cli import cortex, main; cortex.main = lambda **_: 1 / 0; main()"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.returncode == 3
    assert "this is a bug in Cortex" in done.stderr
