"""What a voice line does wrong is an error with its kind, and so are settings that cannot be."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
from voice_calls import CASE, DOUBLES, ask, failure, said, sound

from cortex_eval.core import Attachment, InputError, StorageError, TargetError, Turn, changed
from cortex_eval.net import Guard, Limits
from cortex_eval.targets import Audio, Conversation, targets
from cortex_eval.testing import (
    Answer,
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
            await target.ask(Conversation.at(CASE, 0, [], session_id="s"))

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
