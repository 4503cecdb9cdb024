"""Runs a program beside a rank: `python -I -S enter.py <rank folder> <program> [argument ...]`.

The program gets the environment and the folder of the rank's own command, and the terminal on its standard input, if
there is one, as its controlling one. It replaces this process: its end is the end.
"""

from __future__ import annotations

import json
import os
import sys

NOT_RUNNING, NOT_EXECUTABLE, NOT_FOUND = 125, 126, 127
SET_CONTROLLING_TERMINAL = 0x540E  # TIOCSCTTY of Linux


def main() -> None:
    folder, *argv = sys.argv[1:]
    pid = _command(folder)
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            parts = [part for part in file.read().split(b"\0") if b"=" in part]
        os.chdir(f"/proc/{pid}/cwd")
    except OSError as error:
        _leave(NOT_RUNNING, f"the rank does not run: {error.strerror}")
    environment = dict(part.split(b"=", 1) for part in parts)
    if os.isatty(0):
        environment[b"TERM"] = os.environb.get(b"TERM", b"xterm-256color")
        _take_terminal()
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
    raise AssertionError


def _take_terminal() -> None:
    import fcntl

    try:
        if os.getsid(0) != os.getpid():
            os.setsid()
        fcntl.ioctl(0, SET_CONTROLLING_TERMINAL, 0)
    except OSError:
        pass  # it is somebody's already: a shell then works without job control


def _leave(status: int, why: str) -> None:
    os.write(2, f"perdure: {why}\n".encode(errors="replace"))
    os._exit(status)


if __name__ == "__main__":
    main()
