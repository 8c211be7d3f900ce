import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_eval.core import Case, Reply
from cortex_eval.scoring.citations import CHAPTERS, find_citations
from cortex_eval.scoring.interpretability import Interpretability

DATA = Path(__file__).parents[3] / "shared" / "data"
CASE = Case.of("Why?", id="1")
GOOD = (
    "Because you feel cold and dry, Vata (the principle of movement) is probably aggravated. "
    "This is why warm food helps (Charaka Samhita, Sutrasthana 1.59-61)."
)
GOOD_HINDI = (
    "आपको ठंड लगती है, इसलिए शायद वात (वायु) बढ़ा है। गर्म भोजन अच्छा है क्योंकि वह शांत करता है (चरक संहिता, सूत्रस्थान १.५९-६१)।"
)


async def parts(text: str, **settings) -> dict[str, float]:
    score = await Interpretability(**settings).score(CASE, Reply(text=text))
    return score.evidence["parts"]


@pytest.mark.parametrize("text", [GOOD, GOOD_HINDI])
async def test_reasons_sources_doubt_and_explained_terms_are_worth_one(text):
    score = await Interpretability().score(CASE, Reply(text=text))

    assert score.value == 1
    assert set(score.evidence["parts"]) == {"reasoning", "sources", "confidence", "concepts"}
    assert score.evidence["sources"][0]["verses"] == "59-61"


async def test_a_bare_claim_is_worth_nothing():
    score = await Interpretability().score(CASE, Reply(text="Eat rice."))

    assert score.value == 0
    assert "concepts" not in score.evidence["parts"]  # no term was introduced


async def test_the_value_is_the_mean_of_the_parts():
    score = await Interpretability().score(CASE, Reply(text="Eat rice because it is light. Tachycardia is likely."))

    assert score.evidence["parts"] == {"reasoning": 0.5, "sources": 0, "confidence": 1, "concepts": 0}
    assert score.value == pytest.approx(1.5 / 4)


@pytest.mark.parametrize(
    ("text", "credit"),
    [
        ("Charaka Samhita, Sutrasthana 1.41", 1),
        ("Charaka Samhita, Chikitsasthana 3", 0.75),
        ("Charaka Samhita", 0.5),
        ("(Sharma et al., 2019)", 1),
        ("See https://www.who.int/news/item/1", 1),
        ("According to the WHO", 0.5),
        ("According to ancient texts", 0.25),
        ("Studies show it", 0.25),
        ("Eat rice", 0),
    ],
)
async def test_a_source_is_worth_what_can_be_looked_up(text, credit):
    assert (await parts(text))["sources"] == credit


async def test_a_place_that_does_not_exist_is_told_and_halves_the_rest():
    score = await Interpretability().score(CASE, Reply(text="Charaka Samhita, Sutrasthana 45.3 and Sutrasthana 1.41"))

    assert score.evidence["parts"]["sources"] == 0.5
    assert "There is no such place: Charaka Samhita, Sutrasthana 45.3" in score.reason


async def test_sources_can_be_left_out_or_added():
    assert "sources" not in await parts("Eat rice.", needs_sources=False)
    assert (await parts("See Handbook 7.", sources=("handbook",)))["sources"] == 0.5


async def test_citations_of_the_target_count():
    score = await Interpretability().score(CASE, Reply(text="Rest.", citations=("Charaka Samhita, Sutrasthana 1.41",)))

    assert score.evidence["parts"]["sources"] == 1


async def test_plain_certainty_is_worth_half():
    assert (await parts("It is definitely Pitta."))["confidence"] == 0.5
    assert (await parts("It is probably Pitta."))["confidence"] == 1
    assert (await parts("Confidence: 80%."))["confidence"] == 1


async def test_an_empty_reply_does_not_apply():
    assert (await Interpretability().score(CASE, Reply(text=" "))).value is None


@pytest.mark.parametrize(
    ("text", "book", "section", "chapter", "verses"),
    [
        ("Charaka Samhita, Sutrasthana 1.41", "Charaka Samhita", "Sutrasthana", 1, "41"),
        ("Caraka Saṃhitā, Sūtrasthāna 1.41", "Charaka Samhita", "Sutrasthana", 1, "41"),
        ("Caraka Samhita Sutra Sthana, chapter 25, verse 40", "Charaka Samhita", "Sutrasthana", 25, "40"),
        ("Charaka Samhita, Sutrasthana 5, verses 10 – 12", "Charaka Samhita", "Sutrasthana", 5, "10-12"),
        ("Ca. Su. 1/41", "Charaka Samhita", "Sutrasthana", 1, "41"),
        ("Charaka Samhita (Su. 25.40)", "Charaka Samhita", "Sutrasthana", 25, "40"),
        ("Sushruta Samhita, Uttaratantra 39:5", "Sushruta Samhita", "Uttarasthana", 39, "5"),
        ("Ashtanga Hridayam Su 1.6", "Ashtanga Hridaya", "Sutrasthana", 1, "6"),
        ("चरक संहिता, सूत्रस्थान १.४१–४३", "Charaka Samhita", "Sutrasthana", 1, "41-43"),
        ("सुश्रुत संहिता, चिकित्सास्थान, अध्याय २४, श्लोक ३", "Sushruta Samhita", "Chikitsasthana", 24, "3"),
        ("Sutrasthana 15.41", "", "Sutrasthana", 15, "41"),
        ("Bhavaprakasha", "Bhavaprakasha", "", None, ""),
    ],
)
def test_references_are_read_in_the_ways_people_write_them(text, book, section, chapter, verses):
    (found,) = find_citations(f"As it says in {text}.")

    assert (found.text, found.section, found.chapter, found.verses) == (book, section, chapter, verses)


@pytest.mark.parametrize("text", ["Ah, I see.", "the sutra 5 of it", "He is at 3/41.", "SS 12 is a ship", "", "ch. 4"])
def test_what_is_no_reference_is_not_taken_for_one(text):
    assert find_citations(text) == []


@pytest.mark.parametrize("text", ["Charaka Samhita, Uttarasthana 2.1", "Sushruta Samhita, Kalpasthana 9.1"])
def test_a_section_or_chapter_that_a_text_does_not_have_is_impossible(text):
    assert [found.precision for found in find_citations(text)] == ["impossible"]


@given(
    book=st.sampled_from(sorted(CHAPTERS)),
    chapter=st.integers(1, 99),
    verse=st.integers(1, 400),
    data=st.data(),
)
def test_what_is_written_is_read_back(book, chapter, verse, data):
    section = data.draw(st.sampled_from(sorted(CHAPTERS[book])))

    (found,) = find_citations(f"({book}, {section} {chapter}.{verse})")

    assert (found.text, found.section, found.chapter, found.verses) == (book, section, chapter, str(verse))
    assert (found.precision == "verse") is (chapter <= CHAPTERS[book][section])


@given(text=st.text(max_size=300))
async def test_any_text_gets_a_value_in_range_or_none(text):
    score = await Interpretability().score(CASE, Reply(text=text))

    assert score.value is None or 0 <= score.value <= 1


@pytest.mark.skipif(not (DATA / "charaka_samhita_en").exists(), reason="the verses are not here")
def test_every_verse_that_there_is_can_be_cited():
    with (DATA / "charaka_samhita_en/verses.jsonl").open(encoding="utf-8", newline="\n") as file:
        rows = [json.loads(line) for line in file]
    plain = [row for row in rows if re.fullmatch(r"\d+(?:-\d+)?", row["verse_id"])]
    assert len(plain) > 500
    for row in plain:
        section = re.match(r"\d+\.(\w+)", row["section"])[1]
        chapter = re.search(r"\d+", row["chapter"])[0]
        (found,) = find_citations(f"Charaka Samhita, {section} {chapter}.{row['verse_id']}")

        assert found.precision == "verse"
