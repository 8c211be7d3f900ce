"""`cortex run --dry-run`: what a run would take, told without asking anybody."""

from __future__ import annotations

import json
import re
from decimal import Decimal

import pytest

from cortex_eval.testing import speak_openai

TONE = {"tone": {"kind": "judge", "prompt": "Polite? {answer}"}}
SCORERS = {"clinic": {"dataset": "cases.jsonl", "scorers": ["exact", TONE]}}


def models(project, **more):
    return {"judge": {"model": "m1", "base_url": f"{project.bot.url}v1", **more}}


def rewrite(project, **blocks):
    """Put these blocks into the project file."""
    config = json.loads((project.root / "cortex.yaml").read_text())
    project.write("cortex.yaml", {**config, **blocks})


def planned(project, *arguments):
    done = project.cortex("run", "--dry-run", "--json", *arguments)
    assert done.code == 0, done.err
    return done.json


def test_nothing_is_called_and_nothing_is_stored_and_the_unknown_is_not_zero(clinic):
    project = clinic(cases=8)

    found = planned(project)

    assert project.bot.ledger == []
    assert not (project.root / ".cortex").exists()
    assert found["cost_usd"] == {"target": None, "judge": None, "total": None}
    assert (found["seconds"], found["seconds_at_1s"], found["by_run"]) == (None, 2.0, None)
    (host,) = found["hosts"]
    assert host["host"] == project.bot.url.split("/")[2]
    assert (host["who"], host["refused"]) == (["chatbot"], None)
    text = project.cortex("run", "--dry-run").out
    assert "cost      not known\n" in text
    assert "time      not known; at 1 s a call about 2 s" in text


def test_time_and_pass_rate_are_those_of_the_newest_finished_run(clinic):
    project = clinic(cases=8)
    project.bot.latency_s = 0.02
    run = project.cortex("run", "--json").json

    found = planned(project, "--repeat", "3", "--concurrency", "2")

    assert found["by_run"] == run["run"]["id"]
    assert found["seconds"] == pytest.approx(24 * run["latency_ms"]["mean"] / 1000 / 2)
    drop = found["smallest_detectable_drop"]
    assert (drop["pass_rate"], drop["pass_rate_of"], drop["pairs"]) == (1.0, f"of run {run['run']['id']}", 8)
    text = project.cortex("run", "--dry-run").out
    assert f"in run {run['run']['id']}" in " ".join(text.split())
    assert len(project.bot.ledger) == 8


def test_judges_are_counted_beside_the_target_and_their_cost_is_unknown_without_prices(clinic):
    project = clinic(cases=4, suites=SCORERS)
    rewrite(project, models=models(project))

    found = planned(project)

    assert found["calls"] == {"target": 4, "judge": 4, "judge_at_most": 8}
    assert found["cost_usd"]["judge"] is None
    assert found["tokens"]["judge"] > 4 * 1024
    assert found["hosts"][0]["who"] == ["chatbot", "judge"]


def test_a_judge_is_not_counted_where_the_case_lacks_what_its_prompt_names(clinic):
    against = {"right": {"kind": "judge", "prompt": "Same? {answer} {expected}"}}
    project = clinic(cases=4, suites={"clinic": {"dataset": "cases.jsonl", "scorers": ["exact", against]}})
    rewrite(project, models=models(project))
    rows = [json.loads(line) for line in (project.root / "cases.jsonl").read_text().splitlines()]
    del rows[0]["expected"]
    project.write("cases.jsonl", "".join(json.dumps(row) + "\n" for row in rows))

    assert planned(project)["calls"]["judge"] == 3


def chat(project, **more):
    rewrite(project, services={"chat": {"kind": "chat", "model": "m1", "base_url": f"{project.bot.url}v1", **more}})


def test_a_cost_is_reckoned_by_prices_and_the_texts_of_the_dataset(clinic):
    project = clinic(cases=4)
    chat(project, prices={"input": 1, "output": 2}, max_tokens=100)

    found = planned(project)

    asked = sum(-(-len(f"Question {number}?") // 4) for number in range(4))
    assert found["tokens"]["target"] == asked + 400
    assert Decimal(found["cost_usd"]["target"]) == (asked + 2 * 400) / Decimal(1_000_000)
    assert found["by"]["target"] == "prices of the project file; 4 characters a token in, 100 tokens out"


@pytest.mark.slow
def test_an_earlier_run_of_the_same_target_tells_its_cost_better(clinic):
    project = clinic(cases=4, reply=speak_openai("Answer."))
    chat(project, prices={"input": 1, "output": 2})
    used = project.cortex("run", "--json").json["usage"]["target"]

    found = planned(project, "--repeat", "2")

    assert Decimal(found["cost_usd"]["target"]) == 2 * Decimal(used["cost"]["USD"])
    assert found["by"]["target"].startswith("the mean of 4 replies in run ")
    chat(project, prices={"input": 10, "output": 20})  # no longer what was run
    assert planned(project)["by_run"] is None


@pytest.mark.parametrize(
    ("budget", "said", "after"),
    [
        ({"budget_calls": 3}, "budget_calls 3 would stop it after 3 of 4 calls", 3),
        ({"budget_calls": 4}, "budget_calls 4 is enough", None),
        ({"budget_usd": 0.001}, "budget_usd $0.0010 would stop it after about 1 of 4 calls", 1),
        ({"budget_usd": 5}, "budget_usd $5.00 is enough", None),
        ({"budget_tokens": 600}, "budget_tokens 600 would stop it after about 2 of 4 calls", 2),
    ],
)
def test_a_budget_that_would_stop_the_run_says_so(clinic, budget, said, after):
    project = clinic(cases=4, execution=budget)
    chat(project, prices={"input": 1, "output": 2})

    text = " ".join(project.cortex("run", "--dry-run").out.split())
    (limit,) = planned(project)["budgets"]

    assert said in text
    assert limit["stops_after_calls"] == after


def test_a_budget_that_nobody_can_reckon_with_says_so(clinic):
    project = clinic(cases=4, execution={"budget_usd": 1})

    done = project.cortex("run", "--dry-run")

    assert "budget_usd $1.00: not known whether that is enough" in done.out
    assert "Note: budget_usd: the cost of chatbot is counted only as far as its replies state it" in done.err


def test_hosts_that_the_project_file_does_not_name_are_refused_offline(clinic):
    project = clinic(cases=1)
    rewrite(project, services={"gpt": {"kind": "chat", "model": "openai:gpt-4.1-mini"}})
    key = {"OPENAI_API_KEY": "openai-key-0123456789"}

    done = project.cortex("run", "--dry-run", **key)
    offline = project.cortex("run", "--dry-run", "--offline", "--json", **key).json

    assert "hosts     api.openai.com (gpt; --offline would refuse it)" in done.out
    assert (offline["hosts"][0]["refused"], offline["offline"]) == ("offline", True)
    assert Decimal(offline["cost_usd"]["total"]) > 0


def test_offline_a_host_that_is_not_named_is_told_before_anything_is_stored(clinic):
    project = clinic(cases=1)
    rewrite(project, services={"gpt": {"kind": "chat", "model": "openai:gpt-4.1-mini"}})

    done = project.cortex("run", "--offline", OPENAI_API_KEY="openai-key-0123456789")

    assert done.code == 4
    assert "--offline would not let this run call api.openai.com (gpt)" in done.err
    assert project.cortex("runs", "list", "--json").json == []


@pytest.mark.slow
def test_the_drop_is_told_against_the_baseline_whose_rate_it_has(clinic):
    project = clinic(cases=12)
    project.cortex("run")
    project.cortex("baseline", "set", "latest", "--name", "main")

    drop = planned(project, "--baseline", "main")["smallest_detectable_drop"]
    text = " ".join(project.cortex("run", "--dry-run", "--baseline", "main", "--limit", "2").out.split())

    assert (drop["against"], drop["pass_rate"], drop["power"]) == ("the baseline main", 1.0, 0.8)
    assert 0.6 < drop["drop"] < 0.7  # as the gate would say: four metrics share the level
    assert drop["tests"] == 4
    said = "(against the baseline main; pass rate before: 1.00, of the baseline main)"
    assert f"can show with 2 cases, no drop of the pass rate can be told from chance {said}" in text
    whole = " ".join(project.cortex("run", "--dry-run", "--baseline", "main").out.split())
    assert re.search(
        r"with 12 cases, a drop of the pass rate by less than 6\d points cannot be told from chance \(against", whole
    )
    assert project.cortex("run", "--dry-run", "--baseline", "mian").code == 4


def test_cases_of_one_cluster_show_no_more_than_one_case(clinic):
    project = clinic(cases=8)
    rows = [json.loads(line) for line in (project.root / "cases.jsonl").read_text().splitlines()]
    rows = [{**row, "cluster_id": f"k{number % 4}"} for number, row in enumerate(rows)]
    project.write("cases.jsonl", "".join(json.dumps(row) + "\n" for row in rows))

    assert planned(project)["smallest_detectable_drop"]["pairs"] == 4
    assert "with 8 cases (4 of them independent), no drop" in " ".join(project.cortex("run", "--dry-run").out.split())


def test_everything_fits_eighty_columns(clinic):
    project = clinic(cases=8, suites=SCORERS, execution={"budget_calls": 3})
    rewrite(project, models=models(project))

    lines = project.cortex("run", "--dry-run").out.splitlines()

    assert max(map(len, lines)) <= 80
