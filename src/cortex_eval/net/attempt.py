"""One attempt at a call: its time limit, and whatever foreign code raises as an error of its case."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, NamedTuple, Protocol, TypeVar

from cortex_eval.core import InputError, StorageError, TargetError, Unavailable, Usage, place_of, shorten
from cortex_eval.net.deadlines import Deadlines

MOST_SAID = 24
"""Letters of what a service said that fit a line beside the rest."""


class Answer(Protocol):
    """Whatever comes back from a service."""

    @property
    def usage(self) -> Usage | None:
        """What it cost, if that is known."""


T = TypeVar("T", bound=Answer)
Made = TypeVar("Made")


class Called(NamedTuple, Generic[T]):
    """An answer, and what it took."""

    answer: T
    attempts: int
    elapsed_ms: float
    """Of the attempt that succeeded."""
    waited_ms: float
    """Before it: for a limit, for a retry, for the service to come back."""


async def attempt_once(attempt: Callable[[], Awaitable[T]], limit: Deadlines) -> T:
    """What comes back within the time; `TargetError` for everything that goes wrong with it."""
    deadline = limit.begin()
    try:
        return await attempt()
    except (TargetError, InputError, StorageError, Unavailable):
        raise
    except asyncio.CancelledError as error:
        if limit.end(deadline):
            told = f"No reply within {limit.after_s:g} s (timeout_seconds)."
            raise TargetError(told, kind="timeout", transient=True) from error
        if is_cancelled():
            raise
        raise _raised(error) from error
    except (Exception, SystemExit) as error:  # a plugin's target is foreign code
        raise _raised(error) from error
    finally:
        limit.end(deadline)


async def foreign_step(step: Callable[[], Awaitable[Made]]) -> Made:
    """What a plugin's target makes before or after the call; `TargetError` for whatever it raises. It has no limit."""
    try:
        return await step()
    except (TargetError, InputError, StorageError, Unavailable):
        raise
    except asyncio.CancelledError as error:
        if is_cancelled():
            raise
        raise _raised(error) from error
    except (Exception, SystemExit) as error:  # foreign code
        raise _raised(error) from error


def _raised(error: BaseException) -> TargetError:
    """A time limit of its own is one that timeout_seconds would not move."""
    told = f"The target raised {type(error).__name__}: {shorten(str(error))}"
    if isinstance(error, TimeoutError):
        return TargetError(told.removesuffix(": "), kind="timeout", transient=True)
    place = place_of(error)
    return TargetError(f"{told} ({place})" if place else told, kind="raised")


def is_cancelled() -> bool:
    """Whether a CancelledError is meant for the task that it came to, and did not escape from foreign code."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def brief(note: str) -> str:
    """The first sentence of an error, and the beginning of what the service said: it has to fit a line."""
    first, _, said = note.partition(". It said: ")
    return first.partition(". ")[0].rstrip(".") + (f": {shorten(said[1:-1], MOST_SAID)}" if said[1:-1] else "")
