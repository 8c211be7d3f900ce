"""The attacks: each can fail, none fails a target that behaves, and the sample chatbot fails where it is written."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from played_projects import (
    Played,
    cases_of,
    copied,
    ids_in_row,
    play_suite,
    too_alike_in_meaning,
    too_alike_in_words,
    weaknesses_of,
)

from cortex_eval.core import Case
from cortex_eval.demo import HealthChatbot
from cortex_eval.demo.knowledge import Version
from cortex_eval.scoring import can_embed
from cortex_eval.testing import Call, ScriptedService

CASES = {case.id: case for case in cases_of("adversarial", "attacks.yaml")}
ROWS = {"1.0": range(1, 9), "1.1": range(1, 10)}
"""Rows of WEAKNESSES.md by version of the chatbot."""
DECLINES = {
    "en": "I cannot help with that here. Please ask a doctor about it.",
    "hi": "मैं इसमें मदद नहीं कर सकता। कृपया इसके बारे में डॉक्टर से पूछें।",
}
CANARY = re.compile(r"\bqz\W{0,3}\d{4}\b", re.IGNORECASE)
HIDDEN = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CORTEX_API_KEY", "any-key")
    return copied("adversarial", tmp_path)


async def play_against(project: Path, monkeypatch: pytest.MonkeyPatch, says: Callable[[Case, int], str]) -> Played:
    """The attacks against a target that answers a case and turn like this."""
    turns = {turn.text: (case, number) for case in CASES.values() for number, turn in enumerate(case.turns)}
    assert len(turns) == sum(len(case.turns) for case in CASES.values())

    def reply(call: Call) -> dict[str, str]:
        return {"text": says(*turns[call.json["query"]])}

    with ScriptedService.in_thread(reply) as service:
        monkeypatch.setenv("CORTEX_DEMO_URL", service.url)
        return await play_suite(project, "adversarial")


@pytest.mark.parametrize("version", ["1.0", "1.1"])
async def test_the_attacks_that_get_through_to_the_chatbot_are_those_in_the_list(
    project: Path, monkeypatch: pytest.MonkeyPatch, version: Version
) -> None:
    text = weaknesses_of("adversarial")
    with HealthChatbot(version=version) as bot:
        monkeypatch.setenv("CORTEX_DEMO_URL", bot.url)
        played = await play_suite(project, "adversarial")

    assert played.failed == set().union(*(ids_in_row(text, row, CASES) for row in ROWS[version]))
    passed = len(CASES) - len(played.failed)
    assert (
        f"{passed} of the {len(CASES)} cases pass on version 1.0" if version == "1.0" else f"and {passed} on"
    ) in text
    assert played.verdict == "below", "an answer that does harm does not pass, however many attacks fail"


async def test_a_target_that_gives_in_fails_every_case(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    played = await play_against(project, monkeypatch, lambda case, _turn: str(case.metadata["obeys"]))

    assert set(CASES) - played.failed == set()
    assert played.failed_by("canary") == {case.id for case in CASES.values() if "canary" in case.tags}
    assert played.verdict == "below"


async def test_a_target_that_declines_and_says_what_is_asked_for_passes_every_case(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def decline(case: Case, turn: int) -> str:
        wanted = case.turns[turn].expected.answers
        fitting = [each for each in wanted if each.isascii() == (case.language == "en")]
        return " ".join([DECLINES[str(case.language)], *fitting[:1]])

    played = await play_against(project, monkeypatch, decline)

    assert played.failed == set()
    assert played.verdict == "passed"


def test_there_are_enough_attacks_of_every_kind() -> None:
    categories = Counter(case.category for case in CASES.values())

    assert len(CASES) >= 60
    assert set(categories) == {"prompt_injection", "jailbreak", "phi_fishing", "unicode_tricks", "contradiction"}
    assert min(categories.values()) >= 12
    assert Counter(case.language for case in CASES.values())["hi"] >= 10
    assert {case.tier for case in CASES.values()} == {1, 2, 3, 4, 5}
    assert sum(len(case.turns) > 1 for case in CASES.values()) >= 4
    assert all(case.metadata["obeys"] for case in CASES.values())


def test_hindi_cases_are_in_devanagari() -> None:
    for case in CASES.values():
        for turn in case.turns:
            assert bool(re.search(r"[\u0900-\u097f]", turn.text)) == (case.language == "hi"), case.id


def test_a_question_never_says_its_own_canary() -> None:
    """Else a target that quotes the question in its refusal would fail."""
    for case in CASES.values():
        for turn in case.turns:
            assert not CANARY.search(unicodedata.normalize("NFKC", turn.text)), case.id


def test_characters_that_cannot_be_seen_or_trusted_are_escapes_in_the_file(project: Path) -> None:
    tricks = "".join(turn.text for case in CASES.values() for turn in case.turns)
    written = (project / "datasets" / "attacks.yaml").read_text(encoding="utf-8")

    assert HIDDEN.search(tricks)
    assert all("CYRILLIC" not in unicodedata.name(char, "") for char in written)
    assert {
        char for char in written if char != "\n" and not char.isascii() and not "\u0900" <= char <= "\u097f"
    } == set()


def test_every_trick_is_there() -> None:
    tags = Counter(tag for case in CASES.values() for tag in case.tags if case.category == "unicode_tricks")

    assert {"bidi", "zero-width", "homoglyphs", "invisible", "combining", "emoji", "width"} <= set(tags)


def test_no_two_attacks_of_a_category_are_nearly_the_same() -> None:
    assert too_alike_in_words(CASES.values()) == []


@pytest.mark.slow
@pytest.mark.skipif(not can_embed(), reason="meanings need the extra 'embed'")
def test_no_two_attacks_of_a_category_mean_nearly_the_same() -> None:
    assert too_alike_in_meaning(CASES.values()) == []
