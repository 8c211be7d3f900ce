"""A Python callable is asked, and whatever it does stays its own affair."""

from __future__ import annotations

import asyncio
import functools
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from cortex_eval.core import Case, InputError, Reply, Secret, TargetError, ToolCall, Turn
from cortex_eval.targets import Conversation, local, targets
from cortex_eval.targets.local import PythonTarget

in_a_process = pytest.param("process", marks=pytest.mark.slow)
"""Where there are many: each starts a process, and a few others stay for `make check`."""
BOT = """
import asyncio, ctypes, os, signal, subprocess, sys, threading, time
from cortex_eval.core import TargetError

def shout(query, context=None):
    return {"response": query.upper(), "context_seen": context}

async def whisper(text):
    return text.lower()

def whole(conversation):
    first, case = conversation[0], conversation.case
    return f"{len(conversation)} {first.role} {conversation.text} {case.id} {case.turn} {case.expected.answer}"

def noisy(text):
    print("to stdout", text)
    os.write(1, b"raw bytes")
    subprocess.run(["echo", "from a child"])
    return sys.stdin.read() + text

def pid(text):
    return str(os.getpid())

def behave(text):
    if text == "raise": raise ValueError("no clinic\\nsecond line")
    if text == "exit": sys.exit(0)
    if text == "interrupt": raise KeyboardInterrupt
    if text == "base": raise type("Odd", (BaseException,), {})("odd")
    if text == "none": return None
    if text == "number": return 3
    if text == "coroutine": return whisper(text)
    if text == "unknown keys": return {"foo": 1}
    if text == "wrong type": return {"text": "x", "confidence": "high"}
    if text == "not json": return {"text": "x", "entities": {"when": object()}}
    if text == "surrogate": return "\\ud800"
    if text == "transient": raise TargetError("busy", kind="overloaded", transient=True)
    if text == "long": return "a" * 6_000_000
    if text == "block": threading.Event().wait()
    if text == "_exit": os._exit(3)
    if text == "segfault": ctypes.string_at(0)
    if text == "killed": os.kill(os.getpid(), signal.SIGKILL)
    if text == "close pipes": os.closerange(3, 64); threading.Event().wait()
    time.sleep(0.02)
    return "fine " + text

async def behave_async(text):
    if text == "block": threading.Event().wait()
    if text == "exit": sys.exit(0)
    if text == "_exit": os._exit(3)
    if text == "sleep": await asyncio.Event().wait()
    if text == "stubborn":
        while True:
            try: await asyncio.Event().wait()
            except asyncio.CancelledError: pass
    if text == "task exits": asyncio.ensure_future(leave())
    await asyncio.sleep(0.02)
    return "fine " + text

async def leave():
    sys.exit(0)

class Agent:
    def ask(self, text): return "agent " + text

agent = Agent()
number = 3
def nothing(): return "x"
def greedy(text, database): return text
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "my_bot.py").write_text(BOT, "utf-8")
    return tmp_path


@pytest.fixture(autouse=True)
def forget_my_bot():
    """Thread isolation imports it here, and each test has a directory of its own."""
    yield
    sys.modules.pop("my_bot", None)


def said(text: str, **context: object) -> Conversation:
    case = Case.of(text, "the truth", id="c-1")
    return Conversation(turns=case.turns, case=case, context=context, session_id="s-1")


def python(project: Path, function: str, isolation: str = "process") -> PythonTarget:
    settings = {"call": f"my_bot:{function}", "directory": str(project), "isolation": isolation}
    target = targets.build("python", settings)
    assert isinstance(target, PythonTarget)
    return target


async def outcome(target: PythonTarget, text: str, timeout_s: float = 20.0) -> str:
    try:
        async with asyncio.timeout(timeout_s):
            return (await target.ask(said(text))).text
    except TargetError as error:
        return error.kind
    except TimeoutError:
        return "timeout"


async def outcomes(target: PythonTarget, texts: list[str], **timeouts_s: float) -> dict[str, str]:
    async with asyncio.TaskGroup() as group:
        tasks = {
            text: group.create_task(outcome(target, text, timeouts_s.get(text.replace(" ", "_"), 20.0)))
            for text in texts
        }
    return {text: task.result() for text, task in tasks.items()}


@pytest.mark.parametrize("isolation", ["process", "thread"])
async def test_a_function_gets_the_text_and_the_context_and_gives_a_mapping(project, isolation):
    async with python(project, "shout", isolation) as target:
        reply = await target.ask(said("hello", city="Pune"))

    assert reply == Reply(text="HELLO", metadata={"context_seen": {"city": "Pune"}})


@pytest.mark.parametrize("isolation", ["process", "thread"])
async def test_an_async_function_gives_text(project, isolation):
    async with python(project, "whisper", isolation) as target:
        assert (await target.ask(said("HELLO"))).text == "hello"


@pytest.mark.parametrize("isolation", ["process", "thread"])
async def test_a_function_that_wants_it_gets_the_whole_conversation(project, isolation):
    turns = (Turn(text="one"), Turn(role="assistant", text="1"), Turn(text="two"))
    case = Case(id="c-2", turns=(turns[0], turns[2])).at(1)
    async with python(project, "whole", isolation) as target:
        reply = await target.ask(Conversation(turns=turns, case=case))

    assert reply.text == "3 user two c-2 1 None"


async def test_a_file_and_a_dotted_attribute_name_the_callable_too(project):
    async with PythonTarget(call="my_bot.py:agent.ask", directory=str(project)) as target:
        assert (await target.ask(said("x"))).text == "agent x"


async def test_what_it_prints_disturbs_neither_the_replies_nor_our_output(project, capfd):
    async with python(project, "noisy") as target:
        assert [await outcome(target, "a"), await outcome(target, "b")] == ["a", "b"]

    assert capfd.readouterr() == ("", "")


async def test_one_process_serves_many_calls_at_once(project):
    async with python(project, "pid") as target:
        assert len(set((await outcomes(target, [f"{i}" for i in range(20)])).values())) == 1


async def test_the_worker_is_gone_when_the_target_is_left(project):
    async with python(project, "pid") as target:
        pid = int(await outcome(target, "x"))

    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.parametrize("isolation", [in_a_process, "thread"])
@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("no_such_module:ask", "there is no module 'no_such_module'"),
        ("missing.py:ask", "there is no file"),
        ("broken:ask", r"ZeroDivisionError: division by zero \(.*broken.py:2\)"),
        ("unparsable:ask", r"SyntaxError.*unparsable.py:1\)"),
        ("leaves:ask", "SystemExit: 3"),
        ("wants:ask", r"No module named 'not_installed' \(.*wants.py:1\)"),
        ("my_bot:shuot", "my_bot.py has no 'shuot'. Did you mean 'shout'"),
        ("my_bot:Agent", "is a class"),
        ("my_bot:Agent.ask", "is a method of a class"),
        ("my_bot:number", "is int, which cannot be called"),
        ("my_bot:nothing", "takes no argument"),
        ("my_bot:greedy", "needs 'database'"),
        ("my_bot", "does not name a callable"),
    ],
)
async def test_pl01_what_cannot_be_loaded_is_an_input_error_before_the_first_case(project, isolation, call, message):
    (project / "broken.py").write_text("x = 1\nx / 0\n", "utf-8")
    (project / "unparsable.py").write_text("def ask(:\n", "utf-8")
    (project / "leaves.py").write_text("import sys\nsys.exit(3)\n", "utf-8")
    (project / "wants.py").write_text("import not_installed\n", "utf-8")
    target = PythonTarget(call=call, directory=str(project), isolation=isolation)

    with pytest.raises(InputError, match=message) as caught:
        await target.check()

    assert "\n" not in str(caught.value)
    assert call.partition(":")[0].removesuffix(".py") in str(caught.value)


async def test_pl01_an_import_that_kills_the_process_is_an_input_error(project):
    (project / "deadly.py").write_text("import os\nos._exit(7)\n", "utf-8")

    with pytest.raises(InputError, match=r"deadly:ask.*exit status 7"):
        await PythonTarget(call="deadly:ask", directory=str(project)).check()


@pytest.mark.parametrize("isolation", [in_a_process, "thread"])
@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("raise", "raised", r"^my_bot:behave raised ValueError: no clinic\.$"),
        ("none", "bad_return", "gave back None"),
        ("number", "bad_return", "gave back int 3"),
        ("coroutine", "bad_return", "coroutine that nobody awaited"),
        ("unknown keys", "bad_return", "its keys: foo"),
        ("wrong type", "bad_return", "'confidence' as str 'high'"),
        ("not json", "bad_return", "cannot be written as JSON"),
        ("surrogate", "bad_return", "cannot be written as JSON"),
        ("long", "too_large", "6,000,0"),
        ("exit", "raised", "SystemExit: 0"),
        ("interrupt", "raised", "KeyboardInterrupt"),
        ("base", "raised", "Odd: odd"),
    ],
)
async def test_pl02_pl03_what_is_no_reply_is_an_error_of_that_case(project, isolation, text, kind, message):
    async with python(project, "behave", isolation) as target:
        with pytest.raises(TargetError, match=message) as caught:
            await target.ask(said(text))

        assert (caught.value.kind, caught.value.transient) == (kind, False)
        assert await outcome(target, "hello") == "fine hello"


@pytest.mark.parametrize("isolation", ["process", "thread"])
async def test_a_target_error_of_the_callable_keeps_its_kind(project, isolation):
    async with python(project, "behave", isolation) as target:
        with pytest.raises(TargetError, match="busy") as caught:
            await target.ask(said("transient"))

    assert (caught.value.kind, caught.value.transient) == ("overloaded", True)


@pytest.mark.parametrize("isolation", ["process", "thread"])
@pytest.mark.parametrize("function", ["behave", "behave_async"])
async def test_pl04_a_call_that_blocks_frees_its_slot_and_the_next_one_is_answered(
    project, isolation, function, monkeypatch
):
    monkeypatch.setattr(PythonTarget, "stall_s", 0.2)
    async with python(project, function, isolation) as target:
        assert await outcome(target, "block", 0.1) == "timeout"
        assert await outcome(target, "hello") == "fine hello"


async def test_pl04_the_worker_of_a_blocked_call_is_replaced(project):
    (project / "slow.py").write_text(
        "import os, threading\n"
        "def ask(text):\n"
        "    if text == 'block': threading.Event().wait()\n"
        "    return str(os.getpid())\n",
        "utf-8",
    )
    async with PythonTarget(call="slow:ask", directory=str(project)) as target:
        first = await outcome(target, "x")
        assert await outcome(target, "block", 0.05) == "timeout"
        async with asyncio.timeout(20):
            while (then := await outcome(target, "x")) == first:  # until the worker has said that it is stuck
                pass

    assert then.isdecimal()


async def test_pl04_an_async_call_that_can_be_cancelled_costs_no_worker(project):
    async with python(project, "behave_async") as target:
        processes = target._asker
        before = processes._current
        assert await outcome(target, "sleep", 0.05) == "timeout"
        assert await outcome(target, "hello") == "fine hello"
        assert processes._current is before


async def test_pl04_calls_of_a_frozen_process_are_asked_again(project, monkeypatch):
    monkeypatch.setattr(local, "FROZEN_S", 0.2)
    (project / "frozen.py").write_text(
        "import os, signal, threading\n"
        "async def ask(text):\n"
        "    if text == 'freeze': os.kill(os.getpid(), signal.SIGSTOP); threading.Event().wait()\n"
        "    return text\n",
        "utf-8",
    )
    async with PythonTarget(call="frozen:ask", directory=str(project)) as target:
        results = await outcomes(target, ["freeze", "a", "b"], freeze=0.2)

    assert results == {"freeze": "timeout", "a": "a", "b": "b"}


async def test_pl04_a_program_ends_though_a_callable_never_does(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(
        "import asyncio, threading\n"
        "from cortex_eval.core import Case\n"
        "from cortex_eval.targets import Conversation\n"
        "from cortex_eval.targets.local import PythonTarget\n"
        "async def main():\n"
        "    case = Case.of('x', id='1')\n"
        "    async with PythonTarget.of(lambda text: threading.Event().wait()) as target:\n"
        "        async with asyncio.timeout(0.1):\n"
        "            await target.ask(Conversation(turns=case.turns, case=case))\n"
        "try: asyncio.run(main())\n"
        "except TimeoutError: print('timed out')\n",
        "utf-8",
    )

    done = await asyncio.to_thread(
        subprocess.run, [sys.executable, script], capture_output=True, text=True, timeout=30, check=True
    )

    assert (done.stdout, done.stderr) == ("timed out\n", "")


GOOD = [f"case {i}" for i in range(12)]
FINE = {text: f"fine {text}" for text in GOOD}


@pytest.mark.slow
async def test_p22_whatever_a_process_does_that_case_errors_and_all_others_finish(project):
    bad = ["raise", "exit", "interrupt", "none", "_exit", "segfault", "killed", "close pipes", "block"]
    async with python(project, "behave") as target:
        results = await outcomes(target, [*bad[:5], *GOOD[:6], *bad[5:], *GOOD[6:]], block=1.0)

    assert {text: results[text] for text in GOOD} == FINE
    assert {text: results[text] for text in bad} == {
        **dict.fromkeys(("raise", "exit", "interrupt"), "raised"),
        "none": "bad_return",
        **dict.fromkeys(("_exit", "segfault", "killed", "close pipes"), "crashed"),
        "block": "timeout",
    }


@pytest.mark.slow
async def test_p22_whatever_an_async_callable_does_all_others_finish(project, monkeypatch):
    monkeypatch.setattr(PythonTarget, "stall_s", 0.2)
    async with python(project, "behave_async") as target:
        texts = ["block", "stubborn", "exit", "_exit", "task exits", *GOOD]
        results = await outcomes(target, texts, block=1.5, stubborn=1.0)

    assert {text: results[text] for text in GOOD} == FINE
    bad = {"block": "timeout", "stubborn": "timeout", "exit": "raised", "_exit": "crashed"}
    assert {text: results[text] for text in bad} == bad
    assert results["task exits"] == "fine task exits"


@pytest.mark.slow
@pytest.mark.parametrize("function", ["behave", "behave_async"])
async def test_p22_in_threads_a_blocked_call_leaves_the_others_alone(project, function, monkeypatch):
    monkeypatch.setattr(PythonTarget, "stall_s", 0.2)
    async with python(project, function, "thread") as target:
        results = await outcomes(target, ["block", "exit", *GOOD], block=1.5)

    assert results == {"block": "timeout", "exit": "raised", **FINE}


@pytest.mark.slow
async def test_p22_a_call_that_waits_beside_a_blocked_one_is_repeated(project, monkeypatch):
    """Given up, the one that holds the loop gives its place away, and those that had begun there begin again."""
    monkeypatch.setattr(PythonTarget, "stall_s", 0.1)
    (project / "beside.py").write_text(
        "import asyncio, threading\n"
        "begun = 0\n"
        "async def ask(text):\n"
        "    global begun\n"
        "    begun += 1\n"
        "    if text == 'block':\n"
        "        await asyncio.sleep(0.1)\n"
        "        threading.Event().wait()\n"
        "    await asyncio.sleep(0.3)\n"
        "    return f'begun {begun}'\n",
        "utf-8",
    )
    async with PythonTarget(call="beside:ask", directory=str(project)) as target:
        assert await outcomes(target, ["block", "other"], block=0.5) == {"block": "timeout", "other": "begun 3"}


async def test_a_crash_says_how_the_process_ended(project):
    async with python(project, "behave") as target:
        with pytest.raises(TargetError, match=r"my_bot:behave ended its process \(killed by SIGSEGV\)"):
            await target.ask(said("segfault"))


async def test_a_callable_that_can_no_longer_be_imported_is_an_error_of_its_cases(project):
    async with python(project, "behave") as target:
        (project / "my_bot.py").write_text("1/0", "utf-8")
        with pytest.raises(TargetError, match=r"could not be started again.*ZeroDivisionError"):
            await target.ask(said("_exit"))


async def test_a_value_that_json_cannot_hold_is_not_sent(project):
    async with python(project, "shout") as target:
        with pytest.raises(TargetError, match="cannot be sent"):
            await target.ask(said("x", thing=object()))


@pytest.mark.parametrize("isolation", ["process", "thread"])
async def test_a_secret_in_an_exception_is_masked(project, isolation):
    Secret("tops3cret-value")
    (project / "leaky.py").write_text("def ask(text): raise ValueError('key tops3cret-' + 'value')\n", "utf-8")
    async with PythonTarget(call="leaky:ask", directory=str(project), isolation=isolation) as target:
        with pytest.raises(TargetError, match=r"ValueError: key \*\*\*"):
            await target.ask(said("x"))
    sys.modules.pop("leaky", None)


class Remembers:
    """A callable object that is async."""

    def __init__(self) -> None:
        self.threads: set[str] = set()

    async def __call__(self, prompt: str) -> Reply:
        self.threads.add(threading.current_thread().name)
        return Reply(text=prompt, tool_calls=(ToolCall(name="look"),))


async def test_a_callable_object_is_called_in_another_thread():
    agent = Remembers()
    async with PythonTarget.of(agent) as target:
        assert await target.ask(said("x")) == Reply(text="x", tool_calls=(ToolCall(name="look"),))

    assert agent.threads
    assert threading.current_thread().name not in agent.threads


def _both(first, *, context):
    return f"{first} {context['city']}"


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda anything: anything, "hi"),
        (lambda *args: args[0], "hi"),
        (lambda **kwargs: f"{kwargs['query']} {kwargs['context']['city']}", "hi Pune"),
        (lambda q="": q, "hi"),
        (lambda context, question: f"{question} {context['city']}", "hi Pune"),
        (lambda messages, session_id: f"{messages[-1]} {session_id}", "{'role': 'user', 'content': 'hi'} s-1"),
        (lambda query, temperature=0.3: f"{query} {temperature}", "hi 0.3"),
        (_both, "hi Pune"),
        (functools.partial(_both, context={"city": "Goa"}), "hi Pune"),
        (str.upper, "HI"),
        ("hi there {}".format, "hi there hi"),
    ],
)
async def test_the_signature_decides_what_is_given(function, expected):
    async with PythonTarget.of(function) as target:
        assert (await target.ask(said("hi", city="Pune"))).text == expected


async def test_an_unknown_isolation_is_told_at_once():
    with pytest.raises(InputError, match=r"python\.isolation"):
        targets.build("python", {"call": "a:b", "isolation": "docker"})
