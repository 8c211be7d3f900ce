"""Systems under test, and how a conversation is played against them."""

from cortex_eval.targets.base import Conversation, Target, targets
from cortex_eval.targets.conversation import ask_target, cache_key, conversation_at, session_of
from cortex_eval.targets.local import PythonTarget

__all__ = [
    "Conversation",
    "PythonTarget",
    "Target",
    "ask_target",
    "cache_key",
    "conversation_at",
    "session_of",
    "targets",
]
