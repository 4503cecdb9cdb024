"""How agents talk: lines of JSON over TCP, each with the sender's whole state, so that a lost line costs nothing.

{"token": ..., "index": ..., "id": ...,     in every line of a follower: who speaks, and which start of it
 "n": 7, "seen": 3,                         its state's number, and the number of the other's that it has taken in
 "state": {...}}                            or "refused": why, and nothing more
"""

from __future__ import annotations

import json
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

BEAT = 0.3  # seconds between two lines when there is nothing new
QUIET = 1.0  # silence after which a connection is given up for a new one: a lost packet is repeated ever more slowly
CONNECT_WITHIN = 0.4
LONGEST_LINE = 64 * 1024


class Heard:
    """What is known of one peer, written by the link's thread and read by the main one. Times are monotonic."""

    def __init__(self) -> None:
        self.id: str | None = None
        self.state: dict[str, Any] | None = None
        self.at = 0.0  # when the last line came; 0: none did
        self.closed_at: float | None = None  # since when its end of the connection is closed, with no new one
        self.n = 0  # the number of its last state
        self.seen = 0  # the last of our states that it has taken in

    def take(self, line: dict[str, Any]) -> None:
        self.state = line["state"]
        self.n = int(line["n"])
        self.seen = max(self.seen, int(line["seen"]))
        self.at = time.monotonic()
        self.closed_at = None


class Lines:
    """Cuts a stream into lines."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        """The lines that are whole now. Raises ValueError for what is none."""
        *whole, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > LONGEST_LINE:
            raise ValueError("a line is too long")
        found = []
        for line in whole:
            value = json.loads(line)
            if not isinstance(value, dict):
                raise ValueError("a line is no object")
            found.append(value)
        return found


def line(value: dict[str, Any]) -> bytes:
    return json.dumps(value).encode() + b"\n"
