"""Cases that passed although a scorer failed them are counted by scorer: no red check hides in a green run."""

from made_results import made_case, made_report, made_result, made_run, simple_results

FAILED = {"value": 0.0, "passed": False, "reason": "Not there."}


def unsafe(severity, reason="The reply tells the person to take more than a safe dose. 1.5 g at once (a source)."):
    finding = {"rule": "dosage-excess", "severity": severity, "words": "1.5 g", "reason": reason}
    return {"value": 0.0, "passed": False, "evidence": {"findings": [finding]}}


def report_of(rows, *, unweighted=(), repeats=1, **planned):
    scorers = {name: {"kind": name, "weight": 0.2, "threshold": None, **each} for name, each in planned.items()}
    manifest = {"scorers": scorers, "passing_threshold": 0.7, **({"unweighted": unweighted} if unweighted else {})}
    return made_report(rows, run=made_run(len({row.case_id for row in rows}), manifest=manifest, repeats=repeats))


def rows_of(*scores, state="passed"):
    return [made_result(made_case(n), n, state=state, scores=each) for n, each in enumerate(scores)]


def found_in(report):
    found = report.let_through
    return None if found is None else (found.count, [(each.scorer, each.count, each.cases) for each in found.scorers])


def test_cases_that_passed_although_scorers_failed_them_are_counted_by_scorer_and_each_once():
    rows = rows_of({"accuracy": 1.0, "contains": FAILED, "exact": FAILED}, {"contains": FAILED}, {"accuracy": 1.0})
    report = report_of(rows, accuracy={}, contains={"weight": 0.0}, exact={}, unweighted=["contains"])

    assert found_in(report) == (2, [("contains", 2, ("case_0000", "case_0001")), ("exact", 1, ("case_0000",))])
    assert [(each.weight, each.lacks_weight) for each in report.let_through.scorers] == [(0.0, True), (0.2, False)]
    assert report.to_dict()["let_through"]["scorers"][0]["scorer"] == "contains"


def test_what_failed_or_passed_by_every_scorer_is_let_through_by_none():
    failed = rows_of({"contains": FAILED}, state="failed")
    report = report_of([*failed, *simple_results(3)[1:]], contains={}, accuracy={})

    assert report.let_through is None
    assert "let_through" not in report.to_dict()


def test_the_gravest_finding_comes_first_in_words_whatever_the_counts():
    rows = rows_of(
        {"safety": unsafe("medium"), "contains": FAILED},
        {"contains": FAILED},
        {"safety": unsafe("high"), "contains": 1.0},
    )
    found = report_of(rows, safety={}, contains={}).let_through

    first = found.scorers[0]
    assert (first.scorer, first.count, first.cases) == ("safety", 2, ("case_0002", "case_0000"))
    assert (first.severity, first.finding) == ("high", "The reply tells the person to take more than a safe dose.")
    assert (first.is_grave, found.is_grave) == (True, True)


def test_what_is_only_shown_and_what_is_a_matter_of_degree_is_left_out():
    low = {"value": 0.4, "passed": False}
    rows = rows_of({"performance": FAILED, "greets": FAILED, "accuracy": low, "relevance": low, "completeness": low})
    kinds = {"performance": {}, "greets": {"kind": "regex", "weight": 0.0}, "accuracy": {}, "relevance": {}}

    assert report_of(rows, completeness={}, **kinds).let_through is None


def test_a_score_of_0_or_under_a_threshold_of_its_own_is_no_matter_of_degree():
    rows = rows_of({"accuracy": FAILED, "relevance": {"value": 0.4, "passed": False}})

    found = found_in(report_of(rows, accuracy={}, relevance={"threshold": 0.5}))

    assert found == (1, [("accuracy", 1, ("case_0000",)), ("relevance", 1, ("case_0000",))])


def test_a_grave_finding_is_told_even_of_a_scorer_that_was_given_no_weight():
    rows = rows_of({"safety": unsafe("critical")}, {"safety": unsafe("medium")})

    assert found_in(report_of(rows, safety={"weight": 0.0})) == (1, [("safety", 1, ("case_0000",))])


def test_a_conversation_counts_once_and_only_when_all_of_it_passed():
    case, other = made_case(0, ("One?", "Two?")), made_case(1, ("One?", "Two?"))
    rows = [
        made_result(case, 0, turn=0, scores={"contains": FAILED}),
        made_result(case, 0, turn=1, scores={"contains": FAILED, "safety": unsafe("high")}),
        made_result(other, 1, turn=0, scores={"contains": FAILED}),
        made_result(other, 1, turn=1, state="failed", scores={"accuracy": 0.1}),
    ]

    report = report_of(rows, contains={}, safety={}, accuracy={})

    assert found_in(report) == (1, [("safety", 1, ("case_0000",)), ("contains", 1, ("case_0000",))])


def test_the_cases_are_the_first_of_the_dataset_whatever_the_order_of_asking():
    rows = rows_of(*[{"contains": FAILED}] * 9)

    assert found_in(report_of(rows[::-1], contains={})) == found_in(report_of(rows, contains={}))
    assert report_of(rows[::-1], contains={}).let_through.scorers[0].cases == tuple(f"case_000{n}" for n in range(5))


def test_weights_that_are_no_shares_are_told_as_shares():
    rows = rows_of({"places": FAILED, "exact": 1.0})

    (overruled,) = report_of(rows, places={"weight": 1.0}, exact={"weight": 3.0}).let_through.scorers

    assert overruled.weight == 0.25
