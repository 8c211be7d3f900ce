"""The sample RAG service: real retrieval over its texts, answers made of them, faults where they are planted."""

from __future__ import annotations

import math
import threading
from typing import Any

import pytest
from over_http import post_each, read_about

from cortex_eval.core import InputError
from cortex_eval.demo.retrieval import HealthLibrary, Library, LibraryText, answer_from_library, load_library, words_of


def text_of(name: str, words: str, **fields: Any) -> LibraryText:
    return LibraryText(id=name, title=name, source="", text=f"About {words}.", words=tuple(words.split()), **fields)


def test_scores_are_those_of_the_published_formula() -> None:
    library = Library([text_of("a", "salt salt pressure"), text_of("b", "sleep"), text_of("c", "pressure cuff")])

    [first, second] = library.search("salt pressure")

    weight = {"salt": math.log(1 + 2.5 / 1.5), "pressure": math.log(1 + 1.5 / 2.5)}  # ln(1 + (N − n + ½)/(n + ½))
    length = 1.2 * (1 - 0.75 + 0.75 * 3 / 2)  # 3 words, 2 on average
    expected = weight["salt"] * 2 * 2.2 / (2 + length) + weight["pressure"] * 2.2 / (1 + length)
    assert (first.text.id, second.text.id) == ("a", "c")
    assert first.score == pytest.approx(expected)


def test_a_text_that_shares_no_word_is_not_found_however_often_it_was_read() -> None:
    library = Library([text_of("a", "salt"), text_of("b", "sleep", clicks=9.0)])

    assert [each.text.id for each in library.search("salt")] == ["a"]


def test_words_are_told_in_both_scripts_without_stop_words() -> None:
    assert words_of("How much salt a day is 5 grams?") == ["salt", "day", "5", "gram"]
    assert words_of("बच्चे को बुखार है") == ["बच्चे", "बुखार"]


def test_every_text_is_found_by_its_own_title() -> None:
    library = load_library()
    texts = [each.text for each in library.search(" ".join(sorted({w for t in library._texts for w in t.words})))]

    assert len(texts) >= 35
    assert sum("\u0900" <= text.title[0] <= "\u097f" for text in texts) >= 5
    for text in texts:
        best = [each.text.id for each in library.search(f"{text.title} {text.text}")[:2]]
        assert text.id in best, text.title


def test_an_answer_is_made_of_sentences_of_its_first_passage_and_cites_it() -> None:
    reply = answer_from_library("How long should I cool a burn under water?")

    assert reply["passages"][0]["id"] == "hl-12"
    assert reply["citations"] == ["hl-12"]
    said = reply["answer"].removesuffix("[1]")
    assert all(f"{part}." in reply["passages"][0]["text"] for part in said.rstrip(".").split(". "))
    scores = [passage["score"] for passage in reply["passages"]]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize(
    ("question", "beginning"), [("Who won the match?", "I am sorry"), ("मैच किसने जीता?", "माफ़ कीजिए")]
)
def test_what_is_not_in_the_library_is_declined_in_the_language_of_the_question(question: str, beginning: str) -> None:
    reply = answer_from_library(question)

    assert reply["answer"].startswith(beginning)
    assert (reply["passages"], reply["citations"]) == ([], [])


def test_the_same_question_always_gets_the_same_reply() -> None:
    asked = "May I put butter on a burn?"

    assert answer_from_library(asked) == answer_from_library(asked)


def test_version_2_overlooks_what_stands_late_in_a_question() -> None:
    asked = "My neighbour came over this morning with her two sons and asked about a snake bite."

    assert answer_from_library(asked)["passages"][0]["id"] == "hl-30"
    assert answer_from_library(asked, version="2")["passages"] == []


async def test_over_http_it_answers_refuses_and_says_what_it_is() -> None:
    with HealthLibrary(version="2") as rag:
        [answered] = await post_each(rag.url, {"query": "How do I stop a nosebleed?"})
        refused = await post_each(rag.url, {}, {"query": " "}, {"query": 3}, [])
        about = await read_about(rag.url)

    assert answered.status == 200
    assert set(answered.body) == {"answer", "passages", "citations", "version"}
    assert set(answered.body["passages"][0]) == {"id", "text", "source", "score"}
    assert [each.status for each in refused] == [400] * 4
    assert "'query'" in refused[0].body["error"]
    assert (about["sample"], about["version"]) == (True, "2")


def test_it_starts_and_stops_cleanly() -> None:
    before = threading.active_count()

    with HealthLibrary() as rag:
        assert rag.url.startswith("http://127.0.0.1:")
        assert rag.url.endswith("/rag")

    assert threading.active_count() == before


def test_an_unknown_version_is_an_input_error() -> None:
    with pytest.raises(InputError, match="no version '3'"):
        HealthLibrary(version="3")  # type: ignore[arg-type]  # what a user may type
