"""The gate of a project file: what it is held against, what is allowed, and what is in quarantine."""

from __future__ import annotations

import pytest
from written import plans_of, problems_of

from cortex_eval.analysis import Allowance, GateSettings, Quarantined

BOT = 'services: {one: {kind: http, api_url: "http://127.0.0.1:1/"}}\n'
SUITE = "suites: {s: {dataset: d, service: one, scorers: [exact]QUARANTINE}}\n"


def gate_of(tmp_path, block, *, quarantine="", **request):
    suite = SUITE.replace("QUARANTINE", f", quarantine: {quarantine}" if quarantine else "")
    return plans_of(tmp_path, f"{BOT}gate: {block}\n{suite}", **request)[0].gate


def test_the_default_gate_is_statistical_and_held_against_nothing(tmp_path):
    gate = gate_of(tmp_path, "{}")
    assert gate == GateSettings()
    assert (gate.mode, gate.level, gate.inconclusive) == ("statistical", 0.05, "warn")


def test_baseline_anchor_and_when_it_moves(tmp_path):
    block = "{baseline: main, anchor: v1, auto: on-release, inconclusive: fail, level: 0.01}"
    gate = gate_of(tmp_path, block)
    assert (gate.baseline, gate.anchor, gate.auto) == ("main", "v1", "on-release")
    assert (gate.inconclusive, gate.level) == ("fail", 0.01)
    asked = gate_of(tmp_path, block, baseline="mine")
    assert (asked.baseline, asked.anchor) == ("mine", "v1")


def test_an_empty_allowance_takes_a_metric_out_of_the_comparison(tmp_path):
    gate = gate_of(tmp_path, "{regression: {exact: {}, pass_rate: {drop: 0.1, high: 0.2}}}")
    assert gate.regression["exact"] == Allowance()
    assert gate.regression["pass_rate"] == Allowance(drop=0.1, high=0.2)


def test_the_tolerance_of_the_seed_is_what_every_rate_but_entities_may_fall_by(tmp_path):
    gate = gate_of(tmp_path, "{thresholds: {regression_tolerance: 0.03}}")
    assert gate.thresholds == {}
    assert gate.regression["pass_rate"] == Allowance(drop=0.03, high=0.05)
    assert gate.regression["exact"] == Allowance(drop=0.03, high=0.05)
    assert gate.regression["entity_f1"] == Allowance(drop=0.05, high=0.10)


def test_a_quarantine_is_read_with_its_reason_and_its_day(tmp_path):
    listed = "[{case: a, reason: flaky, until: 2026-12-31}, {case: b, reason: 'T-12'}]"
    gate = gate_of(tmp_path, "{}", quarantine=listed)
    assert gate.quarantine == (
        Quarantined(case="a", reason="flaky", until="2026-12-31"),
        Quarantined(case="b", reason="T-12"),
    )


@pytest.mark.parametrize(
    ("block", "quarantine", "message"),
    [
        ("{auto: always}", "", "gate.auto"),
        ("{auto: on-release}", "", "gate.auto: say which baseline is to move"),
        ("{}", "[{case: a, reason: ' '}]", "say why"),
        ("{}", "[{case: a, reason: x, until: soon}]", "until must be a day such as 2026-12-31, not 'soon'"),
        ("{}", "[{case: a, reason: x, until: 20261231}]", "until"),
        ("{}", "[{case: a}]", "reason"),
        ("{}", "[a]", "quarantine"),
    ],
)
def test_what_is_wrong_in_it_is_told_with_its_line(tmp_path, block, quarantine, message):
    suite = SUITE.replace("QUARANTINE", f", quarantine: {quarantine}" if quarantine else "")
    told = problems_of(tmp_path, f"{BOT}gate: {block}\n{suite}")
    assert any(message in each for each in told), told


TWO = """\
suites:
  one: {dataset: d, service: one, scorers: [exact]}
  two: {dataset: d, service: one, scorers: [exact], gate: {thresholds: {pass_rate: 0.5}}}
"""


def test_a_suite_may_have_its_own_gate_in_place_of_the_projects_and_the_others_share_that(tmp_path):
    text = f"{BOT}gate: {{thresholds: {{exact: 0.9}}, max_error_rate: 0.1}}\n{TWO}"
    (shared,), (own,) = (plans_of(tmp_path, text, suite=name) for name in ("one", "two"))

    assert (shared.gate.thresholds, shared.gate.max_error_rate) == ({"exact": 0.9}, 0.1)
    assert (own.gate.thresholds, own.gate.max_error_rate) == ({"pass_rate": 0.5}, 0.0)
    assert (shared.gate.shared_in, own.gate.shared_in) == (str(tmp_path / "cortex.yaml"), "")
