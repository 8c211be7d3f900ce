"""The seam for targets: what a target is, and the door that they come in by."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any, ClassVar, Self

from cortex_eval.core import Attachment, Registry, Reply
from cortex_eval.net import Guard, JsonClient, Limits
from cortex_eval.targets.conversation import Conversation


class Target(ABC):
    """A system under test. Retries, limits, timing and the order of turns are not its business.

    A subclass is a dataclass whose fields are its settings. It is entered once before the first call and left after
    the last one, so that connections can be kept.
    """

    kind: ClassVar[str] = ""
    is_remote: ClassVar[bool] = False
    """Its replies may be cached, if the service states a version."""
    takes_time: ClassVar[bool] = True
    """The time of a call is the time of the reply; False: the reply states its own, or it is not known."""

    is_foreign: ClassVar[bool] = False
    """Its code is somebody else's: what it answers is checked before it is kept."""

    _guard: Guard | None = None
    _limits: Limits | None = None
    _client: JsonClient | None = None
    _warming: asyncio.Future[ModuleType] | None = None
    _read_attachment: Callable[[Attachment], bytes] | None = None

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.is_foreign = not cls.__module__.startswith("cortex_eval.")

    @property
    def fingerprint(self) -> str:
        """Changes with what decides its replies and is not among its settings, such as the content of a file."""
        return ""

    async def __aenter__(self) -> Self:
        if self.is_remote:  # a tenth of a second that is free while the dataset is read
            self._warming = asyncio.get_running_loop().run_in_executor(None, import_module, "aiohttp")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._warming is not None:
            await self._warming
            self._warming = None
        if self._client is not None:
            await self._client.close()
            self._client = None

    def connect_by(
        self,
        guard: Guard,
        limits: Limits | None = None,
        read_attachment: Callable[[Attachment], bytes] | None = None,
    ) -> None:
        """Say, before it is entered, whom it may call, within which limits, and where its cases' attachments lie."""
        self._guard, self._limits, self._read_attachment = guard, limits, read_attachment

    def asked_from(self, dataset: Path) -> None:  # noqa: B027  # for those who need it
        """Say which file its cases come from, before it is entered; not said where Python hands them over."""

    async def post(self, url: str, body: object, *, headers: Mapping[str, str] | None = None) -> Any:
        """JSON in, JSON out; `TargetError` for everything else."""
        return await self._open_client().post(url, body, headers=headers)

    def _open_client(self) -> JsonClient:
        if self._client is None:
            self._client = JsonClient(self._guard, self._limits)
        return self._client

    async def prepare(self, turns: Conversation) -> Conversation:
        """What `ask` will get, made ready for it; the time that this takes is not the service's."""
        if self._warming is not None and not self._warming.done():
            await asyncio.wait([self._warming])
        return turns

    async def complete(self, turns: Conversation, reply: Reply) -> Reply:  # noqa: ARG002  # for those who need it
        """What becomes of the reply after the call; the time that it takes is not the service's either."""
        return reply

    def remarks(self) -> list[str]:
        """What its answers showed to be worth telling about its settings, one line each; after a run."""
        return []

    @abstractmethod
    async def ask(self, turns: Conversation) -> Reply:
        """The reply to the last turn; `TargetError` when there is none."""


targets: Registry[Target] = Registry(
    "kind of target",
    {
        "agent": "cortex_eval.targets.agent",
        "chat": "cortex_eval.targets.chat",
        "chatbot": "cortex_eval.targets.http",
        "command": "cortex_eval.targets.command",
        "http": "cortex_eval.targets.http",
        "python": "cortex_eval.targets.local",
        "rag": "cortex_eval.targets.rag",
        "recorded": "cortex_eval.targets.recorded",
        "translation": "cortex_eval.targets.translation",
        "voice": "cortex_eval.targets.voice",
    },
)
