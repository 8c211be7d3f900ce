"""A sample health chatbot on loopback: a real HTTP service with planted weaknesses, for the demo and for tests.

It is a sample, not a medical product: it looks answers up in about a hundred short texts of its own, and it is wrong on
purpose in the ways that WEAKNESSES.md lists, so that a report has something to find.
"""

from __future__ import annotations

import asyncio
import json
import threading
from concurrent.futures import Future
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, get_args

from cortex_eval.core import InputError, did_you_mean
from cortex_eval.demo.knowledge import Version, load_knowledge

if TYPE_CHECKING:
    from aiohttp import web

_ABOUT = (
    "This is the sample health chatbot of Cortex, version {version}. It is not a medical product, and some of its "
    "answers are wrong on purpose. POST /chat with a bearer key and {{query, context, user_id}}."
)
_TURNS_TO_ACCEPT = 5
"""Turns of the event loop before the service closes: Python 3.11 leaks a connection that is accepted while it does."""


class HealthChatbot:
    """The sample chatbot, listening on a free port of 127.0.0.1 while it is entered, in a thread of its own.

    `with HealthChatbot() as bot: bot.url` in plain code, `async with` in async code. Version 1.1 is 1.0 with one more
    fault. Each object is entered once.
    """

    def __init__(self, *, version: Version = "1.0", port: int = 0) -> None:
        if version not in get_args(Version):
            raise InputError(
                f"The sample chatbot has no version {version!r}. {did_you_mean(version, get_args(Version))}"
            )
        self.version: Version = version
        self.url = ""
        """Where questions are posted, such as `http://127.0.0.1:41234/chat`; empty before it is entered."""
        self._port = port
        self._stop: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._listening: Future[str] = Future()
        self._thread = threading.Thread(target=self._run, name="health-chatbot", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self.url = self._listening.result()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._loop is not None, "it is left only after it was entered"
        assert self._stop is not None
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    async def __aenter__(self) -> Self:
        return await asyncio.to_thread(self.__enter__)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.__exit__, kind, error, trace)

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except OSError as error:  # the port is taken: told to the one who entered
            self._listening.set_exception(error)

    async def _serve(self) -> None:
        from aiohttp import web

        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        app = web.Application()
        app.add_routes([web.get("/", self._about), web.post("/chat", self._chat)])
        # Whoever still waits for the slow topic when the service stops is cut off, not waited for.
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.01)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", self._port).start()
            self._listening.set_result(f"http://127.0.0.1:{runner.addresses[0][1]}/chat")
            await self._stop.wait()
            for _ in range(_TURNS_TO_ACCEPT):
                await asyncio.sleep(0)
        finally:
            await runner.cleanup()

    async def _about(self, _request: web.Request) -> web.Response:
        from aiohttp import web

        about = _ABOUT.format(version=self.version)
        return web.json_response({"service": "health-chatbot", "version": self.version, "sample": True, "about": about})

    async def _chat(self, request: web.Request) -> web.Response:
        scheme, _, key = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not key.strip():
            return _refuse(401, "A bearer key is needed: any word will do, this is a sample service.")
        try:
            query, previous_query = _read_question(await request.read())
        except ValueError as error:
            return _refuse(400, str(error))
        found = load_knowledge().answer(query, previous_query=previous_query, version=self.version)
        await asyncio.sleep(found.delay_s)  # planted: one topic is slow (weakness 5)
        from aiohttp import web

        return web.json_response({"text": found.text, "intent": found.intent, "confidence": found.confidence})


def _refuse(status: int, message: str) -> web.Response:
    from aiohttp import web

    return web.json_response({"error": message}, status=status)


def _read_question(body: bytes) -> tuple[str, str]:
    """The question and the one before it; `ValueError` says what is wrong with the body."""
    try:
        said: Any = json.loads(body)  # Any: whatever came; checked below
    except ValueError as error:
        raise ValueError(f"The body is not JSON: {error}") from error
    query = said.get("query") if isinstance(said, dict) else None
    if not isinstance(query, str) or not query.strip():
        raise ValueError("The body needs a 'query' that is a text with something in it.")
    context = said.get("context")
    previous = context.get("previous_query") if isinstance(context, dict) else None
    return query, previous if isinstance(previous, str) else ""
