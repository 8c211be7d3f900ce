"""`cortex compare`: what differs between runs by more than chance, in words, JSON and Markdown, and the exit code."""

from __future__ import annotations

import json
import re

import pytest
from installed import Folder, clinic_rows, right_answers

from cortex_eval.demo import copy_project
from cortex_eval.demo.bioagent import BioAgent
from cortex_eval.testing import ScriptedService

pytestmark = pytest.mark.slow
CASES = 24
PLANTED = {
    "education": ("006", "010"),
    "error_handling": ("002", "010", "011", "015", "017", "018", "021", "022", "023"),
}
"""The cases of fault 13 in the sample's WEAKNESSES.md, of two of its categories."""


def wrong_about_billing(call):
    """A bot that cannot answer the cases of the category `billing`, which have even numbers."""
    number = int(call.json["query"].removeprefix("Question ").rstrip("?"))
    return right_answers(call) if number % 2 else {"text": "No idea."}


@pytest.fixture(scope="module")
def three_runs(tmp_path_factory):
    """A project with three runs: good, with a category broken, and good again."""
    folder = Folder(tmp_path_factory.mktemp("three-runs"))
    with ScriptedService.in_thread(right_answers) as bot:
        folder.write("cases.jsonl", "".join(json.dumps(row) + "\n" for row in clinic_rows(CASES)))
        folder.write(
            "cortex.yaml",
            {
                "services": {"chatbot": {"api_url": bot.url}},
                "suites": {"clinic": {"dataset": "cases.jsonl", "scorers": ["exact"]}},
            },
        )
        for reply in (right_answers, wrong_about_billing, right_answers):
            bot.reply = reply
            folder.cortex("run")
    return folder


def test_a_broken_category_is_named_with_its_cases(three_runs):
    worse = three_runs.cortex("compare", "latest~2", "latest~1")

    assert worse.code == 1
    lines = worse.out.splitlines()
    assert max(map(len, lines)) <= 80
    assert any(line.split()[:4] == ["pass_rate", "1.00", "0.50", "−0.50"] for line in lines)
    assert any(line.split()[0] == "billing" and "worse, 12 broken" in line for line in lines if line.strip())
    assert "  pass_rate by category, what got worse first" in lines
    assert "  Newly broken: 12" in lines
    assert any(line.split() == ["c10", "exact", "1.00", "→", "0.00"] for line in lines)
    said = " ".join(worse.out.split())
    assert re.search(r"WORSE B: exact fell 1.00 → 0.50 \(adjusted p 0.00\d, allowed 0.02\); pass_rate fell", said)
    assert "Category that got worse in pass_rate: billing 1.00 → 0.00." in said
    assert lines[-1].startswith("See what failed: cortex runs show ")


def test_what_was_undone_is_no_difference_and_what_was_mended_is_better(three_runs):
    undone = three_runs.cortex("compare", "latest~2", "latest")
    better = three_runs.cortex("compare", "latest~1", "latest")

    assert (undone.code, better.code) == (0, 0)
    assert "NO DIFFERENCE SEEN  A and B score the same in every case." in undone.out
    assert re.search(
        r"to see the allowed 0\.02 \(gate\.regression, by default\) takes [\d,]+ cases\.", " ".join(undone.out.split())
    )
    assert "BETTER  B is better: exact rose 0.50 → 1.00" in better.out
    assert "  pass_rate by category\n" in better.out


def test_broken_cases_are_shown_with_the_question_and_what_was_said_before_and_now(three_runs):
    worse = three_runs.cortex("compare", "latest~2", "latest~1")
    better = three_runs.cortex("compare", "latest~1", "latest")

    assert "  c0   exact 1.00 → 0.00\n    Question 0?\n    was: Answer to Question 0?\n    now: No idea.\n" in worse.out
    assert worse.out.count("    now: ") == 5
    assert worse.out.count("    Question ") == 12
    assert "  c0   exact 0.00 → 1.00\n    Question 0?\n  c10" in better.out


def test_the_json_has_every_figure(three_runs):
    third, second, first = (each["id"] for each in three_runs.cortex("runs", "list", "--json").json)

    done = three_runs.cortex("compare", first[:6], second, "--json")
    found = done.json

    assert done.code == found["exit_code"] == 1
    assert [each["id"] for each in found["runs"]] == [first, second]
    assert {"a", "b", "diff", "low", "high", "p_value", "verdict"} <= set(found["metrics"]["exact"])
    figures = found["metrics"]["pass_rate"]
    assert (figures["a"], figures["b"], figures["diff"], figures["verdict"]) == (1.0, 0.5, -0.5, "worse")
    assert figures["p_value"] == pytest.approx(2 / 2**12)
    assert figures["adjusted_p"] >= figures["p_value"]
    assert figures["low"] < -0.5 < figures["high"] < 0
    assert {each["case_id"] for each in found["newly_broken"]} == {f"c{number}" for number in range(0, CASES, 2)}
    broken = found["newly_broken"][0]
    assert (broken["category"], broken["question"]) == ("billing", "Question 0?")
    assert (broken["reply_before"], broken["reply_after"]) == ("Answer to Question 0?", "No idea.")
    assert found["categories"][0]["category"] == "billing"
    assert (found["newly_fixed"], found["flaky"], found["verdict"]) == ([], [], "worse")
    fixed = three_runs.cortex("compare", second, third, "--json").json["newly_fixed"]
    assert {each["case_id"] for each in fixed} == {f"c{number}" for number in range(0, CASES, 2)}


def test_markdown_is_for_pull_requests(three_runs):
    done = three_runs.cortex("compare", "latest~2", "latest~1", "-f", "markdown")

    assert done.code == 1
    assert done.out.startswith("## Worse\n")
    assert "| `pass_rate` | 1.00 | 0.50 | −0.50 |" in done.out
    assert "| `billing` | 1.00 | 0.00 | −1.00 | worse, 12 broken |" in done.out
    assert "<summary>Newly broken: 12</summary>" in done.out
    assert "| Case | Question | Was | Now | Category | Why |\n|---|---|---|---|---|---|\n" in done.out
    assert (
        "| `c0` | `Question 0?` | `Answer to Question 0?` | `No idea.` | `billing` | `exact 1.00 → 0.00` |" in done.out
    )
    assert "Exit code 1." in done.out


def test_more_than_two_runs_are_compared_with_the_first_and_judged_together(three_runs):
    alone = three_runs.cortex("compare", "latest~2", "latest~1", "--json").json

    done = three_runs.cortex("compare", "latest~2", "latest~1", "latest", "--json")
    text = three_runs.cortex("compare", "latest~2", "latest~1", "latest")

    assert (done.code, text.code) == (1, 1)
    assert [each["b"] for each in done.json["comparisons"]] == ["B", "C"]
    both = [each["metrics"]["pass_rate"] for each in done.json["comparisons"]]
    assert [each["verdict"] for each in both] == ["worse", "no difference seen"]
    assert both[0]["adjusted_p"] >= alone["metrics"]["pass_rate"]["adjusted_p"]
    assert "A and C score the same in every case." in " ".join(text.out.split())


def test_other_datasets_and_samples_are_said_plainly(clinic):
    project = clinic(cases=CASES)
    project.cortex("run")
    rows = clinic_rows(CASES)[2:]
    rows[0] |= {"input": "Another question?", "expected": {"answer": "Answer to Another question?"}}
    project.write("cases.jsonl", "".join(json.dumps(row) + "\n" for row in [*rows, clinic_rows(30)[29]]))
    project.cortex("run")
    project.cortex("run", "--quick")

    changed = project.cortex("compare", "latest~2", "latest~1")
    sampled = project.cortex("compare", "latest~1", "latest")

    note = "The datasets of A and B differ: 21 cases are the same in both; 1 changed, 2 only in A, 1 only in B."
    assert note in " ".join(changed.out.split())
    assert changed.code == 0
    assert "B is a sample of 4 of 23 cases: only these are compared." in " ".join(sampled.out.split())
    assert project.cortex("compare", "latest~1", "latest", "--json").json["cases"] == 4


def test_repeats_show_what_is_flaky(clinic):
    asked = {}

    def sometimes(call):
        asked[call.json["query"]] = asked.get(call.json["query"], 0) + 1
        is_off = call.json["query"] == "Question 3?" and asked["Question 3?"] == 2
        return {"text": "Hm."} if is_off else right_answers(call)

    project = clinic(cases=6)
    project.cortex("run", "--repeat", "3")
    project.bot.reply = sometimes
    project.cortex("run", "--repeat", "3")

    done = project.cortex("compare", "latest~1", "latest")

    assert done.code == 0
    assert "  Flaky: 1" in done.out.splitlines()
    assert "  c3  passed 2 of 3 in B" in done.out.splitlines()
    assert "B, asked 3 times: pass@3 1.00, pass^3 0.83" in " ".join(done.out.split())


def test_a_critical_case_that_broke_is_exit_code_1_unless_it_passed_when_the_gate_had_it_asked_again(clinic):
    asked = {}

    def wrong_until(right_from):
        asked.clear()

        def answer(call):
            query = call.json["query"]
            asked[query] = asked.get(query, 0) + 1
            return {"text": "No."} if query == "Question 3?" and asked[query] < right_from else right_answers(call)

        return answer

    project = clinic(cases=12)
    rows = [{**row, **({"tags": ["critical"]} if row["id"] == "c3" else {})} for row in clinic_rows(12)]
    project.write("cases.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    project.cortex("run")
    project.cortex("baseline", "set", "latest", "--name", "main")
    for right_from in (9, 2):
        project.bot.reply = wrong_until(right_from)
        project.cortex("run", "--baseline", "main")

    broken, flaky = (project.cortex("compare", "latest~2", run) for run in ("latest~1", "latest"))

    assert (broken.code, flaky.code) == (1, 0)
    said = " ".join(broken.out.split())
    assert (
        "NEW CRITICAL FAILURES 1 new critical failure in B, a regression whatever the chance: “Question 3?” (c3)."
        in said
    )
    assert "CANNOT TELL 1 critical case failed in B and passed when asked again" in " ".join(flaky.out.split())
    machine = project.cortex("compare", "latest~2", "latest~1", "--json")
    assert (machine.code, machine.json["exit_code"], machine.json["verdict"]) == (1, 1, "new critical failures")
    markdown = project.cortex("compare", "latest~2", "latest~1", "-f", "markdown")
    assert (markdown.code, markdown.out.startswith("## New critical failures\n")) == (1, True)


def test_scorers_that_changed_between_the_runs_are_named(clinic):
    project = clinic(cases=4)
    project.cortex("run")
    project.write("cortex.yaml", (project.root / "cortex.yaml").read_text().replace("exact", "contains"))
    project.cortex("run")
    settings = json.loads((project.root / "cortex.yaml").read_text())
    project.write("cortex.yaml", {**settings, "metrics": {"passing_threshold": 0.9}})
    project.cortex("run")

    other = project.cortex("compare", "latest~2", "latest~1", "--json").json
    threshold = project.cortex("compare", "latest~1", "latest")

    assert other["metrics"]["exact"]["verdict"] == other["metrics"]["contains"]["verdict"] == "undefined"
    assert "passing_threshold" in threshold.out


def test_what_cannot_be_compared_is_a_message(clinic):
    project = clinic(cases=2)
    project.cortex("run")
    one, unknown = project.cortex("compare", "latest"), project.cortex("compare", "latest", "nope")
    before = project.cortex("compare", "latest~1", "latest")
    project.write("cases.jsonl", json.dumps({"id": "other", "input": "Hello?", "expected": {"answer": "Hi."}}) + "\n")
    project.cortex("run")
    apart = project.cortex("compare", "latest~1", "latest")

    assert [each.code for each in (one, unknown, before, apart)] == [4, 4, 4, 4]
    assert "compare needs two runs or more" in one.err
    assert "There is no run 'nope'" in unknown.err
    assert "There is no run 'latest~1'" in before.err
    assert "have no case in common" in apart.err


def test_a_run_of_errors_alone_leaves_nothing_to_compare(clinic):
    project = clinic(cases=2, reply=(500, {"error": "down"}))
    project.cortex("run")
    project.bot.reply = right_answers
    project.cortex("run")

    done, machine = (
        project.cortex("compare", "latest~1", "latest"),
        project.cortex("compare", "latest~1", "latest", "--json"),
    )

    assert (done.code, machine.code, machine.json["exit_code"]) == (3, 3, 3)
    assert (machine.json["verdict"], machine.json["errors_a"]) == ("nothing to compare", 2)
    lines = done.out.splitlines()
    assert "NOTHING TO COMPARE  No case was scored in both A and B: A has 2 errors in 2" in lines
    assert "NO DIFFERENCE" not in done.out
    assert "gate would see" not in done.out
    assert "scored in one run only" not in done.out
    assert lines[-1] == f"See the errors: cortex runs show {machine.json['runs'][0]['id']} --failed"
    assert project.cortex("compare", "latest~1", "latest", "-f", "markdown").out.startswith("## Nothing to compare\n")


def test_the_planted_regression_of_the_bioagent_sample_is_found_and_its_undoing_too(tmp_path):
    copy_project("bioagent", tmp_path / "project")
    folder = Folder(tmp_path / "project")
    for version in ("1", "2", "1"):
        with BioAgent(version=version) as agent:
            chosen = [word for category in PLANTED for word in ("--category", category)]
            folder.cortex("run", "bioagent", *chosen, CORTEX_DEMO_URL=agent.url)

    worse = folder.cortex("compare", "latest~2", "latest~1", CORTEX_DEMO_URL="http://127.0.0.1:9/")
    undone = folder.cortex("compare", "latest~2", "latest", CORTEX_DEMO_URL="http://127.0.0.1:9/")

    assert (worse.code, undone.code) == (1, 0)
    said = " ".join(worse.out.split())
    assert "Category that got worse in pass_rate: error_handling 0.96 → 0.63. 11 cases newly broken, 0 fixed." in said
    for category, numbers in PLANTED.items():
        for number in numbers:
            assert f"  {category}_{number} " in worse.out
    assert "Newly broken" not in undone.out
