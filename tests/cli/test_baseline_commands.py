"""`cortex baseline` and gates that are held against baselines: set, pinned, exported, imported, moved by a release."""

from __future__ import annotations

import json
import re

import pytest

from cortex_eval.testing import Answer
from seed_files import SEED_BASELINE

ONLY_RATE = {
    "thresholds": {"pass_rate": 0.1},
    "regression": {"exact": {}, "overall_score": {}, "latency_ms": {}, "pass_rate": {"drop": 0.3}},
}
"""A gate that twenty cases can decide."""


def some_wrong(call):
    """Right but for every second question."""
    number = int(re.search(r"\d+", call.json["query"])[0])
    return {"text": f"Answer to {call.json['query']}" if number % 2 else "No idea."}


def names(project):
    return [(each["name"], each["run"], each["pinned"]) for each in project.cortex("baseline", "list", "--json").json]


def run(project, *arguments, **environment):
    return project.cortex("run", *arguments, "--json", **environment)


@pytest.mark.slow
def test_a_worse_run_is_a_regression_and_the_same_one_passes(clinic):
    project = clinic(cases=20, gate=ONLY_RATE)
    run(project)
    assert project.cortex("baseline", "set", "latest", "--name", "main").code == 0

    same = run(project, "--baseline", "main")
    project.bot.reply = some_wrong
    worse = project.cortex("run", "--baseline", "main")

    assert (same.code, same.json["gate"]["verdict"]) == (0, "passed")
    assert 0 < same.json["gate"]["smallest_detectable_drop"] <= 0.3
    assert worse.code == 1
    assert "REGRESSION  pass_rate fell 1.00 → 0.50 (adjusted p < 0.001, allowed 0.30)." in worse.out
    (found,) = project.cortex("runs", "show", "latest", "--json").json["regressions"]
    assert found["low"] < found["diff"] < found["high"] < 0
    assert found["p_value"] == pytest.approx(0.5**10)


def test_advice_names_the_baseline_that_the_gate_compares_with(clinic):
    project = clinic(cases=1, gate={"baseline": "main"})
    said = " ".join(project.cortex("run").out.split())
    made = project.cortex("runs", "list", "--json").json[0]["id"]

    other = project.cortex("baseline", "set", made)
    named = project.cortex("baseline", "set", made, "--name", "main")

    assert said.endswith(f"Compare later runs with it: cortex baseline set {made} --name main")
    assert (
        "Without --baseline, runs of clinic are compared with 'main' (gate.baseline). "
        f"Make it: cortex baseline set {made} --name main\n"
    ) in other.err
    assert "gate.baseline" not in named.err


def test_a_missing_baseline_names_a_run_of_its_own_suite(clinic):
    suite = {"dataset": "cases.jsonl", "scorers": ["exact"]}
    project = clinic(cases=1, suites={"clinic": suite, "other": suite})
    own = run(project, "clinic").json["run"]["id"]

    none = project.cortex("run", "other", "--baseline", "default")
    run(project, "other")
    some = project.cortex("run", "clinic", "--baseline", "default")

    assert "Make it, after a run without --baseline: cortex baseline set RUN --name default." in none.err
    assert f"There are none yet. Make it: cortex baseline set {own} --name default." in some.err


def test_a_baseline_that_replaces_another_says_which(clinic):
    project = clinic(cases=1)
    first = run(project).json["run"]["id"]
    set_first = project.cortex("baseline", "set", "latest")
    again = project.cortex("baseline", "set", "latest")
    second = run(project).json["run"]["id"]
    replacing = project.cortex("baseline", "set", "latest")
    project.write("base.json", SEED_BASELINE)
    project.cortex("baseline", "import", "base.json", "--suite", "clinic")

    assert set_first.out == again.out == f"Run {first} is the baseline 'default' of clinic.\n"
    assert replacing.out == f"Run {second} is the baseline 'default' of clinic.\nIt replaces run {first}.\n"
    assert project.cortex("baseline", "set", "latest").out.endswith("\nIt replaces figures made elsewhere.\n")


def test_a_run_that_scored_nothing_cannot_be_a_baseline(clinic):
    project = clinic(cases=1, reply=lambda call: Answer(500))  # whatever is asked
    failed = run(project).json["run"]["id"]

    done = project.cortex("baseline", "set", "latest")

    assert (done.code, done.out) == (4, "")
    assert done.err == f"Error: Run {failed} scored nothing: it cannot be a baseline.\n"
    assert names(project) == []


@pytest.mark.slow
def test_too_few_cases_are_inconclusive_with_exit_code_0_unless_that_is_to_fail(clinic):
    project = clinic(gate={"thresholds": {"pass_rate": 0.1}})
    run(project)
    project.cortex("baseline", "set", "latest")

    done = project.cortex("run", "--baseline", "default")
    project = clinic(gate={"thresholds": {"pass_rate": 0.1}, "inconclusive": "fail"})
    failing = project.cortex("run", "--baseline", "default")

    said = " ".join(done.out.split())
    assert done.code == 0
    assert (
        "INCONCLUSIVE No metric is known to be worse than default; in 4 cases no drop of pass_rate would be seen"
        in said
    )
    assert re.search(r"to see the allowed 0\.02 takes [\d,]+ cases", said)
    assert failing.code == 2
    assert "INCONCLUSIVE" in failing.out


@pytest.mark.slow
def test_an_anchor_is_held_against_too_and_moves_only_when_that_is_asked_for(clinic):
    project = clinic(cases=20, gate=ONLY_RATE)
    first = run(project).json["run"]["id"]
    pinned = project.cortex("baseline", "set", first, "--anchor")
    project.bot.reply = some_wrong
    second = run(project).json["run"]["id"]
    project.cortex("baseline", "set", second, "--name", "main")

    drifted = run(project, "--baseline", "main")
    refused = project.cortex("baseline", "set", second, "--name", "anchor")

    assert pinned.out == f"Run {first} is the anchor 'anchor' of clinic.\n"
    assert names(project) == [("anchor", first, True), ("main", second, False)]
    assert drifted.code == 1
    assert drifted.json["anchor"]["run_id"] == first
    assert [(each["name"], each["against"]) for each in drifted.json["regressions"]] == [("pass_rate", "anchor")]
    assert refused.code == 4
    assert "'anchor' is the anchor of clinic and stays where it is" in refused.err
    assert project.cortex("baseline", "set", second, "--anchor").code == 0
    assert "It is an anchor" in project.cortex("baseline", "show", "anchor").out


@pytest.mark.slow
def test_a_baseline_made_elsewhere_is_imported_and_compared_by_the_strict_rule(clinic):
    project = clinic(gate={"thresholds": {"pass_rate": 0.1}})
    project.write("baseline.json", {**SEED_BASELINE, "metrics": {"exact": 0.99}})

    done = project.cortex("baseline", "import", "baseline.json", "--name", "theirs")
    shown = project.cortex("baseline", "show", "theirs").out
    good = run(project, "--baseline", "theirs")
    project.bot.reply = some_wrong
    bad = run(project, "--baseline", "theirs")

    assert done.out == "baseline.json is the baseline 'theirs' of clinic: 6 figures.\n"
    assert re.search(r"^latency_ms +450\.500", shown, re.MULTILINE)
    assert (good.code, bad.code) == (0, 1)
    modes = [check["reason"] for check in good.json["gate"]["checks"] if check["name"] == "mode"]
    assert modes[0].startswith("the strict rule decided, for the baseline theirs has no cases in this store")
    assert bad.json["regressions"][0]["p_value"] is None


@pytest.mark.slow
def test_a_baseline_is_exported_in_the_seeds_shape_and_imported_into_another_store(clinic):
    project = clinic(cases=4)
    first = run(project).json
    project.cortex("baseline", "set", "latest", "--anchor")

    printed = project.cortex("baseline", "export", "anchor").json
    written = project.cortex("baseline", "export", "anchor", "-o", "kept/base.json")
    told = project.cortex("baseline", "export", "anchor", "-o", "kept/base.json", "--json")
    clinic(cases=4, database="other.db")
    project.cortex("baseline", "import", "kept/base.json", "--name", "main")

    assert told.json == {"name": "anchor", "suite": "clinic", "file": "kept/base.json"}
    assert project.cortex("baseline", "export", "main", "-o", "cases.jsonl/x").err.endswith("folder with --output.\n")
    assert project.cortex("baseline", "show", "main", "--suite", "other").err.startswith(
        "Error: There is no baseline 'main' of other. "
    )

    assert json.loads((project.root / "kept" / "base.json").read_text()) == printed
    assert (written.code, "pinned" in printed) == (0, False)
    assert {"timestamp", "overall_avg_latency_ms", "category_metrics", "metrics"} <= printed.keys()
    assert project.cortex("baseline", "show", "main", "--json").json["run_id"] == first["run"]["id"]
    assert run(project, "--baseline", "main").json["baseline"]["cases"] is None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "base.json:1: this is not JSON"),
        ("[]", "base.json: a baseline is a JSON object"),
        (None, "base.json cannot be read"),
    ],
)
def test_a_broken_file_is_refused(clinic, content, message):
    project = clinic()
    if content is not None:
        project.write("base.json", content)

    done = project.cortex("baseline", "import", "base.json")

    assert (done.code, done.out) == (4, "")
    assert message in done.err
    assert not (project.root / ".cortex").exists()


def test_the_option_makes_a_run_a_release(clinic):
    project = clinic(cases=20, gate={**ONLY_RATE, "baseline": "main", "auto": "on-release"})
    done = project.cortex("run", "--release")
    assert done.code == 0
    assert "This run is the baseline main now: --release." in done.out
    assert [(name, pinned) for name, _, pinned in names(project)] == [("main", False)]


def test_a_release_without_a_baseline_to_move_is_refused_before_anything_is_asked(clinic):
    project = clinic()

    for command in ("run", "ci"):
        done = project.cortex(command, "--release")
        assert (done.code, done.out) == (4, "")
        assert "--release moves no baseline of clinic. The project file says which baseline a release moves" in done.err
        assert done.err.strip().endswith("name the run afterwards: cortex baseline set latest")
    assert project.bot.ledger == []


def test_of_several_suites_those_without_a_baseline_to_move_are_named(clinic):
    suite = {"dataset": "cases.jsonl", "scorers": ["exact"]}
    moving = {**suite, "gate": {**ONLY_RATE, "baseline": "main", "auto": "on-release"}}
    project = clinic(suites={"moving": moving, "plain": suite})

    done = project.cortex("run", "--all-suites", "--release", "--dry-run")

    assert done.code == 0
    assert "--release moves no baseline of plain. The project file says" in done.err


def test_cases_in_quarantine_decide_nothing_and_are_always_named(clinic):
    listed = [
        {"case": "c0", "reason": "asks for today's date", "until": "2999-12-31"},
        {"case": "c2", "reason": "flaky"},
    ]
    suites = {"clinic": {"dataset": "cases.jsonl", "scorers": ["exact"], "quarantine": listed}}
    project = clinic(reply=some_wrong, suites=suites)

    done = project.cortex("run")
    report = project.cortex("runs", "show", "latest", "--json").json

    assert done.code == 0
    said = " ".join(done.out.split())
    assert (
        "2 cases in quarantine are in none of these figures: c0 (failed): asks for today's date, until 2999-12-31"
        in said
    )
    assert [each["case_id"] for each in report["quarantine"]] == ["c0", "c2"]
    assert report["totals"]["cases"] == 2
