"""Voice lines: what is sent and how, what is read of the answer, what is heard of it, and what is an error."""

from __future__ import annotations

import asyncio
import base64
import email.parser
import email.policy
import threading
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from cortex_eval.core import Attachment, Case, InputError, Reply, Secret, StorageError, TargetError, Turn, changed
from cortex_eval.net import Guard, Limits, Line, Patience
from cortex_eval.targets import Audio, Conversation, Transcript, ask_target, conversation_at, read_wav, targets
from cortex_eval.testing import (
    Answer,
    ToneListener,
    ToneSpeaker,
    cut,
    drip,
    garbled,
    gzip_bomb,
    hang,
    huge,
    login_page,
    redirect,
    reset,
    sequence,
    status,
    too_many_requests,
)

DOUBLES = {"speak": "cortex_eval.testing:ToneSpeaker", "hear": "cortex_eval.testing:ToneListener"}
CASE = Case.of("When do you close?", id="1", language="en")


def said(text: str) -> bytes:
    """A WAV in which the double's listener hears this."""
    return ToneSpeaker().speak(text, "en").wav()


def sound(text: str = "At six.", **headers: str) -> Answer:
    return Answer(body=said(text), content_type="audio/wav", headers=headers)


def heard(data: bytes) -> str:
    return ToneListener().hear(read_wav(data)).text


async def ask(url: str, folder: Path, case: Case = CASE, read: Any = None, retries: int = 0, **given: Any) -> Reply:
    target = targets.build("voice", {"api_url": url, "directory": str(folder), **DOUBLES, **given})
    target.connect_by(Guard(), Limits(idle_s=0.3), read)
    line = Line(patience=Patience(retries=retries, retry_delay_s=0.01))
    async with target:
        return await ask_target(line, target, conversation_at(case, 0, [], session_id="session-1"))


async def failure(url: str, folder: Path, case: Case = CASE, **given: Any) -> TargetError:
    with pytest.raises(TargetError) as caught:
        await ask(url, folder, case, **given)
    return caught.value


async def test_the_turn_is_spoken_and_what_comes_back_is_heard(scripted_service, tmp_path):
    line = scripted_service(sound("At six."))

    reply = await ask(line.url + "call", tmp_path, api_key=Secret("k-1234567"))

    (call,) = line.ledger
    assert (call.path, call.headers["Content-Type"]) == ("/call", "audio/wav")
    assert heard(call.body) == "When do you close?"
    assert call.headers["Authorization"] == "Bearer k-1234567"
    assert (call.headers["X-Session-Id"], call.headers["Idempotency-Key"]) == ("session-1", "session-1-0")
    assert (reply.text, reply.transcript) == ("At six.", "At six.")
    assert (reply.metadata["sent_seconds"], reply.metadata["audio_seconds"]) == (0.18, 0.07)
    assert reply.metadata["spoken_by"] == DOUBLES["speak"]
    assert reply.metadata["heard_by"] == DOUBLES["hear"]
    assert reply.first_token_ms is not None
    assert reply.total_time_ms is not None
    assert 0 < reply.first_token_ms <= reply.total_time_ms


async def test_what_is_sent_is_sixteen_bits_of_one_channel_at_the_rate_asked_for(scripted_service, tmp_path):
    line = scripted_service(sound())

    await ask(line.url, tmp_path)
    await ask(line.url, tmp_path, rate=8_000)

    assert [read_wav(call.body).rate for call in line.ledger] == [16_000, 8_000]
    assert {read_wav(call.body).seconds for call in line.ledger} == {0.18}


async def test_the_sound_of_a_reply_is_kept_under_its_hash(scripted_service, tmp_path):
    line = scripted_service(sound("At six."))

    reply = await ask(line.url, tmp_path)

    (attached,) = reply.attachments
    assert (attached.media_type, attached.size) == ("audio/wav", len(said("At six.")))
    assert (tmp_path / ".cortex" / "audio" / f"{attached.sha256}.wav").read_bytes() == said("At six.")
    assert type(reply) is Reply


async def test_json_carries_the_sound_in_base64(scripted_service, tmp_path):
    answer = {
        "reply": {"wav": base64.b64encode(said("At six.")).decode(), "words": "At 6."},
        "asr": "when do you clothe",
    }
    line = scripted_service(answer)

    reply = await ask(
        line.url,
        tmp_path,
        send="json",
        body={"call": {"sound": "{audio}", "who": "{user_id}"}, "lang": "{language}"},
        reply={"audio": "$.reply.wav", "text": "$.reply.words", "heard": "$.asr"},
    )

    sent = line.ledger[0].json
    assert heard(base64.b64decode(sent["call"]["sound"])) == "When do you close?"
    assert (sent["call"]["who"], sent["lang"]) == ("eval-tester", "en")
    assert reply.text == "At six."
    assert (reply.metadata["stated_text"], reply.metadata["heard"]) == ("At 6.", "when do you clothe")
    assert reply.raw["reply"] == {"wav": "(the sound is kept as a file)", "words": "At 6."}


async def test_a_form_carries_the_sound_as_a_file(scripted_service, tmp_path):
    line = scripted_service({"text": "At six."})

    await ask(line.url, tmp_path, send="multipart", audio_field="file", body={"lang": "{language}", "n": "{messages}"})

    call = line.ledger[0]
    head = f"Content-Type: {call.headers['Content-Type']}\r\n\r\n".encode()
    form = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + call.body)
    parts = {part.get_param("name", header="content-disposition"): part for part in form.iter_parts()}
    assert set(parts) == {"lang", "n", "file"}
    assert parts["lang"].get_content() == "en"
    assert parts["n"].get_content() == '[{"role":"user","content":"When do you close?"}]'
    assert parts["file"].get_filename() == "said.wav"
    assert heard(parts["file"].get_payload(decode=True)) == "When do you close?"


async def test_a_service_that_only_speaks_is_sent_the_text(scripted_service, tmp_path):
    line = scripted_service(sound("At six."))

    reply = await ask(line.url, tmp_path, send="text", body={"say": "{input}"})

    assert line.ledger[0].json == {"say": "When do you close?"}
    assert (reply.text, reply.metadata["spoken_by"]) == ("At six.", "text")


async def test_a_service_that_only_hears_gives_a_text_and_no_engine_is_asked(scripted_service, tmp_path):
    line = scripted_service({"text": "when do you close", "language": "en", "confidence": 0.9})

    reply = await ask(line.url, tmp_path, hear="none", reply={"confidence": "$.confidence"})

    assert (reply.text, reply.transcript, reply.confidence) == ("when do you close", None, 0.9)
    assert reply.attachments == ()
    assert reply.first_token_ms is None


async def test_headers_may_say_what_was_heard_and_what_is_said(scripted_service, tmp_path):
    line = scripted_service(sound("At six.", **{"X-Heard": quote("when do you close, été?"), "X-Said": "At%206."}))

    reply = await ask(line.url, tmp_path, reply={"heard": "header:X-Heard", "text": "header: X-Said"})

    assert (reply.text, reply.metadata["stated_text"]) == ("At six.", "At 6.")
    assert reply.metadata["heard"] == "when do you close, été?"


async def test_a_recording_is_sent_as_it_is(scripted_service, tmp_path):
    recorded = Attachment(sha256="0" * 64, media_type="audio/wav", size=9, name="calls/1.wav")
    case = changed(CASE, turns=(Turn(text="When do you close?", attachments=(recorded,)),))
    line = scripted_service(sound())
    asked = []

    def read(attachment: Attachment) -> bytes:
        asked.append(attachment.name)
        return said("Whennn dooo you close?")

    reply = await ask(line.url, tmp_path, case, read, speak="none")

    assert heard(line.ledger[0].body) == "Whennn dooo you close?"
    assert asked == ["calls/1.wav"]
    assert reply.metadata["spoken_by"] == "recording"


async def test_a_recording_that_is_no_sound_is_an_error_of_the_case(scripted_service, tmp_path):
    recorded = Attachment(sha256="0" * 64, media_type="audio/wav", size=9, name="calls/1.wav")
    case = changed(CASE, turns=(Turn(text="?", attachments=(recorded,)),))
    line = scripted_service(sound())

    error = await failure(line.url, tmp_path, case, read=lambda _: b"ID3\x04mp3")

    assert (error.kind, line.ledger) == ("attachment", [])
    assert "calls/1.wav cannot be sent: it is MP3" in str(error)


WAV = said("The clinic closes at six in the evening.")
FAULTS: dict[str, tuple[Any, str]] = {
    "cut, with a length": (cut(2000, Answer(body=WAV, content_type="audio/wav")), "truncated"),
    "cut, unseen": (cut(2000, Answer(body=WAV, content_type="audio/wav"), framing="close"), "truncated"),
    "cut, in chunks": (cut(2000, Answer(body=WAV, content_type="audio/wav"), framing="chunked"), "truncated"),
    "cut in its header": (cut(20, Answer(body=WAV, content_type="audio/wav"), framing="close"), "truncated"),
    "a login page": (login_page(), "not_json"),
    "a page that calls itself sound": (Answer(body=b"<html>", content_type="audio/wav"), "not_audio"),
    "garbage": (Answer(body=bytes(range(256)) * 40, content_type="audio/wav"), "not_audio"),
    "garbage of no kind": (Answer(body=bytes(range(256)) * 40, content_type=""), "not_json"),
    "MP3": (Answer(body=b"ID3\x04" + bytes(100), content_type="audio/mpeg"), "not_audio"),
    "nothing": (Answer(content_type="audio/wav"), "empty"),
    "sound without samples": (Answer(body=Audio(samples=b"").wav(), content_type="audio/wav"), "empty"),
    "JSON without sound": ({"status": "ok"}, "missing_field"),
    "JSON with sound that is none": ({"audio": "%%%"}, "not_audio"),
    "JSON with a number for sound": ({"audio": 3}, "wrong_type"),
    "JSON with garbage": ({"audio": base64.b64encode(b"garbage").decode()}, "not_audio"),
    "JSON with cut sound": ({"audio": base64.b64encode(WAV[:3000]).decode()}, "truncated"),
    "cut JSON": (cut(5, {"audio": "UklGRg=="}, framing="close"), "truncated"),
    "too much": (huge(6 * 1024 * 1024), "too_large"),
    "a bomb": (gzip_bomb(20 * 1024 * 1024), "too_large"),
    "JSON in another encoding": (garbled(), "missing_field"),
    "a torn line": (reset(), "connection"),
    "elsewhere": (redirect("http://192.0.2.1/"), "redirect"),
    "500": (500, "status"),
    "503": (status(503), "status"),
    "401": (401, "auth"),
    "429": (too_many_requests(), "rate_limited"),
    "silence on the line": (hang(), "timeout"),
    "one byte and no more": (drip(WAV, every_s=5), "timeout"),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_every_fault_has_its_kind_and_is_never_a_reply(scripted_service, tmp_path, fault):
    answer, kind = FAULTS[fault]
    line = scripted_service(answer)
    target = targets.build("voice", {"api_url": line.url, "directory": str(tmp_path), **DOUBLES})
    target.connect_by(Guard(), Limits(idle_s=0.2))

    async with target:
        with pytest.raises(TargetError) as caught:
            await target.ask(conversation_at(CASE, 0, [], session_id="s"))

    assert caught.value.kind == kind
    assert caught.value.transient == (kind in ("truncated", "connection", "status", "timeout", "rate_limited"))
    assert not list(tmp_path.rglob("*.wav"))


async def test_sound_that_was_cut_is_asked_for_again(scripted_service, tmp_path):
    whole = Answer(body=WAV, content_type="audio/wav")
    line = scripted_service(sequence(cut(2000, whole, framing="close"), 503, whole))

    reply = await ask(line.url, tmp_path, retries=2)

    assert (reply.text, reply.attempts) == ("The clinic closes at six in the evening.", 3)
    assert len({call.body for call in line.ledger}) == 1
    assert len({call.headers["Idempotency-Key"] for call in line.ledger}) == 1


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


async def test_sound_that_cannot_be_kept_stops_the_run(scripted_service, tmp_path):
    line = scripted_service(sound())
    (tmp_path / "taken").write_text("a file, not a folder")

    with pytest.raises(StorageError, match="audio_folder"):
        await ask(line.url, tmp_path, audio_folder=Path("taken/audio"))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"speak": "pipper"}, "speak: there is no engine 'pipper'. Did you mean 'piper'?"),
        ({"hear": "whisper"}, "hear: there is no engine 'whisper'."),
        ({"body": {"a": 1}}, "send: raw the sound is the whole body"),
        ({"send": "multipart", "body": ["a"]}, "keys and values"),
        ({"send": "multipart", "audio_field": 'a"b'}, "plain names"),
        ({"send": "json", "body": {"a": "{adio}"}}, "Did you mean 'audio'?"),
        ({"send": "text", "body": {"a": "{audio}"}}, "no placeholder {audio}"),
        ({"reply": {"herd": "$.a"}}, "Did you mean 'heard'?"),
        ({"reply": {"heard": "a.b"}}, "'a.b' is not a path"),
        ({"reply": {"audio": "header:X-Sound"}}, "sound does not come in a header"),
        ({"api_url": "line.example.org"}, "must begin with http"),
    ],
)
def test_settings_that_cannot_be_are_told(given, says):
    with pytest.raises(InputError, match=None) as caught:
        targets.build("voice", {"api_url": "http://127.0.0.1:1", **given})

    assert says in str(caught.value)


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


async def test_asking_the_target_itself_speaks_too(scripted_service, tmp_path):
    line = scripted_service({"text": "hm"})
    turns: Conversation = conversation_at(CASE, 0, [], session_id="s")

    async with targets.build("voice", {"api_url": line.url, "directory": str(tmp_path), **DOUBLES}) as target:
        await target.ask(turns)

    assert heard(line.ledger[0].body) == "When do you close?"
