"""Programs in any language: a request as JSON on standard input, a reply as JSON on standard output, once a turn."""

from __future__ import annotations

import asyncio
import codecs
import os
import shlex
import shutil
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, cast

import orjson

from cortex_eval.core import InputError, Reply, Secret, TargetError, is_likely_secret, redact, shorten, to_json
from cortex_eval.targets.base import Target, targets
from cortex_eval.targets.conversation import Conversation
from cortex_eval.targets.mapping import (
    check_template,
    compile_paths,
    fill_template,
    read_plain_reply,
    read_reply,
    remarks_on,
    sendable,
)
from cortex_eval.targets.replies import LARGEST_REPLY

BASICS = ("PATH", "HOME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TEMP", "TMP", "USER", "LOGNAME", "SYSTEMROOT")
"""What a program finds of our environment, beside LC_*: enough to start, and no keys."""
LAST_WORDS_S = 1.0
"""How long the output of a program that has ended is read, when something it started keeps it open."""
COMPLAINTS_KEPT = 64 * 1024
COMPLAINTS_SHOWN = 200
TRY_AGAIN = 75
"""EX_TEMPFAIL of sysexits.h: the program says that it may succeed later."""


@targets.register("command")
@dataclass
class CommandTarget(Target):
    """A program that is started for every turn. Whatever it does, only its own case is in error."""

    kind: ClassVar[str] = "command"

    command: str | Sequence[str]
    """The program and its arguments; a text is split as a shell would, but no shell is used."""
    directory: Path = Path()
    """Where it runs, and where a program with a relative path lies: the project."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Beside the basics, all that the program finds in its environment."""
    body: Any = field(
        default_factory=lambda: {
            "input": "{input}",
            "messages": "{messages}",
            "context": "{context}",
            "session_id": "{session_id}",
        }
    )
    """A JSON template, as of `http`. Any: whatever JSON can be."""
    reply: Mapping[str, str] = field(default_factory=dict)
    """Reply field to path, such as `text: $.answer`; without any, the fields of a reply are read by their names."""
    test_user_id: str = "eval-tester"

    def __post_init__(self) -> None:
        self._directory = Path(self.directory).absolute()
        self._argv = _split(self.command)
        self._name = shorten(shlex.join(self._argv), 80)
        self._environment = _basics() | dict(self.environment)
        for name, value in self.environment.items():
            if is_likely_secret(name):
                Secret(value)
        self._argv[0] = _find(self._argv[0], self._directory, self._environment.get("PATH"))
        check_template(self.body, field="body")
        if self.reply and "text" not in self.reply:
            raise InputError("reply: say where the text is, such as text: $.answer.")
        self._paths = compile_paths(self.reply, field="reply")

    def remarks(self) -> list[str]:
        """Paths of `reply` at which no answer had anything."""
        return remarks_on(self._paths, self.reply)

    async def ask(self, turns: Conversation) -> Reply:
        """Start the program, hand it the filled template, read its answer; nothing of it is left running."""
        request = to_json(fill_template(self.body, sendable(turns, user_id=self.test_user_id)))
        try:
            _, program = await asyncio.get_running_loop().subprocess_exec(
                _Program,
                *self._argv,
                cwd=self._directory,
                env=self._environment,
                start_new_session=True,  # so that all it starts can be ended with it, and Ctrl-C is only for the engine
            )
        except OSError as error:
            raise TargetError(
                f"{self._name} could not be started: {error.strerror}.",
                kind="not_started",
                transient=isinstance(error, BlockingIOError),
            ) from error
        try:
            program.hand_over(request)
            await asyncio.shield(program.over)
        finally:
            program.end()
            await asyncio.shield(program.over)
        return self._read(program)

    def _read(self, program: _Program) -> Reply:
        if program.is_too_large:
            limit = LARGEST_REPLY // 1024 // 1024
            raise TargetError(f"{self._name} wrote more than {limit} MiB and was ended.", kind="too_large")
        if program.status != 0:
            raise _exited(self._name, program)
        answer = bytes(program.answer).removeprefix(codecs.BOM_UTF8)
        if not answer.strip():
            raise TargetError(f"{self._name} wrote nothing to its output.{program.complaints}", kind="empty")
        try:
            value = orjson.loads(answer)
        except orjson.JSONDecodeError as error:
            beginning = shorten(answer.decode("utf-8", "replace").strip())
            raise TargetError(f"{self._name} did not write one JSON value: {beginning!r}", kind="not_json") from error
        if self._paths:
            return read_reply(value, self._paths, where=self._name)
        return read_plain_reply(value, where=self._name)


def _split(command: str | Sequence[str]) -> list[str]:
    try:
        words = shlex.split(command) if isinstance(command, str) else list(command)
    except ValueError as error:  # a quote without its end
        raise InputError(f"command: {shorten(str(command), 80)!r} cannot be split into words: {error}.") from error
    if not words or not words[0] or any("\0" in word for word in words):
        raise InputError("command: name a program, such as [node, bot.js].")
    return words


def _find(program: str, directory: Path, search: str | None) -> str:
    """The full path of the program, so that the command is known to exist before anything is asked."""
    is_path = os.sep in program or bool(os.altsep and os.altsep in program)
    found = shutil.which(str(directory / program) if is_path else program, path=search)
    if found is not None:
        return found
    if is_path and (directory / program).is_file():
        raise InputError(
            f"command: {directory / program} cannot be executed. Name what runs it, such as [python, {program}]."
        )
    where = "" if is_path else " on the PATH; one in the project is named with its folder, such as ./bot"
    raise InputError(f"command: there is no program {str(directory / program) if is_path else program!r}{where}.")


def _basics() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name in BASICS or name.startswith("LC_")}


def _exited(name: str, program: _Program) -> TargetError:
    status = program.status
    if status is not None and status < 0:
        how = signal.Signals(-status).name
        return TargetError(f"{name} was ended by {how}.{program.complaints}", kind="crashed")
    message = f"{name} ended with exit status {status}.{program.complaints}"
    return TargetError(message, kind="exited", transient=status == TRY_AGAIN)


class _Program(asyncio.SubprocessProtocol):
    """One start of the program, from its first byte until nothing of it is left."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.over: asyncio.Future[None] = self._loop.create_future()
        """The program has ended and been waited for, and its output is closed."""
        self.answer = bytearray()
        self.is_too_large = False
        self._complaints = bytearray()
        self._is_handed_over = False
        self._is_ended = False
        self._last_words: asyncio.TimerHandle | None = None

    @property
    def status(self) -> int | None:
        return self._transport.get_returncode()

    @property
    def complaints(self) -> str:
        """The end of what it wrote to its standard error, as the end of a message."""
        text = redact(self._complaints.decode("utf-8", "replace")).strip()
        if len(text) > COMPLAINTS_SHOWN:
            text = "…" + text[1 - COMPLAINTS_SHOWN :]
        return f" It said: {text!r}" if text else ""

    def hand_over(self, request: bytes) -> None:
        """Write the request and close the input; a program need not read it."""
        self._input.write(request + b"\n")
        self._input.close()

    def end(self) -> None:
        """End the program and all that it started, now."""
        if self._is_ended or self.over.done():
            return
        self._is_ended = True
        self._end_group()
        if self.status is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.SubprocessTransport", transport)
        self._input = cast("asyncio.WriteTransport", self._transport.get_pipe_transport(0))

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 2:
            self._complaints += data
            del self._complaints[:-COMPLAINTS_KEPT]
        elif len(self.answer) + len(data) > LARGEST_REPLY:
            self.is_too_large = True
            self.end()
        else:
            self.answer += data

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002  # asyncio's signature
        self._is_handed_over = self._is_handed_over or fd == 0

    def process_exited(self) -> None:
        self._end_group()  # what it started may hold its output open
        if not self._is_handed_over:
            self._input.abort()  # or hold it open, unread
        if self._is_ended:
            self._transport.close()
        else:
            self._last_words = self._loop.call_later(LAST_WORDS_S, self._transport.close)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  # asyncio's signature
        if self._last_words is not None:
            self._last_words.cancel()
        self._transport.close()
        self.over.set_result(None)

    def _end_group(self) -> None:
        with suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(self._transport.get_pid(), signal.SIGKILL)
            elif self.status is None:
                self._transport.kill()
