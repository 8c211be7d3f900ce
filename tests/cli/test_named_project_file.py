"""A project file that was named: printed commands name it too, and printed paths lead there."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

NAMED = "shop/cortex.yaml"
NAMING = f" --config {NAMED}"


@pytest.fixture
def project(clinic):
    """The project lies below the folder in which the command is started."""
    made = clinic(cases=2)
    document = json.loads((made.root / "cortex.yaml").read_text())
    (made.root / "shop").mkdir()
    for name in ("cortex.yaml", "cases.jsonl"):
        (made.root / name).rename(made.root / "shop" / name)
    made.write(NAMED, {**document, "gate": {"baseline": "main", "anchor": "v1"}})
    return made


def test_the_advice_for_a_missing_baseline_names_the_project_file(project):
    asked = project.cortex("run", "--config", NAMED, "--baseline", "other")
    done = project.cortex("run", "--config", NAMED)
    said = " ".join(done.out.split())
    run = project.cortex("runs", "list", "--json", "--config", NAMED).json[0]["id"]

    assert asked.code == 4
    assert f"cortex baseline set RUN --name other{NAMING}." in asked.err
    assert f"Make it the baseline: cortex baseline set {run} --name main{NAMING} " in said
    assert f"Make one: cortex baseline set RUN --name v1 --anchor{NAMING} " in said
    asked_for = project.cortex("run", "--config", NAMED, "--baseline", "other")
    assert f"Make it: cortex baseline set {run} --name other{NAMING}." in asked_for.err
    assert f"cortex baseline set latest --name main{NAMING}" in project.cortex("doctor", "--config", NAMED).out


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        ("runs show 7f3a", "cortex run."),
        ("runs list", "cortex run"),
        ("trend", "cortex run"),
        ("datasets list", "cortex datasets import FILE"),
        ("baseline list", "cortex baseline set latest --name main"),
        ("quarantine list", "cortex quarantine add CASE --reason TEXT"),
        ("baseline show main", "cortex baseline set RUN --name main"),
        ("compare latest", "cortex compare latest~1 latest"),
        ("run --results", "cortex runs show RUN --failed"),
    ],
)
def test_what_to_do_next_is_told_with_the_project_file(project, arguments, advice):
    plain, named = (project.cortex(*arguments.split(), *config) for config in ((), ("--config", NAMED)))

    end = "." if advice.endswith(".") else ""  # of a sentence
    assert f"{advice.removesuffix(end)}{NAMING}{end}\n" in named.err
    assert "--config" not in plain.err.partition("Make one with")[0]


@pytest.mark.parametrize("how", ["relative", "absolute", "elsewhere"])
def test_the_path_of_a_report_can_be_opened_from_this_folder(project, how, tmp_path):
    config = NAMED if how == "relative" else str(project.root / NAMED)
    folder = tmp_path / "pages"
    done = project.cortex("run", "--config", config, *(("--output-dir", "../pages") if how == "elsewhere" else ()))

    (page,) = re.findall(r"^Report: (.+)$", done.err, re.MULTILINE)
    assert (project.root / page).is_file()
    assert Path(page).parent == (folder if how == "elsewhere" else Path("shop/reports/evaluation"))
    (written,) = project.cortex("report", "latest", "-f", "csv", "--config", config).out.splitlines()
    assert Path(written).parent == Path("shop/reports/evaluation")
    assert (project.root / written).is_file()


def test_an_unknown_run_is_answered_with_the_list_of_this_project(project):
    project.cortex("run", "--config", NAMED)

    for command in (("runs", "show", "zzz"), ("run", "--resume", "zzz"), ("rescore", "zzz")):
        assert f"All of them: cortex runs list{NAMING}." in project.cortex(*command, "--config", NAMED).err
