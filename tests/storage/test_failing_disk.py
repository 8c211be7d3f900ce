"""A full disk is waited out and corrupts nothing; a failed sync stops the run, and what was told as stored is there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def failing_disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that lets writes fail, compiled."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None or sys.platform != "linux":
        pytest.skip("No C compiler, so a failing disk cannot be made: full disks and failed syncs are not tested.")
    library = tmp_path_factory.mktemp("disk") / "failing_disk.so"
    source = HERE / "failing_disk.c"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True, capture_output=True)
    return library


@pytest.fixture
def play(failing_disk: Path, tmp_path: Path) -> Callable[[str, Iterable[int]], dict[int, str]]:
    """Plays a small run for each point at which the disk fails; gives what came of each."""

    def played(mode: str, points: Iterable[int]) -> dict[int, str]:
        done = subprocess.run(
            [sys.executable, HERE / "play_on_failing_disk.py", mode, tmp_path / mode, *map(str, points)],
            env={**os.environ, "LD_PRELOAD": str(failing_disk)}, capture_output=True, text=True, timeout=900,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return {int(point): outcome for point, outcome in json.loads(done.stdout).items()}

    return played


SAMPLE = (1, 3, 6, 10, 25, 40, 60, 80, 100)


def test_P09_F08_a_disk_that_is_full_for_a_while_is_waited_out(play):
    outcomes = play("full", SAMPLE)

    assert set(outcomes.values()) <= {"waited", "untouched"}
    assert list(outcomes.values()).count("waited") >= 5


@pytest.mark.slow
def test_P09_F08_without_patience_a_full_disk_ends_the_run_which_goes_on_when_there_is_space(play):
    outcomes = play("refused", SAMPLE)

    assert set(outcomes.values()) <= {"storage_full", "untouched", "ignored"}
    assert list(outcomes.values()).count("storage_full") >= 5


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["full", "refused"])
def test_P09_F08_whichever_write_finds_the_disk_full_nothing_is_corrupt_and_the_run_goes_on(play, mode):
    outcomes = play(mode, range(1, 181))

    assert outcomes[180] == "untouched", "the last one is beyond the end of the run"
    assert set(outcomes.values()) <= {"waited", "storage_full", "untouched", "ignored"}


@pytest.mark.soak
@pytest.mark.parametrize("mode", ["full", "refused"])
def test_P09_F08_in_a_run_of_200_cases_any_write_may_find_the_disk_full(play, mode, monkeypatch):
    monkeypatch.setenv("CASES", "200")
    outcomes: dict[int, str] = {}
    while "untouched" not in outcomes.values():  # until a point lies beyond the end of the run
        outcomes |= play(mode, range(len(outcomes) + 1, len(outcomes) + 101))

    assert len(outcomes) > 400, "more than two writes for each case"
    assert set(outcomes.values()) <= {"waited", "storage_full", "untouched", "ignored"}


@pytest.mark.slow
def test_P11_a_failed_sync_stops_the_run_and_what_was_told_as_stored_is_there(play):
    outcomes = play("sync", range(1, 21))

    assert set(outcomes.values()) <= {"storage", "untouched", "ignored"}
    assert list(outcomes.values()).count("storage") >= 10
