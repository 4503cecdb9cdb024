"""What a pod's containers may use: processors, memory, disk, GPUs. Requests equal limits, so nothing is lent away."""

import re
from typing import Any

from definitions.cluster import ClusterSettings, NetworkRule
from definitions.pod_needs import PodNeeds

MIG = re.compile(r"(?:[a-z0-9.-]+/)?(mig-\d+g\.\d+gb(?:[.+][a-z0-9.]+)?)", re.IGNORECASE)


def main_resources(needs: PodNeeds, settings: ClusterSettings, rule: NetworkRule) -> dict[str, Any]:
    """Of the container with the ranks."""
    amounts = _machine(needs)
    if needs.gpus:
        amounts[gpu_resource(needs, settings)] = str(needs.gpus)
    return _both(amounts | rule.resources)


def init_resources(needs: PodNeeds) -> dict[str, Any]:
    """Of our own container before it: the same machine's part, which a pod is counted once for, and no GPU."""
    return _both(_machine(needs))


def gpu_resource(needs: PodNeeds, settings: ClusterSettings) -> str:
    """The extended resource that a GPU is counted by: a MIG profile is one of its own."""
    profile = mig_profile(needs.gpu_type)
    if profile is None:
        return settings.gpu_resource
    return f"{settings.gpu_resource.partition('/')[0]}/{profile}"


def mig_profile(gpu_type: str | None) -> str | None:
    """The profile in a GPU type as `mig-1g.5gb`, or in a resource's full name; None when it is a product."""
    match = MIG.fullmatch(gpu_type or "")
    return match[1].lower().replace("+", ".") if match else None


def _machine(needs: PodNeeds) -> dict[str, str]:
    amounts = {}
    if needs.cpu_millis is not None:
        amounts["cpu"] = f"{needs.cpu_millis}m"
    if needs.memory is not None:
        amounts["memory"] = str(needs.memory)
    if needs.ephemeral_storage is not None:
        amounts["ephemeral-storage"] = str(needs.ephemeral_storage)
    return amounts


def _both(amounts: dict[str, str]) -> dict[str, Any]:
    return {"requests": dict(amounts), "limits": dict(amounts)} if amounts else {}
