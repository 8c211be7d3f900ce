"""A rate that is named for what is wrong reads as that rate, and pools over a run."""

from __future__ import annotations

import pytest
from made_results import made_case, made_report, made_result

from cortex_eval.analysis import Allowance, GateSettings, case_figures, figure_of, pooled_rate, read_baseline
from cortex_eval.core import RATE


def rated(number, hallucinated, claims, **fields):
    """One reply with so many hallucinated claims."""
    rate = hallucinated / claims
    labels = {"grounded": claims - hallucinated, "paraphrased": 0, "inferred": 0, "hallucinated": hallucinated}
    score = {"value": 1 - rate, "measure": rate, "unit": RATE, "direction": "lower"}
    score["evidence"] = {"state": "claims", "labels": labels}
    return made_result(made_case(number), number, scores={"hallucination_rate": score}, **fields)


def unclaimed(number, state):
    score = {"value": None, "reason": "nothing", "evidence": {"state": state}}
    return made_result(made_case(number), number, scores={"hallucination_rate": score})


ROWS = [rated(0, 0, 5), rated(1, 2, 4), rated(2, 0, 3), rated(3, 0, 8), unclaimed(4, "advice"), unclaimed(5, "refusal")]


def test_the_metric_is_the_rate_and_less_is_better():
    metric = made_report(ROWS).metrics["hallucination_rate"]

    assert metric.mean == pytest.approx((0 + 0.5 + 0 + 0) / 4)
    assert (metric.direction, metric.unit, metric.scored, metric.total) == ("lower", "", 4, 6)


def test_repeats_average_the_rate_too():
    rows = [rated(0, 1, 2, repeat=0), rated(0, 0, 2, repeat=1)]

    metric = made_report(rows).metrics["hallucination_rate"]

    assert (metric.mean, metric.direction) == (0.25, "lower")


def test_the_value_that_verdicts_and_weights_use_stays_one_for_the_best():
    assert rated(0, 0, 4).overall == 1.0
    assert figure_of(rated(0, 1, 4).scores["hallucination_rate"]) == 0.25
    assert figure_of({"value": 0.75, "measure": 250.0, "unit": "ms", "direction": "lower"}) == 0.75


@pytest.mark.parametrize("name", ["hallucination_rate", "max_hallucination_rate"])
@pytest.mark.parametrize(("limit", "ok"), [(0.2, True), (0.1, False)])
def test_its_limit_is_an_upper_one_with_and_without_max(name, limit, ok):
    report = made_report(ROWS, gate=GateSettings(thresholds={name: limit}))

    (check,) = [each for each in report.gate.checks if each.name == name]
    assert (check.ok, check.value) == (ok, 0.125)
    assert check.reason.startswith("hallucination_rate 0.12")


def test_a_rise_beyond_two_points_is_a_regression_and_a_fall_is_none():
    risen = made_report(ROWS, baseline=read_baseline({"metrics": {"hallucination_rate": {"mean": 0.10}}}))
    fallen = made_report(ROWS, baseline=read_baseline({"metrics": {"hallucination_rate": {"mean": 0.9}}}))
    own = GateSettings(regression={"hallucination_rate": Allowance(rise=0.5)})

    assert [each.name for each in risen.regressions] == ["hallucination_rate"]
    assert fallen.regressions == ()
    assert fallen.baseline_comparison["hallucination_rate"].improved is True
    assert made_report(
        ROWS, baseline=read_baseline({"metrics": {"hallucination_rate": {"mean": 0.1}}}), gate=own
    ).passed


def test_two_runs_are_compared_by_the_rate_too():
    figures = case_figures(ROWS)["case_0001"]

    assert figures.values["hallucination_rate"] == 0.5
    assert figures.less_is_better == {"hallucination_rate"}


def test_the_report_pools_claims_over_replies_and_tells_why_some_have_none():
    found = made_report(ROWS).hallucination["hallucination_rate"]
    pooled = pooled_rate([(0, 5), (2, 4), (0, 3), (0, 8)])

    assert (found.hallucinated, found.claims, found.rate) == (2, 20, 0.1)
    assert (found.low, found.high) == (pooled.rate.low, pooled.rate.high)
    assert (found.with_any, found.replies, found.any_rate) == (1, 4, 0.25)
    assert found.labels == {"grounded": 18, "paraphrased": 0, "inferred": 0, "hallucinated": 2}
    assert found.states == {"advice": 1, "refusal": 1}


def test_the_pooled_rates_can_have_limits():
    gate = GateSettings(thresholds={"max_hallucinated_claims": 0.05, "max_hallucinated_replies": 0.3})
    checks = {check.name: check.ok for check in made_report(ROWS, gate=gate).gate.checks}

    assert checks["max_hallucinated_claims"] is False
    assert checks["max_hallucinated_replies"] is True


def test_a_run_in_which_nobody_labels_claims_has_none():
    assert made_report([unclaimed(0, "advice")]).hallucination == {}
