"""A TCP proxy on loopback that can take the service behind it away: refuse, cut, or lose one reply."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit, urlunsplit


class Outage:
    """Stands before a port; `down()` cuts and refuses all, `up()` lets through again, `lose_reply()` cuts once.

    `with Outage.before(url) as line:` gives `line.url`, which leads through it.
    """

    def __init__(self, host: str, port: int) -> None:
        self._behind = host, port
        self._listener: socket.socket | None = None
        self._pairs: set[tuple[socket.socket, socket.socket]] = set()
        self._loses: Callable[[bytes], bool] | None = None
        self._lock = threading.Lock()
        self.port = 0
        self.cuts = 0
        """Connections that were cut so far."""
        self.url = ""

    @classmethod
    def before(cls, url: str) -> Self:
        """A proxy before the service at this URL."""
        parts = urlsplit(url)
        assert parts.hostname
        assert parts.port
        made = cls(parts.hostname, parts.port)
        made.up()
        netloc = parts.netloc.replace(f"{parts.hostname}:{parts.port}", f"127.0.0.1:{made.port}")
        made.url = urlunsplit(parts._replace(netloc=netloc))
        return made

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.down()

    def up(self) -> None:
        """Take connections, on the same port as before."""
        self._listener = socket.create_server(("127.0.0.1", self.port))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def down(self) -> None:
        """Cut every connection and refuse new ones."""
        if self._listener is not None:
            with suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)  # wakes whoever is accepting
            self._listener.close()
            self._listener = None
        self.cut()

    def cut(self) -> None:
        """Cut every connection; new ones are taken."""
        with self._lock:
            pairs, self._pairs = self._pairs, set()
        for pair in pairs:
            self._cut(pair)

    def lose_reply(self, to: Callable[[bytes], bool]) -> None:
        """Once: when what a client sent fulfils this, the service gets it, and its reply is not let through."""
        self._loses = to

    def _cut(self, pair: tuple[socket.socket, socket.socket]) -> None:
        self.cuts += 1
        for each in pair:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                client = listener.accept()[0]
                server = socket.create_connection(self._behind)
            except OSError:
                return
            pair = client, server
            with self._lock:
                self._pairs.add(pair)
            is_lost = threading.Event()
            for source, sink, watch in ((client, server, True), (server, client, False)):
                threading.Thread(target=self._pump, args=(pair, source, sink, is_lost, watch), daemon=True).start()

    def _pump(
        self,
        pair: tuple[socket.socket, socket.socket],
        source: socket.socket,
        sink: socket.socket,
        is_lost: threading.Event,
        is_client: bool,
    ) -> None:
        """One direction, until an end is cut."""
        with closing(source):
            while True:
                try:
                    data = source.recv(1 << 16)
                    if not data:
                        break
                    if is_client and self._loses is not None and self._loses(data):
                        self._loses = None
                        is_lost.set()  # before the service can answer
                    if is_lost.is_set() and not is_client:
                        self._cut(pair)
                        break
                    sink.sendall(data)
                except OSError:
                    break
            with suppress(OSError):
                sink.shutdown(socket.SHUT_WR)
        with self._lock:
            self._pairs.discard(pair)
