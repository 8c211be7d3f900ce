"""The command when it is told to stop, and when the disk is full: what is stored stays, and the run can be resumed."""

from __future__ import annotations

import json
import re
import signal
import sqlite3
import subprocess
import time
from collections import Counter
from contextlib import closing

import pytest

from cortex_eval.testing import Answer, hang

pytestmark = pytest.mark.slow


def questions(count: int) -> list[dict[str, str]]:
    return [{"id": str(n), "input": f"Question {n}", "ground_truth": "Yes."} for n in range(count)]


def slowly(call):
    return Answer(body=b'{"text": "Yes."}', latency_s=1.0)


def test_p06_f04_sigterm_lets_calls_in_flight_finish_and_the_resume_repeats_none(scripted_service, make_project):
    bot = scripted_service(slowly)
    project = make_project(
        questions(100), {"kind": "chatbot", "api_url": bot.url}, execution={"max_concurrent_tests": 32}
    )
    process = project.start("run")
    bot.wait_for_calls(5 + 32)  # five to see whether it answers at all, then as many as may be open
    assert bot.in_flight == 32

    process.send_signal(signal.SIGTERM)
    told = time.monotonic()
    _, err = process.communicate(timeout=20)

    assert process.returncode == 143
    assert all(call.at < told + 0.1 for call in bot.ledger)
    assert len(bot.ledger) == bot.answered == 37
    assert "37 of 100 cases are done and kept" in err
    run = re.search(r"cortex run --resume (\w+)", err)[1]

    bot.reply = {"text": "Yes."}
    done = project.cortex("run", "--resume", run, "--json")
    assert json.loads(done.stdout)["totals"]["passed"] == 100
    assert set(Counter(call.json["query"] for call in bot.ledger).values()) == {1}


def test_f05_the_second_interrupt_stops_within_a_second(scripted_service, make_project):
    bot = scripted_service(lambda call: hang() if call.number > 10 else {"text": "Yes."})
    project = make_project(questions(40), {"kind": "chatbot", "api_url": bot.url})
    process = project.start("run")
    bot.wait_for_calls(20)

    process.send_signal(signal.SIGINT)
    assert "Stopping:" in process.stderr.readline() + process.stderr.readline()
    process.send_signal(signal.SIGINT)
    told = time.monotonic()
    process.communicate(timeout=20)

    assert process.returncode == 130
    assert time.monotonic() - told < 1
    bot.reply = {"text": "Yes."}
    done = project.cortex("run", "--resume", "latest", "--json")
    assert json.loads(done.stdout)["totals"]["passed"] == 40
    asked = Counter(call.json["query"] for call in bot.ledger)
    assert sum(asked.values()) == 50, "only the ten that hung were asked again"


BLOCKING = """
import time
from dataclasses import dataclass

from cortex_eval.core import Score
from cortex_eval.scoring import scorers


@scorers.register("blocks")
@dataclass(frozen=True)
class Blocks:
    def score_batch(self, pairs):
        time.sleep(30)
        return [Score(name="blocks", value=1.0) for _ in pairs]
"""


def test_f05_the_second_interrupt_does_not_wait_for_a_scorer_that_blocks(scripted_service, make_project):
    bot = scripted_service({"text": "Yes."})
    project = make_project(
        questions(3), {"kind": "chatbot", "api_url": bot.url}, scorers=["blocks"], plugins=["blocks.py"]
    )
    (project.root / "blocks.py").write_text(BLOCKING, encoding="utf-8")
    process = project.start("run")
    bot.wait_for_calls(3)

    process.send_signal(signal.SIGINT)
    assert "Stopping:" in process.stderr.readline() + process.stderr.readline()
    process.send_signal(signal.SIGINT)
    told = time.monotonic()
    _, err = process.communicate(timeout=40)

    assert (process.returncode, "cortex run --resume" in err) == (130, True)
    assert time.monotonic() - told < 1


def test_p11_f08_a_full_disk_stops_the_run_with_code_3_and_no_row_that_was_stored_is_lost(
    scripted_service, make_project
):
    text = "Yes. " * 200
    bot = scripted_service({"text": text})
    project = make_project(questions(1_000), {"kind": "chatbot", "api_url": bot.url})
    command = f'ulimit -f 600; exec "{project.command}" run'  # no file may grow beyond 600 KiB
    full = subprocess.run(
        ["bash", "-c", command], cwd=project.root, capture_output=True, text=True, timeout=60, check=False
    )

    assert full.returncode == 3, full.stderr
    assert "The store" in full.stderr
    assert "Traceback" not in full.stderr
    with closing(sqlite3.connect(project.store_path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        kept = connection.execute("SELECT count(*) FROM cortex_results").fetchone()[0]
    asked = len(bot.ledger)
    assert 0 < kept <= asked < 1_000
    assert asked - kept <= 10, "what was in flight when it happened"

    done = project.cortex("run", "--resume", "latest", "--json")

    assert json.loads(done.stdout)["totals"]["cases"] == 1_000
    assert len(bot.ledger) == asked + 1_000 - kept
