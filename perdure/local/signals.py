"""Waiting that ends at once when a child ended or somebody asks to stop."""

import os
import select
import signal
from types import FrameType, TracebackType
from typing import Any

STOPPING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Signals:
    """Takes over SIGTERM, SIGINT, SIGHUP and SIGCHLD while it is entered. For the main thread only."""

    def __init__(self) -> None:
        self._asked = 0
        self._before: dict[signal.Signals, Any] = {}

    @property
    def stop(self) -> bool:
        return self._asked > 0

    @property
    def hurry(self) -> bool:
        """Whether somebody asked a second time."""
        return self._asked > 1

    def wait(self, seconds: float) -> None:
        """Return after that time, or as soon as a signal has come since the last call."""
        readable, _, _ = select.select([self._reader], [], [], seconds)
        if readable:
            os.read(self._reader, 4096)

    def __enter__(self) -> "Signals":
        self._reader, self._writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._wakeup_before = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        for number in STOPPING:
            self._before[number] = signal.signal(number, self._ask)
        # The kernel wakes nobody for a signal that is ignored by default.
        self._before[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, lambda *_: None)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._wakeup_before)
        os.close(self._reader)
        os.close(self._writer)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self._asked += 1
