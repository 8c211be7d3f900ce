"""An SQLite store holds its file as long as it is open, and lets go of it when it is closed."""

from __future__ import annotations

import sqlite3

import pytest

from cortex_eval.core import Case, StorageError
from cortex_eval.datasets import cases_from
from cortex_eval.storage import Store

CASES = [Case.of(f"Question {number}?", f"Answer {number}", id=str(number)) for number in range(3)]


def test_an_open_store_leaves_what_was_written_in_the_log_and_closing_it_moves_it_into_the_file(tmp_path):
    path = tmp_path / "s.db"
    log = tmp_path / "s.db-wal"
    with Store(path) as store:
        store.datasets.keep("a", cases_from(CASES))
        assert log.stat().st_size > 0
        assert [case.id for case in store.datasets.cases_of("a")] == ["0", "1", "2"]

    assert not log.exists()
    assert sqlite3.connect(path).execute("SELECT count(*) FROM cortex_cases").fetchone() == (3,)


def test_what_went_wrong_in_a_transaction_leaves_no_trace_for_the_next(tmp_path):
    with Store(tmp_path / "s.db") as store:
        store.baselines.keep("main", "s", None, {"a": 1})

        def fail(tx):
            tx.fetch("DELETE FROM cortex_baselines")
            raise ValueError

        for _ in range(3):
            with pytest.raises(ValueError):  # the very one that is raised above
                store._db.change(fail)
        assert store.baselines.find("main", "s") == {"a": 1}


def test_a_closed_store_can_still_be_read_and_keeps_nothing_open(tmp_path):
    path = tmp_path / "s.db"
    with Store(path) as store:
        store.datasets.keep("a", cases_from(CASES))

    assert len(store.datasets.all()) == 1
    path.unlink()
    with pytest.raises(StorageError, match="cannot be made"):
        store.datasets.all()
