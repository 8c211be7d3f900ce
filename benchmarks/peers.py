"""Other evaluation tools, by way of drivers that lie beside the repository: which are installed, and what each took.

The drivers are not ours and not part of this repository. They measure the tools; nothing here changes how.
"""

from __future__ import annotations

import json
import re
import shutil
import socket
import statistics
import subprocess
import venv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple

from measuring import HERE, PYTHON

DRIVERS = HERE.parent.parent / "shared" / "bench" / "peers"
FLOORS = ("floor-raw", "floor-aiohttp")
CHOSEN_CLIENTS = ("openai", "raw")
"""For tools that leave calling the service to whoever uses them: the official SDK, or a bare client."""
ENDED_WELL = {"promptfoo": 100}
"""The exit code of a run in which some cases failed, where it is not 0."""
FURTHER_CALLS = {"mlflow": 1}
"""Calls beside those of the cases: it tries the service before it begins."""


class Peer(NamedTuple):
    """A tool as `pins.txt` names it."""

    name: str
    requirements: tuple[str, ...]
    """Empty: it comes from npm."""
    module: str = ""
    command: str = ""

    @property
    def driver(self) -> Path:
        return DRIVERS / f"peer_{self.name}.py"

    @property
    def clients(self) -> tuple[str, ...]:
        """The clients to measure it with; a tool that calls the service itself has one, its own."""
        asks_for_one = self.driver.is_file() and "import target" in self.driver.read_text(encoding="utf-8")
        return CHOSEN_CLIENTS if asks_for_one else CHOSEN_CLIENTS[:1]

    def version(self, work: Path) -> str:
        """What is installed of it; empty when it is not."""
        if not self.requirements:
            package = work / "promptfoo" / "node_modules" / "promptfoo" / "package.json"
            found = package.is_file() and node(work).exists()
            return str(json.loads(package.read_text(encoding="utf-8"))["version"]) if found else ""
        dist = re.split(r"[=<>]", self.requirements[0])[0].replace("-", "_")
        folders = list((work / "venv" / self.name).glob(f"lib/python*/site-packages/{dist}-*.dist-info"))
        return folders[0].name.removeprefix(f"{dist}-").removesuffix(".dist-info") if folders else ""


class Ran(NamedTuple):
    """What one run of one tool took, as its driver tells it."""

    peer: str
    client: str
    code: int
    wall_s: float
    cpu_s: float
    peak_mb: float
    disk_kb: float
    requests: int
    accuracy: str

    def trouble(self, cases: int) -> str:
        """Why this is not the work that was asked for; empty: it is."""
        if self.code != ENDED_WELL.get(self.peer, 0):
            return f"ended with exit code {self.code}"
        if self.requests != cases + FURTHER_CALLS.get(self.peer, 0):
            return f"made {self.requests} calls for {cases} cases"
        return f"found {self.accuracy} right, not 0.900" if self.accuracy not in ("", "0.900") else ""


class Work(NamedTuple):
    """What every tool is given to do."""

    cases: int
    at_once: int
    latency_ms: float

    @property
    def limit_s(self) -> float:
        """What the service alone takes: nobody can be faster."""
        return self.cases * self.latency_ms / 1000 / self.at_once


def node(work: Path) -> Path:
    return work / "node" / "node_modules" / ".bin" / "node"


def python_of(work: Path, name: str) -> Path:
    return work / "venv" / name / "bin" / "python"


def has_harness(work: Path) -> bool:
    """Whether the drivers can run: they need an environment of their own, beside those of the tools."""
    return python_of(work, "harness").exists()


def known_peers() -> list[Peer]:
    """Every tool that there is a driver for."""
    peers = []
    for line in (DRIVERS / "pins.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, requirements, module, command = line.split("|")
            peers.append(Peer(name, tuple(requirements.split()), module, command.strip("- ")))
    return [*peers, Peer("promptfoo", (), "", "promptfoo --help")]


def install(work: Path, peers: Sequence[Peer]) -> None:
    """Install what is missing, each tool in an environment of its own, in the releases that `pins.txt` names."""
    pins = (DRIVERS / "pins.txt").read_text(encoding="utf-8")
    harness = re.search(r"^# harness: (.*)$", pins, re.MULTILINE)
    assert harness is not None, "pins.txt names what the harness needs"
    bare = re.sub(r"\(.*?\)", "", harness[1]).split()
    for peer in [Peer("harness", tuple(bare)), *peers]:
        if peer.version(work):
            continue
        print(f"installing {peer.name} …", flush=True)
        if not peer.requirements:
            for package in ("node", "promptfoo"):
                release = re.search(rf"\b{package}@[\d.]+\d", pins)
                assert release is not None, f"pins.txt names the release of {package}"
                _run_quietly(["npm", "install", "--no-audit", "--no-fund", "--prefix", str(work / package), release[0]])
            continue
        folder = work / "venv" / peer.name
        venv.create(folder, clear=True, symlinks=True)
        pip = [PYTHON, "-m", "pip", "--python", str(python_of(work, peer.name)), "--disable-pip-version-check"]
        _run_quietly([*pip, "install", "--quiet", "--no-input", *peer.requirements])


def _run_quietly(command: Sequence[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        print(f"  not installed: there is no {command[0]} here", flush=True)
        return
    if done.returncode != 0:
        said = (done.stderr.strip() or "it said nothing").splitlines()[-1][:200]
        print(f"  not installed: {said}", flush=True)


def make_cases(work: Path, *sizes: int) -> None:
    """Write the dataset of each size, as the drivers make it."""
    for folder in ("data", "out", "scratch"):
        (work / folder).mkdir(parents=True, exist_ok=True)
    command = [PYTHON, str(DRIVERS / "make_dataset.py"), str(work / "data"), *map(str, sizes)]
    subprocess.run(command, check=True)


def run_peer(
    peer: str, client: str, given: Work, *, work: Path, env: Mapping[str, str], limit_s: float | None = None
) -> Ran:
    """One run of one tool by its driver, with a service of its own; killed after `limit_s`."""
    command = [str(python_of(work, "harness")), str(DRIVERS / "run_all.py"), str(work), "--peers", peer]
    command += ["--n", str(given.cases), "--conc", str(given.at_once), "--latency-ms", f"{given.latency_ms:g}"]
    command += ["--client", client, "--repeats", "1", "--port", str(_free_port())]
    command += [] if limit_s is None else ["--timeout", f"{limit_s:g}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=dict(env))
    told = next((line for line in done.stderr.splitlines() if line.startswith('{"peer"')), None)
    if told is None:
        raise SystemExit(f"The driver of {peer} told nothing:\n{done.stderr[-2000:]}")
    return _ran(json.loads(told))


def _ran(told: dict[str, Any]) -> Ran:
    return Ran(
        peer=told["peer"],
        client=told["client"],
        code=told["rc"],
        wall_s=told["wall"],
        cpu_s=told["cpu"],
        peak_mb=max(told["rss_mb"], told["tree_mb"]),
        disk_kb=told["disk_kb"],
        requests=told["req"],
        accuracy=told["acc"],
    )


class Recorded(NamedTuple):
    """What the drivers found at another time, on a machine that need not be this one."""

    runs: int
    wall_s: float
    cpu_s: float


def recorded(peer: str, client: str, given: Work) -> Recorded | None:
    """The median of the recorded runs of the same work; None when there is none."""
    file = DRIVERS / "results-runs.jsonl"
    if not file.is_file() or given.latency_ms != 50:  # what they were made with
        return None
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    same = {"peer": peer, "client": client, "n": given.cases, "conc": given.at_once, "judge": False}
    runs = [_ran(row) for row in rows if all(row[key] == value for key, value in same.items())]
    runs = [run for run in runs if not run.trouble(given.cases)]
    if not runs:
        return None
    return Recorded(len(runs), statistics.median(r.wall_s for r in runs), statistics.median(r.cpu_s for r in runs))


class Stub:
    """The drivers' own service, for our side."""

    def __init__(self, port: int) -> None:
        self.port = port

    def call(self, method: str, path: str) -> dict[str, Any]:
        with closing(HTTPConnection("127.0.0.1", self.port)) as connection:
            connection.request(method, path)
            told: dict[str, Any] = json.loads(connection.getresponse().read())
        return told


@contextmanager
def stub(latency_ms: float, work: Path) -> Iterator[Stub]:
    """The service that the drivers use, started as they start it, for as long as the block lasts."""
    port = _free_port()
    python = str(python_of(work, "harness")) if has_harness(work) else PYTHON  # then without uvloop, a little slower
    command = [python, str(DRIVERS / "stub.py"), "--port", str(port), "--latency-ms", f"{latency_ms:g}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            yield Stub(port)
        finally:
            process.terminate()


def _free_port() -> int:
    with closing(socket.socket()) as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def starting_command(peer: Peer, work: Path) -> tuple[list[str] | None, list[str] | None]:
    """How its import is timed, and its command line; None where there is none."""
    if not peer.requirements:
        entry = work / "promptfoo" / "node_modules" / "promptfoo" / "dist" / "src" / "entrypoint.js"
        return None, [str(node(work)), str(entry), "--help"]
    import_it = [str(python_of(work, peer.name)), "-c", f"import {peer.module}"]
    if not peer.command:
        return import_it, None
    name, *rest = peer.command.split()
    found = shutil.which(name, path=str(python_of(work, peer.name).parent))
    return import_it, [found, *rest] if found else None
