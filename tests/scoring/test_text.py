import math

import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st
from reference_rouge import rouge_of

from cortex_eval.core import Case, Expected, InputError, Reply, Turn
from cortex_eval.scoring import scorers
from cortex_eval.scoring.overlap import bleu, chrf, overlap, rouge_l
from cortex_eval.scoring.text import Accuracy, Bleu, Chrf, Contains, Exact, Rouge, normalise
from cortex_eval.scoring.words import content_words, share_of_latin, words

BLEU_13A = sacrebleu.BLEU(effective_order=True)
BLEU_INTL = sacrebleu.BLEU(effective_order=True, tokenize="intl")

ENGLISH = [
    ("Take it with food.", "Take it with food, twice a day."),
    ("the the the the", "the cat is on the mat"),
    ("Dose: 2.5 mg/day (max. 10 mg).", "The dose is 2.5 mg a day, at most 10 mg."),
    ("1-2 tablets; don't chew!", "1-2 tablets, do not chew"),
    ("AT&amp;T said &quot;no&quot;", 'AT&T said "no"'),
    ("a .b ,c ..,. 3.,4 5-6 -7", "a.b,c 3,4 5-6-7 <skipped> x-\ny"),
    ("one", "one"),
    ("yes", "no"),
    ("a b", "a b c d e f g h"),
    ("x, y", "x,y"),
    ("...", "..."),
    ("line one\nline two", "line one line two"),
]
OTHER = [
    ("सीने में दर्द है।", "मुझे सीने में तेज दर्द है।"),
    ("दवा दिन में 2 बार लें, खाने के बाद।", "दवा खाने के बाद 2.5 mg लें।"),
    ("ألم في الصدر", "لدي ألم شديد في الصدر."),
    ("胸が痛い", "胸がとても痛いです。"),
    ("我胸口疼", "我的胸口很疼。"),
    ("Take दवा after खाना।", "Take the दवा after खाना."),
    ("Grüße aus Köln – déjà vu", "Viele Grüße aus Köln"),
]
ASCII = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=60)
PIECES = ["a", "b", "the", "pain,", "2.5", "mg.", "no-one", "3,", "(x)", "y/z", "&amp;", "5-6", ".,", "-"]
PHRASES = st.lists(st.sampled_from(PIECES), max_size=25).map(" ".join)
DEVANAGARI = st.text(st.sampled_from("कखगदर्दािीे्ं ।,.5 a"), min_size=1, max_size=40)


def case(*answers: str) -> Case:
    return Case(id="1", turns=(Turn(text="?", expected=Expected(answers=answers)),))


@pytest.mark.parametrize(("found", "wanted"), ENGLISH)
def test_bleu_is_that_of_sacrebleu_on_english(found, wanted):
    assert bleu(found, wanted) == pytest.approx(BLEU_13A.sentence_score(found, [wanted]).score / 100, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("found", "wanted"), ENGLISH)
def test_rouge_is_that_of_rouge_score_on_english(found, wanted):
    assert rouge_l(found, wanted) == pytest.approx(rouge_of(found, wanted)["rougeL"], abs=1e-9)


@given(found=st.one_of(ASCII, PHRASES), wanted=st.one_of(ASCII, PHRASES))
def test_bleu_equals_the_reference_implementation_on_any_ascii_text(found, wanted):
    assert bleu(found, wanted) == pytest.approx(BLEU_13A.sentence_score(found, [wanted]).score / 100, abs=1e-6)


@pytest.mark.slow
@given(found=st.one_of(ASCII, PHRASES), wanted=st.one_of(ASCII, PHRASES))
def test_rouge_equals_the_reference_implementation_on_any_ascii_text(found, wanted):
    assert rouge_l(found, wanted) == pytest.approx(rouge_of(found, wanted)["rougeL"], abs=1e-6)


@pytest.mark.parametrize(("found", "wanted"), OTHER)
def test_bleu_is_sacrebleu_in_other_scripts_with_intl_for_indic_ones(found, wanted):
    is_indic = any("\u0900" <= char <= "\u097f" for char in found + wanted)
    metric = BLEU_INTL if is_indic else BLEU_13A

    assert bleu(found, wanted) == pytest.approx(metric.sentence_score(found, [wanted]).score / 100, abs=1e-9)


@given(found=DEVANAGARI, wanted=DEVANAGARI)
def test_bleu_is_sacrebleu_on_any_devanagari_text(found, wanted):
    metric = BLEU_INTL if any("\u0900" <= char <= "\u097f" for char in found + wanted) else BLEU_13A

    assert bleu(found, wanted) == pytest.approx(metric.sentence_score(found, [wanted]).score / 100, abs=1e-6)


@given(found=st.text(max_size=60), wanted=st.text(max_size=60))
def test_every_score_stays_in_range_on_any_text(found, wanted):
    for value in (*overlap(found, wanted), chrf(found, wanted)):
        assert 0 <= value <= 1


@given(text=st.text(st.characters(categories=["L", "Nd"]), min_size=1, max_size=40))
def test_a_text_agrees_with_itself(text):
    assert rouge_l(text, text) == 1
    assert bleu(text, text) == pytest.approx(1)


@pytest.mark.parametrize(("found", "wanted"), ENGLISH + OTHER)
def test_chrf_is_that_of_sacrebleu(found, wanted):
    assert chrf(found, wanted) == pytest.approx(sacrebleu.sentence_chrf(found, [wanted]).score / 100, abs=1e-9)


async def test_an_identical_hindi_pair_scores_one_and_an_unrelated_one_next_to_nothing():
    text = "सीने में दर्द हो तो तुरंत अस्पताल जाएं।"

    same = await Accuracy().score(case(text), Reply(text=text))
    other = await Accuracy().score(case(text), Reply(text="आज मौसम बहुत सुहावना लग रहा था"))

    assert same.value == 1
    assert other.value < 0.05


def test_hindi_words_keep_their_vowel_signs_and_joiners_do_not_split_them():
    assert words("दर्द की दवा") == ["दर्द", "की", "दवा"]
    assert words("क्\u200dषमा") == words("क्षमा")
    assert words("क़लम") == words("क\u093cलम")


def test_scripts_without_spaces_give_a_word_per_character():
    assert words("胸が痛い") == ["胸", "が", "痛", "い"]
    assert words("CT検査 5mg") == ["ct", "検", "査", "5mg"]


def test_content_words_leave_out_the_commonest():
    assert content_words("What is the dose of insulin?") == {"dose", "insulin"}
    assert content_words("मुझे बुखार है") == {"बुखार"}


def test_the_share_of_latin_letters():
    assert share_of_latin("Grüße") == 1
    assert share_of_latin("दर्द ab") == pytest.approx(2 / 5)
    assert share_of_latin("12 !") is None


async def test_accuracy_weighs_bleu_and_rouge_and_shows_both():
    found, wanted = ENGLISH[0]
    parts = overlap(found, wanted)

    score = await Accuracy(bleu_weight=0.4, rouge_weight=0.6).score(case(wanted), Reply(text=found))

    assert score.value == pytest.approx(0.4 * parts.bleu + 0.6 * parts.rouge)
    assert score.evidence == {
        "bleu": pytest.approx(parts.bleu, abs=1e-6),
        "rouge": pytest.approx(parts.rouge, abs=1e-6),
    }
    assert "wording of the expected answer" in score.reason


@pytest.mark.parametrize("scorer", [Accuracy(), Bleu(), Rouge(), Chrf(), Exact(), Contains()])
async def test_the_best_reference_counts_an_empty_reply_is_zero_and_no_reference_is_not_applicable(scorer):
    best = await scorer.score(case("something else", "rest and drink water"), Reply(text="rest and drink water"))
    empty = await scorer.score(case("rest"), Reply(text="  \n"))
    none = await scorer.score(case(), Reply(text="rest"))

    assert best.value == pytest.approx(1)
    assert empty.value == 0
    assert "empty" in empty.reason
    assert none.value is None
    assert "no expected answer" in none.reason


@pytest.mark.parametrize(
    ("weights", "shown"),
    [((0.4, 0.4), "sum to 0.8"), ((-0.5, 1.5), "-0.5"), ((0, 0), "sum to 0"), ((math.nan, 1), "nan")],
)
def test_accuracy_weights_that_do_not_sum_to_one_are_an_input_error(weights, shown):
    with pytest.raises(InputError, match="their sum must be 1") as caught:
        Accuracy(*weights)

    assert shown in str(caught.value)


def test_settings_come_from_the_project_file_and_unknown_ones_offer_the_nearest():
    assert scorers.build("accuracy", {"bleu_weight": 0.4, "rouge_weight": 0.6}) == Accuracy(0.4, 0.6)
    assert scorers.build("contains", {"values": ["a"], "match": "all"}) == Contains(("a",), "all")
    with pytest.raises(InputError, match="Did you mean 'bleu_weight'"):
        scorers.build("accuracy", {"blue_weight": 0.4})
    with pytest.raises(InputError, match=r"contains\.match"):
        scorers.build("contains", {"match": "some"})


async def test_exact_ignores_case_and_spaces_but_not_punctuation_unless_told():
    said = Reply(text="  Rest  and\ndrink WATER! ")
    wanted = case("rest and drink water")

    assert (await Exact().score(wanted, said)).value == 0
    assert (await Exact(ignore_punctuation=True).score(wanted, said)).value == 1
    assert (await Exact(ignore_punctuation=True, casefold=False).score(wanted, said)).value == 0


async def test_exact_knows_that_composed_and_decomposed_letters_are_the_same():
    assert (await Exact().score(case("café"), Reply(text="cafe\u0301"))).value == 1
    assert (await Exact().score(case("क़लम"), Reply(text="क\u093cलम"))).value == 1


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ({}, "a b"),
        ({"strip": False}, " a b "),
        ({"collapse_spaces": False}, "a  b"),
        ({"strip": False, "collapse_spaces": False}, " a  b "),
    ],
)
def test_each_kind_of_space_can_be_kept(settings, wanted):
    assert normalise(" a  b ", **settings) == wanted


async def test_contains_wants_any_or_all_of_its_values():
    said = Reply(text="Take PARACETAMOL and rest.")

    assert (await Contains(("paracetamol", "ice")).score(case(), said)).value == 1
    missing = await Contains(("paracetamol", "ice"), "all").score(case(), said)
    assert missing.value == 0
    assert missing.evidence == {"missing": ["ice"]}
    assert "'ice'" in missing.reason


async def test_contains_can_ask_for_whole_words_in_any_script():
    heart, tea = Reply(text="the heart"), Reply(text="गरम चायवाला")

    assert (await Contains(("art",)).score(case(), heart)).value == 1
    assert (await Contains(("art",), whole_words=True).score(case(), heart)).value == 0
    assert (await Contains(("चाय",), whole_words=True).score(case(), tea)).value == 0
    assert (await Contains(("गरम",), whole_words=True).score(case(), tea)).value == 1


def test_contains_refuses_an_empty_value():
    with pytest.raises(InputError, match="empty text"):
        Contains(("a", " "))
