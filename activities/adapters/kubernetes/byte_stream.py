"""The body of an answer that comes bit by bit: logs and watches."""

import contextlib
import threading
import time
from collections.abc import Iterator

import urllib3
from urllib3.exceptions import HTTPError, ReadTimeoutError

from activities.adapters.kubernetes.errors import KubeError

CHUNK = 64 * 1024


class ByteStream:
    """Bytes as they arrive. `close` may be called by any thread and ends a read that waits.

    Iterating raises KubeError PD-3114 when the connection breaks, and ends quietly at the end of the body, when the
    time is over, and when it was closed.
    """

    def __init__(self, response: urllib3.BaseHTTPResponse, what: str) -> None:
        self._response = response
        self._what = what
        self._ends = float("inf")
        self._closed = threading.Event()
        self._reading = threading.Lock()

    def bound(self, within: float) -> None:
        """End after so many seconds at the latest; until then silence is no fault."""
        self._ends = time.monotonic() + within
        connection = self._response.connection
        # A server that closes after the answer has no connection here; then silence is bounded as for other calls.
        if connection is not None and (sock := getattr(connection, "sock", None)) is not None:
            sock.settimeout(within)

    def __iter__(self) -> Iterator[bytes]:
        try:
            while not self._closed.is_set() and time.monotonic() < self._ends:
                with self._reading:
                    chunk = b"" if self._closed.is_set() else self._response.read1(CHUNK)
                if not chunk:
                    return
                yield chunk
        except ReadTimeoutError:
            return
        except (HTTPError, OSError) as error:
            if not self._closed.is_set():
                raise KubeError("PD-3114", f"{self._what}: the connection broke: {error}") from None
        finally:
            self.close()

    def close(self) -> None:
        """Safe to repeat. The connection is not used again: what is still in it belongs to this answer."""
        self._closed.set()
        with contextlib.suppress(ValueError, OSError, RuntimeError):
            self._response.shutdown()  # a read that waits comes back, and only then may the response be closed
        with self._reading, contextlib.suppress(OSError, HTTPError):
            self._response.close()
