"""What was noted when a dataset was read is told with every run over it, and it is read once."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_plans import plan_for, right

from cortex_eval import manifest
from cortex_eval.config import DatasetSource
from cortex_eval.core import InputError
from cortex_eval.datasets import Selection
from cortex_eval.engine import execute

MISSPELT = "the column 'catgory' is not known and is kept as metadata. Did you mean 'category'?"


@pytest.fixture
def reads(monkeypatch) -> list[str]:
    """The datasets that were read, in order."""
    names: list[str] = []
    read_rows = manifest.read_rows
    monkeypatch.setattr(manifest, "read_rows", lambda source: names.append(source.name) or read_rows(source))
    return names


@pytest.fixture
def plan(tmp_path, scripted_service):
    file = tmp_path / "cases.csv"
    file.write_text(
        "id,question,expected,catgory\n1,Question 1,Answer 1,a\n2,Question 2,Answer 2,b\n", encoding="utf-8"
    )
    return replace(plan_for(scripted_service(right).url, []), dataset=DatasetSource(path=file))


async def test_a_misspelt_column_is_told_each_time_and_the_file_is_read_once(store, plan, reads):
    first = await execute(plan, store)
    second = await execute(plan, store)
    rescored = await execute(plan, store, rescore=second.run.id)
    last = await execute(plan, store)

    for report in (first, second, rescored, last):
        assert [note for note in report.notes if MISSPELT in note] == [f"{plan.dataset.path}: {MISSPELT}"]
    assert reads == ["cases.csv"]


async def test_a_dataset_that_no_run_has_had_is_read_again_for_its_notes(store, plan, reads):
    with pytest.raises(InputError):
        await execute(replace(plan, selection=Selection(categories=("none",))), store)
    deleted = await execute(plan, store)
    store.runs.delete(deleted.run.id)

    report = await execute(plan, store)

    assert any(MISSPELT in note for note in report.notes)
    assert reads == ["cases.csv"] * 3
    assert len(store.datasets.all()) == 1
