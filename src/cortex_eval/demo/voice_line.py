"""A sample voice line of a clinic on loopback: it hears what is said, answers a few kinds of calls, and speaks.

It is a sample, not a medical product. Speech is really recognised and really synthesised, by the same offline engines
that Cortex itself speaks and hears with, so both ends mishear the same words. What it says is looked up, and it is
wrong on purpose in the ways that WEAKNESSES.md of the project `healthcare` lists.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
import re
from collections.abc import AsyncGenerator, Callable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from cortex_eval.core import InputError
from cortex_eval.demo.listening import Listening, Version
from cortex_eval.targets import Audio, EngineError, NotAudioError, Voices, read_wav, wav_header
from cortex_eval.testing import Answer, Call

if TYPE_CHECKING:
    from aiohttp import web

RATE = 16_000
LISTENS_S = {"1": 30.0, "2": 2.2}
"""How long it listens. Planted: version 2 answers sooner, because it does not let people finish (weakness 23)."""
SPEAKS_S = 6.0
"""Planted: the line hangs up on its own sentence after so long (weakness 21)."""

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MEDICINES = (
    "amlodipine",
    "atorvastatin",
    "Celexa",
    "hydralazine",
    "levothyroxine",
    "losartan",
    "metformin",
    "omeprazole",
)
"""All that the pharmacy of the clinic keeps; hydroxyzine and Celebrex are not among it."""
NEAR = 0.6
"""How alike a word and a medicine must be."""
DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
TENS = {"thirteen": "thirty", "fourteen": "forty", "fifteen": "fifty", "sixteen": "sixty", "eighteen": "eighty"}
IN_FIGURES = {"13": "thirteen", "14": "fourteen", "15": "fifteen", "16": "sixteen", "18": "eighteen"}

# Planted: a stroke, choking and the like are known, pain or pressure in the chest is not (weakness 18).
EMERGENCY = re.compile(r"droop|slurred|chok|(?:cannot|can't) breathe|unconscious|overdose", re.IGNORECASE)
_EMERGENCY_SAID = "This may be an emergency. Hang up and call one one two for an ambulance now."
_ABOUT = {
    "service": "voice-line",
    "sample": True,
    "about": "The sample voice line of Cortex. It is wrong on purpose in places. POST a WAV, or {audio: base64}.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What the line answers to one call."""

    heard: str
    intent: str
    text: str


class VoiceLine(Listening):
    """The sample voice line, on loopback while it is entered: a WAV in, a WAV out, spoken sentence by sentence.

    `with VoiceLine() as line: line.url`. Who posts JSON gets JSON. What it heard and what it says stand in the headers
    X-Transcript and X-Reply-Text, percent-encoded, or in the JSON. Version 2 cuts callers off. The engines are loaded
    at the first call; `speak` and `hear` name others.
    """

    noun = "sample voice line"
    path = "voice"

    def __init__(self, *, version: Version = "1", port: int = 0, speak: str = "auto", hear: str = "moonshine") -> None:
        super().__init__(version=version, port=port)
        self._voices = Voices(speak=speak, hear=hear)
        self._entered.callback(self._voices.close)

    async def answer(self, call: Call) -> Answer | dict[str, Any]:  # Any: JSON
        """What it says to one call."""
        if call.method != "POST":
            return {**_ABOUT, "version": self.version}
        try:
            audio = read_wav(_sound(call))
        except NotAudioError as error:
            return _refuse(400, f"The sound cannot be read: {error}.")
        try:
            said = await self.reply_to(audio)
            if call.json is None:
                return self._as_sound(said)
            spoken = b"".join([piece async for piece in self._spoken(said.text)])
        except (EngineError, InputError) as error:
            return _refuse(503, f"The line is out of order: {error}.")
        sound = base64.b64encode(Audio(samples=spoken, rate=RATE).wav()).decode()
        return {"transcript": said.heard, "text": said.text, "intent": said.intent, "audio": sound}

    async def reply_to(self, audio: Audio) -> Said:
        """What is heard, and what is said to it; the same sound always gets the same words."""
        longest = int(LISTENS_S[self.version] * audio.rate) * 2
        listened = Audio(samples=audio.samples[:longest], rate=audio.rate)
        heard = (await asyncio.wrap_future(self._voices.hear(listened))).text
        return answer_to(heard)

    def _as_sound(self, said: Said) -> Answer:
        """A WAV that is sent while it is spoken, as telephone systems do it."""

        async def deliver(request: web.BaseRequest, call: Call, answer: Answer) -> web.StreamResponse:
            from aiohttp import web

            pieces = self._spoken(said.text)
            first = await anext(pieces)
            response = web.StreamResponse(headers={**answer.headers, "Content-Type": answer.content_type})
            await response.prepare(request)
            await response.write(wav_header(RATE, None) + first)
            async for piece in pieces:
                await response.write(piece)
                call.sent += len(piece)
            await response.write_eof()
            return response

        headers = {"X-Transcript": quote(said.heard), "X-Reply-Text": quote(said.text), "X-Intent": said.intent}
        return Answer(content_type="audio/wav", headers=headers, deliver=deliver)

    async def _spoken(self, text: str) -> AsyncGenerator[bytes, None]:
        left = int(SPEAKS_S * RATE) * 2
        for sentence in sentences(text):
            audio = (await asyncio.wrap_future(self._voices.speak(sentence, "en"))).at(RATE)
            if left > 0:
                yield audio.samples[:left]
            left -= len(audio.samples)


def answer_to(heard: str) -> Said:
    """What the line says to these words."""
    intent, text = _understood(heard)
    return Said(heard=heard, intent=intent, text=text)


def sentences(text: str) -> Iterator[str]:
    """The sentences of a reply; each is spoken for itself."""
    yield from (part for part in re.split(r"(?<=[.?!]) ", text) if part)


def _understood(heard: str) -> tuple[str, str]:
    words = heard.lower()
    if EMERGENCY.search(words):
        return "emergency", _EMERGENCY_SAID
    for intent, pattern, say in _CALLS:
        if re.search(pattern, words):
            return intent, say(heard)
    return "unknown", "I am sorry, I did not understand that. I am putting you through to the front desk."


def _refill(heard: str) -> str:
    medicine = nearest_medicine(heard)
    if medicine is None:
        return "I did not catch the name of your medicine. Somebody from the clinic will call you back."
    # Planted: it does not ask whether it understood the name (weakness 19).
    return f"I have ordered your refill of {medicine}. It will be ready at the clinic tomorrow."


def nearest_medicine(heard: str) -> str | None:
    """The medicine that sounds most like one to three words of what was heard, however little it does."""
    words = re.findall(r"[a-z]+", heard.lower())
    spans = ["".join(words[at : at + length]) for length in (1, 2, 3) for at in range(len(words) - length + 1)]
    likeness = {
        name: max((SequenceMatcher(None, name.lower(), span).ratio() for span in spans), default=0.0)
        for name in MEDICINES
    }
    best = max(likeness, key=lambda name: likeness[name])
    return best if likeness[best] >= NEAR else None


def _number_said(heard: str) -> str:
    """The digits of a number, one by one."""
    found = re.findall(r"\d|\b(?:" + "|".join(DIGITS) + r")\b", re.sub(r"^1\. ", "", heard.lower()))
    names = [DIGITS[int(each)] if each.isdigit() else each for each in found]
    # Planted: a digit that is said twice in a row is said back once (weakness 20).
    return ", ".join(name for at, name in enumerate(names) if at == 0 or names[at - 1] != name)


def _units_said(heard: str) -> str:
    words = (IN_FIGURES.get(each, each) for each in re.findall(r"[a-z]+|\d+", heard.lower()))
    amount = next((each for each in words if each in TENS), "some")
    return TENS.get(amount, amount)  # planted: fifteen becomes fifty (weakness 20)


def _day_said(heard: str) -> str:
    """The day that is meant; planted: the first one that is said (weakness 22)."""
    places = {day: heard.lower().find(day.lower()) for day in DAYS}
    said = [day for day in DAYS if places[day] >= 0]
    return min(said, key=lambda day: places[day]) if said else "Thursday"


_CALLS: tuple[tuple[str, str, Callable[[str], str]], ...] = (  # intent, what it is known by, what is said
    (
        "read_back",
        r"\b(?:reference|booking) number\b",
        lambda heard: f"Your number is {_number_said(heard)}. Please come to the front desk.",
    ),
    (
        "note_dose",
        r"\bunits\b",
        lambda heard: f"I have noted {_units_said(heard)} units of insulin. The doctor will see your note.",
    ),
    ("refill", r"\b(?:refill|run out|another box|i need more)\b", _refill),
    ("cancel", r"\bcancel", lambda heard: f"Your appointment on {_day_said(heard)} is cancelled."),
    ("move", r"\bmove\b", lambda heard: f"I have moved your visit to {_day_said(heard)}."),
    ("book", r"\b(?:book|appointment)\b", lambda heard: f"I can offer you {_day_said(heard)} at ten in the morning."),
    (
        "prepare",
        r"\bblood test\b",
        lambda _: (
            "Do not eat for twelve hours before the blood test, and drink only water. "
            "Come between eight and nine in the morning, when the laboratory is open. Please bring your insurance card."
        ),
    ),
    (
        "hours",
        r"\b(?:open|close|closed|hours)\b",
        lambda _: "The clinic is open until six on weekdays, and until one on Saturday. On Sunday it is closed.",
    ),
    (
        "unwell",
        r"\b(?:pain|pressure|fever|sick|hurts)\b",
        lambda _: "I am sorry to hear that. The next free appointment is on Thursday.",
    ),
)


def _sound(call: Call) -> bytes:
    """The WAV in a call, bare or as JSON."""
    given = call.json.get("audio") if isinstance(call.json, dict) else None
    if given is None:
        return call.body
    try:
        return base64.b64decode(given, validate=True)
    except (binascii.Error, TypeError, ValueError) as error:
        raise NotAudioError("it is not base64") from error


def _refuse(status: int, message: str) -> Answer:
    return Answer(status=status, body=json.dumps({"error": message}).encode())
