"""What every measure needs: the service, a project to run, and what a process took.

This module imports nothing large: on Linux the peak memory of a child begins at that of whoever started it.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple

from service import answer_to

HERE = Path(__file__).parent
PYTHON = sys.executable
CORTEX = str(Path(sys.executable).parent / "cortex")
WRONG_EVERY = 10
"""Every tenth case fails, so that a report has something to show."""

PROJECT = """\
services:
  chatbot: {{api_url: "http://127.0.0.1:{port}/chat", timeout_seconds: 30}}
execution: {{max_concurrent_tests: {at_once}}}
suites:
  speed: {{dataset: cases.jsonl, service: chatbot, scorers: [contains]}}
"""


@contextmanager
def with_byte_code() -> Iterator[None]:
    """See to it that every process finds byte code, as after an installation, whatever this environment says."""
    before = dict(os.environ)
    with tempfile.TemporaryDirectory(prefix="cortex-bench-") as folder:
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = folder
        try:
            with service() as running:  # the first of each compiles
                run_cortex(running, cases=100, at_once=10)
                run_bare(running, cases=100, at_once=10)
            run_process([CORTEX, "--help"], cwd=HERE)
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)


class Took(NamedTuple):
    """What one process took, its children included."""

    wall_s: float
    cpu_s: float
    """User and system."""
    peak_mb: float


class Finding(NamedTuple):
    """One figure beside its limit."""

    what: str
    found: str
    limit: str = ""
    """Empty: shown for comparison."""
    met: bool | None = None
    """None: there is no limit, or nothing was measured."""


def run_process(command: Sequence[str], *, cwd: Path, expect: Sequence[int] = (0,)) -> Took:
    """Run a command to its end; raises when it ends otherwise than expected."""
    with tempfile.TemporaryFile() as said:
        started = time.monotonic()
        process = subprocess.Popen(command, cwd=cwd, stdout=said, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(process.pid, 0)
        wall_s = time.monotonic() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in expect:
            said.seek(0)
            raise SystemExit(f"{' '.join(command)} ended with {process.returncode}:\n{said.read().decode()[-2000:]}")
    per_mb = 1e6 if sys.platform == "darwin" else 1e6 / 1024
    return Took(wall_s, used.ru_utime + used.ru_stime, used.ru_maxrss / per_mb)


class RunningService:
    """The service in a process of its own."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.url = f"http://127.0.0.1:{port}/chat"
        self._took_s, self._answered = 0.0, 0

    @property
    def took_ms(self) -> float:
        """What a call took in the service, on average, in all that was measured so far."""
        return self._took_s / self._answered * 1000

    def stats(self, *, reset: bool = False) -> dict[str, Any]:
        """Its ledger."""
        with closing(HTTPConnection("127.0.0.1", self.port)) as connection:
            connection.request("GET", "/reset" if reset else "/stats")
            found: dict[str, Any] = json.loads(connection.getresponse().read())
        if reset:
            self._took_s += found["took_s"]
            self._answered += found["calls"] + found["judged"]
        return found


@contextmanager
def service(latency_ms: float = 0) -> Iterator[RunningService]:
    """The service, for as long as the block lasts."""
    command = [PYTHON, str(HERE / "service.py"), "0", str(latency_ms)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield RunningService(int(process.stdout.readline().split()[1]))
        finally:
            process.terminate()


@contextmanager
def project(running: RunningService, *, cases: int, at_once: int, text: str = PROJECT) -> Iterator[Path]:
    """A folder with a project file and a dataset, and a store that is not there yet."""
    folder = Path(tempfile.mkdtemp(prefix="cortex-bench-"))
    try:
        (folder / "cortex.yaml").write_text(text.format(port=running.port, at_once=at_once))
        with (folder / "cases.jsonl").open("w") as file:
            for number in range(cases):
                answer = "something else" if number % WRONG_EVERY == 0 else answer_to(number)
                row = {"id": f"case-{number}", "question": f"What is the answer to q{number}?", "ground_truth": answer}
                file.write(json.dumps(row) + "\n")
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run_cortex(running: RunningService, *, cases: int, at_once: int) -> Took:
    """`cortex run` as a user has it; checks that every case was asked once and that all replies and scores are kept."""
    with project(running, cases=cases, at_once=at_once) as folder:
        running.stats(reset=True)
        took = run_process([CORTEX, "run", "speed"], cwd=folder)
        seen = running.stats(reset=True)
        assert (seen["calls"], seen["asked"]) == (cases, cases), seen
        check_stored(folder, cases)
    return took


def check_stored(folder: Path, cases: int, *, passed: int | None = None) -> None:
    """Raise unless the store holds a reply and a score for every case, and as many passed as should."""
    if passed is None:
        passed = cases - len(range(0, cases, WRONG_EVERY))
    with closing(sqlite3.connect(folder / ".cortex" / "cortex.db")) as connection:
        kept = connection.execute(
            "SELECT count(*), sum(passed), count(DISTINCT ordinal) FROM cortex_results "
            "WHERE state IN ('passed', 'failed') AND reply IS NOT NULL AND scores IS NOT NULL"
        ).fetchone()
    assert kept == (cases, passed, cases), kept


def run_bare(running: RunningService, *, cases: int, at_once: int) -> Took:
    """The same calls without anything around them."""
    return run_process([PYTHON, str(HERE / "bare.py"), running.url, str(cases), str(at_once)], cwd=HERE)


def repeat(times: int, work: Sequence[Callable[[], Took]]) -> list[list[Took]]:
    """What each of several works took each time; they take turns, so that a noisy minute hits all of them."""
    rounds = [[each() for each in work] for _ in range(times)]
    return [list(column) for column in zip(*rounds, strict=True)]


def best_and_median(values: Sequence[float], digits: int = 2) -> str:
    """How a repeated measurement is shown."""
    return f"{min(values):.{digits}f} (median {statistics.median(values):.{digits}f})"
