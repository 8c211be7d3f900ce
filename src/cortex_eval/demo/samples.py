"""Which sample service each sample project talks to, and which of its suites a demo runs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol


class SampleService(Protocol):
    """A service on loopback, up while it is entered."""

    url: str
    """Where it is asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """How a sample project is shown."""

    service: str = ""
    """`module:class` of its service; empty: its replies are recorded."""
    suites: tuple[str | None, ...] = (None,)
    """Suites that a demo runs, one after the other; None: the only one there is."""

    def start(self) -> AbstractContextManager[SampleService | None]:
        """The service, up while this is entered; None for a project that needs none."""
        if not self.service:
            return nullcontext()
        module, _, name = self.service.partition(":")
        make: Callable[[], AbstractContextManager[SampleService]] = getattr(
            import_module(f"cortex_eval.demo.{module}"), name
        )
        return make()


SAMPLES: dict[str, Sample] = {
    "adversarial": Sample(service="service:HealthChatbot"),
    "ayurveda": Sample(),
    "bioagent": Sample(service="bioagent:BioAgent"),
    "health": Sample(service="service:HealthChatbot"),
    "support-agent": Sample(service="support:SupportAgent", suites=("support", "tickets")),
}
"""Every project that has a demo."""
