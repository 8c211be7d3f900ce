"""Stored runs against the first of them: what is read, what is said of it, what earlier runs show."""

from __future__ import annotations

import pytest
from made_results import made_case, made_result, made_run

from cortex_eval.analysis import Allowance, GateSettings, allowed_worsening, compare_runs
from cortex_eval.core import InputError, changed

GATE = GateSettings()


def played(failed=(), *, cases=40, **labels):
    """The results of a run in which these cases fail."""
    return [
        made_result(
            made_case(n, **labels), n, **({"state": "failed", "scores": {"accuracy": 0.1}} if n in failed else {})
        )
        for n in range(cases)
    ]


class Shelf:
    """Runs and their results; keeps which were read and how."""

    def __init__(self, **results):
        self.results = results
        self.was_read = []

    def __call__(self, record, with_cases):
        self.was_read.append((record.id, with_cases))
        return iter(self.results[record.id])


def test_two_runs_are_read_once_each_and_without_their_cases_when_the_dataset_is_the_same():
    shelf = Shelf(a=played(), b=played(range(12)))

    found = compare_runs([made_run(40, id="a"), made_run(40, id="b")], shelf, gate=GATE)

    assert shelf.was_read == [("a", False), ("b", False)]
    assert (found.verdict, found.exit_code, found.notes) == ("worse", 1, ())
    assert [each.name for each in found.comparisons[0].regressions] == ["accuracy", "pass_rate", "overall_score"]
    assert found.to_dict()["metrics"]["pass_rate"]["is_regression"] is True


def test_the_gate_says_how_much_worse_is_allowed():
    lenient = GateSettings(regression={"pass_rate": Allowance(drop=0.5)})
    runs = [made_run(40, id="a"), made_run(40, id="b")]
    only_verdicts = Shelf(
        a=[changed(each, scores_json=b"{}", overall=None) for each in played()],
        b=[changed(each, scores_json=b"{}", overall=None) for each in played(range(12))],
    )

    found = compare_runs(runs, only_verdicts, gate=lenient)

    assert (found.verdict, found.exit_code) == ("within allowance", 0)
    assert allowed_worsening(lenient, {"pass_rate": "higher", "latency_ms": "lower"}) == {"pass_rate": 0.5}
    assert allowed_worsening(GATE, {"intent": "higher", "tone": "higher", "latency_ms": "lower"}) == {
        "intent": 0.02,
        "tone": 0.02,
        "latency_ms": 100,
    }


def test_a_category_that_broke_is_a_regression_even_where_the_whole_hides_it():
    good = played(cases=400, category="billing")
    broken = [
        changed(row, category="triage" if row.ordinal < 30 else "billing", state="failed", passed=False)
        if row.ordinal < 9
        else changed(row, category="triage" if row.ordinal < 30 else "billing")
        for row in good
    ]
    found = compare_runs(
        [made_run(400, id="a"), made_run(400, id="b")],
        Shelf(a=good, b=broken),
        gate=GateSettings(regression={"pass_rate": Allowance(drop=0.05)}),
    )
    assert found.comparisons[0].regressions == ()
    assert [each.category for each in found.comparisons[0].regressed_categories] == ["triage"]
    assert found.exit_code == 1


def test_runs_that_are_not_complete_and_samples_are_said_to_be():
    sample = {"selection": {"probabilities": {"billing": 0.1}, "chosen": 20, "matching": 200}}
    runs = [made_run(40, id="a"), made_run(40, id="b", status="paused", manifest=sample)]

    found = compare_runs(runs, Shelf(a=played(), b=played(cases=20)), gate=GATE)

    assert found.notes == (
        "B is paused and not complete: what it has not asked is not compared.",
        "B is a sample of 20 of 200 cases: only these are compared.",
        "20 cases are in both A and B; 20 only in A.",
    )


def test_errors_and_changed_scorers_are_said():
    before, after = {"scorers": {"accuracy": {"version": "1"}}}, {"scorers": {"accuracy": {"version": "2"}}}
    lost = [
        made_result(made_case(n), n, state="error_target", scores={}) if n < 3 else row
        for n, row in enumerate(played())
    ]
    runs = [made_run(40, id="a", manifest=before), made_run(40, id="b", manifest=after)]

    found = compare_runs(runs, Shelf(a=played(), b=lost), gate=GATE)

    assert len(found.comparisons[0].newly_in_error) == 3
    assert found.notes[0].startswith("3 of them had a verdict in A and ended in an error in B")
    assert found.notes[1] == (
        "In B accuracy is scored in another way than in A: version 2 instead of 1. Not compared for that: accuracy."
    )


def test_earlier_runs_of_a_stated_version_show_what_is_flaky():
    runs = [made_run(40, id="a", target_version="1"), made_run(40, id="b", target_version="2")]
    earlier = [made_run(40, id=name, target_version="2") for name in ("e1", "e2")]
    shelf = Shelf(a=played(), b=played({3, 4}), e1=played({4}), e2=played({4}))

    found = compare_runs(runs, shelf, gate=GATE, earlier=[*runs, *earlier])

    (flaky,) = found.comparisons[0].flaky
    assert (flaky.case_id, flaky.why) == ("case_0003", "passed in 2 of 3 runs of the same version")
    assert [each.is_flaky for each in found.comparisons[0].newly_broken] == [True, False]


def test_a_target_without_a_version_may_have_changed_so_its_earlier_runs_say_nothing():
    runs = [made_run(40, id=name, target_version=None) for name in ("a", "b")]
    earlier = [made_run(40, id=name, target_version=None) for name in ("e1", "e2")]
    shelf = Shelf(a=played(), b=played({3}), e1=played({3}), e2=played())

    assert compare_runs(runs, shelf, gate=GATE, earlier=[*runs, *earlier]).comparisons[0].flaky == ()
    assert [name for name, _ in shelf.was_read] == ["a", "b"]


def test_runs_without_a_case_in_common_cannot_be_compared():
    other = [changed(row, case_id=f"other_{row.ordinal}") for row in played()]
    with pytest.raises(InputError, match="have no case in common"):
        compare_runs([made_run(40, id="a"), made_run(40, id="b")], Shelf(a=played(), b=other), gate=GATE)


def test_runs_without_a_case_that_both_scored_have_nothing_to_compare():
    down = [made_result(made_case(n), n, state="error_target", scores={}) for n in range(40)]
    unjudged = [made_result(made_case(n), n, state="error_judge", scores={}) for n in range(40)]
    shelf = Shelf(a=played(), b=down, c=unjudged, d=played(range(12)))
    record = {name: made_run(40, id=name) for name in "abcd"}

    def told(*names):
        return compare_runs([record[name] for name in names], shelf, gate=GATE)

    for names in ("ab", "ba", "bb", "ac", "cc"):
        assert (told(*names).verdict, told(*names).exit_code) == ("nothing to compare", 3), names
    document = told("b", "a").to_dict()
    assert (document["verdict"], document["exit_code"]) == ("nothing to compare", 3)
    assert (document["cases"], document["errors_a"], document["errors_b"]) == (40, 40, 0)
    assert document["metrics"]["pass_rate"]["verdict"] == "undefined"
    assert (told("a", "d", "b").verdict, told("a", "d", "b").exit_code) == ("nothing to compare", 3)
