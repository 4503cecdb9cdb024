"""The control groups below which a node's pods live: one folder per hierarchy (version 1) or one in all (version 2)."""

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

from deploy.testcluster.errors import ClusterError

ROOT = Path("/sys/fs/cgroup")
CONTROLLERS = "cgroup.controllers"  # is in a folder of version 2 only
GONE_WITHIN = 10.0
POLL_SECONDS = 0.05


def hierarchies(root: Path = ROOT) -> list[Path]:
    """The mounted hierarchies: the root itself for version 2, else the folders of version 1's controllers."""
    if (root / CONTROLLERS).exists():
        return [root]
    # A version 2 hierarchy may be mounted beside those of version 1; it has no controllers then.
    found = [path for path in root.iterdir() if path.is_dir() and not path.is_symlink()]
    return sorted(path for path in found if not (path / CONTROLLERS).exists())


def make(name: str, root: Path = ROOT) -> None:
    """Make a group (`parent/child`) in every hierarchy, usable at once. Repeatable."""
    for hierarchy in hierarchies(root):
        group = hierarchy
        for part in Path(name).parts:
            above, group = group, group / part
            if hierarchy == root:
                _share_controllers(above)
            group.mkdir(exist_ok=True)
            for setting in ("cpuset.cpus", "cpuset.mems"):
                # In version 1 a new group has no processors and takes no process until it gets some.
                if hierarchy != root and (group / setting).exists():
                    (group / setting).write_text((above / setting).read_text())


def remove(name: str, root: Path = ROOT) -> None:
    """End every process in the group and below, then remove it. Repeatable."""
    for group in _groups(name, root):
        ends = time.monotonic() + GONE_WITHIN
        while group.exists() and time.monotonic() < ends:
            for pid in _members(group):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            for folder in _deepest_first(group):
                with contextlib.suppress(OSError):  # still busy: once more
                    folder.rmdir()
            time.sleep(POLL_SECONDS)


def members(name: str, root: Path = ROOT) -> set[int]:
    """The processes in a group and below."""
    return {pid for group in _groups(name, root) for pid in _members(group)}


def _groups(name: str, root: Path) -> list[Path]:
    """Where a group of that name may be: also in a hierarchy without controllers, where container runtimes make it."""
    return [folder / name for folder in (root, *root.iterdir()) if (folder / name).is_dir() and not folder.is_symlink()]


def _members(group: Path) -> set[int]:
    found = set()
    for folder in _deepest_first(group):
        with contextlib.suppress(OSError):  # gone meanwhile
            found |= {int(pid) for pid in (folder / "cgroup.procs").read_text().split()}
    return found - {0}  # a process of another pid namespace


def _deepest_first(group: Path) -> Iterator[Path]:
    for path, _, _ in os.walk(group, topdown=False):
        yield Path(path)


def _share_controllers(group: Path) -> None:
    controllers = (group / CONTROLLERS).read_text().split()
    try:
        (group / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in controllers))
    except OSError as error:
        # So in a container: the group that looks like the root has processes of its own, and may then share nothing.
        raise ClusterError(
            f"{group} cannot hand its controllers down ({error.strerror}); run real nodes on the machine itself or in a"
            " virtual machine, not in a container"
        ) from error
