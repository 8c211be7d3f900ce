"""A speaker and a listener for tests: sound that carries its text exactly, so that nothing has to be recognised.

They are doubles: what they make is no speech, and nobody but `ToneListener` understands it.
"""

from __future__ import annotations

from typing import ClassVar

from cortex_eval.targets import Audio, Transcript

RATE = 16_000
STEP = 160
"""Samples for each byte: a hundredth of a second."""
LOUDNESS = 100


class ToneSpeaker:
    """Says each byte of a text as a hundredth of a second of its own loudness."""

    def __init__(self) -> None:
        self.spoken: list[str] = []
        """Every text that it was given, in order."""

    def speak(self, text: str, language: str) -> Audio:  # noqa: ARG002  # the seam's signature
        """The same text always gives the same sound."""
        self.spoken.append(text)
        levels = [byte * LOUDNESS for byte in text.encode()]
        return Audio(samples=b"".join(level.to_bytes(2, "little", signed=True) * STEP for level in levels), rate=RATE)


class ToneListener:
    """Hears what `ToneSpeaker` says, as far as it goes."""

    languages: ClassVar[tuple[str, ...]] = ("en", "hi")

    def hear(self, audio: Audio) -> Transcript:
        """The text in this sound; marks in place of what is none of it."""
        samples = audio.at(RATE).samples
        steps = [samples[at : at + STEP * 2] for at in range(0, len(samples), STEP * 2)]
        levels = (int.from_bytes(step[STEP : STEP + 2], "little", signed=True) for step in steps if len(step) > STEP)
        said = bytes(min(255, max(0, round(level / LOUDNESS))) for level in levels)
        return Transcript(text=said.decode("utf-8", "replace"))
