"""The sample translation service: a phrase table for Hindi, Apertium for Spanish, and honest when it is not there."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from over_http import post_each, read_about

from cortex_eval.demo.translator import Translator, has_apertium, into_hindi, into_spanish

needs_apertium = pytest.mark.skipif(
    not has_apertium(), reason="Apertium is not installed, so Spanish is not tested: apt-get install apertium-eng-spa"
)


@pytest.fixture
def no_apertium(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.mark.parametrize(
    ("english", "hindi"),
    [
        ("Do you have a headache?", "क्या आपको सिरदर्द है?"),
        ("Take 2.5 ml of the syrup 4 times a day.", "2.5 मिलीलीटर सिरप दिन में 4 बार लें।"),
        ("take 10 mg of this medicine for 5 days", "10 मिलीग्राम इस दवा 5 दिन तक लें।"),
        ("Please sit down and hold your breath.", "कृपया बैठ जाइए और साँस रोक कर रखिए।"),
        ("Call 112 at once. Keep the child warm.", "तुरंत 112 पर फ़ोन करें। बच्चे को गर्म रखें।"),
    ],
)
def test_sentences_with_gaps_are_translated_whole(english: str, hindi: str) -> None:
    translated = into_hindi(english)

    assert translated.text == hindi
    assert translated.metadata == {"engine": "phrase-table", "unknown": []}


def test_words_that_are_not_in_the_table_stay_and_are_listed() -> None:
    translated = into_hindi("Give 2 teaspoons of the syrup at night.")

    assert translated.text == "रात को 2 teaspoons सिरप दें।"
    assert translated.metadata["unknown"] == ["teaspoons"]


def test_what_fits_no_sentence_is_translated_word_by_word() -> None:
    translated = into_hindi("My baby has fever and cough.")

    assert translated.text == "मेरी शिशु है बुखार और खाँसी।"


def test_version_2_drops_all_but_the_first_sentence() -> None:
    asked = "Your report is normal. You do not need any medicine."

    assert into_hindi(asked).text.count("।") == 2
    assert into_hindi(asked, version="2").text == "आपकी रिपोर्ट सामान्य है।"


@needs_apertium
def test_spanish_is_translated_by_apertium() -> None:
    translated = into_spanish("Take 500 mg of paracetamol every 6 hours.")

    assert "500 mg" in translated.text
    assert "6 horas" in translated.text
    assert translated.metadata == {"engine": "apertium", "mode": "eng-spa"}


@pytest.mark.usefixtures("no_apertium")
def test_without_apertium_nothing_is_translated_and_the_reply_says_so() -> None:
    translated = into_spanish("Take one tablet.")

    assert translated.text == ""
    assert translated.metadata["engine"] == "none"
    assert "apertium-eng-spa" in translated.metadata["skipped"]


def test_an_apertium_without_the_pair_counts_as_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "apertium"
    program.write_text("#!/bin/sh\necho spa-cat\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")

    assert not has_apertium()


async def test_over_http_it_answers_refuses_and_says_what_it_is() -> None:
    with Translator() as translator:
        to_hindi = {"source_language": "en", "target_language": "hi"}
        [answered] = await post_each(translator.url, {"text": "Are you pregnant?", **to_hindi})
        refused = await post_each(
            translator.url,
            to_hindi,
            {"text": " ", **to_hindi},
            {"text": "Yes.", "source_language": "en", "target_language": "fr"},
            {"text": "Yes."},
        )
        about = await read_about(translator.url)

    assert answered == (
        200,
        {
            "translation": "क्या आप गर्भवती हैं?",
            "target_language": "hi",
            "metadata": {"engine": "phrase-table", "unknown": []},
            "version": "1",
        },
    )
    assert [each.status for each in refused] == [400] * 4
    assert "not en to fr" in refused[2].body["error"]
    assert (about["sample"], about["pairs"]) == (True, ["en-hi", "en-es"])
