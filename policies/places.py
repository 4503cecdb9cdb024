"""The places that the scheduler gave an attempt, as its ranks are told of them, and what keeps them from being kept to.

An attempt without a placement was never scheduled: it runs where its runtime has it, and nothing here is about it.
"""

from definitions import protocol
from definitions.attempt import AttemptLaunch
from definitions.places import PlacedPod

VISIBLE_DEVICES = ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES")
# CUDA's own order is by speed: numbers would mean other devices to it than to whoever gave them out.
DEVICE_ORDER = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}


def place_of(launch: AttemptLaunch, rank: int) -> PlacedPod | None:
    """Where a rank's node is to run; None without a placement. The launch has no `misfit`."""
    return None if launch.placement is None else launch.placement.pods[rank // launch.processes_per_node]


def misfit(launch: AttemptLaunch) -> str:
    """Why an attempt cannot run at its places, whoever runs it; empty when it can."""
    if launch.placement is None or len(launch.placement.pods) == launch.nodes:
        return ""
    return f"decision {launch.placement.decision} has {len(launch.placement.pods)} places for {launch.nodes} nodes"


def absent(launch: AttemptLaunch, machine: str) -> str:
    """Why a machine of this name cannot be the places of an attempt; empty when it can. It plays simulated nodes."""
    pods = () if launch.placement is None else launch.placement.pods
    others = [pod.node for pod in pods if not pod.simulated and pod.node != machine]
    return f"node {others[0]} is not this machine, which is {machine}" if others else ""


def device_environment(place: PlacedPod | None) -> dict[str, str]:
    """Which GPUs of its node a rank may use, where nothing else keeps it from the others; nothing without a place.

    All ranks of a node are told the same devices. A simulated node's are none of the machine's, hence of none to CUDA.
    """
    if place is None:
        return {}
    devices = ",".join(map(str, place.devices))
    if place.simulated:
        return {protocol.DEVICES: devices, protocol.SIMULATED: "1", **dict.fromkeys(VISIBLE_DEVICES, "")}
    return {protocol.DEVICES: devices, **DEVICE_ORDER, **dict.fromkeys(VISIBLE_DEVICES, devices)}
