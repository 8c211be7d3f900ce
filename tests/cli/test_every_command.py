"""Every command does its job on one small project; what else it can is in the file of each, for `make test`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from installed import Clinic, clinic_rows

from cortex_eval.cli.main import COMMANDS
from cortex_eval.testing import Call, ScriptedService

JOBS: dict[str, tuple[str, int, str]] = {
    "analyze": ("analyze latest", 0, "1 of 4 cases did not pass."),
    "baseline": ("baseline set latest --name main", 0, "is the baseline 'main' of clinic."),
    "ci": ("ci", 0, "PASSED"),
    "compare": ("compare latest~1 latest", 0, "0.75 0.75 0.00"),
    "config": ("config show", 0, "cases.json"),
    "datasets": ("datasets show cases.json", 0, "4 cases"),
    "demo": ("demo helth", 4, "'helth' is not one of"),  # what it does takes long
    "doctor": ("doctor", 0, "ok dataset cases.json"),
    "init": ("init new", 0, "Now run it: cd new && cortex run"),
    "judges": ("judges list", 0, "faithfulness"),
    "quarantine": ("quarantine list", 0, "No case is in quarantine."),
    "report": ("report latest --format json", 0, "reports/evaluation/"),
    "rescore": ("rescore latest", 0, "exact 0.75"),
    "run": ("run", 0, "exact 0.75 [0.30, 0.95] 4/4"),
    "runs": ("runs list", 0, "0.750 passed"),
    "schema": ("schema", 0, '"title":"Cortex project file"'),
    "trend": ("trend", 0, "overall_score 0.750"),
}
"""For each command: a call, its exit code, and something that it says."""


def three_of_four(call: Call) -> dict[str, str]:
    return {"text": "No." if "0" in call.json["query"] else f"Answer to {call.json['query']}"}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clinic]:
    """A project with two runs, for all of these tests."""
    root: Path = tmp_path_factory.mktemp("project")
    with ScriptedService.in_thread(three_of_four) as bot:
        made = Clinic(root, bot)
        made.write("cases.json", clinic_rows(4))
        made.write(
            "cortex.yaml",
            {
                "services": {"chatbot": {"api_url": bot.url}},
                "suites": {"clinic": {"dataset": "cases.json", "scorers": ["exact"]}},
            },
        )
        assert [made.cortex("run").code for _ in range(2)] == [0, 0]
        yield made


def test_there_is_a_job_for_every_command():
    assert set(JOBS) == set(COMMANDS)


@pytest.mark.slow
@pytest.mark.parametrize("name", JOBS)
def test_it_does_its_job(project, name):
    call, code, says = JOBS[name]

    done = project.cortex(*call.split())

    assert done.code == code, done.err
    assert says in " ".join((done.out + done.err).split())  # columns are as wide as what is in them
