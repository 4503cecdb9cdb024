"""Whether given places are free now, and taking them: for places that were planned before."""

from collections.abc import Sequence

from policies.scheduling.model import Pod, Request, Shape
from policies.scheduling.nodes import Nodes


def seat(nodes: Nodes, request: Request, pods: Sequence[Pod]) -> bool:
    """Take these places if all of them are free on open nodes; else take nothing and say False."""
    taken: list[Pod] = []
    for pod in pods:
        node = nodes.index.get(pod.node)
        if node is None or not _fits(nodes, request.roles[pod.role].shape, node, pod.devices):
            nodes.give_all(request, taken)
            return False
        nodes.take_all(request, (pod,))
        taken.append(pod)
    return True


def _fits(nodes: Nodes, shape: Shape, node: int, devices: Sequence[int]) -> bool:
    if not nodes.open[node] or not nodes.mask(shape)[node]:
        return False
    if nodes.free_cpu[node] < shape.cpu or nodes.free_memory[node] < shape.memory:
        return False
    widest = nodes.free_gpu.shape[1]
    if any(device >= widest or nodes.free_gpu[node, device] < shape.share for device in devices):
        return False
    return all(nodes.free_slices[node, nodes.profiles.index(name)] >= count for name, count in shape.slices)
