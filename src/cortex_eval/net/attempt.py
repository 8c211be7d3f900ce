"""One attempt at a call: its time limit, and whatever foreign code raises as an error of its case."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, NamedTuple, Protocol, TypeVar

from cortex_eval.core import InputError, StorageError, TargetError, Unavailable, Usage, shorten


class Answer(Protocol):
    """Whatever comes back from a service."""

    @property
    def usage(self) -> Usage | None:
        """What it cost, if that is known."""


T = TypeVar("T", bound=Answer)


class Called(NamedTuple, Generic[T]):
    """An answer, and what it took."""

    answer: T
    attempts: int
    elapsed_ms: float
    """Of the attempt that succeeded."""
    waited_ms: float
    """Before it: for a limit, for a retry, for the service to come back."""


async def attempt_once(attempt: Callable[[], Awaitable[T]], timeout_s: float) -> T:
    """What comes back within the time; `TargetError` for everything that goes wrong with it."""
    try:
        async with asyncio.timeout(timeout_s) as deadline:
            return await attempt()
    except TimeoutError as error:
        told = f"No reply within {timeout_s:g} s (timeout_seconds)."
        if not deadline.expired():  # a limit of its own, which timeout_seconds would not move
            told = f"The target raised {type(error).__name__}: {shorten(str(error))}".removesuffix(": ")
        raise TargetError(told, kind="timeout", transient=True) from error
    except (TargetError, InputError, StorageError, Unavailable):
        raise
    except (Exception, SystemExit, asyncio.CancelledError) as error:  # a plugin's target is foreign code
        if isinstance(error, asyncio.CancelledError) and is_cancelled():
            raise
        raise TargetError(f"The target raised {type(error).__name__}: {shorten(str(error))}", kind="raised") from error


def is_cancelled() -> bool:
    """Whether a CancelledError is meant for the task that it came to, and did not escape from foreign code."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
