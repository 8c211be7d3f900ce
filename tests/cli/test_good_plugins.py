"""The examples of the style guide as plugin files, run through the command."""

from __future__ import annotations

import json

import pytest
from written import CITATIONS, FUNCTIONS, HELPDESK


@pytest.mark.slow
def test_scorers_and_targets_of_ones_own_run_like_built_in_ones(clinic):
    project = clinic(
        cases=3,
        reply=lambda call: {"answer": "please read the Handbook"} if call.number < 3 else {"oops": 1},
        services=None,
    )
    config = json.loads((project.root / "cortex.yaml").read_text())
    config["services"] = {"desk": {"kind": "helpdesk", "url": project.bot.url}}
    config["plugins"] = ["scorers/clinic.py", "helpdesk.py", "functions.py"]
    config["suites"]["clinic"] = {
        "dataset": "cases.jsonl",
        "service": "desk",
        "scorers": [{"named_sources": {"required": ["Handbook", "Policy 7"]}}, "is_polite", "is_short"],
    }
    project.write("cortex.yaml", config)
    project.write("scorers/clinic.py", CITATIONS)
    project.write("helpdesk.py", HELPDESK)
    project.write("functions.py", FUNCTIONS)
    project.write("words.py", "POLITE = ('please', 'thank')\n")

    done = project.cortex("run", "--json", "--results")

    assert done.code == 3, done.err  # one reply had no answer
    assert project.bot.ledger[0].json["messages"][0]["role"] == "user"
    assert done.json["run"]["target"]["kind"] == "helpdesk"
    (failed,) = [row for row in done.json["results"] if row["state"] == "error_target"]
    assert "gave no 'answer'; it gave ['oops']" in failed["error"]["message"]
    row = next(row for row in done.json["results"] if row["error"] is None)
    assert row["scores"]["named_sources"]["value"] == 0.5
    assert row["scores"]["named_sources"]["reason"] == "missing: Policy 7"
    assert row["scores"]["is_polite"]["passed"] is True
    assert row["scores"]["is_short"]["passed"] is True  # its own threshold is 0.25
