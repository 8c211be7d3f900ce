"""Unit testing for soft logic: an evaluation engine for conversational AI."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cortex_eval.analysis import Report
    from cortex_eval.api import evaluate, evaluate_async
    from cortex_eval.core import (
        Case,
        CortexError,
        Expected,
        InputError,
        JudgeError,
        Reply,
        Score,
        StorageError,
        TargetError,
        Turn,
        __version__,
        changed,
    )
    from cortex_eval.scoring import scorer, scorers
    from cortex_eval.targets import Conversation, Target

__all__ = [
    "Case",
    "Conversation",
    "CortexError",
    "Expected",
    "InputError",
    "JudgeError",
    "Reply",
    "Report",
    "Score",
    "StorageError",
    "Target",
    "TargetError",
    "Turn",
    "__version__",
    "changed",
    "evaluate",
    "evaluate_async",
    "scorer",
    "scorers",
]

_HOMES = {
    "Conversation": "targets",
    "Report": "analysis",
    "Target": "targets",
    "evaluate": "api",
    "evaluate_async": "api",
    "scorer": "scoring",
    "scorers": "scoring",
}
"""Everything else is in `core`. Names are imported when first used, so that `import cortex_eval` costs little."""


def __getattr__(name: str) -> Any:  # Any: whichever public name is asked for
    if name not in __all__:
        raise AttributeError(f"module 'cortex_eval' has no attribute {name!r}")
    value = getattr(import_module(f"cortex_eval.{_HOMES.get(name, 'core')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
