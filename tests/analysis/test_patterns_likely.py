"""A cause is named only where it is one: replies that look like a fault of some kind and are none, or another."""

from __future__ import annotations

from typing import Any

import pytest
from made_results import made_case, made_report, made_result

from cortex_eval.analysis import Pattern
from cortex_eval.analysis.patterns_numbers import lacking_numbers
from cortex_eval.core import Expected, Reply, Result

WRONG = {"value": 0.0, "passed": False}


def failed(text: str, *answers: str, number: int = 0, **fields: Any) -> Result:
    """A case that fails `accuracy` if nothing else is said."""
    scores = fields.pop("scores", None) or {"accuracy": WRONG}
    case = made_case(number, (fields.pop("asked", "What about it?"),), expected=Expected(answers=answers))
    return made_result(case, number, state="failed", reply=Reply(text=text), scores=scores)


def only(*rows: Result) -> Pattern:
    (found,) = made_report(rows).patterns
    return found


def cause(text: str, *answers: str, **fields: Any) -> str:
    return only(failed(text, *answers, **fields)).type


@pytest.mark.parametrize(
    ("expected", "said"),
    [
        ("It takes 14 days.", "It takes two weeks."),
        ("It is 5 km away.", "It is 5000 m away."),
        ("It lasts 1 year.", "It lasts 12 months."),
        ("It costs 1.5 million rupees.", "It costs 15 lakh rupees."),
        ("It costs 12.50 euros.", "It costs 12,5 euros."),
        ("It costs $3000.", "It costs 3k."),
        ("It has 125 pages.", "It has one hundred and twenty-five pages."),
        ("It has 250 pages.", "इसमें दो सौ पचास पृष्ठ हैं"),
        ("It was in 1984.", "It was in nineteen eighty-four."),
        ("It is on floor 4.", "It is on the fourth floor."),
        ("It opens at 9 pm.", "It opens at 21:00."),
        ("It opens at 9:30.", "It opens at 9.30 am."),
        ("It opened on 2024-01-05.", "It opened on January 5, 2024."),
        ("It is 50 % of it.", "It is 0.5 of it."),
        ("It is 2.5 of it.", "It is ढाई of it."),
        ("Heat it to 350 °F.", "Heat it to 350 degrees."),
        ("1. Unplug it.\n2. Wait.", "- Unplug it.\n- Wait."),
        ("Take vitamin B12 for a cold [3].", "Take cobalamin for a cold."),
        ("It is open for 14 days.", "It&#39;s open for <b>14</b> days."),
    ],
)
def test_a_number_that_is_written_otherwise_is_neither_wrong_nor_missing(expected, said):
    assert lacking_numbers([expected], said, "").missing == ()


@pytest.mark.parametrize(
    ("expected", "said", "missing", "other"),
    [
        ("14 days", "14 weeks", "14 days", "14 weeks"),
        ("500 mg", "5 days with 1000 mg", "500 mg", "1000 mg"),
        ("300 songs", "Since 1980 he wrote 400 songs", "300", "400"),
        ("four", "5", "4", "5"),
        ("-5", "5", "-5", "5"),
        ("9 pm", "at 10:30", "9 pm", "10:30"),
    ],
)
def test_another_number_is_told_beside_the_one_that_it_stands_for(expected, said, missing, other):
    found = lacking_numbers([expected], said, "")

    assert (found.missing[0], found.others[0]) == (missing, other)


def test_a_number_of_another_measure_stands_for_none():
    assert lacking_numbers(["Take it for 14 days."], "Take 5 mg.", "") == (("14 days",), (), False)


def test_in_a_longer_text_a_number_without_a_unit_tells_nothing():
    text = "It was founded in 1901 and " + "has seen many good and bad times since then, " * 5

    assert lacking_numbers([text], "It was founded in 1920.", "").missing == ()
    assert lacking_numbers([text + "for 14 days."], "It was for 30 days.", "")[:2] == (
        ("14 days", "1901"),
        ("30 days",),
    )


def test_a_reply_about_something_else_is_no_matter_of_numbers():
    answer = "Keep the leg raised for 14 days, wear the bandage, avoid sports and see the doctor."

    assert cause("Our shop has 3 branches in the middle of the town, open all week.", answer) == "other_answer"
    assert cause("Bananas ripen in warm kitchens, as everybody knows who has some.", answer) == "other_answer"


def test_a_short_reply_that_says_something_else_is_not_too_short():
    answer = "The capital of the French Republic is the city of Paris."

    assert cause("Lyon.", answer) == "other_answer"
    assert cause("👍", answer) == "other_answer"
    assert not made_report([failed("A" * 20_000, answer)]).patterns
    assert cause("Paris.", answer) == "too_short"


def test_a_long_reply_that_says_something_else_is_not_too_long():
    text = "As everybody knows who has ever been there, the place that you are looking for is called "

    assert cause(f"{text} Lyon, and nothing else at all.", "Paris") == "other_answer"
    assert cause(f"{text} Paris, and nothing else at all.", "Paris") == "too_long"


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("You may not open the box.", "You may open the box."),
        ("Yes, we are open on Sundays.", "No, we are closed on Sundays."),
        ("Yes", "No"),
        ("जी नहीं, यह मुफ़्त है", "हाँ, यह मुफ़्त है"),
        ("It lowers the pressure of the blood.", "It raises the pressure of the blood."),
    ],
)
def test_a_reply_that_denies_what_is_expected_says_the_opposite(said, expected):
    pattern = only(failed(said, expected))

    assert (pattern.type, pattern.priority) == ("opposite_answer", "high")
    assert f"“{said}” instead of “{expected}”" in pattern.action


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("No problem, you can return it at once.", "Yes, you can return it."),
        ("It is not without risk to open the box.", "It is a risk to open the box."),
        ("Do not ever open the box.", "You must not open the box."),
    ],
)
def test_a_negation_that_changes_nothing_is_no_opposite(said, expected):
    assert cause(said, expected) != "opposite_answer"


def test_one_other_word_in_a_sentence_of_the_same_words_is_not_another_wording():
    pattern = only(
        failed("The capital of the French Republic is Lyon.", "The capital of the French Republic is Paris.")
    )

    assert (pattern.type, pattern.title) == ("partial_answer", "Replies lack words of the expected answer")


def test_the_same_word_in_another_form_is_not_missing():
    assert cause("Printing labels is what you do.", "Print the label.") == "other_wording"


def test_a_small_word_that_is_expected_is_looked_for_all_the_same():
    assert cause("It is not known to us.", "No") == "other_answer"
    assert cause("Oh no it is.", "No") == "other_wording"


def test_words_that_only_link_sentences_are_not_called_for():
    rows = [
        failed("Gifts carry a bow.", "However, gifts each carry a card, using various pens.", number=i)
        for i in range(2)
    ]

    assert "“card” and “pens”" in only(*rows).action


def test_letters_of_scripts_without_spaces_are_not_called_words():
    rows = [failed("日本の首都は大阪です。", "日本の首都は東京です。", number=i) for i in range(2)]

    pattern = only(*rows)

    assert pattern.type == "partial_answer"
    assert pattern.action.startswith("Read both replies beside what is expected")


def test_a_picture_or_a_sign_is_not_an_empty_reply_and_tags_without_a_text_are():
    assert cause("😢", "😀") == "other_answer"
    assert cause("-", "+") == "other_answer"
    assert cause("<p>&nbsp;</p>", "Press the button.") == "empty_reply"
    assert cause("<br>", "<hr>") != "empty_reply"


def test_a_reply_that_sends_the_user_where_the_expected_answer_does_is_no_refusal():
    assert cause("Please contact our support team.", "Contact support at any time to reset it.") != "refusal"
    assert cause("I'm sorry, I can't help with that.", "Contact support at any time to reset it.") == "refusal"


def test_a_reply_that_found_nothing_in_its_passages_refuses():
    assert cause("The price is not mentioned in the provided content.", "It was 499 dollars.") == "refusal"


def test_a_reply_in_the_language_of_any_expected_answer_is_in_the_right_one():
    answers = ("पैसा पाँच दिन में आपके खाते में आ जाएगा।", "The money will be in your account on Friday.")

    assert cause("We have sent it to the bank of yours.", *answers) != "wrong_language"


def test_a_name_in_letters_of_its_own_does_not_make_the_language_of_the_question_wrong():
    asked = "हेनरी द्वारा सम्मानित किए गए नेता का नाम क्या था?"

    assert cause("उस नेता का नाम रिचर्ड था जो बाद में राजा बने", "Drogo", asked=asked) != "wrong_language"


def test_a_question_that_is_repeated_with_its_answer_is_answered():
    asked = "How many days do I have to return an item?"

    assert cause(f"You asked: {asked}", "It is 14 days.", asked=asked) == "repeats_question"
    assert cause(f"{asked} 15.", "It is 14 days.", asked=asked) != "repeats_question"
    assert cause(f"{asked} Paris.", "Paris", asked=asked) != "repeats_question"


def test_a_canned_reply_is_found_in_a_script_without_spaces():
    rows = [
        failed("对不起,我不明白您的问题。", answer, number=i, asked=f"第{answer}个问题是什么?")
        for i, answer in enumerate("甲乙丙")
    ]

    assert only(*rows).type == "canned_reply"


def test_what_two_scorers_of_the_wording_see_is_one_pattern():
    scores = {"accuracy": WRONG, "contains": {**WRONG, "evidence": {"missing": ["Paris"]}}}

    pattern = only(failed("Lyon", "Paris", scores=scores))

    assert (pattern.type, pattern.gain) == ("other_answer", 1.0)


def test_a_list_that_says_what_is_missing_is_believed():
    items = {"items": [{"item": "the dose", "present": False}]}
    scores = {"completeness": {**WRONG, "evidence": items}}
    rows = [failed("Take it for 3 days.", "Take 5 mg of it for 14 days.", number=i, scores=scores) for i in range(2)]

    pattern = only(*rows)

    assert (pattern.type, pattern.action) == ("scorer_failure", "Make replies say what they miss most: the dose (2)")


def test_of_somebodys_own_scorer_without_a_reason_nobody_knows_what_it_compares():
    rows = [
        failed("It takes 30 days.", "It takes 14 days.", number=i, scores={"is_polite": dict(WRONG)}) for i in range(2)
    ]

    assert only(*rows).type == "scorer_failure"
