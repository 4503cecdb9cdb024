"""Ports of this machine that lead to ports of a rank: a listener each, and a session for every connection."""

from __future__ import annotations

import contextlib
import selectors
import socket
import sys
import threading
from typing import TYPE_CHECKING, NamedTuple

from perdure.client.session_socket import (
    FRAME_BYTES,
    INPUT,
    INPUT_END,
    OUTPUT,
    STATUS,
    SessionSocket,
    open_forward,
    status_of,
)
from perdure.codes import PORT_TAKEN
from perdure.errors import PerdureError

if TYPE_CHECKING:
    from perdure.client import Client

HOST = "127.0.0.1"


class Pair(NamedTuple):
    local: int
    remote: int


def pair(word: str) -> Pair:
    """`6006`, or `8080:80` with this machine's port first. Raises ValueError."""
    local, colon, remote = word.rpartition(":")
    numbers = (local if colon else remote, remote)
    if not all(number.isascii() and number.isdigit() and int(number) <= 65535 for number in numbers):
        raise ValueError(f"{word!r} is not written PORT or LOCAL:PORT")
    if int(remote) == 0:
        raise ValueError("port 0 of a rank is no port")
    return Pair(int(numbers[0]), int(numbers[1]))


def run(client: Client, job: str, pairs: list[Pair], *, rank: int) -> None:
    """Forward until interrupted. Raises PerdureError when a port here is taken, or the first connection is refused."""
    # An interrupt is how this ends, also one that comes as soon as the addresses are told.
    with (
        contextlib.suppress(KeyboardInterrupt),
        contextlib.ExitStack() as stack,
        selectors.DefaultSelector() as selector,
    ):
        for wanted in pairs:
            listener = stack.enter_context(_listener(wanted.local))
            selector.register(listener, selectors.EVENT_READ, wanted.remote)
            here = f"http://{HOST}:{listener.getsockname()[1]}"
            print(f"{here} leads to port {wanted.remote} of rank {rank}", file=sys.stderr)
        while True:
            for key, _ in selector.select():
                accepted, _ = key.fileobj.accept()  # type: ignore[union-attr]
                arguments = (client, job, accepted, key.data, rank)
                threading.Thread(target=_connect, args=arguments, daemon=True).start()


def _listener(port: int) -> socket.socket:
    try:
        return socket.create_server((HOST, port))
    except OSError as error:
        raise PerdureError(PORT_TAKEN, f"port {port} of this machine: {error.strerror or error}") from error


def _connect(client: Client, job: str, accepted: socket.socket, port: int, rank: int) -> None:
    """One connection, to its end in both directions. A refusal is told, and the connection closed."""
    with accepted:
        try:
            with contextlib.closing(open_forward(client.target, job, port, rank=rank)) as far:
                threading.Thread(target=_outwards, args=(accepted, far), daemon=True).start()
                _inwards(accepted, far)
        except PerdureError as error:
            print(f"perdure: {error}", file=sys.stderr)


def _outwards(accepted: socket.socket, far: SessionSocket) -> None:
    with contextlib.suppress(OSError):
        while data := accepted.recv(FRAME_BYTES):
            far.send(INPUT, data)
    far.send(INPUT_END)


def _inwards(accepted: socket.socket, far: SessionSocket) -> None:
    """What the rank says, until it closes. Raises PerdureError when the connection ended with a problem."""
    with contextlib.suppress(OSError):
        while (frame := far.receive()) is not None:
            channel, data = frame
            if channel == OUTPUT:
                accepted.sendall(data)
            elif channel == STATUS:
                status_of(data)
                return
