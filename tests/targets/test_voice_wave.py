"""Sound as numbers: what WAV files are read, what is wrong with others, and what a change of the rate keeps."""

from __future__ import annotations

import io
import json
import math
import struct
import wave
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_eval.targets import Audio, NotAudioError, read_wav, wav_header

DATA = Path(__file__).parents[3] / "shared" / "data"


def tone(hertz: float = 440, seconds: float = 0.5, rate: int = 16_000) -> Audio:
    values = np.sin(2 * np.pi * hertz * np.arange(int(seconds * rate)) / rate) * 0.5
    return Audio(samples=(values * 32767).astype("<i2").tobytes(), rate=rate)


def file(sound: bytes, *, code: int = 1, channels: int = 1, rate: int = 8000, bits: int = 16, size: int = -1) -> bytes:
    frame = channels * bits // 8
    size = len(sound) if size < 0 else size
    form = struct.pack("<HHIIHH", code, channels, rate, rate * frame, frame, bits)
    chunks = b"LIST" + struct.pack("<I", 3) + b"abc\0" + b"fmt " + struct.pack("<I", 16) + form
    return (
        b"RIFF"
        + struct.pack("<I", min(2**32 - 1, 12 + len(chunks) + size))
        + b"WAVE"
        + chunks
        + b"data"
        + struct.pack("<I", size)
        + sound
    )


@given(samples=st.binary(min_size=2, max_size=400), rate=st.sampled_from([8000, 16000, 22050, 48000]))
def test_what_is_written_reads_back_equal(samples, rate):
    audio = Audio(samples=samples[: len(samples) // 2 * 2], rate=rate)

    assert read_wav(audio.wav()) == audio


def test_what_is_written_is_what_the_standard_library_reads():
    audio = tone()

    with wave.open(io.BytesIO(audio.wav())) as read:
        assert (read.getframerate(), read.getnchannels(), read.getsampwidth()) == (16_000, 1, 2)
        assert read.readframes(read.getnframes()) == audio.samples
    assert audio.seconds == 0.5


@pytest.mark.parametrize(
    ("bits", "code", "sound", "wanted"),
    [
        (8, 1, bytes([0, 128, 255]), [-1.0, 0.0, 127 / 128]),
        (16, 1, struct.pack("<3h", -32768, 0, 16384), [-1.0, 0.0, 0.5]),
        (24, 1, b"\x00\x00\x80" + b"\x00\x00\x00" + b"\x00\x00\x40", [-1.0, 0.0, 0.5]),
        (32, 1, struct.pack("<3i", -(2**31), 0, 2**30), [-1.0, 0.0, 0.5]),
        (32, 3, struct.pack("<3f", -1.0, math.nan, 0.5), [-1.0, 0.0, 0.5]),
        (64, 3, struct.pack("<3d", -1.0, math.inf, 0.5), [-1.0, 0.0, 0.5]),
    ],
)
def test_every_width_of_sample_means_the_same_sound(bits, code, sound, wanted):
    read = read_wav(file(sound, bits=bits, code=code))

    assert read.floats().tolist() == pytest.approx(wanted, abs=1e-4)
    assert read.rate == 8000


def test_telephone_lines_are_understood():
    # ITU-T G.711, tables 1a and 2a: the ends of the scale and the values next to nothing.
    mu_law = read_wav(file(bytes([0x00, 0x80, 0xFF, 0x7F]), code=7, bits=8))
    a_law = read_wav(file(bytes([0x2A, 0xAA, 0xD5, 0x55]), code=6, bits=8))

    assert np.frombuffer(mu_law.samples, "<i2").tolist() == [-32124, 32124, 0, 0]
    assert np.frombuffer(a_law.samples, "<i2").tolist() == [-32256, 32256, 8, -8]


def test_channels_are_mixed():
    read = read_wav(file(struct.pack("<4h", 1000, 3000, -2000, 0), channels=2))

    assert np.frombuffer(read.samples, "<i2").tolist() == [2000, -1000]


@pytest.mark.parametrize("size", [0, 0xFFFFFFFF, 0x7FFFFFFF])
def test_a_length_that_was_not_known_is_no_cut(size):
    sound = struct.pack("<3h", 1, 2, 3)

    assert read_wav(file(sound, size=size)).samples == sound
    assert read_wav(wav_header(16_000, None) + sound).samples == sound


@pytest.mark.parametrize(
    ("data", "kind", "says"),
    [
        (b"", "empty", "it is empty"),
        (b"<!doctype html>", "not_audio", "does not begin like a WAV"),
        (bytes(range(256)), "not_audio", "does not begin like a WAV"),
        (b"ID3\x04" + bytes(40), "not_audio", "it is MP3, and only WAV is read"),
        (b"OggS" + bytes(40), "not_audio", "it is Ogg"),
        (tone().wav()[:5000], "truncated", "4,956 of 16,000 bytes"),
        (tone().wav()[:30], "truncated", "before its sound began"),
        (file(b""), "empty", "it holds no sound"),
        (file(bytes(8), code=85), "not_audio", "format 85"),
        (file(bytes(8), rate=3), "not_audio", "3 Hz"),
        (file(bytes(8), channels=40), "not_audio", "40 channels"),
        (b"RIFF\x10\0\0\0WAVEdata\x04\0\0\0abcd", "not_audio", "what its sound is made of"),
    ],
)
def test_what_is_no_sound_is_told_by_its_kind(data, kind, says):
    with pytest.raises(NotAudioError, match=says) as caught:
        read_wav(data)

    assert caught.value.kind == kind


@given(data=st.binary(max_size=200))
def test_any_bytes_are_sound_or_told(data):
    for each in (data, b"RIFF\0\0\0\0WAVE" + data, wav_header(8000, len(data)) + data):
        with suppress(NotAudioError):
            assert read_wav(each).samples


@pytest.mark.parametrize("rate", [8_000, 11_025, 22_050, 44_100, 48_000])
def test_a_tone_keeps_its_pitch_loudness_and_length_at_another_rate(rate):
    audio = tone(hertz=1000, seconds=1)

    changed = audio.at(rate)

    spectrum = np.abs(np.fft.rfft(changed.floats()))
    assert spectrum.argmax() / changed.seconds == pytest.approx(1000, abs=2)
    assert changed.seconds == pytest.approx(1, abs=1e-3)
    middle = slice(rate // 4, rate // 2)
    assert float(np.abs(changed.floats()[middle]).max()) == pytest.approx(0.5, abs=0.01)


def test_what_a_lower_rate_cannot_hold_is_left_out_and_not_folded_back():
    assert float(np.abs(tone(hertz=6000).at(8_000).floats()).max()) < 0.01


def test_real_recordings_are_read():
    folder = DATA / "spoken_digits"
    if not folder.is_dir():
        pytest.skip("spoken_digits is not here")
    rows = [json.loads(line) for line in (folder / "transcripts.jsonl").read_text("utf-8").splitlines()]

    for row in rows:
        path = folder / row["file"]
        with wave.open(str(path)) as known:
            read = read_wav(path.read_bytes())
            assert (read.rate, len(read.samples)) == (known.getframerate(), known.getnframes() * 2)
