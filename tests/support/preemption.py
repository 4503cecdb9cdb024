"""Clusters full of gangs that could be displaced, and the least work that must be lost there, by an exact solver."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp  # type: ignore[import-untyped]
from scipy.sparse import coo_array  # type: ignore[import-untyped]

from policies.scheduling.eligible import lost_work
from policies.scheduling.model import Near, Node, Pod, QueueRules, Request, Role, Running, Shape
from policies.scheduling.nodes import Nodes

NOW = 10**6
GPUS = 8
CPU, MEMORY = 64_000, 1 << 39
WHOLE_NODE = Shape(cpu=48_000, memory=1 << 38, gpus=GPUS)
HALF_NODE = Shape(cpu=24_000, memory=1 << 37, gpus=GPUS // 2)
# Nodes of a gang (0: half a node) and how often it occurs: 2.475 nodes on average, so 700 of them fill 87 % of 2,000.
MIX = ((0, 15), (1, 30), (2, 25), (4, 20), (8, 10))
QUEUES = {"team": QueueRules("team")}


@dataclass(frozen=True, slots=True)
class Cluster:
    nodes: Nodes
    running: tuple[Running, ...]


def crowded(seed: int, size: int, candidates: int, level: str, width: int) -> Cluster:
    """`size` nodes of 8 GPUs in domains of `width`, with so many gangs of `MIX` and no room left but beside single
    half nodes. Four of five gangs have neighbouring nodes; nodes that no candidate is on have a protected gang."""
    random = Random(seed)
    nodes = Nodes(
        [Node(f"n{n}", CPU, MEMORY, GPUS, "H", 1 << 37, labels={level: f"{level}-{n // width}"}) for n in range(size)],
        (level,),
    )
    used = size + 1
    while used > size:
        sizes = random.choices([one for one, _ in MIX], [weight for _, weight in MIX], k=candidates)
        used = sum(sizes) + (sizes.count(0) + 1) // 2
    protected = set(random.sample(range(size), size - used))
    free = [row for row in range(size) if row not in protected]
    running = [_gang(f"protected-{row}", [(row, range(GPUS))], random, preemptible=False) for row in sorted(protected)]
    for number, places in enumerate(_places(sizes, free, random)):
        running.append(_gang(f"gang-{number}", places, random))
    for gang in running:
        nodes.take_all(gang.request, gang.pods)
    return Cluster(nodes, tuple(running))


def beneficiary(pods: int, near: Near) -> Request:
    """A gang of whole nodes whose priority is above everybody's."""
    return Request("new", "team", (Role("worker", pods, WHOLE_NODE, near=near),), NOW, 10)


def exact_loss(cluster: Cluster, request: Request, gap: float = 0.0) -> float | None:
    """The least lost work, in seconds times 1/1000 GPU, for a gang of one role on whole nodes that lies within one
    domain, or in slices within one each. None: nobody's going makes room. `gap`: how far from the optimum it may be."""
    near = request.roles[0].near
    column = cluster.nodes.domains[0]
    groups = [np.flatnonzero(column == domain) for domain in np.unique(column)]
    if near.slice_level is not None:
        return _solve(cluster, groups, request.roles[0].count // near.slice_size, near.slice_size, gap)
    if near.required is None:
        groups = [np.arange(len(cluster.nodes.names))]
    found = [_solve(cluster, [rows], request.roles[0].count, 1, gap) for rows in groups]
    return min((one for one in found if one is not None), default=None)


def _places(sizes: Sequence[int], free: list[int], random: Random) -> list[list[tuple[int, Sequence[int]]]]:
    """Nodes and devices of each gang. Half nodes are paired; every fifth gang has nodes from anywhere."""
    scattered = {number for number, size in enumerate(sizes) if size and random.random() < 0.2}
    anywhere = set(random.sample(free, sum(sizes[number] for number in scattered)))
    loose, line = sorted(anywhere), [row for row in free if row not in anywhere]
    random.shuffle(loose)
    found: list[list[tuple[int, Sequence[int]]]] = []
    half: int | None = None
    for number, size in enumerate(sizes):
        if size:
            source = loose if number in scattered else line
            found.append([(source.pop(0), range(GPUS)) for _ in range(size)])
        elif half is None:
            half = line.pop(0)
            found.append([(half, range(GPUS // 2))])
        else:
            found.append([(half, range(GPUS // 2, GPUS))])
            half = None
    return found


def _gang(name: str, places: Sequence[tuple[int, Sequence[int]]], random: Random, preemptible: bool = True) -> Running:
    shape = WHOLE_NODE if len(places[0][1]) == GPUS else HALF_NODE
    request = Request(name, "team", (Role("worker", len(places), shape),), 0, 1, preemptible=preemptible)
    since = NOW - random.randrange(600, 172_800)
    saved = NOW - random.randrange(0, 7200) if random.random() < 0.7 else None
    return Running(request, tuple(Pod(0, f"n{row}", tuple(devices)) for row, devices in places), since, saved)


def _solve(cluster: Cluster, groups: Sequence[np.ndarray], slices: int, width: int, gap: float) -> float | None:
    """Variables: x of each candidate (goes), y of each node (is free then), z of each group (its slices)."""
    victims = [gang for gang in cluster.running if gang.request.preemptible]
    rows = {int(row): number for number, row in enumerate(np.concatenate(list(groups)))}
    barred = {cluster.nodes.index[pod.node] for gang in cluster.running if gang not in victims for pod in gang.pods}
    x, y, z = len(victims), len(rows), len(groups)
    entries: list[tuple[int, int, float]] = []
    least: list[float] = []
    for number, gang in enumerate(victims):
        for row in {cluster.nodes.index[pod.node] for pod in gang.pods} & rows.keys():
            entries += [(len(least), number, 1.0), (len(least), x + rows[row], -1.0)]
            least.append(0.0)
    for number, group in enumerate(groups):
        entries += [(len(least), x + rows[int(row)], 1.0) for row in group]
        entries.append((len(least), x + y + number, -float(width)))
        least.append(0.0)
    entries += [(len(least), x + y + number, 1.0) for number in range(z)]
    least.append(float(slices))
    line, column, value = zip(*entries, strict=True)
    matrix = coo_array((value, (line, column)), shape=(len(least), x + y + z)).tocsr()
    upper = np.concatenate([np.ones(x), [0.0 if row in barred else 1.0 for row in rows], np.full(z, float(slices))])
    price = np.concatenate([[float(lost_work(gang, NOW)) for gang in victims], np.zeros(y + z)])
    found = milp(
        price,
        constraints=LinearConstraint(matrix, np.array(least), np.inf),
        bounds=Bounds(0.0, upper),
        integrality=np.ones(x + y + z),
        options={"mip_rel_gap": gap},
    )
    return None if found.x is None else float(found.fun)
