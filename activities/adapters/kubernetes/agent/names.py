"""Whether the names of the gang's pods can be found yet: a cluster's name service learns of pods some seconds late."""

from __future__ import annotations

import socket
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

PAUSE = 0.2  # seconds between two tries


class Names:
    """Looks in a thread of its own, since a name service that does not answer takes long to say nothing.

    `missing`: a name that was not found when the time was up, if any.
    """

    def __init__(
        self,
        names: Iterable[str],
        within: float,
        news: Callable[[], None],
        find: Callable[[str, int], Any] = socket.getaddrinfo,
    ) -> None:
        """`within`: seconds after which they are given up. `news` is called when they are found, or given up."""
        self._names = list(dict.fromkeys(names))
        self._ends = time.monotonic() + within
        self._news = news
        self._find = find
        self._found = threading.Event()
        self._thread = threading.Thread(target=self._run, name="names", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def known(self) -> bool:
        return self._found.is_set()

    @property
    def missing(self) -> str | None:
        return None if self._found.is_set() or time.monotonic() <= self._ends else self._names[0]

    def _run(self) -> None:
        while self._names:
            try:
                self._find(self._names[0], 0)
                del self._names[0]
            except OSError:
                if time.monotonic() > self._ends:
                    self._news()
                    return
                time.sleep(PAUSE)
        self._found.set()
        self._news()
