"""This end of a program that runs beside a rank: the terminal, or plain streams."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from perdure.client.session_socket import (
    ERRORS,
    FRAME_BYTES,
    INPUT,
    INPUT_END,
    OUTPUT,
    RESIZE,
    STATUS,
    SessionSocket,
    open_exec,
    status_of,
)
from perdure.codes import LOST_SESSION, USAGE
from perdure.errors import PerdureError

if TYPE_CHECKING:
    from perdure.client import Client


def run(client: Client, job: str, program: list[str], *, rank: int, stdin: bool, tty: bool) -> int:
    """Run it to its end; returns its exit code. Raises PerdureError when it cannot be run, or the session breaks."""
    if tty and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise PerdureError(USAGE, "there is no terminal here to connect with one there", where="--tty")
    size = _size() if tty else None
    socket = open_exec(client.target, job, program, rank=rank, size=size)
    with contextlib.closing(socket), _raw_terminal(socket) if tty else contextlib.nullcontext():
        if stdin or tty:
            threading.Thread(target=_send_input, args=(socket,), daemon=True).start()
        else:
            socket.send(INPUT_END)
        return _receive(socket)


def _size() -> tuple[int, int]:
    columns, rows = os.get_terminal_size()
    return columns or 80, rows or 24  # some terminals do not tell


def _receive(socket: SessionSocket) -> int:
    streams = {OUTPUT: sys.stdout.fileno(), ERRORS: sys.stderr.fileno()}
    while (frame := socket.receive()) is not None:
        channel, data = frame
        if channel == STATUS:
            return status_of(data)
        if channel in streams:
            _write_all(streams[channel], data)
    raise PerdureError(LOST_SESSION, "the session broke off before the program told its end")


def _send_input(socket: SessionSocket) -> None:
    while data := os.read(sys.stdin.fileno(), FRAME_BYTES):
        socket.send(INPUT, data)
    socket.send(INPUT_END)


@contextmanager
def _raw_terminal(socket: SessionSocket) -> Iterator[None]:
    """Every key goes to the program, and every change of the window's size."""
    import termios
    import tty

    before = termios.tcgetattr(sys.stdin)

    def resize(_number: int, _frame: object) -> None:
        columns, rows = _size()
        socket.send(RESIZE, json.dumps({"columns": columns, "rows": rows}).encode())

    earlier = signal.signal(signal.SIGWINCH, resize)
    tty.setraw(sys.stdin, termios.TCSADRAIN)  # what was typed already is kept
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
        signal.signal(signal.SIGWINCH, earlier)


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
