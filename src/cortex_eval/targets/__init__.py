"""Systems under test, and how a conversation is played against them."""

from typing import TYPE_CHECKING, Any

from cortex_eval.core import first_use

if TYPE_CHECKING:
    from cortex_eval.targets.base import Conversation, Target, targets
    from cortex_eval.targets.conversation import ask_target, cache_key, conversation_at, session_of
    from cortex_eval.targets.local import PythonTarget
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
    "Speaker",
    "Target",
    "Transcript",
    "Voices",
    "ask_target",
    "cache_key",
    "conversation_at",
    "open_voices",
    "read_wav",
    "session_of",
    "speech_missing",
    "targets",
    "wav_header",
]

_HOMES = {
    "Audio": "speech",
    "Conversation": "base",
    "EngineError": "speech",
    "Listener": "speech",
    "NotAudioError": "speech",
    "PythonTarget": "local",
    "Speaker": "speech",
    "Target": "base",
    "Transcript": "speech",
    "Voices": "speech",
    "ask_target": "conversation",
    "cache_key": "conversation",
    "conversation_at": "conversation",
    "open_voices": "speech",
    "read_wav": "speech",
    "session_of": "conversation",
    "speech_missing": "speech",
    "targets": "base",
    "wav_header": "speech",
}
"""The file of each name: it is imported when the name is first used."""


def __getattr__(name: str) -> Any:  # Any: whichever name is asked for
    return first_use(__name__, _HOMES, name)
