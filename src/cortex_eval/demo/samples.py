"""Which service each sample project talks to, which of its suites a demo runs, and faults to put in the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from importlib import import_module
from typing import Protocol

from cortex_eval.testing import Answer, ScriptedService, cut, garbled, hang, one_in, reset, status, too_many_requests

KEY = "demo-key"
"""What the sample services take for a key; they take any word."""
SLOW_S = 2.0


class SampleService(Protocol):
    """A service on loopback, up while it is entered."""

    service: ScriptedService | None
    """What is underneath, and where faults are put in front; None before it is entered."""

    @property
    def url(self) -> str:
        """Where it is asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """How a sample project is shown."""

    service: str = ""
    """`module:class` of its service; empty: its replies are recorded."""
    suites: tuple[str, ...]
    """Suites that a demo runs, one after the other."""
    paths: tuple[str, ...] = ("",)
    """What is to be asked at its address, where that is more than one thing."""
    versions: Mapping[str, str] = field(default_factory=lambda: {"1": "1", "2": "2"})
    """What the service and its list of weaknesses call versions 1 and 2."""
    next_target: str = ""
    """The target that is version 2, where replies are recorded."""
    spoken: tuple[str, ...] = ()
    """Suites that need the speech engines."""

    def start(self, *, version: str = "1", port: int = 0) -> AbstractContextManager[SampleService | None]:
        """The service, up while this is entered; None for a project that needs none."""
        if not self.service:
            return nullcontext()
        module, _, name = self.service.partition(":")
        make: Callable[..., AbstractContextManager[SampleService]] = getattr(
            import_module(f"cortex_eval.demo.{module}"), name
        )
        return make(version=self.versions[version], port=port)

    def missing_for(self, suite: str) -> str:
        """Why a suite cannot be run here; empty when it can."""
        from cortex_eval.targets import speech_missing

        return speech_missing() if suite in self.spoken else ""


_CHATBOT_VERSIONS = {"1": "1.0", "2": "1.1"}
SAMPLES: dict[str, Sample] = {
    "adversarial": Sample(service="service:HealthChatbot", suites=("adversarial",), versions=_CHATBOT_VERSIONS),
    "ayurveda": Sample(suites=("ayurveda",), next_target="ayurmind_2"),
    "bioagent": Sample(service="bioagent:BioAgent", suites=("bioagent",)),
    "health": Sample(service="service:HealthChatbot", suites=("health",), versions=_CHATBOT_VERSIONS),
    "healthcare": Sample(
        service="healthcare:HealthcareServices",
        suites=("chatbot", "rag", "translation", "voice"),
        paths=("/chat", "/rag", "/translate", "/voice"),
        spoken=("voice",),
    ),
    "support-agent": Sample(service="support:SupportAgent", suites=("support", "tickets")),
}
"""Every project that has a demo."""

FAULTS: dict[str, str] = {
    "slow": f"every answer comes {SLOW_S:g} s late",
    "busy": "one call in three: 429, come back in a second",
    "broken": "one call in three: 500",
    "down": "every call: 503",
    "torn": "one call in three: the connection is torn",
    "half": "one call in three: half an answer",
    "garbled": "one call in three: bytes that are no text",
    "silent": "one call in five is never answered",
}
"""What can be put in front of a sample service, and what it does."""

_FAULTY: dict[str, tuple[int, Answer]] = {
    "busy": (3, too_many_requests(retry_after_s=1)),
    "broken": (3, status(500)),
    "torn": (3, reset()),
    "half": (3, cut(9, {"text": "Half an answer"})),
    "garbled": (3, garbled()),
    "silent": (5, hang()),
}
"""Every how many calls, and what is said to them."""


def put_fault(sample: SampleService, fault: str) -> None:
    """Put one of `FAULTS` in front of a service that is up."""
    service = sample.service
    assert service is not None, "a fault is put in front of a service that is up"
    answer = service.reply
    if fault == "slow":
        service.latency_s = SLOW_S
        return
    if fault == "down":
        service.reply = status(503)
        return
    often, said = _FAULTY[fault]
    service.reply = one_in(often, said, otherwise=answer)
