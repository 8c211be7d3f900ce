"""The wall clock jumps by a day, or by an hour as summer time begins, while a run goes on: nobody is hurt."""

from __future__ import annotations

import json
import re
import shutil
import struct
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from cortex_eval.storage import Store
from cortex_eval.testing import Answer, Call, too_many_requests

pytestmark = pytest.mark.slow

DAY_S = 86_400
LATENCY_S = 0.25
BEFORE_SUMMER = datetime(2026, 3, 29, 0, 59, 58, tzinfo=UTC)
"""Two seconds later it is three o'clock in Berlin, and no longer two."""


class Clock:
    """The wall clock of the processes that a test starts."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.set(0)

    def set(self, offset_s: int) -> None:
        if not self.path.exists():
            self.path.write_bytes(bytes(8))
        with self.path.open("r+b") as file:  # in place: those who look at it have it in their memory
            file.write(struct.pack("=q", offset_s))


@pytest.fixture(scope="session")
def shifted_clock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None or sys.platform != "linux":
        pytest.skip("No C compiler, so the clock cannot be shifted: clock changes are not tested.")
    library = tmp_path_factory.mktemp("clock") / "shifted_clock.so"
    source = Path(__file__).with_name("shifted_clock.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True, capture_output=True)
    return library


@pytest.fixture
def clock(shifted_clock: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock(tmp_path / "clock")
    monkeypatch.setenv("SHIFTED_CLOCK", str(made.path))
    monkeypatch.setenv("LD_PRELOAD", str(shifted_clock))
    return made


def wall_time_of_a_process() -> float:
    done = subprocess.run([sys.executable, "-c", "import time; print(time.time())"], capture_output=True, check=True)
    return float(done.stdout)


def test_P24_the_clock_of_a_process_can_be_shifted_and_its_durations_stay(clock):
    """So that the tests below can fail."""
    clock.set(-DAY_S)
    assert abs(wall_time_of_a_process() - time.time() + DAY_S) < 60
    clock.set(DAY_S)
    assert abs(wall_time_of_a_process() - time.time() - DAY_S) < 60


def cases(count: int) -> list[dict[str, str]]:
    return [{"id": f"{n:03}", "input": f"Question {n}", "ground_truth": "Yes."} for n in range(count)]


def seconds(text: str) -> float:
    minutes, rest = re.search(r"(?:(-?\d+) min )?(-?\d+) s$", text).groups()
    return 60 * int(minutes or 0) + int(rest)


SHIFTS = {"a day ahead": DAY_S, "a day back": -DAY_S, "there and back": 0}


@pytest.mark.parametrize("shift", SHIFTS)
def test_P24_F21_a_clock_that_jumps_by_a_day_changes_no_duration_and_ends_no_call(
    scripted_service, make_project, clock, shift
):
    def answer(call: Call) -> Any:
        if call.number == 12:
            clock.set(SHIFTS[shift] or DAY_S)
        if call.number == 24 and not SHIFTS[shift]:
            clock.set(0)
        if call.number == 16:  # by the service's clock, which is right
            return too_many_requests(retry_after_s=2, as_date=True)
        return Answer(body=b'{"text": "Yes."}', latency_s=LATENCY_S)

    bot = scripted_service(answer)
    project = make_project(
        cases(40),
        {"kind": "chatbot", "api_url": bot.url, "timeout_seconds": 5},
        execution={"max_concurrent_tests": 4, "retry_count": 0},
    )
    began = time.monotonic()
    done = project.cortex("run", "--json", "--results", "--output-dir", str(project.root / "out"))
    took_s = time.monotonic() - began

    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["totals"]["passed"], report["totals"]["errors"]) == (40, 0), "no false timeouts"
    assert took_s < 60, "nobody waits for a day"
    times = [each["reply"]["total_time_ms"] for each in report["results"]]
    assert all(1000 * LATENCY_S * 0.99 <= each < 1000 * took_s for each in times)
    assert [each["case_id"] for each in report["results"]] == [f"{n:03}" for n in range(40)], "the order is kept"
    calls = report["run"]["manifest"]["calls"]
    assert 40 / 4 * LATENCY_S <= calls["took_s"] <= took_s
    [page] = (project.root / "out").glob("report_*.html")
    [shown] = re.findall(r"· (-?[\d -]+(?:min -?\d+ )?s)(?= ·|<)", page.read_text(encoding="utf-8"))
    assert abs(seconds(shown) - calls["took_s"]) <= 1
    stamps = [each["timestamp"] for each in report["results"]]
    assert all(stamp.endswith("+00:00") for stamp in stamps)
    ahead = {round((datetime.fromisoformat(stamp) - datetime.now(UTC)) / timedelta(days=1)) for stamp in stamps}
    assert ahead == {0, 1 if SHIFTS[shift] >= 0 else -1}, "the clock did jump while the run went on"


def test_P24_F21_summer_time_begins_while_a_run_goes_on_and_times_are_stored_in_utc(
    scripted_service, make_project, clock, monkeypatch
):
    monkeypatch.setenv("TZ", "Europe/Berlin")
    bot = scripted_service(Answer(body=b'{"text": "Yes."}', latency_s=LATENCY_S))
    project = make_project(
        cases(40), {"kind": "chatbot", "api_url": bot.url, "timeout_seconds": 5}, execution={"max_concurrent_tests": 2}
    )
    clock.set(round((BEFORE_SUMMER - datetime.now(UTC)).total_seconds()))
    done = project.cortex("run", "--json", "--results")

    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["totals"]["passed"] == 40
    stamps = [each["timestamp"] for each in report["results"]]
    assert all(re.fullmatch(r"2026-03-29T0[01]:\d\d:\d\d\.\d{3}\+00:00", stamp) for stamp in stamps)
    assert {stamp[11:13] for stamp in stamps} == {"00", "01"}, "it began before, and ended after"
    assert all(1000 * LATENCY_S * 0.99 <= each["reply"]["total_time_ms"] < 5000 for each in report["results"])
    assert report["run"]["started"].startswith("2026-03-29T00:59:")


def test_P24_a_run_stopped_before_the_clock_was_set_back_is_resumed_and_the_newest_run_is_still_the_last(
    scripted_service, make_project, clock
):
    bot = scripted_service({"text": "Yes."})
    project = make_project(cases(3), {"kind": "chatbot", "api_url": bot.url})
    first = json.loads(project.cortex("run", "--json").stdout)["run"]["id"]
    bot.reply = lambda call: 400 if call.json["query"] == "Question 1" else {"text": "Yes."}
    assert project.cortex("run").returncode == 3
    clock.set(-DAY_S)
    bot.reply = {"text": "Yes."}

    resumed = json.loads(project.cortex("run", "--resume", "latest", "--json").stdout)

    assert resumed["totals"]["passed"] == 3
    assert resumed["run"]["id"] != first
    assert len(bot.ledger) == 3 + 3 + 1
    third = json.loads(project.cortex("run", "--json").stdout)["run"]["id"]
    with Store(project.store_path) as store:
        assert [run.id for run in store.runs.all()] == [third, resumed["run"]["id"], first]
