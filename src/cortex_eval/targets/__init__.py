"""Systems under test, and how a conversation is played against them."""

from cortex_eval.targets.base import Conversation, Target, targets
from cortex_eval.targets.client import JsonClient, check_url
from cortex_eval.targets.conversation import cache_key, conversation_at, session_of
from cortex_eval.targets.local import PythonTarget
from cortex_eval.targets.patience import Patience

__all__ = [
    "Conversation",
    "JsonClient",
    "Patience",
    "PythonTarget",
    "Target",
    "cache_key",
    "check_url",
    "conversation_at",
    "session_of",
    "targets",
]
