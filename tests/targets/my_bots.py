"""Python callables as targets: a module that behaves and misbehaves on demand, and ways to ask it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from cortex_eval.core import Case, TargetError
from cortex_eval.targets import Conversation, targets
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


def said(text: str, **context: object) -> Conversation:
    case = Case.of(text, "the truth", id="c-1")
    return Conversation(turns=case.turns, case=case, context=context, session_id="s-1")


def python(project: Path, function: str, isolation: str = "process") -> PythonTarget:
    """A function of `my_bot.py` as a target."""
    settings = {"call": f"my_bot:{function}", "directory": str(project), "isolation": isolation}
    target = targets.build("python", settings)
    assert isinstance(target, PythonTarget)
    return target


async def outcome(target: PythonTarget, text: str, timeout_s: float = 20.0) -> str:
    """The text of the reply, or the kind of error that came instead."""
    try:
        async with asyncio.timeout(timeout_s):
            return (await target.ask(said(text))).text
    except TargetError as error:
        return error.kind
    except TimeoutError:
        return "timeout"


async def outcomes(target: PythonTarget, texts: list[str], **timeouts_s: float) -> dict[str, str]:
    """The outcome of each text, all asked at once."""
    async with asyncio.TaskGroup() as group:
        tasks = {
            text: group.create_task(outcome(target, text, timeouts_s.get(text.replace(" ", "_"), 20.0)))
            for text in texts
        }
    return {text: task.result() for text, task in tasks.items()}
