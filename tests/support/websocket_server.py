"""A websocket server on loopback that plays one session by script: what a kubelet says on a bad day."""

import base64
import contextlib
import hashlib
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
BINARY, CLOSE = 2, 8


class Session:
    """The server's side of one open websocket."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def say(self, channel: int, data: bytes) -> None:
        self._frame(BINARY, bytes([channel]) + data)

    def end(self) -> None:
        self._frame(CLOSE, struct.pack("!H", 1000))

    def hear(self) -> bytes:
        """Wait until the client says something."""
        return self._connection.recv(4096)

    def _frame(self, code: int, data: bytes) -> None:
        size = struct.pack("!BH", 126, len(data)) if 125 < len(data) < 65536 else bytes([len(data)])
        self._connection.sendall(bytes([0x80 | code]) + size + data)


@contextmanager
def websocket_server(play: Callable[[Session], None], protocol: str) -> Iterator[str]:
    """The address of a server that accepts this protocol only, and plays for everybody who connects."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=_accept, args=(listener, play, protocol), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            thread.join(5)


def _accept(listener: socket.socket, play: Callable[[Session], None], protocol: str) -> None:
    with contextlib.suppress(OSError):  # closed, or the client left
        while True:
            connection, _ = listener.accept()
            with connection, contextlib.suppress(OSError):
                _shake(connection, protocol)
                play(Session(connection))


def _shake(connection: socket.socket, protocol: str) -> None:
    head = b""
    while b"\r\n\r\n" not in head:
        head += connection.recv(4096)
    lines = [line.partition(b":") for line in head.split(b"\r\n")]
    key = next(value.strip() for name, _, value in lines if name.lower() == b"sec-websocket-key")
    accept = base64.b64encode(hashlib.sha1(key + MAGIC).digest()).decode()
    answer = [
        "HTTP/1.1 101 Switching Protocols",
        "Upgrade: websocket",
        "Connection: Upgrade",
        f"Sec-WebSocket-Accept: {accept}",
        f"Sec-WebSocket-Protocol: {protocol}",
    ]
    connection.sendall("\r\n".join([*answer, "", ""]).encode())
