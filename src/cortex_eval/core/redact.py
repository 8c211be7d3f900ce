"""Secrets: held in a type that does not show them, and taken out of every text that leaves."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable
from contextlib import suppress
from typing import Any
from urllib.parse import unquote

import orjson

from cortex_eval.core.spellings import spellings

MASK = "***"
SHORTEST_SECRET = 4
"""Shorter values would blank out ordinary words."""
SHORTEST_PART = 8
"""The same for what is only guessed to be secret: words of a header, variables that the project does not name."""
UNMISTAKABLE = 12
"""From this length on a secret is taken to be no word or number of our own."""
LONGEST_PIECE = 400
"""Longer secrets, such as key files, are sought in pieces of this length: it keeps the patterns small."""
LONGEST_PATTERN = 150_000
"""Bytes; more than that in one pattern and RE2 needs more memory for its automaton than it is given."""
MEMORY = 64 << 20

_SECRET_NAME = re.compile(
    r"(?i)(^|[_-])((api|access|auth|private|secret|subscription)[_-]?key|token|secret|password|authorization|cookie)$"
)
_LIKELY_NAME = re.compile(
    r"(?i)((^|[_-]|api|access|secret|auth)(key|pass|pwd|auth|dsn)"
    r"|token|secret|password|passwd|passphrase|credential|authorization|cookie|signature)s?$"
)
_PASSWORD_IN_URL = re.compile(r"(?<=://)(?P<user>[^/?#@:\s]*)(:(?P<password>[^/?#\s]*))?@")
_OWN_WORD = re.compile(r"[^\W\d]+|[-+.\d]+")


def is_secret(name: object) -> bool:
    """Whether a key of this name holds something that must not be shown: api_key, token, X-Api-Key, Authorization."""
    return isinstance(name, str) and _SECRET_NAME.search(name) is not None


def is_likely_secret(name: str) -> bool:
    """Whether a header or an environment variable of this name holds a key in all likelihood: OPENAI_KEY, X-Auth."""
    return _LIKELY_NAME.search(name) is not None


class Secret:
    """A value that never prints itself; `reveal()` is the only way to it."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value
        _known.add(value)

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


def hide_header(value: str) -> None:
    """Make known what is secret in a header: all of it, what follows its scheme, its words, the password in `Basic`."""
    Secret(value)
    scheme, _, rest = value.strip().partition(" ")
    words = value.split()
    if rest:
        Secret(rest)
        Secret(words[-1])
    if scheme.lower() == "basic":
        with suppress(binascii.Error, UnicodeDecodeError):
            Secret(base64.b64decode(rest).decode().partition(":")[2])
    for word in re.split(r"[\s;,]+", value):
        named = re.fullmatch(r'[\w.-]+="?(.+?)"?', word)  # session=…, as cookies have it
        for each in {word, named[1] if named else word}:
            if len(each) >= SHORTEST_PART and not each.isalpha():
                Secret(each)


def hide_password(text: str) -> str:
    """The text with the passwords of its addresses masked (`postgresql://***@host`); from now on they are known."""

    def masked(found: re.Match[str]) -> str:
        for each in {found["password"], unquote(found["password"] or "")} - {None, ""}:
            Secret(each)
        return f"{MASK}@"

    return _PASSWORD_IN_URL.sub(masked, text) if "://" in text else text


class _KnownSecrets:
    """Every secret of this process, and what finds them in texts; made anew when one comes to be known."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        self.values: dict[str, None] = dict.fromkeys(values)
        self._in_texts: _Finder | None = None
        self._in_names: _Finder | None = None

    def add(self, value: str) -> None:
        if len(value) >= SHORTEST_SECRET and value not in self.values:
            self.values[value] = None
            self._in_texts = self._in_names = None

    @property
    def in_texts(self) -> _Finder:
        finder = self._in_texts
        if finder is None:
            finder = _Finder([way for each in list(self.values) for way in _patterns(each)])
            self._in_texts = finder
        return finder

    @property
    def in_names(self) -> _Finder:
        """For keys and numbers, which may be our own."""
        finder = self._in_names
        if finder is None:
            finder = _Finder(
                [way for each in list(self.values) for way in _patterns(each, in_clear=not _may_be_ours(each))]
            )
            self._in_names = finder
        return finder


class _Finder:
    """Finds any of many patterns, in one pass for some thirty secrets."""

    def __init__(self, patterns: list[bytes]) -> None:
        import re2  # here: who has no secrets need not import it

        options = re2.Options()
        options.encoding = re2.Options.Encoding.LATIN1
        options.longest_match = True
        options.never_capture = True
        options.log_errors = False
        options.max_mem = MEMORY
        self._patterns = [re2.compile(b"|".join(some), options) for some in _parts(patterns)]

    def is_in(self, data: bytes) -> bool:
        return any(pattern.search(data) is not None for pattern in self._patterns)

    def mask(self, data: bytes) -> bytes:
        for pattern in self._patterns:
            data = pattern.sub(MASK.encode(), data)
        return data


def _parts(patterns: list[bytes]) -> Iterable[list[bytes]]:
    part: list[bytes] = []
    size = 0
    for pattern in patterns:
        if part and size + len(pattern) > LONGEST_PATTERN:
            yield part
            part, size = [], 0
        part.append(pattern)
        size += len(pattern)
    if part:
        yield part


def _patterns(value: str, *, in_clear: bool = True) -> Iterable[bytes]:
    pieces = [value[start : start + LONGEST_PIECE] for start in range(0, len(value), LONGEST_PIECE)]
    if len(pieces[-1]) < SHORTEST_PART and len(pieces) > 1:
        pieces[-1] = value[-SHORTEST_PART:]
    for piece in pieces:
        yield from spellings(piece, in_clear=in_clear)


def _may_be_ours(value: str) -> bool:
    """Whether a secret may be a word or a number of our own as well: "text", "2024"."""
    return len(value) < UNMISTAKABLE and _OWN_WORD.fullmatch(value) is not None


_known = _KnownSecrets()


def redact(text: str) -> str:
    """The text with every known secret masked, also when it is escaped for URLs, JSON or HTML, in base64 or in hex."""
    if not _known.values:
        return text
    data, finder = text.encode("utf-8", "surrogatepass"), _known.in_texts
    return finder.mask(data).decode("utf-8", "surrogatepass") if finder.is_in(data) else text


def redact_bytes(data: bytes) -> bytes:
    """Like `redact`, for JSON on its way to the store: what comes out is JSON of the same shape.

    A short secret may be a word or a number of our own ("text", "2024"): it is masked in texts, never in keys and
    numbers.
    """
    if not _known.values or not _known.in_texts.is_in(data):
        return data
    return orjson.dumps(_redact_value(orjson.loads(data)))


def _redact_value(value: Any) -> Any:  # Any: whatever JSON can be
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {_redact_name(key): _redact_value(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_redact_value(each) for each in value]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        text = repr(value)
        return value if _redact_name(text) == text else MASK
    return value


def _redact_name(text: str) -> str:
    data, finder = text.encode(), _known.in_names
    return finder.mask(data).decode() if finder.is_in(data) else text


_narrowest = 0


def leave_cutting_to_others(width: int = 20_000) -> None:
    """From now on `shorten` cuts nothing shorter than this: for a process that does not know what is secret."""
    global _narrowest  # one setting of the whole process
    _narrowest = width


def shorten(text: str, width: int = 200) -> str:
    """A quotation fit for an error message: redacted first, then cut; half characters that no file can hold are `?`."""
    text, width = redact(text).encode("utf-8", "replace").decode(), max(width, _narrowest)
    return text if len(text) <= width else text[: width - 1] + "…"
