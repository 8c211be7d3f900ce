"""One store, several processes: nobody is told that the database is locked, and no row is lost."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from cortex_eval.storage import Store

WRITE = """
import asyncio, sys
from pathlib import Path
from cortex_eval.core import Case, Reply
from cortex_eval.datasets import cases_from
from cortex_eval.storage import Slot, Store, this_process

async def main(path, name, count):
    with Store(Path(path)) as store:
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
        store.runs.pause(run)

asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
"""


@pytest.mark.slow
def test_p12_two_processes_write_one_store(tmp_path):
    path = tmp_path / "cortex.db"
    names = ["one", "two"]
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WRITE, str(path), name, "300"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for name in names
    ]  # fmt: skip
    for process in processes:
        assert process.stdout.readline() == "ready\n", process.communicate()[1]
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        assert process.communicate(timeout=60)[1] == ""
        assert process.returncode == 0

    with Store(path) as store:
        for name in names:
            (run,) = store.runs.all(suite=name)
            texts = [each.reply.text for each in store.results.read(run.id)]
            assert texts == [f"{name} {n}" for n in range(300)]
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


OPEN = """
import sys
from pathlib import Path
from cortex_eval.storage import Store
print("ready", flush=True)
sys.stdin.readline()
with Store(Path(sys.argv[1])) as store:
    store.baselines.keep(sys.argv[2], "suite", None, {})
"""


@pytest.mark.slow
@pytest.mark.parametrize("attempt", range(3))
def test_processes_that_make_the_store_at_the_same_moment_all_get_it(tmp_path, attempt):
    path = tmp_path / "cortex.db"
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", OPEN, str(path), str(number)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for number in range(6)
    ]  # fmt: skip
    for process in processes:
        process.stdout.readline()
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()

    assert [process.communicate(timeout=60)[1] for process in processes] == [""] * 6
    with Store(path) as store:
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
