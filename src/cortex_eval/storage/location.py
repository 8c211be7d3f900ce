"""Where a store is: a file, or the address of a PostgreSQL database."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

from cortex_eval.core import InputError, Secret

Location = Path | str
"""A path is an SQLite file; a text that begins with `postgresql://` is the URL of a database."""
SCHEMES = ("postgresql://", "postgres://")
SQLITE_SCHEME = "sqlite:///"
MASK = "***"


def parse_location(text: str, root: Path = Path()) -> Location:
    """The location that somebody wrote, relative paths starting at `root`; a password in it is known as a secret."""
    if text.startswith(SCHEMES):
        return _checked(text)
    if text.startswith(SQLITE_SCHEME):
        text = text.removeprefix(SQLITE_SCHEME)
    elif "://" in text:
        raise InputError(
            f"a store is a file or a postgresql:// URL, not {text.partition('://')[0]}://. "
            "Write database: .cortex/cortex.db, or database: postgresql://user@host/name."
        )
    return root / text


def is_url(location: Location) -> bool:
    """Whether this is a database's address and not a file."""
    return isinstance(location, str) and location.startswith(SCHEMES)


def shown_location(location: Location) -> str:
    """A location as it may be shown: a URL without its password and its query."""
    if not is_url(location):
        return str(location)
    parts = urlsplit(str(location))
    user, at, host = parts.netloc.rpartition("@")
    name, colon, _ = user.partition(":")
    return f"{parts.scheme}://{name}{colon and ':' + MASK}{at}{host}{parts.path}"


def _checked(url: str) -> str:
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises when it is no number
    except ValueError as error:
        raise InputError("the database URL cannot be read. Write postgresql://user:password@host:5432/name.") from error
    if parts.password:
        Secret(unquote(parts.password))
        Secret(url)
    return url
