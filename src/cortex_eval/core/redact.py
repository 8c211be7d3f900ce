"""Secrets: held in a type that does not show them, and taken out of every text that leaves."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote, quote_plus

MASK = "***"
SHORTEST_SECRET = 4
"""Shorter values would blank out ordinary words."""


class Secret:
    """A value that never prints itself; `reveal()` is the only way to it."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value
        _known.add(self)

    def reveal(self) -> str:
        """The value, for the one call that needs it."""
        return self._value

    def __str__(self) -> str:
        return MASK

    def __repr__(self) -> str:
        return MASK

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)


class _KnownSecrets:
    """Every secret of this process with its encoded forms, longest first."""

    def __init__(self) -> None:
        self.forms: tuple[str, ...] = ()

    def add(self, secret: Secret) -> None:
        value = secret.reveal()
        if len(value) < SHORTEST_SECRET:
            return
        forms = {value, quote(value, safe=""), quote_plus(value), json.dumps(value)[1:-1], _json_ascii(value)}
        raw = value.encode()
        forms |= {base64.b64encode(raw).decode().rstrip("="), base64.urlsafe_b64encode(raw).decode().rstrip("=")}
        forms |= {raw.hex(), f"Bearer {value}"}
        self.forms = tuple(sorted({*self.forms, *forms}, key=len, reverse=True))


_known = _KnownSecrets()


def redact(text: str) -> str:
    """The text with every known secret masked, also when URL-, base64-, hex- or JSON-escaped."""
    for form in _known.forms:
        if form in text:
            text = text.replace(form, MASK)
    return text


def redact_bytes(data: bytes) -> bytes:
    """Like `redact`, for JSON on its way to the store."""
    for form in _known.forms:
        encoded = form.encode()
        if encoded in data:
            data = data.replace(encoded, MASK.encode())
    return data


def shorten(text: str, width: int = 200) -> str:
    """A quotation fit for an error message: redacted first, then cut."""
    text = redact(text)
    return text if len(text) <= width else text[: width - 1] + "…"


def _json_ascii(value: str) -> str:
    return json.dumps(value, ensure_ascii=True)[1:-1]
