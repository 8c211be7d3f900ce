"""A service on loopback that answers by script and keeps a ledger of what it was asked."""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections.abc import Awaitable, Coroutine, Iterator
from contextlib import contextmanager
from ssl import SSLContext
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from cortex_eval.testing.answers import Answer, Behaviour, Call, Said, echo, headers_of

if TYPE_CHECKING:
    from aiohttp import web

T = TypeVar("T")
_TURNS_TO_ACCEPT = 5
"""Turns of the event loop before the service closes: Python 3.11 leaks a connection that is accepted while it does."""


class ScriptedService:
    """A real HTTP server on a free port of 127.0.0.1; every path and method is answered by the same script.

    `reply` is what to say: a value (text, a status, an `Answer`, or JSON), or a function of the call. It may be
    replaced while the service runs.
    """

    def __init__(
        self, reply: Said | Behaviour = echo, *, latency_s: float = 0.0, port: int = 0, tls: SSLContext | None = None
    ) -> None:
        self.reply = reply
        self.latency_s = latency_s
        self.ledger: list[Call] = []
        self.in_flight = 0
        self.peak_in_flight = 0
        """The most calls that were open at the same time."""
        self._port = port
        self._tls = tls
        self._arrival = threading.Condition()
        self._runner: web.ServerRunner | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def url(self) -> str:
        """Where it listens, such as `http://127.0.0.1:41234/`."""
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self._port}/"

    @property
    def answered(self) -> int:
        """How many calls got their whole answer."""
        return sum(call.answered for call in self.ledger)

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        await self.come_back()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.go_down()

    async def go_down(self) -> None:
        """Connections are refused and open ones are closed, until `come_back`."""
        runner, self._runner = self._runner, None
        if runner is not None:
            for _ in range(_TURNS_TO_ACCEPT):
                await asyncio.sleep(0)
            await runner.cleanup()

    async def come_back(self) -> None:
        """Listen again, on the same port."""
        from aiohttp import web

        # The shortest wait for open calls that aiohttp knows: a hanging one would never end by itself.
        self._runner = web.ServerRunner(web.Server(self._handle, handler_cancellation=True), shutdown_timeout=0.01)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self._port, ssl_context=self._tls, backlog=1024)
        await site.start()
        self._port = self._runner.addresses[0][1]

    @classmethod
    @contextmanager
    def in_thread(
        cls, reply: Said | Behaviour = echo, *, latency_s: float = 0.0, port: int = 0, tls: SSLContext | None = None
    ) -> Iterator[Self]:
        """The same for code that is not async: the service runs in a thread of its own."""
        service = cls(reply, latency_s=latency_s, port=port, tls=tls)
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever, name="scripted-service", daemon=True)
        thread.start()
        try:
            asyncio.run_coroutine_threadsafe(service.__aenter__(), loop).result()
            yield service
        finally:
            asyncio.run_coroutine_threadsafe(service.go_down(), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    def from_thread(self, work: Coroutine[Any, Any, T]) -> T:  # Any: what a coroutine yields and takes is not ours
        """Run `go_down()` or `come_back()` of a service that is `in_thread`."""
        assert self._loop is not None, "the service has not been entered"
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def wait_for_calls(self, count: int, *, timeout_s: float = 10.0) -> None:
        """Return when this many calls have arrived; `TimeoutError` when they do not."""
        with self._arrival:
            if not self._arrival.wait_for(lambda: len(self.ledger) >= count, timeout_s):
                raise TimeoutError(f"{len(self.ledger)} calls arrived within {timeout_s:g} s, not {count}")

    async def calls_arrived(self, count: int, *, timeout_s: float = 10.0) -> None:
        """Like `wait_for_calls`, for the event loop."""
        await asyncio.to_thread(self.wait_for_calls, count, timeout_s=timeout_s)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        at = time.monotonic()
        self.in_flight += 1
        self.peak_in_flight = max(self.peak_in_flight, self.in_flight)
        try:
            body = await request.read()
            with self._arrival:
                call = Call(
                    number=len(self.ledger) + 1,
                    method=request.method,
                    path=request.path_qs,
                    headers=request.headers,
                    body=body,
                    at=at,
                )
                self.ledger.append(call)
                self._arrival.notify_all()
            return await self._answer(request, call)
        finally:
            self.in_flight -= 1

    async def _answer(self, request: web.BaseRequest, call: Call) -> web.StreamResponse:
        said: Said | Awaitable[Said] = self.reply(call) if callable(self.reply) else self.reply
        if inspect.isawaitable(said):
            said = await said
        answer = Answer.of(said)
        if self.latency_s or answer.latency_s:
            await asyncio.sleep(self.latency_s + answer.latency_s)
        call.status = answer.status
        response = await (answer.deliver or _whole)(request, call, answer)
        call.answered = True
        return response


async def _whole(request: web.BaseRequest, call: Call, answer: Answer) -> web.StreamResponse:
    from aiohttp import web

    if answer.pieces is None:
        headers = {**headers_of(answer), "Content-Length": str(len(answer.body))}
        response = web.StreamResponse(status=answer.status, headers=headers)
        await response.prepare(request)
        await response.write(answer.body)
        call.sent += len(answer.body)
    else:
        response = web.StreamResponse(status=answer.status, headers=headers_of(answer))
        await response.prepare(request)
        for piece in answer.pieces():
            await response.write(piece)
            call.sent += len(piece)
    await response.write_eof()
    return response
