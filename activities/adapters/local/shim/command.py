"""The process that becomes the command: forked early, held at a gate, and run by nothing but a byte through it."""

from __future__ import annotations

import contextlib
import errno
import os
import signal

from . import cgroups
from .files import NANOSECONDS, rfc3339
from .shared import CHDIR, EXEC, FAILED_ERRNO, FAILED_STAGE, JOINED, PASSED, READY, Shared
from .spec import Spec
from .stopping import deadline_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

NOT_FOUND, NOT_EXECUTABLE, NEVER_RAN = 127, 126, 125
DEADLINE = "PERDURE_DEADLINE"
UMASK = 0o022  # the control plane's own 077 is not the job's business
HIGHEST_DESCRIPTOR = 1024  # a supervisor has about ten, and all of them close on exec anyway


class Held:
    """A forked process that waits at its gate. If this process dies, the gate's end tells it not to run."""

    def __init__(self, pid: int, gate: int) -> None:
        self.pid = pid
        self._gate = gate

    def open(self) -> None:
        """Let it run. One that was killed meanwhile has ended like any other command."""
        with contextlib.suppress(BrokenPipeError):
            os.write(self._gate, b"!")
        os.close(self._gate)

    def shut(self) -> None:
        """Let it end without having run anything."""
        os.close(self._gate)


def fork(spec: Spec, shared: Shared, log: int, groups: list[str]) -> Held:
    """Fork the process and leave it at its gate, in its folder and in a session of its own. Raises OSError."""
    waits, opens = os.pipe()
    try:
        pid = os.fork()
    except OSError:
        os.close(waits)
        os.close(opens)
        raise
    if pid == 0:
        try:
            _become(spec, shared, waits, log, groups)
        finally:
            os._exit(NEVER_RAN)
    os.close(waits)
    return Held(pid, opens)


def _become(spec: Spec, shared: Shared, gate: int, log: int, groups: list[str]) -> NoReturn:
    _detach(gate, log)
    try:
        os.chdir(spec.cwd)
    except OSError as error:
        _fail(shared, CHDIR, error, NEVER_RAN)
    shared[READY] = 1
    shared[JOINED] = cgroups.join(groups)  # meanwhile the supervisor writes the identity
    if os.read(gate, 1) != b"!":
        os._exit(NEVER_RAN)
    env = _told(spec)
    # From here on whoever waits for this process takes its status for the command's.
    shared[PASSED] = 1
    try:
        os.execvpe(spec.argv[0], spec.argv, env)
    except OSError as error:
        missing = error.errno in (errno.ENOENT, errno.ENOTDIR)
        _fail(shared, EXEC, error, NOT_FOUND if missing else NOT_EXECUTABLE)
    except ValueError:  # a zero byte in an argument or a variable
        _fail(shared, EXEC, OSError(errno.EINVAL, ""), NOT_EXECUTABLE)


def _told(spec: Spec) -> dict[str, str]:
    """Its variables. A deadline that counts from the opening of the gate could not be told before."""
    until = deadline_of(spec)
    if spec.time_limit is None or until is None:
        return spec.env
    return {**spec.env, DEADLINE: rfc3339(int(until * NANOSECONDS))}


def _detach(gate: int, log: int) -> None:
    """Keep nothing of the supervisor: session, signals, streams, and above all neither its lock nor its pipes."""
    os.setsid()
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        try:
            signal.signal(number, signal.SIG_DFL)
        except (OSError, ValueError):
            continue  # the C library keeps a few real-time signals for itself
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    os.umask(UMASK)
    null = os.open("/dev/null", os.O_RDONLY)
    for source, target in ((null, 0), (log, 1), (log, 2)):
        os.dup2(source, target, inheritable=True)
    os.closerange(3, gate)
    os.closerange(gate + 1, HIGHEST_DESCRIPTOR)


def _fail(shared: Shared, stage: int, error: OSError, code: int) -> NoReturn:
    shared[FAILED_ERRNO] = error.errno or 0
    shared[FAILED_STAGE] = stage
    os._exit(code)
