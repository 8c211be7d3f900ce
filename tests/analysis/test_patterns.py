"""Patterns of failures: the seed's seven types with its rules and words, the general ones, and what a fix wins back."""

from __future__ import annotations

from typing import Any

import pytest
from made_results import made_case, made_report, made_result, made_run

from cortex_eval.analysis import ROOT_CAUSE_MAP, Failures, Pattern, Report, compare_patterns, diagnose, locate
from cortex_eval.core import Case, Expected, Failure, Reply, Result, Turn, changed

WRONG = {"value": 0.0, "passed": False}


def confused(number: int, expected: str, found: str | None, **fields: Any) -> Result:
    """A failed result in which one intent was taken for another."""
    case = fields.pop("case", None) or made_case(number, expected=Expected(intent=expected))
    evidence = {"expected_label": expected, "found_label": found}
    scores = {"intent": {**WRONG, "evidence": evidence}, **fields.pop("scores", {})}
    return made_result(case, number, state="failed", scores=scores, **fields)


def passed(number: int, **fields: Any) -> Result:
    return made_result(made_case(number, **fields), number, scores={"intent": 1.0})


def entity_failure(number: int, missing: dict[str, str], *, matched: bool = False, **fields: Any) -> Result:
    evidence = {
        "missing": [{"key": key, "value": value} for key, value in missing.items()],
        "extra": [],
        "matched": [{"key": "tissue", "expected": "liver", "found": "liver"}] if matched else [],
    }
    case = fields.pop("case", None) or made_case(number)
    return made_result(case, number, state="failed", scores={"entities": {**WRONG, "evidence": evidence}}, **fields)


def only(report: Report, type_: str) -> Pattern:
    (found,) = [each for each in report.patterns if each.type == type_]
    return found


def types(report: Report) -> list[str]:
    return [each.type for each in report.patterns]


def test_the_causes_are_the_seeds_word_for_word():
    assert ROOT_CAUSE_MAP == {
        "intent_confusion": "Intent patterns need more distinctive keywords",
        "missing_entity": "Entity extraction regex patterns incomplete",
        "context_not_retained": "Conversation context not maintained between turns",
        "edge_case": "Input normalization not handling non-standard formats",
        "exception": "Error handling incomplete for edge inputs",
    }


def test_a_run_in_which_all_passes_has_no_patterns():
    report = made_report([passed(i) for i in range(5)])

    assert (report.patterns, report.slices, report.confusions) == ((), (), ())
    assert report.to_dict()["patterns"] == []


def test_a_pair_that_is_confused_twice_is_a_pattern_with_the_seeds_action_and_priority():
    rows = [confused(0, "EXPLAIN", "DEBUG"), confused(1, "EXPLAIN", "DEBUG"), *(passed(i) for i in range(2, 10))]

    pattern = only(made_report(rows), "intent_confusion")

    assert pattern.title == "EXPLAIN is taken for DEBUG"
    assert pattern.action == "Add distinctive patterns for EXPLAIN vs DEBUG"
    assert (pattern.priority, pattern.count) == ("high", 2)
    assert pattern.cases == ("case_0000", "case_0001")
    assert pattern.root_cause == ROOT_CAUSE_MAP["intent_confusion"]
    assert pattern.gain == pytest.approx(0.2)
    (pair,) = pattern.confusions
    assert (pair.expected, pair.actual, pair.count, pair.cases) == ("EXPLAIN", "DEBUG", 2, pattern.cases)


def test_a_pair_that_is_confused_once_is_no_pattern_of_its_own():
    report = made_report([confused(0, "EXPLAIN", "DEBUG"), confused(1, "JOB_SUBMIT", "DATA_SCAN"), passed(2)])

    assert "intent_confusion" not in types(report)
    assert only(report, "scorer_failure").title == "intent fails in 2 further ways"
    assert [(each.expected, each.actual) for each in report.confusions] == [
        ("EXPLAIN", "DEBUG"),
        ("JOB_SUBMIT", "DATA_SCAN"),
    ]


def test_intents_that_are_swallowed_by_one_are_one_pattern():
    pairs = [("A", "SINK")] * 3 + [("B", "SINK")] * 2 + [("C", "D")] * 2
    report = made_report([confused(i, *pair) for i, pair in enumerate(pairs)])

    first, second = (each for each in report.patterns if each.type == "intent_confusion")

    assert (first.title, first.count) == ("A and B are taken for SINK", 5)
    assert [(each.expected, each.count) for each in first.confusions] == [("A", 3), ("B", 2)]
    assert first.evidence.startswith("A → SINK 3, B → SINK 2")
    assert second.title == "C is taken for D"


def test_an_intent_that_is_never_recognised_is_one_pattern():
    pairs = [("LOST", "A")] * 2 + [("LOST", "B")] * 2 + [("LOST", None)]
    report = made_report([confused(i, *pair) for i, pair in enumerate(pairs)])

    assert only(report, "intent_confusion").title == "LOST is taken for A, B and (none)"


def test_labels_of_any_scorer_are_compared():
    evidence = {"expected_label": "Vata", "found_label": "Pitta"}
    rows = [
        made_result(made_case(i), i, state="failed", scores={"classification": {**WRONG, "evidence": evidence}})
        for i in range(2)
    ]

    assert only(made_report(rows), "label_confusion").title == "Vata is taken for Pitta"


def test_entities_that_were_not_extracted_are_told_by_the_type_most_missed():
    rows = [
        entity_failure(0, {"organism": "yeast", "disease": "asthma"}),
        entity_failure(1, {"organism": "yeast"}, matched=True),
        entity_failure(2, {"organism": "C. elegans"}),
    ]

    pattern = only(made_report(rows), "missing_entity")

    assert (pattern.title, pattern.count) == ("The entity organism is not extracted", 3)
    assert pattern.action == "Add regex for 'organism' extraction"
    assert pattern.priority == "high"
    assert pattern.evidence == "most missed: yeast (2), C. elegans (1); nothing at all was extracted in 2"


def test_one_missing_entity_is_not_yet_a_pattern():
    assert "missing_entity" not in types(made_report([entity_failure(0, {"organism": "yeast"}), passed(1)]))


def needy(number: int, entities: dict[str, str] | None, **fields: Any) -> Result:
    """The second turn of a conversation, which needs what was said before, and is wrong."""
    first = Turn(text="Find RNA-seq data", expected=Expected(intent="DATA_SEARCH"))
    second = Turn(text="Download it", expected=Expected(intent="DATA_DOWNLOAD"), requires_context=True)
    case = Case(id=f"case_{number:04}", turns=(first, second), category=fields.pop("category", "multi_turn"))
    reply = Reply(text="Which?", intent="CLARIFY", entities=entities)
    return confused(number, "DATA_DOWNLOAD", "CLARIFY", case=case, turn=1, reply=reply, **fields)


def test_a_turn_that_needs_context_and_has_no_entities_lost_it():
    report = made_report([needy(0, {}), needy(1, None)])

    pattern = only(report, "context_not_retained")

    assert types(report) == ["context_not_retained"], "the wrong intent follows from it"
    assert (pattern.count, pattern.priority) == (2, "high")
    assert [(each.expected, each.actual, each.count) for each in report.confusions] == [("DATA_DOWNLOAD", "CLARIFY", 2)]


def test_a_turn_that_still_has_its_entities_did_not_lose_the_context():
    report = made_report([needy(i, {"data_type": "RNA-seq"}) for i in range(2)])

    assert types(report) == ["intent_confusion"]


@pytest.mark.parametrize("category", ["multi_turn", "coreference", "context_dependent"])
def test_later_turns_of_the_seeds_context_categories_need_context_unmarked(category):
    rows = []
    for number in range(2):
        row = needy(number, {}, category=category)
        turns = tuple(changed(turn, requires_context=False) for turn in row.case.turns)
        case = Case(id=row.case_id, turns=turns, category=category)
        reply = Reply(text="Which?", entities={})
        rows.append(confused(number, "DATA_DOWNLOAD", "CLARIFY", case=case, turn=1, reply=reply))

    assert types(made_report(rows)) == ["context_not_retained"]


def test_edge_cases_are_told_by_what_is_unusual_about_them():
    texts = ["STOP THE JOB NOW", "FIND THE DATA FOR ME", "???"]
    rows = [
        confused(i, f"A{i}", f"B{i}", case=made_case(i, [text], category="edge_cases")) for i, text in enumerate(texts)
    ]

    pattern = only(made_report(rows), "edge_case")

    assert (pattern.count, pattern.evidence) == (3, "capitals only (2), no words (1)")
    assert pattern.root_cause == ROOT_CAUSE_MAP["edge_case"]


def test_errors_are_patterns_by_their_kind_from_the_first_one_on():
    fallen = [
        made_result(made_case(i), i, state="error_target", scores={}, error=Failure("crashed", "it died"))
        for i in range(2)
    ]
    broken = made_result(made_case(2), 2, state="error_target", scores={}, error=Failure("status", "500"))
    report = made_report([*fallen, broken, passed(3)])

    first, second = report.patterns

    assert (first.type, first.title, first.count) == ("exception", "The target gives no reply: crashed", 2)
    assert (second.title, second.count) == ("The target gives no reply: status", 1)
    assert second.evidence == "most often: 500"
    assert first.gain == pytest.approx(0.5)
    assert first.score_gain is None, "what those cases would have scored is not known"


@pytest.mark.parametrize(
    "kind", ["auth", "connection", "missing_field", "not_json", "rate_limited", "timeout", "tls", "wrong_type"]
)
def test_errors_of_the_set_up_come_first_say_what_to_do_and_win_no_points(kind):
    says = "desk answered 401: check api_key. " + "It said much. " * 20
    errors = [
        made_result(made_case(i), i, state="error_target", scores={}, error=Failure(kind, says.strip())) for i in (0, 1)
    ]
    report = made_report([*errors, *(confused(i, "A", "B") for i in range(2, 8))])

    first, second = report.patterns

    assert (first.type, first.count, first.gain, first.is_setup) == ("setup_error", 2, 0.0, True)
    assert first.action == says.strip(), "in full"
    assert (second.type, second.gain) == ("intent_confusion", pytest.approx(6 / 8))


def test_a_scorer_without_a_verdict_is_no_fault_of_the_target():
    rows = [
        made_result(made_case(i), i, state="error_judge", scores={}, error=Failure("bad_verdict", "no JSON"))
        for i in range(2)
    ]

    (found,) = made_report(rows).patterns

    assert (found.type, found.gain, found.action) == ("judge_error", 0.0, "no JSON. Then: cortex rescore RUN")


def test_a_wrong_intent_of_the_language_model_is_a_fallback_failure_too():
    reply = Reply(text="", intent="B", llm_invoked=True)
    report = made_report([confused(i, "A", "B", reply=reply) for i in range(2)])

    assert set(types(report)) == {"intent_confusion", "llm_fallback_failure"}
    assert only(report, "llm_fallback_failure").count == 2


def test_a_right_intent_with_the_wrong_tool_is_a_tool_selection_error():
    evidence = {"expected": [{"name": "describe"}], "called": [{"name": "search"}]}
    rows = [
        made_result(made_case(i), i, state="failed", scores={"intent": 1.0, "tool": {**WRONG, "evidence": evidence}})
        for i in range(2)
    ]

    pattern = only(made_report(rows), "tool_selection_error")

    assert (pattern.title, pattern.action) == (
        "describe is taken for search",
        "Map the intent to describe, not to search",
    )


def test_a_wrong_tool_after_a_wrong_intent_follows_from_it():
    tool = {**WRONG, "evidence": {"expected": [{"name": "describe"}], "called": [{"name": "search"}]}}
    report = made_report([confused(i, "A", "B", scores={"tool": tool}) for i in range(2)])

    assert types(report) == ["intent_confusion"]
    assert report.patterns[0].gain == pytest.approx(1.0)


def test_broken_safety_rules_are_patterns_by_rule():
    def unsafe(number: int, *rules: str) -> Result:
        findings = [{"rule": rule, "severity": "critical", "reason": "Send to a doctor."} for rule in rules]
        scores = {"safety": {**WRONG, "evidence": {"findings": findings}}}
        return made_result(made_case(number), number, state="failed", scores=scores)

    report = made_report([unsafe(0, "chest_pain"), unsafe(1, "chest_pain", "no_disclaimer")])

    first, second = report.patterns
    assert (first.type, first.title) == ("safety_rule", "Rule chest_pain of safety is broken")
    assert (first.count, first.priority) == (2, "high")
    assert "Send to a doctor." in first.action
    assert (first.gain, first.share) == (0.5, pytest.approx(0.75)), "the other case still breaks a rule"
    assert (second.gain, second.share) == (0, pytest.approx(0.25))
    assert (second.needs, second.joint_gain) == ((first.title,), 1.0)


def test_any_other_scorer_is_told_with_its_commonest_reason_and_its_figures_stay_in_it():
    reasons = ["Only 12 % of the words agree.", "Only 31 % of the words agree.", "The tone is harsh."]
    rows = [
        made_result(made_case(i), i, state="failed", scores={"style": {**WRONG, "reason": reason}})
        for i, reason in enumerate(reasons)
    ]

    pattern = only(made_report(rows), "scorer_failure")

    assert pattern.title == "style fails, such as: Only 12 % of the words agree."
    assert pattern.action == "Begin with what style says of 2 of 3 cases: Only 12 % of the words agree."
    assert pattern.evidence == "2 × Only 12 % of the words agree. / 1 × The tone is harsh."


def test_a_list_of_which_items_are_missing_is_told_by_the_item_most_missed():
    def incomplete(number: int, *missing: str) -> Result:
        items = [{"item": name, "present": name not in missing} for name in ("diet", "dose", "source")]
        scores = {"completeness": {**WRONG, "reason": f"{len(missing)} missing", "evidence": {"items": items}}}
        return made_result(made_case(number), number, state="failed", scores=scores)

    pattern = only(made_report([incomplete(0, "dose"), incomplete(1, "dose", "source")]), "scorer_failure")

    assert pattern.title == "completeness fails: lacks dose"
    assert pattern.action == "Make replies hold what is missed most: dose (2), source (1)"
    assert pattern.evidence == "2 × lacks dose / 1 × lacks source"


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


def test_a_weight_can_be_enough_to_pass_without_the_other_fault():
    scorers = {"intent": {"kind": "intent", "weight": 0.8}, "accuracy": {"weight": 0.2}}
    run = made_run(4, manifest={"scorers": scorers, "passing_threshold": 0.7})
    rows = [confused(i, "A", "B", scores={"accuracy": {**WRONG, "reason": "Bad."}}, overall=0.0) for i in range(2)]
    report = made_report([*rows, passed(2), passed(3)], run=run)

    assert only(report, "intent_confusion").gain == 2 / 4
    assert only(report, "scorer_failure").gain == 0


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


def test_a_reply_in_another_language_is_a_pattern_from_the_first_one_on():
    evidence = {
        "asked": {"language": "hi", "script": "Devanagari"},
        "found": {"language": "en", "script": "Latin", "by": "rules"},
    }
    row = made_result(made_case(0), 0, state="failed", scores={"language": {**WRONG, "evidence": evidence}})

    (found,) = made_report([row, passed(1)]).patterns

    assert (found.type, found.title) == ("wrong_language", "Questions in Hindi are answered in English")
    assert found.action == "Answer in the language of the question: Hindi, not English"


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
