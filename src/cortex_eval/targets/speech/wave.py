"""Sound as numbers: reading the WAV files that services send, writing the one kind that we send, and changing rates."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

SPEECH_RATE = 16_000
"""Samples a second; what speech recognisers are trained on."""
RATES = (4_000, 192_000)
"""Others are a broken header."""
PCM, FLOAT, A_LAW, MU_LAW, EXTENSIBLE = 1, 3, 6, 7, 0xFFFE
UNKNOWN_SIZES = frozenset({0, 0x7FFFFFFF, 0xFFFFFFFF, 0x7FFFF000, 0xFFFFF000})
"""What stands for the length of the sound when it was not known yet: services that stream write one of these."""
OTHER_FORMATS = (
    (b"ID3", "MP3"),
    (b"\xff\xfb", "MP3"),
    (b"\xff\xf3", "MP3"),
    (b"OggS", "Ogg"),
    (b"fLaC", "FLAC"),
    (b"\x1aE\xdf\xa3", "WebM"),
)


class NotAudioError(ValueError):
    """The bytes are not a WAV file that can be read; `kind` is `not_audio`, `empty` or `truncated`."""

    def __init__(self, message: str, kind: str = "not_audio") -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Audio:
    """Sound of one channel."""

    samples: bytes
    """16 bits each, signed, little end first."""
    rate: int = SPEECH_RATE
    """Samples a second."""

    @property
    def seconds(self) -> float:
        """How long it lasts."""
        return len(self.samples) / 2 / self.rate

    def wav(self) -> bytes:
        """A WAV file of it: PCM, 16 bits, mono."""
        return wav_header(self.rate, len(self.samples)) + self.samples

    def at(self, rate: int) -> Audio:
        """The same sound with another number of samples a second."""
        if rate == self.rate or not self.samples:
            return Audio(samples=self.samples, rate=rate)
        return Audio(samples=_pcm16(_resampled(self.floats(), self.rate, rate)), rate=rate)

    def floats(self) -> npt.NDArray[np.float64]:
        """The samples between -1 and 1."""
        import numpy as np

        return np.frombuffer(self.samples, dtype="<i2").astype(np.float64) / 32768


def wav_header(rate: int, size: int | None) -> bytes:
    """The first 44 bytes of a WAV file of 16 bits and one channel; None: its length is not known yet."""
    long = 0xFFFFFFFF if size is None else size
    riff = 0xFFFFFFFF if size is None else size + 36
    return struct.pack(
        "<4sI4s4sIHHIIHH4sI", b"RIFF", riff, b"WAVE", b"fmt ", 16, PCM, 1, rate, rate * 2, 2, 16, b"data", long
    )


def is_wav(data: bytes) -> bool:
    """Whether these bytes begin like a WAV file."""
    return data[:4] == b"RIFF" and data[8:12] == b"WAVE"


def read_wav(data: bytes) -> Audio:
    """The sound of a WAV file, its channels mixed to one; `NotAudioError` says what is wrong with it.

    PCM of 8 to 32 bits, floats, and the A-law and µ-law of telephone lines are read. A file that ends before the length
    that its header states is cut off, unless the header says that the length was not known.
    """
    if not data:
        raise NotAudioError("it is empty", "empty")
    if not is_wav(data):
        other = next((name for mark, name in OTHER_FORMATS if data.startswith(mark)), None)
        raise NotAudioError(f"it is {other}, and only WAV is read" if other else "it does not begin like a WAV file")
    form, sound = _chunks(data)
    if len(sound) < form.frame:
        raise NotAudioError("it holds no sound", "empty")
    mixed = _decoded(form, sound[: len(sound) - len(sound) % form.frame])
    return Audio(samples=_pcm16(mixed), rate=form.rate)


class _Form(NamedTuple):
    code: int
    channels: int
    rate: int
    bits: int

    @property
    def frame(self) -> int:
        """Bytes of one moment."""
        return self.channels * self.bits // 8


def _chunks(data: bytes) -> tuple[_Form, bytes]:
    """What the file says of its sound, and the sound."""
    form: _Form | None = None
    at = 12
    while at + 8 <= len(data):
        name, size = struct.unpack_from("<4sI", data, at)
        at += 8
        if name == b"data":
            if form is None:
                raise NotAudioError("it does not say what its sound is made of")
            is_open = size in UNKNOWN_SIZES and at + size != len(data)
            if not is_open and at + size > len(data):
                have, want = len(data) - at, size
                raise NotAudioError(f"it was cut off: {have:,} of {want:,} bytes of sound are there", "truncated")
            return form, data[at:] if is_open else data[at : at + size]
        if name == b"fmt ":
            form = _form(data[at : at + size])
        at += size + size % 2
    raise NotAudioError("it was cut off before its sound began", "truncated")


def _form(chunk: bytes) -> _Form:
    if len(chunk) < 16:
        raise NotAudioError("it was cut off before its sound began", "truncated")
    code, channels, rate, _, _, bits = struct.unpack_from("<HHIIHH", chunk)
    if code == EXTENSIBLE and len(chunk) >= 26:
        code = struct.unpack_from("<H", chunk, 24)[0]
    known = {PCM: (8, 16, 24, 32), FLOAT: (32, 64), A_LAW: (8,), MU_LAW: (8,)}
    if bits not in known.get(code, ()) or not 1 <= channels <= 8 or not RATES[0] <= rate <= RATES[1]:
        found = f"format {code}, {channels} channels, {rate} Hz, {bits} bits"
        raise NotAudioError(f"its sound is of a kind that is not read ({found})")
    return _Form(code, channels, rate, bits)


def _decoded(form: _Form, sound: bytes) -> npt.NDArray[np.float64]:
    """The samples between -1 and 1, all channels mixed."""
    import numpy as np

    values: Any  # Any: an array of one kind or another
    if form.code == FLOAT:
        values = np.nan_to_num(np.frombuffer(sound, dtype=f"<f{form.bits // 8}").astype(np.float64), posinf=0, neginf=0)
    elif form.code in (A_LAW, MU_LAW):
        values = np.array(_telephone_levels(form.code))[np.frombuffer(sound, dtype=np.uint8)]
    elif form.bits == 8:
        values = (np.frombuffer(sound, dtype=np.uint8).astype(np.float64) - 128) / 128
    elif form.bits == 24:
        triples = np.frombuffer(sound, dtype=np.uint8).reshape(-1, 3).astype(np.int32)
        whole = triples[:, 0] | triples[:, 1] << 8 | triples[:, 2] << 16
        values = (whole - ((whole & 0x800000) << 1)) / float(1 << 23)
    else:
        values = np.frombuffer(sound, dtype=f"<i{form.bits // 8}") / float(1 << (form.bits - 1))
    mixed: npt.NDArray[np.float64] = values.reshape(-1, form.channels).mean(axis=1)
    return mixed


@cache
def _telephone_levels(code: int) -> tuple[float, ...]:
    """What the 256 values of a telephone line stand for. ITU-T G.711."""
    levels = []
    for byte in range(256):
        value = byte ^ (0x55 if code == A_LAW else 0xFF)
        exponent, mantissa = value >> 4 & 7, value & 15
        if code == MU_LAW:
            size = ((mantissa << 3) + 132 << exponent) - 132
            sign = -1 if value & 0x80 else 1
        else:
            size = (mantissa << 4) + 8 if exponent == 0 else (mantissa << 4) + 264 << exponent - 1
            sign = 1 if value & 0x80 else -1
        levels.append(sign * size / 32768)
    return tuple(levels)


def _resampled(values: npt.NDArray[np.float64], old: int, new: int) -> npt.NDArray[np.float64]:
    """The same sound at another rate: its spectrum, cut or filled up with nothing, and back."""
    import numpy as np

    # Padded to where both rates have a whole number of samples, so that nothing is stretched.
    block = old // math.gcd(old, new)
    blocks = -(-len(values) // block)
    size = blocks * block * new // old
    spectrum = np.fft.rfft(values, blocks * block)[: size // 2 + 1]
    if new < old:
        spectrum[-1] = 0  # the middle of the spectrum has no phase of its own
    made = np.fft.irfft(spectrum, size) * (new / old)
    return np.asarray(made[: max(1, round(len(values) * new / old))])


def _pcm16(values: npt.NDArray[np.float64]) -> bytes:
    import numpy as np

    return bytes((np.clip(values, -1, 32767 / 32768) * 32768).round().astype("<i2").tobytes())
