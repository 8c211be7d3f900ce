"""Two runs case by case: figures of cases, what differs by more than chance, what broke, what cannot be relied on."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_results import made_case, made_result

from cortex_eval.analysis import CaseFigures, broken_words, case_figures, compare_cases
from cortex_eval.core import Reply

HIGHER = {"pass_rate": "higher"}


def case(number, *passes, category="billing", error=False, **values):
    share = {"pass_rate": sum(passes) / len(passes)} if passes else {}
    return CaseFigures(
        case_id=f"c{number:03}",
        cluster=f"c{number:03}",
        category=category,
        values={**values, **share},
        passes=passes,
        error=error,
    )


def run(*cases):
    return {each.case_id: each for each in cases}


def broken(count, of, **labels):
    """Two runs, of which the second fails the first so many cases."""
    return (
        run(*(case(n, True, **labels) for n in range(of))),
        run(*(case(n, n >= count, **labels) for n in range(of))),
    )


def test_the_figures_of_a_case_are_means_over_turns_and_repeats():
    talk = made_case(1, ["Hello?", "And now?"], category="billing", tier=2, cluster_id="talks", tags=("critical",))
    rows = [
        made_result(talk, repeat=0, turn=0, scores={"accuracy": 1.0}),
        made_result(talk, repeat=0, turn=1, scores={"accuracy": 0.5, "tone": 0.2}, state="failed"),
        made_result(talk, repeat=1, turn=0, scores={"accuracy": 0.0}),
        made_result(talk, repeat=1, turn=1, scores={"accuracy": 0.5}),
    ]

    (found,) = case_figures(rows).values()

    assert found.values == pytest.approx(
        {"accuracy": 0.5, "tone": 0.2, "latency_ms": 200.0, "overall_score": (0.675 + 0.25) / 2, "pass_rate": 0.5}
    )
    assert found.by_turn["accuracy"] == {0: 0.5, 1: 0.5}
    assert found.by_turn["tone"] == {1: 0.2}
    assert found.passes == (False, True)
    assert found.is_mixed
    assert found.verdict is None
    assert (found.cluster, found.category, found.tier, found.is_critical) == ("talks", "billing", 2, True)


def test_an_error_is_no_score_and_no_verdict():
    one = made_case(1)
    rows = [
        made_result(one, repeat=0, scores={"accuracy": 1.0}),
        made_result(one, repeat=1, state="error_target", scores={}),
    ]

    (found,) = case_figures(rows).values()

    assert found.error
    assert found.passes == (True,)
    assert found.values["pass_rate"] == 1.0
    assert found.values["accuracy"] == 1.0


def test_whether_the_target_used_its_model_and_a_scorer_named_critical_are_among_the_figures():
    one = made_case(1)
    rows = [made_result(one, scores={"safety": 0.0}, state="failed", reply=Reply(text="Hm.", llm_invoked=True))]

    assert case_figures(rows)["case_0001"].values["llm_usage_rate"] == 1.0
    assert not case_figures(rows)["case_0001"].fails_critical
    assert case_figures(rows, critical_scorers={"safety"})["case_0001"].fails_critical == {"safety"}


def test_only_what_is_asked_and_expected_makes_another_case():
    first, relabelled, other = (
        case_figures([made_result(each)])["case_0001"].fingerprint
        for each in (
            made_case(1, ["Where is my bill?"], category="billing"),
            made_case(1, ["Where is my bill?"], category="money", tags=("new",), metadata={"author": "me"}),
            made_case(1, ["Where is my invoice?"], category="billing"),
        )
    )
    assert first == relabelled
    assert first != other


def test_a_clear_drop_is_worse_and_a_small_one_may_be_chance():
    clear = compare_cases(*broken(12, of=100), directions=HIGHER, allowed={"pass_rate": 0.02}).metrics["pass_rate"]
    small = compare_cases(*broken(4, of=100), directions=HIGHER, allowed={"pass_rate": 0.02}).metrics["pass_rate"]

    assert (clear.a, clear.b, clear.diff, clear.pairs) == pytest.approx((1.0, 0.88, -0.12, 100))
    assert clear.p_value == pytest.approx(2 / 2**12)
    assert (clear.verdict, clear.is_regression) == ("worse", True)
    assert -0.2 < clear.low < -0.12 < clear.high < 0
    assert (small.verdict, small.is_regression) == ("may be chance", False)
    assert small.worsening == pytest.approx(0.04)
    assert small.more_cases_needed > 200


def test_asked_only_for_the_worse_the_same_drop_is_half_as_likely_by_chance_and_nothing_is_better():
    before, after = broken(6, of=100)
    one_sided = compare_cases(before, after, directions=HIGHER, alternative="worse").metrics["pass_rate"]
    improved = compare_cases(after, before, directions=HIGHER, alternative="worse").metrics["pass_rate"]
    two_sided = compare_cases(after, before, directions=HIGHER).metrics["pass_rate"]

    assert one_sided.p_value == pytest.approx(1 / 2**6)
    assert improved.p_value == 1.0
    assert (one_sided.verdict, improved.verdict, two_sided.verdict) == ("worse", "no difference seen", "better")


def test_less_latency_is_better_and_a_few_milliseconds_say_nothing():
    def timed(ms):
        return run(*(case(n, latency_ms=ms + n % 7) for n in range(60)))

    directions, allowed = {"latency_ms": "lower"}, {"latency_ms": 100.0}
    slower, slightly, faster = (
        compare_cases(timed(200), timed(after), directions=directions, allowed=allowed).metrics["latency_ms"]
        for after in (450, 210, 80)
    )
    assert (slower.verdict, slower.is_regression, slower.is_telling) == ("worse", True, True)
    assert (slightly.verdict, slightly.is_regression, slightly.is_telling) == ("worse", False, False)
    assert (faster.verdict, faster.is_telling) == ("better", True)


def test_all_metrics_are_judged_together():
    before = run(*(case(n, True, **{f"m{m}": 1.0 for m in range(5)}) for n in range(60)))
    after = run(
        *(case(n, n >= 7, **{f"m{m}": float(n >= 7 if m == 0 else n != m) for m in range(5)}) for n in range(60))
    )
    names = {**HIGHER, **{f"m{m}": "higher" for m in range(5)}}
    alone = compare_cases(before, after, directions=HIGHER).metrics["pass_rate"]
    together = compare_cases(before, after, directions=names).metrics

    assert alone.adjusted_p == alone.p_value
    assert together["pass_rate"].adjusted_p == pytest.approx(6 * alone.p_value)
    assert together["pass_rate"].verdict == "may be chance"
    assert together["pass_rate"].smallest_detectable > alone.smallest_detectable


def test_a_metric_without_any_difference_does_not_count_among_the_tests():
    before = run(*(case(n, True, still=1.0) for n in range(60)))
    after = run(*(case(n, n >= 7, still=1.0) for n in range(60)))

    found = compare_cases(before, after, directions={**HIGHER, "still": "higher"}).metrics

    assert found["pass_rate"].adjusted_p == found["pass_rate"].p_value
    assert (found["still"].adjusted_p, found["still"].verdict) == (1.0, "no difference seen")
    assert found["still"].low < 0 < found["still"].high


def test_turns_of_a_conversation_are_one_piece_of_evidence():
    def talks(value):
        return {
            f"t{n}": CaseFigures(
                case_id=f"t{n}",
                cluster=f"t{n}",
                values={"intent": value},
                by_turn={"intent": dict.fromkeys(range(5), value)},
            )
            for n in range(4)
        }

    found = compare_cases(talks(1.0), talks(0.0), directions={"intent": "higher"}, alternative="worse").metrics[
        "intent"
    ]

    assert (found.pairs, found.clusters, found.differing) == (20, 4, 4)
    assert found.p_value == 1 / 16
    assert found.smallest_detectable is None, "four conversations can show nothing at this level"


def test_the_mean_is_that_of_the_report_whatever_the_length_of_conversations():
    long = CaseFigures(case_id="a", cluster="a", values={"m": 1.0}, by_turn={"m": {0: 1.0, 1: 1.0, 2: 1.0}})
    short = CaseFigures(case_id="b", cluster="b", values={"m": 0.0})
    cut_off = replace(long, values={"m": 0.0}, by_turn={"m": {0: 0.0, 1: 0.0}})

    found = compare_cases(run(long, short), run(cut_off, short), directions={"m": "higher"}).metrics["m"]

    assert (found.a, found.b) == pytest.approx((2 / 3, 0.0))
    assert (found.pairs, found.only_a, found.only_b) == (3, 1, 0)
    assert (found.worst, found.best) == pytest.approx((-3 / 4, -2 / 4))


def test_what_one_run_did_not_score_gives_bounds():
    before = run(case(1, True), case(2, True), case(3, False), case(4, error=True))
    after = run(case(1, True), case(2, error=True), case(3, False), case(4, True))

    found = compare_cases(before, after, directions=HIGHER)
    metric = found.metrics["pass_rate"]

    assert (metric.pairs, metric.only_a, metric.only_b) == (2, 1, 1)
    assert metric.diff == 0
    assert (metric.worst, metric.best) == pytest.approx((-1 / 4, 1 / 4))
    assert [each.case_id for each in found.newly_in_error] == ["c002"]
    assert not found.newly_broken


def test_what_was_scored_in_no_pair_is_undefined():
    found = compare_cases(run(case(1, True)), run(case(1, True)), directions={"tone": "higher"})
    assert found.metrics["tone"].verdict == "undefined"
    assert found.metrics["tone"].diff is None


def test_broken_fixed_and_flaky_cases_are_named_with_their_reason():
    before = run(
        case(1, True, intent=1.0), case(2, False, intent=0.0), case(3, True, True), case(4, True, False), case(5, True)
    )
    after = run(
        case(1, False, intent=0.0), case(2, True, intent=1.0), case(3, True, False), case(4, True, True), case(5, True)
    )

    found = compare_cases(before, after, directions={"intent": "higher", **HIGHER})

    assert [(each.case_id, each.why) for each in found.newly_broken] == [("c001", "intent 1.00 → 0.00")]
    assert [(each.case_id, each.why) for each in found.newly_fixed] == [("c002", "intent 0.00 → 1.00")]
    assert [(each.case_id, each.why) for each in found.flaky] == [
        ("c003", "passed 1 of 2 in B"),
        ("c004", "passed 1 of 2 in A"),
    ]
    assert found.newly_broken[0].category == "billing"
    assert found.repeats_b.k == 2
    assert (found.repeats_b.pass_at_k, found.repeats_b.pass_hat_k) == (1.0, 0.5)


def test_a_case_that_earlier_runs_call_flaky_is_told_beside_what_broke_and_never_hidden():
    before, after = broken(2, of=4)
    earlier = [run(case(0, True)), run(case(0, False)), run(case(1, True))]

    found = compare_cases(before, after, directions=HIGHER, history=[earlier])

    assert [(each.case_id, each.is_flaky) for each in found.newly_broken] == [("c000", True), ("c001", False)]
    assert [(each.case_id, each.why) for each in found.flaky] == [("c000", "passed in 1 of 2 runs of the same version")]


def test_runs_of_different_versions_do_not_make_a_case_flaky():
    before, after = broken(2, of=4)
    assert compare_cases(before, after, directions=HIGHER, history=[[before], [after]]).flaky == ()


def test_critical_cases_come_first():
    before = run(case(1, True), case(2, True))
    after = run(case(1, False), replace(case(2, False), is_critical=True))
    found = compare_cases(before, after, directions=HIGHER).newly_broken
    assert [(each.case_id, each.is_critical) for each in found] == [("c002", True), ("c001", False)]


def test_what_breaks_something_critical_comes_before_a_case_that_broke_a_grave_rule_before_too():
    rule = frozenset({"safety"})
    grave = {"is_grave": True, "fails_critical": rule}
    before = run(replace(case(1, True, safety=0.0), **grave), case(2, True, safety=1.0))
    after = run(replace(case(1, False, safety=0.0), **grave), replace(case(2, False, safety=0.0), fails_critical=rule))

    found = compare_cases(before, after, directions=HIGHER)

    assert [(each.case_id, each.is_critical) for each in found.newly_broken] == [("c002", True), ("c001", False)]
    assert broken_words(found.changes, "main") == (
        "2 cases that passed in main fail now (1 critical), all 2 of category billing: c002 (critical), c001"
    )


def test_the_category_that_got_worse_is_named_first():
    before, after = {}, {}
    for place, category in enumerate(("billing", "triage", "travel")):
        numbers = range(100 * place, 100 * place + 30)
        before |= run(*(case(n, True, category=category) for n in numbers))
        after |= run(*(case(n, category != "triage" or n % 3 > 0, category=category) for n in numbers))

    found = compare_cases(before, after, directions=HIGHER, allowed={"pass_rate": 0.02})

    assert (found.categories[0].category, found.categories[0].newly_broken) == ("triage", 10)
    assert [each.category for each in found.regressed_categories] == ["triage"]
    assert found.categories[0].metric.b == pytest.approx(2 / 3)
    assert found.categories[1].metric.verdict == "no difference seen"


def test_only_cases_with_equal_content_are_compared():
    before = {name: replace(each, fingerprint="1") for name, each in broken(0, of=5)[0].items()}
    after = {
        name: replace(each, fingerprint="2" if name == "c001" else "1") for name, each in broken(3, of=6)[1].items()
    }
    del after["c004"]

    found = compare_cases(before, after, directions=HIGHER)

    assert (found.cases, found.changed, found.only_a, found.only_b) == (3, 1, 1, 1)
    assert [each.case_id for each in found.newly_broken] == ["c000", "c002"]


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40))
def test_turned_around_a_comparison_says_the_opposite(verdicts):
    before = run(*(case(n, was) for n, (was, _) in enumerate(verdicts)))
    after = run(*(case(n, now) for n, (_, now) in enumerate(verdicts)))

    there, back = (compare_cases(*runs, directions=HIGHER) for runs in ((before, after), (after, before)))
    one, other = there.metrics["pass_rate"], back.metrics["pass_rate"]

    assert one.diff == pytest.approx(-other.diff)
    assert one.p_value == pytest.approx(other.p_value)
    assert {"better": "worse", "worse": "better"}.get(one.verdict, one.verdict) == other.verdict
    assert [each.case_id for each in there.newly_broken] == [each.case_id for each in back.newly_fixed]
    if one.low is not None:
        assert (one.low, one.high) == pytest.approx((-other.high, -other.low))
