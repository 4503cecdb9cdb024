"""What can be set about the local runtime."""

import socket
import sys
from datetime import timedelta

from definitions.wire import Wire


class Settings(Wire):
    node: str = socket.gethostname()
    python: str = sys.executable  # runs the supervisors, isolated
    gate_within: timedelta = timedelta(minutes=1)  # for all ranks to be there; else none of them runs
    lock_within: timedelta = timedelta(minutes=5)  # how long a launch waits for another one of the same attempt
    answer_within: timedelta = timedelta(seconds=30)  # for a pair of supervisors to be up
    end_within: timedelta = timedelta(seconds=30)  # for what is left of an attempt that is collected
    together: int = 64  # ranks that are started by one process
    log_size: int = 16 * 1024**2  # bytes of one file of a rank's log
    log_files: int = 16
