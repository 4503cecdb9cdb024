"""Readiness of a service: a file, a port that accepts, or a page that answers with 2xx. No look ever blocks."""

from __future__ import annotations

import os
import select
import socket
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LONGEST_LOOK = 5.0
HOST = "127.0.0.1"
ANSWER_BYTES = 64  # enough for a status line


class Probe:
    """`rule`: file, tcp_port, http_port, http_path, initial_delay, period, failure_threshold (seconds)."""

    def __init__(self, rule: dict[str, Any], run_folder: str) -> None:
        self._rule = rule
        self._run_folder = run_folder
        self._failures = 0
        self._socket: socket.socket | None = None
        self._asked = False
        self._answer = b""
        self._next = 0.0
        self._gives_up = 0.0
        self.ready = False

    def begun(self) -> None:
        """The command has just started, perhaps again: it is not ready until it shows so."""
        self._close()
        self.ready = False
        self._failures = 0
        self._next = time.monotonic() + self._rule["initial_delay"]

    def step(self) -> None:
        """Go on with a look, or begin the next one when its time has come."""
        now = time.monotonic()
        if self._socket is not None:
            self._go_on(self._socket, now)
        elif now >= self._next:
            self._next = now + self._rule["period"]
            self._begin(now)

    def _begin(self, now: float) -> None:
        if self._rule["file"] is not None:
            self._conclude(os.path.exists(f"{self._run_folder}/{self._rule['file']}"))
            return
        self._gives_up = now + min(LONGEST_LOOK, self._rule["period"])
        self._asked, self._answer = False, b""
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.setblocking(False)
        self._socket.connect_ex((HOST, self._rule["tcp_port"] or self._rule["http_port"]))
        self._go_on(self._socket, now)

    def _go_on(self, connection: socket.socket, now: float) -> None:
        try:
            verdict = self._look(connection)
        except OSError:
            verdict = False
        if verdict is None and now >= self._gives_up:
            verdict = False
        if verdict is not None:
            self._conclude(verdict)

    def _look(self, connection: socket.socket) -> bool | None:
        """None: not known yet."""
        if not self._asked:
            if not select.select([], [connection], [], 0)[1]:
                return None
            if connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0:
                return False
            if self._rule["http_port"] is None:
                return True
            connection.sendall(f"GET {self._rule['http_path']} HTTP/1.0\r\nHost: {HOST}\r\n\r\n".encode())
            self._asked = True
        if not select.select([connection], [], [], 0)[0]:
            return None
        more = connection.recv(ANSWER_BYTES)
        self._answer += more
        if b"\n" in self._answer or not more:
            words = self._answer.split(None, 2)
            return len(words) >= 2 and words[0].startswith(b"HTTP/") and words[1].startswith(b"2")
        return None

    def _conclude(self, good: bool) -> None:
        self._close()
        self._failures = 0 if good else self._failures + 1
        if good:
            self.ready = True
        elif self._failures >= self._rule["failure_threshold"]:
            self.ready = False

    def _close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None
