"""Patterns of failures: the seed's seven types with its rules and words, and the general ones."""

from __future__ import annotations

from typing import Any

import pytest
from failed_results import WRONG, confused, entity_failure, only, passed, types
from made_results import made_case, made_report, made_result

from cortex_eval.analysis import ROOT_CAUSE_MAP
from cortex_eval.analysis.patterns_blame import ANSWERED_BADLY
from cortex_eval.core import Case, Expected, Failure, Reply, Result, Turn, changed


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
    assert "HTTP error" in second.action
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

    said = "no JSON. Then score the replies again; the target is not asked anew."
    assert (found.type, found.gain, found.action) == ("judge_error", 0.0, said)


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
    assert pattern.action == "Mend first what style says of 2 of 3 cases: Only 12 % of the words agree."
    assert pattern.evidence == "2 × Only 12 % of the words agree. / 1 × The tone is harsh."


def test_a_list_of_which_items_are_missing_is_told_by_the_item_most_missed():
    def incomplete(number: int, *missing: str) -> Result:
        items = [{"item": name, "present": name not in missing} for name in ("diet", "dose", "source")]
        scores = {"completeness": {**WRONG, "reason": f"{len(missing)} missing", "evidence": {"items": items}}}
        return made_result(made_case(number), number, state="failed", scores=scores)

    pattern = only(made_report([incomplete(0, "dose"), incomplete(1, "dose", "source")]), "scorer_failure")

    assert pattern.title == "completeness fails: lacks dose"
    assert pattern.action == "Make replies say what they miss most: dose (2), source (1)"
    assert pattern.evidence == "2 × lacks dose / 1 × lacks source"


def test_checks_are_told_by_what_most_often_does_not_hold():
    def checked(number: int, *found: str) -> Result:
        checks = [{"check": "c", "holds": False, "found": each} for each in found]
        checks += [
            {"check": "c", "holds": True, "found": "is JSON"},
            {"check": "c", "holds": False, "found": "is long", "weight": 0},
        ]
        scores = {"checks": {**WRONG, "reason": f"The reply {found[0]}; 1 of 2.", "evidence": {"checks": checks}}}
        return made_result(made_case(number), number, state="failed", scores=scores)

    rows = [
        checked(0, "does not contain “911”", "has 90 words, more than 80"),
        checked(1, "does not contain “112”", "has 120 words, more than 80"),
        checked(2, "does not contain “112”"),
        checked(3, "has 99 words, more than 80"),
    ]
    pattern = only(made_report(rows), "scorer_failure")

    assert pattern.title == "checks fails, such as: the reply has 90 words, more than 80"
    assert pattern.evidence == (
        "3 × the reply has 90 words, more than 80 / 2 × the reply does not contain “112” / "
        "1 × the reply does not contain “911”"
    )


@pytest.mark.parametrize("kind", sorted(ANSWERED_BADLY))
def test_what_to_do_about_an_error_is_a_sentence_that_does_not_need_its_kind(kind):
    row = made_result(made_case(0), state="error_target", scores={}, error=Failure(kind, "It went wrong."))

    action = made_report([row]).patterns[0].action

    assert action.split()[0] in ("Find", "Look", "Make")
    assert kind not in action.split() or kind in ("crashed", "raised")


def test_no_tool_is_asked_for_where_none_is_expected():
    evidence = {"expected": [], "called": [{"name": "search"}]}
    scores = {"tool": {"value": 0.0, "passed": False, "evidence": evidence}}
    rows = [made_result(made_case(i), i, state="failed", scores=scores) for i in range(2)]

    (pattern,) = made_report(rows).patterns

    assert pattern.action == "Do not call search where no tool is needed"
