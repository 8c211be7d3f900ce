"""A service that answers `{"text": …}` after a set latency: raw asyncio, so that it is not what is measured.

usage: service.py PORT LATENCY_MS       GET /stats: calls so far
"""

import asyncio
import json
import re
import sys

LENGTH = re.compile(rb"content-length:\s*(\d+)", re.I)
QUESTION = re.compile(rb"\bq(\d+)\b")
PORT, LATENCY_S = int(sys.argv[1]), float(sys.argv[2]) / 1000


class Service(asyncio.Protocol):
    calls = 0

    def connection_made(self, transport):
        self.transport, self.buffer = transport, b""

    def data_received(self, data):
        self.buffer += data
        while (head_end := self.buffer.find(b"\r\n\r\n")) >= 0:
            head = self.buffer[:head_end]
            length = LENGTH.search(head)
            end = head_end + 4 + (int(length[1]) if length else 0)
            if len(self.buffer) < end:
                return
            body, self.buffer = self.buffer[head_end + 4 : end], self.buffer[end:]
            if head.startswith(b"GET /stats"):
                self.answer(json.dumps({"calls": Service.calls}).encode())
                continue
            Service.calls += 1
            asked = QUESTION.search(body)
            text = b'{"text": "The answer is A%d."}' % (int(asked[1]) * 7919 % 100003) if asked else b'{"text": "?"}'
            if LATENCY_S:
                LOOP.call_later(LATENCY_S, self.answer, text)
            else:
                self.answer(text)

    def answer(self, body):
        if not self.transport.is_closing():
            self.transport.write(
                b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)
            )


async def main():
    global LOOP
    LOOP = asyncio.get_running_loop()
    server = await LOOP.create_server(Service, "127.0.0.1", PORT, backlog=4096)
    print("ready", flush=True)
    await server.serve_forever()


asyncio.run(main())
