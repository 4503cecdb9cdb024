"""Who waits for attempts to end: told by supervisors through a named pipe, and looking by itself every second."""

import contextlib
import logging
import os
import select
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from activities.adapters.local.layout import TEMPORARY, Layout
from activities.adapters.local.observing import Observer
from activities.ports import PortError
from definitions.attempt import AttemptObservation, AttemptRef

LOOK_EVERY = 1.0  # seconds between two looks at everything that is active
TELL_AGAIN = 60.0  # after which an attempt that ended and was not collected is told of once more
WAIT = 0.2  # how long a request to stop may go unseen
TOLD_BYTES = 1 << 16

logger = logging.getLogger(__name__)


class Watcher:
    """Yields what has ended, at least once; a new one begins anew with all that has not been collected."""

    def __init__(self, layout: Layout, observer: Observer) -> None:
        self._layout = layout
        self._observer = observer
        self._told: dict[str, float] = {}

    def changes(self, stop: threading.Event) -> Iterator[AttemptObservation]:
        pipe = self._open()
        looked = 0.0
        try:
            while not stop.is_set():
                keys: Iterable[str] = self._heard(pipe)
                if time.monotonic() - looked >= LOOK_EVERY:
                    looked = time.monotonic()
                    keys = self._active()
                for key in keys:
                    observation = self._look(key)
                    if observation is not None:
                        yield observation
        finally:
            os.close(pipe)

    def _open(self) -> int:
        """The pipe, open for writing too so that it never reports an end when the last supervisor has written."""
        with contextlib.suppress(FileExistsError):
            os.mkfifo(self._layout.notify, 0o600)
        return os.open(self._layout.notify, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)

    def _heard(self, pipe: int) -> set[str]:
        if not select.select([pipe], [], [], WAIT)[0]:
            return set()
        told = os.read(pipe, TOLD_BYTES).decode(errors="replace").split()
        return {key for key in told if "/" not in key}

    def _active(self) -> list[str]:
        # A writer that was killed may have left a temporary file.
        keys = [file.name for file in self._layout.active.iterdir() if file.suffix != TEMPORARY]
        self._told = {key: at for key, at in self._told.items() if key in keys}
        return sorted(keys)

    def _look(self, key: str) -> AttemptObservation | None:
        """The observation of an attempt that has ended and was not told of lately."""
        if time.monotonic() - self._told.get(key, -TELL_AGAIN) < TELL_AGAIN:
            return None
        try:
            ref = AttemptRef.model_validate_json(Path(self._layout.active, key).read_bytes())
            observation = self._observer.observe(ref)
        except FileNotFoundError:
            return None  # collected since
        except (PortError, OSError, ValueError) as error:
            logger.warning("attempt %s cannot be observed now: %s", key, error)
            return None
        if not (observation.exists and observation.ended):
            return None
        self._told[key] = time.monotonic()
        return observation
