"""Voice lines: what is sent and how, what is read of the answer, and what is heard of it."""

from __future__ import annotations

import base64
import email.parser
import email.policy
from urllib.parse import quote

from voice_calls import CASE, DOUBLES, ask, heard, said, sound

from cortex_eval.core import Attachment, Reply, Secret, Turn, changed
from cortex_eval.targets import Conversation, read_wav, targets


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


async def test_asking_the_target_itself_speaks_too(scripted_service, tmp_path):
    line = scripted_service({"text": "hm"})
    turns: Conversation = Conversation.at(CASE, 0, [], session_id="s")

    async with targets.build("voice", {"api_url": line.url, "directory": str(tmp_path), **DOUBLES}) as target:
        await target.ask(turns)

    assert heard(line.ledger[0].body) == "When do you close?"
