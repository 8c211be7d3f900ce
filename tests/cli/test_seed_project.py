"""The healthcare framework's own project: its configuration to the letter, its command line unchanged."""

from __future__ import annotations

import json
import shlex

import pytest
from written import SEED_BLOCK

COMMAND = shlex.split("run --config config/config.yaml --dataset datasets/patient_inquiries.json --service chatbot")
INQUIRIES = [
    {
        "id": f"inquiry-{number}",
        "question": f"May I take aspirin with medicine {number}?",
        "context": {"age": 40 + number},
        "ground_truth": "Please ask your doctor or pharmacist before you combine medicines.",
    }
    for number in range(3)
]


@pytest.fixture
def seed_project(clinic):
    project = clinic(reply={"text": "Please ask your doctor or pharmacist before you combine medicines."})
    (project.root / "cortex.yaml").unlink()
    (project.root / "cases.jsonl").unlink()
    text = SEED_BLOCK.replace("https://cortex-api.example.com/", project.bot.url)
    assert text.replace(project.bot.url, "https://cortex-api.example.com/") == SEED_BLOCK
    project.write("config/config.yaml", text)
    project.write("datasets/patient_inquiries.json", INQUIRIES)
    return project


@pytest.mark.slow
@pytest.mark.parametrize("has_rules", [False, True], ids=["without-rules", "with-rules"])
def test_the_seeds_command_line_runs_unchanged(seed_project, has_rules):
    if has_rules:
        rule = {"id": "ask", "severity": "high", "require": ["doctor"], "reason": "must send to a doctor"}
        seed_project.write("config/healthcare_rules.json", {"rules": [rule]})
    seed_project.write("config/metrics_config.yaml", "metrics:\n  exact: {weight: 0}\n")

    done = seed_project.cortex(*COMMAND, CORTEX_API_KEY="seed-key-12345")

    assert done.code == 0, done.err
    for name in ("accuracy", "relevance", "safety", "performance", "exact"):
        assert f"  {name} " in done.out
    assert len(seed_project.bot.ledger) == 3
    call = min(seed_project.bot.ledger, key=lambda call: call.json["query"])
    assert (call.method, call.path) == ("POST", "/chat")
    assert call.headers["Authorization"] == "Bearer seed-key-12345"
    assert call.headers["Content-Type"] == "application/json"
    assert call.json == {
        "query": INQUIRIES[0]["question"],
        "context": {"age": 40},
        "user_id": "eval-tester",
    }
    dashboard = (seed_project.root / "reports" / "dashboard.html").read_text(encoding="utf-8")
    assert "inquiry-0" in dashboard
    assert (seed_project.root / "reports" / "results.db").is_file()
    assert not (seed_project.root / ".cortex").exists()
    written = b"".join(path.read_bytes() for path in (seed_project.root / "reports").rglob("*") if path.is_file())
    assert b"seed-key-12345" not in written


@pytest.mark.slow
def test_its_project_is_found_without_being_named_and_its_other_service_runs_too(seed_project):
    settings = {"CORTEX_API_KEY": "seed-key-12345"}
    done = seed_project.cortex("run", "--dataset", "datasets/patient_inquiries.json", "--json", **settings)
    listed = seed_project.cortex("runs", "list", "--json")  # needs no key
    rag = seed_project.cortex("run", "--dataset", "datasets/patient_inquiries.json", "--service", "rag", **settings)

    assert done.code == 0
    assert done.json["run"]["target"]["name"] == "chatbot"
    assert done.json["totals"]["passed"] == 3
    assert [each["id"] for each in listed.json] == [done.json["run"]["id"]]
    assert rag.code == 0, rag.err
    assert "→ rag" in rag.out
    assert seed_project.bot.ledger[-1].path == "/rag"


def test_without_the_key_nothing_is_asked(seed_project):
    done = seed_project.cortex(*COMMAND)

    assert (done.code, done.out) == (4, "")
    assert "config/config.yaml:5: the environment variable CORTEX_API_KEY is not set." in done.err
    assert seed_project.bot.ledger == []
    seed_project.write(".env", "CORTEX_API_KEY=from-the-file-1\n")
    assert json.loads(seed_project.cortex(*COMMAND, "--dry-run", "--json").out)["calls"]["target"] == 3
