"""Reading from the object store without credentials, by a link that is good for a while."""

import http.client
import random
import time
from collections.abc import Callable
from typing import BinaryIO, cast
from urllib.parse import urlsplit

from activities.ports import PortError

TRIES = 6
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 15.0  # seconds
SOCKET_WITHIN = 60.0  # seconds that one operation on a connection may take
UNREACHABLE, REFUSED = "PD-3201", "PD-3202"


def repeated(work: Callable[[], None]) -> None:
    """Do it again when it failed for a while only. Raises the last PortError."""
    pause = FIRST_PAUSE
    for left in reversed(range(TRIES)):
        try:
            work()
            return
        except PortError as error:
            if error.permanent or not left:
                raise
        time.sleep(pause * random.uniform(0.5, 1.0))
        pause = min(pause * 2, LONGEST_PAUSE)


def open_url(url: str) -> BinaryIO:
    """The content behind a link. Raises PortError, permanent when the link is no good; so does reading from it."""
    connection, target = connect(url)
    try:
        connection.request("GET", target)
        response = connection.getresponse()
    except (OSError, http.client.HTTPException) as error:
        connection.close()
        raise unreachable(connection, error) from error
    if response.status != http.client.OK:
        words = response.read(300).decode(errors="replace")
        connection.close()
        permanent = is_final(response.status)
        what = f"the object store answers {response.status} {response.reason}: {words}"
        raise PortError(what, permanent=permanent, code=REFUSED if permanent else UNREACHABLE)
    return cast(BinaryIO, _Body(connection, response))


def connect(url: str) -> tuple[http.client.HTTPConnection, str]:
    """A connection that is made at its first use, and what to ask for on it."""
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    target = parts.path or "/"
    if parts.query:
        target += f"?{parts.query}"
    return kind(parts.hostname or "", parts.port, timeout=SOCKET_WITHIN), target


def is_final(status: int) -> bool:
    """Whether the same request would be refused again."""
    return 400 <= status < 500 and status not in (408, 429)


def unreachable(connection: http.client.HTTPConnection, error: Exception, code: str = UNREACHABLE) -> PortError:
    return PortError(f"the object store at {connection.host}:{connection.port} does not answer: {error}", code=code)


class _Body:
    """A response's content; one that breaks off is no damaged archive, but to be read again."""

    def __init__(self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse) -> None:
        self._connection = connection
        self._response = response
        self._left = response.length

    def read(self, size: int = -1) -> bytes:
        try:
            data = self._response.read() if size < 0 else self._response.read(size)
        except (OSError, http.client.HTTPException) as error:
            raise unreachable(self._connection, error) from error
        if self._left is not None:
            self._left -= len(data)
            if self._left and not data and size:
                raise unreachable(self._connection, EOFError(f"{self._left} bytes are missing"))
        return data

    def close(self) -> None:
        self._response.close()
        self._connection.close()

    def __enter__(self) -> "_Body":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
