"""Calls a user's callable many times at once, and lets nothing out of it but replies and errors."""

from __future__ import annotations

import asyncio
import inspect
import queue
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from cortex_eval.core import InputError, Reply, TargetError, place_of, shorten
from cortex_eval.targets.conversation import Conversation
from cortex_eval.targets.replies import reply_from_returned

GRACE_S = 0.5
"""How long an async callable may take to notice that it was cancelled."""
STALL_S = 3.0
"""An async callable that holds its event loop for longer is in the way of the others."""

Function = Callable[..., Any]  # Any: it is the user's
Outcome = Reply | TargetError

PARTS: Mapping[str, Callable[[Conversation], Any]] = {
    "text": lambda turns: turns.text,
    "context": lambda turns: dict(turns.context),
    "conversation": lambda turns: turns,
    "messages": lambda turns: [{"role": turn.role, "content": turn.text} for turn in turns],
    "session_id": lambda turns: turns.session_id,
}
"""What a callable can be given, and where it is taken from."""

_BY_NAME = {
    **dict.fromkeys(("text", "query", "question", "prompt", "message", "input", "user_input", "utterance"), "text"),
    **{name: name for name in PARTS},
    "turns": "conversation",
}
_SPEAKS = {"text", "conversation", "messages"}


class Signature(NamedTuple):
    """Which part of the conversation goes to which parameter."""

    positional: tuple[str, ...]
    named: Mapping[str, str]

    @property
    def parts(self) -> frozenset[str]:
        """All that has to be known to call it."""
        return frozenset({*self.positional, *self.named.values()})


def signature_of(function: Function, *, whose: str) -> Signature:
    """How a callable wants to be asked; `InputError` when it needs something that there is not.

    Parameters are matched by name (`query`, `text`, `context`, `messages`, `session_id` …) or by the annotation
    `Conversation`; if none of them takes what the user says, the first one does. Others keep their defaults.
    """
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # a builtin without a signature
        return Signature(("text",), {})
    taken = {p.name: part for p in parameters if (part := _part_by_name(p))}
    if not _SPEAKS & set(taken.values()):
        first = next((p for p in parameters if p.name not in taken and p.kind is not p.VAR_KEYWORD), None)
        if first is not None:
            taken[first.name] = "text"
        elif any(p.kind is p.VAR_KEYWORD for p in parameters):
            return Signature((), {"query": "text", "context": "context"})
        else:
            raise InputError(f"{whose} takes no argument; it needs one for what the user says.")
    unknown = [p.name for p in parameters if p.name not in taken and p.default is p.empty and p.kind not in _VARIADIC]
    if unknown:
        known = ", ".join(sorted(_BY_NAME))
        message = (
            f"{whose} needs {', '.join(map(repr, unknown))}, which no conversation has. Known parameters: {known}."
        )
        raise InputError(message)
    by_place = tuple(taken[p.name] for p in parameters if p.name in taken and p.kind in _BY_PLACE)
    named = {p.name: taken[p.name] for p in parameters if p.name in taken and p.kind not in _BY_PLACE}
    return Signature(by_place, named)


_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL)


def _part_by_name(parameter: inspect.Parameter) -> str | None:
    if parameter.kind in _VARIADIC:
        return None
    annotation = parameter.annotation
    named = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    if named.rpartition(".")[2] == "Conversation":
        return "conversation"
    return _BY_NAME.get(parameter.name)


def is_async(function: Function) -> bool:
    """Whether calling it gives something to await; partials and objects with an async `__call__` too."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


@dataclass(slots=True, eq=False)
class _Call:
    number: int
    values: Mapping[str, Any]  # Any: the parts of the conversation
    is_started: bool = False
    is_given_up: bool = False
    given_up_at: float = 0.0
    is_over: bool = False
    task: asyncio.Task[None] | None = None


@dataclass(slots=True, eq=False)
class _Loop:
    """An event loop in a daemon thread of its own."""

    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)
    calls: dict[int, _Call] = field(default_factory=dict)
    asked_at: float | None = None
    """When it was last asked for a sign of life that has not come yet."""
    is_abandoned: bool = False

    def start(self) -> None:
        threading.Thread(target=self._run, name="cortex-callable-loop", daemon=True).start()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        while True:
            try:
                self.loop.run_forever()
                break
            except BaseException:  # noqa: BLE001, S112  # a task of the user's called sys.exit: the others go on
                continue
        self.loop.close()

    def feel_pulse(self) -> float:
        """Seconds for which it has not answered."""
        if self.asked_at is None:
            self.asked_at = time.monotonic()
            self.loop.call_soon_threadsafe(self._alive)
            return 0.0
        return time.monotonic() - self.asked_at

    def _alive(self) -> None:
        self.asked_at = None


class Runner:
    """Calls one callable many times at once: a plain one in threads, an async one in an event loop.

    Nothing that the callable does comes out of here but through `done(number, outcome)`, and `stuck(number)` when a
    call that was given up goes on all the same. Both are called from threads of the runner. Its threads are daemons:
    a callable that never ends does not keep the program from ending.
    """

    def __init__(
        self,
        function: Function,
        *,
        whose: str,
        done: Callable[[int, Outcome], None],
        stuck: Callable[[int], None],
        stall_s: float = STALL_S,
    ) -> None:
        self.signature = signature_of(function, whose=whose)
        self._function = function
        self._whose = whose
        self._done = done
        self._stuck = stuck
        self._stall_s = stall_s
        self._is_async = is_async(function)
        self._lock = threading.RLock()
        self._calls: dict[int, _Call] = {}
        self._idle: list[queue.SimpleQueue[_Call | None]] = []
        self._loops: list[_Loop] = []
        self._watch = threading.Event()
        self._is_closed = False

    def submit(self, number: int, values: Mapping[str, Any]) -> None:
        """Start a call; its outcome comes through `done`."""
        call = _Call(number, values)
        with self._lock:
            self._calls[number] = call
            if self._is_async:
                self._submit_async(call)
                return
            jobs = self._idle.pop() if self._idle else self._new_thread()
        jobs.put(call)

    def give_up(self, number: int) -> None:
        """Nobody waits for this call any more. It ends, or `stuck` is called."""
        with self._lock:
            call = self._calls.get(number)
            if call is None:
                return
            call.is_given_up, call.given_up_at = True, time.monotonic()
            if self._is_async:
                if call.task is not None:
                    call.task.get_loop().call_soon_threadsafe(call.task.cancel)
                self._watch.set()
                return
            self._calls.pop(number)
        self._stuck(number)

    def close(self) -> None:
        """Let go of the idle threads; the busy ones end when their call does."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
            loops, self._loops = self._loops, []
        for jobs in idle:
            jobs.put(None)
        for each in loops:
            each.loop.call_soon_threadsafe(_stop, each.loop)
        self._watch.set()

    def _invoke(self, values: Mapping[str, Any]) -> Any:  # Any: what the user's callable gives back
        arguments = [values[part] for part in self.signature.positional]
        return self._function(*arguments, **{name: values[part] for name, part in self.signature.named.items()})

    def _read(self, returned: object) -> Outcome:
        try:
            return reply_from_returned(returned, whose=self._whose)
        except TargetError as error:
            return error

    def _finish(self, call: _Call, outcome: Outcome) -> None:
        with self._lock:
            if call.is_over:
                return
            call.is_over = True
            self._calls.pop(call.number, None)
        if not call.is_given_up:
            self._done(call.number, outcome)

    def _new_thread(self) -> queue.SimpleQueue[_Call | None]:
        jobs: queue.SimpleQueue[_Call | None] = queue.SimpleQueue()
        threading.Thread(target=self._work, args=(jobs,), name="cortex-callable", daemon=True).start()
        return jobs

    def _work(self, jobs: queue.SimpleQueue[_Call | None]) -> None:
        while (call := jobs.get()) is not None:
            try:
                outcome = self._read(self._invoke(call.values))
            except BaseException as error:  # noqa: BLE001  # foreign code: sys.exit and all must end here
                outcome = raised(error, whose=self._whose)
            with self._lock:
                if self._is_closed or call.is_given_up:  # its place was taken by another thread
                    jobs.put(None)
                else:
                    self._idle.append(jobs)
            self._finish(call, outcome)

    def _submit_async(self, call: _Call) -> None:
        place = next((each for each in self._loops if not self._is_stalled(each)), None)
        if place is None:
            place = _Loop()
            place.start()
            self._loops.append(place)
            if len(self._loops) == 1:
                threading.Thread(target=self._watch_loops, name="cortex-callable-watch", daemon=True).start()
        place.calls[call.number] = call
        place.loop.call_soon_threadsafe(self._start_task, place, call)
        self._watch.set()

    def _is_stalled(self, place: _Loop) -> bool:
        return place.is_abandoned or (place.asked_at is not None and time.monotonic() - place.asked_at > self._stall_s)

    def _start_task(self, place: _Loop, call: _Call) -> None:
        with self._lock:
            if call.number not in place.calls:  # it was moved while this loop was held up
                return
            call.task = place.loop.create_task(self._await(place, call))
            if call.is_given_up:
                call.task.cancel()

    async def _await(self, place: _Loop, call: _Call) -> None:
        with self._lock:
            if place.calls.get(call.number) is not call:
                return
            call.is_started = True
        try:
            outcome = self._read(await _awaited(self._invoke(call.values)))
        except BaseException as error:  # noqa: BLE001  # foreign code; asyncio would end the loop on sys.exit
            outcome = raised(error, whose=self._whose)
        with self._lock:
            is_ours = place.calls.pop(call.number, None) is call
        if is_ours:
            self._finish(call, outcome)

    def _watch_loops(self) -> None:
        """Moves calls away from a loop that one of them holds up, and tells of those that cannot be stopped."""
        while not self._is_closed:
            self._watch.wait()
            with self._lock:
                if not self._calls:
                    self._watch.clear()
                    continue
                for place in list(self._loops):
                    if place.calls and place.feel_pulse() > self._stall_s:
                        self._move([call for call in place.calls.values() if not call.is_started], place)
                overdue = [self._overdue(place) for place in list(self._loops)]
            for number in (number for numbers in overdue for number in numbers):
                self._stuck(number)
            time.sleep(min(0.1, self._stall_s / 4))

    def _overdue(self, place: _Loop) -> list[int]:
        latest = time.monotonic() - GRACE_S
        stuck: list[int] = []
        for call in [each for each in place.calls.values() if each.is_given_up and each.given_up_at < latest]:
            running = asyncio.current_task(place.loop)
            if running is not None and running is not call.task and place.feel_pulse() > GRACE_S:
                continue  # it cannot end because another one holds the loop; that one will be told of
            place.calls.pop(call.number)
            self._calls.pop(call.number, None)
            call.is_over = True
            stuck.append(call.number)
            if running is call.task and not place.is_abandoned:
                place.is_abandoned = True
                self._move([each for each in place.calls.values() if not each.is_given_up], place)
        return stuck

    def _move(self, calls: list[_Call], place: _Loop) -> None:
        for call in calls:
            place.calls.pop(call.number)
            call.is_started, call.task = False, None
            self._submit_async(call)


class RaisedError(TargetError):
    """A callable raised; what it said and where it stands are apart, so that cutting one leaves the other."""

    def __init__(self, message: str, place: str) -> None:
        super().__init__(f"{message} ({place})." if place else f"{message}.", kind="raised")
        self.message, self.place = message, place


def raised(error: BaseException, *, whose: str) -> TargetError:
    """What a callable raised, as the error of its case; a TargetError of its own keeps its kind."""
    if isinstance(error, TargetError):
        return TargetError(shorten(str(error)), kind=error.kind, transient=error.transient)
    return RaisedError(f"{whose} raised {shorten(first_line(error))}", shorten(place_of(error)))


def first_line(error: BaseException) -> str:
    """Type and first line of an exception, whatever its `str` does."""
    try:
        text = str(error).strip().partition("\n")[0]
    except Exception:  # noqa: BLE001  # foreign code
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


async def _awaited(value: Awaitable[object] | object) -> object:
    return await value if inspect.isawaitable(value) else value


def _stop(loop: asyncio.AbstractEventLoop) -> None:
    for task in asyncio.all_tasks(loop):
        task.cancel()
    loop.call_soon(loop.stop)
