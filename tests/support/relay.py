"""Relays before servers: one that cuts connections on purpose, one that lets pods reach this machine's loopback."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

BLOCK = 64 * 1024


@contextmanager
def cutting(endpoint: str, after: int) -> Iterator[str]:
    """The endpoint of a relay to `endpoint`; each connection ends once so many bytes of answers went through it."""
    parts = urlsplit(endpoint)
    target = (str(parts.hostname), int(parts.port or 80))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=_accept, args=(listener, target, after), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            listener.shutdown(socket.SHUT_RDWR)


@contextmanager
def reached_at(host: str, port: int) -> Iterator[int]:
    """A port of `host`, an address of this machine, that leads to a port of the loopback interface: for pods."""
    with socket.create_server((host, 0)) as listener:
        threading.Thread(target=_accept, args=(listener, ("127.0.0.1", port), None), daemon=True).start()
        try:
            yield int(listener.getsockname()[1])
        finally:
            listener.shutdown(socket.SHUT_RDWR)


def _accept(listener: socket.socket, target: tuple[str, int], after: int | None) -> None:
    with contextlib.suppress(OSError):  # closed
        while True:
            client, _ = listener.accept()
            server = socket.create_connection(target)
            for one, other, most in ((client, server, None), (server, client, after)):
                threading.Thread(target=_pump, args=(one, other, most), daemon=True).start()


def _pump(source: socket.socket, sink: socket.socket, most: int | None) -> None:
    passed = 0
    with contextlib.suppress(OSError):
        while (most is None or passed < most) and (block := source.recv(BLOCK)):
            sink.sendall(block)
            passed += len(block)
    for end in (source, sink):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()
