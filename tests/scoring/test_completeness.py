import csv
import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_eval.core import Case, Expected, InputError, Reply, Turn
from cortex_eval.scoring import can_embed, scorers
from cortex_eval.scoring.checklist import Completeness
from cortex_eval.scoring.denial import is_taken_back, sentence_around

DATA = Path(__file__).parents[3] / "shared" / "data"
BY_WORDS = Completeness(use_embeddings=False)
FULL = """
Your Prakriti is most likely Vata (confidence: high). You show a moderate Vata imbalance.

Diet:
- Eat warm rice with ghee and moong dal.
Lifestyle:
- Practise yoga every morning for 20 minutes.
Herbs:
- Ashwagandha powder, half a teaspoon with warm milk.

This follows Charaka Samhita, Sutrasthana 1.59. Come back for a review in two weeks.
Please consult a BAMS practitioner before you start.
"""
FULL_HINDI = """
आपकी प्रकृति संभवतः वात है। वात का असंतुलन मध्यम है।
आहार: गर्म खिचड़ी और घी खाएं।
दिनचर्या: रोज सुबह 20 मिनट योग करें।
अश्वगंधा चूर्ण एक चम्मच दूध के साथ लें।
चरक संहिता, सूत्रस्थान १.५९ में यही कहा गया है।
दो सप्ताह बाद दोबारा मिलें।
कृपया किसी वैद्य से परामर्श लें।
"""
ALL = ["prakriti", "vikriti", "diet", "lifestyle", "herbs", "citations", "follow_up", "disclaimer"]


def check(text: str, scorer: Completeness = BY_WORDS, **reply):
    return scorer.score_batch([(Case.of("What should I do?", id="1"), Reply(text=text, **reply))])[0]


def present(text: str, scorer: Completeness = BY_WORDS) -> list[str]:
    return [row["item"] for row in check(text, scorer).evidence["items"] if row["present"]]


@pytest.mark.parametrize("text", [FULL, FULL_HINDI])
def test_a_full_consultation_has_all_eight_items(text):
    score = check(text)

    assert present(text) == ALL
    assert (score.value, score.measure, score.unit, score.passed) == (1, 8, "items", True)


def test_every_item_names_the_words_that_decided():
    rows = {row["item"]: row for row in check(FULL).evidence["items"]}

    assert rows["citations"]["words"] == ["Charaka Samhita"]
    assert rows["diet"]["words"] == ["Eat", "rice"] or "rice" in rows["diet"]["words"]
    assert all(row["method"] == "pattern" for row in rows.values())


def lines_without(*starts: str) -> str:
    kept = [line for line in FULL.splitlines() if not line.startswith(starts)]
    return "\n".join(kept)


def test_six_of_eight_are_complete_and_five_are_not():
    six = lines_without("Herbs", "- Ashwagandha", "Diet", "- Eat")
    five = six.replace("This follows Charaka Samhita, Sutrasthana 1.59. ", "")

    assert (check(six).value, check(six).passed) == (0.75, True)
    assert (check(five).value, check(five).passed) == (0.625, False)


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("Your Prakriti is Vata.", "confidence level"),
        ("You have a Vata imbalance.", "severity"),
        ("Follow a good diet.", "specific foods"),
        ("Some yoga is good.", "timing or frequency"),
        ("Ashwagandha helps.", "preparation"),
    ],
)
def test_an_item_without_its_second_part_is_not_there_unless_that_is_enough(text, missing):
    strict = [row for row in check(text).evidence["items"] if row.get("lacking") == [missing]]
    lenient = present(text, Completeness(strict=False, use_embeddings=False))

    assert [row["present"] for row in strict] == [False]
    assert strict[0]["item"] in lenient


def test_a_question_is_no_assessment_and_no_advice():
    assert present("Is your Prakriti probably Vata? Do you eat rice? Do you do yoga every morning?") == []


def test_what_is_denied_is_no_assessment():
    assert "prakriti" not in present("I cannot say that your Prakriti is probably Vata.")


def test_no_herbs_needed_stands_for_herbs():
    assert present("No herbs are needed here.") == ["herbs"]


def test_citations_of_the_target_count():
    rows = check("Rest.", citations=("Charaka Samhita, Sutrasthana 1.59",)).evidence["items"]

    assert [row["item"] for row in rows if row["present"]] == ["citations"]


def test_parts_far_from_each_other_do_not_make_an_item():
    far = "Your Prakriti is Vata. " + "The sky is blue. " * 8 + "It is probably so."

    assert "prakriti" not in present(far)


def test_the_checklist_of_the_case_comes_first():
    expected = Expected(checklist=("Mentions drinking water", "Names the emergency number 112"))
    case = Case(id="1", turns=(Turn(text="?", expected=expected),))

    (score,) = BY_WORDS.score_batch([(case, Reply(text="It mentions drinking plain water often."))])

    assert score.value == 0.5
    assert score.passed is False
    assert "Names the emergency number 112" in score.reason


def test_items_in_the_settings_may_be_texts_or_patterns():
    items = ("drink water", {"item": "Number to call", "any": [r"\b(?:112|108)\b"]})
    scorer = Completeness(items=items, use_embeddings=False, complete_at=1)

    assert check("Drink water and call 108.", scorer).value == 1
    assert check("Drink water.", scorer).passed is False


METHODS = [
    False,
    pytest.param(True, marks=pytest.mark.skipif(not can_embed(), reason="the extra `embed` is not installed")),
]


@pytest.mark.parametrize("use_embeddings", METHODS)
@pytest.mark.parametrize(
    ("item", "met", "not_met"),
    [
        ("at most 3 g in 24 hours", "At most 3 g in 24 hours.", "At most 6 g in 24 hours."),
        ("at most 4 g in 24 hours", "No more than 4000 mg in 24 hours.", "No more than 400 mg in 24 hours."),
        ("at most 4 g in 24 hours", "At most 4g in 24 hours.", "At most 4mg in 24 hours."),
        ("a booster every 10 years", "You need a booster every 10 years.", "You need a booster every 30 years."),
        ("take 125 micrograms", "Take 125 micrograms.", "Take 125 milligrams."),
        ("take one tablet a day", "Take one tablet a day.", "Take two tablets a day."),
        ("pain in the left knee", "The pain is in the left knee.", "The pain is in the right knee."),
        ("take it before meals", "Take it before meals, not after meals.", "Take it after meals."),
        (
            "do not take aspirin with warfarin",
            "Aspirin and warfarin should not be taken together.",
            "You can take aspirin with warfarin.",
        ),
        ("do not take aspirin with warfarin", "Avoid aspirin with warfarin.", "Aspirin is fine with warfarin."),
        ("keep insulin in the fridge", "Keep the insulin in the fridge.", "Do not keep insulin in the fridge."),
        (
            "public list of leaked passwords",  # what is spoken of, and no advice that could be denied
            "It must not be in the public list of leaked passwords.",
            "It must have twelve signs.",
        ),
        ("दवा खाली पेट न लें", "यह दवा खाली पेट न लें।", "यह दवा खाली पेट लें।"),
    ],
)
def test_an_item_is_not_met_by_another_number_side_or_the_opposite(item, met, not_met, use_embeddings):
    scorer = Completeness(items=(item,), use_embeddings=use_embeddings)

    assert check(met, scorer).value == 1
    assert check(not_met, scorer).value == 0


def test_a_number_may_stand_in_another_sentence_than_the_words():
    scorer = Completeness(items=("the highest dose of paracetamol is 3 g",), use_embeddings=False)

    assert check("There is a highest dose of paracetamol. It is 3 g.", scorer).value == 1
    assert check("The highest dose of paracetamol is 6 g. Children take 3 g.", scorer).value == 0


def test_how_many_things_must_be_named_need_not_be_said():
    scorer = Completeness(items=("names at least 2 side effects",), use_embeddings=False)

    assert check("It names side effects such as nausea and a rash.", scorer).value == 1


def test_the_reason_speaks_of_one_item_in_the_singular():
    one, two = (Completeness(items=items, use_embeddings=False) for items in (("water",), ("water", "salt")))

    assert check("Drink milk.", one).reason.startswith("0 of 1 item is there")
    assert check("Drink water.", two).reason.startswith("1 of 2 items is there")
    assert check("Drink milk.", two).reason.startswith("0 of 2 items are there")


def test_a_checklist_file_is_read(tmp_path):
    path = tmp_path / "list.json"
    path.write_text(json.dumps({"items": [{"item": "Greets", "any": ["hello", "नमस्ते"]}]}), encoding="utf-8")

    assert check("नमस्ते!", Completeness(checklist=path)).value == 1
    assert check("Bye.", Completeness(checklist=path)).value == 0


def test_an_empty_reply_has_nothing():
    score = check("  \n")

    assert (score.value, score.passed, score.reason) == (0, False, "The reply is empty.")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"items": [{"any": ["a"]}]}, "an item is a text"),
        ({"items": ["a", "a"]}, "two items of this id"),
        ({"items": [{"item": "a", "anny": ["b"]}]}, "Did you mean 'any'?"),
        ({"items": [{"item": "a", "any": ["(b"]}]}, "does not compile"),
        ({"items": [{"item": "a", "parts": "b"}]}, "'parts' must be a list"),
        ({"items": [{"item": "a", "examples": "b"}]}, "'examples' must be a list"),
        ({"items": [{"item": "a", "near": -1}]}, "'near' must be a number"),
        ({"items": ["a"], "checklist": "b.json"}, "not both"),
        ({"checklist": "nowhere.json"}, "cannot be read"),
        ({"complete_at": 2}, "from 0 to 1"),
    ],
)
def test_a_wrong_checklist_is_told_before_anything_runs(settings, message):
    with pytest.raises(InputError, match=message):
        scorers.build("completeness", settings)


def test_a_file_that_is_no_checklist_is_told(tmp_path):
    path = tmp_path / "list.json"
    for content, message in (("{", "not JSON"), ("3", "list of items"), ("[]", "no items")):
        path.write_text(content, encoding="utf-8")
        with pytest.raises(InputError, match=message):
            Completeness(checklist=path)


@given(text=st.text(max_size=300))
def test_any_text_gets_a_share_of_the_items(text):
    score = check(text)

    assert 0 <= score.value <= 1
    assert score.passed is (score.value >= 0.75)


@given(order=st.permutations([line for line in FULL_HINDI.splitlines()[1:] if line]))
def test_the_order_of_paragraphs_does_not_matter(order):
    assert check("\n\n".join(order)).value == 1


@pytest.mark.skipif(not can_embed(), reason="the extra `embed` is not installed")
def test_what_means_the_same_is_found_by_meaning_and_said_so():
    items = ("The pain should get better within a few days",)
    text = "You can expect the ache to ease off in two or three days."
    by_meaning = check(text, Completeness(items=items, similarity=0.5))

    assert check(text, Completeness(items=items, use_embeddings=False)).value == 0
    assert by_meaning.value == 1
    assert by_meaning.evidence["items"][0]["method"] == "meaning"
    assert "meaning" in by_meaning.reason


def test_hindi_is_found_by_patterns_and_said_so():
    score = check(FULL_HINDI, Completeness())

    assert score.evidence["method"] == "lexical"
    assert "English only" in score.reason or "not installed" in score.reason


@pytest.mark.skipif(not (DATA / "ayurmind_eval").exists(), reason="the AyurMind answers are not here")
def test_a_plain_model_says_less_than_one_that_reads_ayurveda():
    def mean(name: str) -> float:
        with (DATA / f"ayurmind_eval/results/results_{name}.jsonl").open(encoding="utf-8", newline="\n") as file:
            answers = [json.loads(line)["response"] for line in file]
        return sum(check(answer).value for answer in answers) / len(answers)

    assert mean("vanilla_llm") < 0.2 < mean("single_agent_rag") < 0.5


@pytest.mark.soak
@pytest.mark.skipif(not (DATA / "kqa").exists() or not can_embed(), reason="K-QA or the extra `embed` is not here")
@pytest.mark.parametrize("held_out", [0, 1])
def test_statements_are_found_in_the_physicians_answers_they_come_from(held_out):
    with (DATA / "kqa/questions_w_answers.jsonl").open(encoding="utf-8", newline="\n") as file:
        every = [json.loads(line) for line in file]
    halves = [row for row in every if hashlib.sha256(row["Question"].encode()).digest()[0] % 2 == held_out]

    def mean(shift: int) -> float:
        pairs = []
        for row, source in zip(halves, halves[shift:] + halves[:shift], strict=True):
            expected = Expected(checklist=tuple(source["Must_have"]))
            case = Case(id="1", turns=(Turn(text=row["Question"], expected=expected),))
            pairs.append((case, Reply(text=row["Free_form_answer"])))
        scores = Completeness().score_batch(pairs)
        return sum(score.value for score in scores) / len(scores)

    assert mean(0) >= 0.95
    assert mean(7) <= 0.05


@pytest.mark.soak
@pytest.mark.skipif(not (DATA / "kqa").exists() or not can_embed(), reason="K-QA or the extra `embed` is not here")
def test_near_statements_are_told_apart_only_a_little_better_than_by_chance():
    with (DATA / "kqa/nli_three_physicians.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    expected = [Expected(checklist=(row["claim"],)) for row in rows]
    cases = [Case(id="1", turns=(Turn(text="?", expected=each),)) for each in expected]
    scores = Completeness().score_batch(
        [(case, Reply(text=row["answer"])) for case, row in zip(cases, rows, strict=True)]
    )
    right: dict[bool, list[bool]] = {True: [], False: []}
    for row, score in zip(rows, scores, strict=True):
        is_there = row["majority_label"] == "Entailment"
        right[is_there].append((score.value == 1) is is_there)

    balanced = sum(sum(some) / len(some) for some in right.values()) / 2
    assert 0.6 <= balanced <= 0.8  # a known limit, in docs/scorers-health.md


def test_a_reply_of_a_hundred_thousand_characters_without_a_full_stop_is_read_in_time():
    # Each amount looked at with the whole of its endless sentence would take minutes: the test would hardly end.
    scorer = scorers.build("completeness", {"use_embeddings": False})
    [score] = scorer.score_batch([(Case.of("What to take?", id="1"), Reply(text="5 mg " * 20_000))])
    assert score.value is not None


def test_a_denial_counts_within_its_own_sentence_wherever_that_stands():
    text = "Take turmeric. Do not take honey at night! Is it safe? Drink water"
    for words, is_back in (("turmeric", False), ("honey", True), ("safe", True), ("water", False)):
        start = text.index(words)
        assert is_taken_back(text, start, start + len(words)) is is_back
    low, high = sentence_around(text, text.index("honey"), text.index("honey") + 5)
    assert text[low:high] == "Do not take honey at night!"
