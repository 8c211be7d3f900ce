"""Waiting out what passes by itself: a full disk, a locked file, a database that is away for a while."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from cortex_eval.core import StorageError

T = TypeVar("T")
PATIENCE_S = 600.0
FIRST_DELAY_S = 0.02
LONGEST_DELAY_S = 1.0
ADVICE = {
    "storage_full": "Free some space there; what was stored before is untouched, and the run can be resumed.",
    "database_down": "Check that it is up and can be reached from here; what was stored before is untouched, and the "
    "run can be resumed.",
    "locked": "Another process has held it for too long; end that one. The run can be resumed.",
}


class Passing(NamedTuple):
    """A failure that may pass by itself."""

    kind: str
    """storage_full, database_down or locked"""
    text: str
    """What is wrong and where, for people."""

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


class LostLease(StorageError):  # noqa: N818  # it is what happened
    """The run belongs to another process now; what this one wanted to write was not written."""

    def __init__(self, message: str) -> None:
        super().__init__(message, kind="lost_lease")


Judge = Callable[[Exception], "Passing | StorageError | None"]
"""Says of a failure that it passes, how it is to be told, or (None) that it is none of the database's."""


class Trouble:
    """What a store waits for right now, and how long it may; every thread of the store waits here."""

    def __init__(self) -> None:
        self.patience_s = PATIENCE_S
        """How long one step may be tried again; 0: it fails at once."""
        self._waiting: dict[int, Passing] = {}
        self._is_over = threading.Event()

    @property
    def text(self) -> str:
        """What is waited for, or ''."""
        return next((str(passing) for passing in tuple(self._waiting.values())), "")

    def give_up(self) -> None:
        """From now on nothing is waited for; whoever waits is told that it failed."""
        self._is_over.set()

    def through(self, step: Callable[[], T], judge: Judge) -> T:
        """Do a step, again and again while what stops it may pass; raises StorageError when it does not."""
        delay_s, started = FIRST_DELAY_S, time.monotonic()
        me = threading.get_ident()
        try:
            while True:
                try:
                    return step()
                except Exception as error:  # judged on the next line, and raised when it is not the database's
                    found = judge(error)
                    if found is None:
                        raise
                    if isinstance(found, StorageError):
                        raise found from error
                    if self._is_over.is_set() or time.monotonic() - started >= self.patience_s:
                        raise _given_up(found) from error
                    self._waiting[me] = found
                self._is_over.wait(delay_s)
                delay_s = min(delay_s * 2, LONGEST_DELAY_S)
        finally:
            self._waiting.pop(me, None)


def _given_up(passing: Passing) -> StorageError:
    text = passing.text if "://" in passing.text.partition(" ")[0] else passing.text[:1].upper() + passing.text[1:]
    return StorageError(f"{text}. {ADVICE[passing.kind]}", kind=passing.kind)
