"""The one way out of a process that has used the engine's client."""

import contextlib
import logging
import os
import sys
from collections.abc import Iterator
from typing import NoReturn


def leave(code: int) -> NoReturn:
    """End this process at once with exit status `code` (0-255), after flushing logs and standard streams.

    The engine's client keeps native threads that may call into an interpreter that is already being taken down:
    about one normal exit in ten then dies of SIGABRT or SIGSEGV, and the process reports a crash after work that
    went well. Leaving through `os._exit` skips that teardown. It also skips `atexit` functions and `finally` blocks
    further up: stop servers, shut workers down and end child processes before calling this.
    """
    for handler in _handlers():
        # A log file on a full disk or a closed pipe must not change the exit status.
        with contextlib.suppress(OSError, ValueError):
            handler.flush()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(code)


def _handlers() -> Iterator[logging.Handler]:
    yield from logging.getLogger().handlers
    for logger in list(logging.Logger.manager.loggerDict.values()):
        if isinstance(logger, logging.Logger):
            yield from logger.handlers
