"""A run that cannot go on says why and how to resume it, and keeps what it has."""

from __future__ import annotations

import socket

import pytest


def dead_port() -> int:
    """A port of this machine where nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


QUICKLY = {"retry_count": 0, "retry_delay_seconds": 0, "pause_limit_seconds": 0, "max_concurrent_tests": 4}


def last_lines(out):
    return " ".join(out.rstrip().rpartition("\n\n")[2].split())


def test_F14_a_target_that_stays_away_pauses_the_run_with_one_reason_and_the_way_on(clinic):
    project = clinic(cases=20, reply=503, execution=QUICKLY)

    done = project.cortex("run")

    assert done.code == 3
    (run,) = project.cortex("runs", "list", "--json").json
    told = last_lines(done.out)
    assert told.startswith("ERROR Paused: target_unavailable: chatbot did not recover within 0 s")
    assert told.endswith(f"Run {run['id']} saved. Go on: cortex run --resume {run['id']}")


def test_a_wrong_address_pauses_the_run_with_what_to_check_and_goes_on_when_it_is_right(clinic):
    project = clinic(cases=20, service={"api_url": f"http://127.0.0.1:{dead_port()}/"}, execution=QUICKLY)

    done = project.cortex("run")

    assert done.code == 3
    (run,) = project.cortex("runs", "list", "--json").json
    told = last_lines(done.out)
    assert told.startswith("ERROR Paused: target_unreachable: 127.0.0.1:")
    assert "refuses connections, and no call was ever answered. Is it running? Check api_url of services.ch" in told
    assert told.endswith(f"Run {run['id']} saved. When that is mended, go on: cortex run --resume {run['id']}")
    assert done.out.count("target_unreachable") == 1
    assert max(map(len, done.out.splitlines())) <= 80
    assert run["status"] == "paused"
    assert run["paused"].startswith("target_unreachable: ")
    listed = project.cortex("runs", "list").out
    assert listed.rstrip().endswith("paused: target_unreachable")
    assert max(map(len, listed.splitlines())) <= 80
    assert "Paused: target_unreachable" in project.cortex("runs", "show", "latest").out
    clinic(cases=20, execution=QUICKLY)
    resumed = project.cortex("run", "--resume", run["id"])
    assert resumed.code == 0
    assert len(project.bot.ledger) == 20


@pytest.mark.slow
def test_TR03_a_key_that_is_refused_pauses_after_a_few_calls_and_the_printed_command_goes_on(clinic):
    project = clinic(cases=20, reply=401, execution=QUICKLY)

    done = project.cortex("run", "--json")

    assert done.code == 3
    assert done.json["run"]["manifest"]["paused"]["kind"] == "target_auth"
    assert len(project.bot.ledger) <= 5
    assert done.json["calls"]["made"] == len(project.bot.ledger)
    assert done.json["hosts"] == {project.bot.url.split("/")[2]: len(project.bot.ledger)}
    assert "paused: target_auth" in project.cortex("runs", "list").out
    project.bot.reply = lambda call: {"text": f"Answer to {call.json['query']}"}
    resumed = project.cortex("run", "--resume", done.json["run"]["id"])
    assert resumed.code == 0
    assert "paused" not in resumed.out


@pytest.mark.slow
def test_a_budget_pauses_the_run_and_a_larger_one_ends_it_with_every_call_counted_once(clinic):
    project = clinic(cases=10, execution={**QUICKLY, "budget_calls": 4})

    done = project.cortex("run")

    assert done.code == 3
    told = last_lines(done.out)
    assert told.startswith("ERROR Paused: budget: The budget is used up (budget_calls: 4 calls).")
    assert "only 4 of 10 cases were finished" in told
    assert "Go on: cortex run --resume" in told
    assert "(4 of 10 cases) → chatbot" in done.out
    assert "paused: budget" in project.cortex("runs", "list").out
    clinic(cases=10, execution={**QUICKLY, "budget_calls": 50})
    resumed = project.cortex("run", "--resume", "latest", "--json")
    assert resumed.code == 0
    assert resumed.json["calls"]["made"] == len(project.bot.ledger) == 10


@pytest.mark.slow
def test_long_names_give_way_in_the_list_of_runs(clinic):
    suite = "a-suite-with-quite-a-long-name"
    suites = {suite: {"dataset": "cases.jsonl", "service": "chatbot-of-the-clinic", "scorers": ["exact"]}}
    service = {"kind": "chatbot", "api_url": f"http://127.0.0.1:{dead_port()}/"}
    project = clinic(cases=20, execution=QUICKLY, suites=suites, services={"chatbot-of-the-clinic": service})
    project.cortex("run")

    lines = project.cortex("runs", "list").out.splitlines()

    assert max(map(len, lines)) <= 80
    assert lines[1].endswith("20  paused: target_unreachable")
    assert "…" in lines[1]
