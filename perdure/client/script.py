"""Scripts: what the client does, written once for the synchronous and the asynchronous one.

A script is a generator. It yields what it wants done (send this, call that, wait, work on files) and is given what came
of it, or an error is raised where it waits. Who carries it out decides whether that blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from perdure.client.call import Call

T = TypeVar("T")


@dataclass(frozen=True)
class Request:
    """A call with everything filled in."""

    call: Call[Any]
    url: str
    query: list[tuple[str, str]]
    headers: Mapping[str, str]


@dataclass(frozen=True)
class Lost:
    """No answer came. `sent`: the request may have arrived."""

    reason: str
    sent: bool


@dataclass(frozen=True)
class Send:
    """Send this once. Gives a Reply or Lost."""

    request: Request


@dataclass(frozen=True)
class Pause:
    """Wait so many seconds."""

    seconds: float


@dataclass(frozen=True)
class Work:
    """Do something that blocks: read files, hash, pack. Gives what it returns."""

    act: Callable[[], Any]


Effect = Send | Pause | Work | Call[Any]
Script = Generator[Effect, Any, T]


class Ended(Exception):
    """A script has returned; `value` is what."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


def advance(script: Script[Any], outcome: Any, error: Exception | None) -> Effect:
    """Give a script what came of its last wish. Returns the next one; raises Ended when there is none."""
    try:
        return script.send(outcome) if error is None else script.throw(error)
    except StopIteration as stop:
        raise Ended(stop.value) from None
