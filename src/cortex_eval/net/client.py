"""One HTTP client for targets and models: JSON out, JSON in, and a named error for everything else."""

from __future__ import annotations

import codecs
import errno
import json
import re
import ssl
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import orjson

from cortex_eval.core import InputError, TargetError, shorten, to_json
from cortex_eval.net.guard import Guard

if TYPE_CHECKING:  # a third of a second that projects without HTTP need not pay
    import aiohttp

TRANSIENT_STATUS = frozenset({408, 425, 500, 502, 503, 504, 529})
THROTTLED = 429
HUNG_UP = (errno.ECONNRESET, errno.EPIPE)
LONGEST_PAGE = 20_000
"""Of an error page, in characters, that is looked through for its words."""
_TAGS = re.compile(r"<(script|style)\b.*?</\1>|<[^<>]*>", re.IGNORECASE | re.DOTALL)
PLAIN_JSON = frozenset({"application/json", "application/json; charset=utf-8", "application/json;charset=utf-8"})


def check_url(url: str, *, field: str = "api_url") -> None:
    """Raise InputError unless this is a plain http(s) address; a password in it is not repeated."""
    try:
        parts = urlsplit(url)
        has_password = bool(parts.username or parts.password)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:  # such as http://[::1 or a port beyond 65535
        has_password, is_address = "@" in url, False
    if has_password or (not is_address and "@" in url):  # `me:key@host` has no host for urlsplit, but it has a key
        raise InputError(
            f"{field} must not hold a user name or password. Put the key under api_key: ${{VARIABLE}} instead."
        )
    if not is_address:
        raise InputError(f"{field} must begin with http:// or https:// and name a host, not {shorten(url)!r}.")


def shown(url: str) -> str:
    """An address as messages show it: without its query, which may hold a key."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{host_of(url)}{parts.path}"


class Received(NamedTuple):
    """The body of an answer as it came."""

    content: bytes
    charset: str | None = None
    """As the service declared it."""
    media_type: str = ""
    """The same, such as `audio/wav`; only of what was fetched."""
    headers: Mapping[str, str] = {}
    """Of the answer, names in lower case; only of what was fetched."""
    first_byte_ms: float | None = None
    """From the call to the first byte of the body; only of what was fetched."""


class Parsed(NamedTuple):
    """The JSON of an answer."""

    value: Any  # whatever JSON can be
    encoding: str = ""
    """How it was read, when it was not plain UTF-8 or not what the service declared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one call may take beside its total time."""

    connect_s: float = 5.0
    idle_s: float | None = 30.0
    """Without a byte from the service; None: only the total time counts."""
    largest: int = 5 * 1024 * 1024
    """Bytes of an answer, after decompression."""


class JsonClient:
    """Keeps connections open between calls; no cookies, no redirects, no proxies from the environment."""

    def __init__(self, guard: Guard | None = None, limits: Limits | None = None) -> None:
        self._guard = guard or Guard()
        self._limits = limits or Limits()
        self._session: aiohttp.ClientSession | None = None

    def _open(self) -> aiohttp.ClientSession:
        import aiohttp

        # The concurrency limit is the engine's; a second one in the pool would only hide it.
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=60, resolver=self._guard.resolver()),
            timeout=aiohttp.ClientTimeout(
                total=None, sock_connect=self._limits.connect_s, sock_read=self._limits.idle_s
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "cortex-eval"},
        )

    async def close(self) -> None:
        """Close every connection."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def post(self, url: str, body: object, *, headers: Mapping[str, str] | None = None) -> Any:
        """What the service answered, as parsed JSON."""
        return parse_json(url, await self.send("POST", url, to_json(body), headers=headers)).value

    async def send(self, method: str, url: str, data: bytes | None, *, headers: Mapping[str, str] | None) -> Received:
        """The body of a 200 answer; `TargetError` for every other outcome."""
        import aiohttp

        self._guard.pass_on(url)
        if self._session is None:
            self._session = self._open()
        try:
            async with self._session.request(
                method, url, data=data, headers=headers, allow_redirects=False
            ) as response:
                content = await self._read(response, url)
                if response.status != 200:
                    raise _bad_status(response, content, url)
                return Received(content, _charset(response))
        except aiohttp.ClientError as error:
            raise _translate(error, url, self._limits) from error

    async def fetch(self, url: str, data: bytes, *, headers: Mapping[str, str] | None = None) -> Received:
        """The body of a 200 answer to a POST, whatever it holds, and when its first byte came; errors as in `send`."""
        import aiohttp

        self._guard.pass_on(url)
        if self._session is None:
            self._session = self._open()
        began, first_byte_ms, pieces = time.monotonic(), None, list[bytes]()
        try:
            async with self._session.post(url, data=data, headers=headers, allow_redirects=False) as response:
                if response.status != 200:
                    raise _bad_status(response, await self._read(response, url), url)
                async for chunk in self._chunks(response, url):
                    if first_byte_ms is None:
                        first_byte_ms = (time.monotonic() - began) * 1000
                    pieces.append(chunk)
                said = {name.lower(): value for name, value in response.headers.items()}
                return Received(b"".join(pieces), response.charset, response.content_type, said, first_byte_ms)
        except aiohttp.ClientError as error:
            raise _translate(error, url, self._limits) from error

    async def stream(
        self, url: str, data: bytes, *, headers: Mapping[str, str] | None = None
    ) -> AsyncGenerator[bytes, None]:
        """The body of a 200 answer to a POST, piece by piece as it comes; `TargetError` for every other outcome."""
        import aiohttp

        self._guard.pass_on(url)
        if self._session is None:
            self._session = self._open()
        try:
            async with self._session.post(url, data=data, headers=headers, allow_redirects=False) as response:
                if response.status != 200:
                    raise _bad_status(response, await self._read(response, url), url)
                async for chunk in self._chunks(response, url):
                    yield chunk
        except aiohttp.ClientError as error:
            raise _translate(error, url, self._limits) from error

    async def _read(self, response: aiohttp.ClientResponse, url: str) -> bytes:
        length = response.content_length
        is_packed = "Content-Encoding" in response.headers
        if length is not None and length <= self._limits.largest and not is_packed:
            return await response.read()
        return b"".join([chunk async for chunk in self._chunks(response, url)])

    async def _chunks(self, response: aiohttp.ClientResponse, url: str) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in response.content.iter_any():
            size += len(chunk)
            if size > self._limits.largest:
                limit = self._limits.largest / 1024 / 1024
                raise TargetError(
                    f"{host_of(url)} answered with more than {limit:g} MiB. The rest was not read.", kind="too_large"
                )
            yield chunk


def _charset(response: aiohttp.ClientResponse) -> str | None:
    """What an answer says of its encoding; the usual headers need not be taken apart."""
    return None if response.headers.get("Content-Type") in PLAIN_JSON else response.charset


def parse_json(url: str, received: Received) -> Parsed:
    """The JSON in an answer; an empty one or another format is a TargetError that quotes its beginning.

    The bytes decide: valid UTF-8 is read as that, whatever was declared. Other bytes are read as declared, and what is
    not even that gets replacement marks.
    """
    data = received.content.removeprefix(codecs.BOM_UTF8)
    if not data.strip():
        raise TargetError(f"{host_of(url)} answered with an empty body.", kind="empty")
    declared = received.charset
    is_utf8 = declared is None or declared.lower() in ("utf-8", "utf8")
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        parsed = _parse_leniently(data, None if is_utf8 else declared)
        if parsed is None and data[:1] in b"{[" and "unexpected end" in str(error):
            raise TargetError(f"{host_of(url)} cut its answer short.", kind="truncated", transient=True) from error
        if parsed is None:
            beginning = shorten(data.decode("utf-8", "replace"))
            raise TargetError(f"{host_of(url)} answered, but not with JSON: {beginning!r}", kind="not_json") from error
        return parsed
    return Parsed(value, "" if is_utf8 or data.isascii() else f"utf-8, though {declared} was declared")


def _parse_leniently(data: bytes, charset: str | None) -> Parsed | None:
    """JSON whose only fault is its encoding; None when there is more wrong with it."""
    text, how = data.decode("utf-8", "replace"), "utf-8, with marks in place of what was not"
    if charset is not None:
        with suppress(LookupError, UnicodeError):  # the service may declare anything
            text, how = data.decode(charset), charset
    try:
        return Parsed(orjson.loads(text), how)
    except orjson.JSONDecodeError:
        pass
    try:  # half characters, as JavaScript writes them when it cuts an emoji: "\ud83d"
        whole = json.dumps(json.loads(text, parse_constant=_refuse), ensure_ascii=False)
        return Parsed(orjson.loads(whole.encode("utf-8", "replace")), how)
    except (ValueError, RecursionError):
        return None


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _bad_status(response: aiohttp.ClientResponse, content: bytes, url: str) -> TargetError:
    error = _status_error(response, content, url)
    error.status, error.body = response.status, content[:20_000]
    return error


def _status_error(response: aiohttp.ClientResponse, content: bytes, url: str) -> TargetError:
    status = response.status
    said = shorten(_plain(content))
    if status in (301, 302, 303, 307, 308):
        return TargetError(f"{host_of(url)} answered {status} (moved elsewhere); not followed.", kind="redirect")
    if status in (401, 403):
        told = f"{host_of(url)} answered {status}: check api_key, or headers, of the service. It said: {said!r}"
        return TargetError(told, kind="auth")
    wait_s = retry_after_s(response.headers.get("Retry-After"), response.headers.get("Date"))
    if status == THROTTLED:
        return TargetError(
            f"{host_of(url)} answered 429: too many requests. It said: {said!r}",
            kind="rate_limited",
            transient=True,
            retry_after_s=wait_s,
        )
    return TargetError(
        f"{host_of(url)} answered {status}. It said: {said!r}",
        kind="status",
        transient=status in TRANSIENT_STATUS,
        retry_after_s=wait_s,
    )


def _plain(content: bytes) -> str:
    """What an answer says, in one line; of a web page the words."""
    text = content.decode("utf-8", "replace")
    if text.lstrip().startswith("<"):
        text = _TAGS.sub(" ", text[:LONGEST_PAGE])
    return " ".join(text.split())


def retry_after_s(given: str | None, date: str | None = None) -> float | None:
    """The seconds that a Retry-After header asks for, in either form; None when it says nothing that can be read.

    A date is taken by the service's own clock when it tells it: ours may be wrong.
    """
    text = (given or "").strip()
    if re.fullmatch(r"\d{1,9}(\.\d{1,6})?", text):
        return float(text)
    from email.utils import parsedate_to_datetime

    try:
        until = parsedate_to_datetime(text)
        now = parsedate_to_datetime(date) if date else datetime.now(UTC)
        return max(0.0, (until - now).total_seconds())
    except (ValueError, TypeError):
        return None


def _translate(error: aiohttp.ClientError, url: str, limits: Limits) -> TargetError:
    import aiohttp

    reason = shorten(str(error) or type(error).__name__)
    if isinstance(error, aiohttp.ClientResponseError):  # its text is not shown: aiohttp quotes the answer, cut anywhere
        what = type(error.__cause__ or error).__name__
        return TargetError(
            f"{host_of(url)} gave an answer that is no proper HTTP ({what}).", kind="connection", transient=True
        )
    if isinstance(error, (aiohttp.ClientSSLError, ssl.SSLError)):
        return TargetError(f"{host_of(url)}: {_refused_by_tls(error)}", kind="tls")
    if isinstance(error, aiohttp.ClientPayloadError):
        reason = reason.partition(":")[0]  # what follows may quote the answer, cut anywhere
        return TargetError(f"{host_of(url)} cut its answer short: {reason}", kind="truncated", transient=True)
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return TargetError(
            f"{host_of(url)} could not be reached within {limits.connect_s:g} s (connect_seconds).",
            kind="connection",
            transient=True,
        )
    if isinstance(error, aiohttp.ServerTimeoutError):
        return TargetError(
            f"{host_of(url)} sent nothing for {limits.idle_s:g} s (idle_seconds).", kind="timeout", transient=True
        )
    if isinstance(error, aiohttp.InvalidURL):
        return TargetError(f"{shorten(url)!r} is not an address.", kind="connection")
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return _nobody_there(f"{host_of(url)} does not resolve. There is no such name, or no name service.")
    if isinstance(error, aiohttp.ClientConnectorError):  # its own words name the address twice, and speak of TLS
        if isinstance(error.os_error, ConnectionRefusedError):
            return _nobody_there(f"{host_of(url)} refuses connections.")
        reason = error.os_error.strerror or reason
    elif isinstance(error, aiohttp.ServerDisconnectedError) or getattr(error, "errno", 0) in HUNG_UP:
        told = f"{host_of(url)} closed the connection without an answer."
        return TargetError(told, kind="connection", transient=True)
    return TargetError(f"{host_of(url)} could not be reached: {reason}", kind="connection", transient=True)


def _nobody_there(told: str) -> TargetError:
    error = TargetError(told, kind="connection", transient=True)
    error.is_nobody_there = True
    return error


def _refused_by_tls(error: Exception) -> str:
    """Why there is no secure connection, in OpenSSL's words; aiohttp's own say it after a line of other things."""
    cause = getattr(error, "certificate_error", None) or getattr(error, "os_error", error)
    if said := getattr(cause, "verify_message", ""):
        return f"the certificate was refused: {shorten(said)}"
    return f"no secure connection: {shorten(getattr(cause, 'reason', None) or str(cause))}"


def host_of(url: str) -> str:
    """Host and port of an address, without a password."""
    return urlsplit(url).netloc.rpartition("@")[2]
