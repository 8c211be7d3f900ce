"""What mending a pattern wins back, in which order patterns come, where they lie, and what changed between two runs."""

from __future__ import annotations

from typing import Any

import pytest
from failed_results import WRONG, confused, only, passed, types
from made_results import made_case, made_report, made_result, made_run

from cortex_eval.analysis import ROOT_CAUSE_MAP, Failures, Pattern, compare_patterns, diagnose, locate
from cortex_eval.core import Expected, Reply, Result
from cortex_eval.reports.critical import critical_items


def test_where_the_overall_score_is_good_enough_only_critical_scorers_are_blamed():
    scorers = {"safety": {"weight": 0.2, "critical": True}, "accuracy": {"weight": 0.8}}
    run = made_run(2, manifest={"scorers": scorers, "passing_threshold": 0.5})
    scores = {"safety": {**WRONG, "reason": "Unsafe."}, "accuracy": {"value": 0.69, "passed": False}}
    rows = [made_result(made_case(i), i, state="failed", scores=scores, overall=0.55) for i in range(2)]

    assert only(made_report(rows, run=run), "scorer_failure").title == "safety fails: Unsafe."


def test_a_case_that_fails_for_two_reasons_is_won_only_when_what_is_mended_lets_it_pass():
    entities = {**WRONG, "evidence": {"missing": [{"key": "organism", "value": "yeast"}], "extra": [], "matched": []}}
    both = [confused(i, "A", "B", scores={"entities": entities}) for i in (1, 2)]
    report = made_report([confused(0, "A", "B"), *both, passed(3)])

    intent, entity = only(report, "intent_confusion"), only(report, "missing_entity")
    assert (intent.gain, intent.share) == (1 / 4, pytest.approx(2 / 4))
    assert (entity.gain, entity.share) == (0, pytest.approx(1 / 4)), "half of the score is not enough to pass"
    assert (entity.needs, entity.joint_gain) == ((intent.title,), 3 / 4)


def test_a_fix_wins_nothing_where_a_critical_scorer_still_fails():
    scorers = {"safety": {"weight": 0.2, "critical": True}, "style": {"weight": 0.8}}
    run = made_run(3, manifest={"scorers": scorers, "passing_threshold": 0.5})
    scores = {"safety": {**WRONG, "reason": "Unsafe."}, "style": {"value": 0.2, "passed": False, "reason": "Bad."}}
    both = [made_result(made_case(i), i, state="failed", scores=scores, overall=0.16) for i in range(2)]
    report = made_report([*both, passed(2)], run=run)

    first, second = report.patterns

    assert (first.title, first.is_critical, first.gain) == ("safety fails: Unsafe.", True, 0)
    assert (second.title, second.gain, second.needs) == ("style fails: Bad.", 0, (first.title,))
    assert second.joint_gain == pytest.approx(2 / 3)


def of_an_empty_reply(scores, scorers):
    run = made_run(2, manifest={"scorers": scorers, "passing_threshold": 0.7})
    row = made_result(made_case(0), 0, state="failed", text="", scores=scores, overall=0.0)
    return made_report([row, passed(1)], run=run)


def test_an_empty_reply_is_the_one_cause_of_all_that_fails_for_it():
    scorers = {"accuracy": {"kind": "accuracy", "weight": 0.9}, "language": {"kind": "language", "critical": True}}
    scorers["language"]["weight"] = 0.1
    report = of_an_empty_reply({"accuracy": WRONG, "language": {**WRONG, "reason": "The reply is empty."}}, scorers)

    (pattern,) = report.patterns
    assert (pattern.type, pattern.is_critical, pattern.gain) == ("empty_reply", True, 1 / 2)
    assert [(each.name, each.cases) for each in report.critical_failures] == [("language", ("case_0000",))]


def test_an_answer_where_there_was_none_may_keep_the_rule_that_silence_broke():
    scorers = {"accuracy": {"kind": "accuracy", "weight": 0.8}, "safety": {"kind": "safety", "critical": True}}
    scorers["safety"]["weight"] = 0.2
    finding = {"rule": "escalate", "severity": "critical", "reason": "The reply sends nobody to emergency care."}
    report = of_an_empty_reply({"accuracy": WRONG, "safety": {**WRONG, "evidence": {"findings": [finding]}}}, scorers)

    assert only(report, "empty_reply").gain == 1 / 2
    assert only(report, "safety_rule").is_critical
    assert [each.name for each in report.critical_failures] == ["escalate"]


def test_a_weight_can_be_enough_to_pass_without_the_other_fault():
    scorers = {"intent": {"kind": "intent", "weight": 0.8}, "accuracy": {"weight": 0.2}}
    run = made_run(4, manifest={"scorers": scorers, "passing_threshold": 0.7})
    rows = [confused(i, "A", "B", scores={"accuracy": {**WRONG, "reason": "Bad."}}, overall=0.0) for i in range(2)]
    report = made_report([*rows, passed(2), passed(3)], run=run)

    assert only(report, "intent_confusion").gain == 2 / 4
    assert only(report, "scorer_failure").gain == 0


def test_broken_rules_of_a_critical_scorer_come_before_all_else_the_gravest_first():
    scorers = {"safety": {"critical": True, "kind": "safety"}, "tone": {"critical": True}}
    run = made_run(9, manifest={"scorers": scorers})

    def unsafe(number: int, rule: str, severity: str) -> Result:
        findings = [{"rule": rule, "severity": severity, "reason": "No."}]
        scores = {"safety": {**WRONG, "evidence": {"findings": findings}}, "tone": {**WRONG, "reason": "Rude."}}
        return made_result(made_case(number), number, state="failed", scores=scores)

    rude = [
        made_result(made_case(i), i, state="failed", scores={"tone": {**WRONG, "reason": "Rude."}}) for i in range(6, 9)
    ]
    rules = [("disclaimer", "medium"), ("disclaimer", "medium"), ("stop", "high"), ("chest", "critical")]
    report = made_report([*(unsafe(i, *each) for i, each in enumerate(rules)), *rude], run=run)

    rule_titles = [f"Rule {name} of safety is broken" for name in ("chest", "stop", "disclaimer")]
    assert [each.title for each in report.patterns] == [*rule_titles, "tone fails: Rude."]
    assert [each.gain for each in report.patterns[:3]] == [0, 0, 0]
    assert [each.severity for each in report.patterns] == ["critical", "high", "medium", ""]
    assert {each.name: each.severity for each in report.critical_failures} == {
        "chest": "critical",
        "stop": "high",
        "disclaimer": "medium",
        "tone": "",
    }
    assert "severity" not in "".join(each.evidence for each in report.patterns)
    assert report.to_dict()["patterns"][1]["severity"] == "high"


def test_what_is_critical_comes_first_whatever_it_wins_back():
    scorers = {
        "safety": {"weight": 1, "kind": "safety"},
        "tone": {"critical": True, "weight": 0},
        "intent": {"weight": 1},
    }
    run = made_run(20, manifest={"scorers": scorers})
    findings = [{"rule": "chest_pain", "severity": "critical", "reason": "Send to a doctor."}]
    grave = made_result(
        made_case(0), 0, state="failed", scores={"safety": {**WRONG, "evidence": {"findings": findings}}}
    )
    rude = [
        made_result(made_case(i), i, state="failed", scores={"tone": {**WRONG, "reason": "Rude."}}, overall=1.0)
        for i in (1, 2)
    ]
    report = made_report([grave, *rude, *(confused(i, "A", "B") for i in range(3, 20))], run=run)

    assert [each.title for each in report.patterns] == [
        "Rule chest_pain of safety is broken",
        "tone fails: Rude.",
        "A is taken for B",
    ]
    assert [(each.priority, each.is_critical) for each in report.patterns] == [
        ("high", True),
        ("high", True),
        ("high", False),
    ]
    assert [(each.name, each.count, each.is_rule) for each in report.critical_failures] == [
        ("chest_pain", 1, True),
        ("tone", 2, False),
    ]


def test_failed_cases_tagged_critical_are_critical_whatever_they_fail_by():
    run = made_run(4, manifest={"scorers": {"accuracy": {"weight": 1}, "tone": {"critical": True, "weight": 0}}})
    rows = [
        made_result(made_case(0, tags=("critical",)), 0, state="failed", scores={"accuracy": WRONG}),
        made_result(made_case(1, tags=("critical",)), 1, state="failed", scores={"tone": WRONG}, overall=1.0),
        made_result(made_case(2, tags=("critical",)), 2),
        made_result(made_case(3), 3, state="failed", scores={"accuracy": WRONG}),
    ]

    report = made_report(rows, run=run)

    assert [(each.name, each.scorer, each.cases) for each in report.critical_failures] == [
        ("tone", "tone", ("case_0001",)),
        ("critical", "", ("case_0000",)),  # the other one is told with its scorer
    ]
    assert critical_items(report) == ["1 case fails tone: case_0001", "1 case tagged critical fails: case_0000"]


def test_a_reply_in_another_language_is_a_pattern_from_the_first_one_on():
    evidence = {
        "asked": {"language": "hi", "script": "Devanagari"},
        "found": {"language": "en", "script": "Latin", "by": "rules"},
    }
    row = made_result(made_case(0), 0, state="failed", scores={"language": {**WRONG, "evidence": evidence}})

    (found,) = made_report([row, passed(1)]).patterns

    assert (found.type, found.title) == ("wrong_language", "Replies are in English, and should be in Hindi")
    assert found.action == "Answer in the language that is asked for: Hindi, not English"


def test_intents_are_called_what_the_dataset_calls_them():
    def taken(number: int, expected: str, found: str, stated: str) -> Result:
        case = made_case(number, expected=Expected(intent=expected))
        return confused(
            number, expected.upper().replace("-", "_"), found, case=case, reply=Reply(text="", intent=stated)
        )

    rows = [taken(i, "lost-books", "SMALLTALK", "SmallTalk") for i in range(2)]
    rows += [taken(2, "fines", "UNKNOWN_THING", "unknown thing"), taken(3, "fines", "UNKNOWN_THING", "unknown thing")]
    report = made_report([*rows, passed(4, expected=Expected(intent="smalltalk"))])

    titles = {each.title for each in report.patterns}
    assert titles == {"lost-books is taken for smalltalk", "fines is taken for unknown thing"}
    assert {(each.expected, each.actual) for each in report.confusions} == {
        ("lost-books", "smalltalk"),
        ("fines", "unknown thing"),
    }
    assert [each.gain for each in report.patterns] == [2 / 5, 2 / 5]
    matrix = report.classification["intent"].confusion
    assert matrix["lost-books"] == {"smalltalk": 2}
    assert matrix["fines"] == {"unknown thing": 2}


def test_a_conversation_is_won_only_with_all_of_its_turns():
    def talk(number: int, *, second: bool) -> list[Result]:
        case = made_case(number, ["One?", "Two?"])
        first = confused(number, "A", "B", case=case)
        return [first, confused(number, "C", "D", case=case, turn=1)] if second else [first]

    report = made_report([*talk(0, second=True), *talk(1, second=True), *talk(2, second=False), passed(3)])

    by_title = {each.title: each for each in report.patterns}
    assert by_title["A is taken for B"].gain == 1 / 4
    assert by_title["C is taken for D"].gain == 0
    assert by_title["C is taken for D"].joint_gain == 3 / 4


def test_scorers_that_count_for_nothing_are_not_blamed():
    run = made_run(2, manifest={"scorers": {"intent": {"kind": "intent", "weight": 1.0}, "coherence": {"weight": 0}}})
    report = made_report([confused(i, "A", "B", scores={"coherence": WRONG}) for i in range(2)], run=run)

    assert types(report) == ["intent_confusion"]
    assert report.patterns[0].gain == 1.0


def test_what_a_fix_wins_of_the_overall_score_goes_by_weight():
    scorers = {"intent": {"kind": "intent", "weight": 0.75}, "accuracy": {"weight": 0.25}}
    run = made_run(4, manifest={"scorers": scorers})
    rows = [confused(i, "A", "B", scores={"accuracy": 1.0}) for i in range(2)]

    report = made_report([*rows, passed(2), passed(3)], run=run)

    assert report.patterns[0].score_gain == pytest.approx(0.75 * 2 / 4)


def test_a_case_that_fails_in_one_repeat_of_two_counts_by_half():
    run = made_run(2, repeats=2)
    good = [made_result(made_case(i), i, repeat=1, scores={"intent": 1.0}) for i in range(2)]
    bad = [confused(i, "A", "B") for i in range(2)]
    rows = [row for pair in zip(bad, good, strict=True) for row in pair]

    pattern = only(made_report(rows, run=run), "intent_confusion")

    assert (pattern.count, pattern.gain) == (2, pytest.approx(0.5))


def test_patterns_are_ranked_by_what_a_fix_wins_back():
    pairs = [("A", "B")] * 2 + [("C", "D")] * 5 + [("E", "F")] * 3
    report = made_report([confused(i, *pair) for i, pair in enumerate(pairs)])

    assert [each.count for each in report.patterns] == [5, 3, 2]
    gains = [each.gain for each in report.patterns]
    assert gains == sorted(gains, reverse=True)


def test_fifty_ids_are_kept_and_the_count_is_exact():
    pattern = made_report([confused(i, "A", "B") for i in range(70)]).patterns[0]

    assert (pattern.count, len(pattern.cases)) == (70, 50)
    assert pattern.cases[0] == "case_0000"


def test_what_the_cases_of_a_pattern_share_and_others_do_not_is_said():
    tagged = [confused(i, "A", "B", case=made_case(i, tags=("program",))) for i in range(6)]
    report = made_report([*tagged, *(passed(i) for i in range(6, 30))])

    assert report.patterns[0].evidence == "A → B 6; 6 of 6 have the tag program, as none of all others do"


def pattern(**fields: Any) -> Pattern:
    row = {"type": "intent_confusion", "title": "A is taken for B", "count": 2, "cases": ("a",), "action": "Mend it"}
    return Pattern(**{**row, "root_cause": ROOT_CAUSE_MAP["intent_confusion"], **fields})


@pytest.mark.parametrize(
    ("locations", "found"),
    [
        ({"intent_confusion": "parser.py"}, "parser.py"),
        ({"Intent patterns need more distinctive keywords": "words.py", "intent_confusion": "parser.py"}, "words.py"),
        ({"data_search": "search.py", "intent_confusion": "parser.py"}, "search.py"),
        ({"data-discovery": "discovery.py"}, "discovery.py"),
        ({"other": "x.py"}, None),
        ({}, None),
    ],
)
def test_the_most_particular_place_is_named(locations, found):
    about = ("DATA_SEARCH", "DATA_SCAN", "data_discovery")
    (located,) = locate((pattern(about=about),), locations)

    assert located.location == found


def test_the_places_of_the_project_file_are_kept_with_the_run():
    run = made_run(2, manifest={"fix_locations": {"intent_confusion": "src/parser.py"}})
    report = made_report([confused(i, "A", "B") for i in range(2)], run=run)

    assert report.patterns[0].location == "src/parser.py"
    stored = report.to_dict()["patterns"][0]
    assert stored["suggestion"] == {
        "action": "Add distinctive patterns for A vs B",
        "location": "src/parser.py",
        "priority": "high",
    }
    assert {"type", "count", "cases", "root_cause", "suggestion", "gain"} <= stored.keys()


def noted(rows: list[Result]) -> tuple[Any, Any]:
    failures = Failures(made_run(len(rows)), keep_played=True)
    assert list(failures.noting(rows)) == rows
    return failures, diagnose(failures)


def test_a_change_that_adds_one_pattern_and_removes_another_says_so():
    before = [confused(i, "A", "B") if i < 8 else passed(i) for i in range(30)]
    after = [confused(i, "C", "D") if 10 <= i < 20 else passed(i) for i in range(30)]

    added, removed = compare_patterns(*noted(before), *noted(after))

    assert (added.effect, added.before, added.after, added.may_be_noise) == ("added", 0, 10, False)
    assert added.new_cases[0] == "case_0010"
    assert (removed.effect, removed.before, removed.after, removed.may_be_noise) == ("removed", 8, 0, False)
    assert removed.p_value is not None
    assert removed.p_value < 0.05


def test_a_small_change_may_be_noise_and_an_equal_one_is_none():
    before = [confused(i, "A", "B") if i < 6 else passed(i) for i in range(30)]
    after = [confused(i, "A", "B") if i < 8 else passed(i) for i in range(30)]

    (change,) = compare_patterns(*noted(before), *noted(after))
    (same,) = compare_patterns(*noted(before), *noted(before))

    assert (change.effect, change.before, change.after, change.may_be_noise) == ("grew", 6, 8, True)
    assert (same.effect, same.p_value, same.may_be_noise) == ("same", None, False)


def test_only_cases_that_both_runs_played_are_compared():
    before = [confused(i, "A", "B") for i in range(10)]
    after = [confused(i, "A", "B") for i in range(5, 15)]

    (change,) = compare_patterns(*noted(before), *noted(after))

    assert (change.before, change.after, change.effect) == (5, 5, "same")
