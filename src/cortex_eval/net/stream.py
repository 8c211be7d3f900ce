"""Server-sent events: how LLM services send an answer piece by piece."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from typing import NamedTuple


class ServerEvent(NamedTuple):
    """One event of a stream."""

    name: str
    data: str


async def events(chunks: AsyncIterator[bytes]) -> AsyncGenerator[ServerEvent, None]:
    """The events in a stream of bytes, however it was cut into pieces; an event without its blank line is no event."""
    buffer = bytearray()
    name, lines = "", list[str]()
    async for chunk in chunks:
        buffer += chunk
        *whole, rest = buffer.split(b"\n")
        buffer = rest
        for raw in whole:
            line = raw.decode("utf-8", "replace").removesuffix("\r")
            if not line:
                if lines:
                    yield ServerEvent(name, "\n".join(lines))
                name, lines = "", []
            elif line.startswith("data:"):
                lines.append(line[5:].removeprefix(" "))
            elif line.startswith("event:"):
                name = line[6:].strip()
