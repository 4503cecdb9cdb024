"""Field types for what only a cluster gives: images, volumes, places to mount them, affinity.

What a cluster itself would refuse is refused here as far as it can be known, since here the author reads it at once.
"""

import re
from typing import Annotated

from pydantic import AfterValidator, Field, JsonValue
from pydantic import WithJsonSchema as Schema

from definitions.spec_types import Label, refusal

OURS = "/perdure"  # where a pod keeps what the platform needs
SHARED_MEMORY = "/dev/shm"
_KERNEL = ("/proc", "/sys", "/dev")
_SYSTEM = frozenset({"/bin", "/boot", "/etc", "/lib", "/lib64", "/opt", "/root", "/run", "/sbin", "/usr", "/var"})

# [registry[:port]/]path[:tag][@digest]
_PART = r"[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*"
_REGISTRY = r"(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::[0-9]{1,5})?/)?"
_TAG, _DIGEST = r"(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?", r"(?:@sha256:[0-9a-f]{64})?"
_IMAGE = re.compile(f"{_REGISTRY}{_PART}(?:/{_PART})*{_TAG}{_DIGEST}")
_MOUNT_FIX = "mount it elsewhere, as /data"
_IMAGE_FIX = "write it like registry.example.org/team/train:1.4"

_SOURCES = frozenset(
    {
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "persistentVolumeClaim",
        "projected",
        "secret",
    }
)
_NOT_FOR_JOBS = {
    "hostPath": ("jobs do not see the disks of their nodes", "copy the data into a persistentVolumeClaim"),
    "nfs": (
        "restricted pods may not name a server",
        "make a PersistentVolume of type nfs with a claim, and name that as persistentVolumeClaim",
    ),
}
_PROJECTED = frozenset({"clusterTrustBundle", "configMap", "downwardAPI", "secret"})
# How the platform names the objects of jobs: nobody else's attempt is to be read by guessing its name.
_MADE_BY_US = re.compile(r".*-[0-9a-f]{12}-(?:\d+|data)")
_AFFINITIES = frozenset({"nodeAffinity", "podAffinity", "podAntiAffinity"})
_TERMS = frozenset(
    {"requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"}
)


def is_below(path: str, folder: str) -> bool:
    """Whether an absolute path is a folder, or inside of it."""
    return path == folder or path.startswith(f"{folder}/")


def _image(value: str) -> str:
    if not _IMAGE.fullmatch(value):
        raise refusal("PD-1118", f"{value!r} is not the name of an image", _IMAGE_FIX)
    return value


def _mount_path(value: str) -> str:
    """Absolute, in its shortest spelling, and not where the pod's own things are."""
    parts = value.split("/")[1:]
    if not value.startswith("/") or any(part in ("", ".", "..") for part in parts) or ":" in value:
        fix = "write it like /data, absolute and with no .., no // and no / at its end"
        raise refusal("PD-1120", f"{value!r} is not a folder that a volume can appear as", fix)
    if is_below(value, OURS):
        raise refusal("PD-1120", f"{value} is below {OURS}, which belongs to the platform", _MOUNT_FIX)
    if value != SHARED_MEMORY and any(is_below(value, folder) for folder in _KERNEL):
        raise refusal("PD-1120", f"{value} belongs to the kernel", _MOUNT_FIX)
    if value in _SYSTEM:
        raise refusal("PD-1120", f"a volume at {value} would hide the image's own files", _MOUNT_FIX)
    return value


def _source(value: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Exactly one kind of volume, of those that a restricted pod may have."""
    fix = f"write one of: {', '.join(sorted(_SOURCES))}"
    if len(value) != 1:
        what = f"a volume has one source, and this names {' and '.join(value)}" if value else "the volume has no source"
        raise refusal("PD-1119", what, fix)
    (kind, details), *_ = value.items()
    if kind in _NOT_FOR_JOBS:
        why, instead = _NOT_FOR_JOBS[kind]
        raise refusal("PD-1119", f"a job cannot have a volume of kind {kind}: {why}", instead)
    if kind not in _SOURCES:
        raise refusal("PD-1119", f"{kind} is no kind of volume that a job can have", fix)
    if not isinstance(details, dict):
        raise refusal("PD-1119", f"{kind} needs a mapping", "write it as the cluster's own description of it")
    if kind == "projected":
        _check_projected(details)
    for name in _texts(details):
        if _MADE_BY_US.fullmatch(name):
            raise refusal("PD-1119", f"{name} is how a job's own objects are called", "name an object of your own")
    return value


def _check_projected(details: dict[str, JsonValue]) -> None:
    sources = details.get("sources")
    if not isinstance(sources, list) or not all(isinstance(one, dict) for one in sources):
        raise refusal("PD-1119", "projected needs a list of sources", "write sources: [{configMap: {name: NAME}}]")
    kinds = {kind for one in sources if isinstance(one, dict) for kind in one}
    if "serviceAccountToken" in kinds:
        raise refusal("PD-1119", "jobs get no token of a service account", "remove serviceAccountToken from sources")
    if unknown := sorted(kinds - _PROJECTED):
        raise refusal("PD-1119", f"{unknown[0]} cannot be projected", f"use: {', '.join(sorted(_PROJECTED))}")


def _affinity(value: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """The shape down to the lists of terms; the cluster checks the terms."""
    for kind, rules in value.items():
        if kind not in _AFFINITIES:
            raise refusal("PD-1121", f"{kind} is no kind of affinity", f"use one of: {', '.join(sorted(_AFFINITIES))}")
        if not isinstance(rules, dict) or not rules.keys() <= _TERMS:
            raise refusal("PD-1121", f"{kind} does not hold rules", f"use one of: {', '.join(sorted(_TERMS))}")
    return value


def _texts(node: JsonValue) -> list[str]:
    """Every text in a value. Safe to recurse: the loader has bounded the depth."""
    if isinstance(node, dict):
        return [found for value in node.values() for found in _texts(value)]
    if isinstance(node, list):
        return [found for value in node for found in _texts(value)]
    return [node] if isinstance(node, str) else []


Image = Annotated[str, AfterValidator(_image), Field(min_length=1, max_length=512), Label("image")]
MountPath = Annotated[
    str,
    AfterValidator(_mount_path),
    Field(max_length=512),
    Schema({"type": "string", "pattern": "^/"}),
    Label("absolute path"),
]
VolumeSource = Annotated[dict[str, JsonValue], AfterValidator(_source), Label("one kind of volume")]
Affinity = Annotated[dict[str, JsonValue], AfterValidator(_affinity), Label("affinity rules")]
