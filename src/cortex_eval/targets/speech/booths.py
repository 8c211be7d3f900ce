"""A speaker and a listener at work: found by name, loaded at the first use, and what was spoken once is not again."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from cortex_eval.core import InputError, StorageError, shorten
from cortex_eval.targets.speech.engines import (
    NONE,
    Booth,
    Engine,
    EngineError,
    Listener,
    Speaker,
    Transcript,
    check_name,
    chosen,
)
from cortex_eval.targets.speech.hear import LISTENERS
from cortex_eval.targets.speech.speak import SPEAKERS
from cortex_eval.targets.speech.wave import Audio, NotAudioError, read_wav

E = TypeVar("E")


class Voices:
    """A speaker and a listener. Nothing is loaded before it is needed; `close` lets the engines go.

    `folder` is where spoken texts are kept for the next time; None: only as long as this object lives.
    """

    def __init__(
        self,
        *,
        speak: str = "auto",
        hear: str = "moonshine",
        voice: str = "",
        directory: str = ".",
        folder: Path | None = None,
    ) -> None:
        check_name(SPEAKERS, speak, setting="speak")
        check_name(LISTENERS, hear, setting="hear")
        self.speak_name, self.hear_name = chosen(SPEAKERS, speak, voice), chosen(LISTENERS, hear)
        self._voice, self._directory, self._folder = voice, directory, folder
        self._speaker: Booth[Speaker] = Booth(partial(self._make, SPEAKERS, "speak"), name=self.speak_name)
        self._listener: Booth[Listener] = Booth(partial(self._make, LISTENERS, "hear"), name=self.hear_name)
        self._spoken: dict[str, Audio] = {}

    @property
    def identity(self) -> str:
        """Changes with the engines, their versions and the voice."""
        return f"{_identity(SPEAKERS, self.speak_name)} {self._voice} {_identity(LISTENERS, self.hear_name)}"

    def check(self) -> None:
        """Raise InputError, in one line and with the command that mends it, when an engine is not installed."""
        for engines, setting, name in ((SPEAKERS, "speak", self.speak_name), (LISTENERS, "hear", self.hear_name)):
            if name in engines:
                if lacking := engines[name].missing(self._voice if setting == "speak" else ""):
                    raise InputError(f"{setting}: {lacking}")
            elif name != NONE:
                _class_named(name, self._directory, setting)

    def speak(self, text: str, language: str = "") -> Future[Audio]:
        """The text said aloud, in a thread of the speaker's own; `EngineError` when it cannot be."""
        return self._speaker.call(lambda engine: self._said(engine, text, language))

    def hear(self, audio: Audio, language: str = "") -> Future[Transcript]:
        """What is said in it, in a thread of the listener's own; `EngineError` when it cannot be heard.

        A listener that states its `languages` is not asked for another one: what it would hear is not what was said.
        """
        return self._listener.call(lambda engine: self._heard(engine, audio, language))

    def close(self) -> None:
        """End the engines and their threads; they start again when they are needed."""
        self._speaker.close()
        self._listener.close()

    def _make(self, engines: Mapping[str, Engine[E]], setting: str) -> E:
        name = self.speak_name if setting == "speak" else self.hear_name
        if name == NONE:
            raise EngineError(f"{setting}: none is set, but an engine is needed")
        if name in engines:
            if lacking := engines[name].missing(self._voice if setting == "speak" else ""):
                raise EngineError(lacking)
            return engines[name].make(self._voice if setting == "speak" else "")
        made: E = _class_named(name, self._directory, setting)()
        return made

    def _said(self, engine: Speaker, text: str, language: str) -> Audio:
        whole = "\0".join((_identity(SPEAKERS, self.speak_name), self._voice, language, text))
        key = hashlib.sha256(whole.encode("utf-8", "replace")).hexdigest()
        found = self._spoken.get(key) or self._kept(key)
        if found is None:
            found = engine.speak(text, language)
            if not isinstance(found, Audio) or not found.samples:
                raise EngineError(f"the speech engine {self.speak_name} made no sound of {text[:40]!r}")
            self._keep(key, found)
        if len(self._spoken) < 1000:  # about a quarter of an hour of speech; the rest is read from its files
            self._spoken[key] = found
        return found

    def _heard(self, engine: Listener, audio: Audio, language: str) -> Transcript:
        languages = getattr(engine, "languages", None)
        if language and languages and language.partition("-")[0].lower() not in languages:
            known = ", ".join(languages)
            raise EngineError(
                f"the speech engine {self.hear_name} hears {known}, not {language!r}; name one that does under hear:"
            )
        heard = engine.hear(audio)
        if not isinstance(heard, Transcript):
            raise EngineError(f"the speech engine {self.hear_name} gave {type(heard).__name__}, not a Transcript")
        return heard

    def _file(self, key: str) -> Path | None:
        # A class of the user's may change between two runs, and would still be called the same.
        return self._folder / "spoken" / f"{key}.wav" if self._folder and self.speak_name in SPEAKERS else None

    def _kept(self, key: str) -> Audio | None:
        file = self._file(key)
        with suppress(OSError, NotAudioError):  # not there, or half written: it is spoken again
            return read_wav(file.read_bytes()) if file else None
        return None

    def _keep(self, key: str, audio: Audio) -> None:
        if file := self._file(key):
            write_whole(file, audio.wav())


def open_voices(folder: Path | None = None, **settings: str) -> Voices:
    """A speaker and a listener of these settings (`speak`, `hear`, `voice`, `directory`), checked to be there."""
    voices = Voices(folder=folder, **settings)
    voices.check()
    return voices


def speech_missing(speak: str = "auto", hear: str = "moonshine") -> str:
    """What is not installed that a voice line needs, in one line with the command that mends it; empty: nothing."""
    try:
        Voices(speak=speak, hear=hear).check()
    except InputError as error:
        return str(error)
    return ""


def write_whole(file: Path, data: bytes) -> None:
    """Put a file there whole or not at all; `StorageError` when there is no room for it."""
    part = file.with_name(f"{file.name}.{os.getpid()}.part")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(data)
        part.replace(file)
    except OSError as error:
        raise StorageError(
            f"{file} cannot be written: {error.strerror}. Sound is kept there (audio_folder)."
        ) from error


def _identity(engines: Mapping[str, Engine[Any]], name: str) -> str:  # Any: speakers or listeners
    from importlib import metadata  # imported late: 30 ms

    versions = []
    for package in engines[name].packages if name in engines else ():
        with suppress(metadata.PackageNotFoundError):  # a program of that name may be there all the same
            versions.append(f"{package}=={metadata.version(package)}")
    return " ".join([name, *versions])


def _class_named(name: str, directory: str, setting: str) -> Callable[[], Any]:  # Any: checked where it is used
    """A class of the user's, from `module:Class`; `InputError` when there is none."""
    if directory not in sys.path:
        sys.path.append(directory)  # last: a project's `json.py` must not stand in for the library's
    module, _, attribute = name.partition(":")
    try:
        made: Callable[[], Any] = getattr(import_module(module), attribute)
    except (Exception, SystemExit) as error:  # a module of the user's is foreign code
        said = shorten(f"{type(error).__name__}: {error}")
        raise InputError(f"{setting}: {name!r} cannot be loaded: {said}.") from error
    if not callable(getattr(made, setting, None)):
        raise InputError(f"{setting}: {name!r} has no method {setting!r}.")
    return made
