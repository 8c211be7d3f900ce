"""The process that a user's callable lives in: finds the callable, answers calls that come in on a pipe."""

from __future__ import annotations

import faulthandler
import importlib.util
import os
import struct
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import orjson

from cortex_eval.core import (
    InputError,
    Reply,
    TargetError,
    case_from_mapping,
    did_you_mean,
    leave_cutting_to_others,
    shorten,
    to_json,
)
from cortex_eval.targets.conversation import Conversation
from cortex_eval.targets.runner import PARTS, Function, Outcome, RaisedError, Runner, first_line

HEADER = struct.Struct(">IQc")
"""Bytes that follow, number of the call, what it is: one of the letters below."""

ASK, GIVE_UP = b"a", b"g"
"""To the worker: a call (JSON of its parts), and nobody waits for it any more."""
READY, REFUSED, REPLY, ERROR, SEEN, STUCK = b"y", b"n", b"r", b"e", b"s", b"k"
"""From the worker: which parts it needs, why it cannot start, the outcome, and the two answers to GIVE_UP."""


class Frames:
    """Cuts a stream of bytes into frames."""

    def __init__(self) -> None:
        self._held = bytearray()

    def feed(self, data: bytes) -> Iterator[tuple[int, bytes, bytes]]:
        """Number, letter and body of every frame that is now complete."""
        self._held += data
        while len(self._held) >= HEADER.size:
            length, number, letter = HEADER.unpack_from(self._held)
            end = HEADER.size + length
            if len(self._held) < end:
                return
            body = bytes(self._held[HEADER.size : end])
            del self._held[:end]
            yield number, letter, body


def frame(number: int, letter: bytes, body: bytes = b"") -> bytes:
    """One message, ready to be written."""
    return HEADER.pack(len(body), number, letter) + body


def load_callable(call: str, directory: str) -> Function:
    """The callable that `module:attr` or `path.py:attr` names; `InputError` says what is wrong and where."""
    place, _, path = call.rpartition(":")
    if not place or not path:
        raise InputError(
            f"call: {call!r} does not name a callable. Write it as 'module:function' or 'file.py:function'."
        )
    if directory not in sys.path:
        sys.path.insert(0, directory)
    try:
        module = _file(Path(directory, place)) if place.endswith(".py") else import_module(place)
    except InputError:
        raise
    except ModuleNotFoundError as error:
        if error.name is not None and (place == error.name or place.startswith(f"{error.name}.")):
            raise InputError(
                f"call: {call!r}: there is no module {error.name!r} in {directory} or installed."
            ) from error
        raise _import_failed(call, error) from error
    except (Exception, SystemExit, KeyboardInterrupt) as error:  # foreign code runs when it is imported
        raise _import_failed(call, error) from error
    return _attribute(module, path, call)


def _file(path: Path) -> ModuleType:
    if not path.is_file():
        raise InputError(f"call: there is no file {path}.")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)  # as an import would: dataclasses and pickles look their module up
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    spec.loader.exec_module(module)
    return module


def _import_failed(call: str, error: BaseException) -> InputError:
    frames = [each for each in traceback.extract_tb(error.__traceback__) if "importlib" not in each.filename]
    place, line = (error.filename or "", error.lineno) if isinstance(error, SyntaxError) else ("", None)
    if not place and frames and frames[-1].filename != __file__:
        place, line = frames[-1].filename, frames[-1].lineno
    where = f" ({place}:{line})" if place else ""
    return InputError(f"call: {call!r} cannot be imported: {shorten(first_line(error))}{where}.")


def _attribute(module: ModuleType, path: str, call: str) -> Function:
    found: Any = module  # Any: it is the user's
    owner: Any = None  # Any: likewise
    where = module.__file__ or module.__name__
    for name in path.split("."):
        try:
            owner, found = found, getattr(found, name)
        except AttributeError as error:
            names = [each for each in dir(found) if not each.startswith("_")]
            raise InputError(f"call: {call!r}: {where} has no {name!r}. {did_you_mean(name, names)}") from error
    if isinstance(found, type):
        raise InputError(f"call: {call!r} is a class. Name a function, or an instance such as 'module:agent.ask'.")
    if isinstance(owner, type) and not isinstance(
        owner.__dict__.get(path.rpartition(".")[2]), (staticmethod, classmethod)
    ):
        raise InputError(f"call: {call!r} is a method of a class. Make an instance in the module and name that one's.")
    if not callable(found):
        raise InputError(f"call: {call!r} is {type(found).__name__}, which cannot be called.")
    function: Function = found
    return function


def values_of(turns: Conversation, parts: frozenset[str]) -> dict[str, Any]:  # Any: the parts, as PARTS gives them
    """What a callable with these parts is given."""
    return {part: PARTS[part](turns) for part in parts}


def pack(turns: Conversation, parts: frozenset[str]) -> bytes:
    """The parts of the conversation as they go over the pipe."""
    return to_json(values_of(turns, parts))


def unpack(body: bytes) -> Mapping[str, Any]:
    """What `pack` wrote, with the conversation as a value again."""
    values: dict[str, Any] = orjson.loads(body)
    if "conversation" in values:
        sent = values["conversation"]
        said = case_from_mapping({"id": "", "turns": sent["turns"]}).turns
        values["conversation"] = Conversation(**{**sent, "turns": said, "case": case_from_mapping(sent["case"])})
    return values


def serve(call: str, directory: str, stall_s: float) -> NoReturn:
    """Answer calls from standard input on standard output, until the input ends."""
    incoming, outgoing = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    for used_by_callable in (0, 1):  # whatever it prints must not get between the frames
        os.dup2(nothing, used_by_callable)
    faulthandler.disable()
    leave_cutting_to_others()  # the engine knows what is secret; half a secret it would not recognise
    write = _writer(outgoing)
    try:
        function = load_callable(call, directory)
        runner = _runner(function, call, write, stall_s)
    except InputError as error:
        write(frame(0, REFUSED, str(error).encode()))
        os._exit(1)
    write(frame(0, READY, orjson.dumps(sorted(runner.signature.parts))))
    frames = Frames()
    while data := os.read(incoming, 65536):
        for number, letter, body in frames.feed(data):
            if letter == GIVE_UP:
                write(frame(number, SEEN))
                runner.give_up(number)
            else:
                runner.submit(number, unpack(body))
    os._exit(0)  # the engine is gone; threads that are stuck are not waited for


def _runner(function: Function, whose: str, write: Callable[[bytes], None], stall_s: float) -> Runner:
    def done(number: int, outcome: Outcome) -> None:
        if isinstance(outcome, Reply):
            write(frame(number, REPLY, to_json(outcome)))
        else:
            write(frame(number, ERROR, _pack_error(outcome)))

    return Runner(function, whose=whose, done=done, stuck=lambda number: write(frame(number, STUCK)), stall_s=stall_s)


def _pack_error(error: TargetError) -> bytes:
    message, place = (error.message, error.place) if isinstance(error, RaisedError) else (str(error), None)
    text = message.encode(errors="replace").decode()  # a lone surrogate cannot be sent
    return orjson.dumps({"kind": error.kind, "message": text, "transient": error.transient, "place": place})


def _writer(outgoing: int) -> Callable[[bytes], None]:
    lock = threading.Lock()

    def write(data: bytes) -> None:
        view = memoryview(data)
        with lock:
            while view:
                try:
                    view = view[os.write(outgoing, view) :]
                except OSError:  # nobody reads any more
                    os._exit(0)

    return write
