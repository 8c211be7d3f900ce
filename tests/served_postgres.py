"""A PostgreSQL server of our own for tests: made in a moment on a free port, gone afterwards."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

HURRY = ["fsync=off", "full_page_writes=off", "autovacuum=off", "shared_buffers=32MB", "max_connections=60"]
"""What it forgets in a power cut is all the same here; that a process dies it survives without."""


class ServedPostgres:
    """One server, and a database for each test."""

    def __init__(self, programs: Path, folder: Path) -> None:
        self._programs, self._folder = programs, folder
        self._user: dict[str, Any] = {}
        if os.geteuid() == 0:  # PostgreSQL refuses to run as root
            self._user = {"user": "postgres", "group": "postgres", "extra_groups": []}
            shutil.chown(folder, "postgres", "postgres")
        self._names = (f"test_{number}" for number in count(1))
        self._process: subprocess.Popen[bytes] | None = None
        with closing(socket.create_server(("127.0.0.1", 0))) as taken:
            self.port = taken.getsockname()[1]
        initdb = [programs / "initdb", "-D", folder / "data", "-A", "trust", "-E", "UTF8", "-U", "cortex", "--no-sync"]
        subprocess.run(initdb, check=True, capture_output=True, cwd=folder, **self._user)

    def start(self) -> None:
        """Start it, or start it again; returns when it takes connections."""
        settings = [word for setting in HURRY for word in ("-c", setting)]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._programs / "postgres", "-D", self._folder / "data", "-p", str(self.port), "-h", "127.0.0.1",
                 "-k", self._folder, *settings],
                cwd=self._folder, stdout=log, stderr=log, **self._user,
            )  # fmt: skip
        give_up = time.monotonic() + 30
        while not self._takes_connections():
            if self._process.poll() is not None or time.monotonic() > give_up:
                raise RuntimeError((self._folder / "log").read_text())
            time.sleep(0.02)

    def stop(self) -> None:
        """Stop it without waiting for anybody: to its clients it is as if it had crashed."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait()

    def url(self, database: str = "postgres") -> str:
        """The address of a database on it."""
        return f"postgresql://cortex@127.0.0.1:{self.port}/{database}"

    @contextmanager
    def database(self, template: str = "template1") -> Iterator[str]:
        """The URL of a new database, gone afterwards."""
        name = next(self._names)
        self.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        try:
            yield self.url(name)
        finally:
            self.execute(f"DROP DATABASE {name} WITH (FORCE)")

    def execute(self, sql: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Carry out a statement."""
        import psycopg

        with psycopg.connect(self.url(database), autocommit=True) as connection:
            cursor = connection.execute(sql.encode())
            return cursor.fetchall() if cursor.description else []

    def _takes_connections(self) -> bool:
        import psycopg

        try:
            self.execute("SELECT 1")
        except psycopg.OperationalError:
            return False
        return True


def find_programs() -> Path | None:
    """The folder with PostgreSQL's programs; Debian keeps them off the PATH."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    if found := shutil.which("initdb"):
        folders.insert(0, Path(found).parent)
    return next((folder for folder in folders if (folder / "initdb").exists()), None)


@contextmanager
def served_postgres() -> Iterator[ServedPostgres | None]:
    """A running server; None when PostgreSQL is not installed."""
    programs = find_programs()
    if programs is None:
        yield None
        return
    folder = Path(tempfile.mkdtemp(prefix="cortex-postgres-"))
    try:
        server = ServedPostgres(programs, folder)
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
