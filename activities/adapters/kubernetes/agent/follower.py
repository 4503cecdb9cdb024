"""The link of every pod but the first: one connection to the first pod's agent, made anew whenever it falls silent."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import threading
import time

from . import wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

RETRY_PAUSE = 0.2  # seconds


class Follower:
    """Speaks in a thread of its own. `heard`: the first pod; `refused`: why it wants nothing of us, if so."""

    def __init__(self, place: tuple[str, int], token: str, index: int, news: Callable[[], None]) -> None:
        """`place`: the first pod's name and port. `news` is called when it says something new."""
        self.heard = wire.Heard()
        self._tell_of_news = news
        self.refused: str | None = None
        self._names = {"token": token, "index": index, "id": os.urandom(8).hex()}
        self._place = place
        self._address: tuple[str, int] | None = None  # where it was found; names may not be resolved any more later
        self._state: dict[str, Any] = {}
        self._n = 0
        self._news_reads, self._news = os.pipe()
        self._over = False
        self._thread = threading.Thread(target=self._run, name="follower", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def publish(self, state: dict[str, Any]) -> None:
        """Let the first pod know; at once when this is new."""
        if state == self._state:
            return
        self._state, self._n = state, self._n + 1
        os.write(self._news, b"!")

    def settled(self) -> bool:
        """Whether the last state that was published has been taken in."""
        return self.heard.seen >= self._n or self.refused is not None

    def close(self) -> None:
        self._over = True
        os.write(self._news, b"!")

    def _run(self) -> None:
        quiet: socket.socket | None = None
        while not self._over and self.refused is None:
            try:
                connection = self._connect()
            except OSError as error:
                self._note_failure(error)
                time.sleep(RETRY_PAUSE)
                continue
            older, quiet = quiet, None
            try:
                self._talk(connection, older)
                quiet = connection
            except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
                self._note_failure(error)
                connection.close()
            time.sleep(RETRY_PAUSE / 4)
        if quiet is not None:
            quiet.close()

    def _connect(self) -> socket.socket:
        connection = socket.create_connection(self._address or self._place, wire.CONNECT_WITHIN)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._address = connection.getpeername()[:2]
        return connection

    def _note_failure(self, error: Exception) -> None:
        """A connection that is refused or ended tells more than silence does: nobody listens there any more."""
        if isinstance(error, ConnectionError) and self.heard.at and self.heard.closed_at is None:
            self.heard.closed_at = time.monotonic()

    def _talk(self, connection: socket.socket, older: socket.socket | None) -> None:
        """Until it is over, or the other end is, or it has been quiet too long. `older` was given up for being quiet,
        and ends when the first pod has heard of the new one: were we stopped between, it would take us for gone."""
        with older or contextlib.nullcontext():
            connection.sendall(wire.line(self._line()))
        lines = wire.Lines()
        heard = time.monotonic()
        beat = heard + wire.BEAT
        while not self._over:
            now = time.monotonic()
            if now - heard > wire.QUIET:
                return
            if now >= beat:
                connection.sendall(wire.line(self._line()))
                beat = now + wire.BEAT
            numbers = [connection.fileno(), self._news_reads]
            ready, _, _ = select.select(numbers, [], [], max(beat - now, 0))
            if self._news_reads in ready:
                os.read(self._news_reads, 1 << 16)
                beat = 0.0
            if connection.fileno() in ready:
                data = connection.recv(1 << 16)
                if not data:
                    raise ConnectionResetError("the first pod has closed the connection")
                for line in lines.feed(data):
                    heard = time.monotonic()
                    self._take(line)
                if self.refused is not None:
                    return

    def _line(self) -> dict[str, Any]:
        return {**self._names, "n": self._n, "seen": self.heard.n, "state": self._state}

    def _take(self, line: dict[str, Any]) -> None:
        if "refused" in line:
            self.refused = str(line["refused"])
        else:
            known = self.heard.n
            self.heard.take(line)
            if self.heard.n != known:
                os.write(self._news, b"!")  # say at once that it has been taken in
                self._tell_of_news()
