"""The lock on a home: a `flock` that the supervisor takes and every child of the control plane inherits.

Nothing else guards the engine's file: a second server on it would start and take over. Whoever still has the lock's
open file (an orphan too) keeps the home closed; the kernel frees it with the last of them.
"""

import fcntl
import os
import time
from pathlib import Path

from perdure.local.errors import LocalError
from perdure.local.processes import describe, pids_with_open

LOOKS_END_WITHIN = 0.5


def acquire(path: Path) -> int:
    """Take the lock and return its descriptor, to be kept open and inherited. Refused (PD-4001) naming the holders."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    deadline = time.monotonic() + LOOKS_END_WITHIN
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return descriptor
        except BlockingIOError:
            # It may only be somebody's glance (`is_held`), which is over in an instant.
            if time.monotonic() < deadline:
                time.sleep(0.02)
                continue
            os.close(descriptor)
            raise held(path) from None


def is_held(path: Path) -> bool:
    """Whether some process holds the lock. Makes nothing, and keeps nothing."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def holders(path: Path) -> list[int]:
    """Every visible process, other than this one, that has the lock's file open."""
    return [pid for pid in pids_with_open(str(path.resolve())) if pid != os.getpid()]


def held(path: Path) -> LocalError:
    who = describe(holders(path)) or "a process that you may not look into"
    return LocalError("PD-4001", f"{path.parent} is in use by {who}")
