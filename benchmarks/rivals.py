"""Cortex beside other evaluation tools: the same service, the same dataset, in one run; writes rivals.md.

usage: rivals.py [--work FOLDER] [--install] [--only NAME …] [--cases 1000] [--at-once 50] [--rounds 3]
FOLDER holds the tools, each in an environment of its own (venv/NAME), outside this repository. With --only the file is
not written.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple

from measuring import CORTEX, HERE, PYTHON, check_stored, run_process, with_byte_code
from peers import (
    CHOSEN_CLIENTS,
    DRIVERS,
    FLOORS,
    Peer,
    Ran,
    Recorded,
    Work,
    has_harness,
    install,
    known_peers,
    make_cases,
    recorded,
    run_peer,
    starting_command,
    stub,
)

WARM_UP = 100
"""Cases of a first round that is thrown away: it compiles, and shows who cannot run at all."""
TOO_SLOW_S = 30
"""Who takes longer for the first round is not given more."""
STARTS = 5
KEEPS = {
    "cortex": "SQLite: the dataset, every reply before it is scored, every verdict; HTML, JSON and JSON-lines reports",
    "inspect": "a log file with every sample and its events, and a trace",
    "deepeval": "one JSON file at the end with every result (its cache, on by default and far slower, is off)",
    "pydantic_evals": "nothing: the report is an object in memory",
    "ragas": "nothing: the result is an object in memory",
    "phoenix": "nothing: the result is a data frame in memory",
    "mlflow": "SQLite: a trace of every call, and the metrics",
    "promptfoo": "SQLite: every result; a debug log",
}
PROJECT = """\
services:
  bot:
    kind: http
    api_url: "http://127.0.0.1:{port}/v1/chat/completions"
    timeout_seconds: 30
    body: {{model: stub, messages: [{{role: user, content: "{{input}}"}}]}}
    reply: {{text: "$.choices[0].message.content"}}
execution: {{max_concurrent_tests: {at_once}}}
suites:
  rivals: {{dataset: cases.jsonl, service: bot, scorers: [exact]}}
"""
NOTES = """\
- **One run.** Compare only the columns of this run. What was recorded earlier comes from another time and may come from
  another machine: it stands in for tools that are not installed here, and says nothing precise beside ours.
- **Not the same work.** Every tool asks each question once and compares the answer with the expected text. What it
  keeps differs, and who keeps nothing has less to do:
{kept}
- **client.** Some tools leave calling the service to whoever uses them: `openai` is the official SDK, as most would;
  `raw` is a bare socket client, cheaper than anything a user would write, so that what is left is the tool's own cost.
  Empty: the tool calls the service itself.
- **floor-raw, floor-aiohttp** are not tools: loops that only ask and compare, with a bare client and with aiohttp, the
  client that Cortex uses.
- **Start.** A whole process that imports the tool (for Cortex `from cortex_eval import evaluate`: its plain import is
  lazy) or prints its help; median of {starts}. Wall and CPU are of the whole process, start included: with few cases
  they are mostly that.
- **Kept on disk** is what the run left in its folder. **Peak** is the larger of the process and the sum of its tree.
- **Noise.** Other work on the machine adds to every figure; the range shows how much. Differences within the ranges are
  none.
"""


class Row(NamedTuple):
    """One line of the table."""

    name: str
    client: str
    """Empty: its own."""
    runs: list[Ran]
    """Empty: not installed."""
    trouble: str = ""
    import_s: float | None = None
    help_s: float | None = None
    earlier: Recorded | None = None


def run_ours(given: Work, work: Path) -> Ran:
    """`cortex run` as a user has it, on the drivers' service and dataset; checks that all is kept."""
    folder = Path(tempfile.mkdtemp(prefix="cortex-bench-"))
    try:
        with stub(given.latency_ms, work) as service:
            (folder / "cortex.yaml").write_text(PROJECT.format(port=service.port, at_once=given.at_once))
            shutil.copy(work / "data" / f"cases-{given.cases}.jsonl", folder / "cases.jsonl")
            before_kb = _disk_kb(folder)
            took = run_process([CORTEX, "run", "rivals"], cwd=folder)
            seen = service.call("GET", "/stats")
        check_stored(folder, given.cases)
        assert seen["peak_in_flight"] <= given.at_once, seen
        kept_kb = _disk_kb(folder) - before_kb
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    peak_mb = took.peak_mb * 1e6 / 2**20  # the drivers' megabytes
    return Ran("cortex", "", 0, took.wall_s, took.cpu_s, peak_mb, kept_kb, seen["requests"], "0.900")


def _disk_kb(folder: Path) -> float:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1024


def measure(given: Work, work: Path, peers: Sequence[Peer], rounds: int) -> list[Row]:
    """Every tool in turn, again and again, so that a noisy minute hits all of them."""
    env = dict(os.environ)  # the tools have byte code of their own; ours is compiled for the occasion
    jobs: dict[tuple[str, str], Callable[..., Ran]] = {("cortex", ""): partial(run_ours, work=work)}
    for name, client in _installed(peers, work):
        jobs[name, client] = partial(run_peer, name, client, work=work, env=env)
    found: dict[tuple[str, str], list[Ran]] = {job: [] for job in jobs}
    trouble: dict[tuple[str, str], str] = {}
    warm_up = Work(WARM_UP, min(given.at_once, WARM_UP), given.latency_ms)
    make_cases(work, WARM_UP, given.cases)
    with with_byte_code():
        for number, size in enumerate([warm_up, *[given] * rounds]):
            for job, run in jobs.items():
                if job in trouble:
                    continue
                ran = run(size) if number or job[0] == "cortex" else run(size, limit_s=TOO_SLOW_S)
                print(f"  {number or 'warm-up'} {' '.join(job):24} {ran.wall_s:.2f} s", flush=True)
                if ran.wall_s >= TOO_SLOW_S and not number:
                    trouble[job] = f"took over {TOO_SLOW_S} s for {size.cases} cases; not given {given.cases:,}"
                elif wrong := ran.trouble(size.cases):
                    trouble[job] = wrong
                elif number:
                    found[job].append(ran)
        starts = {name: _starts(name, peers, work, env) for name in {job[0] for job in jobs}}
    return [
        Row(name, client, [] if (name, client) in trouble else runs, trouble.get((name, client), ""), *starts[name])
        for (name, client), runs in found.items()
    ]


def _installed(peers: Sequence[Peer], work: Path) -> list[tuple[str, str]]:
    """Floors and tools that can be run here, each with every client that it can be measured with."""
    if not has_harness(work):
        return []
    tools = [(peer.name, client) for peer in peers if peer.version(work) for client in peer.clients]
    return [*((floor, CHOSEN_CLIENTS[0]) for floor in FLOORS), *tools]


def _starts(name: str, peers: Sequence[Peer], work: Path, env: Mapping[str, str]) -> tuple[float | None, float | None]:
    """Median seconds of a process that only imports the tool, and of its `--help`."""
    if name == "cortex":  # the plain import is lazy and would flatter it
        return _start_s([PYTHON, "-c", "from cortex_eval import evaluate"]), _start_s([CORTEX, "--help"])
    peer = next((each for each in peers if each.name == name), None)
    if peer is None:
        return None, None
    quiet = {**env, "DEEPEVAL_TELEMETRY_OPT_OUT": "1", "DO_NOT_TRACK": "1", "PROMPTFOO_DISABLE_TELEMETRY": "1"}
    quiet |= {"RAGAS_DO_NOT_TRACK": "true", "MLFLOW_DISABLE_TELEMETRY": "true", "PROMPTFOO_DISABLE_UPDATE": "1"}
    quiet |= {"PROMPTFOO_CONFIG_DIR": str(work / "scratch" / "start"), "HOME": str(work / "scratch")}
    import_it, show_help = starting_command(peer, work)
    return _start_s(import_it, quiet), _start_s(show_help, quiet)


def _start_s(command: Sequence[str] | None, env: Mapping[str, str] | None = None) -> float | None:
    if command is None:
        return None
    times = []
    for _ in range(STARTS + 1):
        started = time.monotonic()
        done = subprocess.run(command, capture_output=True, check=False, cwd=tempfile.gettempdir(), env=env)
        times.append(time.monotonic() - started)
        if done.returncode != 0:
            return None
    return statistics.median(times[1:])


def page(rows: Sequence[Row], given: Work, versions: Mapping[str, str], load: float, rounds: int) -> str:
    """The table in Markdown, with what must be known to read it."""
    machine = f"{platform.system()} on {platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}"
    head = (
        "tool",
        "client",
        "wall ÷ limit",
        "CPU ms per case",
        "peak MB",
        "kept on disk, KB",
        "import, s",
        "`--help`, s",
        "recorded earlier, another run: wall ÷ limit",
        "recorded earlier, another run: CPU ms per case",
    )
    lines = [
        "# Beside other tools",
        "",
        f"Written by `make bench-rivals` on {datetime.now(UTC).date()}: {machine}, load {load:.1f} when it began.",
        f"{given.cases:,} cases, {given.at_once} at once, a service that takes {given.latency_ms:g} ms.",
        f"The limit, below which nobody can be: {given.limit_s:g} s. Median of {rounds} (lowest–highest), in turns.",
        "",
        f"| {' | '.join(head)} |",
        "|" + "---|" * len(head),
        *(_line(row, given) for row in rows),
        "",
        _notes(rows, versions),
    ]
    return "\n".join(lines) + "\n"


def _line(row: Row, given: Work) -> str:
    name = f"**{row.name}**" if row.name == "cortex" else row.name
    if row.runs:
        walls = [run.wall_s / given.limit_s for run in row.runs]
        cpu = [run.cpu_s / given.cases * 1000 for run in row.runs]
        peak = statistics.median(run.peak_mb for run in row.runs)
        disk = statistics.median(run.disk_kb for run in row.runs)
        measured = [_spread(walls), _spread(cpu), f"{peak:.0f}", f"{disk:,.0f}"]
    else:
        measured = [row.trouble or "not installed", "", "", ""]
    starts = ["" if value is None else f"{value:.2f}" for value in (row.import_s, row.help_s)]
    earlier = ["", ""]
    if row.earlier is not None:
        times = f"{row.earlier.wall_s / given.limit_s:.2f} (of {row.earlier.runs})"
        earlier = [times, f"{row.earlier.cpu_s / given.cases * 1000:.2f}"]
    client = row.client if row.client in _clients(row.name) else ""
    return f"| {' | '.join([name, client, *measured, *starts, *earlier])} |"


def _clients(name: str) -> tuple[str, ...]:
    """The clients that it can be measured with; none when it has its own."""
    clients = next((peer.clients for peer in known_peers() if peer.name == name), ())
    return clients if len(clients) > 1 else ()


def _spread(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.2f} ({min(values):.2f}–{max(values):.2f})"


def _notes(rows: Sequence[Row], versions: Mapping[str, str]) -> str:
    kept = [f"  - {name}{f' {versions[name]}' if versions.get(name) else ''}: {what}" for name, what in KEEPS.items()]
    failed = [f"- {row.name} {row.client}: {row.trouble}; it is not compared." for row in rows if row.trouble]
    return "\n".join([NOTES.format(kept="\n".join(kept), starts=STARTS), *failed])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, default=Path.home() / ".cache" / "cortex-rivals")
    parser.add_argument("--install", action="store_true")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--at-once", type=int, default=50)
    parser.add_argument("--latency-ms", type=float, default=50)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    if not (DRIVERS / "run_all.py").is_file():
        print("There are no drivers for other tools here: ../shared/bench/peers, beside the repository, is absent.")
        print("Nothing was compared. `make bench` measures Cortex alone.")
        return 0
    peers, work, load = known_peers(), asked.work.absolute(), os.getloadavg()[0]
    chosen = [peer for peer in peers if not asked.only or peer.name in asked.only]
    if asked.install:
        install(work, chosen)
    if not _installed(chosen, work):
        print(f"No other tool is installed under {work}: make bench-rivals INSTALL=1 does that (some GB, minutes).")
    given = Work(asked.cases, asked.at_once, asked.latency_ms)
    rows = measure(given, work, chosen, asked.rounds)
    seen = {(row.name, row.client) for row in rows}
    missing = [(peer.name, client) for peer in chosen for client in peer.clients if (peer.name, client) not in seen]
    rows += [Row(name, client, []) for name, client in missing]
    rows = [row._replace(earlier=recorded(row.name, row.client, given)) for row in rows]
    text = page(rows, given, {peer.name: peer.version(work) for peer in peers}, load, asked.rounds)
    print(f"\n{text}", end="")
    if not asked.only:
        (HERE / "rivals.md").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
