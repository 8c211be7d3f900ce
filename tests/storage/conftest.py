"""The store tests run on both databases."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from cortex_eval.storage import Location, Store
from served_postgres import ServedPostgres


@pytest.fixture(scope="session")
def prepared_template(postgres_server: ServedPostgres) -> str:
    """A database with the tables of a store, to be copied."""
    postgres_server.execute("CREATE DATABASE prepared")
    with Store(postgres_server.url("prepared")):
        pass
    return "prepared"


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def new_location(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Location]]:
    """Gives places of stores that are there and hold nothing, on each database."""
    with ExitStack() as made:
        if request.param == "postgres":
            server: ServedPostgres = request.getfixturevalue("postgres_server")
            template: str = request.getfixturevalue("prepared_template")
            yield lambda: made.enter_context(server.database(template))
        else:
            names = iter(range(100))
            yield lambda: tmp_path / (f"cortex{number}.db" if (number := next(names)) else "cortex.db")


@pytest.fixture
def store(new_location: Callable[[], Location]) -> Iterator[Store]:
    """A new store, once on each database."""
    with Store(new_location()) as opened:
        yield opened


@pytest.fixture
def file_store(tmp_path: Path) -> Iterator[Store]:
    """A new store in an SQLite file."""
    with Store(tmp_path / "cortex.db") as opened:
        yield opened
