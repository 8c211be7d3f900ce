"""Whatever a Python callable does instead of answering stays its own affair."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest
from my_bots import in_a_process, outcome, outcomes, python, said

from cortex_eval.core import Secret, TargetError
from cortex_eval.targets import local
from cortex_eval.targets.local import PythonTarget


@pytest.mark.parametrize("isolation", [in_a_process, "thread"])
@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("raise", "raised", r"^my_bot:behave raised ValueError: no clinic \(my_bot\.py:\d+ in behave\)\.$"),
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
async def test_the_place_of_an_error_is_in_the_users_code_and_outlives_a_long_message(project, isolation):
    Secret("a-key-of-somebody-77")
    (project / "deep.py").write_text(
        "import json\n"
        "def look(text):\n"
        "    if text == 'long':\n"
        "        raise KeyError('x' * 5000 + 'a-key-of-somebody-77')\n"
        "    return json.loads(text)\n"
        "async def answer(text):\n"
        "    return look(text)\n",
        "utf-8",
    )
    async with PythonTarget(call="deep.py:answer", isolation=isolation, directory=str(project)) as target:
        with pytest.raises(TargetError, match=r"JSONDecodeError: .* \(deep\.py:5 in look\)\.$"):
            await target.ask(said("not JSON"))
        with pytest.raises(TargetError, match=r"KeyError: 'xxx.*… \(deep\.py:4 in look\)\.$") as caught:
            await target.ask(said("long"))

    assert "somebody" not in str(caught.value)


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
