"""The engines that speak and hear: really, offline, and what is told when one is not there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from cortex_eval.cli.health import examine
from cortex_eval.core import Case, Expected, InputError, Reply, Turn
from cortex_eval.scoring import scorers
from cortex_eval.targets import Audio, EngineError, Voices, open_voices, read_wav, speech_missing
from cortex_eval.targets.speech import hear, speak
from cortex_eval.testing import ToneSpeaker

DATA = Path(__file__).parents[3] / "shared" / "data"
TONES = {"speak": "cortex_eval.testing:ToneSpeaker", "hear": "cortex_eval.testing:ToneListener"}
SENTENCE = "What time does the clinic close on Saturday?"

needs_moonshine = pytest.mark.skipif(bool(speech_missing("none")), reason=speech_missing("none"))
needs_both = pytest.mark.skipif(bool(speech_missing()), reason=speech_missing())


def folder(name: str) -> Path:
    if not (DATA / name).exists():
        pytest.skip(f"{name} is not here")
    return DATA / name


def wer(pairs: list[tuple[str, str]]) -> float:
    """Of a whole test: what was said and what was heard."""
    speech = scorers.build("speech", {})
    cases = [(Case(id="1", turns=(Turn(text="?", expected=Expected(answer=said)),)), heard) for said, heard in pairs]
    found = [speech.score_batch([(case, Reply(transcript=heard))])[0].evidence for case, heard in cases]
    errors = sum(each["substituted"] + each["deleted"] + each["inserted"] for each in found)
    return errors / sum(each["words"] for each in found)


@pytest.mark.slow
@needs_both
def test_what_is_really_spoken_is_really_heard_and_always_the_same(tmp_path):
    voices = open_voices(folder=tmp_path)
    try:
        spoken = voices.speak(SENTENCE, "en").result()
        heard = voices.hear(spoken.at(16_000), "en").result().text
        on_the_phone = voices.hear(spoken.at(8_000), "en-IN").result().text
    finally:
        voices.close()
    again = open_voices()
    try:
        assert again.speak(SENTENCE, "en").result() == spoken
    finally:
        again.close()

    assert wer([(SENTENCE, heard), (SENTENCE, on_the_phone)]) == 0
    assert 1.5 < spoken.seconds < 4
    (kept,) = (tmp_path / "spoken").iterdir()
    assert read_wav(kept.read_bytes()) == spoken


@pytest.mark.slow
@needs_both
@pytest.mark.skipif(shutil.which("unshare") is None, reason="unshare is not here")
def test_nothing_is_fetched_at_run_time(tmp_path):
    program = (
        "from cortex_eval.targets import open_voices; voices = open_voices(); "
        "print(voices.hear(voices.speak('Please call me back tomorrow.', 'en').result()).result().text); voices.close()"
    )
    alone = [str(shutil.which("unshare")), "--map-root-user", "--net"]
    if subprocess.run([*alone, "true"], check=False, capture_output=True).returncode:
        pytest.skip("this machine lets nobody leave the network")

    done = subprocess.run(
        [*alone, sys.executable, "-c", program],
        check=False,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "HOME": str(tmp_path)},
    )

    assert done.stdout.strip() == "Please call me back tomorrow."
    assert list(tmp_path.iterdir()) == []  # nor is anything kept that would be sent later


@pytest.mark.slow
@needs_moonshine
def test_recordings_of_people_are_heard():
    # LibriVox and CMU recordings with their transcripts; read aloud, clean.
    cards = folder("speech_pocketsphinx") / "cards"
    lines = (cards / "cards.transcription").read_text("utf-8").splitlines()
    said = {
        name.strip(" )"): text.strip().removeprefix("<s>").removesuffix("</s>")
        for text, name in (line.split("(") for line in lines)
    }
    raw = folder("speech_pocketsphinx") / "goforward" / "goforward.raw"
    voices = Voices(speak="none")
    try:
        pairs = [
            (text, voices.hear(read_wav((cards / f"{name}.wav").read_bytes())).result().text)
            for name, text in said.items()
        ]
        go = voices.hear(Audio(samples=raw.read_bytes(), rate=16_000)).result().text
    finally:
        voices.close()

    assert wer(pairs) < 0.5  # "a one" of clubs and the like: names of cards, without a grammar
    assert wer([("go forward { ten / 10 } { meters / metres }", go)]) == 0


@pytest.mark.slow
@needs_moonshine
def test_single_digits_on_a_telephone_line_are_mostly_heard():
    lines = (folder("spoken_digits") / "transcripts.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines[::2]]
    voices = Voices(speak="none")
    try:
        heard = [
            voices.hear(read_wav((DATA / "spoken_digits" / row["file"]).read_bytes())).result().text for row in rows
        ]
    finally:
        voices.close()

    known = [{str(row["digit"]), row["transcript"]} for row in rows]
    right = sum(text.strip(" .!?,").lower() in names for text, names in zip(heard, known, strict=True))
    assert right / len(rows) > 0.35  # a word without its sentence is hard, at 8 kHz harder


@pytest.mark.slow
@needs_moonshine
def test_silence_is_heard_as_nothing():
    voices = Voices(speak="none")
    try:
        silence = voices.hear(Audio(samples=bytes(32_000))).result().text
        click = voices.hear(Audio(samples=b"\xff\x7f" * 20)).result().text
    finally:
        voices.close()

    assert (silence, click) == ("", "")


def test_long_sound_is_heard_in_parts_that_are_cut_where_it_is_quiet():
    rate = 16_000
    loud = np.sin(np.arange(60 * rate) / 5) * 8000
    for second in (20, 41):
        loud[second * rate : second * rate + rate // 4] = 0
    audio = Audio(samples=loud.astype("<i2").tobytes(), rate=rate)

    found = list(hear.parts(audio))

    assert b"".join(each.samples for each in found) == audio.samples
    assert [round(each.seconds) for each in found] == [20, 21, 19]
    assert all(each.seconds <= hear.LONGEST_S for each in found)


@pytest.mark.slow
@needs_both
def test_piper_refuses_what_it_cannot_say_and_comes_back_when_it_was_killed():
    piper = speak.Piper()
    try:
        first = piper.speak("One.", "en")
        with pytest.raises(EngineError, match="speaks 'en', not 'hi'"):
            piper.speak("नमस्ते", "hi")
        with pytest.raises(EngineError, match="nothing to say"):
            piper.speak(" … \n", "en")
        child = piper._child
        assert child is not None
        child.kill()
        child.wait()
        assert piper.speak("One.", "en") == first
    finally:
        piper.close()


def test_a_missing_engine_is_told_in_one_line_with_the_command(monkeypatch):
    monkeypatch.setattr(speak, "find_spec", lambda _name: None)
    monkeypatch.setattr(hear, "find_spec", lambda _name: None)
    monkeypatch.setenv("PATH", "")

    assert speech_missing() == "speak: piper is not installed: pip install 'cortex-eval[voice]'"
    assert speech_missing("none") == (
        "hear: moonshine is not installed: pip install 'cortex-eval[voice]' (Linux on x86-64)"
    )
    assert speech_missing("flite", "none") == "speak: flite is not on the PATH: apt install flite"
    assert speech_missing("none", "none") == ""
    with pytest.raises(InputError, match="pip install"):
        open_voices()
    voices = Voices()
    with pytest.raises(EngineError, match="pip install"):
        voices.speak("Hello", "en").result()
    voices.close()


def test_auto_takes_the_first_engine_that_is_there(monkeypatch, tmp_path):
    monkeypatch.setattr(speak, "find_spec", lambda _name: None)
    program = tmp_path / "espeak-ng"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    assert Voices(hear="none").speak_name == "espeak"


@pytest.mark.parametrize(("name", "made"), [("flite", speak.Flite), ("espeak-ng", speak.Espeak)])
def test_a_program_on_the_path_gets_the_text_in_a_file_and_writes_a_wav(monkeypatch, tmp_path, name, made):
    sound = tmp_path / "sound.wav"
    sound.write_bytes(ToneSpeaker().speak("ok", "en").wav())
    program = tmp_path / name
    # The last argument is where it writes, and what it says stands after -f.
    program.write_text(f'#!/bin/sh\ncp "$4" {tmp_path}/said\nfor last; do :; done\ncp {sound} "$last"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    audio = made().speak("-rf / is\nno [[option]]", "en")

    assert audio == ToneSpeaker().speak("ok", "en")
    assert (tmp_path / "said").read_text() == "-rf / is no [ [option]]"


def test_a_program_that_fails_is_told_with_its_last_words(monkeypatch, tmp_path):
    program = tmp_path / "flite"
    program.write_text("#!/bin/sh\necho no such voice >&2\nexit 3\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    with pytest.raises(EngineError, match="flite ended with status 3: no such voice"):
        speak.Flite().speak("Hello", "en")
    with pytest.raises(EngineError, match="flite speaks English, not 'fr'"):
        speak.Flite().speak("Bonjour", "fr")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["flite", "espeak"])
def test_a_real_program_on_the_path_speaks(name):
    if why := speech_missing(name, "none"):
        pytest.skip(why)
    voices = Voices(speak=name, hear="none")

    spoken = voices.speak(SENTENCE, "en").result()

    voices.close()
    assert 1 < spoken.seconds < 6


def test_a_text_is_spoken_once_and_kept_only_for_engines_that_stay_the_same(tmp_path):
    voices = Voices(**TONES, folder=tmp_path)

    first, second = voices.speak("Hello", "en").result(), voices.speak("Hello", "en").result()

    engine = voices._speaker._engine
    assert isinstance(engine, ToneSpeaker)
    assert (first, engine.spoken) == (second, ["Hello"])
    assert list(tmp_path.iterdir()) == []
    voices.close()


def test_a_kept_file_that_is_broken_is_spoken_again(monkeypatch, tmp_path):
    monkeypatch.setitem(
        speak.SPEAKERS, "piper", speak.Engine(make=lambda _voice: ToneSpeaker(), missing=lambda _voice: "")
    )
    voices = Voices(speak="piper", hear="none", folder=tmp_path)
    said = voices.speak("Hello", "en").result()
    (kept,) = (tmp_path / "spoken").iterdir()
    kept.write_bytes(kept.read_bytes()[:50])

    again = Voices(speak="piper", hear="none", folder=tmp_path)

    assert again.speak("Hello", "en").result() == said
    assert read_wav(kept.read_bytes()) == said
    voices.close()
    again.close()


def test_engines_that_are_let_go_leave_no_thread_and_come_back():
    before = threading.active_count()
    voices = Voices(**TONES)

    audio = voices.speak("Hello", "en").result()
    assert threading.active_count() > before
    voices.close()
    assert threading.active_count() == before

    assert voices.hear(audio).result().text == "Hello"
    voices.close()
    voices.close()


def test_doctor_tells_whether_speech_is_there(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    ready = {each.name: each.message for each in examine(None)}["voice"]
    monkeypatch.setattr(hear, "find_spec", lambda _name: None)
    lacking = {each.name: each.message for each in examine(None)}["voice"]

    assert ready.startswith("ready" if not speech_missing("auto", "none") else "speak: ")
    assert "pip install 'cortex-eval[voice]'" in lacking
