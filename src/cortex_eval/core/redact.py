"""Secrets: held in a type that does not show them, and taken out of every text that leaves."""

from __future__ import annotations

import base64
import json
import re
from typing import Any
from urllib.parse import quote, quote_plus

import orjson

MASK = "***"
SHORTEST_SECRET = 4
"""Shorter values would blank out ordinary words."""
UNMISTAKABLE = 12
"""From this length on a secret is taken to be no word or number of our own."""

_SECRET_NAME = re.compile(
    r"(?i)(^|[_-])((api|access|auth|private|secret|subscription)[_-]?key|token|secret|password|authorization|cookie)$"
)


def is_secret(name: object) -> bool:
    """Whether a key of this name holds something that must not be shown: api_key, token, X-Api-Key, Authorization."""
    return isinstance(name, str) and _SECRET_NAME.search(name) is not None


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
        self.encoded: tuple[bytes, ...] = ()

    def add(self, secret: Secret) -> None:
        value = secret.reveal()
        if len(value) < SHORTEST_SECRET:
            return
        forms = {value, f"Bearer {value}", quote(value, safe=""), quote_plus(value), _lower_escapes(value)}
        for is_ascii in (True, False):
            once = json.dumps(value, ensure_ascii=is_ascii)[1:-1]
            forms |= {once, json.dumps(once, ensure_ascii=is_ascii)[1:-1]}
        raw = value.encode("utf-8", "surrogatepass")
        forms |= {raw.hex(), raw.hex().upper(), *_base64_forms(raw)}
        self.forms = tuple(sorted({*self.forms, *forms}, key=len, reverse=True))
        self.encoded = tuple(form.encode("utf-8", "surrogatepass") for form in self.forms)


_known = _KnownSecrets()


def redact(text: str) -> str:
    """The text with every known secret masked, also when URL-, base64-, hex- or JSON-escaped."""
    for form in _known.forms:
        if form in text:
            text = text.replace(form, MASK)
    return text


def redact_bytes(data: bytes) -> bytes:
    """Like `redact`, for JSON on its way to the store: what comes out is JSON of the same shape.

    A short secret may be a word or a number of our own ("text", "2024"): it is masked in texts, never in keys and
    numbers.
    """
    for form in _known.encoded:
        if form in data:
            return orjson.dumps(_redact_value(orjson.loads(data)))
    return data


def _redact_value(value: Any) -> Any:  # Any: whatever JSON can be
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {_redact_own(key): _redact_value(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_redact_value(each) for each in value]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        text = repr(value)
        return value if _redact_own(text) == text else MASK
    return value


def _redact_own(text: str) -> str:
    for form in _known.forms:
        if len(form) >= UNMISTAKABLE and form in text:
            text = text.replace(form, MASK)
    return text


def shorten(text: str, width: int = 200) -> str:
    """A quotation fit for an error message: redacted first, then cut; half characters that no file can hold are `?`."""
    text = redact(text).encode("utf-8", "replace").decode()
    return text if len(text) <= width else text[: width - 1] + "…"


def _lower_escapes(value: str) -> str:
    return re.sub("%[0-9A-F]{2}", lambda found: found[0].lower(), quote(value, safe=""))


def _base64_forms(raw: bytes) -> set[str]:
    """The secret in base64, alone or inside something longer such as `user:secret`, where it may start in a group."""
    forms = {base64.b64encode(raw), base64.urlsafe_b64encode(raw)}
    if len(raw) >= 2 * SHORTEST_SECRET:
        for before, shared in ((1, 2), (2, 3)):  # bytes before it in its first group; characters that they decide on
            whole = (before + len(raw)) // 3 * 4
            for encode in (base64.b64encode, base64.urlsafe_b64encode):
                forms.add(encode(b"\0" * before + raw)[shared:whole])
        whole = len(raw) // 3 * 4
        forms |= {base64.b64encode(raw)[:whole], base64.urlsafe_b64encode(raw)[:whole]}
    return {form.decode().rstrip("=") for form in forms}
