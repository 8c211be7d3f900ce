"""What sample services share: one address on loopback while they are entered, versions, and faults to put in front."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable
from contextlib import ExitStack
from types import TracebackType
from typing import Any, ClassVar, Literal, Self, get_args

from cortex_eval.core import InputError, did_you_mean
from cortex_eval.testing import Answer, Call, ScriptedService

Spoken = Answer | dict[str, Any]  # Any: JSON
Version = Literal["1", "2"]
"""Of a sample service: 2 is 1 with something changed, for the better or for the worse."""


class Listening(ABC):
    """A sample service, listening on a free port of 127.0.0.1 while it is entered, in a thread of its own.

    Each object is entered once. `service` is the scripted service underneath: it keeps a ledger, and any fault of
    `cortex_eval.testing` can be put in front of `answer`.
    """

    noun: ClassVar[str]
    """What it is called in messages."""
    path: ClassVar[str]
    """Where it is asked."""

    def __init__(self, *, version: Version = "1", port: int = 0) -> None:
        known = get_args(Version)
        if version not in known:
            raise InputError(f"The {self.noun} has no version {version!r}. {did_you_mean(version, known)}")
        self.version: Version = version
        self.service: ScriptedService | None = None
        """None before it is entered."""
        self._port = port
        self._entered = ExitStack()

    @property
    def url(self) -> str:
        """Where questions are posted, such as `http://127.0.0.1:41234/ask`; empty before it is entered."""
        return "" if self.service is None else f"{self.service.url}{self.path}"

    def __enter__(self) -> Self:
        self.service = self._entered.enter_context(ScriptedService.in_thread(self.answer, port=self._port))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of what it holds, also when it was never entered."""
        self._entered.close()

    @abstractmethod
    def answer(self, call: Call) -> Spoken | Awaitable[Spoken]:
        """What it says to one call."""
