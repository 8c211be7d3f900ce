"""A scripted service on loopback and a model that is opened on it, for each provider."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import pytest
from talking import OpenTalk, Talk

from cortex_eval.core import Secret
from cortex_eval.llm import ModelSettings, make_model
from cortex_eval.net import Guard
from cortex_eval.testing import ScriptedService


@pytest.fixture
async def talk() -> AsyncIterator[OpenTalk]:
    """`model, service = await talk("openai", reply, stream=True)`: the reply is a behaviour or an answer."""
    async with AsyncExitStack() as stack:

        async def open_talk(provider: str, reply: Any, *, key: str | None = None, **settings: Any) -> Talk:
            service = await stack.enter_async_context(ScriptedService(reply))
            name = settings.pop("name", "model-1")
            model = make_model(
                ModelSettings(
                    model=f"{provider}:{name}",
                    base_url=settings.pop("base_url", service.url),
                    api_key=Secret(key) if key else None,
                    **settings,
                )
            )
            model.open(Guard())
            stack.push_async_callback(model.close)
            return Talk(model, service)

        yield open_talk
