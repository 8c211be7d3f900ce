"""Run in a process of its own: writes a run's report files over earlier ones, and is killed at one step after another.

Arguments: a folder, and how many points to be killed at. Prints what each kill left behind, as JSON.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import IO, Any, Self

sys.path.insert(0, str(Path(__file__).parents[1] / "analysis"))

from made_results import made_report, made_run, simple_results

from cortex_eval.reports import write_artifacts

FORMATS = ("json", "html", "markdown", "csv", "jsonl")
steps, fatal = 0, 0


def step() -> None:
    """One step further; SIGKILL when it is the fatal one."""
    global steps
    steps += 1
    if steps == fatal:
        os.kill(os.getpid(), signal.SIGKILL)


class Slowly:
    """A file that is written in small pieces, each with the system before the next step."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failed: object) -> None:
        self.file.close()

    def write(self, data: bytes) -> int:
        size = len(data) // 12 + 1
        for at in range(0, len(data), size):
            step()
            self.file.write(data[at : at + size])
            self.file.flush()
        return len(data)


def stepping(function: Any) -> Any:
    def stepped(*given: Any, **named: Any) -> Any:
        step()
        done = function(*given, **named)
        step()
        return done

    return stepped


fdopen = os.fdopen
os.fdopen = lambda *given, **named: Slowly(fdopen(*given, **named))  # type: ignore[assignment]
os.fsync, Path.replace = stepping(os.fsync), stepping(Path.replace)  # type: ignore[method-assign]


def write(folder: Path, cases: int) -> dict[str, bytes]:
    report = made_report(simple_results(cases), run=made_run(cases))
    return {path.name: path.read_bytes() for path in write_artifacts(report, folder, FORMATS)}


def killed_at(point: int, folder: Path, cases: int) -> None:
    """Write in a child that is killed at this step."""
    global fatal, steps
    child = os.fork()
    if not child:
        steps, fatal = 0, point
        write(folder, cases)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def main(folder: Path, points: int) -> None:
    global steps
    old, new = write(folder / "old", 3), write(folder / "new", 9)
    steps = 0
    write(folder / "new", 9)
    total, outcomes = steps, []
    for number in range(points):
        point = 1 + number * (total - 1) // (points - 1)
        for case, before in (("over", old), ("first", {}))[: 2 if number % 5 == 0 else 1]:
            there = folder / f"{case}-{point}"
            there.mkdir(exist_ok=True)
            for name, data in before.items():
                (there / name).write_bytes(data)
            killed_at(point, there, 9)
            left = {path.name: path.read_bytes() for path in there.iterdir() if not path.name.startswith(".")}
            states = {
                name: "new" if data == new[name] else "old" if data == before.get(name) else "part"
                for name, data in left.items()
            }
            mended = number % 10 > 0 or write(there, 9) == new
            outcomes.append({"case": case, "states": states, "mended": mended})
    print(json.dumps({"steps": total, "outcomes": outcomes}))


main(Path(sys.argv[1]), int(sys.argv[2]))
