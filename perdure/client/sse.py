"""Server-sent events: reading a stream line by line, and going on where it broke off. Nothing here does I/O."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Any

from perdure.client.call import Call, Reply
from perdure.client.exchange import FIRST_PAUSE, LONGEST_PAUSE, Target, refusal
from perdure.client.script import Lost, Request
from perdure.codes import STREAM_BROKEN
from perdure.errors import PerdureUnreachable

END = "end"
HEARTBEAT = "heartbeat"
TRIES = 30  # in a row without anything received; with growing pauses about two minutes
TRIED_AGAIN = frozenset({429, 502, 503, 504})


@dataclass(frozen=True)
class Message:
    """One event of a stream."""

    event: str
    data: str
    id: str


class Reader:
    """Puts lines together to messages, as the WHATWG standard says."""

    def __init__(self) -> None:
        self._event = ""
        self._data: list[str] = []
        self._id = ""

    def feed(self, line: str) -> Message | None:
        """Take one line without its end. Returns a message when the line, an empty one, completes it."""
        if line:
            self._take(line)
            return None
        data, event = self._data, self._event
        self._data, self._event = [], ""
        return Message(event or "message", "\n".join(data), self._id) if data or event else None

    def _take(self, line: str) -> None:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._event = value
        elif name == "id" and "\0" not in value:
            self._id = value


class Following:
    """One stream over as many connections as it takes. Tells what to send, judges what came, says how long to pause."""

    def __init__(self, target: Target, call: Call[Any]) -> None:
        self._target = target
        self._call = call
        self._reader = Reader()
        self._last_id = ""
        self._failures = 0
        self.ended = False

    def request(self) -> Request:
        """What to send now: the call, going on after the last message that was seen."""
        self._reader = Reader()
        headers = {"accept": "text/event-stream", "cache-control": "no-store"}
        if self._last_id:
            headers["last-event-id"] = self._last_id
        return self._target.request(replace(self._call, headers={**self._call.headers, **headers}))

    def feed(self, line: str) -> Message | None:
        """Take a line. Returns what is to be handed on: no heartbeats, and not the end, which sets `ended`."""
        message = self._reader.feed(line)
        if message is None:
            return None
        self._failures = 0
        if message.id:
            self._last_id = message.id
        self.ended = self.ended or message.event == END
        return None if message.event in (END, HEARTBEAT) else message

    def broke(self, outcome: Reply | Lost) -> float:
        """A connection ended early or was refused: seconds to pause before the next one.

        Raises the API's refusal when another try cannot help, and PerdureUnreachable after too many.
        """
        self._failures += 1
        if isinstance(outcome, Reply) and outcome.status not in TRIED_AGAIN:
            raise refusal(outcome, self._call)
        if self._failures > TRIES:
            reason = outcome.reason if isinstance(outcome, Lost) else f"HTTP status {outcome.status}"
            raise PerdureUnreachable(STREAM_BROKEN, f"{self._call.path} broke off: {reason}", where=self._target.url)
        grown = min(FIRST_PAUSE * 2 ** (self._failures - 1), LONGEST_PAUSE)
        return random.uniform(grown / 2, grown)
