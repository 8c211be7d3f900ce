"""The words of a comparison: what is no difference, what is within the allowance, and whose allowance it is."""

from __future__ import annotations

import pytest
from made_results import made_case, made_result, made_run

from cortex_eval.analysis import Allowance, GateSettings, compare_runs
from cortex_eval.core import Reply
from cortex_eval.reports import render_versus_console

GATE = GateSettings()


def played(latencies, failed=()):
    """The results of a run whose cases took so long."""
    return [
        made_result(
            made_case(n),
            n,
            reply=Reply(text="In your inbox.", total_time_ms=float(latency)),
            **({"state": "failed", "scores": {"accuracy": 0.1}} if n in failed else {}),
        )
        for n, latency in enumerate(latencies)
    ]


def compared(a, b, gate=GATE):
    runs = [made_run(len(a), id="a"), made_run(len(b), id="b")]
    return compare_runs(runs, lambda run, _: iter({"a": a, "b": b}[run.id]), gate=gate)


def row(versus, name):
    (found,) = [line for line in render_versus_console(versus).splitlines() if line.split()[:1] == [name]]
    return found


@pytest.mark.parametrize("cases", [5, 40])
def test_a_change_of_latency_within_the_allowance_is_told_alike_whether_or_not_the_test_sees_it(cases):
    found = compared(played([15 + n % 3 for n in range(cases)]), played([8 + n % 2 for n in range(cases)]))

    metric = found.comparisons[0].metrics["latency_ms"]
    assert metric.high < 0
    assert metric.verdict == ("better" if cases == 40 else "no difference seen")
    assert row(found, "latency_ms").endswith("  within 100 ms")
    assert found.verdict == "no difference seen"


def test_only_what_is_the_same_in_every_case_is_called_no_difference():
    found = compared(played([15] * 8), played([15] * 8))

    assert row(found, "latency_ms").endswith("  no difference")
    assert row(found, "pass_rate").endswith("  no difference")


@pytest.mark.parametrize(
    ("gate", "source"),
    [
        (GateSettings(mode="strict"), "0.02 (gate.regression, by default)"),
        (GateSettings(regression={"pass_rate": Allowance(drop=0.05)}), "0.05 (of your gate)"),
    ],
)
def test_what_could_be_seen_is_of_a_statistical_gate_and_says_where_the_allowance_is_from(gate, source):
    shown = render_versus_console(compared(played([15] * 12), played([15] * 12, failed={3}), gate))

    assert max(map(len, shown.splitlines())) <= 80
    said = " ".join(shown.split())
    assert "In 12 cases a statistical gate would see a drop of pass_rate by " in said
    assert f"four times in five; to see the allowed {source} takes " in said


def test_cases_that_one_run_did_not_score_are_not_said_to_score_the_same():
    lost = [*played([15] * 7), made_result(made_case(7), 7, state="error_target", scores={})]

    said = " ".join(render_versus_console(compared(played([15] * 8), lost)).split())

    assert "NO DIFFERENCE SEEN A and B score the same in every case that both scored." in said
