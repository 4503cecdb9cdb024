"""Lists with a version, and the changes since one."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json

from activities.adapters.kubernetes.byte_stream import ByteStream
from activities.adapters.kubernetes.calling import Call, Caller
from activities.adapters.kubernetes.errors import Answer, Gone, refusal

GRACE = 15.0  # seconds that the server gets beyond its own limit before a silent watch is given up


@dataclass(frozen=True)
class Listing:
    """All objects at one moment; a watch from `version` misses nothing that comes after it."""

    items: list[dict[str, Any]]
    version: str


@dataclass(frozen=True)
class WatchEvent:
    """ADDED, MODIFIED or DELETED with the object, or BOOKMARK with nothing but the version reached."""

    type: str
    object: dict[str, Any]

    @property
    def version(self) -> str:
        return str(self.object["metadata"]["resourceVersion"])


class WatchStream:
    """Events in order, until the server or `close` (by any thread) ends them."""

    def __init__(self, stream: ByteStream, call: Call) -> None:
        self._stream = stream
        self._call = call

    @classmethod
    def open(cls, caller: Caller, call: Call, seconds: float) -> "WatchStream":
        """One try: whoever watches has a list to fall back on, and pauses of its own."""
        return cls(caller.stream(call, seconds + GRACE, repeat=False), call)

    def __iter__(self) -> Iterator[WatchEvent]:
        """Raises Gone when the version is too old, and other KubeErrors when the watch broke."""
        rest = b""
        for chunk in self._stream:
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                if line:
                    yield self._event(line)

    def close(self) -> None:
        self._stream.close()

    def _event(self, line: bytes) -> WatchEvent:
        target = self._call.target
        try:
            event = from_json(line)  # twice as fast as the standard library, and equal strings are kept once
            kind, value = event["type"], event["object"]
        except (ValueError, KeyError, TypeError):
            raise refusal(Answer(200, b""), target) from None
        if kind != "ERROR":
            return WatchEvent(kind, value)
        code = int(value.get("code") or 500)
        if code == 410:
            raise Gone(f"cannot {target}: {value.get('message', 'the version is too old')}")
        raise refusal(Answer(code, json.dumps(value).encode()), target)


def is_earlier(version: str, other: str) -> bool:
    """Versions are numbers that grow on every server that there is; of those that were not, nothing could be said."""
    return version.isdecimal() and other.isdecimal() and int(version) < int(other)
