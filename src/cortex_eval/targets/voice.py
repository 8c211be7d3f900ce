"""Voice lines over HTTP (`voice`): the caller's words are spoken, the sound is sent, and what comes back is heard."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from pathlib import Path as FilePath
from types import TracebackType
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self
from urllib.parse import unquote

from cortex_eval.core import (
    Attachment,
    InputError,
    Range,
    Reply,
    Secret,
    TargetError,
    changed,
    did_you_mean,
    short_repr,
    to_json,
)
from cortex_eval.net import Received, check_url, host_of, parse_json, shown
from cortex_eval.targets.base import Target, targets
from cortex_eval.targets.conversation import Conversation
from cortex_eval.targets.http import noted, request_headers, travelling
from cortex_eval.targets.mapping import (
    READABLE,
    Path,
    check_template,
    compile_paths,
    fill_template,
    read_reply,
    remarks_on,
    sendable,
)
from cortex_eval.targets.speech import Audio, EngineError, NotAudioError, Voices, engine_trouble, read_wav
from cortex_eval.targets.speech.booths import write_whole
from cortex_eval.targets.speech.engines import NONE
from cortex_eval.targets.speech.wave import SPEECH_RATE, is_wav

HEADER = "header:"
OWN = ("audio", "heard")
"""What a voice line's answer may hold beside the fields of a reply."""
BODIES: Mapping[str, Mapping[str, str]] = {
    "raw": {},
    "multipart": {"session_id": "{session_id}"},
    "json": {"audio": "{audio}", "session_id": "{session_id}"},
    "text": {"text": "{input}", "session_id": "{session_id}"},
}
"""What is sent beside the sound, or around it, when `body` is not given."""
PLAIN_NAME = re.compile(r'[^"\x00-\x1f]+')


@dataclass(frozen=True, slots=True, kw_only=True)
class _Spoken(Conversation):
    """A conversation with the sound of its last turn."""

    sound: Audio


class _Sounding(Reply, frozen=True, kw_only=True):
    """A reply whose sound has not been heard yet."""

    sound: bytes


class _Answer(NamedTuple):
    """What came back."""

    reply: Reply
    sound: bytes | None
    is_raw: bool = False
    """The sound was the whole answer, so its first byte was the first sound."""


@targets.register("voice")
@dataclass
class VoiceTarget(Target):
    """A service that is spoken to: it takes sound (or text) and gives sound, or JSON with sound or text in it.

    Speaking and hearing are ours, before and after the call: their time is not the service's.
    """

    kind: ClassVar[str] = "voice"
    is_remote: ClassVar[bool] = True

    api_url: str
    api_key: Secret | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    send: Literal["raw", "multipart", "json", "text"] = "raw"
    """The WAV itself, a form with a file in it, JSON with it in base64, or the text for a service that only speaks."""
    body: Any = None
    """A template as of `http`, with `{audio}` in JSON; fields of the form with multipart. Any: whatever JSON can be."""
    audio_field: str = "audio"
    """The name of the file in a form."""
    reply: Mapping[str, str] = field(default_factory=dict)
    """Reply field to path (`$.answer`) or header (`header:X-Transcript`); also `audio` and `heard`."""
    rate: Annotated[int, Range(8_000, 48_000)] = SPEECH_RATE
    """Samples a second of what is sent."""
    speak: str = "auto"
    """piper, flite, espeak, auto (the first of them that is there), none, or module:Class."""
    hear: str = "moonshine"
    """moonshine, none, or module:Class."""
    voice: str = ""
    """Of the speaker: the .onnx file of a piper voice, or a name that flite or espeak know."""
    audio_folder: FilePath = FilePath(".cortex/audio")
    """Where sound is kept, by its SHA-256."""
    test_user_id: str = "eval-tester"
    directory: str = "."

    def __post_init__(self) -> None:
        check_url(self.api_url)
        if self.send == "raw" and self.body is not None:
            raise InputError("body: with send: raw the sound is the whole body. Write send: json or send: multipart.")
        self._body = BODIES[self.send] if self.body is None else self.body
        check_template(self._body, field="body", also=("audio",) if self.send == "json" else ())
        if self.send == "multipart" and not isinstance(self._body, Mapping):
            raise InputError("body: the fields of a form are keys and values.")
        if self.send == "multipart" and not all(map(PLAIN_NAME.fullmatch, (self.audio_field, *self._body))):
            raise InputError("audio_field and the keys of body: must be plain names, without quotation marks.")
        self._headers = request_headers(self.headers, self.api_key)
        self._paths, self._from_headers = _read_mapping(self.reply)
        self._folder = FilePath(self.directory, self.audio_folder)
        self._voices = Voices(
            speak=self.speak, hear=self.hear, voice=self._voice_file(), directory=self.directory, folder=self._folder
        )

    @property
    def fingerprint(self) -> str:
        """Changes with the engines and their versions: another voice may be understood otherwise."""
        return self._voices.identity

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self._voices.check)
        return await super().__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await super().__aexit__(kind, error, trace)
        await asyncio.to_thread(self._voices.close)

    async def prepare(self, turns: Conversation) -> Conversation:
        """Have the turn spoken, or its recording read."""
        turns = await super().prepare(turns)
        if self.send == "text":
            return turns
        parts = {each.name: getattr(turns, each.name) for each in fields(Conversation)}
        return _Spoken(**parts, sound=await self._sound(turns))

    def remarks(self) -> list[str]:
        """Paths of `reply` at which no answer had anything."""
        return remarks_on(self._paths, self.reply)

    async def ask(self, turns: Conversation) -> Reply:
        """Send the sound; what comes back is sound that can be heard, or a text, or an error."""
        ready = turns if isinstance(turns, _Spoken) else await self.prepare(turns)
        sound = ready.sound if isinstance(ready, _Spoken) else None
        content_type, body = self._request(turns, sound)
        kind = {"Content-Type": content_type, "Accept": "audio/wav, application/json"}
        began = time.monotonic()
        received = await self._open_client().fetch(
            self.api_url, body, headers=travelling({**self._headers, **kind}, turns)
        )
        whole_ms = (time.monotonic() - began) * 1000
        answer = self._read(received)
        told = {**answer.reply.metadata, **({"sent_seconds": round(sound.seconds, 3)} if sound else {})}
        if answer.sound is None:
            return changed(answer.reply, metadata=told)
        return _Sounding(
            **_parts(answer.reply),
            first_token_ms=round(received.first_byte_ms or whole_ms, 3) if answer.is_raw else round(whole_ms, 3),
            metadata={**told, "audio_seconds": round(self._checked(answer.sound).seconds, 3)},
            sound=answer.sound,
        )

    async def complete(self, turns: Conversation, reply: Reply) -> Reply:
        """Keep what came back, and hear it: that is the reply's text. What the service says it said goes beside it."""
        told = {**reply.metadata, "spoken_by": "text" if self.send == "text" else self._spoken_by(turns)}
        if not isinstance(reply, _Sounding):
            return changed(reply, metadata=told)
        plain = Reply(**_parts(reply), first_token_ms=reply.first_token_ms, metadata=told)
        plain = changed(plain, attachments=(await asyncio.to_thread(self._keep, reply.sound),))
        if self.hear == NONE:
            if plain.text:
                return plain
            raise engine_trouble(EngineError("the service answered with sound only, and hear: none is set"))
        audio = await asyncio.to_thread(read_wav, reply.sound)
        try:
            heard = await asyncio.wrap_future(self._voices.hear(audio, turns.case.language or ""))
        except EngineError as error:
            raise engine_trouble(error) from error
        told |= {"heard_by": self._voices.hear_name, **({"stated_text": plain.text} if plain.text else {})}
        return changed(plain, text=heard.text, transcript=heard.text, metadata=told)

    # What is sent

    async def _sound(self, turns: Conversation) -> Audio:
        """The recording that the turn comes with, else the turn spoken."""
        if recorded := _recording(turns):
            return await self._recorded(recorded)
        try:
            spoken = await asyncio.wrap_future(self._voices.speak(turns.text, turns.case.language or ""))
        except EngineError as error:
            raise engine_trouble(error) from error
        return await asyncio.to_thread(spoken.at, self.rate)

    async def _recorded(self, attachment: Attachment) -> Audio:
        if self._read_attachment is None:
            raise TargetError(f"{attachment.name} cannot be sent: nothing here can read it.", kind="attachment")
        data = await asyncio.to_thread(self._read_attachment, attachment)
        try:
            return await asyncio.to_thread(lambda: read_wav(data).at(self.rate))
        except NotAudioError as error:
            raise TargetError(f"{attachment.name} cannot be sent: {error}.", kind="attachment") from error

    def _spoken_by(self, turns: Conversation) -> str:
        return "recording" if _recording(turns) else self._voices.speak_name

    def _request(self, turns: Conversation, sound: Audio | None) -> tuple[str, bytes]:
        """The content type and the body."""
        values = sendable(turns, user_id=self.test_user_id)
        if sound is None:
            return "application/json", to_json(fill_template(self._body, values))
        wav = sound.wav()
        if self.send == "raw":
            return "audio/wav", wav
        if self.send == "json":
            values["audio"] = base64.b64encode(wav).decode()
            return "application/json", to_json(fill_template(self._body, values))
        filled = {name: _text(fill_template(value, values)) for name, value in self._body.items()}
        return _form(filled, self.audio_field, wav)

    # What comes back

    def _read(self, received: Received) -> _Answer:
        where = host_of(self.api_url)
        if not received.content.strip():
            raise TargetError(f"{where} answered with an empty body.", kind="empty")
        named = {name: unquote(received.headers.get(header, "")) for name, header in self._from_headers.items()}
        named = {name: value for name, value in named.items() if value}
        if is_wav(received.content) or received.media_type.startswith("audio/"):
            return _Answer(_stating(Reply(), named), received.content, is_raw=True)
        parsed = parse_json(self.api_url, received)
        found = {name: path for name, path in self._paths.items() if _leads_somewhere(path, parsed.value)}
        audio, heard = (found.pop(name, None) for name in OWN)
        if audio is None and "text" not in found:
            keys = sorted(parsed.value) if isinstance(parsed.value, dict) else type(parsed.value).__name__
            raise TargetError(
                f"{shown(self.api_url)} gave neither sound nor a text; it gave {short_repr(keys, 200)}. "
                "Say under reply: where they are, such as audio: $.audio.",
                kind="missing_field",
            )
        reply = noted(read_reply(parsed.value, found, where=shown(self.api_url)), parsed.encoding)
        if heard is not None:
            named = {"heard": str(heard.find(parsed.value)), **named}
        if audio is None:
            return _Answer(_stating(reply, named), None)
        sound = audio.find(parsed.value)
        return _Answer(_stating(changed(reply, raw=_without(sound, reply.raw)), named), self._from_base64(sound))

    def _from_base64(self, said: object) -> bytes:
        if not isinstance(said, str):
            raise TargetError(f"{host_of(self.api_url)} gave {short_repr(said)} as sound.", kind="wrong_type")
        text = said.partition(",")[2] if said.startswith("data:") else said
        try:
            return base64.b64decode("".join(text.split()), validate=True)
        except binascii.Error as error:
            raise TargetError(
                f"{host_of(self.api_url)} gave sound that is not base64: {short_repr(text, 40)}.", kind="not_audio"
            ) from error

    def _checked(self, data: bytes) -> Audio:
        """The sound, if that is what the bytes are; a `TargetError` by the kind of what is wrong otherwise."""
        try:
            return read_wav(data)
        except NotAudioError as error:
            raise TargetError(
                f"{host_of(self.api_url)} answered with sound that cannot be read: {error}.",
                kind=error.kind,
                transient=error.kind == "truncated",
            ) from error

    def _keep(self, data: bytes) -> Attachment:
        digest = hashlib.sha256(data).hexdigest()
        file = self._folder / f"{digest}.wav"
        if not file.is_file():
            write_whole(file, data)
        return Attachment(sha256=digest, media_type="audio/wav", size=len(data), name=file.name)

    def _voice_file(self) -> str:
        """The voice; a file is meant from the project."""
        return str(FilePath(self.directory, self.voice)) if self.voice.endswith(".onnx") else self.voice


def _read_mapping(given: Mapping[str, str]) -> tuple[dict[str, Path], dict[str, str]]:
    """Where things are in JSON, and in the answer's headers."""
    paths = {"audio": "$.audio", "text": "$.text", "heard": "$.transcript", "language": "$.language", **given}
    headers = {name: path for name, path in paths.items() if path.startswith(HEADER)}
    known = (*OWN, *READABLE)
    for name in paths:
        if name not in known:
            raise InputError(f"reply: the reply of a voice line has no {name!r}. {did_you_mean(name, known)}")
    if "audio" in headers:
        raise InputError("reply.audio: sound does not come in a header. Leave it out for an answer that is a WAV.")
    in_json = {name: path for name, path in paths.items() if name not in headers}
    own = {name: Path(path, field=f"reply.{name}") for name, path in in_json.items() if name in OWN}
    others = compile_paths({name: path for name, path in in_json.items() if name not in OWN}, field="reply")
    return {**own, **others}, {name: path.removeprefix(HEADER).strip().lower() for name, path in headers.items()}


def _leads_somewhere(path: Path, answer: Any) -> bool:  # Any: JSON
    with suppress(KeyError):
        return path.find(answer) not in (None, "")
    return False


def _stating(reply: Reply, named: Mapping[str, str]) -> Reply:
    """The reply with what headers told; what the service says that it heard goes into its metadata."""
    others = {name: value for name, value in named.items() if name != "heard"}
    heard = {"heard": named["heard"]} if "heard" in named else {}
    return changed(reply, **others, metadata={**reply.metadata, **heard})


def _without(sound: object, raw: Any) -> Any:  # Any: JSON
    """The answer as it came, but for the sound: that lies in its file."""
    if isinstance(raw, dict):
        return {key: _without(sound, value) for key, value in raw.items()}
    if isinstance(raw, list):
        return [_without(sound, value) for value in raw]
    return "(the sound is kept as a file)" if raw is sound else raw


def _recording(turns: Conversation) -> Attachment | None:
    return next((each for each in turns[-1].attachments if each.media_type.startswith("audio/")), None)


def _parts(reply: Reply) -> dict[str, Any]:  # Any: the fields of a reply
    """A reply's fields, but for the two that sound changes."""
    names = (each for each in Reply.__struct_fields__ if each not in ("first_token_ms", "metadata"))
    return {name: getattr(reply, name) for name in names}


def _text(value: object) -> str:
    return value if isinstance(value, str) else to_json(value).decode()


def _form(filled: Mapping[str, str], audio_field: str, wav: bytes) -> tuple[str, bytes]:
    """A form with these fields and one file, as RFC 7578 has it: its content type and its bytes."""
    boundary = f"cortex-{hashlib.sha256(wav).hexdigest()[:32]}"
    opening = f"--{boundary}\r\nContent-Disposition: form-data; name="
    parts = [f'{opening}"{name}"\r\n\r\n{value}\r\n' for name, value in filled.items()]
    file = f'{opening}"{audio_field}"; filename="said.wav"\r\nContent-Type: audio/wav\r\n\r\n'
    body = "".join([*parts, file]).encode() + wav + f"\r\n--{boundary}--\r\n".encode()
    return f"multipart/form-data; boundary={boundary}", body
