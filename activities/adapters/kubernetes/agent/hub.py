"""The link of the first pod: a port that every other pod's agent connects to."""

from __future__ import annotations

import contextlib
import hmac
import ipaddress
import os
import selectors
import socket
import threading
import time

from . import wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

HELLO_WITHIN = 5.0  # seconds
MOST_STRANGERS = 64  # connections that have not said who they are


class Connection:
    def __init__(self, stream: socket.socket) -> None:
        self.stream = stream
        self.lines = wire.Lines()
        self.index: int | None = None  # who it is, once it has said so
        self.since = time.monotonic()
        self.waiting = b""


class Hub:
    """Speaks in a thread of its own. `heard`: by index, every pod but the first."""

    def __init__(self, host: str, port: int, token: str, indices: list[int], news: Callable[[], None]) -> None:
        """Raises OSError when the port cannot be had. `news` is called when a pod says something new."""
        self._tell_of_news = news
        self.heard = {index: wire.Heard() for index in indices}
        self._token = token
        self._listener = _listen(host, port)
        self._listener.setblocking(False)
        self._connections: dict[int, Connection] = {}
        self._strangers: set[Connection] = set()
        self._state: dict[str, Any] = {}
        self._n = 0
        self._closed_to_new = False
        self._news_reads, self._news = os.pipe()
        self._over = False
        self._selector = selectors.DefaultSelector()
        self._thread = threading.Thread(target=self._run, name="hub", daemon=True)

    def start(self) -> None:
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._news_reads, selectors.EVENT_READ)
        self._thread.start()

    def publish(self, state: dict[str, Any]) -> None:
        """Let every pod know; at once when this is new."""
        if state == self._state:
            return
        self._state, self._n = state, self._n + 1
        os.write(self._news, b"!")

    def take_nobody_new(self) -> None:
        """From now on a pod counts only in the start of it that is known."""
        self._closed_to_new = True

    def settled(self, indices: Iterable[int]) -> bool:
        """Whether those of these pods that are connected have taken in the last state that was published."""
        return all(self.heard[index].seen >= self._n for index in indices if index in self._connections)

    def close(self) -> None:
        self._over = True
        os.write(self._news, b"!")
        self._thread.join(1.0)

    def _run(self) -> None:
        beat = 0.0
        while not self._over:
            now = time.monotonic()
            if now >= beat:
                beat = now + wire.BEAT
                self._tell_all()
                self._drop_silent_strangers(now)
            for key, _ in self._selector.select(max(beat - time.monotonic(), 0)):
                if key.fileobj is self._listener:
                    self._accept()
                elif isinstance(key.data, Connection):
                    self._receive(key.data)
                else:
                    os.read(self._news_reads, 1 << 16)
                    self._tell_all()
        for connection in [*self._connections.values(), *self._strangers]:
            connection.stream.close()
        self._listener.close()

    def _accept(self) -> None:
        try:
            stream, _ = self._listener.accept()
        except OSError:
            return
        if len(self._strangers) >= MOST_STRANGERS:
            stream.close()
            return
        stream.setblocking(False)
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection = Connection(stream)
        self._strangers.add(connection)
        self._selector.register(stream, selectors.EVENT_READ, connection)

    def _receive(self, connection: Connection) -> None:
        try:
            data = connection.stream.recv(1 << 16)
            news = [self._take(connection, line) for line in connection.lines.feed(data)]
        except BlockingIOError:
            return
        except Exception:  # whatever a stranger sends must not end this thread
            self._drop(connection)
            return
        if not data:
            self._drop(connection)
        elif any(news):
            self._tell(connection)  # say at once that it has been taken in
            self._tell_of_news()

    def _take(self, connection: Connection, line: dict[str, Any]) -> bool:
        """Whether there was anything new in it."""
        index = line["index"]
        if not hmac.compare_digest(str(line["token"]).encode(), self._token.encode()) or index not in self.heard:
            raise ValueError("a stranger")
        if connection.index not in (None, index):
            raise ValueError("a pod is not two")
        heard = self.heard[index]
        if heard.id is not None and heard.id != line["id"] and self._closed_to_new:
            connection.stream.send(wire.line({"refused": "the gang has begun without this start of the pod"}))
            raise ValueError("too late")
        if connection.index is None:
            self._strangers.discard(connection)
            connection.index = index
            if older := self._connections.pop(index, None):
                self._drop(older)
            self._connections[index] = connection
        known = heard.n
        if heard.id != line["id"]:
            heard.id, heard.seen, known = line["id"], 0, -1
        heard.take(line)
        return heard.n != known

    def _tell_all(self) -> None:
        for connection in list(self._connections.values()):
            self._tell(connection)

    def _tell(self, connection: Connection) -> None:
        """Send the state, unless the peer has not read what it was sent before: the next one says it all anyway."""
        if connection.index is None:
            return
        if not connection.waiting:
            heard = self.heard[connection.index]
            connection.waiting = wire.line({"n": self._n, "seen": heard.n, "state": self._state})
        try:
            sent = connection.stream.send(connection.waiting)
            connection.waiting = connection.waiting[sent:]
        except BlockingIOError:
            return
        except OSError:
            self._drop(connection)

    def _drop_silent_strangers(self, now: float) -> None:
        for connection in [one for one in self._strangers if now - one.since > HELLO_WITHIN]:
            self._drop(connection)

    def _drop(self, connection: Connection) -> None:
        self._strangers.discard(connection)
        if connection.index is not None and self._connections.get(connection.index) is connection:
            del self._connections[connection.index]
            self.heard[connection.index].closed_at = time.monotonic()
        with contextlib.suppress(KeyError, ValueError):  # it was dropped before
            self._selector.unregister(connection.stream)
        connection.stream.close()


def _listen(host: str, port: int) -> socket.socket:
    """A name may not be known yet, and is one of ours anyway: listen everywhere. A plain address is meant as such."""
    try:
        version = ipaddress.ip_address(host).version
    except ValueError:
        try:
            return socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True)
        except (OSError, ValueError):  # a kernel without the newer protocol
            return socket.create_server(("", port))
    return socket.create_server((host, port), family=socket.AF_INET6 if version == 6 else socket.AF_INET)
