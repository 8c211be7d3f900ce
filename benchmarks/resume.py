"""How soon a run that was killed half-way asks again."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

from measuring import CORTEX, Finding, RunningService, check_stored, project, run_process, service

CASES, AT_ONCE, LATENCY_MS = 10_000, 100, 50
HALF = CASES // 2


def resume() -> list[Finding]:
    """10,000 cases, killed with SIGKILL when half were asked, then `cortex run --resume`.

    Start-up is what `cortex --help` takes, the best of five: the interpreter and the command line, before anything of
    the run is looked at. Importing the engine and reading the project file therefore count as part of resuming.
    """
    with service(LATENCY_MS) as running, project(running, cases=CASES, at_once=AT_ONCE) as folder:
        help_s = min(run_process([CORTEX, "--help"], cwd=folder).wall_s for _ in range(5))
        until_first_s = _kill_half_way(running, folder)
        done = json.loads(_said([CORTEX, "runs", "list", "--json"], folder))
        run_id = (done["runs"] if isinstance(done, dict) else done)[0]["id"]
        before = running.stats(reset=True)
        started = time.monotonic()
        run_process([CORTEX, "run", "--resume", run_id], cwd=folder)
        after = running.stats(reset=True)
        check_stored(folder, CASES)
    delay_s = after["first_call"] - started
    again = before["calls"] + after["calls"] - CASES
    assert 0 <= again <= AT_ONCE, (before, after)  # at most what was in flight
    return [
        Finding("first new call after start-up", f"{delay_s - help_s:.2f} s", "≤ 1 s", delay_s - help_s <= 1),
        Finding("… after the start of the process", f"{delay_s:.2f} s (of it `cortex --help`: {help_s:.2f} s)"),
        Finding("… of a fresh run, for comparison", f"{until_first_s:.2f} s"),
        Finding("killed after / asked again", f"{before['calls']:,} calls / {again}"),
    ]


def _kill_half_way(running: RunningService, folder: Path) -> float:
    """Start a run and kill it; says how long its first call took."""
    started = time.monotonic()
    with subprocess.Popen(
        [CORTEX, "run", "speed"], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        while (seen := running.stats())["calls"] < HALF:
            assert process.poll() is None, "the run ended before it was half done"
            time.sleep(0.02)
        process.kill()
    return float(seen["first_call"]) - started


def _said(command: list[str], folder: Path) -> bytes:
    return subprocess.run(command, cwd=folder, capture_output=True, check=True).stdout
