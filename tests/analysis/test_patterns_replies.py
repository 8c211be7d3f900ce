"""Why replies are not good enough, read off case, reply and evidence: each rule, and their order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from made_results import made_case, made_report, made_result, made_run

from cortex_eval.analysis import Failures, Pattern, diagnose, locate
from cortex_eval.analysis import patterns_canned as canned
from cortex_eval.core import Expected, Reply, Result, Turn, changed

WRONG = {"value": 0.0, "passed": False}
QUESTION = "How do I give the goods back?"
ANSWER = "Print the label, close the box and bring it to a post office within 14 days."


def failed(text: str, answer: str | None = ANSWER, *, number: int = 0, **fields: Any) -> Result:
    """A case that fails one scorer, `accuracy` if nothing else is said."""
    scores = fields.pop("scores", {fields.pop("scorer", "accuracy"): {**WRONG, "reason": "It is not good (0.12)."}})
    asked = fields.pop("asked", QUESTION)
    case = made_case(number, (asked,), expected=Expected(answer=answer, answers=fields.pop("answers", ())))
    reply = Reply(text=text, **fields.pop("reply", {}))
    return made_result(case, number, state="failed", reply=reply, scores=scores, **fields)


def only(*rows: Result, **fields: Any) -> Pattern:
    (found,) = made_report(rows, **fields).patterns
    return found


def claims(*said: tuple[str, str, list[str]]) -> dict[str, Any]:
    rows = [{"claim": claim, "label": label, "support": 0.1, "conflicts": why} for claim, label, why in said]
    return {"faithfulness": {**WRONG, "evidence": {"claims": rows}}}


@pytest.mark.parametrize("text", ["", "  \n", "…", " - "])
def test_a_reply_without_a_word_is_empty(text):
    pattern = only(failed(text))

    assert (pattern.type, pattern.title, pattern.priority) == ("empty_reply", "Replies are empty", "high")


def test_a_reply_that_calls_a_tool_instead_of_speaking_is_not_empty():
    report = made_report([failed("", reply={"tool": "open_return"}), failed("", number=1)])

    assert {each.type: each.cases for each in report.patterns}["empty_reply"] == ("case_0001",)


@pytest.mark.parametrize("reason", ["length", "max_tokens", "MAX_TOKENS"])
def test_a_reply_that_reached_the_limit_of_tokens_is_cut_off(reason):
    pattern = only(failed("Print the label, close", reply={"finish_reason": reason}))

    assert pattern.type == "cut_off"
    assert "limit of tokens" in pattern.action


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, I cannot help with that.",
        "Please contact our support team.",
        "I can only help with questions about health.",
        "मुझे इसकी जानकारी नहीं है।",
        "कृपया ग्राहक सेवा से संपर्क करें।",
    ],
)
def test_a_reply_that_refuses_or_sends_elsewhere_is_told_with_its_words(text):
    pattern = only(failed(text, answer=None, scorer="relevance"))

    assert pattern.type == "refusal"
    assert f"“{text}”" in pattern.action


def test_a_refusal_where_the_expected_answer_refuses_too_is_no_cause():
    pattern = only(failed("I am sorry, I cannot help with that.", answer="I cannot help you with medical matters."))

    assert pattern.type != "refusal"


def test_a_reply_that_answers_after_a_polite_refusal_is_no_refusal():
    pattern = only(failed("I cannot find your order. Bring the goods back to the shop, they pay at once.", "The post."))

    assert pattern.type != "refusal"


def test_another_script_than_that_of_the_expected_answer_is_another_language():
    pattern = only(failed("Your money comes back within five days.", "पैसा पाँच दिन में आपके खाते में आ जाएगा।"))

    assert (pattern.type, pattern.about[:2]) == ("wrong_language", ("hi", "accuracy"))


def test_the_question_tells_the_language_where_no_answer_is_expected():
    row = failed("Your money comes back within five days.", None, asked="मेरा पैसा कब वापस आएगा?", scorer="relevance")

    assert only(row).type == "wrong_language"


def test_a_word_of_another_script_is_no_other_language():
    row = failed("ऐप में Settings खोलें और दूसरा विकल्प चुनें।", "ऐप में Orders खोलें और फिर ऑर्डर चुनें।")

    assert only(row).type != "wrong_language"


def test_wrong_language_of_two_scorers_is_one_pattern():
    evidence = {"asked": {"language": "hi", "script": "Devanagari"}, "found": {"language": "en", "script": "Latin"}}
    scores = {"language": {**WRONG, "evidence": evidence}, "accuracy": WRONG}
    row = failed("Your money comes back within five days.", "पैसा पाँच दिन में आ जाएगा।", scores=scores)

    pattern = only(row)

    assert (pattern.type, pattern.gain, pattern.needs) == ("wrong_language", 1.0, ())


def same_reply(count: int) -> Iterator[Result]:
    for i in range(count):
        asked, answer = f"What is the matter with thing {'x' * (i + 1)}?", f"Matter {'abcdefgh'[i]} of the thing."
        yield failed("Welcome, we are glad that you are here.", answer, number=i, asked=asked)


def test_the_same_reply_to_three_questions_is_a_canned_one_and_all_three_cases_count():
    rows = [*same_reply(3), made_result(made_case(9), 9)]

    pattern = only(*rows)

    assert (pattern.type, pattern.count, pattern.gain) == ("canned_reply", 3, 3 / 4)
    assert pattern.cases == ("case_0000", "case_0001", "case_0002"), "in the order of the dataset"
    assert "“Welcome, we are glad that you are here.”" in pattern.action


def test_the_same_reply_to_two_questions_or_to_one_in_three_cases_is_not_canned():
    again = [failed("Welcome, we are glad that you are here.", number=i) for i in range(3)]

    assert only(*same_reply(2)).type != "canned_reply"
    assert only(*again).type != "canned_reply"


def test_a_name_that_is_the_reply_to_several_questions_is_not_canned():
    rows = [failed("Paris.", f"City {'abc'[i]}", number=i, asked=f"Capital of {'abc'[i]}?") for i in range(3)]

    assert only(*rows).type != "canned_reply"


def test_a_canned_reply_is_still_found_when_no_more_cases_may_wait(monkeypatch):
    monkeypatch.setattr(canned, "WAITING_BYTES", 1)

    report = made_report(same_reply(5))

    assert {each.type: each.count for each in report.patterns}["canned_reply"] == 3, "all but those that could not wait"
    assert sum(each.count for each in report.patterns) == 5


def test_of_a_conversation_only_the_turn_with_the_canned_reply_is_blamed_for_it():
    (one, *others) = same_reply(4)
    turns = tuple(Turn(text=text, expected=Expected(answer=ANSWER)) for text in ("What now, please?", QUESTION))
    case = changed(made_case(7), turns=turns)
    said = [("Welcome, we are glad that you are here.", 0), ("", 1)]
    rows = [
        made_result(case, 7, state="failed", turn=turn, text=text, scores={"accuracy": WRONG}) for text, turn in said
    ]

    report = made_report([one, *others, *rows])

    assert {each.type: each.count for each in report.patterns} == {"canned_reply": 5, "empty_reply": 1}


def test_a_reply_that_is_the_question_answers_nothing():
    pattern = only(failed("how do I give the goods back"))

    assert pattern.type == "repeats_question"


def test_other_numbers_than_the_expected_ones_are_told_with_both():
    rows = [
        failed("Print the label, close the box and bring it to a post office within 30 days.", number=0),
        failed("Print the label, close the box and bring it to a post office soon, or to us.", number=1),
        made_result(made_case(2), 2),
    ]

    pattern = only(*rows)

    assert (pattern.type, pattern.count) == ("wrong_number", 2)
    assert pattern.title == "Numbers of the expected answer are different or missing"
    assert "1 of 2 replies have others, 1 of 2 lack some, such as 30 days instead of 14 days" in pattern.action
    assert pattern.gain == pytest.approx(2 / 3)


def test_a_number_is_the_same_in_words_and_in_other_digits():
    rows = [
        failed("Bring the label and the box within fourteen days to a post office near you, closed."),
        failed("Bring the label and the box within १४ days to a post office near you, closed.", number=1),
    ]

    assert "wrong_number" not in {each.type for each in made_report(rows).patterns}


def test_a_number_of_any_accepted_answer_will_do():
    row = failed("Print the label and bring it within 30 days.", answers=("Print it and bring it within 30 days.",))

    assert only(row).type != "wrong_number"


def test_a_reply_of_a_third_of_the_words_is_too_short():
    pattern = only(failed("Print the label."))

    assert pattern.type == "too_short"
    assert "3 words instead of 16" in pattern.action


def test_a_reply_of_three_times_the_words_is_too_long_unless_it_had_only_to_contain_something():
    text = "Print the label, close the box and bring it within 14 days. " + "That is easy to do for everybody. " * 6
    missing = {"contains": {**WRONG, "evidence": {"missing": [ANSWER]}}}

    assert only(failed(text)).type == "too_long"
    assert only(failed(text, scores=missing)).type != "too_long"


def test_a_text_of_the_project_file_that_is_missing_is_named():
    scores = {"contains": {**WRONG, "evidence": {"missing": ["see a doctor"]}}}
    rows = [failed("Rest for some time, and drink a lot.", number=i, scores=scores) for i in range(2)]

    pattern = only(*rows)

    assert (pattern.type, pattern.title) == ("missing_text", "“see a doctor” is not in the reply")


def test_a_name_that_was_expected_is_named_with_its_alternatives():
    scores = {"contains": {**WRONG, "evidence": {"missing": ["Tulsi", "holy basil"]}}}

    pattern = only(failed("Take some ginger with honey.", "Tulsi", answers=("holy basil",), scores=scores))

    assert pattern.type == "missing_text"
    assert "“Tulsi” or “holy basil”" in pattern.action


def test_the_expected_words_in_another_order_are_another_wording():
    row = failed("Within 14 days, bring the box to a post office: print the label and close it.")

    pattern = only(row)

    assert pattern.type == "other_wording"
    assert "f1 or relevance" in pattern.action


def test_a_reply_without_the_expected_words_says_something_else():
    row = failed("Bananas ripen quickly in warm kitchens.", "The sender pays all customs duties in advance.")

    pattern = only(row)

    assert pattern.type == "other_answer"
    assert "“Bananas ripen quickly in warm kitchens.” instead of “The sender pays" in pattern.evidence


def test_a_part_of_the_answer_is_told_with_the_words_most_often_missing():
    answer = "Gifts are wrapped in green paper and carry a small card."
    texts = ["Gifts are wrapped in a box and carry no note.", "Gifts are wrapped by our team and carry a bow."]

    pattern = only(*(failed(text, answer, number=i) for i, text in enumerate(texts)))

    assert pattern.type == "partial_answer"
    assert "“card”, “green” and “paper”" in pattern.action


def test_a_word_that_is_missing_often_is_told_although_many_others_were_missing_before():
    rows = [failed("Gifts carry things.", f"Gifts carry word{'x' * i}, which is rare.", number=i) for i in range(1, 61)]
    rows += [failed("Gifts carry things.", "Gifts carry cards, which is nice.", number=i) for i in range(61, 64)]

    (pattern,) = (each for each in made_report(rows).patterns if each.type == "partial_answer")

    assert "cards (3)" in pattern.evidence


def test_numbers_that_are_not_in_the_passages_come_before_other_claims():
    said = claims(
        ("Rest is good.", "grounded", []),
        ("It heals in a night.", "hallucinated", []),
        ("Take 500 mg.", "hallucinated", ["the number 500 mg is not in the passages"]),
    )

    pattern = only(failed("Rest is good. It heals in a night. Take 500 mg.", scores=said))

    assert pattern.type == "unsupported_number"
    assert "500 mg in “Take 500 mg.”" in pattern.action


def test_the_first_claim_that_no_passage_supports_is_quoted():
    said = claims(
        ("Rest is good.", "grounded", []), ("It heals in a night.", "hallucinated", ["the passage denies it"])
    )

    pattern = only(failed("Rest is good. It heals in a night.", scores=said))

    assert pattern.type == "unsupported_claim"
    assert "“It heals in a night.” (the passage denies it)" in pattern.action


def test_a_cause_is_one_pattern_whichever_scorers_say_so_and_is_won_once():
    scores = {"accuracy": WRONG, "contains": WRONG, "relevance": WRONG}
    rows = [failed("", scores=scores), failed("", number=1, scores=scores), made_result(made_case(2), 2)]

    pattern = only(*rows)

    assert (pattern.count, pattern.gain, pattern.share) == (2, pytest.approx(2 / 3), pytest.approx(2 / 3))
    assert pattern.evidence == "fails accuracy (2), contains (2), relevance (2)"


def test_the_first_rule_that_holds_is_the_cause():
    row = failed("I cannot help with that.", reply={"finish_reason": "length"})

    assert only(row).type == "cut_off"


def test_a_lump_without_any_cause_says_so():
    reasons = ["Too stiff.", "It rambles.", "Who is meant?", "Cold.", "It is vague."]
    rows = [
        failed(
            f"Print it, {word}, within 14 days, at a post office.", number=i, scores={"judge": {**WRONG, "reason": why}}
        )
        for i, (word, why) in enumerate(zip(["please", "today", "once", "now", "soon"], reasons, strict=True))
    ]

    pattern = only(*rows)

    assert pattern.type == "scorer_failure"
    assert pattern.action.startswith(
        "Read some of these 5 cases: the reasons of judge do not say what is wrong with most"
    )
    assert pattern.action.endswith("the replies show no cause that can be counted")
    assert "Not seen from outside" in pattern.root_cause


def test_a_scorer_whose_reasons_are_but_figures_is_not_quoted_as_a_cause():
    reasons = ["Closeness by meaning: 0.57 to the question.", "Closeness by meaning: 0.41 to the question."]
    rows = [
        failed("Print it, please.", None, number=i, scores={"relevance": {**WRONG, "reason": reason}})
        for i, reason in enumerate(reasons)
    ]

    pattern = only(*rows)

    assert pattern.title == "relevance fails, such as: Closeness by meaning: 0.57 to the question."
    assert pattern.action.startswith(
        "Read some of these 2 cases: the reasons of relevance do not say what is wrong with most"
    )


def test_somebodys_own_scorer_that_gives_a_reason_knows_best():
    reason = {**WRONG, "reason": "It should greet."}
    rows = [failed("I cannot help with that.", number=i, scores={"greeting": reason}) for i in range(2)]
    silent = [failed("I cannot help with that.", number=i, scores={"is_right": WRONG}) for i in range(2)]

    assert only(*rows).action == "Mend first what greeting says of 2 of 2 cases: It should greet."
    assert only(*silent).type == "refusal"


def test_a_scorer_that_is_not_about_words_has_no_cause_in_them():
    rows = [failed("", number=i, scores={"performance": {**WRONG, "reason": "It took 9.1 s."}}) for i in range(2)]

    assert only(*rows).title == "performance fails, such as: It took 9.1 s."


def test_a_place_for_all_failures_of_scorers_still_holds_for_causes():
    found = made_report([failed("")]).patterns

    assert locate(found, {"scorer_failure": "bot.py"})[0].location == "bot.py"
    assert locate(found, {"scorer_failure": "bot.py", "empty_reply": "read.py"})[0].location == "read.py"
    assert locate(found, {"empty_reply": "read.py", "accuracy": "answers.py"})[0].location == "answers.py"


def test_nothing_of_a_reply_is_read_where_the_case_passes():
    broken = changed(made_result(made_case(0), 0), reply_json=b"{not JSON")
    failures = Failures(made_run(2, manifest={"scorers": {"accuracy": {"kind": "accuracy"}}}))

    assert len(list(failures.noting([broken, failed("", number=1)]))) == 2
    assert [each.type for each in diagnose(failures).patterns] == ["empty_reply"]


def test_results_that_were_read_without_their_cases_are_explained_as_far_as_they_go():
    row = changed(failed(""), case_json=None)

    assert only(row).type == "empty_reply"
    assert only(
        changed(failed("Some words."), case_json=None), changed(failed("x", number=1), case_json=None)
    ).type == ("scorer_failure")


def test_a_number_is_never_cut_in_two_in_a_quotation():
    text = "I do not know " + "w" * 40 + " 123456789012."

    pattern = only(failed(text, answer=None, scorer="relevance"))

    assert pattern.type == "refusal"
    assert "w …”" in pattern.action
