"""Sessions with a rank on this machine: a program in the rank's own environment, or a connection to a port of it."""

import contextlib
import fcntl
import json
import os
import pty
import select
import signal
import socket
import struct
import subprocess
import termios
import threading
import uuid
from pathlib import Path
from typing import Any

from activities.adapters.local.layout import Layout, rank_folder
from activities.adapters.local.shim import identity, procs
from activities.ports import ByteStream, PortError
from definitions.attempt import AttemptRef
from definitions.session import FRAME_BYTES, Channel, Exec, Frame, Terminal

ENTER = Path(__file__).with_name("shim") / "enter.py"
CONNECT_WITHIN = 10.0
END_WITHIN = 2.0  # seconds between SIGHUP and SIGKILL


def start(python: str, layout: Layout, ref: AttemptRef, rank: int, wants: Exec) -> ByteStream:
    """Raises PortError PD-3017, or PD-3018 when no process can be had."""
    folder = _running(layout, ref, rank)
    argv = (python, "-I", "-S", str(ENTER), str(folder), uuid.uuid4().hex, *wants.argv)
    try:
        return _PipedProcess(argv) if wants.terminal is None else _TerminalProcess(argv, wants.terminal)
    except OSError as error:
        raise PortError(f"no process can be started: {error.strerror or error}", code="PD-3018") from error


def connect(layout: Layout, ref: AttemptRef, rank: int, port: int) -> ByteStream:
    """Raises PortError PD-3017 or PD-3019."""
    _running(layout, ref, rank)
    try:
        return SocketStream(socket.create_connection(("127.0.0.1", port), CONNECT_WITHIN))
    except OSError as error:
        raise PortError(f"port {port}: {error.strerror or error}", permanent=True, code="PD-3019") from error


def _running(layout: Layout, ref: AttemptRef, rank: int) -> Path:
    """The folder of a rank whose own command lives."""
    folder = rank_folder(layout.attempt(ref), rank)
    with contextlib.suppress(OSError):
        known = identity.read(str(folder))
        command = (known or {}).get("command") or {}
        here = known is not None and known["boot_id"] == procs.boot_id()
        if here and procs.is_alive(int(command.get("pid", 0)), command.get("started")):
            return folder
    raise PortError(f"rank {rank} does not run", permanent=True, code="PD-3017")


class _Process:
    """What both kinds of program share: a last frame with its status, and an end that its group does not survive."""

    def __init__(self, argv: tuple[str, ...], **streams: Any) -> None:
        self._process = subprocess.Popen(argv, env={}, cwd="/", start_new_session=True, bufsize=0, **streams)
        self._told = False

    def _status(self) -> Frame | None:
        if self._told:
            return None
        self._told = True
        code = self._process.wait()
        return Frame(Channel.STATUS, json.dumps({"exitCode": code if code >= 0 else 128 - code}).encode())

    def _end(self) -> None:
        for number in (signal.SIGHUP, signal.SIGKILL):
            if self._process.poll() is not None:
                return
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(END_WITHIN)


class _PipedProcess(_Process):
    def __init__(self, argv: tuple[str, ...]) -> None:
        super().__init__(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._input = process.stdin
        self._outputs = (process.stdout, process.stderr)
        self._open = {process.stdout.fileno(): Channel.OUTPUT, process.stderr.fileno(): Channel.ERRORS}

    def receive(self) -> Frame | None:
        while self._open:
            for descriptor in select.select(list(self._open), [], [])[0]:
                if data := os.read(descriptor, FRAME_BYTES):
                    return Frame(self._open[descriptor], data)
                del self._open[descriptor]
        return self._status()

    def send(self, frame: Frame) -> None:
        with contextlib.suppress(OSError, ValueError):  # ValueError: closed already
            if frame.channel is Channel.INPUT:
                _write_all(self._input.fileno(), frame.data)
            elif frame.channel is Channel.INPUT_END:
                self._input.close()

    def close(self) -> None:
        self._end()
        for stream in (self._input, *self._outputs):
            with contextlib.suppress(OSError):
                stream.close()


class _TerminalProcess(_Process):
    def __init__(self, argv: tuple[str, ...], size: Terminal) -> None:
        self._terminal, inner = pty.openpty()
        self._lock = threading.Lock()
        try:
            self._resize(size)
            super().__init__(argv, stdin=inner, stdout=inner, stderr=inner)
        except OSError:
            os.close(self._terminal)
            raise
        finally:
            os.close(inner)

    def receive(self) -> Frame | None:
        try:
            data = os.read(self._terminal, FRAME_BYTES)
        except OSError:  # EIO: the last process has closed its end
            data = b""
        return Frame(Channel.OUTPUT, data) if data else self._status()

    def send(self, frame: Frame) -> None:
        with contextlib.suppress(OSError, ValueError), self._lock:
            match frame.channel:
                case Channel.INPUT:
                    _write_all(self._terminal, frame.data)
                case Channel.INPUT_END:
                    os.write(self._terminal, b"\x04")
                case Channel.RESIZE:
                    self._resize(Terminal.model_validate_json(frame.data))

    def close(self) -> None:
        self._end()
        with contextlib.suppress(OSError):
            os.close(self._terminal)

    def _resize(self, size: Terminal) -> None:
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", size.rows, size.columns, 0, 0))


class SocketStream:
    """A connection as a session: bytes both ways, and an end in each direction."""

    def __init__(self, connection: socket.socket) -> None:
        connection.settimeout(None)
        self._connection = connection

    def receive(self) -> Frame | None:
        try:
            data = self._connection.recv(FRAME_BYTES)
        except OSError:
            data = b""
        return Frame(Channel.OUTPUT, data) if data else None

    def send(self, frame: Frame) -> None:
        with contextlib.suppress(OSError):
            if frame.channel is Channel.INPUT:
                self._connection.sendall(frame.data)
            elif frame.channel is Channel.INPUT_END:
                self._connection.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        self._connection.close()


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
