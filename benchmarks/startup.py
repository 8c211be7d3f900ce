"""What it costs to begin: importing, `--help`, and what the core brings onto a disk."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from measuring import CORTEX, HERE, PYTHON, Finding, best_and_median, run_process

TIMES = 7
CORE = HERE.parent / "requirements" / "core.txt"
PACKAGE = HERE.parent / "src" / "cortex_eval"
TIMED = """
import time
started = time.perf_counter()
{statement}
print((time.perf_counter() - started) * 1000)
"""


def starting() -> list[Finding]:
    """Seven fresh processes of each kind, taking turns; the median counts."""
    bare, helped, imported, used, whole = [], [], [], [], []
    for _ in range(TIMES):
        bare.append(_ms([PYTHON, "-c", "pass"]))
        whole.append(_ms([PYTHON, "-c", "import cortex_eval"]))
        imported.append(_statement_ms("import cortex_eval"))
        used.append(_statement_ms("from cortex_eval import evaluate"))
        helped.append(_ms([CORTEX, "--help"]))
    median_import, median_help = sorted(imported)[TIMES // 2], sorted(helped)[TIMES // 2]
    return [
        Finding("`import cortex_eval`", f"{median_import:.0f} ms", "≤ 150 ms", median_import <= 150),
        Finding("… the statement, best and median, ms", best_and_median(imported, 1)),
        Finding("… a whole process that does only this, ms", best_and_median(whole, 0)),
        Finding("`from cortex_eval import evaluate`, ms", best_and_median(used, 0)),
        Finding("`cortex --help`", f"{median_help:.0f} ms", "≤ 250 ms", median_help <= 250),
        Finding("… best and median, ms", best_and_median(helped, 0)),
        Finding("the bare interpreter, ms", best_and_median(bare, 0)),
    ]


def core_install() -> list[Finding]:
    """What requirements/core.txt puts into a fresh environment, byte code and this package included."""
    with tempfile.TemporaryDirectory(prefix="cortex-bench-") as folder:
        venv = Path(folder, "venv")
        subprocess.run([PYTHON, "-m", "venv", "--without-pip", venv], check=True)
        pip = [
            PYTHON,
            "-m",
            "pip",
            "--python",
            str(venv / "bin" / "python"),
            "--disable-pip-version-check",
            "--no-input",
        ]
        install = [*pip, "install", "--quiet", "--no-deps", "--require-hashes", "-r", str(CORE)]
        done = subprocess.run(install, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            reason = (done.stderr.strip() or "pip said nothing").splitlines()[-1][:120]
            return [Finding("core install", f"not measured, pip could not install it: {reason}")]
        places = list(venv.glob("lib/python*/site-packages"))
        packages = sum(len(list(place.glob("*.dist-info"))) for place in places) + 1
        size_mb = (_size(*places) + _size(PACKAGE)) / 1e6
    return [
        Finding("core install, packages", str(packages), "≤ 45", packages <= 45),
        Finding("core install, on disk", f"{size_mb:.0f} MB", "≤ 200 MB", size_mb <= 200),
    ]


def _ms(command: Sequence[str]) -> float:
    return run_process(command, cwd=HERE).wall_s * 1000


def _statement_ms(statement: str) -> float:
    command = [PYTHON, "-c", TIMED.format(statement=statement)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def _size(*folders: Path) -> int:
    return sum(path.stat().st_size for folder in folders for path in folder.rglob("*") if path.is_file())
