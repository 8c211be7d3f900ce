"""A store in PostgreSQL has the shape of one in SQLite, is migrated in one step, and leaves what is not ours alone."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing

import psycopg
import pytest

from cortex_eval.core import InputError, StorageError
from cortex_eval.storage import CURRENT_REVISION, Store, this_process

pytestmark = pytest.mark.slow


def execute(url: str, sql: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(sql)
        return cursor.fetchall() if cursor.description else []


COLUMNS = "SELECT table_name, column_name, is_nullable='NO' FROM information_schema.columns WHERE table_schema='public'"


def test_a_fresh_store_has_the_same_tables_and_columns_on_both_databases(tmp_path, postgres_url):
    with Store(postgres_url), Store(tmp_path / "cortex.db"):
        pass
    with closing(sqlite3.connect(tmp_path / "cortex.db")) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type='table'")]
        columns = {
            (table, column[1], bool(column[3]))
            for table in tables
            for column in connection.execute(f"PRAGMA table_info({table})")
        }

    assert set(execute(postgres_url, COLUMNS)) == columns
    assert execute(postgres_url, "SELECT version_num FROM alembic_version") == [(CURRENT_REVISION,)]


def test_P18_an_old_store_is_migrated_and_keeps_every_row(postgres_url):
    with Store(postgres_url):
        pass
    shape = sorted(execute(postgres_url, COLUMNS))
    execute(
        postgres_url,
        """DROP TABLE cortex_history; ALTER TABLE cortex_runs DROP COLUMN epoch, DROP COLUMN lease_until;
        INSERT INTO cortex_datasets VALUES (1, 'd', 'v', 1, '', '', 'then');
        INSERT INTO cortex_runs VALUES (1, 'abcd', 's', 'paused', 'bot', 'http', NULL, 1, 1, 1, '', 'then', 'then',
            NULL, '{}', NULL, NULL, NULL, '', 0);
        UPDATE alembic_version SET version_num='0001'""",
    )

    with Store(postgres_url) as store:
        assert store.runs.find("abcd").status == "paused"
        assert store.runs.take_over("abcd", this_process()).epoch == 1
    assert sorted(execute(postgres_url, COLUMNS)) == shape


def test_EN04_a_store_of_a_newer_program_is_refused_and_not_touched(postgres_url):
    with Store(postgres_url):
        pass
    execute(postgres_url, "UPDATE alembic_version SET version_num='9999'")

    with pytest.raises(InputError, match=f"newer version of Cortex .store 9999; this program knows {CURRENT_REVISION}"):
        Store(postgres_url).__enter__()
    assert execute(postgres_url, "SELECT version_num FROM alembic_version") == [("9999",)]


def test_EN03_tables_of_another_program_are_left_alone(postgres_url):
    execute(postgres_url, "CREATE TABLE alembic_version (version_num text); INSERT INTO alembic_version VALUES ('77')")

    with pytest.raises(StorageError, match="tables of another program"):
        Store(postgres_url).__enter__()
    assert execute(postgres_url, COLUMNS) == [("alembic_version", "version_num", False)]


def test_a_store_lives_beside_the_tables_of_others(postgres_url):
    execute(postgres_url, "CREATE TABLE invoices (no int)")

    with Store(postgres_url) as store:
        assert store.runs.all() == []


WITHOUT = """
import sys
sys.modules["asyncpg"] = sys.modules["psycopg"] = None
from cortex_eval.storage import Store
try:
    Store("postgresql://me:sesame-42@host/name")
except Exception as error:
    print(type(error).__name__, error)
"""


def test_without_the_extra_it_is_told_what_to_install():
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True)

    assert done.stdout.startswith("InputError A store in PostgreSQL (postgresql://me:***@host/name)")
    assert "pip install 'cortex-eval[postgres]'" in done.stdout
