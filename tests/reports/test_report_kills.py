"""Report files are whole or absent, whenever `kill -9` comes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

POINTS = 100


@pytest.mark.slow
def test_P08_kill_9_at_100_points_of_a_report_write_leaves_each_file_old_or_new_and_never_a_part(tmp_path):
    script = Path(__file__).with_name("play_report_kills.py")
    done = subprocess.run(
        [sys.executable, script, tmp_path, str(POINTS)], capture_output=True, text=True, timeout=120, check=False
    )

    assert done.returncode == 0, done.stderr
    played = json.loads(done.stdout)
    assert played["steps"] >= POINTS, "no point is tried twice"
    over = [each["states"] for each in played["outcomes"] if each["case"] == "over"]
    first = [each["states"] for each in played["outcomes"] if each["case"] == "first"]
    assert (len(over), len(first)) == (POINTS, POINTS // 5)
    assert all(len(states) == 5 for states in over), "an earlier file is never gone"
    assert set(Counter(state for states in over for state in states.values())) == {"old", "new"}
    assert set(Counter(state for states in first for state in states.values())) == {"new"}, "whole, or not there"
    assert all(each["mended"] for each in played["outcomes"]), "the next write is not disturbed"
