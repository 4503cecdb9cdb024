"""This machine as a node: what there is for the scheduler to count. Nothing here limits a process."""

import os
import re
from datetime import UTC, datetime
from pathlib import Path

from activities.adapters.local.settings import Settings
from definitions.cluster import LOCAL_CLUSTER, NodeView

GPU_RESOURCE = "nvidia.com/gpu"
HOST_LABEL = "kubernetes.io/hostname"
DEVICE = re.compile(r"nvidia[0-9]+")
KIB = 1024


def machine(root: Path = Path("/")) -> NodeView:
    """The machine as it is now. `root`: where its `dev` and `proc` are. What cannot be read there counts as nothing.

    A GPU is a `dev/nvidia<number>` that the driver made. Devices of a placement are their positions, counted from 0 in
    the order of the PCI bus, since a container may be given the machine's third GPU alone. How much memory a GPU has
    is told only by its library, which is not loaded for that: `gpu_memory` is None.
    """
    name, cpus, memory, gpus = Settings().node, os.cpu_count() or 1, _memory(root), _gpus(root)
    return NodeView(
        cluster=LOCAL_CLUSTER,
        name=name,
        ready=True,
        schedulable=True,
        cpu_millis=cpus * 1000,
        memory=memory,
        gpus=gpus,
        gpu_type=_gpu_type(root) if gpus else "",
        allocatable={"cpu": str(cpus), "memory": str(memory), GPU_RESOURCE: str(gpus)},
        labels={HOST_LABEL: name},
        seen_at=datetime.now(UTC),
    )


def _memory(root: Path) -> int:
    """Bytes, of which the kernel tells KiB."""
    try:
        found = re.search(r"^MemTotal:\s+(\d+) kB$", (root / "proc/meminfo").read_text(), re.MULTILINE)
    except OSError:
        return 0
    return int(found[1]) * KIB if found else 0


def _gpus(root: Path) -> int:
    try:
        return sum(bool(DEVICE.fullmatch(name)) for name in os.listdir(root / "dev"))
    except OSError:
        return 0


def _gpu_type(root: Path) -> str:
    """The model as nodes of a cluster are labelled with it; empty where the driver names none, or several."""
    models = set()
    for file in (root / "proc/driver/nvidia/gpus").glob("*/information"):
        try:
            found = re.search(r"^Model:\s+(.+?)\s*$", file.read_text(), re.MULTILINE)
        except OSError:
            continue
        if found:
            models.add(found[1].replace(" ", "-"))
    return models.pop() if len(models) == 1 else ""
