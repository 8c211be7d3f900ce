"""Arguments that are not right: exit code 4 (2 means something else here), one line, no traceback."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.slow  # each starts the command; together they take long


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("run", "--nope"), "No such option '--nope'"),
        (("run", "--datset", "x.json"), "--dataset"),
        (("datasets", "show"), "Missing argument 'NAME|FILE'"),
        (("run", "--dataset"), "requires an argument"),
        (("rnu",), "There is no command 'rnu'. Did you mean 'run'?"),
        (("report", "latest", "-f", "pdf"), "'pdf' is not one of"),
        (("report", "latest", "-f", "md"), "Did you mean 'markdown'?"),
        (("report", "latest", "-f", "markdwn"), "Did you mean 'markdown'?"),
        (("compare", "latest~1", "latest", "-f", "md"), "Did you mean 'markdown'?"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, tuple) else "",
)
def test_CL01_a_wrong_call_shows_how_it_is_called(folder, arguments, said):
    done = folder.cortex(*arguments)

    assert (done.code, done.out) == (4, "")
    assert done.err.startswith("Usage: cortex ")
    assert said in done.err


@pytest.mark.parametrize("group", ["config", "baseline", "quarantine", "datasets", "judges", "runs", None])
def test_CL01_a_group_without_a_command_shows_its_help_once(folder, group):
    names = [group] if group else []

    done = folder.cortex(*names)

    assert (done.code, done.out) == (4, "")
    assert done.err == folder.cortex(*names, "--help").out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--dataset", "gone.jsonl"), "There is no dataset file gone.jsonl"),
        (("--dataset", "."), "cannot be read"),
        (("--concurrency", "0"), "0 is not in the range 1<=x<=10000"),
        (("--concurrency", "-1"), "-1 is not in the range"),
        (("--concurrency", "abc"), "'abc' is not a valid integer"),
        (("--limit", "0"), "0 is not in the range"),
        (("--fail-under", "70"), "from 0 to 1"),
        (("--fail-under", "nan"), "from 0 to 1"),
        (("--tier", "6"), "6 is not in the range"),
        (("--category", "bilingg"), "Did you mean 'billing'?"),
        (("--case", "c99"), "c99"),
        (("--service", "chatbott"), "Did you mean 'chatbot'?"),
        (("clinick",), "Did you mean 'clinic'?"),
        (("--baseline", "main"), "There is no baseline 'main' for clinic"),
        (("--failed-of", "latest"), "There are no runs yet"),
    ],
    ids=lambda value: "=".join(value) if isinstance(value, tuple) else "",
)
def test_CL02_a_wrong_value_is_told_in_one_line(clinic, arguments, said):
    project = clinic()

    done = project.cortex("run", *arguments)

    assert (done.code, done.out) == (4, "")
    assert said in done.err
    assert len([line for line in done.err.splitlines() if not line.startswith("Usage: ")]) == 1
    assert project.bot.ledger == []


def test_CL03_an_unknown_run_lists_those_that_can_be_resumed(clinic):
    project = clinic(cases=1)
    assert "No run is waiting for that." in project.cortex("run", "--resume", "beef").err
    assert project.cortex("run").code == 0
    project.bot.reply = 500
    for _ in range(6):
        assert project.cortex("run").code == 3
    failed = [each["id"] for each in project.cortex("runs", "list", "--json").json if each["verdict"] == "error"]

    done = project.cortex("run", "--resume", "beef")

    assert (done.code, done.out) == (4, "")
    assert "There is no run 'beef'." in done.err
    assert f"Runs that can be resumed: {', '.join(failed[:5])}." in done.err


def test_CL04_what_has_changed_since_is_shown_and_nothing_is_asked(clinic):
    project = clinic(reply=500)
    assert project.cortex("run").code == 3
    config = json.loads((project.root / "cortex.yaml").read_text())
    asked = len(project.bot.ledger)

    def refused(**blocks):
        project.write("cortex.yaml", {**config, **blocks})
        done = project.cortex("run", "--resume", "latest")
        assert (done.code, done.out) == (4, "")
        assert len(project.bot.ledger) == asked
        assert "or start a new run" in done.err
        return done.err

    assert "passing_threshold was 0.7 and is 0.9" in refused(metrics={"passing_threshold": 0.9})
    other = {"clinic": {"dataset": "cases.jsonl", "scorers": [{"exact": {"ignore_punctuation": True}}]}}
    assert "scorers.exact has other settings" in refused(suites=other)
    version = {"chatbot": {**config["services"]["chatbot"], "version": "2.10"}}
    assert "target.version was None and is '2.10'" in refused(services=version)
    project.write("cases.jsonl", '{"id": "new", "input": "New?"}\n')
    assert "the dataset cases.jsonl has changed" in refused()


@pytest.mark.parametrize("extra", [("--limit", "1"), ("clinic",), ("--dry-run",), ("--case", "c1"), ("--quick",)])
def test_CL04_a_resume_takes_no_other_selection(clinic, extra):
    done = clinic().cortex("run", "--resume", "latest", *extra)

    assert (done.code, done.out) == (4, "")
    assert "--resume goes on with what the run was asked for; leave " in done.err


def test_CL05_a_folder_that_cannot_be_written_is_told_before_any_call(clinic):
    project = clinic()
    project.write("taken", "a file")

    done = project.cortex("run", "--output-dir", "taken/reports")

    assert (done.code, done.out) == (3, "")
    assert "taken/reports cannot be written to: Not a directory" in done.err
    assert "--output-dir" in done.err
    assert project.bot.ledger == []


@pytest.mark.parametrize("command", [("report", "latest"), ("baseline", "set", "latest")])
def test_CL05_reports_and_baselines_name_the_path_that_cannot_be_written(clinic, command):
    project = clinic(cases=1)
    project.cortex("run")
    project.write("taken", "a file")

    done = project.cortex(*command, "--output-dir", "taken/reports")

    assert (done.code, done.out) == (3, "")
    assert "taken/reports" in done.err
    assert project.cortex("baseline", "list", "--json").json == []
