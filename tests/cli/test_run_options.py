"""The options of `cortex run`: what is selected, how often, and what is only planned."""

from __future__ import annotations

import json

import pytest

ANSWERS = {"text": "No."}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "asked"),
    [
        (("--category", "billing"), {0, 2, 4, 6}),
        (("--category", "billing", "--category", "visit", "--limit", "8"), set(range(8))),
        (("--tier", "1"), {0, 3, 6}),
        (("--tag", "smoke"), {0, 1}),
        (("--language", "hi"), {0, 4}),
        (("--case", "c3", "--case", "c5"), {3, 5}),
        (("--category", "visit", "--language", "en", "--tier", "2"), {1, 7}),
    ],
)
def test_only_what_is_asked_for_is_run(clinic, arguments, asked):
    project = clinic(cases=8)

    done = project.cortex("run", *arguments, "--json")

    assert set(project.is_asked()) == {f"Question {number}?" for number in asked}
    assert done.json["totals"]["cases"] == len(asked)


@pytest.mark.slow
def test_a_limit_and_a_quick_sample_take_a_part_the_same_one_each_time(clinic):
    project = clinic(cases=20)

    project.installed("run", "--limit", "3")  # each process has an order of sets of its own
    first = set(project.is_asked())
    project.installed("run", "--limit", "3")
    assert len(project.bot.ledger) == 6
    assert set(project.is_asked()) == first

    project.bot.ledger.clear()
    done = project.cortex("run", "--quick", "--json")
    assert len(project.bot.ledger) == 4  # two of each category
    assert {name: each["total_tests"] for name, each in done.json["category_metrics"].items()} == {
        "billing": 2,
        "visit": 2,
    }


@pytest.mark.slow
def test_repeats_ask_every_case_that_often_and_never_share_replies(clinic):
    project = clinic(cases=2, service={"version": "1"})

    done = project.cortex("run", "--repeat", "3", "--json")

    assert len(project.bot.ledger) == 6
    assert done.json["totals"]["cases"] == 2
    assert done.json["total_tests"] == 6
    assert project.cortex("run", "--json").code == 0
    assert len(project.bot.ledger) == 6  # the first repeat is in the cache: the service states its version


@pytest.mark.slow
def test_only_the_cases_that_did_not_pass_are_asked_again(clinic):
    project = clinic(
        reply=lambda call: {"Question 0?": 500, "Question 1?": ANSWERS}.get(
            call.json["query"], {"text": f"Answer to {call.json['query']}"}
        )
    )
    assert project.cortex("run").code == 3
    project.bot.ledger.clear()

    assert project.cortex("run", "--failed-of", "latest").code == 3
    assert sorted(project.is_asked()) == ["Question 0?", "Question 1?"]

    project.bot.reply = lambda call: {"text": f"Answer to {call.json['query']}"}
    assert project.cortex("run", "--failed-of", "latest").code == 0
    nothing = project.cortex("run", "--failed-of", "latest")
    assert nothing.code == 4
    assert "there is nothing to run" in nothing.err


def test_a_dry_run_tells_the_plan_and_does_nothing(clinic):
    project = clinic(cases=8)

    text = project.cortex("run", "--dry-run", "--category", "billing", "--repeat", "2", "--concurrency", "3")
    as_json = project.cortex("run", "--dry-run", "--json")

    assert text.code == 0
    assert text.out.startswith("cases.jsonl (4 of 8 cases 2 times) → chatbot\n  scorers   exact\n  calls     8 to the ")
    assert as_json.json["calls"] == {"target": 8, "judge": 0, "judge_at_most": 0}
    assert project.bot.ledger == []
    assert not (project.root / ".cortex").exists()
    assert not (project.root / "reports").exists()


def test_concurrency_is_a_limit(clinic):
    project = clinic(cases=12)
    project.bot.latency_s = 0.02

    project.cortex("run", "--concurrency", "2")

    assert project.bot.peak_in_flight == 2


@pytest.mark.slow
def test_a_dataset_and_a_service_can_be_named_without_a_suite(clinic):
    project = clinic(metrics={"exact": {}, "metric_weights": {"exact": 1.0}})
    config = json.loads((project.root / "cortex.yaml").read_text())
    config["targets"] = {**config.pop("services"), "second": {"kind": "chatbot", "api_url": f"{project.bot.url}second"}}
    config["suites"] = {}
    project.write("cortex.yaml", config)

    first = project.cortex("run", "--dataset", "cases.jsonl", "--json")
    second = project.cortex("run", "--dataset", "cases.jsonl", "--target", "second", "--json", "--output-dir", "out")
    nothing = project.cortex("run")

    assert (first.code, second.code) == (0, 0)
    assert first.json["run"]["target"]["name"] == "chatbot"  # the default
    assert second.json["run"]["target"]["name"] == "second"
    assert {call.path for call in project.bot.ledger} == {"/", "/second"}
    assert len(list((project.root / "out").glob("*.html"))) == 1
    assert nothing.code == 4
    assert "does not say what to run" in nothing.err
