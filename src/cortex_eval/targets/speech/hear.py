"""Speech to text, offline: moonshine, a small recogniser for English whose weights come with its package."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

from cortex_eval.targets.speech.engines import HOW_TO_INSTALL, Engine, Listener, Transcript
from cortex_eval.targets.speech.wave import SPEECH_RATE, Audio

LONGEST_S = 25.0
"""Moonshine was trained on up to 30 s at a time, and makes things up beyond."""
SHORTEST_S = 0.1
SILENCE = 0.003
"""Loudest sample of what is not even listened to: recognisers hear words in the noise of nothing."""
WINDOW_S = 0.05


class Moonshine:
    """Moonshine base, English."""

    languages: ClassVar[tuple[str, ...]] = ("en",)

    def __init__(self, voice: str = "") -> None:  # noqa: ARG002  # what engines are made with
        from moonshine_cpp import MoonshineModel

        # The language is named: without it a later version might look for weights, and others it would download.
        self._model: Any = MoonshineModel(language="en")  # Any: the package has no types

    def hear(self, audio: Audio) -> Transcript:
        """What is said; long recordings are heard in parts, cut where it is quietest."""
        heard = (self._part(part) for part in parts(audio.at(SPEECH_RATE)))
        return Transcript(text=" ".join(text for text in heard if text))

    def _part(self, audio: Audio) -> str:
        with tempfile.TemporaryDirectory(prefix="cortex-heard-") as folder:  # it reads only files
            file = Path(folder, "said.wav")
            file.write_bytes(audio.wav())
            return str(self._model.transcribe_wav(str(file))).strip()


def parts(audio: Audio) -> Iterator[Audio]:
    """The sound in parts that are short enough, cut in the quietest moment of the second half of each; no silence."""
    import numpy as np

    window = round(WINDOW_S * audio.rate)
    longest = round(LONGEST_S * audio.rate)
    loud = np.abs(audio.floats())
    start = 0
    while len(loud) - start > longest:
        first = start + longest // 2
        windows = (longest - longest // 2) // window
        quiet = loud[first : first + windows * window].reshape(windows, window).mean(axis=1)
        end = first + int(quiet.argmin()) * window + window // 2
        yield from _heard(audio, start, end)
        start = end
    yield from _heard(audio, start, len(loud))


def _heard(audio: Audio, start: int, end: int) -> Iterator[Audio]:
    part = Audio(samples=audio.samples[start * 2 : end * 2], rate=audio.rate)
    if part.seconds >= SHORTEST_S and abs(part.floats()).max() > SILENCE:
        yield part


def _moonshine_missing(_voice: str) -> str:
    return "" if find_spec("moonshine_cpp") else f"moonshine is not installed: {HOW_TO_INSTALL} (Linux on x86-64)"


LISTENERS: Mapping[str, Engine[Listener]] = {
    "moonshine": Engine(make=Moonshine, missing=_moonshine_missing, packages=("moonshine-cpp",)),
}
