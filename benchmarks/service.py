"""A service that answers `{"text": …}` after a set latency: raw asyncio, so that it is not what is measured.

usage: service.py PORT LATENCY_MS       port 0: a free one, printed as `ready PORT`
GET /stats: calls so far, questions so far, when the first and the last call came (seconds of the monotonic clock).
GET /reset: the same, and counting begins anew.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys

LENGTH = re.compile(rb"content-length:\s*(\d+)", re.IGNORECASE)
QUESTION = re.compile(rb"\bq(\d+)\b")


def answer_to(number: int) -> str:
    """What the service says to question `number`."""
    return f"A{number * 7919 % 100_003}"


class Ledger:
    """What was asked."""

    def __init__(self) -> None:
        self.calls = 0
        self.asked: set[int] = set()
        self.first_call: float | None = None
        self.last_call: float | None = None

    def to_json(self) -> bytes:
        return json.dumps({**vars(self), "asked": len(self.asked)}).encode()


class Service(asyncio.Protocol):
    """One connection."""

    ledger = Ledger()
    latency_s = 0.0

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while (head_end := self.buffer.find(b"\r\n\r\n")) >= 0:
            head = self.buffer[:head_end]
            length = LENGTH.search(head)
            end = head_end + 4 + (int(length[1]) if length else 0)
            if len(self.buffer) < end:
                return
            body, self.buffer = self.buffer[head_end + 4 : end], self.buffer[end:]
            if head.startswith(b"GET "):
                self.answer(Service.ledger.to_json())
                if head.startswith(b"GET /reset"):
                    Service.ledger = Ledger()
            else:
                self.called(body)

    def called(self, body: bytes) -> None:
        ledger = Service.ledger
        ledger.calls += 1
        ledger.last_call = self.loop.time()
        if ledger.first_call is None:
            ledger.first_call = ledger.last_call
        question = QUESTION.search(body)
        text = b'{"text": "?"}'
        if question:
            number = int(question[1])
            ledger.asked.add(number)
            text = b'{"text": "The answer is %b."}' % answer_to(number).encode()
        if Service.latency_s:
            self.loop.call_later(Service.latency_s, self.answer, text)
        else:
            self.answer(text)

    def answer(self, body: bytes) -> None:
        if not self.transport.is_closing():
            head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body)
            self.transport.write(head + body)


async def serve(port: int) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Service(loop), "127.0.0.1", port, backlog=4096)
    print("ready", server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    Service.latency_s = float(sys.argv[2]) / 1000
    asyncio.run(serve(int(sys.argv[1])))
