"""Expected beside actual, marked word by word."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import LCSseq

from cortex_eval.reports.html_diff import common_places, compare_values, mark_differences, plain, words_of

WORDS = st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=40)


@given(st.text())
def test_the_pieces_of_a_text_are_the_text(text):
    assert "".join(words_of(text)) == text


@given(first=WORDS, second=WORDS)
def test_the_common_places_are_a_longest_common_subsequence(first, second):
    pairs = common_places(first, second)
    assert [first[a] for a, _ in pairs] == [second[b] for _, b in pairs]
    assert pairs == sorted(pairs)
    assert len({a for a, _ in pairs}) == len({b for _, b in pairs}) == len(pairs)
    assert len(pairs) == LCSseq.similarity(first, second)


@given(expected=WORDS, actual=WORDS)
def test_without_its_marks_each_text_is_what_it_was(expected, actual):
    marked = mark_differences(" ".join(expected), " ".join(actual))
    if marked is not None:
        assert re.sub("</?ins>", "", marked.expected) == " ".join(expected)
        assert re.sub("</?del>", "", marked.actual) == " ".join(actual)


def test_missing_words_and_words_too_many_are_marked():
    marked = mark_differences("The bill is in your inbox.", "The bill is on its way to your inbox.")
    assert marked.expected == "The bill is <ins>in</ins> your inbox."
    assert marked.actual == "The bill is <del>on its way to</del> your inbox."


def test_devanagari_words_are_marked_whole_with_their_vowel_signs():
    marked = mark_differences("क्या मेरा जॉब पूरा हो गया।", "क्या मेरी जॉब पूरी हो गया।")
    assert marked.expected == "क्या <ins>मेरा</ins> जॉब <ins>पूरा</ins> हो गया।"
    assert marked.actual == "क्या <del>मेरी</del> जॉब <del>पूरी</del> हो गया।"


def test_letters_put_together_in_two_ways_are_the_same():
    assert mark_differences("सड़क पर", "सड़क पर") is None  # ड़ as one sign and as two
    assert mark_differences("Café OPEN", "Café open") is None


def test_texts_with_little_in_common_are_not_marked():
    assert mark_differences("Take it with water.", "Opening hours are nine to five on all days.") is None


def test_very_long_texts_are_not_marked():
    assert mark_differences("word " * 2_000, "word " * 1_999 + "other") is None


def test_markup_in_a_text_stays_text():
    marked = mark_differences("a <b> c d", "a <i> c d")
    assert "<ins>b</ins>" in marked.expected
    assert "&lt;" in marked.expected
    assert "<b>" not in marked.expected


def test_mappings_are_compared_key_by_key():
    expected, got = compare_values({"organism": "mouse", "data": "RNA-seq"}, {"data": "RNA-seq", "tissue": "<liver>"})
    assert expected == "<ins>organism = mouse</ins>, data = RNA-seq"
    assert got == "data = RNA-seq, <del>tissue = &lt;liver&gt;</del>"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "nothing"),
        (True, "yes"),
        (0, "0"),
        (1, "1"),
        (0.25, "0.25"),
        ([], "nothing"),
        (["a", {"b": 1}], "a, b = 1"),
    ],
)
def test_values_read_as_people_write_them(value, shown):
    assert plain(value) == shown
