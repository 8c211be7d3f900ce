"""`cortex analyze`: the ranking, what a change did, the file, and the sample project's planted regression."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from installed import Folder

from cortex_eval.demo import copy_project
from cortex_eval.demo.bioagent import BioAgent

pytestmark = pytest.mark.slow
CLINC = Path(__file__).parents[3] / "shared" / "data" / "clinc150"


def wrong(_call):
    return {"text": "No idea."}


def test_the_analysis_is_printed_and_written_and_exits_with_0(clinic):
    project = clinic(reply=wrong, fix_locations={"exact": "bot/answers.py"})
    assert project.cortex("run").code == 2
    (by_the_run,) = project.root.glob("reports/evaluation/error_analysis_*.md")
    by_the_run.unlink()

    done = project.cortex("analyze", "latest")

    assert done.code == 0
    assert "4 of 4 cases did not pass." in done.out
    assert "where        bot/answers.py" in done.out
    assert max(map(len, done.out.splitlines())) <= 80
    assert done.err == f"Written: {by_the_run.relative_to(project.root)}\n"
    assert "bot/answers.py" in by_the_run.read_text(encoding="utf-8")


def test_places_of_the_project_file_count_as_they_are_now(clinic):
    project = clinic(reply=wrong)
    project.cortex("run")
    config = project.root / "cortex.yaml"
    document = json.loads(config.read_text()) | {"fix_locations": {"scorer_failure": "elsewhere.py"}}
    config.write_text(json.dumps(document))

    (pattern,) = project.cortex("analyze", "latest", "--json").json["patterns"]

    assert pattern["suggestion"]["location"] == "elsewhere.py"


def test_a_run_in_which_all_passes_writes_no_analysis_of_its_own(clinic):
    project = clinic()
    project.cortex("run")

    assert not list(project.root.glob("reports/evaluation/error_analysis_*"))
    assert "there is nothing to explain" in project.cortex("analyze", "latest").out


def test_markdown_and_another_folder_can_be_asked_for(clinic):
    project = clinic(reply=wrong)
    project.cortex("run")

    done = project.cortex("analyze", "latest", "-f", "markdown", "--output-dir", "elsewhere")

    (path,) = (project.root / "elsewhere").iterdir()
    assert done.out == path.read_text(encoding="utf-8")
    assert done.out.startswith("# Error analysis: `clinic` on `chatbot`")


def test_a_run_that_is_not_there_is_invalid_input(clinic):
    assert clinic().cortex("analyze", "nope").code == 4


def test_the_planted_regression_of_the_sample_agent_ranks_first(folder: Folder):
    copy_project("bioagent", folder.root)
    runs = []
    for version in ("1", "2"):
        with BioAgent(version=version) as agent:
            done = folder.cortex("run", "bioagent", "--json", CORTEX_DEMO_URL=agent.url, CORTEX_API_KEY="demo-key")
        runs.append(done.json["run"]["id"])

    first, second = (folder.cortex("analyze", run, "--json", CORTEX_DEMO_URL="http://127.0.0.1:9").json for run in runs)
    changed = folder.cortex("analyze", runs[0], "--after", runs[1], "--json", CORTEX_DEMO_URL="http://127.0.0.1:9").json

    planted = second["patterns"][0]
    assert planted["type"] == "intent_confusion"
    assert planted["title"].endswith("are taken for WORKFLOW_GENERATE")
    assert "18 of 19 name the entity software" in planted["evidence"]
    assert planted["suggestion"]["action"] == "Add distinctive patterns for TROUBLESHOOT vs WORKFLOW_GENERATE"
    assert "WORKFLOW_GENERATE" not in first["patterns"][0]["title"]
    change, *others = changed["changes"]
    assert (change["title"], change["before"], change["after"]) == (planted["title"], 1, 19)
    assert (change["effect"], change["may_be_noise"]) == ("grew", False)
    assert {each["effect"] for each in others} == {"same"}
    assert changed["patterns"] == second["patterns"]


@pytest.mark.skipif(not CLINC.is_dir(), reason="CLINC150 is not beside the repository")
def test_a_weak_classifier_gives_confusions_worth_reading(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    import weak_intents

    try:
        report = weak_intents.play(CLINC)
    finally:
        sys.modules.pop("weak_intents", None)

    first = report.patterns[0]
    assert first.title.startswith("No intent is right, and got ")
    assert first.count > 900, "of 1,000 questions out of scope"
    assert report.slices[0].facts == (("category", "out_of_scope"),)
    named = {(pair.expected, pair.actual) for each in report.patterns for pair in each.confusions}
    assert {("directions", "traffic"), ("todo_list_update", "todo_list")} <= named, "as the dataset spells them"
    assert sum(each.gain for each in report.patterns) < 1
