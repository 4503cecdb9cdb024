"""Runs a program beside a rank: `python -I -S enter.py <rank folder> <session> <program> [argument ...]`.

The program gets the environment and the folder of the rank's own command, and the terminal on its standard input, if
there is one, as its controlling one. It replaces this process: its end is the end. `enter.py --end <rank folder>
<session>` ends one whose person has gone, from wherever the rank's folder can be seen.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

NOT_RUNNING, NOT_EXECUTABLE, NOT_FOUND = 125, 126, 127
SET_CONTROLLING_TERMINAL = 0x540E  # TIOCSCTTY of Linux
END_WITHIN = 2.0  # seconds between SIGHUP and SIGKILL


def main() -> None:
    if sys.argv[1] == "--end":
        _end(_noted(sys.argv[2], sys.argv[3]))
        return
    folder, session, *argv = sys.argv[1:]
    pid = _command(folder)
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            parts = [part for part in file.read().split(b"\0") if b"=" in part]
        os.chdir(f"/proc/{pid}/cwd")
    except OSError as error:
        _leave(NOT_RUNNING, f"the rank does not run: {error.strerror}")
    environment = dict(part.split(b"=", 1) for part in parts)
    if os.getsid(0) != os.getpid() and os.getpgrp() != os.getpid():
        os.setsid()  # so that its whole group can be ended
    if os.isatty(0):
        environment[b"TERM"] = os.environb.get(b"TERM", b"xterm-256color")
        _take_terminal()
    with open(_noted(folder, session), "w") as note:
        note.write(f"{os.getpid()} {_started(os.getpid())}")
    try:
        os.execvpe(argv[0], argv, environment)
    except FileNotFoundError:
        _leave(NOT_FOUND, f"{argv[0]}: not found")
    except OSError as error:
        _leave(NOT_EXECUTABLE, f"{argv[0]}: {error.strerror}")


def _command(folder: str) -> int:
    try:
        with open(f"{folder}/identity.json") as file:
            return int(json.load(file)["command"]["pid"])
    except (OSError, ValueError, KeyError, TypeError):
        _leave(NOT_RUNNING, "the rank does not run")


def _take_terminal() -> None:
    import fcntl
    from contextlib import suppress

    with suppress(OSError):  # it is its own already, or somebody's: a shell then works without job control
        fcntl.ioctl(0, SET_CONTROLLING_TERMINAL, 0)


def _end(note: str) -> None:
    """End the group of a session's program, unless its number has long been another's."""
    try:
        with open(note) as file:
            pid, started = file.read().split()
        for number in (signal.SIGHUP, signal.SIGKILL):
            if _started(int(pid)) != started:
                break
            os.killpg(int(pid), number)
            ends = time.monotonic() + END_WITHIN
            while _started(int(pid)) == started and time.monotonic() < ends:
                time.sleep(0.02)
        os.unlink(note)
    except (OSError, ValueError):
        pass  # it has ended


def _noted(folder: str, session: str) -> str:
    return f"{folder}/session-{session}"


def _started(pid: int) -> str:
    """When a process started, in the kernel's ticks; "" for one that is gone."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def _leave(status: int, why: str) -> NoReturn:
    os.write(2, f"perdure: {why}\n".encode(errors="replace"))
    os._exit(status)


if __name__ == "__main__":
    main()
