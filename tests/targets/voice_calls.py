"""Voice lines that are asked with the doubles of the engines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cortex_eval.asking import ask_target
from cortex_eval.core import Case, Reply, TargetError
from cortex_eval.net import Guard, Limits, Line, Patience
from cortex_eval.targets import Conversation, read_wav, targets
from cortex_eval.testing import Answer, ToneListener, ToneSpeaker

DOUBLES = {"speak": "cortex_eval.testing:ToneSpeaker", "hear": "cortex_eval.testing:ToneListener"}
CASE = Case.of("When do you close?", id="1", language="en")


def said(text: str) -> bytes:
    """A WAV in which the double's listener hears this."""
    return ToneSpeaker().speak(text, "en").wav()


def sound(text: str = "At six.", **headers: str) -> Answer:
    return Answer(body=said(text), content_type="audio/wav", headers=headers)


def heard(data: bytes) -> str:
    return ToneListener().hear(read_wav(data)).text


async def ask(url: str, folder: Path, case: Case = CASE, read: Any = None, retries: int = 0, **given: Any) -> Reply:
    target = targets.build("voice", {"api_url": url, "directory": str(folder), **DOUBLES, **given})
    target.connect_by(Guard(), Limits(idle_s=0.3), read)
    line = Line(patience=Patience(retries=retries, retry_delay_s=0.01))
    async with target:
        return await ask_target(line, target, Conversation.at(case, 0, [], session_id="session-1"))


async def failure(url: str, folder: Path, case: Case = CASE, **given: Any) -> TargetError:
    with pytest.raises(TargetError) as caught:
        await ask(url, folder, case, **given)
    return caught.value
