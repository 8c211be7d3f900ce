"""Systems under test, and how a conversation is played against them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from cortex_eval.targets.base import Conversation, Target, targets
from cortex_eval.targets.conversation import ask_target, cache_key, conversation_at, session_of
from cortex_eval.targets.local import PythonTarget

if TYPE_CHECKING:
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


def __getattr__(name: str) -> Any:  # Any: whichever name is asked for; speech costs what few projects need
    if name not in __all__:
        raise AttributeError(f"module 'cortex_eval.targets' has no attribute {name!r}")
    return getattr(import_module("cortex_eval.targets.speech"), name)
