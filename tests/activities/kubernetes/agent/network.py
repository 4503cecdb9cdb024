"""A piece of network between two agents that can be made to stand still: nothing gets through, nothing is refused."""

import contextlib
import selectors
import socket
import threading
import time
from typing import Self


class Wire:
    """Forwards connections to a port. While it is held, what is sent waits, as packets that are lost and repeated."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.connections = 0
        self._target = 0
        self._held_until = 0.0
        self._over = False
        self._others: dict[socket.socket, socket.socket] = {}
        self._selector = selectors.DefaultSelector()
        self._thread = threading.Thread(target=self._run)

    def lead_to(self, port: int) -> None:
        self._target = port

    def hold_for(self, seconds: float) -> None:
        self._held_until = time.monotonic() + seconds

    def __enter__(self) -> Self:
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over = True
        self._thread.join()
        for stream in (self._listener, *self._others):
            stream.close()
        self._selector.close()

    def _run(self) -> None:
        while not self._over:
            if time.monotonic() < self._held_until:
                time.sleep(0.02)
                continue
            for key, _ in self._selector.select(0.02):
                if key.fileobj is self._listener:
                    self._accept()
                elif isinstance(key.fileobj, socket.socket):
                    self._forward(key.fileobj)

    def _accept(self) -> None:
        near, _ = self._listener.accept()
        try:
            far = socket.create_connection(("127.0.0.1", self._target))
        except ConnectionRefusedError:  # the first pod is not there yet
            near.close()
            return
        self.connections += 1
        for one, other in ((near, far), (far, near)):
            self._others[one] = other
            self._selector.register(one, selectors.EVENT_READ)

    def _forward(self, stream: socket.socket) -> None:
        other = self._others.get(stream)
        if other is None:
            return
        data = b""
        with contextlib.suppress(OSError):
            data = stream.recv(1 << 16)
        with contextlib.suppress(OSError):
            other.sendall(data)
        if not data:
            for one in (stream, other):
                self._others.pop(one, None)
                self._selector.unregister(one)
                one.close()
