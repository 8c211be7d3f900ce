"""Engines of one's own: waited for without holding anything up, found in the project, blamed for their failures."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from voice_calls import CASE, DOUBLES, ask, failure, sound

from cortex_eval.core import InputError, changed
from cortex_eval.targets import Audio, Transcript, targets
from cortex_eval.testing import ToneListener, ToneSpeaker


class Slow:
    """Engines that are waited for."""

    allowed = threading.Event()

    def speak(self, text: str, language: str) -> Audio:
        assert self.allowed.wait(10)
        return ToneSpeaker().speak(text, language)

    def hear(self, audio: Audio) -> Transcript:
        assert self.allowed.wait(10)
        return ToneListener().hear(audio)


async def test_engines_do_not_hold_up_the_event_loop_nor_count_as_the_services_time(scripted_service, tmp_path):
    line = scripted_service(sound("At six."))
    Slow.allowed.clear()
    slow = {"speak": f"{__name__}:Slow", "hear": f"{__name__}:Slow"}

    async with asyncio.TaskGroup() as group:
        asked = group.create_task(ask(line.url, tmp_path, **slow))
        for _ in range(100):
            await asyncio.sleep(0)  # the loop turns while the engine waits
        assert line.ledger == []
        late = asyncio.get_running_loop().call_later(0.4, Slow.allowed.set)
    late.cancel()

    reply = asked.result()
    assert reply.text == "At six."
    assert reply.total_time_ms is not None
    assert reply.total_time_ms < 400


class Broken:
    """Engines that fail."""

    def speak(self, text: str, language: str) -> Audio:
        raise ValueError("no voice today")

    def hear(self, audio: Audio) -> Transcript:
        raise ValueError("deaf")


class Odd:
    """Engines that give back something else."""

    def speak(self, text: str, language: str) -> Any:
        return b"RIFF"

    def hear(self, audio: Audio) -> Any:
        return "hello"


@pytest.mark.parametrize(
    ("given", "says", "calls"),
    [
        ({"speak": f"{__name__}:Broken"}, "failed: ValueError: no voice today", 0),
        ({"hear": f"{__name__}:Broken"}, "failed: ValueError: deaf", 1),
        ({"speak": f"{__name__}:Odd"}, "made no sound of 'When do you close?'", 0),
        ({"hear": f"{__name__}:Odd"}, "gave str, not a Transcript", 1),
        ({"speak": "none"}, "Speak: none is set", 0),
        ({"hear": "none"}, "sound only, and hear: none", 1),
    ],
)
async def test_an_engine_that_fails_is_an_error_and_not_the_services(scripted_service, tmp_path, given, says, calls):
    line = scripted_service(sound())

    error = await failure(line.url, tmp_path, **given)

    assert (error.kind, error.transient) == ("engine", False)
    assert says in str(error)
    assert "The service is not to blame" in str(error)
    assert len(line.ledger) == calls


async def test_a_language_that_the_listener_does_not_know_is_not_guessed_at(scripted_service, tmp_path):
    line = scripted_service(sound("नमस्ते"))

    error = await failure(line.url, tmp_path, changed(CASE, language="ta"))
    reply = await ask(line.url, tmp_path, changed(CASE, language="hi-IN"))

    assert "hears en, hi, not 'ta'" in str(error)
    assert reply.text == "नमस्ते"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"hear": "no_such_module:Ears"}, "'no_such_module:Ears' cannot be loaded: ModuleNotFoundError"),
        ({"speak": "cortex_eval.testing:Mouth"}, "cannot be loaded: AttributeError"),
        ({"speak": "cortex_eval.testing:ToneListener"}, "has no method 'speak'"),
    ],
)
async def test_an_engine_of_ones_own_that_is_not_there_is_told_before_the_first_call(tmp_path, given, says):
    with pytest.raises(InputError) as caught:
        await ask("http://127.0.0.1:1", tmp_path, **given)

    assert says in str(caught.value)


async def test_an_engine_of_ones_own_is_found_in_the_project(scripted_service, tmp_path):
    (tmp_path / "our_engines.py").write_text(
        "from cortex_eval.targets import Transcript\n\n\n"
        "class Ears:\n    def hear(self, audio):\n        return Transcript(text=f'{audio.seconds:.2f} s')\n"
    )
    line = scripted_service(sound("At six."))

    reply = await ask(line.url, tmp_path, hear="our_engines:Ears")

    assert reply.text == "0.07 s"


def test_the_fingerprint_names_the_engines():
    one = targets.build("voice", {"api_url": "http://127.0.0.1:1", **DOUBLES})
    other = targets.build("voice", {"api_url": "http://127.0.0.1:1", **DOUBLES, "voice": "low"})

    assert DOUBLES["speak"] in one.fingerprint
    assert one.fingerprint != other.fingerprint
