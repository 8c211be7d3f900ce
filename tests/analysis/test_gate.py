"""The gate's verdicts, limits and exit codes."""

import pytest
from made_results import made_case, made_report, made_result, made_run, simple_results

from cortex_eval.analysis import Allowance, GateSettings, read_baseline


def _check(report, name):
    return next(check for check in report.gate.checks if check.name == name)


def test_without_thresholds_the_overall_score_must_reach_the_passing_threshold():
    good = made_report(simple_results(5, 0.9), passing_threshold=0.7)
    assert (good.gate.verdict, good.exit_code, good.passed) == ("passed", 0, True)
    bad = made_report(simple_results(5, 0.6), passing_threshold=0.7)
    assert (bad.gate.verdict, bad.exit_code, bad.passed) == ("below", 2, False)
    assert _check(bad, "overall_score").reason == "overall_score 0.60 is under 0.70"


def test_a_score_just_at_the_limit_passes_whatever_binary_fractions_say():
    rows = [made_result(made_case(i), i, scores={"accuracy": v}) for i, v in enumerate((0.6, 0.7, 0.8))]
    assert made_report(rows, passing_threshold=0.7).passed


def test_thresholds_replace_the_passing_threshold():
    settings = GateSettings(thresholds={"pass_rate": 0.5})
    assert made_report(simple_results(5, 0.6), gate=settings, passing_threshold=0.7).passed


def test_fail_under_is_a_limit_on_the_overall_score():
    settings = GateSettings(fail_under=0.95)
    assert made_report(simple_results(5, 0.9), gate=settings).gate.verdict == "below"
    assert made_report(simple_results(5, 0.96), gate=settings).passed


def test_names_that_start_with_max_are_upper_limits_on_the_mean():
    assert made_report(simple_results(3), gate=GateSettings(thresholds={"max_latency_ms": 200})).passed
    slow = made_report(simple_results(3), gate=GateSettings(thresholds={"max_latency_ms": 150}))
    assert slow.gate.verdict == "below"
    told = "mean latency_ms 200 is above the limit of 150 (over 3 of 3 replies)"
    assert _check(slow, "max_latency_ms").reason == told


@pytest.mark.parametrize("name", ["max_p95_latency_ms", "p95_latency_ms"])
def test_a_limit_on_the_95th_percentile_sees_the_slow_replies_that_the_mean_hides(name):
    rows = [made_result(made_case(n), n, latency_ms=9_000.0 if n < 2 else 100.0) for n in range(20)]
    rows.append(made_result(made_case(20), 20, state="error_target", scores={}))
    both = GateSettings(thresholds={"max_latency_ms": 1_000, name: 5_000}, max_error_rate=0.1)

    report = made_report(rows, gate=both)

    assert report.gate.verdict == "below"
    assert (
        _check(report, "max_latency_ms").reason
        == "mean latency_ms 990 is within the limit of 1,000 (over 20 of 21 replies)"
    )
    assert _check(report, name).reason == "p95_latency_ms 9,000 is above the limit of 5,000 (over 20 of 21 replies)"
    looser = GateSettings(thresholds={name: 9_000}, max_error_rate=0.1)
    assert made_report(rows, gate=looser).passed


@pytest.mark.parametrize("name", ["intent", "intent_accuracy"])
def test_a_metric_is_found_under_both_its_names(name):
    rows = [made_result(made_case(i), i, scores={"intent": float(i > 0)}) for i in range(4)]
    report = made_report(rows, gate=GateSettings(thresholds={name: 0.8}))
    assert _check(report, name).value == 0.75
    assert report.gate.verdict == "below"


def test_a_limit_on_a_metric_that_was_not_scored_is_not_met_and_says_so():
    report = made_report(simple_results(3), gate=GateSettings(thresholds={"faithfulness": 0.5}))
    assert (report.gate.verdict, report.exit_code) == ("below", 2)
    assert "was not scored" in _check(report, "faithfulness").reason


def test_errors_beyond_the_tolerance_come_before_everything_else():
    rows = [*simple_results(9, 0.1), made_result(made_case(9), 9, state="error_target", scores={})]
    report = made_report(rows)
    assert (report.gate.verdict, report.exit_code) == ("error", 3)
    assert _check(report, "error_rate").reason == "1 of 10 cases ended in an error (allowed none)"
    assert made_report(rows, gate=GateSettings(max_error_rate=0.1)).exit_code == 2


def test_a_gated_metric_that_mostly_failed_to_answer_is_an_error_not_a_pass():
    broken = {"accuracy": 0.9, "rubric": {"error": {"kind": "timeout", "message": "no verdict"}}}
    rows = [made_result(made_case(0), 0, scores={"accuracy": 0.9, "rubric": 1.0})]
    rows += [made_result(made_case(i), i, scores=broken) for i in range(1, 5)]
    report = made_report(rows, gate=GateSettings(thresholds={"rubric": 0.5}))
    assert report.exit_code == 3
    assert "rubric gave no answer for 4 of 5" in _check(report, "error_rate.rubric").reason


def test_a_partial_run_never_passes():
    assert made_report(simple_results(5), is_partial=True).exit_code == 3
    cut = made_report(simple_results(5), run=made_run(20))
    assert cut.exit_code == 3
    assert "only 5 of 20 cases" in _check(cut, "complete").reason


def test_an_error_counts_as_not_correct_where_errors_are_tolerated():
    rows = [made_result(made_case(i, expected=_intent()), i, scores={"intent": 1.0}) for i in range(9)]
    rows.append(made_result(made_case(9, expected=_intent()), 9, state="error_target", scores={}))
    report = made_report(rows, gate=GateSettings(thresholds={"intent": 0.95}, max_error_rate=0.2))
    assert report.gate.verdict == "below"
    assert "errors count as not correct, without them it is 1.00" in _check(report, "intent").reason


def _intent():
    from cortex_eval.core import Expected

    return Expected(intent="A")


def _against(baseline, value, **settings):
    hits = round(1000 * value)
    rows = [made_result(made_case(i), i, scores={"intent": float(i < hits)}) for i in range(1000)]
    return made_report(rows, baseline=read_baseline(baseline), gate=GateSettings(**settings), passing_threshold=0.0)


@pytest.mark.parametrize(
    ("before", "now", "severity"),
    [(0.90, 0.88, None), (0.90, 0.879, "medium"), (0.90, 0.85, "medium"), (0.90, 0.849, "high"), (0.80, 0.90, None)],
)
def test_the_strict_rule_has_the_seeds_limits_and_severities(before, now, severity):
    report = _against({"overall_intent_accuracy": before}, now, mode="strict")
    found = [(each.metric, each.severity) for each in report.regressions]
    assert found == ([("overall_intent_accuracy", severity)] if severity else [])
    assert report.exit_code == (1 if severity else 0)


@pytest.mark.parametrize(("rise", "severity"), [(100, None), (101, "medium"), (200, "medium"), (201, "high")])
def test_latency_may_rise_by_a_hundred_milliseconds(rise, severity):
    report = _against({"overall_avg_latency_ms": 200.0 - rise}, 1.0)
    assert [each.severity for each in report.regressions] == ([severity] if severity else [])


def test_every_other_rate_may_fall_by_two_points():
    falling = made_report(simple_results(5, 0.9), baseline=read_baseline({"metrics": {"accuracy": {"mean": 0.93}}}))
    assert [(each.metric, each.severity) for each in falling.regressions] == [("accuracy", "medium")]
    own = GateSettings(regression={"accuracy": Allowance(drop=0.1)})
    assert made_report(
        simple_results(5, 0.9), baseline=read_baseline({"metrics": {"accuracy": {"mean": 0.93}}}), gate=own
    ).passed


def test_below_comes_before_a_regression():
    rows = [made_result(made_case(i), i, scores={"intent": 0.5}) for i in range(4)]
    baseline = read_baseline({"overall_intent_accuracy": 0.9})
    assert made_report(rows, baseline=baseline, passing_threshold=0.7).exit_code == 2


def test_a_baseline_of_which_only_figures_are_known_is_compared_by_the_strict_rule_and_that_is_said():
    report = _against({"overall_intent_accuracy": 0.9}, 0.9)
    assert report.gate.verdict == "passed"
    assert report.gate.smallest_detectable_drop is None
    reason = _check(report, "mode").reason
    assert reason.startswith("the strict rule decided, for the baseline default has no cases in this store")
    strict = _against({"overall_intent_accuracy": 0.9}, 0.9, mode="strict")
    assert "mode" not in {check.name for check in strict.gate.checks}


def test_numbers_that_differ_are_shown_to_differ():
    report = made_report(simple_results(3, 0.6996), passing_threshold=0.7)
    assert _check(report, "overall_score").reason == "overall_score 0.6996 is under 0.7000"
