"""`cortex ci`: exit codes, every artifact, and what GitHub is told."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from cortex_eval.testing import Call


def github(folder: Path) -> dict[str, str]:
    """The environment of a step on GitHub."""
    files = {"GITHUB_STEP_SUMMARY": "summary.md", "GITHUB_OUTPUT": "output.txt"}
    return {"GITHUB_ACTIONS": "true", **{name: str(folder / file) for name, file in files.items()}}


def some_wrong(call: Call) -> dict[str, str]:
    """Wrong in every second question."""
    question = call.json["query"]
    return {"text": f"Answer to {question}" if int(re.findall(r"\d+", question)[0]) % 2 else "I do not know"}


PLAIN = {"include_charts": False}
"""Charts take a second, and are not what is tested here."""


def names(folder: Path) -> set[str]:
    return {re.sub(r"\d{8}_\d{6}", "TIME", path.name) for path in folder.iterdir()}


def test_a_run_that_passes_writes_all_artifacts(clinic):
    project = clinic()
    done = project.cortex("ci", "clinic", "--output-dir", "out", **github(project.root))
    assert done.code == 0, done.err
    assert {
        *("evaluation_TIME.json", "evaluation_TIME.csv", "evaluation_TIME.md", "report_TIME.html"),
        *("junit_TIME.xml", "results_chatbot.jsonl", "pr_comment.md"),
    } <= names(project.root / "out")
    (junit,) = (project.root / "out").glob("junit_*.xml")
    assert etree.parse(junit).getroot().get("tests") == "4"
    outputs = dict(line.split("=", 1) for line in (project.root / "output.txt").read_text("utf-8").splitlines())
    assert outputs["verdict"] == "passed"
    assert outputs["exit-code"] == "0"
    assert outputs["score"] == "1.0000"
    assert Path(outputs["junit"]) == junit.relative_to(project.root)
    assert (project.root / "summary.md").read_text("utf-8").startswith("# Passed: `clinic` on `chatbot`")
    assert (project.root / "out" / "pr_comment.md").read_text("utf-8").startswith("<!-- cortex-eval: clinic -->")


def test_nothing_that_is_printed_is_taken_for_a_command(clinic):
    project = clinic(dashboard=PLAIN, cases=2, reply=some_wrong)
    done = project.cortex("ci", "clinic", **github(project.root))
    lines = done.out.splitlines()
    token = re.fullmatch(r"::stop-commands::([0-9a-f]{32})", lines[0])
    assert token is not None
    resumed = lines.index(f"::{token[1]}::")
    assert not any(line.lstrip().startswith("::") for line in lines[1:resumed])
    assert lines[resumed + 1].startswith("::error title=Cortex%3A Below threshold")
    assert all(line.startswith("::") for line in lines[resumed + 1 :])


def test_a_comment_that_cannot_be_written_is_told_before_any_call_is_paid_for(clinic):
    project = clinic(dashboard=PLAIN)
    project.write("taken", "a file")

    done = project.cortex("ci", "clinic", "--comment", "taken/new/comment.md")

    assert done.code == 3
    assert done.err == (
        "Error: taken/new cannot be written to: Not a directory. Choose another folder with --comment.\n"
    )
    assert project.is_asked() == []
    assert project.cortex("ci", "clinic", "--comment", "new/comment.md").code == 0
    assert (project.root / "new" / "comment.md").is_file()


def test_outside_github_no_commands_are_printed(clinic):
    done = clinic(dashboard=PLAIN, reply={"text": "No."}).cortex("ci", "clinic", GITHUB_ACTIONS="")
    assert done.code == 2
    assert "::" not in done.out + done.err


def test_with_json_stdout_is_json_and_nothing_else(clinic):
    project = clinic(dashboard=PLAIN)
    done = project.cortex("ci", "--json", **github(project.root))
    assert done.json["gate"]["verdict"] == "passed"
    assert "::notice" in done.err


def test_the_whole_suite_is_run_unless_quick_is_given(clinic):
    project = clinic(dashboard=PLAIN, cases=12)
    assert project.cortex("ci", "--json").json["totals"]["cases"] == 12
    assert project.cortex("ci", "--json", "--quick").json["totals"]["cases"] == 4


def test_below_a_minimum_is_2_and_an_error_is_3(clinic):
    assert clinic(dashboard=PLAIN, reply={"text": "No."}).cortex("ci").code == 2
    assert clinic(dashboard=PLAIN, reply={"nothing": 1}).cortex("ci").code == 3


def test_fail_under_blocks_a_pull_request_under_90_percent(clinic):
    project = clinic(
        dashboard=PLAIN,
        cases=10,
        reply=lambda call: {"text": "?" if "0" in call.json["query"] else f"Answer to {call.json['query']}"},
    )
    assert project.cortex("ci", "--fail-under", "0.9").code == 0
    assert project.cortex("ci", "--fail-under", "0.95").code == 2


def test_an_invalid_project_file_is_4_and_stands_beside_its_line(clinic):
    project = clinic(dashboard=PLAIN, suites={"clinic": {"dataset": "cases.jsonl", "scorers": ["exakt"]}})
    done = project.cortex("ci", **github(project.root))
    assert done.code == 4
    assert re.search(
        r"^::error title=Cortex%3A invalid input,file=cortex\.yaml,line=\d+::.*exakt", done.out, re.MULTILINE
    )


def test_a_first_run_starts_its_baseline_and_a_later_one_is_held_against_it(clinic):
    project = clinic(dashboard=PLAIN, cases=40, gate={"mode": "strict", "thresholds": {"pass_rate": 0.1}})
    options = ("ci", "clinic", "--baseline", "main", "--output-dir", "out")
    first = project.cortex(*options, "--set-baseline", "main")
    assert first.code == 0, first.err
    assert "There is no baseline 'main' for clinic yet" in first.err
    project.bot.reply = some_wrong
    second = project.cortex(*options, "--comment", "here.md", **github(project.root))
    assert second.code == 1
    comment = (project.root / "here.md").read_text("utf-8")
    assert "### Cortex: Regression, `clinic`" in comment
    # the strict rule asks for no p
    assert re.search(r"\| ✕ \| `exact` \| 1\.00 \| 0\.50 \[.*\] \| 40/40 \| −0\.50 \|", comment)
    assert "- newly broken: 20 (" in comment
    assert "- newly fixed: 0\n" in comment
    assert "Base: `main`, run `" in comment


def test_a_run_that_does_not_pass_leaves_the_baseline_as_it_was(clinic):
    project = clinic(dashboard=PLAIN)
    assert project.cortex("ci", "--set-baseline", "main").code == 0
    before = project.cortex("baseline", "show", "main", "--json").json
    project.bot.reply = {"text": "No."}
    assert project.cortex("ci", "--set-baseline", "main").code == 2
    assert project.cortex("baseline", "show", "main", "--json").json == before


def test_an_anchor_is_not_moved_and_nothing_is_asked_for_it(clinic):
    project = clinic(dashboard=PLAIN)
    assert project.cortex("run").code == 0
    assert project.cortex("baseline", "set", "latest", "--anchor").code == 0
    calls = len(project.is_asked())
    done = project.cortex("ci", "--set-baseline", "anchor")
    assert done.code == 4
    assert "is an anchor" in done.err
    assert len(project.is_asked()) == calls


def test_a_baseline_that_is_not_there_is_invalid_input(clinic):
    done = clinic(dashboard=PLAIN).cortex("ci", "--baseline", "main")
    assert done.code == 4
    assert "There is no baseline 'main'" in done.err


def two_targets(clinic: Any) -> Any:
    project = clinic(dashboard=PLAIN)
    document = json.loads((project.root / "cortex.yaml").read_text("utf-8"))
    document["services"]["second"] = {"kind": "chatbot", "api_url": project.bot.url, "api_key": "clinic-key-2"}
    document["suites"]["clinic"]["services"] = ["chatbot", "second"]
    project.write("cortex.yaml", document)
    return project


def test_several_targets_have_a_summary_and_no_common_baseline(clinic):
    project = two_targets(clinic)
    done = project.cortex("ci", "--output-dir", "out", **github(project.root))
    assert done.code == 0, done.err
    assert "evaluation_summary_report.md" in names(project.root / "out")
    assert (project.root / "summary.md").read_text("utf-8").startswith("# Evaluation summary: `clinic`")
    refused = project.cortex("ci", "--set-baseline", "main")
    assert refused.code == 4
    assert "--service: chatbot, second" in refused.err


@pytest.mark.slow
def test_run_writes_the_summary_of_several_targets_and_report_makes_it_anew(clinic):
    project = two_targets(clinic)
    assert project.cortex("run", "--output-dir", "out").code == 0
    assert "evaluation_summary_report.md" in names(project.root / "out")
    ids = [run["id"] for run in project.cortex("runs", "list", "--json").json]
    done = project.cortex("report", *ids, "-f", "summary", "-f", "junit", "--output-dir", "again", "--json")
    assert done.json["runs"] == ids
    assert sorted(path.suffix for path in (project.root / "again").iterdir()) == [".md", ".xml", ".xml"]
    alone = project.cortex("report", ids[0], "-f", "summary")
    assert alone.code == 4
    assert "name at least two" in alone.err


@pytest.mark.slow
def test_report_knows_the_formats(clinic):
    project = clinic(dashboard=PLAIN)
    assert project.cortex("run").code == 0
    for form, count in (("junit", 1), ("parquet", 1), ("all", 7)):
        done = project.cortex("report", "latest", "-f", form, "--output-dir", f"out-{form}", "--json")
        assert done.code == 0, done.err
        assert len([path for path in done.json["files"] if (project.root / path).stat().st_size]) >= count


def test_a_summary_file_that_cannot_be_written_does_not_change_the_verdict(clinic):
    project = clinic(dashboard=PLAIN)
    done = project.cortex("ci", GITHUB_STEP_SUMMARY=str(project.root / "no" / "such" / "folder.md"))
    assert done.code == 0
    assert "GITHUB_STEP_SUMMARY" in done.err
