"""A session with a running rank: a process beside it, or a connection to one of its ports. Bytes go both ways."""

from enum import IntEnum
from typing import Literal, NamedTuple

from definitions.attempt import AttemptRef
from definitions.wire import Wire

LONGEST_HOURS = 12
FRAME_BYTES = 64 * 1024  # most bytes of one message; both ends cut


class Channel(IntEnum):
    """First byte of each message."""

    INPUT = 0
    OUTPUT = 1
    ERRORS = 2
    STATUS = 3  # JSON, the last message: {"exitCode": int} or {"problem": {...}}
    RESIZE = 4  # JSON: {"columns": int, "rows": int}
    INPUT_END = 5


class Frame(NamedTuple):
    channel: Channel
    data: bytes = b""


class Terminal(Wire):
    columns: int = 80
    rows: int = 24


class Exec(Wire):
    """A program to run beside a rank, in its environment and folder. With a terminal, or with plain pipes."""

    kind: Literal["exec"] = "exec"
    argv: tuple[str, ...]
    terminal: Terminal | None = None


class Forward(Wire):
    """A connection to a port that a rank listens on."""

    kind: Literal["forward"] = "forward"
    port: int


class SessionWork(Wire):
    """What the worker of a cluster is asked: open it, and carry bytes to and from `dial`, an address of the API's.

    `token` is good for this one session and for some seconds; the API holds it in memory only.
    """

    id: str
    ref: AttemptRef
    rank: int
    actor: str
    wants: Exec | Forward
    dial: str
    token: str


class SessionEnd(Wire):
    """How it ended; `exit_code` is a program's."""

    exit_code: int | None = None
    problem: str = ""


def pack(frame: Frame) -> bytes:
    return bytes((frame.channel,)) + frame.data


def unpack(message: bytes) -> Frame:
    """Raises ValueError for what is no frame."""
    if not message:
        raise ValueError("a message without a channel")
    return Frame(Channel(message[0]), message[1:])
