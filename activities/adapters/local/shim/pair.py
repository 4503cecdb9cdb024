"""Watcher and supervisor: two processes, each of which can bring the rank to its receipt when the other is killed.

The watcher is the parent. It sleeps until the supervisor is gone; without a receipt the kernel has then given it the
supervisor's children, and the shared page tells it how far things were. The supervisor does not need the watcher.
"""

from __future__ import annotations

import fcntl
import os
import signal
import time

from . import cgroups, finishing, gate, identity, receipt, starting, watching
from .files import remove_tree, rfc3339
from .logfile import LINE_LIMIT, LogWriter
from .masking import Masker
from .procs import become_subreaper, send
from .rank import Rank
from .shared import PASSED, STOPPED_BY, Shared
from .spec import Spec
from .stopping import CAUSES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import NoReturn

STARTED, HELD, ENDED, LOST, FAULT = "started", "held", "ended", "lost", "fault"  # what the launcher may be told
NOT_STARTED = 3  # exit status of a supervisor that could not hold the command ready
FAULTS = "fault.txt"
LOCK_TRIES, LOCK_PAUSE = 25, 0.02  # observers look at a lock by taking it for an instant


def run(spec: Spec, report: int) -> NoReturn:
    """Supervise a rank in this process, a daemon by now. `report`: descriptor for one line to the launcher."""
    try:
        os.chdir(spec.rank_folder())  # `pwdx` tells people whose supervisor it is
        lock = _lock(spec.rank_folder())
        standing = HELD if lock is None else _standing(spec)
        if standing is not None:
            _tell(report, spec.rank, standing)
            os._exit(0)
        rank = _prepare(spec)
        supervisor = os.fork()
    except OSError as error:
        _tell(report, spec.rank, f"{FAULT}: {error}")
        os._exit(1)
    if supervisor == 0:
        _supervise(rank, report)
    os.close(report)
    _watch(rank, supervisor)


def _lock(rank_folder: str) -> int | None:
    """Both of the pair keep this lock for as long as they live; the command's process lets go of it at once."""
    descriptor = os.open(f"{rank_folder}/lock", os.O_RDWR | os.O_CREAT, 0o600)
    for _ in range(LOCK_TRIES):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return descriptor
        except BlockingIOError:
            if identity.is_supervised(rank_folder):
                return None
        time.sleep(LOCK_PAUSE)
    return None


def _standing(spec: Spec) -> str | None:
    """What an earlier pair left. One that died before the gate opened has run nothing: this one may begin anew."""
    folder = spec.rank_folder()
    if receipt.exists(folder):
        return ENDED
    made = gate.decision(spec.attempt_folder)
    if made is not None and made["gate"] == gate.OPEN and identity.read(folder) is not None:
        return LOST
    return None


def _prepare(spec: Spec) -> Rank:
    become_subreaper("perdure-watch")
    folder = spec.rank_folder()
    os.makedirs(spec.log_folder, exist_ok=True)
    receipt.reserve(folder)
    masker = Masker(spec.masked)
    shared = Shared(LINE_LIMIT + masker.longest)
    log = LogWriter(spec.log_folder, shared, masker, spec.log_size, spec.log_files)
    probe = None
    if spec.readiness is not None:
        from .probe import Probe  # sockets are costly to import and few ranks need them

        probe = Probe(spec.readiness, spec.run_folder)
    _write_secrets(spec)
    rank = Rank(spec, shared, log, os.pipe(), cgroups.make(f"perdure-{spec.token}-{spec.rank}"), probe)
    rank.pids = {"watcher": os.getpid()}
    return rank


def _write_secrets(spec: Spec) -> None:
    if spec.secret_folder is None:
        return
    remove_tree(spec.secret_folder)
    os.makedirs(spec.secret_folder, mode=0o700)
    for path, value in spec.secret_files.items():
        target = f"{spec.secret_folder}/{path}"
        os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "wb") as file:
            file.write(value.encode(errors="surrogateescape"))


def _supervise(rank: Rank, report: int) -> NoReturn:
    """The supervisor's life."""
    told: list[str] = []

    def tell(word: str) -> None:
        if not told:
            told.append(word)
            _tell(report, rank.spec.rank, word)

    try:
        become_subreaper("perdure-super")
        rank.pids["supervisor"] = os.getpid()
        _heed_signals(rank, 0)
        _bring_to_receipt(rank, lambda: tell(STARTED))
        tell(ENDED)
        os._exit(0)
    except BaseException as error:
        _note_fault(rank)
        if not told:
            _clear_away(rank)
            tell(f"{FAULT}: {error!r}")
            os._exit(NOT_STARTED)
    os._exit(1)  # the watcher takes over


def _watch(rank: Rank, supervisor: int) -> NoReturn:
    """The watcher's life: sleep, and take over if need be."""
    _heed_signals(rank, supervisor)
    _, status = os.waitpid(supervisor, 0)
    _heed_signals(rank, 0)
    if receipt.exists(rank.folder) or (os.WIFEXITED(status) and os.WEXITSTATUS(status) == NOT_STARTED):
        os._exit(0)
    rank.role = "watcher"
    try:
        rank.log.take_over()
        starting.settle(rank)
        _bring_to_receipt(rank, lambda: None)
    except BaseException as error:
        _note_fault(rank)
        rank.kill_rest()
        finishing.finish_lost(rank, f"supervision failed: {error!r}")
    os._exit(0)


def _bring_to_receipt(rank: Rank, identified: Callable[[], None]) -> None:
    """Run the command, a service's again and again, and write the receipt."""
    row: int | None = 0
    while row is not None and (rank.shared[PASSED] or starting.start(rank, identified)):
        begun = time.monotonic()
        watching.watch(rank)
        rank.kill_rest()
        row = watching.wait_to_restart(rank, time.monotonic() - begun, row)
        if row is not None:
            rank.shared.forget_command()
    rank.kill_rest()
    if rank.stops.leaving and not rank.shared[STOPPED_BY]:
        # The machine's shutdown signals everybody at once: the command may have ended before we looked.
        rank.shared[STOPPED_BY] = CAUSES.index("shutdown")
    finishing.finish(rank)


def _heed_signals(rank: Rank, supervisor: int) -> None:
    """What a service manager sends to end us ends the rank in good order; the watcher passes it on."""

    def end(_number: int, _frame: FrameType | None) -> None:
        rank.stops.shutdown = True
        if supervisor:
            send(supervisor, signal.SIGTERM)

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGHUP, end)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _tell(report: int, rank: int, answer: str) -> None:
    """Answer the launcher, which may be gone. One short write: lines of several ranks do not mix."""
    try:
        os.write(report, f"{rank} {answer}\n".encode())
        os.close(report)
    except OSError:
        pass


def _clear_away(rank: Rank) -> None:
    """Take back what was prepared for a start that did not come about."""
    if rank.spec.secret_folder is not None:
        remove_tree(rank.spec.secret_folder)
    rank.kill_rest()
    cgroups.remove(rank.groups)


def _note_fault(rank: Rank) -> None:
    """Keep the present exception where people who look for it find it; our streams lead nowhere."""
    import traceback  # never needed by a pair that works

    try:
        with open(f"{rank.folder}/{FAULTS}", "a") as file:
            file.write(f"{rfc3339(time.time_ns())} {rank.role} {os.getpid()}\n{traceback.format_exc()}\n")
    except OSError:
        pass
