"""Where things that take long to make are kept: a folder of the user, outside every checkout, shared by all of them."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from deploy.testcluster.progress import Pulse, Say

POLL_SECONDS = 0.2


def folder() -> Path:
    """`PERDURE_CACHE`, else `perdure` in `XDG_CACHE_HOME` or in `~/.cache`. Made when missing."""
    named = os.environ.get("PERDURE_CACHE")
    base = Path(named) if named else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "perdure"
    base.mkdir(parents=True, exist_ok=True)
    return base.resolve()


@contextmanager
def only_one(name: str, say: Say) -> Iterator[None]:
    """Hold the machine-wide lock of that name; others wait and say so. A holder that dies frees it."""
    locks = folder() / "locks"
    locks.mkdir(exist_ok=True)
    pulse = Pulse(say, f"waiting for another process that makes {name}")
    with (locks / f"{name}.lock").open("w") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                pulse.beat()
                time.sleep(POLL_SECONDS)
        yield
