"""A chatbot and a judge that answer after a set latency: raw asyncio, so that it is not what is measured.

usage: service.py PORT LATENCY_MS       port 0: a free one, printed as `ready PORT`
POST /v1/chat/completions: a judge that is content with everything. Any other POST: the chatbot, `{"text": …}`.
GET /stats: calls and questions so far, when the first and the last call came (seconds of the monotonic clock), calls of
the judge, the most calls of both at once, and how many of the judge's began before the chatbot's last answer.
GET /reset: the same, and counting begins anew.
"""

from __future__ import annotations

import asyncio
import json
import re
import selectors
import sys
from functools import partial

LENGTH = re.compile(rb"content-length:\s*(\d+)", re.IGNORECASE)
QUESTION = re.compile(rb"\bq(\d+)\b")
JUDGE = b"POST /v1/chat/completions"
CONTENT = json.dumps({"reason": "It answers the question.", "verdict": "pass", "score": 1.0})
VERDICT = json.dumps(
    {
        "id": "1",
        "object": "chat.completion",
        "created": 0,
        "model": "local",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": CONTENT}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 20, "completion_tokens": 8, "total_tokens": 28},
    }
).encode()


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
        self.last_answer = 0.0
        self.took_s = 0.0
        """All calls together: what was asked for, and how late timers are."""
        self.judged: list[float] = []
        """When each call of the judge began."""
        self.in_flight = 0
        self.most_in_flight = 0

    def begin(self) -> None:
        """One more call is in flight."""
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)

    def to_json(self) -> bytes:
        judged_early = sum(began < self.last_answer for began in self.judged)
        counts = {"asked": len(self.asked), "judged": len(self.judged), "judged_early": judged_early}
        return json.dumps({**vars(self), **counts}).encode()


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
                self.called(body, is_judge=head.startswith(JUDGE))

    def called(self, body: bytes, *, is_judge: bool) -> None:
        Service.ledger.begin()
        text = self.judged() if is_judge else self.asked(body)
        done = partial(self.done, text, Service.ledger, self.loop.time(), is_judge=is_judge)
        if Service.latency_s:
            self.loop.call_later(Service.latency_s, done)
        else:
            done()

    def asked(self, body: bytes) -> bytes:
        ledger = Service.ledger
        ledger.calls += 1
        ledger.last_call = self.loop.time()
        if ledger.first_call is None:
            ledger.first_call = ledger.last_call
        question = QUESTION.search(body)
        if question is None:
            return b'{"text": "?"}'
        number = int(question[1])
        ledger.asked.add(number)
        return b'{"text": "The answer is %b."}' % answer_to(number).encode()

    def judged(self) -> bytes:
        Service.ledger.judged.append(self.loop.time())
        return VERDICT

    def done(self, body: bytes, ledger: Ledger, began: float, *, is_judge: bool) -> None:
        now = self.loop.time()
        ledger.in_flight -= 1
        ledger.took_s += now - began
        if not is_judge:
            ledger.last_answer = now
        self.answer(body)

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
    # epoll counts in whole milliseconds, rounded up; select is exact, and fast enough where there is latency.
    selector = selectors.SelectSelector() if Service.latency_s else selectors.DefaultSelector()
    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(selector)) as runner:
        runner.run(serve(int(sys.argv[1])))
