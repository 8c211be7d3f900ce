"""The embedded model runs for us alone: onnxruntime must not keep or send reports on its use."""

import os
import subprocess
import sys

import pytest

from cortex_eval.scoring import can_embed


@pytest.mark.slow
@pytest.mark.skipif(not can_embed(), reason="needs the extra 'embed'")
def test_the_embedder_leaves_no_device_id_and_no_reports_behind(tmp_path):
    program = "from cortex_eval.scoring.embedding import load_embedder; print(len(load_embedder().embed(['Hello'])))"
    env = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}

    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**env, "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")},
        check=True,
        capture_output=True,
        text=True,
    )

    assert done.stdout.strip() == "1"
    assert [path for path in tmp_path.rglob("*") if "Microsoft" in path.parts] == []
