"""A Python callable is found, checked before the first case, and given what its signature asks for."""

from __future__ import annotations

import functools
import os
import threading

import pytest
from my_bots import in_a_process, outcome, outcomes, python, said

from cortex_eval.core import Case, InputError, Reply, ToolCall, Turn
from cortex_eval.targets import Conversation, targets
from cortex_eval.targets.local import PythonTarget


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
