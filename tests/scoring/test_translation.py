import json
from decimal import Decimal
from pathlib import Path

import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st

from cortex_eval.core import Case, Expected, Reply, Turn
from cortex_eval.scoring import plan_scorer, run_scorer, scorers
from cortex_eval.scoring.names import is_named, names, sounds
from cortex_eval.scoring.quantities import read_quantities, spoken_numbers
from cortex_eval.scoring.translation import Translation, compare_numbers, untranslated_share
from laws import tried

DATA = Path(__file__).parents[3] / "shared" / "data"
SOURCE = "Dr. Asha Verma said: take 500 mg of Paracetamol twice a day for 5 days."
REFERENCE = "डॉ. आशा वर्मा ने कहा: 5 दिनों तक दिन में दो बार 500 मिलीग्राम पैरासिटामोल लें।"


def score(reply: str, *references: str, source: str = SOURCE, scorer: Translation | None = None):
    case = Case(id="1", turns=(Turn(text=source, expected=Expected(answers=references)),))
    return (scorer or Translation()).score_batch([(case, Reply(text=reply))])[0]


def rows(path: str) -> list[dict]:
    if not (DATA / path).exists():
        pytest.skip(f"{path} is not here")
    with (DATA / path).open(encoding="utf-8", newline="\n") as lines:
        return [json.loads(line) for line in lines]


def found(text: str) -> list[tuple[str, str | None]]:
    return [(f"{each.value.normalize():f}", each.unit) for each in read_quantities(text)]


def test_the_value_is_chrf_and_the_other_figures_are_those_of_sacrebleu():
    reply = "डॉ. आशा वर्मा ने कहा कि दिन में दो बार 500 मिलीग्राम पैरासिटामोल 5 दिनों तक लें।"

    said = score(reply, REFERENCE)

    chrf = sacrebleu.sentence_chrf(reply, [REFERENCE]).score
    assert said.value == pytest.approx(chrf / 100, abs=1e-6)
    assert (said.measure, said.unit) == (pytest.approx(chrf, abs=1e-4), "chrF")
    bleu = sacrebleu.BLEU(effective_order=True, tokenize="intl").sentence_score(reply, [REFERENCE]).score
    assert said.evidence["bleu"] == pytest.approx(bleu / 100, abs=1e-6)
    assert said.evidence["ter"] == pytest.approx(sacrebleu.sentence_ter(reply, [REFERENCE]).score / 100, abs=1e-6)
    assert said.evidence["length_ratio"] == pytest.approx(17 / 16)
    assert said.evidence["numbers"] == {"kept": 1.0, "wanted": 2, "lost": [], "added": []}
    assert said.evidence["units"] == {"kept": 1.0, "wanted": 2, "lost": []}
    assert said.evidence["names"]["lost"] == []
    assert said.evidence["untranslated"] == 0


def test_the_expected_translation_itself_is_one():
    said = score(REFERENCE, "कुछ और", REFERENCE)

    assert said.value == pytest.approx(1)
    assert said.evidence["length_ratio"] == 1
    assert said.evidence["names"]["kept"] == 1


def test_a_changed_dose_is_told_and_fails_when_numbers_are_strict():
    reply = REFERENCE.replace("500", "50")

    lenient = score(reply, REFERENCE)
    strict = score(reply, REFERENCE, scorer=Translation(strict_numbers=True))

    assert lenient.value > 0.9
    assert lenient.passed is None
    assert lenient.evidence["numbers"]["lost"] == ["500 मिलीग्राम"]
    assert lenient.evidence["numbers"]["added"] == ["50 मिलीग्राम"]
    assert "Numbers lost: 500 मिलीग्राम." in lenient.reason
    assert strict.passed is False
    assert strict.value == lenient.value


def test_a_changed_unit_is_told():
    said = score(REFERENCE.replace("मिलीग्राम", "ग्राम"), REFERENCE)

    assert said.evidence["numbers"]["lost"] == []
    assert said.evidence["units"]["lost"] == ["500 मिलीग्राम"]


def test_a_lost_name_is_told():
    said = score(REFERENCE.replace("वर्मा", "जी"), REFERENCE)

    assert said.evidence["names"]["lost"] == ["Verma"]
    assert "Names lost: Verma." in said.reason


def test_what_was_left_in_the_source_language_is_a_share():
    assert score(SOURCE, REFERENCE).evidence["untranslated"] == pytest.approx(11 / 13)  # two names are not counted
    half = untranslated_share("take the tablet now", "गोली अभी लें", "tablet अभी now लें")
    assert half == pytest.approx(2 / 4)
    assert untranslated_share("Take 5", None, "5") is None
    assert untranslated_share("HIV test", "HIV जाँच", "HIV जाँच") == 0


def test_without_a_reference_there_is_no_value_but_the_source_still_tells_what_was_lost():
    said = score("दिन में दो बार पैरासिटामोल लें।")

    assert said.value is None
    assert said.evidence["numbers"]["lost"] == ["500 mg", "5 days"]
    assert "chrf" not in said.evidence


def test_an_empty_translation_is_zero_where_one_is_expected():
    assert score(" ", REFERENCE).value == 0
    assert score(" ").value is None


@given(reply=st.text(max_size=60), reference=st.text(max_size=60), source=st.text(min_size=1, max_size=60))
@tried(60)
def test_any_text_gives_a_value_in_range_and_shares_in_range(reply, reference, source):
    said = score(reply, reference, source=source)

    assert said.value is None or 0 <= said.value <= 1
    for part in ("numbers", "units", "names"):
        share = said.evidence[part]["kept"] if said.evidence else None
        assert share is None or 0 <= share <= 1


@given(st.lists(st.integers(0, 10**9), max_size=6))
def test_a_text_keeps_its_own_numbers(numbers):
    text = "; ".join(map(str, numbers))

    kept = compare_numbers(text, text, text)

    assert (kept.lost, kept.added) == ([], [])
    assert [each.value for each in read_quantities(text)] == [Decimal(each) for each in numbers]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Take 2.5 mg or 1,000 ml", [("2.5", "mg"), ("1000", "ml")]),
        ("1,00,000 IU and 1.234,56", [("100000", "IU"), ("1234.56", None)]),
        ("2,5 kg; 6½ hours; -5 °C", [("2.5", "kg"), ("6.5", "hour"), ("-5", "°C")]),
        ("on 12.05.2020 at 10:30", [("12", None), ("5", None), ("2020", None), ("10", None), ("30", None)]),
        ("5-6 days; 1,2,3", [("5", None), ("6", "day"), ("1", None), ("2", None), ("3", None)]),
        ("2.3 million = 23 लाख", [("2300000", None), ("2300000", None)]),
        ("५०० मि.ग्रा., ३७.५ डिग्री सेल्सियस", [("500", "mg"), ("37.5", "°C")]),
        ("१,२३,४५६ और 5 प्रतिशत", [("123456", None), ("5", "%")]),
        ("٣٫٥ mg", [("3.5", "mg")]),
        ("the 1960s, B12 H1N1", [("1960", None), ("12", None), ("1", None), ("1", None)]),
        ("120/80 mm Hg, 98.6 degrees Fahrenheit", [("120", None), ("80", "mmHg"), ("98.6", "°F")]),
        ("no numbers", []),
    ],
)
def test_numbers_and_units_are_read_in_every_script(text, wanted):
    assert found(text) == wanted


def test_numbers_written_as_words_count_as_kept():
    assert {Decimal(25), Decimal(200)} <= spoken_numbers("twenty five and two hundred")
    assert compare_numbers("5 days", "5 दिन", "पाँच दिन").lost == []
    assert compare_numbers("five days", "पाँच दिन", "5 दिन").added == []


def test_names_are_words_with_capitals_inside_a_sentence():
    assert names("Yesterday John went to London. Then HIV was found.") == ["John", "London", "HIV"]


@pytest.mark.parametrize(
    ("latin", "devanagari"),
    [
        ("Washington", "वॉशिंगटन"),
        ("George", "जॉर्ज"),
        ("Trump", "ट्रंप"),
        ("Paracetamol", "पैरासिटामोल"),
        ("Churchill", "चर्चिल"),
    ],
)
def test_a_name_sounds_the_same_in_both_scripts(latin, devanagari):
    assert sounds(latin) == sounds(devanagari)
    assert is_named(latin, f"{devanagari} ने कहा")
    assert not is_named(latin, "मौसम अच्छा है")


def test_numbers_survive_in_real_translations_and_not_in_unrelated_ones():
    pairs = [each for each in rows("tico19_enhi/tico19_en_hi.jsonl") if read_quantities(each["en"])]

    kept = [not compare_numbers(each["en"], None, each["hi"]).lost for each in pairs]
    other = [
        not compare_numbers(each["en"], None, pairs[i - 1]["hi"]).lost for i, each in enumerate(pairs)
    ]  # of another sentence

    assert len(pairs) > 400
    assert sum(kept) / len(kept) > 0.99
    assert sum(other) / len(other) < 0.35


async def test_a_plan_takes_it_by_name_with_its_setting():
    planned = plan_scorer("translation")
    case = Case.of(SOURCE, REFERENCE, id="1")

    checked = await run_scorer(planned, case, Reply(text=REFERENCE))

    assert checked.value == pytest.approx(1)
    assert scorers.build("translation", {"strict_numbers": True}) == Translation(True)
