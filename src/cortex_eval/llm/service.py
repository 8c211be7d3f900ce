"""Where a model is asked: its address, its key and its prices, settled before anything is called."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import urlsplit, urlunsplit

from cortex_eval.core import InputError, Secret
from cortex_eval.llm.prices import Prices, price_of
from cortex_eval.net import check_url, host_of


class Provider(NamedTuple):
    """A service with an address of its own."""

    url: str
    path: str
    """Added to a `base_url` that has none."""
    ending: str
    """What people copy along with the address, and is ours to add."""
    variables: tuple[str, ...]
    """Where its key usually is."""


PROVIDERS = {
    "openai": Provider("https://api.openai.com/v1", "/v1", "/chat/completions", ("OPENAI_API_KEY",)),
    "anthropic": Provider("https://api.anthropic.com/v1", "/v1", "/messages", ("ANTHROPIC_API_KEY",)),
    "gemini": Provider(
        "https://generativelanguage.googleapis.com/v1beta", "/v1beta", "", ("GEMINI_API_KEY", "GOOGLE_API_KEY")
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """Who is asked, and what it takes."""

    provider: str
    model: str
    base_url: str
    """Without a slash at its end."""
    key: Secret | None = None
    is_streaming: bool = False
    is_own: bool = False
    """It is the provider's own host, with its list prices and its newest fields."""
    prices: Prices | None = None

    @property
    def host(self) -> str:
        """Whom it calls."""
        return urlsplit(self.base_url).hostname or ""

    def price_of(self, answered: str | None) -> Prices | None:
        """The prices of the model that answered; without settings only those of the provider's own host are known."""
        if self.prices is not None:
            return self.prices
        return price_of(self.provider, answered or self.model) if self.is_own else None


def find_service(
    provider: str,
    model: str,
    *,
    base_url: str | None = None,
    key: Secret | None = None,
    is_streaming: bool = False,
    prices: Prices | None = None,
) -> Service:
    """The service with its address and key; `InputError` when a key is needed and there is none."""
    known = PROVIDERS[provider]
    url = known.url if base_url is None else _address(base_url, known)
    is_own = _origin(url) == _origin(known.url)
    if key is None and is_own:
        key = _usual_key(provider, known)
    return Service(
        provider=provider,
        model=model,
        base_url=url,
        key=key,
        is_streaming=is_streaming,
        is_own=is_own,
        prices=prices,
    )


def _address(base_url: str, known: Provider) -> str:
    check_url(base_url, field="base_url")
    parts = urlsplit(base_url)
    if parts.query or parts.fragment:
        raise InputError("base_url must end with its path: a query is not sent on. A key goes under api_key.")
    path = parts.path.rstrip("/").removesuffix(known.ending) or known.path
    return urlunsplit((parts.scheme, parts.netloc, path, "", ""))


def _origin(url: str) -> tuple[str, str]:
    return urlsplit(url).scheme, host_of(url).lower().rstrip(".")


def _usual_key(provider: str, known: Provider) -> Secret:
    """The key from the environment; it is looked for only when the provider itself is called."""
    for name in known.variables:
        value = os.environ.get(name, "").strip()
        if any(each.isspace() or not each.isprintable() for each in value):
            raise InputError(f"api_key: {name} contains whitespace. It is not shown here.")
        if value:
            return Secret(value)
    names = " or ".join(known.variables)
    raise InputError(f"api_key: {provider} needs a key. Set {names}, or name another variable: api_key: ${{VARIABLE}}.")
