"""What tests of every room share: a service that answers by script, a store, and a project to run the command in."""

from __future__ import annotations

import gc
import json
import os
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from cortex_eval.storage import Store
from cortex_eval.testing import ScriptedService
from served_postgres import ServedPostgres, served_postgres
from warm_command import COMMAND, run_command

# No deadlines: the first example of a process may have to import numpy, and a busy machine is not a failure.
PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("thorough", PATIENT)
settings.register_profile("quick", PATIENT, max_examples=20)  # for `make check`
settings.load_profile("thorough")

gc.set_threshold(100_000, 50, 50)  # as the command does: looking for garbage is a tenth of the time otherwise


def pytest_collection_finish() -> None:
    """What is imported stays: it is not looked through for garbage again and again."""
    gc.collect()
    gc.freeze()


@dataclass(frozen=True)
class ProjectFolder:
    """A project on disk, and the command in it."""

    root: Path
    command: Path = COMMAND
    """The installed one, for whoever starts it otherwise."""

    @property
    def store_path(self) -> Path:
        return self.root / ".cortex" / "cortex.db"

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """`cortex …`, going on while the test does."""
        return subprocess.Popen(
            [self.command, *arguments],
            cwd=self.root,
            env={**os.environ, "PYTHONFAULTHANDLER": "1"},  # SIGABRT shows where it is
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def cortex(self, *arguments: str, timeout_s: float = 120) -> subprocess.CompletedProcess[str]:
        """`cortex …`, run to its end."""
        done = run_command(arguments, cwd=self.root, env=os.environ, timeout_s=timeout_s)
        return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture
def scripted_service() -> Iterator[Callable[..., ScriptedService]]:
    """Starts services in threads of their own: `bot = scripted_service({"text": "Yes."}, latency_s=0.01)`."""
    with ExitStack() as running:
        yield lambda *reply, **settings: running.enter_context(ScriptedService.in_thread(*reply, **settings))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A new store in a real file."""
    with Store(tmp_path / "cortex.db") as opened:
        yield opened


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[ServedPostgres]:
    """A PostgreSQL server of this test process, started with the first test that needs one."""
    with served_postgres() as server:
        if server is None:
            pytest.skip("PostgreSQL is not installed, so its half of the store is not tested: scripts/setup-test.sh")
        yield server


@pytest.fixture
def postgres_url(postgres_server: ServedPostgres) -> Iterator[str]:
    """The URL of an empty database in PostgreSQL."""
    with postgres_server.database() as url:
        yield url


@pytest.fixture
def make_project(tmp_path: Path) -> Callable[..., ProjectFolder]:
    """Writes a project of one suite: `make_project(rows, {"kind": "chatbot", "api_url": bot.url})`."""

    def make(
        rows: Iterable[Mapping[str, Any]],
        service: Mapping[str, Any],
        *,
        scorers: Iterable[Any] = ("exact",),
        name: str = "project",
        **blocks: Any,
    ) -> ProjectFolder:
        root = tmp_path / name
        root.mkdir()
        (root / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        suite = {"dataset": "cases.jsonl", "service": "bot", "scorers": list(scorers)}
        document = {"services": {"bot": dict(service)}, "suites": {"suite": suite}, **blocks}
        (root / "cortex.yaml").write_text(json.dumps(document, indent=1), encoding="utf-8")  # JSON is YAML too
        return ProjectFolder(root)

    return make
