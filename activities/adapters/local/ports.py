"""Ports through which the ranks of a gang find each other: given out once, until the attempt is collected."""

import os
import random
import socket
from pathlib import Path

from activities.ports import PortError

# Below the range from which kernels take ports for outgoing connections, so that none takes ours before rank 0 listens.
FIRST, LAST = 20_000, 31_999
TRIES = 500


def reserve(folder: Path, owner: str, count: int) -> int:
    """The first of `count` ports in a row that nobody listens on or was given. Raises PortError, PD-3013."""
    for _ in range(TRIES):
        first = random.randrange(FIRST, LAST - count + 2)
        block = range(first, first + count)
        if not _claim(folder, owner, block):
            continue
        if all(map(_is_free, block)):
            return first
        release(folder, owner)
    raise PortError(f"no {count} free port(s) between {FIRST} and {LAST}", code="PD-3013")


def release(folder: Path, owner: str) -> None:
    """Give back what an attempt was given. Safe to repeat."""
    for file in folder.iterdir():
        try:
            if file.read_text() == owner:
                file.unlink()
        except FileNotFoundError:
            continue


def _claim(folder: Path, owner: str, block: range) -> bool:
    for port in block:
        try:
            descriptor = os.open(folder / str(port), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            for taken in range(block.start, port):
                (folder / str(taken)).unlink(missing_ok=True)
            return False
        with open(descriptor, "w") as file:
            file.write(owner)
    return True


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
