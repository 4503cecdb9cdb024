"""What a correct placement is, and whether there is one at all: recounted without any of the scheduler's own code."""

from collections.abc import Iterator, Sequence
from itertools import combinations

from policies.scheduling.model import Near, Node, Pod, Request, Role

Left = dict[str, tuple[int, int, list[int]]]  # node -> cpu, memory, free parts of each GPU


def faults(nodes: Sequence[Node], request: Request, pods: Sequence[Pod], levels: Sequence[str]) -> list[str]:
    """What is wrong with these places for a gang that has all nodes to itself."""
    found: list[str] = []
    left = empty(nodes)
    for number, role in enumerate(request.roles):
        own = [pod for pod in pods if pod.role == number]
        if len(own) != role.count:
            found.append(f"{len(own)} pods of role {role.name}")
        if role.spread and len({pod.node for pod in own}) < len(own):
            found.append(f"two pods of role {role.name} on one node")
        for pod in own:
            if not take(left, role, pod.node, pod.devices, {node.name: node for node in nodes}):
                found.append(f"no room for {pod}")
    found += [f"not together: {group}" for group in groups(request, pods) if not together(nodes, levels, *group)]
    return found


def exists(nodes: Sequence[Node], request: Request, levels: Sequence[str]) -> bool:
    """Whether any assignment of pods to nodes and devices is right, by trying them all."""
    wanted = [(number, role) for number, role in enumerate(request.roles) for _ in range(role.count)]
    by_name = {node.name: node for node in nodes}

    def descend(placed: list[Pod], left: Left) -> bool:
        if any(not together(nodes, levels, *group) for group in groups(request, placed)):
            return False
        if len(placed) == len(wanted):
            return True
        number, role = wanted[len(placed)]
        for node in nodes:
            if role.spread and any(pod.role == number and pod.node == node.name for pod in placed):
                continue
            for devices in combinations(range(node.gpus), role.shape.gpus):
                after = {name: (cpu, memory, list(gpus)) for name, (cpu, memory, gpus) in left.items()}
                if take(after, role, node.name, devices, by_name) and descend(
                    [*placed, Pod(number, node.name, devices)], after
                ):
                    return True
        return False

    return descend([], empty(nodes))


def empty(nodes: Sequence[Node]) -> Left:
    return {node.name: (node.cpu, node.memory, [1000] * node.gpus) for node in nodes}


def take(left: Left, role: Role, name: str, devices: Sequence[int], nodes: dict[str, Node]) -> bool:
    """Take the room of one pod; False if there is not enough, or the node is not one that it may be on."""
    shape, (cpu, memory, gpus) = role.shape, left[name]
    wrong_model = bool(shape.gpus and shape.gpu_models and nodes[name].model not in shape.gpu_models)
    if wrong_model or len(set(devices)) != shape.gpus or cpu < shape.cpu or memory < shape.memory:
        return False
    if any(gpus[device] < shape.share for device in devices):
        return False
    for device in devices:
        gpus[device] -= shape.share
    left[name] = (cpu - shape.cpu, memory - shape.memory, gpus)
    return True


def groups(request: Request, pods: Sequence[Pod]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Level, and the nodes that must be in one domain of it."""
    if request.near.required:
        yield request.near.required, tuple(pod.node for pod in pods)
    for number, role in enumerate(request.roles):
        own = [pod.node for pod in pods if pod.role == number]
        near: Near = role.near
        if near.required:
            yield near.required, tuple(own)
        if near.slice_level:
            for start in range(0, len(own), near.slice_size):
                yield near.slice_level, tuple(own[start : start + near.slice_size])


def together(nodes: Sequence[Node], levels: Sequence[str], level: str, names: Sequence[str]) -> bool:
    """Whether the nodes share the labels of all levels down to this one."""
    path = levels[: list(levels).index(level) + 1]
    labels = {node.name: node.labels for node in nodes}
    if any(key not in labels[name] for name in names for key in path):
        return False
    return len({tuple(labels[name][key] for key in path) for name in names}) <= 1
