"""What the scripted service was asked, what it can say, and the ways in which saying it can go wrong.

An `Answer` is what is sent; `deliver` is how. A new fault is one function: it returns an `Answer`, with its own
`deliver` only if the bytes must leave in an unusual way.
"""

from __future__ import annotations

import asyncio
import random
import zlib
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Literal

import orjson

if TYPE_CHECKING:
    from aiohttp import web
    from multidict import CIMultiDictProxy

MIB = 1024 * 1024
Framing = Literal["length", "chunked", "close"]
Deliver = Callable[["web.BaseRequest", "Call", "Answer"], Awaitable["web.StreamResponse"]]


@dataclass(slots=True, kw_only=True, eq=False)
class Call:
    """One request that arrived."""

    number: int
    """Counted from 1, in the order of arrival."""
    method: str
    path: str
    """With the query string."""
    headers: CIMultiDictProxy[str]
    body: bytes
    at: float
    """When it arrived, on the monotonic clock."""
    status: int | None = None
    """What the script chose to answer; None before it chose."""
    answered: bool = False
    """The whole answer was sent."""
    sent: int = 0
    """Bytes of the body that were sent."""
    json: Any = field(init=False)  # Any: whatever JSON came; None when it was none

    def __post_init__(self) -> None:
        try:
            self.json = orjson.loads(self.body)
        except orjson.JSONDecodeError:
            self.json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One HTTP answer."""

    body: bytes = b""
    pieces: Callable[[], Iterable[bytes]] | None = None
    """A body too large to hold; it is sent in chunks in place of `body`, and no faster than the client reads."""
    status: int = 200
    content_type: str = "application/json"
    """As it goes into the header, charset and all; empty: no such header."""
    headers: Mapping[str, str] = field(default_factory=dict)
    latency_s: float = 0.0
    """Waited before the first byte, on top of the service's own latency."""
    deliver: Deliver | None = None
    """None: whole, with its length."""

    @classmethod
    def of(cls, said: Said) -> Answer:
        """Text as text, a whole number as a status, anything else as JSON."""
        if isinstance(said, Answer):
            return said
        if isinstance(said, str):
            return cls(body=said.encode(), content_type="text/plain; charset=utf-8")
        if isinstance(said, bytes):
            return cls(body=said)
        if isinstance(said, int) and not isinstance(said, bool):
            return status(said)
        return cls(body=orjson.dumps(said))


Said = Answer | str | bytes | int | Any  # Any: a value that is sent as JSON
Behaviour = Callable[[Call], Said | Awaitable[Said]]
"""Decides by the call what to say; `call.number` counts from 1."""


def echo(call: Call) -> Said:
    """Gives back what was asked, in the words of the seed's chatbot: `{"response": …}`."""
    body = call.json if isinstance(call.json, dict) else {}
    asked = body.get("query", body.get("question", body.get("text", body.get("input", ""))))
    if not asked and isinstance(messages := body.get("messages"), list) and messages:
        asked = messages[-1].get("content", "")
    return {"response": asked}


def answers_by(key: str, answers: Mapping[str, Said], *, otherwise: Said = 404) -> Behaviour:
    """The answer that belongs to a value of the request: `answers_by("query", {"Hello?": {"response": "Hi."}})`.

    A dotted key goes into nested objects: `answers_by("context.case_id", …)`.
    """

    def answer(call: Call) -> Said:
        value: Any = call.json
        for name in key.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        return answers.get(str(value), otherwise)

    return answer


def sequence(*said: Said) -> Behaviour:
    """One after the other, call by call; the last one again and again."""
    assert said, "a sequence needs at least one answer"
    return lambda call: said[min(call.number, len(said)) - 1]


def one_in(n: int, fault: Said, *, otherwise: Said | Behaviour = echo) -> Behaviour:
    """The fault on every n-th call."""
    return lambda call: fault if call.number % n == 0 else _say(otherwise, call)


def at_random(share: float, fault: Said, *, otherwise: Said | Behaviour = echo, seed: int = 0) -> Behaviour:
    """The fault on this share of the calls, the same ones for the same seed."""
    dice = random.Random(seed)  # noqa: S311  # not for secrets
    return lambda call: fault if dice.random() < share else _say(otherwise, call)


def status(code: int, body: str = "", **headers: str) -> Answer:
    """A status with a JSON error; `status(503, retry_after="2")` sets headers."""
    text = body or orjson.dumps({"error": HTTPStatus(code).phrase}).decode()
    return Answer(status=code, body=text.encode(), headers={_header(name): value for name, value in headers.items()})


def too_many_requests(*, retry_after_s: float | None = None, as_date: bool = False) -> Answer:
    """429; the wait is given in seconds, as an HTTP date, or not at all. A date counts from when this is called."""
    if retry_after_s is None:
        return status(429)
    until = datetime.now(UTC) + timedelta(seconds=retry_after_s)
    return status(429, retry_after=format_datetime(until, usegmt=True) if as_date else f"{retry_after_s:g}")


def redirect(to: str, code: int = 302) -> Answer:
    """Sends the client elsewhere."""
    return Answer(status=code, headers={"Location": to})


def login_page() -> Answer:
    """200, and HTML where JSON is due."""
    page = b"<!doctype html><html><body><form>Please sign in</form></body></html>"
    return Answer(body=page, content_type="text/html; charset=utf-8")


def garbled(text: str = "caf\u00e9", *, declared: str = "utf-8", encoded: str = "latin-1") -> Answer:
    """JSON in another encoding than the header declares; with the defaults, invalid UTF-8."""
    body = b'{"response": "' + text.encode(encoded) + b'"}'
    return Answer(body=body, content_type=f"application/json; charset={declared}")


def huge(size: int = 50 * MIB) -> Answer:
    """Valid JSON of this many bytes, made while it is sent."""

    def pieces() -> Iterator[bytes]:
        start, end = b'{"response": "', b'"}'
        left = size - len(start) - len(end)
        yield start
        for _ in range(left // 65536):
            yield b"a" * 65536
        yield b"a" * (left % 65536) + end

    return Answer(pieces=pieces)


def gzip_bomb(unpacked: int = 1024 * MIB) -> Answer:
    """A gzip body of about a thousandth of what it unpacks to; only its checksum, after all of it, is wrong."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    start = packer.compress(b'{"response": "') + packer.flush(zlib.Z_FULL_FLUSH)
    # After a full flush a block does not look back, so one packed mebibyte can be repeated without packing it again.
    block = packer.compress(b"a" * MIB) + packer.flush(zlib.Z_FULL_FLUSH)
    end = packer.compress(b'"}') + packer.flush()
    headers = {"Content-Encoding": "gzip"}
    return Answer(body=start + block * max(1, unpacked // MIB) + end, headers=headers)


def reset() -> Answer:
    """The connection is torn down before a byte is sent."""

    async def deliver(request: web.BaseRequest, _call: Call, _answer: Answer) -> web.StreamResponse:
        if request.transport is not None:
            request.transport.abort()
        return await _never()

    return Answer(deliver=deliver)


def hang() -> Answer:
    """The call is taken and no byte is ever sent."""

    async def deliver(_request: web.BaseRequest, _call: Call, _answer: Answer) -> web.StreamResponse:
        return await _never()

    return Answer(deliver=deliver)


def cut(after: int, said: Said, *, framing: Framing = "length") -> Answer:
    """The connection ends after this many bytes of the body.

    Framing says how the client could notice: a length that is not reached, a last chunk that never comes, or, with
    `close`, not at all but by reading what it got.
    """

    async def deliver(request: web.BaseRequest, call: Call, answer: Answer) -> web.StreamResponse:
        part = answer.body[:after]
        if framing == "chunked":
            part = b"".join(b"1\r\n" + part[i : i + 1] + b"\r\n" for i in range(len(part)))
        if request.transport is not None:
            request.transport.write(_head(answer, framing) + part)
            request.transport.close()
        call.sent += min(after, len(answer.body))
        return await _never()

    return replace(Answer.of(said), deliver=deliver)


def drip(said: Said = b'{"response": "', *, every_s: float = 1.0, endless: bool = True) -> Answer:
    """One byte at a time; when the answer is out and it is endless, blanks for ever."""

    async def deliver(request: web.BaseRequest, call: Call, answer: Answer) -> web.StreamResponse:
        from aiohttp import web

        response = web.StreamResponse(status=answer.status, headers=headers_of(answer))
        await response.prepare(request)
        at = 0
        while endless or at < len(answer.body):
            await response.write(answer.body[at : at + 1] or b" ")
            at, call.sent = at + 1, call.sent + 1
            await asyncio.sleep(every_s)
        await response.write_eof()
        return response

    return replace(Answer.of(said), deliver=deliver)


def headers_of(answer: Answer) -> dict[str, str]:
    """The answer's headers with its content type."""
    return {**answer.headers, **({"Content-Type": answer.content_type} if answer.content_type else {})}


def _head(answer: Answer, framing: Framing) -> bytes:
    lines = [f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}"]
    lines += [f"{name}: {value}" for name, value in headers_of(answer).items()]
    ending = {
        "length": f"Content-Length: {len(answer.body)}",
        "chunked": "Transfer-Encoding: chunked",
        "close": "Connection: close",
    }
    return "\r\n".join([*lines, ending[framing], "", ""]).encode()


async def _never() -> web.StreamResponse:
    """Ends when the client goes away or the service is left: both cancel the handler."""
    await asyncio.Event().wait()
    raise AssertionError("nothing sets this event")


def _say(said: Said | Behaviour, call: Call) -> Said:
    return said(call) if callable(said) else said


def _header(name: str) -> str:
    return "-".join(part.capitalize() for part in name.split("_"))
