"""The person's end of a session with a rank: one connection, frames both ways, and a status at the end."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote, urlencode

from websockets.exceptions import InvalidHandshake, WebSocketException
from websockets.sync.client import ClientConnection, connect

from perdure.client.exchange import Target
from perdure.codes import UNREACHABLE
from perdure.errors import PerdureApiError, PerdureError

INPUT, OUTPUT, ERRORS, STATUS, RESIZE, INPUT_END = range(6)
FRAME_BYTES = 64 * 1024
OPEN_WITHIN = 20.0


class SessionSocket:
    """One open session. `receive` and `send` may be called from two threads."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection

    def receive(self) -> tuple[int, bytes] | None:
        """The next frame as channel and bytes; None when the other end has gone."""
        try:
            message = self._connection.recv()
        except (OSError, WebSocketException):
            return None
        data = message.encode() if isinstance(message, str) else message
        return (data[0], data[1:]) if data else None

    def send(self, channel: int, data: bytes = b"") -> None:
        """Hand over bytes; nothing happens when the other end has gone."""
        try:
            for start in range(0, max(len(data), 1), FRAME_BYTES):
                self._connection.send(bytes((channel,)) + data[start : start + FRAME_BYTES])
        except (OSError, WebSocketException):
            return

    def close(self) -> None:
        self._connection.close()


def open_exec(target: Target, job: str, argv: list[str], *, rank: int, size: tuple[int, int] | None) -> SessionSocket:
    """Run a program beside a rank. `size`: columns and rows of a terminal, or None for plain pipes."""
    terminal = {} if size is None else {"columns": size[0], "rows": size[1]}
    query = [("argv", word) for word in argv] + [(name, str(value)) for name, value in terminal.items()]
    return _open(target, f"/v1/jobs/{quote(job, safe='')}/exec", [*query, ("rank", str(rank))])


def open_forward(target: Target, job: str, port: int, *, rank: int) -> SessionSocket:
    """Connect to a port of a rank."""
    return _open(target, f"/v1/jobs/{quote(job, safe='')}/forward/{port}", [("rank", str(rank))])


def status_of(data: bytes) -> int:
    """The exit code in a status frame. Raises PerdureError for the problem in it."""
    status: dict[str, Any] = json.loads(data)
    if problem := status.get("problem"):
        raise PerdureApiError.from_problem(problem, 0)
    return int(status.get("exitCode") or 0)


def _open(target: Target, path: str, query: list[tuple[str, str]]) -> SessionSocket:
    scope = target.project
    sent = urlencode([*query, *([("project", scope)] if scope else [])])
    address = f"ws{target.url.removeprefix('http').rstrip('/')}{path}?{sent}"
    headers = {"Authorization": f"Bearer {target.key}"} if target.key else {}
    try:
        return SessionSocket(
            connect(
                address,
                additional_headers=headers,
                open_timeout=OPEN_WITHIN,
                max_size=4 * FRAME_BYTES,
                compression=None,
                proxy=None,
            )
        )
    except InvalidHandshake as error:
        raise PerdureError(UNREACHABLE, f"{target.url} does not open sessions: {error}") from error
    except (OSError, WebSocketException) as error:
        raise PerdureError(UNREACHABLE, f"{target.url}: {error}") from error
