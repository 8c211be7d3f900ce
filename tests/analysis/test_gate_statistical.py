"""The statistical gate: a regression is a drop beyond its threshold and beyond chance; what cannot be seen is said."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_results import made_case, made_report, made_result, made_run, simple_results

from cortex_eval.analysis import (
    Allowance,
    GateSettings,
    Quarantined,
    SecondLook,
    StoredRun,
    baseline_of,
    read_baseline,
    summarise,
)
from cortex_eval.core import DatasetVersion, changed

ONE = {
    "accuracy": Allowance(drop=0.02, high=0.05),
    **dict.fromkeys(("pass_rate", "overall_score", "latency_ms"), Allowance()),
}
"""Only accuracy is judged, so that numbers can be reckoned by hand."""


def played(failed=(), *, cases=100, category=None, **fields):
    """Results in which these cases fail, with 1 or 0 for accuracy."""
    return [
        made_result(
            made_case(n, category=category(n) if category else None),
            n,
            state="failed" if n in failed else "passed",
            scores={"accuracy": float(n not in failed)},
            **fields,
        )
        for n in range(cases)
    ]


def stored(rows, *, name="main", run=None, anchor=None):
    """A baseline of these results, with its cases."""
    report = made_report(rows, run=run, passing_threshold=0.0)
    run = changed(report.run, id=f"run-{name}")
    reading = StoredRun(run, lambda with_cases: iter(rows if with_cases else [_bare(row) for row in rows]))
    return replace(read_baseline(baseline_of(report), name=name), run_id=run.id, stored=reading, anchor=anchor)


def _bare(row):
    return changed(row, case_json=None)


def judged(rows, baseline, *, run=None, regression=None, second_looks=(), **settings):
    gate = GateSettings(
        regression={**GateSettings().regression, **(ONE if regression is None else regression)}, **settings
    )
    run = run or made_run(len({row.case_id for row in rows}))
    return summarise(
        run, lambda: iter(rows), gate=gate, passing_threshold=0.0, baseline=baseline, second_looks=second_looks
    )


def check(report, name):
    return next(each for each in report.gate.checks if each.name == name)


def names(report):
    return [each.name for each in report.gate.checks]


def test_a_drop_beyond_its_threshold_and_beyond_chance_is_a_regression():
    report = judged(played(range(10)), stored(played()))

    assert (report.gate.verdict, report.exit_code) == ("regressed", 1)
    (found,) = report.regressions
    assert (found.name, found.severity, found.against) == ("accuracy", "high", "main")
    assert (found.baseline, found.current, found.diff) == (1.0, 0.9, pytest.approx(-0.1))
    # ten of ten discordant pairs got worse
    assert found.p_value == pytest.approx(0.5**10)
    assert found.low < -0.1 < found.high < 0
    assert check(report, "regression.accuracy").reason == "accuracy fell 1.00 → 0.90 (adjusted p < 0.001, allowed 0.02)"


@pytest.mark.parametrize(("lost", "severity"), [(5, "medium"), (6, "high")])
def test_the_severity_is_high_beyond_the_second_threshold(lost, severity):
    report = judged(played(range(lost)), stored(played()), level=0.1)
    assert [each.severity for each in report.regressions] == [severity]


def test_a_drop_beyond_its_threshold_that_may_be_chance_is_listed_and_is_no_regression():
    report = judged(played(range(4)), stored(played((50,))))

    assert report.regressions == ()
    noise = check(report, "noise.accuracy")
    assert noise.ok
    # 4 of 5 discordant pairs got worse: (1 + 5) / 32
    assert noise.reason == "accuracy fell 0.99 → 0.96 (adjusted p 0.19, allowed 0.02), which may be chance"
    assert report.gate.verdict == "inconclusive"


def test_a_significant_drop_within_its_threshold_is_no_regression():
    wide = {**ONE, "accuracy": Allowance(drop=0.2)}
    report = judged(played(range(15)), stored(played()), regression=wide)
    assert (report.gate.verdict, report.regressions) == ("passed", ())
    assert check(report, "regression.accuracy").ok


def test_holm_is_over_the_metrics_that_the_gate_judges():
    def rows(failed):
        return [
            made_result(made_case(n), n, scores={name: float(n not in failed) for name in "abcd"}, state="passed")
            for n in range(100)
        ]

    off = {**ONE, **dict.fromkeys("abcd", Allowance())}
    one = judged(rows(range(6)), stored(rows(())), regression={**off, "a": Allowance(drop=0.02)})
    four = judged(rows(range(6)), stored(rows(())), regression={**off, **dict.fromkeys("abcd", Allowance(drop=0.02))})

    assert [each.p_value for each in one.regressions] == [pytest.approx(1 / 64)]
    assert four.regressions == ()  # 4 × 1/64 > 0.05
    assert check(four, "noise.a").reason.startswith("a fell 1.00 → 0.94 (adjusted p 0.063, allowed 0.02)")


def test_a_run_without_a_drop_passes_when_the_allowed_one_would_have_been_seen():
    generous = {**ONE, "accuracy": Allowance(drop=0.2)}
    report = judged(played((1, 2)), stored(played((1, 2))), regression=generous)

    assert (report.gate.verdict, report.exit_code) == ("passed", 0)
    assert "evidence" not in names(report)
    assert 0 < report.gate.smallest_detectable_drop <= 0.2


def test_too_few_cases_to_see_the_allowed_drop_are_inconclusive_and_the_number_needed_is_said():
    report = judged(played((1,)), stored(played((1,))))

    assert (report.gate.verdict, report.exit_code) == ("inconclusive", 0)
    evidence = check(report, "evidence")
    assert not evidence.ok
    assert evidence.value == report.gate.smallest_detectable_drop > evidence.limit == 0.02
    # Connor 1987 with a share of 0.02 that gets worse, one test at 0.05, power 0.8
    assert evidence.reason == (
        "no metric is known to be worse than main; in 100 cases a drop of accuracy by 0.07 or more would be seen, "
        "to see the allowed 0.02 takes 308 cases"
    )


def test_the_number_needed_follows_from_the_threshold_and_not_from_the_change_that_was_found():
    still = judged(played((1,)), stored(played((1,))))
    better = judged(played(), stored(played((1,))))
    needed = [check(report, "evidence").reason.rpartition("takes ")[2] for report in (still, better)]
    assert needed[0] == "308 cases"
    assert abs(int(needed[1].split()[0]) - 308) < 20  # only the noise differs


def test_inconclusive_can_be_made_to_fail():
    report = judged(played(), stored(played()), inconclusive="fail")
    assert (report.gate.verdict, report.exit_code) == ("inconclusive", 2)
    assert not report.passed


def test_the_strict_rule_counts_a_drop_that_may_be_chance():
    report = judged(played(range(4)), stored(played((50,))), mode="strict")
    assert report.gate.verdict == "regressed"
    (found,) = report.regressions
    assert (found.p_value, found.low) == (None, None)
    assert report.gate.smallest_detectable_drop is None


def test_in_strict_mode_the_figures_decide_and_the_cases_that_broke_are_named_all_the_same():
    wide = {**ONE, "accuracy": Allowance(drop=0.1)}
    report = judged(played((3, 4)), stored(played()), mode="strict", regression=wide)

    assert report.gate.verdict == "passed"
    assert all(change.pairs is None for change in report.baseline_comparison.values())
    assert check(report, "newly_broken").reason == "2 cases that passed in main fail now: case_0003, case_0004"


def test_an_error_and_a_missed_limit_come_before_a_regression_and_a_regression_before_doubt():
    worse, baseline = played(range(30)), stored(played())
    assert judged(worse, baseline, thresholds={"accuracy": 0.9}).gate.verdict == "below"
    assert judged(worse, baseline, run=made_run(200)).gate.verdict == "error"
    assert judged(worse, baseline).gate.verdict == "regressed"


def test_a_partial_run_never_passes_though_nothing_of_it_is_worse():
    generous = {**ONE, "accuracy": Allowance(drop=0.5)}
    rows, run = played(cases=60), made_run(100)
    report = judged(rows, stored(played()), run=run, regression=generous)
    assert (report.gate.verdict, report.exit_code) == ("error", 3)


def test_a_case_that_only_one_run_scored_gives_bounds():
    rows = played((0,))
    rows[1:4] = [made_result(made_case(n), n, state="error_target", scores={}) for n in range(1, 4)]
    report = judged(rows, stored(played((0,))), max_error_rate=0.5)

    assert "; 3 scored in one run only: −0.03 at worst, 0.00 at best" in check(report, "regression.accuracy").reason
    change = report.baseline_comparison["accuracy"]
    assert (change.worst, change.best, change.pairs) == (pytest.approx(-0.03), pytest.approx(0.0), 97)


def test_the_category_that_cost_most_is_named():
    def half(n):
        return "billing" if n < 50 else "dates"

    report = judged(played(range(10), category=half), stored(played(category=half)))
    (found,) = report.regressions
    assert (found.worst_category, found.worst_category_diff) == ("billing", pytest.approx(-0.2))
    assert found.worst_category_failed == 10


def test_a_sample_is_compared_with_the_same_cases_of_the_baseline():
    whole = played(range(50))  # the second half of the baseline is all right
    sample = whole[:10]
    run = made_run(10, dataset=DatasetVersion(name="triage.jsonl", version="4c19e2" + "0" * 58, cases=100))

    for mode in ("statistical", "strict"):
        report = judged(sample, stored(whole), run=run, mode=mode)
        assert report.regressions == ()
        change = report.baseline_comparison["accuracy"]
        assert (change.baseline, change.current, change.diff) == (0.0, 0.0, 0.0)
        assert (
            check(report, "baseline").reason == "10 cases are in main (run run-main) too; not compared: 90 only there"
        )
        assert report.baseline.cases == 10


def test_a_sample_is_never_held_against_the_figures_of_the_whole():
    run = made_run(10, dataset=DatasetVersion(name="triage.jsonl", version="4c19e2" + "0" * 58, cases=100))
    for mode in ("statistical", "strict"):
        report = judged(played(cases=10), read_baseline({"metrics": {"accuracy": 0.5}}), run=run, mode=mode)
        assert report.gate.verdict == "inconclusive"
        assert "only figures are known" in check(report, "evidence").reason


def test_cases_with_other_content_are_not_compared():
    before = [
        made_result(
            made_case(n, ("Another question?",) if n < 30 else ("Where is my bill?",)), n, scores={"accuracy": 1.0}
        )
        for n in range(100)
    ]
    other = made_run(100, dataset=DatasetVersion(name="triage.jsonl", version="0" * 64, cases=100))
    report = judged(played(range(30)), stored(before, run=other))

    assert report.gate.verdict == "inconclusive"
    assert "70 cases are in main" in check(report, "baseline").reason
    assert "30 with other content" in check(report, "baseline").reason


def test_without_a_case_in_common_the_strict_rule_decides_and_that_is_said():
    elsewhere = [changed(row, case_id=f"other_{row.case_id}") for row in played()]
    report = judged(played(range(4)), stored(elsewhere))
    assert report.gate.verdict == "regressed"
    assert "shares no case with this run" in check(report, "mode").reason


def test_slow_drift_is_a_regression_against_the_anchor_though_not_against_the_baseline():
    anchor = stored(played(), name="v1")
    last = stored(played(range(10)), anchor=anchor)
    report = judged(played(range(12)), last)

    assert report.gate.verdict == "regressed"
    assert [(each.name, each.against) for each in report.regressions] == [("accuracy", "v1")]
    told = check(report, "regression.anchor.accuracy").reason
    assert told == "accuracy fell 1.00 → 0.88 against the anchor v1 (adjusted p < 0.001, allowed 0.02)"
    assert (report.anchor.name, report.baseline.name) == ("v1", "main")
    assert report.anchor_comparison["accuracy"].diff == pytest.approx(-0.12)
    document = report.to_dict()
    assert document["anchor"]["name"] == "v1"
    assert document["regressions"][0]["against"] == "v1"


def test_with_an_anchor_all_is_adjusted_together():
    rows = played(range(6))
    alone = judged(rows, stored(played()))
    both = judged(rows, stored(played(), anchor=stored(played(), name="v1")))
    assert alone.regressions[0].p_value == pytest.approx(1 / 64)
    assert [each.p_value for each in both.regressions] == [pytest.approx(2 / 64)] * 2


def test_a_critical_case_that_stayed_broken_is_a_regression_without_any_drop():
    broken = SecondLook(case_id="c1", category=None, against="main", passes=(False, False))
    flaky = SecondLook(case_id="c2", category=None, against="main", passes=(True, False))
    generous = {**ONE, "accuracy": Allowance(drop=0.5)}
    rows, baseline = played(), stored(played())

    assert judged(rows, baseline, regression=generous, second_looks=(broken,)).gate.verdict == "regressed"
    assert judged(rows, baseline, regression=generous, second_looks=(flaky,)).gate.verdict == "passed"


def test_cases_in_quarantine_are_in_no_figure_and_decide_nothing():
    listed = tuple(Quarantined(case=f"case_{n:04}", reason="the clock", until="2026-12-31") for n in range(10))
    generous = {**ONE, "accuracy": Allowance(drop=0.5)}
    report = judged(played(range(10)), stored(played()), regression=generous, quarantine=listed)

    assert report.gate.verdict == "passed"
    assert (report.totals.cases, report.metrics["accuracy"].mean) == (90, 1.0)
    assert {(each.outcome, each.reason, each.until) for each in report.quarantine} == {
        ("failed", "the clock", "2026-12-31")
    }
    assert check(report, "quarantine").reason.startswith(
        "10 cases are in quarantine and did not decide: case_0000 (failed)"
    )
    assert any("10 cases in quarantine are in none of these figures" in note for note in report.notes)
    assert len(report.to_dict()["quarantine"]) == 10


def test_a_quarantine_that_is_over_is_told_and_the_case_decides_again():
    over = (Quarantined(case="case_0000", reason="the clock", until="2026-11-14"),)
    report = made_report(simple_results(3), gate=GateSettings(quarantine=over))
    assert report.totals.cases == 3
    assert check(report, "quarantine.ended").reason.endswith("case_0000 (until 2026-11-14)")


def test_an_error_in_quarantine_is_no_error_of_the_run():
    rows = [*simple_results(3), made_result(made_case(9), 9, state="error_target", scores={})]
    listed = (Quarantined(case="case_0009", reason="down on Sundays"),)
    assert made_report(rows).exit_code == 3
    assert made_report(rows, gate=GateSettings(quarantine=listed)).exit_code == 0


def test_a_run_without_a_baseline_is_read_once():
    rows, reads = simple_results(3), []

    def read():
        reads.append(1)
        return iter(rows)

    summarise(made_run(3), read, gate=GateSettings(), passing_threshold=0.5)
    assert len(reads) == 1


@pytest.mark.parametrize(
    ("failed", "told"),
    [
        ((0,), "1 case that passed in main fails now, 1 of 5 in category c0: case_0000"),
        (
            (1, 3, 7),
            (
                "3 cases that passed in main fail now, 2 of 5 in category c3, 1 of 5 in category c1: "
                "case_0003, case_0007, case_0001"
            ),
        ),
        (
            (*range(2, 20, 4), 0),
            (
                "6 cases that passed in main fail now, all 5 of category c2, 1 of 5 in category c0: "
                "case_0002, case_0006, case_0010 and 3 more"
            ),
        ),
    ],
)
def test_the_cases_that_broke_are_named_and_a_category_that_broke_wholly_comes_first(failed, told):
    def category(n):
        return f"c{n % 4}"

    report = judged(played(failed, cases=20, category=category), stored(played(cases=20, category=category)))

    broken = check(report, "newly_broken")
    assert (broken.reason, broken.value, broken.ok, broken.is_open) == (told, len(failed), True, True)
    assert {each["case_id"] for each in report.to_dict()["case_changes"]["newly_broken"]} == {
        f"case_{n:04}" for n in failed
    }
