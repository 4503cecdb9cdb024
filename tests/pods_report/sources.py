"""Who wrote what an end was judged from: the API server notes the author of every field of a status."""

from collections.abc import Iterable, Mapping
from typing import Any

KUBELET = "kubelet"
CONTROLLERS = ("kube-scheduler", "kube-controller-manager", "kube-apiserver")
COMPONENTS = frozenset({KUBELET, *CONTROLLERS})
PATCHED = "patched"


def writers(pods: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Who wrote the status of these pods, by the name that each gave to the API server."""
    found = {
        str(entry["manager"])
        for pod in pods
        for entry in pod["metadata"].get("managedFields") or ()
        if entry.get("subresource") == "status"
    }
    return tuple(sorted(found, key=lambda name: (name != KUBELET, name)))


def source(names: Iterable[str]) -> str:
    """A real kubelet if one spoke and nobody else put words into its mouth; else the controller that spoke."""
    found = set(names)
    if found - COMPONENTS:
        return PATCHED
    if KUBELET in found:
        return KUBELET
    return next((name for name in CONTROLLERS if name in found), "nobody")
