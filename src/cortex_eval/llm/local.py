"""A model from a GGUF file, run in this process behind an OpenAI-compatible server on loopback."""

from __future__ import annotations

import asyncio
import os
import secrets
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from cortex_eval.core import InputError, Secret
from cortex_eval.llm.base import Asked, Completion, Model
from cortex_eval.llm.openai import OpenAIModel
from cortex_eval.llm.prices import Prices
from cortex_eval.llm.service import Service
from cortex_eval.net import Guard, Limits

CONTEXT = 4096
"""Tokens of a conversation and its answer."""


class LocalModel(Model):
    """One GGUF file; it is loaded when the model is opened, and let go when it is closed."""

    def __init__(self, path: Path, *, is_streaming: bool = False, prices: Prices | None = None) -> None:
        super().__init__()
        if find_spec("xllamacpp") is None:
            raise InputError("model: a local model needs the extra local-llm: pip install 'cortex-eval[local-llm]'.")
        if not path.is_file():
            raise InputError(f"model: there is no file {path}. Name a GGUF file: local:models/some-model.gguf.")
        self.path = path
        self.name, self.host, self.is_streaming = path.stem, "", is_streaming
        self._prices = prices
        self._server: Any = None  # Any: xllamacpp has no types
        self._inner: OpenAIModel | None = None

    def open(self, guard: Guard, limits: Limits | None = None) -> None:
        """Load the file and listen on a free port of 127.0.0.1. This takes its time: call it in a thread."""
        import xllamacpp

        key = Secret(secrets.token_urlsafe(24))  # nobody else on this machine is to use it
        settings = xllamacpp.CommonParams()
        settings.model.path = str(self.path)
        settings.model_alias = {self.name}  # what it calls itself; otherwise its whole path
        settings.hostnames = ["127.0.0.1"]
        settings.port = 0
        settings.api_keys = [key.reveal()]
        settings.n_ctx = CONTEXT
        settings.cpuparams.n_threads = max(1, (os.cpu_count() or 2) - 1)
        settings.verbosity = 0
        try:
            self._server = xllamacpp.Server(settings)
        except RuntimeError as error:
            raise InputError(f"model: {self.path} could not be loaded. Is it a GGUF file, and whole?") from error
        service = Service(
            provider="openai",
            model=self.name,
            base_url=f"{self._server.listening_address}/v1",
            key=key,
            is_streaming=self.is_streaming,
            prices=self._prices,
        )
        self._inner = OpenAIModel(service)
        self._inner.read_attachment = self.read_attachment
        self._inner.open(guard, limits)

    async def close(self) -> None:
        """Stop the server and free its memory."""
        inner, self._inner = self._inner, None
        if inner is not None:
            await inner.close()
        await asyncio.to_thread(self._stop)

    def _stop(self) -> None:
        self._server = None  # the last reference: the server stops when it is collected

    async def complete(self, asked: Asked, *, idempotency_key: str = "") -> Completion:
        """The model's answer; `TargetError` when there is none."""
        assert self._inner is not None, "a model is opened before it is asked"
        return await self._inner.complete(asked, idempotency_key=idempotency_key)
