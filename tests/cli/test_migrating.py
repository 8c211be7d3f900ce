"""What `docs/migrate.md` promises: somebody else's cases and answers run with nothing but a project file."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
AYURMIND = REPOSITORY.parent / "shared" / "data" / "ayurmind_eval"


@pytest.mark.slow
@pytest.mark.skipif(not AYURMIND.is_dir(), reason="../shared/data/ayurmind_eval is not there")
def test_recorded_answers_of_three_systems_run_by_writing_only_a_project_file(tmp_path):
    shutil.copytree(AYURMIND, tmp_path / "ayurmind")
    (written,) = re.findall(
        r"```yaml\n(services:.*?)```", (REPOSITORY / "docs/migrate.md").read_text("utf-8"), re.DOTALL
    )
    (tmp_path / "ayurmind" / "cortex.yaml").write_text(written, "utf-8")
    cortex = Path(sys.executable).with_name("cortex")

    done = subprocess.run(
        [cortex, "run", "--json", "--offline"], cwd=tmp_path / "ayurmind", capture_output=True, text=True, check=False
    )

    assert done.returncode == 2, done.stderr
    reports = json.loads(done.stdout)
    assert [each["run"]["target"]["name"] for each in reports] == ["ayurmind", "single_rag", "vanilla"]
    for report in reports:
        assert report["totals"]["cases"] == 16
        assert report["totals"]["errors"] == 0
        assert set(report["metrics"]) >= {"classification", "completeness", "safety", "readability"}
        assert "latency_ms" not in report["metrics"], "the files state no times"
    right = {each["run"]["target"]["name"]: each["metrics"]["classification"]["mean"] for each in reports}
    assert right == {"ayurmind": 1 / 16, "single_rag": 8 / 16, "vanilla": 1 / 16}
