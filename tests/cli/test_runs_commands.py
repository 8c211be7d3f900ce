"""`cortex runs`, `report`, `baseline` and `rescore`: what is kept of earlier runs."""

from __future__ import annotations

import asyncio
import json
import re

import pytest
from installed import Folder

pytestmark = pytest.mark.slow


def half_right(call):
    return {"text": f"Answer to {call.json['query']}" if call.number % 2 else "No."}


def wrong(call):
    return {"text": "No idea."}


def test_runs_are_listed_newest_first_and_found_by_prefix_or_as_latest(clinic):
    project = clinic()
    assert project.cortex("runs", "list").err == "There are no runs yet. Start one: cortex run\n"
    assert "There are no runs yet" in project.cortex("runs", "show", "latest").err
    first = project.cortex("run", "--json").json["run"]["id"]
    second = project.cortex("run", "--json").json["run"]["id"]

    listed = project.cortex("runs", "list").out.splitlines()
    as_json = project.cortex("runs", "list", "--json", "--limit", "1", "--suite", "clinic").json

    assert listed[0].split()[:3] == ["id", "started", "(UTC)"]
    assert [line.split()[0] for line in listed[1:]] == [second, first]
    assert max(map(len, listed)) <= 80
    (fact,) = as_json
    assert (fact["id"], fact["status"], fact["cases"], fact["verdict"]) == (second, "completed", 4, "passed")
    assert fact["score"] == 1.0
    assert project.cortex("runs", "list", "--suite", "other").err == "There are no runs of other yet.\n"
    for name in (first, first[:6]):
        assert project.cortex("runs", "show", name, "--json").json["run"]["id"] == first
    assert project.cortex("runs", "show", "latest", "--json").json["run"]["id"] == second
    assert project.cortex("runs", "show", "").code == 4


def test_the_command_that_is_printed_works_in_the_folder_of_the_project_too(clinic):
    project = clinic(reply=wrong)
    Folder(project.root.parent).cortex("run", "--config", f"{project.root.name}/cortex.yaml")

    printed = " ".join(project.cortex("runs", "show", "latest").out.split()).rpartition(": cortex ")[2]

    assert "--config cortex.yaml" in printed
    assert project.cortex(*printed.split()).code == 0


def test_a_list_of_runs_says_how_often_each_case_was_asked(clinic):
    project = clinic()
    project.cortex("run", "--repeat", "3")

    line = project.cortex("runs", "list").out.splitlines()[1]
    (fact,) = project.cortex("runs", "list", "--json").json

    assert "  4 × 3  " in line
    assert (fact["cases"], fact["repeats"]) == (4, 3)


def test_show_failed_tells_what_was_asked_expected_and_replied(clinic):
    project = clinic(reply=wrong)
    project.cortex("run")

    text = project.cortex("runs", "show", "latest", "--failed")
    rows = project.cortex("runs", "show", "latest", "--failed", "--json").json["results"]

    assert (
        "c1  failed  0.00\n  asked     Question 1?\n  expected  Answer to Question 1?\n  replied   No idea.\n"
        in text.out
    )
    assert max(map(len, text.out.splitlines())) <= 80
    (saved,) = [place for place, line in enumerate(text.out.splitlines()) if line.startswith("Run ")]
    first = text.out.splitlines().index("c0  failed  0.00")
    assert saved + 2 == first  # the cases are last: the summary does not push them out of sight
    assert text.code == 0
    assert {row["case_id"] for row in rows} == {"c0", "c1", "c2", "c3"}


def test_show_failed_says_that_no_case_failed(clinic):
    project = clinic()
    project.cortex("run")

    whole = project.cortex("runs", "show", "latest", "--failed")
    one = project.cortex("runs", "show", "latest", "--failed", "--case", "c1")

    assert whole.code == one.code == 0
    assert whole.out.endswith("\n\nNo case failed.\n")
    assert one.out == "None of these cases failed.\n"


def test_show_failed_tells_blank_replies_and_cuts_long_ones_between_words(clinic):
    long = "unfathomably " * 30

    said = {"Question 0?": " \n ", "Question 1?": "", "Question 2?": long}
    project = clinic(cases=3, reply=lambda call: {"text": said[call.json["query"]]})
    project.cortex("run")

    shown = project.cortex("runs", "show", "latest", "--failed").out

    told = " ".join(shown.split())
    assert "replied (blank)" in told
    assert "replied (no text)" in told
    assert "unfathomably unfathomably…" in told


def test_show_replies_tells_what_came_of_cases_that_passed_too(clinic):
    project = clinic(
        reply=lambda call: {"text": f"Answer to {call.json['query']}", "intent": "help", "confidence": 0.9}
    )
    project.cortex("run")

    plain = project.cortex("runs", "show", "latest").out
    text = project.cortex("runs", "show", "latest", "--replies").out
    one = project.cortex("runs", "show", "latest", "--case", "c1").out
    rows = project.cortex("runs", "show", "latest", "--case", "c1", "--json").json["results"]
    unknown = project.cortex("runs", "show", "latest", "--case", "c11")

    assert "replied" not in plain
    assert text.startswith(plain)
    assert text.count("  replied     Answer to Question") == 4
    assert "  intent      help\n  confidence  0.90\n" in text
    assert max(map(len, text.splitlines())) <= 80
    assert one.startswith("c1  passed  1.00\n  asked       Question 1?\n")
    assert "  exact       1.00" in one, "every score, passed or not"
    assert "c2" not in one
    assert [row["case_id"] for row in rows] == ["c1"]
    assert unknown.code == 4
    assert "has no case 'c11'. Did you mean 'c1'?" in unknown.err


def test_a_run_is_deleted_after_a_question(clinic):
    project = clinic(cases=1)
    run = project.cortex("run", "--json").json["run"]["id"]

    refused = project.cortex("runs", "delete", run, stdin="n\n")
    assert refused.code == project.cortex("runs", "delete", run, stdin="").code == 130
    assert refused.err.endswith("\nNothing is deleted. Where nobody can answer, add --yes.\n")
    assert [each["id"] for each in project.cortex("runs", "list", "--json").json] == [run]
    assert project.cortex("runs", "delete", run, stdin="y\n").out == f"Run {run} is deleted.\n"
    assert project.cortex("runs", "list", "--json").json == []
    again = project.cortex("run", "--json").json["run"]["id"]
    assert project.cortex("runs", "delete", again, "--yes", "--json").json == {"id": again, "deleted": True}


def test_a_run_is_cancelled_from_another_terminal_and_what_it_did_stays(clinic):
    async def reply(call):
        # A slow service: the run would take ten seconds, and looks for the request every second.
        await asyncio.sleep(1 if call.number > 4 else 0)
        return {"text": f"Answer to {call.json['query']}"}

    project = clinic(cases=40, reply=reply)
    running = project.start("run", "--concurrency", "4")
    project.bot.wait_for_calls(8)

    asked = project.cortex("runs", "cancel", "latest")
    still = project.cortex("runs", "delete", "latest", "--yes")
    out, _ = running.communicate(timeout=60)

    assert asked.out.endswith("is asked to stop.\n")
    assert still.code == 4
    assert "is going on" in still.err
    assert running.returncode == 3
    assert "a partial run never passes" in " ".join(out.split())
    (run,) = project.cortex("runs", "list", "--json").json
    assert run["status"] == "cancelled"
    assert 8 <= len(project.bot.ledger) < 40
    assert project.cortex("runs", "cancel", "latest").code == 4


@pytest.mark.parametrize(
    ("formats", "names"),
    [
        ((), ["report_*.html"]),
        (("-f", "json", "-f", "csv"), ["evaluation_*.json", "evaluation_*.csv"]),
        (
            ("-f", "all"),
            [
                "report_*.html",
                "evaluation_*.md",
                "evaluation_*.json",
                "evaluation_*.csv",
                "results_*.jsonl",
                "junit_*.xml",
                "evaluation_*.parquet",
            ],
        ),
    ],
)
def test_reports_are_written_anew_where_asked(clinic, formats, names):
    project = clinic(cases=1, output_dir="out")
    project.cortex("run")

    here = project.cortex("report", "latest", *formats)
    there = project.cortex("report", "latest", *formats, "--output-dir", "elsewhere", "--json")

    assert here.code == 0
    files = [project.root / line for line in here.out.splitlines()]
    assert all(file.match(f"out/{name}") and file.stat().st_size for file, name in zip(files, names, strict=True))
    assert len(there.json["files"]) == len(list((project.root / "elsewhere").iterdir())) == len(names)
    assert len(list((project.root / "out").glob("report_*.html"))) == 1  # the run's own is replaced


def test_a_report_in_the_words_of_the_seed(clinic):
    project = clinic(cases=1)
    project.cortex("run")

    (file,) = project.cortex("report", "latest", "-f", "json", "--dialect", "seed003", "--json").json["files"]

    assert [row["test_id"] for row in json.loads((project.root / file).read_text())["test_results"]] == ["c0"]


def test_a_baseline_is_set_shown_and_listed(clinic):
    project = clinic(output_dir="out")
    assert project.cortex("baseline", "list").err.startswith("There are no baselines yet.")
    assert project.cortex("baseline", "show").code == 4
    run = project.cortex("run", "--json").json["run"]["id"]

    done = project.cortex("baseline", "set", run[:5])
    named = project.cortex("baseline", "set", "latest", "--name", "main", "--json")
    shown = project.cortex("baseline", "show", "main").out
    kept = project.cortex("baseline", "show", "--json").json

    assert done.out == f"Run {run} is the baseline 'default' of clinic.\n"
    assert "Compare: cortex run clinic --baseline default" in done.err
    assert named.json == {"name": "main", "suite": "clinic", "run": run, "file": "out/baseline.json"}
    assert json.loads((project.root / "out" / "baseline.json").read_text()) == kept
    assert shown.startswith(f"Baseline 'main' of clinic: run {run}, ")
    assert re.search(r"^exact +1\.000  \[0\.510, 1\.000\] +4/4$", shown, re.MULTILINE)
    listed = project.cortex("baseline", "list", "--json").json
    assert [(each["name"], each["run"]) for each in listed] == [("default", run), ("main", run)]
    assert "main" in project.cortex("baseline", "list").out


def test_a_run_that_is_not_complete_cannot_be_a_baseline(clinic):
    project = clinic(cases=40, reply=lambda call: {"text": f"Answer to {call.json['query']}"})
    project.bot.latency_s = 0.2
    running = project.start("run")
    project.bot.wait_for_calls(4)
    running.kill()
    running.communicate(timeout=60)

    done = project.cortex("baseline", "set", "latest")

    assert (done.code, done.out) == (4, "")
    assert "only a completed run can be a baseline" in done.err


def test_rescoring_asks_the_target_nothing(clinic):
    project = clinic(reply=half_right)
    first = project.cortex("run", "--json").json
    assert len(project.bot.ledger) == 4
    config = json.loads((project.root / "cortex.yaml").read_text())
    config["suites"]["clinic"]["scorers"] = [{"polite": {"kind": "regex", "pattern": "^(Answer|No)"}}]
    project.write("cortex.yaml", config)

    done = project.cortex("rescore", first["run"]["id"], "--json", "--results")

    assert done.code == 0
    assert len(project.bot.ledger) == 4
    assert next(iter(done.json["metrics"])) == "polite"
    assert done.json["metrics"]["polite"]["mean"] == 1.0
    assert done.json["run"]["id"] != first["run"]["id"]
    assert done.json["run"]["manifest"]["parent"] == first["run"]["id"]
    assert [each["id"] for each in project.cortex("runs", "list", "--json").json][1] == first["run"]["id"]
    assert (
        project.cortex("runs", "show", first["run"]["id"], "--json").json["metrics"].keys() == first["metrics"].keys()
    )
