"""Systems under test, and how a conversation is played against them."""

from typing import TYPE_CHECKING, Any

from cortex_eval.core import first_use

if TYPE_CHECKING:
    from cortex_eval.targets.base import Target, targets
    from cortex_eval.targets.conversation import Conversation
    from cortex_eval.targets.local import PythonTarget
    from cortex_eval.targets.recorded import RecordedTarget
    from cortex_eval.targets.replies import reply_from_returned
    from cortex_eval.targets.speech import (
        Audio,
        EngineError,
        Listener,
        NotAudioError,
        Speaker,
        Transcript,
        Voices,
        open_voices,
        read_wav,
        speech_missing,
        wav_header,
    )

__all__ = [
    "Audio",
    "Conversation",
    "EngineError",
    "Listener",
    "NotAudioError",
    "PythonTarget",
    "RecordedTarget",
    "Speaker",
    "Target",
    "Transcript",
    "Voices",
    "open_voices",
    "read_wav",
    "reply_from_returned",
    "speech_missing",
    "targets",
    "wav_header",
]

_HOMES = {
    "Audio": "speech",
    "Conversation": "conversation",
    "EngineError": "speech",
    "Listener": "speech",
    "NotAudioError": "speech",
    "PythonTarget": "local",
    "RecordedTarget": "recorded",
    "Speaker": "speech",
    "Target": "base",
    "Transcript": "speech",
    "Voices": "speech",
    "open_voices": "speech",
    "read_wav": "speech",
    "reply_from_returned": "replies",
    "speech_missing": "speech",
    "targets": "base",
    "wav_header": "speech",
}
"""The file of each name: it is imported when the name is first used."""


def __getattr__(name: str) -> Any:  # Any: whichever name is asked for
    return first_use(__name__, _HOMES, name)
