"""What a pod has in its folders. The run folder alone outlives it, and only where it lies on a claimed volume."""

from typing import Any

from activities.ports import PortError
from definitions.attempt import AttemptLaunch
from definitions.cluster import ClusterSettings
from definitions.pod_needs import PodNeeds

Json = dict[str, Any]
ROOT = "/perdure"
BIN, PRIVATE, ATTEMPT, WORK, DATA, SECRET, SEED = "bin", "private", "attempt", "work", "data", "secret", "seed"
SHARED_MEMORY = "shared-memory"
PREFIX = "perdure-"  # of our volumes' names, so that none of the job's can be meant


def needs_claim(launch: AttemptLaunch, needs: PodNeeds, settings: ClusterSettings) -> bool:
    """Whether the run folder lies on a volume of its own. Several nodes need one that all of them can mount.

    Raises PortError(permanent) when the job asks for a volume that the cluster cannot give to all its nodes.
    """
    if launch.nodes > 1 and not settings.shared_storage:
        if needs.storage is not None:
            what = "the cluster's storage can be mounted by one node at a time, and the job has several"
            raise PortError(what, permanent=True, code="PD-3153")
        return False
    return needs.storage is not None or settings.storage_bytes is not None


def volumes(launch: AttemptLaunch, needs: PodNeeds, secret: str, claim: str | None, seed: str | None) -> list[Json]:
    """`claim`, `seed`: names of the claims with the run folder and with the checkpoint to start from."""
    found: list[Json] = [
        _empty(BIN),
        _empty(PRIVATE, medium="Memory"),
        _empty(ATTEMPT),
        _empty(WORK),
        _empty(DATA) if claim is None else _claim(DATA, claim),
        {"name": PREFIX + SECRET, "secret": {"secretName": secret, "defaultMode": 0o440}},
        _empty(SHARED_MEMORY, medium="Memory", limit=needs.shared_memory),
    ]
    if seed is not None:
        found.append(_claim(SEED, seed, read_only=seed != claim))
    taken = {volume["name"] for volume in found}
    for volume in needs.volumes:
        if volume.name in taken:
            raise PortError(f"the volume name {volume.name} is taken", permanent=True, code="PD-3152")
        found.append({"name": volume.name, **volume.source})
    return found


def prepare_mounts(seed: str | None) -> list[Json]:
    """Of our own container, which lays everything out."""
    names = [BIN, PRIVATE, ATTEMPT, WORK, DATA]
    read_only = [SECRET] if seed is None else [SECRET, SEED]
    return [_mount(name) for name in names] + [_mount(name, read_only=True) for name in read_only]


def main_mounts(needs: PodNeeds) -> list[Json]:
    """Of the container with the ranks: values of secrets reach it laid out in memory."""
    found = [_mount(BIN, read_only=True), *(_mount(name) for name in (PRIVATE, ATTEMPT, WORK, DATA))]
    found.append({"name": PREFIX + SHARED_MEMORY, "mountPath": "/dev/shm"})
    named = {volume.name for volume in needs.volumes}
    for mount in needs.mounts:
        if mount.name not in named:
            what = f"the mount {mount.mount_path} names no volume of the job: {mount.name}"
            raise PortError(what, permanent=True, code="PD-3152")
        if mount.mount_path == ROOT or mount.mount_path.startswith(f"{ROOT}/"):
            what = f"{mount.mount_path} cannot be mounted: {ROOT} is where our own folders are"
            raise PortError(what, permanent=True, code="PD-3152")
        theirs = {"name": mount.name, "mountPath": mount.mount_path, "subPath": mount.sub_path}
        extra = {"readOnly": True} if mount.read_only else {}
        found.append({name: value for name, value in theirs.items() if value is not None} | extra)
    return found


def _empty(name: str, *, medium: str | None = None, limit: int | None = None) -> Json:
    source = {"medium": medium, "sizeLimit": None if limit is None else str(limit)}
    return {"name": PREFIX + name, "emptyDir": {key: value for key, value in source.items() if value is not None}}


def _claim(name: str, claim: str, *, read_only: bool = False) -> Json:
    source: Json = {"claimName": claim} | ({"readOnly": True} if read_only else {})
    return {"name": PREFIX + name, "persistentVolumeClaim": source}


def _mount(name: str, *, read_only: bool = False) -> Json:
    return {"name": PREFIX + name, "mountPath": f"{ROOT}/{name}"} | ({"readOnly": True} if read_only else {})
