"""The overall figures of a quick sample are those of the full mix; an ordinary run is not weighted at all."""

from __future__ import annotations

import pytest
from made_results import made_case, made_report, made_result, made_run

from cortex_eval.analysis import Evidence, GateSettings, Report, decide
from cortex_eval.core import Reply

STRATA = {"easy": {"of": 90, "chosen": 2}, "hard": {"of": 10, "chosen": 2}}


def sampled(strata=STRATA, *, values=(1.0, 1.0, 0.0, 0.0), latencies=(100.0, 100.0, 500.0, 500.0)) -> Report:
    """Two easy cases and two hard ones, drawn from strata of these sizes."""
    results = [
        made_result(
            made_case(n, category="easy" if n < 2 else "hard"),
            n,
            scores={"intent": value},
            state="passed" if value >= 0.7 else "failed",
            reply=Reply(text="x", total_time_ms=latency),
        )
        for n, (value, latency) in enumerate(zip(values, latencies, strict=True))
    ]
    total, chosen = sum(each["of"] for each in strata.values()), sum(each["chosen"] for each in strata.values())
    selection = {"strata": strata, "of": total, "matching": total, "chosen": chosen}
    return made_report(results, run=made_run(4, manifest={"selection": selection, "seed": 3}))


def test_overall_figures_count_each_case_for_those_it_was_drawn_from():
    report = sampled()

    assert report.totals.pass_rate == pytest.approx(0.9)
    assert report.totals.overall_score == pytest.approx(0.9)
    assert report.metrics["intent"].mean == pytest.approx(0.9)
    assert report.metrics["latency_ms"].mean == pytest.approx(0.9 * 100 + 0.1 * 500)
    assert report.overall["overall_intent_accuracy"] == pytest.approx(0.9)
    assert report.overall["overall_avg_latency_ms"] == pytest.approx(140)
    assert (report.totals.passed, report.totals.failed) == (2, 2), "counts are counts"


def test_a_limit_on_the_pass_rate_says_that_it_is_weighted():
    report = sampled()
    evidence = Evidence(
        totals=report.totals,
        expected_cases=4,
        is_partial=False,
        metrics=report.metrics,
        values={"pass_rate": 0.9},
        is_weighted=True,
    )
    gate = decide(evidence, GateSettings(thresholds={"pass_rate": 0.95}), passing_threshold=0.7)

    (told,) = [check.reason for check in gate.checks if check.name == "pass_rate"]
    assert told == "pass_rate 0.90 is under 0.95; 2 of 4 passed, which is weighted to the full mix"


def test_the_interval_is_that_of_the_effective_number_of_cases():
    metric = sampled().metrics["pass_rate"]

    assert metric.scored == 4
    assert metric.low < 0.5
    assert metric.high > metric.mean


def test_tables_by_category_are_as_drawn_and_the_reader_is_told():
    report = sampled()

    assert report.categories["hard"].totals.pass_rate == 0.0
    assert report.categories["easy"].metrics["pass_rate"].mean == 1.0
    (note,) = [note for note in report.notes if note.startswith("A quick sample: 4 of 100 cases")]
    assert "seed 3" in note
    assert "weighted to the full mix (as informative as 2.4 equally weighted cases)" in note


@pytest.mark.parametrize(
    "strata",
    [
        {},
        {"easy": {"of": 2, "chosen": 2}, "hard": {"of": 2, "chosen": 2}},
        {name: {"of": 50, "chosen": 2} for name in STRATA},
    ],
)
def test_a_run_whose_cases_all_count_the_same_is_not_weighted(strata):
    report = sampled(strata)

    assert report.totals.pass_rate == 0.5
    assert not any("quick sample" in note for note in report.notes)


def test_a_category_that_the_draw_missed_is_named():
    report = sampled({**STRATA, "rare": {"of": 5, "chosen": 0}})

    assert "No case was drawn of rare: the overall figures say nothing of them." in report.notes


def test_the_gate_looks_at_the_weighted_figures():
    assert sampled().gate.verdict == "passed", "0.9 of the full mix, though half of the drawn cases failed"
