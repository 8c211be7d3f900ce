"""One request to a model's service and its answer, at once or as a stream; a cut answer is never taken as whole."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any, Protocol

import orjson
from msgspec import Struct

from cortex_eval.core import TargetError, shorten, to_json
from cortex_eval.llm.errors import error_said, explain
from cortex_eval.llm.gather import Gathered
from cortex_eval.net import JsonClient, Received, events, host_of, parse_json

DONE = "[DONE]"
FIELDS = (b"data:", b"event:", b"id:", b"retry:", b":")
"""How a line of an event stream begins."""


class Request(Struct, frozen=True, kw_only=True):
    """What is sent."""

    url: str
    body: Mapping[str, Any]
    headers: Mapping[str, str]
    is_streaming: bool


class Reader(Protocol):
    """Knows a service's answers."""

    def whole(self, body: dict[str, Any], into: Gathered) -> None:
        """Read an answer that came at once; `TargetError` when it is none."""

    def piece(self, body: dict[str, Any], into: Gathered) -> None:
        """Read one event of a stream."""


async def exchange(client: JsonClient, request: Request, reader: Reader) -> Gathered:
    """The whole answer; `TargetError` when there is none, or when it ended before its end was told."""
    into = Gathered(is_streamed=request.is_streaming)
    host = host_of(request.url)
    data = to_json(request.body)
    try:
        if request.is_streaming:
            await _read_stream(client, request, data, reader, into)
        else:
            received = await client.send("POST", request.url, data, headers=request.headers)
            _read_whole(request.url, received, reader, into)
    except TargetError as error:
        if into.is_done and error.kind in ("truncated", "timeout", "connection"):
            return into  # only the end of the connection was lost, after the service said that it was through
        told = explain(error, host=host)
        if told is error:
            raise
        raise told from error
    return into


def missing(host: str, what: str, body: object) -> TargetError:
    """The error of an answer without something that it must have."""
    keys = sorted(body) if isinstance(body, dict) else type(body).__name__
    return TargetError(f"{host} gave no {what}; it gave {shorten(str(keys))}.", kind="missing_field")


def _read_whole(url: str, received: Received, reader: Reader, into: Gathered) -> None:
    body = parse_json(url, received).value
    if not isinstance(body, dict):
        raise missing(host_of(url), "JSON object", body)
    if body.get("error"):
        raise error_said(body["error"], host=host_of(url))
    reader.whole(body, into)


async def _read_stream(client: JsonClient, request: Request, data: bytes, reader: Reader, into: Gathered) -> None:
    headers = {**request.headers, "Accept": "text/event-stream, application/json"}
    opening = bytearray()
    has_events = False

    async def chunks() -> AsyncGenerator[bytes, None]:
        async with aclosing(client.stream(request.url, data, headers=headers)) as stream:
            async for chunk in stream:
                if not has_events:
                    opening.extend(chunk)  # what is no stream of events is wanted whole
                yield chunk

    async with aclosing(chunks()) as incoming, aclosing(events(incoming)) as stream:
        async for event in stream:
            has_events = True
            opening.clear()
            if event.data.strip() == DONE:
                into.is_done = True
            elif event.data.strip():
                _read_event(event.name, event.data, request.url, reader, into)
    if not has_events and not _is_stream(bytes(opening)):
        into.is_streamed = False  # a service that does not stream
        _read_whole(request.url, Received(bytes(opening)), reader, into)
    elif not into.is_whole:
        raise TargetError(
            f"{host_of(request.url)} ended its answer before its end. What had come was not used.",
            kind="truncated",
            transient=True,
        )


def _read_event(name: str, data: str, url: str, reader: Reader, into: Gathered) -> None:
    host = host_of(url)
    try:
        body = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        if name == "error":
            raise error_said(data, host=host, is_midway=True) from error
        raise TargetError(
            f"{host} sent an event that is not JSON: {shorten(data)!r}", kind="not_json", transient=True
        ) from error
    if isinstance(body, dict) and body.get("error"):
        raise error_said(body["error"], host=host, is_midway=True)
    if name == "error" or not isinstance(body, dict):
        raise error_said(body, host=host, is_midway=True)
    reader.piece(body, into)


def _is_stream(opening: bytes) -> bool:
    """Whether these bytes are a stream of events, or the beginning of one."""
    start = opening.lstrip(b"\r\n")
    return bool(start) and any(start.startswith(each) or each.startswith(start) for each in FIELDS)
