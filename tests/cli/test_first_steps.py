"""What somebody tries on the first day works, or is told in one line what to do instead."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from installed import Clinic, clinic_rows, right_answers

from cortex_eval.testing import ScriptedService


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Clinic]:
    with ScriptedService.in_thread(right_answers) as bot:
        made = Clinic(tmp_path, bot)
        made.write("cases.json", clinic_rows(12))
        describe(made)
        yield made


def describe(project: Clinic, *, service: dict[str, Any] | None = None, **blocks: Any) -> None:
    service = {"api_url": project.bot.url} | (service or {})
    suites = {"clinic": {"dataset": "cases.json", "scorers": ["exact"]}}
    execution = {"retry_count": 0, "pause_limit_seconds": 0}
    project.write("cortex.yaml", {"services": {"chatbot": service}, "suites": suites, "execution": execution} | blocks)


def test_resume_alone_goes_on_with_the_latest_run(project):
    project.bot.reply = 500
    assert project.cortex("run").code == 3
    project.bot.reply = right_answers
    project.bot.ledger.clear()

    done = project.cortex("run", "--resume", "--json")  # what follows is an option, not a run

    assert done.code == 0, done.err
    assert len(project.bot.ledger) == 12
    assert len(project.cortex("runs", "list", "--json").json) == 1
    assert project.cortex("run", "--resume").err.startswith(f"Run {done.json['run']['id']} is finished")


def test_resume_alone_takes_no_selection_and_no_suite(project):
    assert "leave --quick out" in project.cortex("run", "--resume", "--quick").err
    assert "leave SUITE out" in project.cortex("run", "clinic", "--resume").err
    told = "Error: --resume takes a run, and 'clinic' is a suite. The latest run: cortex run --resume"
    assert project.cortex("run", "--resume", "clinic").err.strip() == told


def test_a_path_that_leads_nowhere_in_every_reply_is_noted_at_the_end(project):
    mapping = {"text": "$.text", "contexts": "$.sorces"}
    describe(project, service={"kind": "http", "body": {"query": "{input}"}, "reply": mapping})
    project.bot.reply = lambda call: {**right_answers(call), "sources": ["a.pdf"]}

    done = project.cortex("run")

    assert done.code == 0, done.err
    note = "reply.contexts: no reply had anything at $.sorces: $ has ['sources', 'text']. Did you mean $.sources?"
    assert f"Note: chatbot: {note}\n" in done.err


def test_a_scorer_named_for_a_rescore_is_told_where_to_name_it(project):
    run = project.cortex("run", "--json").json["run"]["id"]

    asked = project.cortex("rescore", "latest", "--scorer", "contains")
    misspelt = project.cortex("rescore", "latest", "--scorer", "safty")

    assert (asked.code, misspelt.code) == (4, 4)
    assert f"Add contains to scorers of suites.clinic (cortex.yaml), and then: cortex rescore {run}" in asked.err
    assert "there is no scorer 'safty'. Did you mean 'safety'?" in misspelt.err


@pytest.mark.parametrize("is_up", [True, False])
def test_doctor_looks_for_the_servers_of_judges_and_says_that_they_were_not_asked(project, is_up):
    url = project.bot.url if is_up else "http://127.0.0.1:1/v1"
    describe(
        project,
        models={"mine": {"model": "llama3.1", "base_url": url}, "unused": {"model": "m", "base_url": "http://[::1]:1"}},
        metrics={"exact": {"kind": "judge", "model": "mine", "prompt": "Polite? {answer}"}},
    )

    done = project.cortex("doctor")

    told = " ".join(done.out.split())
    assert "unused" not in told
    if is_up:
        assert "but it was not asked. Have it judge: cortex doctor --judges --model mine" in told
    else:
        assert "FAIL judge mine: nothing listens at 127.0.0.1:1. Is it running? Check base_url of models.mine." in told
    assert done.code == (0 if is_up else 4)
    assert "was not asked" in project.cortex("doctor", "--offline").out
    assert not project.bot.ledger
