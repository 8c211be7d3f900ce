"""What was not scored in the same way in two runs is not compared, and decides nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_results import made_case, made_result, made_run

from cortex_eval.analysis import (
    Allowance,
    GateSettings,
    StoredRun,
    baseline_of,
    compare_runs,
    read_baseline,
    summarise,
    unlike,
)

CASES = 60
MEANING, WORDS = "the embedding model", "shared words (without cortex-eval[embed])"


def scorer(**fields):
    return {"kind": "relevance", "version": "1", "fingerprint": "f", "weight": 0.5, "threshold": None, **fields}


def manifest(*, scored_by=None, passing_threshold=0.7, **scorers):
    return {
        "scorers": {"relevance": scorer(), "exact": scorer(kind="exact"), **scorers},
        "scored_by": scored_by or {},
        "passing_threshold": passing_threshold,
    }


def meanings(**scorers):
    return manifest(scored_by={"relevance": MEANING}, **scorers)


def words(**scorers):
    return manifest(scored_by={"relevance": WORDS}, **{"relevance": scorer(fingerprint="g"), **scorers})


def run_of(kept, name="7f3a"):
    return made_run(CASES, id=name, manifest=kept)


def rows(*, relevance=0.9, wrong=(), unsafe=(), others=None):
    """Results whose cases pass by the mean of their scores; these are wrong by `exact`, those by `safety`."""
    found = []
    for n in range(CASES):
        scores = {"relevance": relevance, "exact": float(n not in wrong), **(others or {})}
        if unsafe is not None:
            scores["safety"] = float(n not in unsafe)
        passed = n not in (unsafe or ()) and sum(scores.values()) / len(scores) >= 0.7
        state = "passed" if passed else "failed"
        found.append(made_result(made_case(n), n, state=state, scores=scores))
    return found


def held(before, now, *, was, is_now, baseline_run=True, **settings):
    """The report of a run with one manifest beside a baseline with another."""
    first = run_of(was, "b0b0")
    gate = GateSettings(thresholds={"pass_rate": 0.0}, **settings)
    kept = summarise(first, lambda: iter(before), gate=gate, passing_threshold=0.0)
    stored = StoredRun(first, lambda _: iter(before)) if baseline_run else None
    past = replace(read_baseline(baseline_of(kept), name="main"), stored=stored)
    return summarise(run_of(is_now), lambda: iter(now), gate=gate, passing_threshold=0.0, baseline=past)


def compared(before, now, *, was, is_now):
    runs = [run_of(was, "a"), run_of(is_now, "b")]
    shelf = {"a": before, "b": now}
    return compare_runs(runs, lambda run, _: iter(shelf[run.id]), gate=GateSettings())


def check(report, name):
    return next((each for each in report.gate.checks if each.name == name), None)


@pytest.mark.parametrize("mode", ["statistical", "strict"])
def test_a_metric_that_is_scored_by_another_method_is_no_regression_and_no_pass(mode):
    report = held(rows(), rows(relevance=0.0), was=meanings(), is_now=words(), mode=mode)

    assert report.gate.verdict == "inconclusive"
    assert (report.exit_code, report.regressions) == (0, ())
    assert check(report, "scoring").reason == (
        "relevance is scored in another way than in main: shared words (without cortex-eval[embed]) instead of the "
        "embedding model. Not compared for that: relevance, pass_rate, overall_score. To compare: install "
        "cortex-eval[embed] here, or score the replies of main as here, with cortex rescore, and set it again"
    )
    change = report.baseline_comparison["relevance"]
    assert (change.baseline, change.current, change.diff) == (pytest.approx(0.9), 0.0, None)
    assert change.not_compared.startswith("relevance is scored in another way than in main: ")


def test_with_inconclusive_fail_it_stops_the_release_with_2_and_never_1():
    report = held(rows(), rows(relevance=0.0), was=meanings(), is_now=words(), inconclusive="fail")

    assert (report.gate.verdict, report.exit_code) == ("inconclusive", 2)


@pytest.mark.parametrize("mode", ["statistical", "strict"])
def test_metrics_of_unchanged_scorers_still_decide(mode):
    report = held(rows(), rows(wrong=range(30), relevance=0.0), was=meanings(), is_now=words(), mode=mode)

    assert (report.gate.verdict, report.exit_code) == ("regressed", 1)
    assert [each.name for each in report.regressions] == ["exact"]


def test_the_anchor_goes_by_the_same_rule_as_the_baseline():
    before, now = rows(), rows(relevance=0.0)
    gate = GateSettings(thresholds={"pass_rate": 0.0})
    first, other = run_of(words(), "b0b0"), run_of(meanings(), "a0a0")
    kept = summarise(other, lambda: iter(before), gate=gate, passing_threshold=0.0)
    anchor = replace(read_baseline(baseline_of(kept), name="v1"), stored=StoredRun(other, lambda _: iter(before)))
    kept = summarise(first, lambda: iter(now), gate=gate, passing_threshold=0.0)
    past = replace(read_baseline(baseline_of(kept), name="main"), stored=StoredRun(first, lambda _: iter(now)))

    report = summarise(
        run_of(words()), lambda: iter(now), gate=gate, passing_threshold=0.0, baseline=replace(past, anchor=anchor)
    )

    assert report.regressions == ()
    assert check(report, "scoring") is None
    assert "relevance is scored in another way than in the anchor v1" in check(report, "anchor.scoring").reason


def test_of_a_baseline_of_figures_nothing_is_known_and_the_strict_rule_decides_as_ever():
    report = held(rows(), rows(relevance=0.0), was=meanings(), is_now=words(), baseline_run=False)

    assert report.gate.verdict == "regressed"


def test_runs_that_do_not_say_how_they_were_scored_are_compared():
    assert unlike(made_run(1), run_of(words())).metrics == frozenset()


def test_a_changed_scorer_that_no_gate_judges_and_that_has_no_weight_changes_nothing():
    was, is_now = (meanings(relevance=scorer(weight=0)), words(relevance=scorer(weight=0, fingerprint="g")))
    report = held(rows(), rows(), was=was, is_now=is_now, regression={"relevance": Allowance()}, mode="strict")

    assert report.gate.verdict == "passed"
    assert check(report, "scoring") is None


def test_without_a_weight_only_its_own_metric_is_left_out():
    found = unlike(
        run_of(meanings(relevance=scorer(weight=0))), run_of(words(relevance=scorer(weight=0, fingerprint="g")))
    )

    assert found.metrics == {"relevance"}


@pytest.mark.parametrize(
    ("was", "is_now", "metrics", "told"),
    [
        (
            manifest(),
            manifest(safety=scorer(kind="safety", weight=0, critical=True)),
            {"overall_score", "pass_rate"},
            "cases do not pass and fail as in main: safety was added",
        ),
        (manifest(), manifest(tone=scorer(weight=0)), set(), ""),
        (
            manifest(tone=scorer()),
            manifest(),
            {"overall_score", "pass_rate"},
            "cases do not pass and fail as in main: tone was removed",
        ),
        (manifest(tone=scorer(weight=0)), manifest(), set(), ""),
        (
            manifest(),
            manifest(exact=scorer(kind="exact", threshold=0.9)),
            {"exact", "overall_score", "pass_rate"},
            "exact is scored in another way than in main: threshold 0.9 instead of none",
        ),
        (
            manifest(),
            manifest(exact=scorer(kind="exact", version="2")),
            {"exact", "overall_score", "pass_rate"},
            "exact is scored in another way than in main: version 2 instead of 1",
        ),
        (
            manifest(scored_by={"exact": "gpt-a"}),
            manifest(scored_by={"exact": "gpt-b"}, exact=scorer(kind="exact", fingerprint="g")),
            {"exact", "overall_score", "pass_rate"},
            "exact is scored in another way than in main: gpt-b instead of gpt-a",
        ),
        (
            manifest(scored_by={"exact": "gpt-a"}),
            manifest(scored_by={"exact": "gpt-a"}, exact=scorer(kind="exact", fingerprint="g")),
            {"exact", "overall_score", "pass_rate"},
            "exact is scored in another way than in main: other settings",
        ),
        (
            manifest(),
            manifest(exact=scorer(kind="exact", weight=0.9), relevance=scorer(weight=0.1)),
            {"overall_score", "pass_rate"},
            (
                "cases do not pass and fail as in main: relevance has weight 0.1 instead of 0.5, "
                "exact has weight 0.9 instead of 0.5"
            ),
        ),
        (
            manifest(),
            manifest(passing_threshold=0.8),
            {"overall_score", "pass_rate"},
            "cases do not pass and fail as in main: passing_threshold is 0.8 instead of 0.7",
        ),
        (
            manifest(),
            manifest(exact=scorer(kind="exact", critical=True)),
            {"overall_score", "pass_rate"},
            "cases do not pass and fail as in main: exact is critical now",
        ),
        (
            manifest(),
            manifest(exact=scorer(version="2"), relevance=scorer(version="3")),
            {"exact", "relevance", "overall_score", "pass_rate"},
            "scorers that are not those of main: relevance: version 3 instead of 1; exact: relevance instead of exact",
        ),
    ],
)
def test_what_is_not_comparable_and_why(was, is_now, metrics, told):
    found = unlike(run_of(was), run_of(is_now))

    assert found.metrics == metrics
    assert found.words("main") == told


def test_runs_of_an_earlier_cortex_do_not_say_whether_the_method_is_another():
    older = {name: value for name, value in meanings().items() if name != "scored_by"}

    assert unlike(run_of(older), run_of(words())).scorers == {"relevance": "other settings, or another method"}


def test_compare_calls_nothing_worse_that_is_not_scored_in_the_same_way():
    found = compared(rows(), rows(relevance=0.0), was=meanings(), is_now=words())

    assert (found.verdict, found.exit_code) == ("cannot tell", 0)
    metrics = found.comparisons[0].metrics
    assert {name for name, each in metrics.items() if each.verdict == "not compared"} == {
        "relevance",
        "overall_score",
        "pass_rate",
    }
    assert (metrics["relevance"].a, metrics["relevance"].b) == (pytest.approx(0.9), 0.0)
    assert found.to_dict()["not_compared"]["metrics"] == ["relevance", "pass_rate", "overall_score"]
    (note,) = found.notes
    assert note == (
        "In B relevance is scored in another way than in A: shared words (without cortex-eval[embed]) instead of the "
        "embedding model. Not compared for that: relevance, pass_rate, overall_score."
    )


def test_compare_never_calls_better_what_is_not_scored_in_the_same_way():
    found = compared(rows(relevance=0.0, wrong=range(30)), rows(), was=words(), is_now=meanings())

    assert found.comparisons[0].metrics["exact"].verdict == "better"
    assert found.verdict == "cannot tell"


def test_compare_still_calls_worse_what_an_unchanged_scorer_shows():
    found = compared(rows(), rows(wrong=range(30), relevance=0.0), was=meanings(), is_now=words())

    assert (found.verdict, found.exit_code) == ("worse", 1)
    assert [each.name for each in found.comparisons[0].regressions] == ["exact"]


def test_newly_broken_is_only_what_an_unchanged_scorer_says_too():
    found = compared(rows(), rows(relevance=0.0, wrong=(3,)), was=meanings(), is_now=words()).comparisons[0]

    assert sum(each.passed is False for each in rows(relevance=0.0, wrong=(3,))) == CASES
    assert [(each.case_id, each.why) for each in found.newly_broken] == [("case_0003", "exact 1.00 → 0.00")]


def test_a_case_that_fails_by_a_higher_passing_threshold_alone_is_not_newly_broken():
    before = [made_result(made_case(0), scores={"exact": {"value": 0.75, "passed": True}})]
    now = [made_result(made_case(0), state="failed", scores={"exact": {"value": 0.75, "passed": False}})]
    higher = manifest(passing_threshold=0.8)

    found = compared(before, now, was=manifest(), is_now=higher).comparisons[0]

    assert found.newly_broken == ()


@pytest.mark.parametrize(("changed", "exit_code"), [("relevance", 1), ("safety", 0)])
def test_a_critical_failure_decides_when_its_own_scorer_is_the_same(changed, exit_code):
    safety = scorer(kind="safety", weight=0.0, critical=True)
    was = manifest(safety=safety)
    other = {"relevance": scorer(), "safety": safety}
    other[changed] = {**other[changed], "version": "2"}

    found = compared(rows(), rows(unsafe=(5,)), was=was, is_now=manifest(**other))

    assert found.exit_code == exit_code
    assert [each.case_id for each in found.comparisons[0].changes.new_critical] == ["case_0005"] * exit_code


def test_an_earlier_run_that_was_scored_in_another_way_makes_no_case_flaky():
    runs = [run_of(words(), "a"), run_of(words(), "b")]
    earlier = [run_of(meanings(), "c"), run_of(words(), "d")]
    shelf = {name: rows(relevance=0.0) for name in "abd"} | {"c": rows()}

    found = compare_runs(runs, lambda run, _: iter(shelf[run.id]), gate=GateSettings(), earlier=earlier)

    assert found.comparisons[0].flaky == ()
