"""A control group of the rank's own, where one can be made: it kills as one, and it counts kills for lack of memory.

Version 2 (also beside version 1) gives `cgroup.kill`; the memory controller of either version gives the count. All of
it is optional: without the right to make a group the rank runs in its supervisor's group.
"""

from __future__ import annotations

import os
import signal
import time

from .procs import send

REMOVE_TRIES = 20
REMOVE_PAUSE = 0.01


def own() -> list[str]:
    """Folders of this process's own groups: version 2, and version 1's memory controller."""
    paths = {}
    try:
        with open("/proc/self/cgroup") as file:
            for line in file:
                _, controllers, path = line.rstrip("\n").split(":", 2)
                paths[controllers] = path
        with open("/proc/self/mounts") as file:
            mounts = [line.split()[1:4] for line in file]
    except (OSError, ValueError):
        return []
    found = []
    for point, kind, options in mounts:
        if kind == "cgroup2" and "" in paths:
            found.append(point + paths[""].rstrip("/"))
        elif kind == "cgroup" and "memory" in options.split(",") and "memory" in paths:
            found.append(point + paths["memory"].rstrip("/"))
    return [folder for folder in found if os.path.isdir(folder)]


def make(name: str) -> list[str]:
    """Make the groups that can be made below those of this process; returns their folders."""
    made = []
    for parent in own():
        folder = f"{parent}/{name}"
        try:
            os.mkdir(folder, 0o755)
        except FileExistsError:
            pass
        except OSError:
            continue
        made.append(folder)
    return made


def join(folders: list[str]) -> int:
    """Move this process into the groups (the kernel may take 10 ms). Returns which took it: bit n for folder n."""
    joined = 0
    for position, folder in enumerate(folders):
        try:
            _write(f"{folder}/cgroup.procs", "0")
        except OSError:
            continue
        joined |= 1 << position
    return joined


def joined(folders: list[str], bits: int) -> list[str]:
    return [folder for position, folder in enumerate(folders) if bits >> position & 1]


def kill(folders: list[str]) -> None:
    """SIGKILL every member: at once where the kernel offers it, one by one elsewhere."""
    for folder in folders:
        try:
            _write(f"{folder}/cgroup.kill", "1")
        except OSError:
            for pid in members([folder]):
                send(pid, signal.SIGKILL)


def members(folders: list[str]) -> list[int]:
    found: set[int] = set()
    for folder in folders:
        try:
            with open(f"{folder}/cgroup.procs") as file:
                found.update(int(line) for line in file.read().split())
        except OSError:
            continue
    return sorted(found)


def oom_kills(folders: list[str]) -> int | None:
    """Members that were killed for lack of memory so far; None when no group of ours counts them."""
    counted = None
    for folder in folders:
        for file in ("memory.events", "memory.oom_control"):
            count = counter(f"{folder}/{file}", "oom_kill")
            if count is not None:
                counted = max(count, counted or 0)
    return counted


def machine_oom_kills() -> int | None:
    """Processes of this machine that the kernel has killed for lack of memory since boot."""
    return counter("/proc/vmstat", "oom_kill")


def counter(path: str, name: str) -> int | None:
    try:
        with open(path) as file:
            for line in file:
                key, _, value = line.partition(" ")
                if key == name:
                    return int(value)
    except (OSError, ValueError):
        pass
    return None


def remove(folders: list[str]) -> None:
    """Remove empty groups; the kernel lets go of a group a moment after its last process."""
    for folder in folders:
        for _ in range(REMOVE_TRIES):
            try:
                os.rmdir(folder)
            except FileNotFoundError:
                break
            except OSError:
                time.sleep(REMOVE_PAUSE)
            else:
                break


def _write(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)
