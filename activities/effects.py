"""Effect boundaries: every call of an activity to the outside stands in `with effect(name)`.

The boundary is where a worker may die with the effect done and not recorded. A test arms a hook, `<name>:before`,
`<name>:after` or `heartbeat:mid`, by making a file of that name in PERDURE_CRASH_DIR; the process that comes to the
hook disarms it and SIGKILLs itself. Without that variable a boundary costs one dictionary look-up.
"""

import contextlib
import contextvars
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from temporalio import activity

BEAT_SECONDS = 1.0


@contextmanager
def effect(name: str) -> Iterator[None]:
    """Mark one outside effect, which must be safe to repeat."""
    crash_point(f"{name}:before")
    yield
    crash_point(f"{name}:after")


def crash_point(hook: str) -> None:
    """SIGKILL this process if a test has armed this hook; renaming the file first makes it happen once."""
    folder = os.environ.get("PERDURE_CRASH_DIR")
    if folder is None:
        return
    armed = Path(folder) / hook
    with contextlib.suppress(FileNotFoundError):
        armed.rename(armed.with_name(f"{hook}.fired"))
        os.kill(os.getpid(), signal.SIGKILL)


@contextmanager
def beating(limit_seconds: float = 3600) -> Iterator[None]:
    """Heartbeat from a side thread while a blocking call runs, for `limit_seconds` at most.

    The beat says only that this worker lives, which makes its death visible within seconds. That the work itself goes
    on is bounded by the limit here and by the activity's start-to-close timeout.
    """
    if not activity.in_activity():
        yield
        return
    done = threading.Event()
    context = contextvars.copy_context()
    beats = min(int(limit_seconds / BEAT_SECONDS), 86_400)
    thread = threading.Thread(target=context.run, args=(_beat, done, beats), name="heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _beat(done: threading.Event, beats: int) -> None:
    """The first beat comes late: most activities are over by then, and a beat costs the engine a write."""
    for _ in range(beats):
        if done.wait(BEAT_SECONDS):
            return
        activity.heartbeat()
        crash_point("heartbeat:mid")
