"""Languages by name."""

import pytest

from cortex_eval.core import LANGUAGES, language_label, language_name


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("hi", "Hindi"),
        ("EN", "English"),
        ("bn", "Bengali"),
        ("hi_Latn", "Hinglish"),
        ("en-IN", "English (en-IN)"),
        ("he", "Hebrew"),
        ("he-IL", "Hebrew (he-IL)"),
        ("fa", "Persian"),
        ("zh-Hant", "Chinese (zh-Hant)"),
        ("tlh", "tlh"),
        ("(none)", "(none)"),
    ],
)
def test_a_code_that_is_known_has_a_name_and_another_one_stays(code, name):
    assert language_name(code) == name


@pytest.mark.parametrize(
    ("code", "label"),
    [("hi", "Hindi (hi)"), ("hi-Latn", "Hinglish (hi-Latn)"), ("en-IN", "English (en-IN)"), ("tlh", "tlh")],
)
def test_a_row_names_a_language_with_its_code(code, label):
    assert language_label(code) == label


def test_two_codes_never_share_a_name():
    codes = set(LANGUAGES.values())
    assert len({language_name(code) for code in codes}) == len(codes)


def test_the_commonest_languages_have_names():
    codes = "en zh hi es fr ar bn pt ru ur id de ja mr te tr ta vi ko it th gu fa pl uk ml kn or my nl pa ro hu el cs"
    codes += " sv he sw ne si"
    assert [code for code in codes.split() if language_name(code) == code] == []
