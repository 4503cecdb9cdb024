"""Processes as the kernel tells of them. A process is its pid *and* its start: pids are used again."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")


@dataclass(frozen=True)
class Process:
    """`ticks`: when it started, in clock ticks since boot, as in /proc/<pid>/stat."""

    pid: int
    ticks: int

    def alive(self) -> bool:
        """Whether this very process runs; a zombie does not."""
        state = _state(self.pid)
        return state is not None and state[0] not in "ZX" and state[1] == self.ticks


def identify(pid: int) -> Process | None:
    """The process that has this pid now; None when there is none, or only a zombie."""
    state = _state(pid)
    return Process(pid, state[1]) if state and state[0] not in "ZX" else None


def command(pid: int) -> str:
    """What a process runs, in few words: the module of one of ours, else the head of the command line; or nothing."""
    try:
        words = (PROC / str(pid) / "cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return ""
    ours = [word for word in words if word.startswith(("workers.", "perdure.local."))]
    return ours[0] if ours else " ".join(" ".join(words).split())[:80]


def open_files(pid: int) -> Iterator[tuple[str, str]]:
    """(descriptor, target) of each open file of a process. Empty for processes that we may not look into."""
    folder = PROC / str(pid) / "fd"
    try:
        descriptors = os.listdir(folder)
    except OSError:
        return
    for descriptor in descriptors:
        try:
            yield descriptor, os.readlink(folder / descriptor)
        except OSError:
            continue


def pids_with_open(target: str) -> list[int]:
    """Every visible process that has `target` open: an absolute path, or `socket:[inode]`."""
    return [
        pid
        for pid in sorted(int(name) for name in os.listdir(PROC) if name.isdigit())
        if any(link == target for _, link in open_files(pid))
    ]


def describe(pids: list[int]) -> str:
    """For messages: `pid 12 (python …), pid 13 (temporal …)`."""
    return ", ".join(f"pid {pid} ({command(pid) or 'command not readable'})" for pid in pids)


def _state(pid: int) -> tuple[str, int] | None:
    try:
        text = (PROC / str(pid) / "stat").read_text()
    except OSError:
        return None
    # The command name may hold blanks and parentheses: fields count from the last one.
    fields = text.rpartition(")")[2].split()
    return fields[0], int(fields[19])
