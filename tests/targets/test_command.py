"""A program is asked once a turn, and whatever it does stays its own affair."""

from __future__ import annotations

import asyncio
import json
import os
import re
import select
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cortex_eval.analysis import GateSettings
from cortex_eval.config import Plan, Request, load_project, make_plans
from cortex_eval.core import Case, InputError, Reply, Secret, TargetError
from cortex_eval.engine import execute
from cortex_eval.net import Patience
from cortex_eval.scoring import plan_scorer
from cortex_eval.targets import Conversation, command, targets
from cortex_eval.targets.command import CommandTarget

BOT = r"""
import json, os, signal, subprocess, sys, time

FOREVER = [sys.executable, "-c", "import time; time.sleep(3600)"]

def say(value):
    sys.stdout.write(json.dumps(value)); sys.stdout.flush()

if sys.argv[1:] == ["close stdin"]:
    os.close(0); say({"text": "did not listen"}); os._exit(0)
asked = json.load(sys.stdin)
text = asked["input"]
open(os.path.join(os.environ["NOTES"], "pids"), "a").write(f"{os.getpid()}\n")
if text == "exit": sys.stderr.write("no clinic\n"); sys.exit(3)
if text == "later": sys.exit(75)
if text == "segfault": os.kill(os.getpid(), signal.SIGSEGV)
if text.startswith("hang") and os.path.exists("begun"): open("begun", "w")
if text == "hang": time.sleep(3600)
if text == "hang, deaf": signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(3600)
if text == "hang, with a child": subprocess.run(FOREVER)
if text == "garbage": print("<html>Sorry</html>"); sys.exit(0)
if text == "two values": print("{} {}"); sys.exit(0)
if text == "bytes": os.write(1, b'{"text": "\xff\xfe"}'); sys.exit(0)
if text == "nothing": sys.stderr.write("nothing to say\n"); sys.exit(0)
if text == "no text": say({"answer": 3}); sys.exit(0)
if text == "a number": say(3); sys.exit(0)
if text == "endless":
    while True: os.write(1, b"a" * 65536)
if text == "chatty": sys.stderr.write("x" * 3_000_000); sys.stderr.flush()
if text == "child keeps stdout": subprocess.Popen(FOREVER)
if text == "child keeps stdout, far away":
    far = subprocess.Popen(FOREVER, start_new_session=True)
    open(os.path.join(os.environ["NOTES"], "far"), "w").write(str(far.pid))
if text == "closes stdout": say({"text": "closed"}); sys.stdout.flush(); os.close(1); os._exit(0)
if text == "environment": say({"text": json.dumps(dict(os.environ))}); sys.exit(0)
if text == "where": say({"text": os.getcwd()}); sys.exit(0)
if text == "asked": say({"text": json.dumps(asked), "intent": "echo", "seen": len(asked)}); sys.exit(0)
if text == "told": sys.stderr.write("y" * 500 + os.environ["BOT_KEY"]); sys.exit(1)
say({"text": "fine " + text})
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "bot.py").write_text(BOT, "utf-8")
    return tmp_path


@pytest.fixture(autouse=True)
def nothing_is_left_running(project: Path):
    yield
    notes = project / "pids"
    pids = [int(line) for line in notes.read_text().splitlines()] if notes.exists() else []
    assert [pid for pid in pids if Path(f"/proc/{pid}").exists()] == [], "neither alive nor a zombie"
    assert [pid for pid, group in living() if group in pids and not dies(pid)] == [], "nor anything that it started"


def living() -> Iterator[tuple[int, int]]:
    """Every process with its group; what is dead and waits for the system to take note does not count."""
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended since
            state, _, group = folder.joinpath("stat").read_text().rpartition(")")[2].split()[:3]
            if state != "Z":
                yield int(folder.name), int(group)


def dies(pid: int) -> bool:
    """Whether a process ends, which was killed but may not know it yet."""
    try:
        end = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([end], [], [], 10)[0])
    finally:
        os.close(end)


def program(project: Path, *arguments: str, **settings: Any) -> CommandTarget:
    made = targets.build(
        "command",
        {
            "command": [sys.executable, "bot.py", *arguments],
            "directory": str(project),
            **settings,
            "environment": {"NOTES": str(project), **settings.get("environment", {})},
        },
    )
    assert isinstance(made, CommandTarget)
    return made


def said(text: str) -> Conversation:
    case = Case.of(text, "the truth", id="c-1")
    return Conversation(turns=case.turns, case=case, context={"city": "Pune"}, session_id="s-1")


async def failure(target: CommandTarget, text: str) -> TargetError:
    with pytest.raises(TargetError) as caught:
        await target.ask(said(text))
    return caught.value


async def test_a_program_reads_the_request_and_writes_the_reply(project):
    reply = await program(project).ask(said("asked"))

    assert json.loads(reply.text) == {
        "input": "asked",
        "messages": [{"role": "user", "content": "asked"}],
        "context": {"city": "Pune"},
        "session_id": "s-1",
    }
    assert (reply.intent, reply.raw["seen"]) == ("echo", 4)


async def test_the_request_and_the_reply_are_mapped_as_those_of_http(project):
    target = program(project, body={"input": "{input}", "who": "{user_id}"}, reply={"text": "$.intent"})

    reply = await target.ask(said("asked"))

    assert reply.text == "echo"
    assert json.loads(reply.raw["text"]) == {"input": "asked", "who": "eval-tester"}


async def test_a_text_is_split_without_a_shell(project):
    code = "import json,sys; print(json.dumps({'text': ' '.join(sys.argv[1:])}))"
    line = f"{sys.executable} -c \"{code}\" 'a b' $HOME *.py ; echo"

    reply = await targets.build("command", {"command": line, "directory": str(project)}).ask(said("x"))

    assert reply == Reply(text="a b $HOME *.py ; echo")


async def test_a_program_runs_in_the_project_with_the_basics_of_the_environment_and_no_more(project, monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "not-for-the-program")
    target = program(project, environment={"PORT": "80"})

    found = json.loads((await target.ask(said("environment"))).text)

    assert (found["PORT"], found["PATH"], found["NOTES"]) == ("80", os.environ["PATH"], str(project))
    assert set(found) <= {*command.BASICS, "PORT", "NOTES", "LC_CTYPE", *(n for n in os.environ if n.startswith("LC_"))}
    assert (await target.ask(said("where"))).text == str(project.resolve())


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("exit", "exited", r"ended with exit status 3. It said: 'no clinic'"),
        ("later", "exited", r"exit status 75"),
        ("segfault", "crashed", r"was ended by SIGSEGV"),
        ("garbage", "not_json", r"did not write one JSON value: '<html>Sorry</html>'"),
        ("two values", "not_json", r"'{} {}'"),
        ("bytes", "not_json", r"did not write one JSON value"),
        ("nothing", "empty", r"wrote nothing to its output. It said: 'nothing to say'"),
        ("no text", "missing_field", r"gave no 'text'; it gave \['answer'\]"),
        ("a number", "missing_field", r"gave no 'text'; it gave 'int'"),
        ("endless", "too_large", r"wrote more than 5 MiB and was ended"),
    ],
)
async def test_P22_what_is_no_reply_is_an_error_that_says_what_came(project, text, kind, message):
    error = await failure(program(project), text)

    assert error.kind == kind
    assert re.search(message, str(error))
    assert "bot.py" in str(error)
    assert error.transient is (text == "later")


async def test_the_end_of_what_a_program_complains_of_is_quoted_without_secrets(project):
    Secret("key-of-the-bot/77")

    error = await failure(program(project, environment={"BOT_KEY": "key-of-the-bot/77"}), "told")

    assert str(error).endswith("yyy***'")
    assert len(str(error).partition("It said: ")[2]) <= 202


async def test_a_key_in_its_environment_is_masked_from_then_on(project):
    target = program(project, environment={"BOT_KEY": "never-told-before-9"})

    assert "never-told" not in str(await failure(target, "told"))


@pytest.mark.parametrize("text", ["chatty", "child keeps stdout"])
async def test_P22_neither_noise_nor_a_child_left_behind_keeps_a_reply_waiting(project, text):
    async with asyncio.timeout(20):
        assert (await program(project).ask(said(text))).text == f"fine {text}"


async def test_P22_a_child_in_a_session_of_its_own_is_not_waited_for(project, monkeypatch):
    monkeypatch.setattr(command, "LAST_WORDS_S", 0.05)

    async with asyncio.timeout(20):
        reply = await program(project).ask(said("child keeps stdout, far away"))

    assert reply.text == "fine child keeps stdout, far away"
    (child,) = project.joinpath("far").read_text().split()
    os.kill(int(child), signal.SIGKILL)  # it got away, as it wanted to


async def test_P22_a_program_need_not_listen(project):
    target = program(project, "close stdin", body={"input": "z" * 1_000_000})

    assert (await target.ask(said("x"))).text == "did not listen"


async def test_a_program_that_closes_its_output_has_answered(project):
    assert (await program(project).ask(said("closes stdout"))).text == "closed"


@pytest.mark.parametrize("text", ["hang", "hang, deaf", "hang, with a child"])
async def test_P22_a_program_that_is_given_up_is_gone_with_all_that_it_started(project, text):
    os.mkfifo(project / "begun")
    target = program(project)
    asking = asyncio.create_task(target.ask(said(text)))
    await asyncio.to_thread(project.joinpath("begun").read_bytes)  # a pipe: opens when the program opens it too

    asking.cancel()

    with pytest.raises(asyncio.CancelledError):
        await asking


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"command": "no-such-program-77 --now"}, r"command: there is no program 'no-such-program-77' on the PATH"),
        ({"command": ["./none/bot"]}, r"command: there is no program '.*/none/bot'"),
        ({"command": "./bot.py"}, r"bot.py cannot be executed. Name what runs it, such as \[python, ./bot.py\]"),
        ({"command": "python 'bot"}, r"cannot be split into words: No closing quotation"),
        ({"command": ""}, r"command: name a program"),
        ({"command": []}, r"command: name a program"),
        ({"reply": {"intent": "$.a"}}, r"reply: say where the text is"),
        ({"reply": {"text": "$.a", "txt": "$.a"}}, r"a reply has no 'txt'"),
        ({"body": {"q": "{inptu}"}}, r"there is no placeholder \{inptu\}"),
        ({"environment": {"PORT": 80}}, r"environment.PORT: must be text, not 80"),
        ({"shell": True}, r"command has no setting 'shell'"),
    ],
)
def test_mistakes_are_told_before_anything_is_asked(project, settings, message):
    with pytest.raises(InputError, match=message):
        program(project, **settings)


async def test_a_program_that_vanishes_is_an_error_of_the_case(project):
    bot = project / "bot"
    bot.write_text('#!/bin/sh\necho \'{"text": "here"}\'\n')
    bot.chmod(0o700)
    target = program(project, command="./bot")
    assert (await target.ask(said("x"))).text == "here"

    bot.unlink()

    error = await failure(target, "x")
    assert (error.kind, error.transient) == ("not_started", False)


def test_the_project_file_names_a_program_its_folder_and_its_environment(project, monkeypatch):
    monkeypatch.setenv("BOT_TOKEN", "tok-from-the-environment")
    bot = {
        "kind": "command",
        "command": f"{sys.executable} bot.py",
        "environment": {"BOT_KEY": "${BOT_TOKEN}"},
        "directory": "inner",
    }
    project.joinpath("inner").mkdir()
    project.joinpath("c.jsonl").write_text('{"input": "hello"}\n')
    suites = {"s": {"dataset": "c.jsonl", "service": "bot", "scorers": ["exact"]}}
    project.joinpath("cortex.yaml").write_text(json.dumps({"services": {"bot": bot}, "suites": suites}))

    (plan,) = make_plans(load_project(project / "cortex.yaml"), Request())

    assert isinstance(plan.target, CommandTarget)
    assert plan.target.environment["BOT_KEY"] == "tok-from-the-environment"
    assert Path(plan.target.directory) == project / "inner"
    assert "tok-from" not in json.dumps(plan.target_settings)


@pytest.mark.slow
async def test_P22_one_bad_program_call_cannot_stop_the_run(project, store):
    bad = ["exit", "segfault", "hang", "hang, with a child", "garbage", "bytes", "nothing", "no text", "endless"]
    good = ["chatty", "child keeps stdout", *(f"Question {number}" for number in range(6))]
    plan = Plan(
        suite="suite",
        dataset=[Case.of(text, f"fine {text}", id=text) for text in (*bad, *good)],
        target=program(project),
        target_name="bot",
        target_version="1",
        scorers=(plan_scorer("exact"),),
        at_once=3,
        patience=Patience(timeout_s=5.0, retries=0),
        gate=GateSettings(),
    )

    report = await execute(plan, store)

    rows = {each.case_id: each for each in store.results.read(report.run.id)}
    assert {text: row.state for text, row in rows.items()} == {
        **dict.fromkeys(bad, "error_target"),
        **dict.fromkeys(good, "passed"),
    }
    kinds = {text: rows[text].error.kind for text in bad if rows[text].error}
    assert kinds == {
        "exit": "exited",
        "segfault": "crashed",
        "hang": "timeout",
        "hang, with a child": "timeout",
        "garbage": "not_json",
        "bytes": "not_json",
        "nothing": "empty",
        "no text": "missing_field",
        "endless": "too_large",
    }
    again = await execute(replace(plan, dataset=list(plan.dataset)[-2:]), store)
    assert (again.totals.passed, again.cache_hits) == (2, 0), "only replies of remote targets are cached"
