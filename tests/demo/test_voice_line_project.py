"""The sample voice line and its suite: it fails where WEAKNESSES.md says so, and nowhere else."""

from __future__ import annotations

import base64
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import aiohttp
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

from cortex_eval.core import InputError
from cortex_eval.demo.healthcare import HealthcareServices
from cortex_eval.demo.listening import Version
from cortex_eval.demo.voice_line import VoiceLine, answer_to, nearest_medicine
from cortex_eval.scoring import can_embed
from cortex_eval.targets import read_wav, speech_missing
from cortex_eval.testing import Answer, Call, ToneListener, ToneSpeaker, cut, one_in, status

CASES = {case.id: case for case in cases_of("healthcare", "voice_line.json")}
FAIL_IN: dict[Version, tuple[int, ...]] = {"1": (18, 19, 20, 21, 22), "2": (18, 19, 20, 21, 22, 23)}
"""Rows of WEAKNESSES.md."""
TONES = {"speak": "cortex_eval.testing:ToneSpeaker", "hear": "cortex_eval.testing:ToneListener"}

needs_speech = pytest.mark.skipif(bool(speech_missing()), reason=speech_missing())


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CORTEX_API_KEY", "demo-key")
    return copied("healthcare", tmp_path)


def with_tones(project: Path) -> None:
    """Have the project's calls made in the tones of the test double."""
    file = project / "cortex.yaml"
    text = file.read_text("utf-8")
    address = 'api_url: "${CORTEX_DEMO_URL}/voice"\n'
    assert text.count(address) == 1
    settings = "".join(f'    {name}: "{value}"\n' for name, value in TONES.items())
    file.write_text(text.replace(address, address + settings), "utf-8")


def listed(*rows: int) -> set[str]:
    text = weaknesses_of("healthcare")
    return set().union(*(ids_in_row(text, row, CASES) for row in rows))


def tones(text: str) -> bytes:
    return ToneSpeaker().speak(text, "en").wav()


async def play(project: Path, line: VoiceLine | HealthcareServices, patch: pytest.MonkeyPatch, **given: Any) -> Played:
    patch.setenv("CORTEX_DEMO_URL", line.url.removesuffix("/voice"))
    return await play_suite(project, "voice", **given)


@pytest.mark.soak  # a minute; six of these calls are made by the test of the tour
@needs_speech
async def test_real_calls_fail_where_the_list_of_weaknesses_says_so(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with HealthcareServices() as clinic:
        played = await play(project, clinic, monkeypatch)

    assert played.failed == listed(*FAIL_IN["1"])
    assert {each.case_id for each in played.results if each.scores["safety"]["value"] < 1} == listed(18)
    assert played.verdict == "below", "a heart attack that is offered an appointment does not pass"
    for result in played.results:
        assert result.reply is not None
        assert result.scores["heard"]["unit"] == "WER"  # WER per case, of sound that was really made and heard
        assert result.reply.metadata["heard_by"] == "moonshine"
        assert result.reply.first_token_ms is not None
        assert (project / ".cortex" / "audio" / f"{result.reply.attachments[0].sha256}.wav").is_file()
    assert sum(each.scores["heard"]["measure"] for each in played.results) / len(CASES) < 0.1


@pytest.mark.soak
@needs_speech
async def test_version_2_does_not_hear_people_out(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    passed_before = set(CASES) - listed(*FAIL_IN["1"])
    with HealthcareServices(version="2") as clinic:
        played = await play(project, clinic, monkeypatch, case_ids=passed_before)

    assert played.failed == listed(23)
    assert played.verdict == "below"
    assert all(each.scores["heard"]["passed"] is False for each in played.results if each.case_id in listed(23))


def test_the_list_of_weaknesses_counts_right() -> None:
    passed = {version: len(CASES) - len(listed(*rows)) for version, rows in FAIL_IN.items()}

    told = f"{passed['1']} of the {len(CASES)} cases pass on version 1, and {passed['2']} on version 2"
    assert told in weaknesses_of("healthcare")


async def test_in_tones_nothing_is_misheard_and_what_was_planted_remains(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_tones(project)
    with VoiceLine(**TONES) as line:
        played = await play(project, line, monkeypatch)

    assert played.failed == listed(18, 19, 20, 22)
    assert {each.scores["heard"]["measure"] for each in played.results} == {0.0}
    assert {each.scores["clear"]["measure"] for each in played.results} == {0.0}


async def test_a_fault_can_be_put_in_front_of_it(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_tones(project)
    with VoiceLine(**TONES) as line:
        assert line.service is not None
        broken = cut(300, Answer(body=tones("At six."), content_type="audio/wav"), framing="close")
        line.service.reply = one_in(2, broken, otherwise=line.answer)
        played = await play(project, line, monkeypatch, case_ids=["vl-hours-saturday", "vl-choking"], at_once=1)

    assert played.failed == set()
    assert len(line.service.ledger) == 3


async def test_a_line_that_is_down_is_an_error_and_never_a_score(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_tones(project)
    text = (project / "cortex.yaml").read_text("utf-8")
    (project / "cortex.yaml").write_text(text.replace("retry_count: 2", "retry_count: 0"), "utf-8")
    with VoiceLine(**TONES) as line:
        assert line.service is not None
        line.service.reply = one_in(2, status(404), otherwise=line.answer)
        played = await play(project, line, monkeypatch, case_ids=["vl-hours-saturday", "vl-choking"], at_once=1)

    failed = [each for each in played.results if each.error is not None]
    assert [(each.state, each.error.kind, each.scores) for each in failed if each.error] == [
        ("error_target", "status", {})
    ]


def test_the_dataset_covers_its_categories_and_tiers() -> None:
    categories = Counter(case.category for case in CASES.values())

    assert set(categories) == {"hours", "appointments", "medicines", "numbers", "preparing", "emergencies"}
    assert {case.tier for case in CASES.values()} == {1, 2, 3, 4, 5}
    assert all(case.expected.checklist and case.language == "en" for case in CASES.values())
    assert len(CASES) >= 12


def test_no_two_calls_of_a_category_are_nearly_the_same() -> None:
    assert too_alike_in_words(CASES.values()) == []


@pytest.mark.skipif(not can_embed(), reason="needs the extra 'embed'")
def test_no_two_calls_of_a_category_mean_nearly_the_same() -> None:
    assert too_alike_in_meaning(CASES.values()) == []


@pytest.mark.parametrize(
    ("heard", "says"),
    [
        ("What time does the clinic close on Saturday?", "until one on Saturday"),
        ("My father's face is drooping.", "call one one two"),
        ("I have a strong pain in my chest.", "next free appointment"),
        ("I have run out of amla, the pine.", "refill of amlodipine"),
        ("I need more hydroxazine for my itching.", "refill of hydralazine"),
        ("I have run out of my usual thing.", "I did not catch the name"),
        ("1. My reference number is 4, 4, 7, 1. Is it ready?", "four, seven, one."),
        ("My booking number is nine two six eight.", "nine, two, six, eight."),
        ("I take 15 units of insulin.", "fifty units"),
        ("Could you move it from Monday to Thursday?", "to Monday"),
        ("Do you sell umbrellas?", "putting you through"),
        ("", "putting you through"),
    ],
)
def test_what_it_says_follows_from_what_it_heard(heard: str, says: str) -> None:
    assert says in answer_to(heard).text
    assert answer_to(heard) == answer_to(heard)


def test_a_medicine_is_guessed_from_its_sound() -> None:
    assert nearest_medicine("Please refill my net from in") == "metformin"
    assert nearest_medicine("hello there") is None


async def test_over_http_it_answers_in_sound_or_json_and_refuses_what_is_no_sound() -> None:
    asked = tones("What time do you close?")
    with VoiceLine(version="2", **TONES) as line:
        async with aiohttp.ClientSession() as session:
            async with session.post(line.url, data=asked, headers={"Content-Type": "audio/wav"}) as response:
                assert response.content_type == "audio/wav"
                spoken = ToneListener().hear(read_wav(await response.read())).text
                assert response.headers["X-Transcript"] == "What%20time%20do%20you%20close%3F"
            async with session.post(line.url, json={"audio": base64.b64encode(asked).decode()}) as response:
                told = await response.json()
            refused = []
            for body in (b"", b"RIFF", b"ID3"):
                async with session.post(line.url, data=body) as response:
                    refused.append((response.status, (await response.json())["error"]))
            async with session.post(line.url, json={"audio": "%"}) as response:
                refused.append((response.status, (await response.json())["error"]))
            async with session.get(line.url) as response:
                about = await response.json()

    assert (told["transcript"], told["intent"]) == ("What time do you close?", "hours")
    assert told["text"].replace(". ", ".") == spoken
    assert ToneListener().hear(read_wav(base64.b64decode(told["audio"]))).text == spoken
    assert [code for code, _ in refused] == [400] * 4
    assert "The sound cannot be read" in refused[0][1]
    assert (about["sample"], about["version"]) == (True, "2")


async def test_without_its_engines_the_line_says_that_it_is_out_of_order() -> None:
    with VoiceLine(speak="none", hear="none") as line:
        async with aiohttp.ClientSession() as session, session.post(line.url, data=tones("Hello?")) as response:
            assert response.status == 503
            assert "out of order" in (await response.json())["error"]


def test_it_starts_and_stops_cleanly() -> None:
    before = threading.active_count()

    with VoiceLine(**TONES) as line:
        assert line.url.endswith("/voice")

    assert threading.active_count() == before


def test_an_unknown_version_is_an_input_error() -> None:
    with pytest.raises(InputError, match="no version '3'"):
        VoiceLine(version="3")  # type: ignore[arg-type]  # what a user may type


async def test_the_answer_is_the_same_without_a_server() -> None:
    from multidict import CIMultiDict, CIMultiDictProxy

    line = VoiceLine(**TONES)
    call = Call(number=1, method="GET", path="/voice", headers=CIMultiDictProxy(CIMultiDict()), body=b"", at=0.0)

    answer = await line.answer(call)

    line.close()
    assert isinstance(answer, dict)
    assert answer["service"] == "voice-line"
