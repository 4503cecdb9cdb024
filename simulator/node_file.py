"""The cluster to simulate: so many equal nodes, or a file with one line for each node or kind of node."""

from pathlib import Path

from policies.scheduling.model import Node
from simulator.cells import cpus, size, text, whole
from simulator.rows import Column, Faults, read

PLENTY_CPU = 1_000_000_000  # of equal nodes, which are limited by their GPUs alone
PLENTY_MEMORY = 2**50
COLUMNS = (
    Column("name", text, needed=True),
    Column("count", whole(1, 100_000), 1),
    Column("cpus", cpus, PLENTY_CPU),
    Column("memory", size, PLENTY_MEMORY),
    Column("gpus", whole(0, 1024), 0),
    Column("gpuModel", text, ""),
    Column("gpuMemory", size, 0),
)


def equal_nodes(count: int, gpus: int, model: str = "") -> tuple[Node, ...]:
    """Nodes that differ in their names only, with more processors and memory than anything asks for."""
    return tuple(
        Node(f"node-{number:04}", PLENTY_CPU, PLENTY_MEMORY, gpus, model, simulated=True) for number in range(count)
    )


def node_file(path: Path, shown: str) -> tuple[Node, ...]:
    """Read nodes. A line with a `count` stands for so many, whose names get a number. Raises PD-4014."""
    faults = Faults(shown)
    nodes: dict[str, Node] = {}
    for line, values in read(path, shown, COLUMNS, faults):
        count = values["count"]
        names = [values["name"]] if count == 1 else [f"{values['name']}-{number:04}" for number in range(count)]
        if not nodes.keys().isdisjoint(names):
            faults.add(line, 1, f"a node {values['name']} is there already", "give each node a name of its own")
            continue
        sizes = values["cpus"], values["memory"], values["gpus"], values["gpuModel"], values["gpuMemory"]
        nodes |= {name: Node(name, *sizes, simulated=True) for name in names}
    if not nodes and not faults.count:
        faults.add(1, 1, "there is no node in the file", "write one line for each node")
    faults.settle()
    return tuple(nodes.values())
