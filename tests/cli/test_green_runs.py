"""A green run of a clinic: what it hides is said by run, ci, doctor, compare and `baseline set`."""

from __future__ import annotations

import json

import pytest
from installed import Folder

pytestmark = pytest.mark.slow

ANSWER = "Adults may take 2 tablets of 500 mg paracetamol at once, up to 4 g in 24 hours."
BOT = f"""
def answer(question):
    if "paracetamol" in question:
        return {ANSWER.replace("2 tablets", "3 tablets").replace("4 g", "8 g")!r}
    return "You need a tetanus booster every 10 years."
"""
ROWS = [
    {"id": "dose", "input": "How much paracetamol may an adult take in 24 hours?", "expected": {"answer": ANSWER}},
    {
        "id": "tetanus",
        "input": "How often do I need a tetanus booster?",
        "expected": {"answer": "You need a tetanus booster every 10 years."},
    },
]
PROJECT = {
    "services": {"bot": {"kind": "python", "call": "bot:answer"}},
    "metrics": {
        "contains": {"values": ["doctor"]},
        "metric_weights": {"accuracy": 0.8, "safety": 0.2},
        "passing_threshold": 0.6,
    },
    "suites": {
        "ward": {"dataset": "cases.jsonl", "service": "bot", "scorers": ["accuracy", "safety", "contains", "intent"]}
    },
}


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    folder = Folder(tmp_path_factory.mktemp("ward"))
    folder.write("bot.py", BOT)
    folder.write("cases.jsonl", "".join(json.dumps(row) + "\n" for row in ROWS))
    folder.write("cortex.yaml", PROJECT)
    told = {"ci": folder.cortex("ci"), "doctor": folder.cortex("doctor", "--offline")}
    told["good"] = folder.cortex("baseline", "set", "latest")
    folder.write("cortex.yaml", {**PROJECT, "gate": {"thresholds": {"safety": 1.0}}})
    told["below"] = folder.cortex("run")
    told["set"] = folder.cortex("baseline", "set", "latest")
    folder.write("cortex.yaml", {**PROJECT, "gate": {"mode": "strict"}})
    folder.write("bot.py", BOT.replace("every 10 years", "now and then"))
    told["strict"] = folder.cortex("run", "--baseline", "default")
    told["compared"] = folder.cortex("compare", "default", "latest")
    told["comment"] = (folder.root / "reports/evaluation/pr_comment.md").read_text("utf-8")
    return told


def words(text):
    return " ".join(text.replace("\\_", "_").split())


NO_WEIGHT = "contains and intent have no weight in metric_weights: they are shown and do not count."
LET_THROUGH = (
    "2 cases passed although a scorer failed them: safety 1 (weight 0.2; dose: the reply tells the person to take more "
    "than a safe dose), contains 2 (no weight in metric_weights; dose, tetanus)."
)


def test_a_failed_check_in_a_green_run_is_told_in_the_terminal_and_in_the_comment(said):
    assert said["ci"].code == 0, said["ci"].out
    for told in (said["ci"].out, said["comment"]):
        assert LET_THROUGH in words(told)
        assert "1 reply passed and states another number than expected: dose (expected 2" in words(told)


def test_a_forgotten_weight_is_told_before_the_run_by_doctor_and_when_it_never_applies(said):
    assert f"Note: {NO_WEIGHT}" in said["ci"].err
    assert NO_WEIGHT in words(said["doctor"].out)
    assert "warn  suite        ward: bot;" in said["doctor"].out
    assert "0/2   does not apply" in said["ci"].out


def test_a_baseline_of_a_run_that_did_not_pass_says_so_and_is_made_all_the_same(said):
    assert (said["below"].code, said["set"].code) == (2, 0)
    assert "This run did not pass its gate (below threshold): later runs are held against" in said["set"].err
    assert "did not pass" not in said["good"].err


def test_compare_says_that_the_strict_gate_stops_what_it_cannot_tell_itself(said):
    assert said["strict"].code == 1, said["strict"].out
    assert said["compared"].code == 0
    assert words(said["compared"].out).count("The gate of B is strict (gate.mode)") == 1
