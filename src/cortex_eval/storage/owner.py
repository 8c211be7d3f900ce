"""Who is running a run: a process, named so that another process can tell whether it still lives."""

from __future__ import annotations

import os
import socket
from pathlib import Path


def this_process() -> str:
    """The name of this process: host, pid, and when it was started (pids are used again)."""
    return f"{socket.gethostname()}:{os.getpid()}:{_started(os.getpid())}"


def is_alive(owner: str, *, is_leased: bool) -> bool:
    """Whether that process still lives; one on another host cannot be seen from here, and its lease must do."""
    host, _, rest = owner.rpartition(":")[0].rpartition(":")
    if not owner or not rest.isdigit():
        return False
    if host != socket.gethostname():
        return is_leased
    started = _started(int(rest))
    return started is not None and owner == f"{host}:{rest}:{started}"


def _started(pid: int) -> str | None:
    try:
        # The 22nd field; the second one, the command, may hold blanks and brackets.
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()[19]
    except OSError:
        pass
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        return "0"
    return "0"  # no /proc here: the pid alone must do
