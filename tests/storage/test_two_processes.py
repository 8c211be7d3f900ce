"""One store, several processes: nobody is told that the database is locked, and no row is lost."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from cortex_eval.storage import Store

WRITE = """
import asyncio, sys
from cortex_eval.core import Case, Reply
from cortex_eval.datasets import cases_from
from cortex_eval.storage import Slot, Store, this_process

async def main(path, name, count):
    with Store(path) as store:
        cases = [Case.of(f"Question {n}", id=str(n)) for n in range(count)]
        no, _ = store.datasets.keep(name, cases_from(cases))
        run = store.runs.create(suite=name, target=("bot", "python", None), dataset_no=no, ordinals=range(count),
                                repeats=1, manifest={}, owner=this_process())
        run_no = store.runs.numbers(run)[0]
        print("ready", flush=True)
        sys.stdin.readline()
        for start in range(0, count, 10):
            async with asyncio.TaskGroup() as group:
                for n in range(start, start + 10):
                    group.create_task(store.results.save_reply(Slot(run_no, n, 0, 0, 0), Reply(text=f"{name} {n}")))
            store.baselines.keep(name, name, run, {"n": start})
            assert store.runs.find(run).status == "running"
        await store.flush(run)
        store.runs.pause(run)

asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
"""


READ = """
import sys
from cortex_eval.storage import Store
print("ready", flush=True)
sys.stdin.readline()
with Store(sys.argv[1]) as store:
    while True:
        runs = store.runs.all()
        for run in runs:
            list(store.results.read(run.id))
        if len(runs) == 2 and all(run.status == "paused" for run in runs):
            break
"""


def start(script: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.Popen(command, stdin=-1, stdout=-1, stderr=-1, text=True)


def let_go(processes: list[subprocess.Popen[str]], times: int = 1) -> None:
    """Start them all at the same moment, so many times, and see them end well."""
    for _ in range(times):
        for process in processes:
            assert process.stdout.readline() == "ready\n", process.communicate()[1]
        for process in processes:
            process.stdin.write("go\n")
            process.stdin.flush()
    assert [process.communicate(timeout=60)[1] for process in processes] == [""] * len(processes)
    assert [process.returncode for process in processes] == [0] * len(processes)


@pytest.mark.slow
def test_P12_processes_that_write_and_read_one_store_do_not_hear_of_locks(store):
    names = ["one", "two"]
    let_go([start(WRITE, store.location, name, 300) for name in names] + [start(READ, store.location)])

    for name in names:
        (run,) = store.runs.all(suite=name)
        texts = [each.reply.text for each in store.results.read(run.id)]
        assert texts == [f"{name} {n}" for n in range(300)]
    if isinstance(store.location, Path):
        with closing(sqlite3.connect(store.location)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


OPEN = """
import sys
from cortex_eval.storage import Store
name, *locations = sys.argv[1:]
for location in locations:
    print("ready", flush=True)
    sys.stdin.readline()
    with Store(location) as store:
        store.baselines.keep(name, "suite", None, {})
"""


@pytest.fixture(params=["sqlite", "postgres"])
def places(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[list[Path | str]]:
    """Where three stores can be made; nothing is there yet."""
    with ExitStack() as made:
        if request.param == "postgres":
            server = request.getfixturevalue("postgres_server")
            yield [made.enter_context(server.database()) for _ in range(3)]
        else:
            yield [tmp_path / f"{number}.db" for number in range(3)]


@pytest.mark.slow
def test_processes_that_make_the_store_at_the_same_moment_all_get_it(places):
    let_go([start(OPEN, number, *places) for number in range(6)], times=len(places))

    for place in places:
        with Store(place) as store:
            assert len(store.baselines.all()) == 6


@pytest.mark.slow
def test_p12_two_runs_of_the_command_at_once_share_a_store(scripted_service, make_project):
    bot = scripted_service(lambda call: {"text": "Yes."}, latency_s=0.002)
    cases = [{"id": str(n), "input": f"Question {n}", "ground_truth": "Yes."} for n in range(300)]
    project = make_project(cases, {"kind": "chatbot", "api_url": bot.url}, execution={"max_concurrent_tests": 16})

    processes = [project.start("run", "--json", "--output-dir", str(project.root / name)) for name in "ab"]
    outcomes = [process.communicate(timeout=60) for process in processes]

    assert [process.returncode for process in processes] == [0, 0], outcomes
    assert all("locked" not in err for _, err in outcomes)
    reports = [json.loads(out) for out, _ in outcomes]
    assert [report["totals"]["passed"] for report in reports] == [300, 300]
    assert len({report["run"]["id"] for report in reports}) == 2
    assert len(bot.ledger) == 600
