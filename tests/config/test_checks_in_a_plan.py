"""Checks of single cases fail their case, unless the project file says otherwise."""

from __future__ import annotations

import pytest
from written import plans_of

PROJECT = (
    "services: {{bot: {{kind: recorded, path: r.jsonl}}}}\n"
    "suites: {{s: {{dataset: d.jsonl, service: bot, scorers: [{scorers}]}}}}\n"
)


@pytest.mark.parametrize(
    ("scorers", "is_critical"),
    [
        ("checks", True),
        ("checks: {weight: 2}", True),
        ("checks: {critical: false}", False),
        ("exact", False),
        ("exact: {critical: true}", True),
    ],
)
def test_checks_are_critical_unless_somebody_says_otherwise(tmp_path, scorers, is_critical):
    (tmp_path / "d.jsonl").write_text('{"id": "a", "question": "Hello?", "checks": [{"contains": "Hi"}]}\n')
    (tmp_path / "r.jsonl").write_text('{"id": "a", "text": "Hi."}\n')

    [plan] = plans_of(tmp_path, PROJECT.format(scorers=scorers))

    [planned] = plan.scorers
    assert planned.critical is is_critical
