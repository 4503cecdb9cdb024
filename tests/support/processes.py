"""Looking at, and ending, real processes. A process is named by pid *and* start time, since pids are used again."""

import contextlib
import os
import signal
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import psutil

from tests.support.polling import eventually


@dataclass(frozen=True)
class Seen:
    """One process as it was seen. `started` is in seconds since the epoch, as the kernel tells it."""

    pid: int
    started: float
    command: tuple[str, ...]

    def alive(self) -> bool:
        """Whether this very process still runs; a zombie does not."""
        try:
            process = psutil.Process(self.pid)
            return process.create_time() == self.started and process.status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return False

    def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        """Send a signal to this very process; one that is gone already is no error."""
        if self.alive():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)


def seen(pid: int) -> Seen:
    """The process with this pid. Raises psutil.NoSuchProcess."""
    process = psutil.Process(pid)
    with process.oneshot():
        return Seen(pid, process.create_time(), tuple(process.cmdline()))


def process_tree(pid: int) -> list[Seen]:
    """A process and its living descendants, parents first; empty when it is gone."""
    try:
        root = psutil.Process(pid)
        members = [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []
    return _describe(members)


def with_environment(name: str, value: str) -> list[Seen]:
    """Every living process of this machine that was started with that environment entry (a token, say)."""

    def carries(process: psutil.Process) -> bool:
        with contextlib.suppress(psutil.Error):
            return process.environ().get(name) == value
        return False

    return matching(carries)


def matching(wanted: Callable[[psutil.Process], bool]) -> list[Seen]:
    """Every living process of this machine for which `wanted` holds. One that ends while it is asked is none."""

    def holds(process: psutil.Process) -> bool:
        try:
            return wanted(process)
        except psutil.NoSuchProcess:  # a zombie is one too
            return False

    return _describe(process for process in psutil.process_iter() if holds(process))


def wait_until_gone(processes: Iterable[Seen], deadline: float = 10.0) -> None:
    """Return once all have ended. Raises AssertionError naming those that live on after `deadline` seconds."""
    watched = list(processes)
    eventually(
        lambda: not any(process.alive() for process in watched),
        deadline,
        f"end of {[(process.pid, process.command) for process in watched]}",
    )


def end_tree(pid: int, grace: float = 5.0) -> None:
    """SIGTERM to the process; once it is gone, or after `grace` seconds, SIGKILL to whatever is left of its tree."""
    tree = process_tree(pid)
    if not tree:
        return
    tree[0].kill(signal.SIGTERM)
    with contextlib.suppress(AssertionError):
        wait_until_gone(tree[:1], grace)
    for process in tree:
        process.kill()


def _describe(processes: Iterable[psutil.Process]) -> list[Seen]:
    found = []
    for process in processes:
        with contextlib.suppress(psutil.Error):
            member = seen(process.pid)
            if member.alive():
                found.append(member)
    return found
