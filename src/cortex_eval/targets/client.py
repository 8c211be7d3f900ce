"""One HTTP client for all targets: JSON out, JSON in, and a named error for everything else."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import orjson

from cortex_eval.core import InputError, TargetError, shorten, to_json

if TYPE_CHECKING:  # a third of a second that projects without HTTP need not pay
    import aiohttp

CONNECT_LIMIT_S = 5.0
LARGEST_REPLY = 5 * 1024 * 1024
"""After decompression."""
TRANSIENT_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504})


def check_url(url: str, *, field: str = "api_url") -> None:
    """Raise InputError unless this is a plain http(s) address; a password in it is not repeated."""
    parts = urlsplit(url)
    if parts.username or parts.password:
        raise InputError(
            f"{field} must not hold a user name or password. Put the key under api_key: ${{VARIABLE}} instead."
        )
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputError(f"{field} must begin with http:// or https:// and name a host, not {shorten(url)!r}.")


class JsonClient:
    """Keeps connections open between calls; no cookies, no redirects, no proxies from the environment."""

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None

    def _open(self) -> aiohttp.ClientSession:
        import aiohttp

        # The concurrency limit is the engine's; a second one in the pool would only hide it.
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=60),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_LIMIT_S),
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
        data = await self.send("POST", url, to_json(body), headers=headers)
        return parse_json(url, data)

    async def send(self, method: str, url: str, data: bytes | None, *, headers: Mapping[str, str] | None) -> bytes:
        """The body of a 200 answer; `TargetError` for every other outcome."""
        import aiohttp

        if self._session is None:
            self._session = self._open()
        try:
            async with self._session.request(
                method, url, data=data, headers=headers, allow_redirects=False
            ) as response:
                content = await _read(response, url)
                if response.status != 200:
                    raise _bad_status(response, content, url)
                return content
        except aiohttp.ClientError as error:
            raise _translate(error, url) from error


async def _read(response: aiohttp.ClientResponse, url: str) -> bytes:
    length = response.content_length
    if length is not None and length <= LARGEST_REPLY and "Content-Encoding" not in response.headers:
        return await response.read()
    parts: list[bytes] = []
    size = 0
    async for chunk in response.content.iter_any():
        size += len(chunk)
        if size > LARGEST_REPLY:
            raise TargetError(
                f"{_host(url)} answered with more than {LARGEST_REPLY // 1024 // 1024} MiB. The rest was not read.",
                kind="too_large",
            )
        parts.append(chunk)
    return b"".join(parts)


def parse_json(url: str, data: bytes) -> Any:
    """The JSON in an answer; an empty one or another format is a TargetError that quotes its beginning."""
    if not data.strip():
        raise TargetError(f"{_host(url)} answered with an empty body.", kind="empty")
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as error:
        beginning = shorten(data[:2000].decode("utf-8", "replace"))
        raise TargetError(f"{_host(url)} answered, but not with JSON: {beginning!r}", kind="not_json") from error


def _bad_status(response: aiohttp.ClientResponse, content: bytes, url: str) -> TargetError:
    status = response.status
    said = shorten(content[:2000].decode("utf-8", "replace").strip())
    if status in (301, 302, 303, 307, 308):
        return TargetError(f"{_host(url)} answered {status} (moved elsewhere); not followed.", kind="redirect")
    if status in (401, 403):
        return TargetError(f"{_host(url)} answered {status}: check api_key. It said: {said!r}", kind="auth")
    return TargetError(
        f"{_host(url)} answered {status}. It said: {said!r}", kind="status", transient=status in TRANSIENT_STATUS
    )


def _translate(error: aiohttp.ClientError, url: str) -> TargetError:
    import aiohttp

    reason = shorten(str(error) or type(error).__name__)
    if isinstance(error, (aiohttp.ClientSSLError, ssl.SSLError)):
        return TargetError(f"{_host(url)}: the certificate was refused: {reason}", kind="tls")
    if isinstance(error, aiohttp.ClientPayloadError):
        return TargetError(f"{_host(url)} cut its answer short: {reason}", kind="truncated", transient=True)
    if isinstance(error, aiohttp.InvalidURL):
        return TargetError(f"{shorten(url)!r} is not an address.", kind="connection")
    return TargetError(f"{_host(url)} could not be reached: {reason}", kind="connection", transient=True)


def _host(url: str) -> str:
    return urlsplit(url).netloc.rpartition("@")[2]
