"""Rules between the fields that only jobs on a cluster use: volumes and where they appear, memory, saving."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from definitions.cluster_types import SHARED_MEMORY, is_below
from definitions.spec_types import Conflict

if TYPE_CHECKING:
    from definitions.job import JobSpec

RESERVED = "perdure-"  # volumes of the platform's own in the same pod


def pod_conflicts(spec: JobSpec) -> Iterator[Conflict]:
    """Every fault between these fields, in the order of the fields."""
    yield from _memory(spec)
    yield from _volumes(spec)
    yield from _mounts(spec)
    yield from _saving(spec)


def _memory(spec: JobSpec) -> Iterator[Conflict]:
    memory, shared = spec.resources.memory, spec.resources.shared_memory
    if memory is not None and shared is not None and shared > memory:
        what = "sharedMemory is more than memory, and what is in it counts as memory"
        yield Conflict("resources.sharedMemory", what, "make memory larger, or sharedMemory smaller")


def _volumes(spec: JobSpec) -> Iterator[Conflict]:
    seen: set[str] = set()
    for index, volume in enumerate(spec.volumes):
        if volume.name in seen:
            yield Conflict(f"volumes.{index}.name", f"two volumes are called {volume.name}", "rename one")
        if volume.name.startswith(RESERVED):
            what = f"names that begin with {RESERVED} are the platform's"
            yield Conflict(f"volumes.{index}.name", what, "choose another name")
        seen.add(volume.name)


def _mounts(spec: JobSpec) -> Iterator[Conflict]:
    known = {volume.name for volume in spec.volumes}
    seen: set[str] = set()
    for index, mount in enumerate(spec.volume_mounts):
        at = f"volumeMounts.{index}"
        if mount.name not in known:
            names = ", ".join(sorted(known)) or "none is declared"
            yield Conflict(f"{at}.name", f"there is no volume {mount.name}", f"declare it in volumes ({names})")
        if mount.mount_path in seen:
            yield Conflict(f"{at}.mountPath", f"two volumes appear as {mount.mount_path}", "choose another folder")
        if mount.mount_path == SHARED_MEMORY and spec.resources.shared_memory is not None:
            what = f"{SHARED_MEMORY} is what resources.sharedMemory makes"
            yield Conflict(f"{at}.mountPath", what, "remove the mount, or sharedMemory")
        seen.add(mount.mount_path)


def _saving(spec: JobSpec) -> Iterator[Conflict]:
    folder = spec.checkpoints.directory
    if folder is None:
        return
    parts = folder.split("/")
    if ".." in parts or (not folder.startswith("/") and "" in parts):
        yield Conflict(
            "checkpoints.directory", f"{folder!r} is not a plain path", "write it like saves, or /data/saves"
        )
    elif folder.startswith("/"):
        writable = [mount.mount_path for mount in spec.volume_mounts if not mount.read_only]
        if not any(is_below(folder, path) for path in writable):
            what = f"{folder} is on no volume that the job may write, and would be gone with the pod"
            yield Conflict("checkpoints.directory", what, "choose a folder below a mount, or a relative one: saves")
