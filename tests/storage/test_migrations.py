"""The store that is made in one step is the one that the migrations make; other files are left as they are."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from cortex_eval.core import InputError, StorageError
from cortex_eval.storage import CURRENT_REVISION, Store, migrate, this_process, versions
from cortex_eval.storage.connection import connect


def made(path: Path) -> Path:
    with Store(path):
        pass
    return path


def shape(path: Path) -> dict[str, object]:
    """Tables, columns, indexes and foreign keys, as SQLite understands them."""
    with closing(sqlite3.connect(path)) as connection:
        tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type='table'")]
        found: dict[str, object] = {}
        for table in sorted(tables):
            indexes = {}
            for _, name, unique, origin, partial in connection.execute(f"PRAGMA index_list({table})"):
                columns = tuple(row[2] for row in connection.execute(f"PRAGMA index_info({name})"))
                indexes[columns, origin] = (unique, partial)
            found[table] = {
                "columns": connection.execute(f"PRAGMA table_info({table})").fetchall(),
                "indexes": indexes,
                "foreign keys": sorted(row[2:] for row in connection.execute(f"PRAGMA foreign_key_list({table})")),
            }
        others = connection.execute("SELECT type, name FROM sqlite_master WHERE type NOT IN ('table', 'index')")
        found["others"] = others.fetchall()
        return found


@pytest.mark.slow
def test_alembic_from_nothing_gives_the_same_store_as_the_schema_file(tmp_path):
    fresh = made(tmp_path / "fresh.db")
    migrated = tmp_path / "migrated.db"
    migrated.touch()
    migrate(migrated)

    assert shape(migrated) == shape(fresh)
    assert "cortex_results" in shape(fresh)


def test_both_say_which_revision_they_are(tmp_path):
    migrated = tmp_path / "migrated.db"
    migrated.touch()
    migrate(migrated)

    for path in (made(tmp_path / "fresh.db"), migrated):
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute("SELECT version_num FROM alembic_version").fetchall() == [(CURRENT_REVISION,)]
    assert versions.REVISIONS[-1] == CURRENT_REVISION


def test_every_migration_of_the_folder_is_known_in_order():
    folder = Path(versions.__file__).parent / "migrations" / "versions"

    assert sorted(path.name[:4] for path in folder.glob("[0-9]*.py")) == list(versions.REVISIONS)


def old(path: Path) -> Path:
    """A store of revision 0001, with a run and its result in it."""
    with closing(sqlite3.connect(made(path))) as connection:
        connection.executescript(
            """DROP TABLE cortex_history;
            ALTER TABLE cortex_runs DROP COLUMN epoch; ALTER TABLE cortex_runs DROP COLUMN lease_until;
            INSERT INTO cortex_datasets VALUES (1, 'd', 'v', 1, '', '', 'then');
            INSERT INTO cortex_cases VALUES (1, 0, 'c', NULL, NULL, NULL, NULL, NULL, 1, '{}');
            INSERT INTO cortex_runs VALUES (1, 'abcd', 's', 'paused', 'bot', 'http', NULL, 1, 1, 1, x'00000000', 'then',
                'then', NULL, '{}', NULL, NULL, NULL, '', 0);
            INSERT INTO cortex_results (run_no, ordinal, repeat, turn, attempt, state, attempts, cached, timestamp)
                VALUES (1, 0, 0, 0, 0, 'passed', 1, 0, 'then');
            UPDATE alembic_version SET version_num='0001';"""
        )
    return path


def test_P18_an_old_store_is_upgraded_after_a_backup_and_keeps_every_row(tmp_path):
    path = old(tmp_path / "cortex.db")
    before = shape(path)

    with Store(path) as store:
        assert store.runs.find("abcd").status == "paused"
        assert [each.state for each in store.results.read("abcd")] == ["passed"]
        assert store.runs.take_over("abcd", this_process()).epoch == 1

    assert shape(path) == shape(made(tmp_path / "fresh.db"))
    assert shape(tmp_path / "cortex.db.before-0001") == before
    with closing(sqlite3.connect(tmp_path / "cortex.db.before-0001")) as backup:
        assert backup.execute("SELECT state FROM cortex_results").fetchall() == [("passed",)]


def test_P18_a_migration_that_does_not_reach_its_end_leaves_the_old_store(tmp_path, monkeypatch):
    path = old(tmp_path / "cortex.db")
    before = shape(path)
    run_migrations = versions.run_migrations

    def cut_short(connection) -> None:
        run_migrations(connection)
        raise KeyboardInterrupt

    monkeypatch.setattr(versions, "run_migrations", cut_short)
    with pytest.raises(KeyboardInterrupt):
        made(path)
    assert shape(path) == before

    monkeypatch.undo()
    assert shape(made(path)) == shape(made(tmp_path / "fresh.db"))


def test_migrating_a_store_that_is_current_changes_nothing(tmp_path):
    path = made(tmp_path / "cortex.db")
    before = shape(path)

    migrate(path)

    assert shape(path) == before


def everything_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.endswith("-shm")}


def newer(path: Path) -> None:
    with closing(sqlite3.connect(made(path))) as connection:
        connection.execute("UPDATE alembic_version SET version_num='9999'")
        connection.commit()


def test_en04_a_store_of_a_newer_program_is_refused_and_not_touched(tmp_path):
    path = tmp_path / "cortex.db"
    newer(path)
    before = everything_in(tmp_path)

    with pytest.raises(InputError, match=f"newer version of Cortex .store 9999; this program knows {CURRENT_REVISION}"):
        made(path)

    assert everything_in(tmp_path) == before


KILLED = """
import os, sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("UPDATE alembic_version SET version_num='9999'")
connection.commit()
os.kill(os.getpid(), 9)
"""


def test_en04_not_even_its_log_is_moved_when_the_newer_program_was_killed(tmp_path):
    path = made(tmp_path / "cortex.db")
    subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    before = everything_in(tmp_path)
    assert before["cortex.db-wal"]

    with pytest.raises(InputError, match="store 9999"):
        made(path)

    assert everything_in(tmp_path) == before


def foreign(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE invoices (no INTEGER)")
        connection.commit()


def foreign_with_alembic(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE invoices (no INTEGER)")
        connection.execute("CREATE TABLE alembic_version (version_num TEXT)")
        connection.execute("INSERT INTO alembic_version VALUES ('0001')")
        connection.commit()


def cut_in_half(path: Path) -> None:
    data = made(path).read_bytes()
    path.write_bytes(data[: len(data) // 2])


def scribbled_over(path: Path) -> None:
    data = made(path).read_bytes()
    path.write_bytes(data[:100] + b"\xff" * (len(data) - 100))


def read_only(path: Path) -> None:
    made(path).chmod(0o400)


NOT_STORES = {
    "text": (lambda path: path.write_text("Dear diary"), "is not a Cortex store"),
    "another program's database": (foreign, "is an SQLite database, but not a Cortex store"),
    "another program's database with Alembic": (foreign_with_alembic, "is an SQLite database, but not a Cortex store"),
    "cut in half": (cut_in_half, "shorter than its header says"),
    "scribbled over": (scribbled_over, "cannot be used"),
    "read-only": (read_only, "is read-only"),
    "a folder": (
        lambda path: path.mkdir(),
        r"is a folder, and a file is needed\. Name one under database\.path, such as",
    ),
}


@pytest.mark.parametrize(("make", "told"), NOT_STORES.values(), ids=NOT_STORES)
def test_en03_what_is_no_store_is_refused_with_its_name_and_not_touched(tmp_path, make, told):
    path = tmp_path / "cortex.db"
    make(path)
    before = everything_in(tmp_path) if path.is_file() else {}

    with pytest.raises(StorageError, match=told) as caught:
        made(path)

    assert str(path) in str(caught.value)
    assert (everything_in(tmp_path) if path.is_file() else {}) == before


def test_a_folder_in_which_nothing_can_be_made_is_told(tmp_path):
    (tmp_path / "file").write_text("")

    with pytest.raises(StorageError, match="cannot be made"):
        made(tmp_path / "file" / "cortex.db")


def empty_file(path: Path) -> None:
    path.touch()


def empty_database(path: Path) -> None:
    """As a process leaves it that is killed between its first page and its tables."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")


@pytest.mark.parametrize("make", [empty_file, empty_database])
def test_a_file_that_holds_nothing_yet_becomes_a_store(tmp_path, make):
    path = tmp_path / "cortex.db"
    make(path)

    assert shape(made(path)) == shape(made(tmp_path / "other.db"))


def test_a_new_store_is_for_its_owner_alone_and_keeps_a_log(tmp_path):
    path = made(tmp_path / "deep" / "down" / "cortex.db")

    assert path.stat().st_mode & 0o077 == 0
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_d31_every_connection_syncs_fully_and_holds_foreign_keys(file_store):
    with closing(connect(file_store.path)) as connection:
        settings = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("synchronous", "foreign_keys")]
        assert settings == [2, 1]
        assert connection.execute("PRAGMA busy_timeout").fetchone()[0] == 5000


def test_a_store_copied_while_nobody_writes_is_a_store(tmp_path):
    path = made(tmp_path / "cortex.db")
    shutil.copy(path, tmp_path / "copy.db")

    assert shape(made(tmp_path / "copy.db")) == shape(path)
