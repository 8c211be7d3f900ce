"""What speaks and what hears: the two protocols, and how an engine that a project names is found, loaded and called."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from cortex_eval.core import CortexError, InputError, TargetError, did_you_mean, shorten
from cortex_eval.targets.speech.wave import Audio

T = TypeVar("T")
E = TypeVar("E")
HOW_TO_INSTALL = "pip install 'cortex-eval[voice]'"
NONE = "none"
"""The engine of somebody who needs none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """What was heard."""

    text: str
    confidence: float | None = None
    """0..1, if the engine tells."""


@runtime_checkable
class Speaker(Protocol):
    """Text to speech. It may block: it is called from a thread of its own, one call at a time."""

    def speak(self, text: str, language: str) -> Audio:
        """The text said aloud; the same text always gives the same sound. A language is a code such as `en`."""


@runtime_checkable
class Listener(Protocol):
    """Speech to text. It may block, like a speaker."""

    def hear(self, audio: Audio) -> Transcript:
        """What is said in this sound, at whatever rate it comes; silence is an empty text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine(Generic[E]):
    """An engine that ships with Cortex: how to make it, and whether that would work here."""

    make: Callable[[str], E]
    """Takes the name of a voice; empty: its own."""
    missing: Callable[[str], str]
    """What is not installed for this voice, with the command that mends it; empty when all is there."""
    packages: tuple[str, ...] = ()
    """Whose versions decide how it sounds, or what it hears."""


class EngineError(CortexError):
    """An engine could not do its work, which is not the fault of the service."""


def chosen(engines: Mapping[str, Engine[Any]], name: str, voice: str = "") -> str:  # Any: speakers or listeners
    """The engine that `auto` stands for here: the first that is there, else the first; other names stay."""
    if name != "auto":
        return name
    return next((each for each, engine in engines.items() if not engine.missing(voice)), next(iter(engines)))


def check_name(engines: Mapping[str, Engine[Any]], name: str, *, setting: str) -> None:  # Any: as above
    """Raise InputError unless this names an engine, `auto`, `none` or a class of the user's."""
    known = ["auto", *engines, NONE]
    if name not in known and ":" not in name:
        raise InputError(f"{setting}: there is no engine {name!r}. {did_you_mean(name, known)} Or name a module:Class.")


class Booth(Generic[E]):
    """One engine with a thread of its own: made at the first call, one call at a time, never on the event loop."""

    def __init__(self, make: Callable[[], E], *, name: str) -> None:
        self.name = name
        self._make = make
        self._engine: E | None = None
        self._thread: ThreadPoolExecutor | None = None
        self._opening = threading.Lock()

    def call(self, work: Callable[[E], T]) -> Future[T]:
        """The result of this work with the engine, sooner or later; an `EngineError` says why there is none."""
        with self._opening:
            if self._thread is None:
                self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"speech-{self.name}")
            return self._thread.submit(self._work, work)

    def _work(self, work: Callable[[E], T]) -> T:
        try:
            if self._engine is None:
                self._engine = self._make()
            return work(self._engine)
        except CortexError:
            raise
        except Exception as error:  # an engine is foreign code
            said = shorten(f"{type(error).__name__}: {error}")
            raise EngineError(f"the speech engine {self.name} failed: {said}") from error

    def close(self) -> None:
        """Let the engine go, after what it is at; it is made anew when it is called again."""
        with self._opening:
            thread, self._thread = self._thread, None
        if thread is None:
            return
        thread.submit(self._drop).result()
        thread.shutdown()

    def _drop(self) -> None:
        engine, self._engine = self._engine, None
        if engine is not None and callable(close := getattr(engine, "close", None)):
            close()


def engine_trouble(error: EngineError) -> TargetError:
    """The same, as what becomes of a case: there is no reply that could be scored."""
    return TargetError(f"{str(error)[:1].upper()}{str(error)[1:]}. The service is not to blame.", kind="engine")
