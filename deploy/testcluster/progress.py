"""Lines that say what is being done and for how long, so that nobody watches a silent terminal."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Say = Callable[[str], None]
PATIENCE_SECONDS = 10.0


def to_stderr(line: str) -> None:
    print(f"testcluster: {line}", file=sys.stderr, flush=True)


class Pulse:
    """Repeats what is going on every ten seconds while somebody waits in a loop."""

    def __init__(self, say: Say, doing: str) -> None:
        self._say, self._doing = say, doing
        self._began = self._spoken = time.monotonic()

    def beat(self) -> None:
        now = time.monotonic()
        if now - self._spoken >= PATIENCE_SECONDS:
            self._spoken = now
            self._say(f"{self._doing} ({now - self._began:.0f} s)")


@contextmanager
def step(say: Say, doing: str) -> Iterator[None]:
    """Announce a step, and how long it took once it is done."""
    began = time.monotonic()
    say(doing)
    yield
    say(f"{doing}: done in {time.monotonic() - began:.1f} s")
