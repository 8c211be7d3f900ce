"""`cortex` without the start of an interpreter: a process that has imported the command forks for every call.

Each call is a process of its own that runs the command's `main`, in its own folder and environment, with its own
streams. What is about the start itself (encodings, what is imported, signals) starts the installed command.
"""

from __future__ import annotations

import atexit
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

COMMAND = Path(sys.executable).with_name("cortex")
IMPORTED = ("cortex_eval.cli.run", "cortex_eval.cli.playing", "cortex_eval.engine", "aiohttp.client", "aiohttp.web")
"""With all that they import; of ours this is what every `cortex run` has loaded, and no more."""
FOR_THE_START = ("PYTHON", "LD_", "SSL_")
"""Variables that are read at the start: by the interpreter, its loader, and what is imported."""


def run_command(
    arguments: Sequence[str], *, cwd: Path, env: Mapping[str, str], stdin: bytes = b"", timeout_s: float = 120
) -> subprocess.CompletedProcess[bytes]:
    """`cortex …`, run to its end; started anew where the environment is for the start."""
    if _for_the_start(env) != _AT_FIRST:
        return run_installed(arguments, cwd=cwd, env=env, stdin=stdin, timeout_s=timeout_s)
    return _run_warm(arguments, cwd=cwd, env=env, stdin=stdin, timeout_s=timeout_s)


def run_installed(
    arguments: Sequence[str], *, cwd: Path, env: Mapping[str, str], stdin: bytes = b"", timeout_s: float = 120
) -> subprocess.CompletedProcess[bytes]:
    """`cortex …`, started as people start it, and run to its end."""
    return subprocess.run(
        [COMMAND, *arguments], cwd=cwd, env=env, input=stdin, capture_output=True, timeout=timeout_s, check=False
    )


def _for_the_start(env: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name.startswith(FOR_THE_START)}


_AT_FIRST = _for_the_start(os.environ)


def _run_warm(
    arguments: Sequence[str], *, cwd: Path, env: Mapping[str, str], stdin: bytes, timeout_s: float
) -> subprocess.CompletedProcess[bytes]:
    with socket.socket(socket.AF_UNIX) as call, ThreadPoolExecutor(3) as streams:
        call.settimeout(timeout_s)
        call.connect(_address())
        (theirs_in, ours_in), (ours_out, theirs_out), (ours_err, theirs_err) = os.pipe(), os.pipe(), os.pipe()
        request = json.dumps({"arguments": list(arguments), "cwd": str(cwd), "env": dict(env)}).encode()
        socket.send_fds(call, [len(request).to_bytes(8)], [theirs_in, theirs_out, theirs_err])
        call.sendall(request)
        for end in (theirs_in, theirs_out, theirs_err):
            os.close(end)
        written = streams.submit(_write, ours_in, stdin)
        out, err = streams.submit(_read, ours_out), streams.submit(_read, ours_err)
        process = int.from_bytes(_receive(call, 4))
        try:
            code = int.from_bytes(_receive(call, 2), signed=True)
        except TimeoutError as error:
            os.kill(process, signal.SIGKILL)
            raise subprocess.TimeoutExpired(list(arguments), timeout_s) from error
        written.result()
        return subprocess.CompletedProcess(list(arguments), code, out.result(), err.result())


def _write(end: int, data: bytes) -> None:
    with suppress(BrokenPipeError), os.fdopen(end, "wb") as file:  # it need not read what it is given
        file.write(data)


def _read(end: int) -> bytes:
    with os.fdopen(end, "rb") as file:
        return file.read()


def _receive(call: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = call.recv(size - len(data))
        if not more:
            raise RuntimeError("the process that holds the command ended")
        data += more
    return data


@cache
def _address() -> str:
    """Where the process listens; started with the first call, and gone with this process."""
    folder = tempfile.TemporaryDirectory(prefix="cortex-warm-")
    address = f"{folder.name}/calls"
    process = subprocess.Popen([sys.executable, __file__, address], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout
    assert process.stdout.readline() == b"ready\n"

    def end() -> None:
        process.communicate()  # closes its standard input, for which it waits
        folder.cleanup()

    atexit.register(end)
    return address


def _serve(address: str) -> None:
    """Fork for each caller until standard input is closed."""
    sys.path[0] = str(COMMAND.parent)
    for name in IMPORTED:
        import_module(name)
    with socket.create_server(address, family=socket.AF_UNIX) as listener, selectors.DefaultSelector() as both:
        both.register(listener, selectors.EVENT_READ)
        both.register(0, selectors.EVENT_READ)
        os.write(1, b"ready\n")
        while 0 not in [key.fd for key, _ in both.select()]:
            call, _ = listener.accept()
            with call:
                if os.fork() == 0:
                    listener.close()
                    both.close()
                    _attend(call)
            while _one_ended():
                pass


def _one_ended() -> bool:
    """Let one go that attended a call and has ended."""
    try:
        return os.waitpid(-1, os.WNOHANG)[0] != 0
    except ChildProcessError:
        return False


def _attend(call: socket.socket) -> NoReturn:
    """Run one command in a child, and tell its code."""
    size, streams, _, _ = socket.recv_fds(call, 8, 3)
    request = json.loads(_receive(call, int.from_bytes(size)))
    child = os.fork()
    if child == 0:
        try:
            call.close()
            _become(request, streams)
        finally:  # the command itself leaves at once; what comes here must not go on as a server
            traceback.print_exc()
            os._exit(70)
    for end in streams:
        os.close(end)
    call.sendall(child.to_bytes(4))
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    call.sendall(code.to_bytes(2, signed=True))
    os._exit(0)


def _become(request: Mapping[str, Any], streams: Sequence[int]) -> NoReturn:  # Any: read from JSON
    """Be the command: its folder, environment, streams and arguments."""
    for number, end in enumerate(streams):
        os.dup2(end, number)
        os.close(end)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    time.tzset()
    sys.stdin = os.fdopen(0, encoding="utf-8")
    sys.stdout = os.fdopen(1, "w", encoding="utf-8")
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1)
    sys.argv = [str(COMMAND), *request["arguments"]]
    from cortex_eval.cli import main

    main()


if __name__ == "__main__":
    _serve(sys.argv[1])
