"""From what a project file says of a model to the model itself."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from cortex_eval.core import InputError, Secret, did_you_mean, shorten
from cortex_eval.llm.anthropic import AnthropicModel
from cortex_eval.llm.base import Model
from cortex_eval.llm.gemini import GeminiModel
from cortex_eval.llm.local import LocalModel
from cortex_eval.llm.openai import OpenAIModel
from cortex_eval.llm.prices import Prices
from cortex_eval.llm.service import PROVIDERS, Service, find_service

LOCAL = "local"
SERVERS = {
    "ollama": "http://127.0.0.1:11434/v1",
    "vllm": "http://127.0.0.1:8000/v1",
    "lmstudio": "http://127.0.0.1:1234/v1",
    "llamacpp": "http://127.0.0.1:8080/v1",
}
"""Servers that people take for providers, and where they listen unless told otherwise; all speak as OpenAI does."""
FORMS = "openai:NAME, anthropic:NAME, gemini:NAME, local:FILE.gguf, or any NAME with a base_url"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """A model as people name it."""

    model: str
    """`openai:gpt-4.1-mini`, `anthropic:…`, `gemini:…`, `local:path.gguf`; a plain name belongs to a base_url."""
    base_url: str | None = None
    """Of another server than the provider's own; one on this machine needs no key."""
    api_key: Secret | None = None
    """None: from the provider's usual variable, and only when the provider's own host is called."""
    prices: Prices | None = None
    """None: of the table that comes with Cortex, when the provider's own host is called."""
    stream: bool = False
    directory: str = "."
    """Where the path of a local model begins."""


def make_model(settings: ModelSettings) -> Model:
    """The model, not yet opened; `InputError` for whatever would keep it from being asked."""
    provider, name = _parse(settings)
    if provider == LOCAL:
        path = Path(settings.directory) / Path(name).expanduser()
        return LocalModel(path, is_streaming=settings.stream, prices=settings.prices)
    service = _service(provider, name, settings)
    if provider == "anthropic":
        return AnthropicModel(service)
    return GeminiModel(service) if provider == "gemini" else OpenAIModel(service)


def prices_of(settings: ModelSettings) -> Prices | None:
    """What its tokens cost, as far as that is known before anything is called; None: it is not."""
    provider, name = _parse(settings)
    return settings.prices if provider == LOCAL else _service(provider, name, settings).price_of(None)


def _service(provider: str, name: str, settings: ModelSettings) -> Service:
    return find_service(
        provider,
        name,
        base_url=settings.base_url,
        key=settings.api_key,
        is_streaming=settings.stream,
        prices=settings.prices,
    )


def _parse(settings: ModelSettings) -> tuple[str, str]:
    prefix, has_prefix, name = settings.model.partition(":")
    known = (*PROVIDERS, LOCAL)
    if prefix in known and (has_prefix or settings.base_url is None):  # a server may call its model just `local`
        if not name.strip():
            raise InputError(f"model: {settings.model!r} names no model. Write {FORMS}.")
        if prefix == LOCAL and settings.base_url is not None:
            raise InputError("base_url: a local model runs in this process and has none.")
        return prefix, name.strip()
    if not settings.model.strip():
        raise InputError(f"model: is empty. Write {FORMS}.")
    if settings.base_url is None:  # names such as qwen2.5:0.5b have a colon of their own
        raise InputError(f"model: {settings.model!r} does not say whose model it is. {_remedy(prefix, name)}")
    return "openai", settings.model.strip()


def _remedy(prefix: str, name: str) -> str:
    """What to write in place of a model that nobody is known to have."""
    server = re.sub(r"[^a-z]", "", prefix.lower())
    if name and server in SERVERS:
        entry = f'{{model: "{shorten(name.strip(), 80)}", base_url: "{SERVERS[server]}"}}'
        return f"A server of your own has an address: write {entry}. For a judge that is an entry under models:."
    return did_you_mean(prefix, (*PROVIDERS, LOCAL)) if name else f"Write {FORMS}."
