"""The front of a large room: its names are imported when they are first used, so that a command loads what it needs."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any


def first_use(room: str, homes: Mapping[str, str], name: str) -> Any:  # Any: whichever name is asked for
    """The name, from the file that `homes` gives for it; from then on the room has it."""
    if name not in homes:
        raise AttributeError(f"module {room!r} has no attribute {name!r}")
    value = getattr(import_module(f"{room}.{homes[name]}"), name)
    setattr(sys.modules[room], name, value)
    return value
