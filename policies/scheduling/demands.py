"""What a gang asks of a queue, and what there is of it: amounts by resource.

Resources: `cpu` in 1/1000 of a processor, `memory` in bytes, `gpu` in parts of a GPU over all models, and
`gpu/<model>` in parts of a GPU where the model is known.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from policies.scheduling.model import WHOLE, Node, Pod, Request, Shape

SEVENTHS = 7  # a MIG profile names how many sevenths of a device it takes: 3g.40gb takes three


def demand(request: Request, sizes: Sequence[int] | None = None) -> dict[str, int]:
    """What all pods of a gang ask together; `sizes`: pods of each role instead of its count.

    `gpu/<model>` only of shapes that allow one model: of the others it is known once they have a place (`taken`).
    """
    counts = [role.count for role in request.roles] if sizes is None else sizes
    found: dict[str, int] = {}
    for role, count in zip(request.roles, counts, strict=True):
        models = role.shape.gpu_models
        _add(found, role.shape, count, models[0] if len(models) == 1 else "")
    return found


def taken(request: Request, pods: Iterable[Pod], models: Mapping[str, str]) -> dict[str, int]:
    """What the pods take where they are; `models`: node -> model of its GPUs."""
    found: dict[str, int] = {}
    for (role, model), count in Counter((pod.role, models.get(pod.node, "")) for pod in pods).items():
        _add(found, request.roles[role].shape, count, model)
    return found


def capacity(nodes: Iterable[Node]) -> dict[str, int]:
    """What all nodes have together, used or not."""
    found = {"cpu": 0, "memory": 0, "gpu": 0}
    for node in nodes:
        found["cpu"] += node.cpu
        found["memory"] += node.memory
        gpus = node.gpus * WHOLE + sum(slice_parts(profile) * count for profile, count in node.slices.items())
        found["gpu"] += gpus
        if node.model and gpus:
            found[f"gpu/{node.model}"] = found.get(f"gpu/{node.model}", 0) + gpus
    return found


def gpu_parts(shape: Shape) -> int:
    """Parts of GPUs that one pod takes, MIG slices included."""
    return shape.gpus * shape.share + sum(slice_parts(profile) * count for profile, count in shape.slices)


def slice_parts(profile: str) -> int:
    """Parts of a GPU in a MIG slice; a profile that does not begin with its sevenths counts as a whole one."""
    sevenths = profile.partition("g.")[0]
    return WHOLE * int(sevenths) // SEVENTHS if sevenths.isdecimal() else WHOLE


def _add(found: dict[str, int], shape: Shape, count: int, model: str) -> None:
    gpus = gpu_parts(shape)
    amounts = {"cpu": shape.cpu, "memory": shape.memory, "gpu": gpus}
    if model:
        amounts[f"gpu/{model}"] = gpus
    for resource, amount in amounts.items():
        if amount and count:
            found[resource] = found.get(resource, 0) + amount * count
