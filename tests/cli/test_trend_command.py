"""`cortex trend`, `cortex runs import` and `cortex run --changed-since`, as they are typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

HISTORY = Path(__file__).parents[3] / "shared" / "data" / "biopipelines_history"
EVALUATION = {
    "timestamp": "2025-01-01T10:00:00",
    "total_tests": 40,
    "overall_intent_accuracy": 0.8,
    "overall_entity_f1": 0.7,
    "overall_avg_latency_ms": 120.0,
    "git_commit": "0123456789abcdef",
    "git_branch": "release",
}


@pytest.fixture
def history(folder) -> Path:
    return folder.write("evaluation_20250101_100000.json", EVALUATION)


def test_runs_show_as_a_table_with_bars_that_fits_80_columns(clinic):
    made = clinic(cases=4)
    for _ in range(2):
        assert made.cortex("run").code == 0
    made.bot.reply = {"text": "No."}
    made.cortex("run")

    done = made.cortex("trend", "clinic")

    assert done.code == 0
    lines = done.out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith("clinic → chatbot   3 runs, ")
    assert any("pass_rate" in line and "1.000 → 0.000" in line and "██▁" in line for line in lines)
    assert lines[-1].split()[-1] == "0%", "no verdict is that of the run before"


def test_json_has_every_point_and_last_limits_them(clinic):
    made = clinic(cases=4)
    ids = [made.cortex("run", "--json").json["run"]["id"] for _ in range(3)]
    made.cortex("run", "--quick", "--limit", "1")

    (trend,) = made.cortex("trend", "--json").json["trends"]

    assert [point["run_id"] for point in trend["points"]][:3] == ids
    assert [point["is_quick"] for point in trend["points"]] == [False, False, False, True]
    assert [point["stability"] for point in trend["points"]] == [None, 1.0, 1.0, 1.0]
    (short,) = made.cortex("trend", "--json", "--last", "2").json["trends"]
    assert short["points"] == trend["points"][2:]
    assert made.cortex("run", "--json").json["trend"]["points"][:4] == trend["points"]


def test_one_figure_alone_and_one_that_is_not_there(clinic):
    made = clinic(cases=2)
    made.cortex("run")

    assert "exact" in made.cortex("trend", "--metric", "exact").out
    done = made.cortex("trend", "--metric", "exakt")
    assert (done.code, done.out) == (4, "")
    assert "No run has a figure 'exakt'. Did you mean 'exact'?" in done.err


def test_without_runs_the_next_step_is_told_and_an_unknown_suite_is_refused(clinic):
    made = clinic(cases=2)
    assert "Start one: cortex run" in made.cortex("trend").err
    made.cortex("run")

    done = made.cortex("trend", "clinics")

    assert done.code == 4
    assert "There are no finished runs of clinics. Did you mean 'clinic'?" in done.err


def test_a_file_made_elsewhere_joins_the_line_once(clinic, history):
    made = clinic(cases=2)
    made.cortex("run")

    first = made.cortex("runs", "import", history.name)
    again = made.cortex("runs", "import", history.name)

    assert first.out == "imported-20250101-100000  clinic → chatbot  imported\n"
    assert again.out == "imported-20250101-100000  clinic → chatbot  known already\n"
    (trend,) = made.cortex("trend", "--json").json["trends"]
    assert [point["source"] for point in trend["points"]] == ["imported", "cortex"]
    assert trend["points"][0]["metrics"]["intent"]["mean"] == 0.8
    assert trend["points"][1]["starts_anew"]
    text = made.cortex("trend").out
    assert "on branch release" in text
    assert "i: imported" in text
    assert made.cortex("runs", "forget", "imported-20250101-100000").code == 0
    assert len(made.cortex("trend", "--json").json["trends"][0]["points"]) == 1
    assert made.cortex("runs", "forget", "imported-20250101-100000").code == 4


def test_a_report_of_ours_from_another_store_imports_and_our_own_is_left(clinic, folder):
    made = clinic(cases=3)
    made.cortex("run")
    (file,) = (folder.root / "reports" / "evaluation").glob("evaluation_*.json")
    own = made.cortex("runs", "import", str(file))
    assert "a run of this store, nothing to import" in own.out

    (folder.root / ".cortex").rename(folder.root / "elsewhere")
    done = made.cortex("runs", "import", str(file), "--json")

    (fact,) = done.json
    assert (fact["suite"], fact["target"], fact["outcome"], fact["verdicts"]) == ("clinic", "chatbot", "new", 3)


def test_one_wrong_file_and_nothing_is_stored(clinic, folder, history):
    made = clinic(cases=2)
    wrong = folder.write("wrong.json", {**EVALUATION, "overall_entity_f1": "high"})

    done = made.cortex("runs", "import", history.name, wrong.name)

    assert (done.code, done.out) == (4, "")
    assert done.err.strip() == "Error: wrong.json: overall_entity_f1 must be a number, not 'high'."
    assert made.cortex("trend", "--json").json == {"trends": []}


@pytest.mark.skipif(not HISTORY.is_dir(), reason="the shared history is not here")
def test_the_history_of_another_tool_is_shown_without_a_project(folder):
    files = [str(path) for path in sorted(HISTORY.glob("*.jsonl"))]

    assert folder.cortex("runs", "import", *files).code == 4, "it does not say of which suite it is"
    done = folder.cortex("runs", "import", *files, "--suite", "bioagent", "--target", "bio")

    assert done.out == "run_20251204_165500_74013d58  bioagent → bio  imported\n"
    assert "bioagent → bio   1 run, 2025-12-04" in folder.cortex("trend").out


def test_a_run_since_another_asks_only_what_is_new(clinic, folder):
    made = clinic(cases=3, service={"version": "2.3"})
    first = made.cortex("run", "--json").json["run"]["id"]
    row = {"id": "new", "input": "Question new?", "expected": {"answer": "Answer to Question new?"}}
    with (folder.root / "cases.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")
    made.bot.ledger.clear()

    planned = made.cortex("run", "--dry-run", "--changed-since", first)
    done = made.cortex("run", "--changed-since", first)

    assert f"  reused    3 cases of run {first}, with their verdicts; 1 asked: 1 new\n  calls     1 to" in planned.out
    assert made.is_asked() == ["Question new?"]
    said = " ".join(done.out.split())
    assert f"Since run {first}: 3 unchanged, their replies reused with their verdicts; 1 asked: 1 new." in said


def test_without_a_version_everything_is_asked_and_an_unknown_run_is_refused(clinic):
    made = clinic(cases=3)
    made.cortex("run")
    made.bot.ledger.clear()

    done = made.cortex("run", "--changed-since", "latest")

    assert len(made.is_asked()) == 3
    assert "states no version" in " ".join(done.out.split())
    planned = made.cortex("run", "--dry-run", "--changed-since", "latest")
    assert "states no version" in " ".join(planned.out.split())
    assert "every case is asked calls 3 to the target" in " ".join(planned.out.split())
    assert made.cortex("run", "--changed-since", "nope").code == 4
    refused = made.cortex("run", "--resume", "latest", "--changed-since", "latest")
    assert refused.code == 4
    assert "leave --changed-since out" in refused.err
