"""Targets that are Python callables: called in a process of their own, or in threads of ours."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Literal, Self, cast

import orjson

from cortex_eval.core import InputError, Reply, TargetError, reply_from_json, shorten
from cortex_eval.targets import worker as wire
from cortex_eval.targets.base import Target, targets
from cortex_eval.targets.conversation import Conversation
from cortex_eval.targets.runner import STALL_S, Function, Outcome, RaisedError, Runner

FROZEN_S = 2.0
"""A worker that does not even take note of a call being given up for this long is not alive."""
LAST_WORDS_S = 1.0
"""How long the output of a worker that is dead is read, when something it started keeps it open."""
SOLOS = 4
"""Workers at most in which calls are repeated alone: one that blocks must not keep all the others waiting."""

_BOOTSTRAP = "import sys; sys.path.append(sys.argv[1]); from cortex_eval.targets.worker import serve; \
serve(sys.argv[2], sys.argv[3], float(sys.argv[4]))"


@targets.register("python")
@dataclass
class PythonTarget(Target):
    """A Python function, or an object that can be called.

    With `isolation: process` nothing that it does reaches the engine: it may print, block, exit or crash. A call that
    is given up while it runs costs its worker, not the engine.
    """

    kind: ClassVar[str] = "python"
    stall_s: ClassVar[float] = STALL_S

    call: str
    """`module:attribute` or `file.py:attribute`; the attribute may be dotted."""
    isolation: Literal["process", "thread"] = "process"
    directory: str = "."
    """Where the project lies: it comes first on the import path of the callable, and files are named from here."""
    _function: Function | None = field(default=None, init=False, repr=False)
    _asker: _Threads | _Processes | None = field(default=None, init=False, repr=False)

    @classmethod
    def of(cls, function: Function) -> PythonTarget:
        """A callable that is already here; it is called in threads of this process."""
        name = getattr(function, "__qualname__", type(function).__qualname__)
        target = cls(call=f"{getattr(function, '__module__', '?')}:{name}", isolation="thread")
        target._function = function
        return target

    async def check(self) -> None:
        """Find the callable and look at its signature; `InputError` when it cannot be found, imported or called."""
        async with self:
            pass

    async def __aenter__(self) -> Self:
        directory = str(_full_path(self.directory))
        if self.isolation == "process":
            processes = _Processes(self.call, directory, self.stall_s)
            await processes.start()
            self._asker = processes
        else:
            function = self._function or wire.load_callable(self.call, directory)
            self._asker = _Threads(function, self.call, self.stall_s)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asker, self._asker = self._asker, None
        if asker is not None:
            await asker.close()

    async def ask(self, turns: Conversation) -> Reply:
        """The callable's reply to the last turn."""
        assert self._asker is not None, "a target is entered before it is asked: `async with target:`"
        return await self._asker.ask(turns)


def _full_path(directory: str) -> Path:
    return Path(directory).absolute()


class _Threads:
    """The callable in daemon threads of this process."""

    def __init__(self, function: Function, whose: str, stall_s: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Reply]] = {}
        self._runner = Runner(function, whose=whose, done=self._done, stuck=lambda _: None, stall_s=stall_s)

    async def ask(self, turns: Conversation) -> Reply:
        number = next(self._numbers)
        waiting: asyncio.Future[Reply] = self._loop.create_future()
        self._waiting[number] = waiting
        self._runner.submit(number, wire.values_of(turns, self._runner.signature.parts))
        try:
            return await waiting
        finally:
            del self._waiting[number]
            if waiting.cancelled():
                self._runner.give_up(number)

    async def close(self) -> None:
        self._runner.close()

    def _done(self, number: int, outcome: Outcome) -> None:
        with suppress(RuntimeError):  # the loop is closed: the program is ending and nobody waits
            self._loop.call_soon_threadsafe(self._settle, number, outcome)

    def _settle(self, number: int, outcome: Outcome) -> None:
        waiting = self._waiting.get(number)
        if waiting is None or waiting.done():
            return
        if isinstance(outcome, Reply):
            waiting.set_result(outcome)
        else:
            waiting.set_exception(outcome)


class _Processes:
    """The callable in worker processes: usually one, which serves all calls."""

    def __init__(self, call: str, directory: str, stall_s: float) -> None:
        self._command = (call, directory, str(stall_s))
        self._all: set[_Worker] = set()
        self._current: _Worker | None = None
        self._solos: list[_Worker] = []
        """Workers that serve one call at a time and are free."""
        self._starting = asyncio.Lock()
        self._solo_slots = asyncio.Semaphore(SOLOS)
        self._suspects = 0

    async def start(self) -> None:
        """Start the first worker; `InputError` when the callable cannot be loaded."""
        self._current = await self._spawn()
        try:
            await self._current.until_ready()
        except _LostError as error:
            raise InputError(f"call: {self._command[0]!r}: importing it ended the process ({error}).") from None
        finally:
            if not self._current.is_ready:
                await self.close()

    async def close(self) -> None:
        for worker in self._all:
            worker.kill()
        for worker in self._all:
            await worker.until_over()

    async def ask(self, turns: Conversation) -> Reply:
        while True:
            worker = await self._worker()
            try:
                return await worker.ask(turns)
            except _MovedError:
                continue
            except _LostError:
                return await self._ask_alone(turns)

    async def _worker(self) -> _Worker:
        async with self._starting:
            if self._current is None or not self._current.takes_calls:
                self._current = await self._spawn()
            worker = self._current
        await self._ready_again(worker)
        return worker

    async def _ask_alone(self, turns: Conversation) -> Reply:
        """Ask again what was in flight when a worker died, with nothing beside it: who kills this one too, did it."""
        self._suspects += 1
        try:
            async with self._solo_slots:
                worker = self._solos.pop() if self._solos else await self._spawn()
                try:
                    await self._ready_again(worker)
                    return await worker.ask(turns)
                except _LostError as error:
                    raise TargetError(f"{self._command[0]} ended its process ({error}).", kind="crashed") from None
                finally:
                    if worker.takes_calls:
                        self._solos.append(worker)
        finally:
            self._suspects -= 1
            while not self._suspects and self._solos:
                self._solos.pop().kill()

    async def _ready_again(self, worker: _Worker) -> None:
        try:
            await worker.until_ready()
        except (InputError, _LostError) as error:
            message = f"{self._command[0]} could not be started again: {shorten(str(error))}"
            raise TargetError(message, kind="crashed") from None

    async def _spawn(self) -> _Worker:
        loop = asyncio.get_running_loop()
        self._all = {worker for worker in self._all if not worker.is_over}
        package_root = str(Path(wire.__file__).parents[2])
        _, worker = await loop.subprocess_exec(
            _Worker,
            *(sys.executable, "-P", "-c", _BOOTSTRAP, package_root, *self._command),
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for the engine, which lets calls in flight finish
        )
        self._all.add(worker)
        return worker


class _LostError(Exception):
    """The worker died, by itself; says how."""


class _MovedError(Exception):
    """The worker was ended for another call's sake."""


class _Worker(asyncio.SubprocessProtocol):
    """One worker process, seen from here."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self._loop = loop
        self._ready: asyncio.Future[frozenset[str]] = loop.create_future()
        self._closed: asyncio.Future[None] = loop.create_future()
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[bytes]] = {}
        self._doubts: dict[int, asyncio.TimerHandle] = {}
        self._last_words: asyncio.TimerHandle | None = None
        self._frames = wire.Frames()
        self._is_retired = False
        self._is_killed = False
        self._is_gone = False

    @property
    def is_ready(self) -> bool:
        return self._ready.done() and not self._ready.cancelled() and self._ready.exception() is None

    @property
    def takes_calls(self) -> bool:
        return not (self._is_retired or self._is_killed or self._is_gone)

    @property
    def is_over(self) -> bool:
        return self._closed.done()

    async def until_ready(self) -> None:
        await asyncio.shield(self._ready)  # a caller that gives up must not end the start for the others

    async def ask(self, turns: Conversation) -> Reply:
        if self._is_gone or self._is_killed:
            raise _MovedError
        try:
            body = wire.pack(turns, self._ready.result())
        except (TypeError, ValueError) as error:
            message = f"The case cannot be sent to the callable: {shorten(str(error))}."
            raise TargetError(message, kind="bad_request") from error
        number = next(self._numbers)
        waiting: asyncio.Future[bytes] = self._loop.create_future()
        self._waiting[number] = waiting
        self._send(number, wire.ASK, body)
        try:
            return reply_from_json(await waiting)
        finally:
            del self._waiting[number]
            if waiting.cancelled():
                self._give_up(number)
            elif self._is_retired and not self._waiting:
                self.kill()

    def kill(self) -> None:
        """End the process, and what it started, now."""
        if self._is_killed:
            return
        self._is_killed = True
        self._end_group()

    async def until_over(self) -> None:
        await self._closed

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.SubprocessTransport", transport)
        self._input = cast("asyncio.WriteTransport", self._transport.get_pipe_transport(0))

    def pipe_data_received(self, fd: int, data: bytes) -> None:  # noqa: ARG002  # only the output is a pipe
        for number, letter, body in self._frames.feed(data):
            self._receive(number, letter, body)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002
        self._is_gone = True
        self._end_group()  # it may have closed our pipe and live on

    def process_exited(self) -> None:
        self._is_gone = True
        self._end_group()  # what it forked may hold our pipe open
        self._last_words = self._loop.call_later(LAST_WORDS_S, self._transport.close)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        if self._last_words is not None:
            self._last_words.cancel()
        self._transport.close()
        self._fail_all()
        self._closed.set_result(None)

    def _end_group(self) -> None:
        with suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(self._transport.get_pid(), signal.SIGKILL)
            elif self._transport.get_returncode() is None:
                self._transport.kill()

    def _send(self, number: int, letter: bytes, body: bytes = b"") -> None:
        self._input.write(wire.frame(number, letter, body))

    def _receive(self, number: int, letter: bytes, body: bytes) -> None:
        if letter == wire.READY:
            self._ready.set_result(frozenset(orjson.loads(body)))
            return
        if letter == wire.REFUSED:
            self._ready.set_exception(InputError(shorten(body.decode(), 500)))
            return
        if doubt := self._doubts.pop(number, None):
            doubt.cancel()
        if letter == wire.STUCK:
            self._retire()
        waiting = self._waiting.get(number)
        if waiting is None or waiting.done():
            return
        if letter == wire.REPLY:
            waiting.set_result(body)
        elif letter == wire.ERROR:
            waiting.set_exception(_error(orjson.loads(body)))

    def _give_up(self, number: int) -> None:
        if self._is_gone or self._is_killed:
            return
        self._send(number, wire.GIVE_UP)
        self._doubts[number] = self._loop.call_later(FROZEN_S, self.kill)

    def _retire(self) -> None:
        """Takes no more calls, and is ended after the last one that it has."""
        self._is_retired = True
        if not self._waiting:
            self.kill()

    def _fail_all(self) -> None:
        error = _MovedError() if self._is_killed else _LostError(self._how_it_ended())
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(error)
        if not self._ready.done():
            self._ready.set_exception(error)
        self._ready.exception()  # seen: nobody may be waiting for a worker that ended while it started
        for doubt in self._doubts.values():
            doubt.cancel()

    def _how_it_ended(self) -> str:
        code = self._transport.get_returncode()
        if code is None or code >= 0:
            return f"exit status {code}"
        name = signal.Signals(-code).name
        return f"killed by {name}, perhaps for want of memory" if name == "SIGKILL" else f"killed by {name}"


def _error(told: Mapping[str, Any]) -> TargetError:  # Any: JSON from the worker
    if told["place"] is not None:
        return RaisedError(shorten(told["message"], 300), shorten(told["place"]))
    return TargetError(shorten(told["message"], 300), kind=told["kind"], transient=told["transient"])
