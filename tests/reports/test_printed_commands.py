"""Commands that are printed work where the reader stands."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from made_results import made_run

from cortex_eval.reports import from_here, with_config

NAMED = "shop/sales/cortex.yaml"


@pytest.fixture
def run(tmp_path, monkeypatch):
    (tmp_path / "shop" / "sales" / "data").mkdir(parents=True)
    (tmp_path / NAMED).write_text("suites: {}\n")
    monkeypatch.chdir(tmp_path)
    return made_run(1, manifest={"request": {"config": NAMED}})


@pytest.mark.parametrize("folder", [".", "shop", "shop/sales"])
def test_a_printed_command_names_the_project_file_as_it_is_found_from_here(run, monkeypatch, folder):
    monkeypatch.chdir(folder)

    command, _, config = with_config("cortex runs show 7f3a", run).partition(" --config ")

    assert command == "cortex runs show 7f3a"
    assert Path(shlex.split(config)[0]).is_file()


def test_a_project_file_that_is_nowhere_near_is_named_as_it_was(run, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path / "shop" / "sales" / "data")

    assert with_config("cortex report 7f3a", run).endswith(f" --config {NAMED}")


def test_no_project_file_was_named_and_none_is_printed():
    assert with_config("cortex report 7f3a", made_run(1, manifest={})) == "cortex report 7f3a"


def test_a_printed_path_is_relative_below_this_folder_and_absolute_elsewhere(run, monkeypatch, tmp_path):
    page = tmp_path / "shop" / "reports" / "report_1.html"

    assert from_here(page) == str(Path("shop/reports/report_1.html"))
    monkeypatch.chdir("shop/sales")
    assert from_here(page) == from_here(Path("../reports/report_1.html")) == str(page)
