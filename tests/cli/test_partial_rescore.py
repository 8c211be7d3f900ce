"""`cortex rescore` of a run that was not finished: it ends, says what is missing and where to get it."""

from __future__ import annotations

import json

import pytest


@pytest.fixture
def project(make_project, scripted_service):
    bot = scripted_service(lambda call: {"text": call.json["query"]})
    rows = [{"id": str(n), "input": f"Question {n}", "expected": {"answer": f"Question {n}"}} for n in range(5)]
    made = make_project(rows, {"kind": "chatbot", "api_url": bot.url}, execution={"budget_calls": 3})
    assert made.cortex("run").returncode == 3
    return made


def facts(project) -> list[dict[str, object]]:
    return json.loads(project.cortex("runs", "list", "--json").stdout)


def test_the_rescore_of_a_partial_run_is_finished_and_says_how_to_get_the_rest(project):
    done = project.cortex("rescore", "latest")

    scored, parent = facts(project)
    assert (done.returncode, scored["status"], scored["verdict"]) == (3, "completed", "error")
    said = " ".join(done.stdout.split())
    assert f"Run {parent['id']}, whose replies these are, has none to 2 of 5 cases: nothing of them was scored." in said
    assert f"Ask again what run {parent['id']} lacks: cortex run --resume {parent['id']}" in said
    assert f"Then: cortex rescore {parent['id']}" in said
    assert f"--resume {scored['id']}" not in said


def test_resuming_it_asks_nobody_and_names_the_run_that_can_be_resumed(project):
    project.cortex("rescore", "latest")
    scored, parent = facts(project)

    done = project.cortex("run", "--resume", scored["id"])

    assert done.returncode == 3
    assert done.stderr == (
        f"Run {scored['id']} only scores replies of run {parent['id']}, and asks nobody. Ask for those that are "
        f"missing: cortex run --resume {parent['id']}, and then: cortex rescore {parent['id']}\n"
    )
    assert facts(project) == [scored, parent]


def test_it_is_no_baseline_and_a_comparison_says_that_it_is_not_whole(project):
    project.cortex("rescore", "latest")

    named = project.cortex("baseline", "set", "latest")
    compared = project.cortex("compare", "latest~1", "latest")

    assert named.returncode == 4
    assert "lacks 2 replies" in named.stderr
    said = " ".join(compared.stdout.split())
    assert "B scores the replies of a run that is not complete: what has none is not compared." in said
