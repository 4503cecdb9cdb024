"""One websocket to the API server, split into numbered channels, as the kubelet's sessions want it."""

import contextlib
import queue
import select
import socket
import ssl
import threading
import time
from collections import deque

from activities.adapters.kubernetes.errors import KubeError, Target
from activities.adapters.kubernetes.frames import BINARY, CLOSING, PING, PONG, Frames, frame

CLOSE = 255  # the channel on which the end of another one is told
BLOCK = 64 * 1024
WAITING_OUT = 1024 * 1024  # bytes that may wait to be sent before writers wait
WAITING_IN = 4 * 1024 * 1024  # bytes that may wait to be read before the server waits
LEAVING = 1.0  # seconds for the word that we leave
STALLED = 60.0  # seconds without any room after which a writer gives up
WAIT = (ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError)


class Channels:
    """Frames of (channel, bytes), both ways. Any thread may read, write and close.

    One thread owns the socket, for two must not use one TLS connection at the same time.
    """

    def __init__(self, connection: socket.socket, target: Target, *, can_close_one: bool) -> None:
        self.ended = False
        self.can_close_one = can_close_one
        self._connection, self._target = connection, target
        connection.setblocking(False)
        self._bell, self._ringer = socket.socketpair()
        self._frames = Frames()
        self._incoming: queue.SimpleQueue[tuple[int, bytes] | str | None] = queue.SimpleQueue()
        self._unread = 0
        self._outgoing: deque[memoryview] = deque()
        self._room = threading.Condition()
        self._closing = False
        self._finished = False
        self._thread = threading.Thread(target=self._run, name="kube-session", daemon=True)
        self._thread.start()

    def read(self, seconds: float) -> tuple[int, bytes] | None:
        """The next frame, or None when none came in time or the other side has closed (`ended`).

        Raises KubeError PD-3114 when the link breaks.
        """
        if self.ended:
            return None
        try:
            found = self._incoming.get(timeout=max(seconds, 0.0))
        except queue.Empty:
            return None
        if isinstance(found, tuple):
            with self._room:
                self._unread -= len(found[1])
            self._ring()
            return found
        self.ended = True
        if isinstance(found, str) and not self._closing:
            raise KubeError("PD-3114", f"{self._target}: the connection broke: {found}")
        return None

    def write(self, channel: int, data: bytes) -> None:
        """Hand over a frame; waits while much is on its way. Raises PD-3114 when the session is over."""
        with self._room:
            free = self._room.wait_for(
                lambda: self._finished or self._closing or self._backlog() < WAITING_OUT, STALLED
            )
            if not free or self._finished or self._closing:
                raise KubeError("PD-3114", f"{self._target}: the session takes nothing any more")
            self._outgoing.append(memoryview(frame(BINARY, bytes([channel]) + data)))
        self._ring()

    def close_one(self, channel: int) -> None:
        """Tell the other side that nothing more comes on a channel."""
        self.write(CLOSE, bytes([channel]))

    def close(self) -> None:
        """End both ways; who reads or writes comes back. Safe to repeat."""
        with self._room:
            self._closing = True
            self._room.notify_all()
        self._ring()
        self._thread.join(2 * LEAVING)
        self.ended = True

    def _over(self) -> bool:
        return self._finished or self._closing

    def _backlog(self) -> int:
        return sum(len(part) for part in self._outgoing)

    def _ring(self) -> None:
        with contextlib.suppress(OSError):
            self._ringer.send(b"x")

    def _run(self) -> None:
        why: str | None = None
        try:
            while not self._closing and self._turn():
                pass
            self._leave()
        except (OSError, ValueError) as error:
            why = str(error) or type(error).__name__
        with self._room:
            self._finished = True
            self._room.notify_all()
        self._incoming.put(why)
        for each in (self._connection, self._bell, self._ringer):
            each.close()

    def _turn(self) -> bool:
        """Receive and send what can be, then wait for more. False at the end."""
        receiving = self._unread < WAITING_IN
        if receiving and not self._receive():
            return False
        sending = self._send()
        events = (select.POLLIN if receiving else 0) | (select.POLLOUT if sending else 0)
        poll = select.poll()
        poll.register(self._connection, events)
        poll.register(self._bell, select.POLLIN)
        if any(each == self._bell.fileno() for each, _ in poll.poll()):
            self._bell.recv(4096)
        return True

    def _receive(self) -> bool:
        """All that is there; what TLS has decrypted already no poll would tell of. False at the end."""
        while self._unread < WAITING_IN:
            try:
                block = self._connection.recv(BLOCK)
            except WAIT:
                return True
            if not block:
                raise ConnectionError("the other side hung up")
            for code, data in self._frames.feed(block):
                if code == CLOSING:
                    return False
                if code == PING:
                    with self._room:
                        self._outgoing.append(memoryview(frame(PONG, data)))
                elif code != PONG and data:
                    with self._room:
                        self._unread += len(data) - 1
                    self._incoming.put((data[0], data[1:]))
        return True

    def _send(self) -> bool:
        """As much as the connection takes; whether something is left."""
        while True:
            with self._room:
                if not self._outgoing:
                    return False
                part = self._outgoing[0]
            try:
                sent = self._connection.send(part)
            except WAIT:
                return True
            with self._room:
                self._outgoing[0] = part[sent:]
                if sent == len(part):
                    self._outgoing.popleft()
                self._room.notify_all()

    def _leave(self) -> None:
        """Say goodbye if there is time for it; a frame that was begun cannot be left out."""
        self._outgoing = deque([*list(self._outgoing)[:1], memoryview(frame(CLOSING, b"\x03\xe8"))])
        ends = time.monotonic() + LEAVING
        with contextlib.suppress(OSError):
            while self._send() and (left := ends - time.monotonic()) > 0:
                poll = select.poll()
                poll.register(self._connection, select.POLLOUT)
                poll.poll(left * 1000)
            self._connection.shutdown(socket.SHUT_RDWR)
