"""Gangs and their places as rows of a profile: from pods to numbers of nodes and bits of devices, and back."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from policies.scheduling.asks import Kind
from policies.scheduling.kernels_gangs import Batch
from policies.scheduling.kernels_time import NEVER, Ints
from policies.scheduling.model import Pod, Promise, Request
from policies.scheduling.nodes import Nodes

NOWHERE = np.zeros(0, np.int64)
REMEMBERED = 100_000  # places of gangs, as numbers


@dataclass(slots=True)
class Row:
    """A gang's places in the profile. `sure`: when they are free again even if only declared ends come. `twin`,
    `holder`, `line`: as in `Batch`."""

    request: Request
    kind: int
    length: int
    declared: bool
    twin: int
    holder: int
    line: int
    start: int = NEVER
    end: int = NEVER
    sure: int = NEVER
    firm: bool = False
    nodes: Ints = field(default_factory=lambda: NOWHERE)
    bits: Ints = field(default_factory=lambda: NOWHERE)
    due: int = NEVER  # when it should have ended
    late: bool = False  # it has not
    told: Promise | None = None  # its placement as a promise

    @property
    def placed(self) -> bool:
        return self.start < NEVER

    def covers(self, other: "Row") -> bool:
        """Whether it has all places that the other has, and leaves them no sooner."""
        same = np.array_equal(self.nodes, other.nodes) and np.array_equal(self.bits, other.bits)
        return same and self.start <= other.start and self.end >= other.end


def batch_of(kinds: Sequence[Kind], rows: Sequence[Row], modes: Sequence[int]) -> Batch:
    """At least one row, each with its mode, as the compiled code takes them."""
    roles = [kinds[row.kind].roles for row in rows]
    counts = [len(each) for each in roles]
    edges = np.concatenate(([0], np.cumsum(counts)))
    node, bits = np.zeros(edges[-1], np.int64), np.zeros(edges[-1], np.int64)
    values = []
    for row, mode, first, last in zip(rows, modes, edges.tolist(), edges[1:].tolist(), strict=False):
        if row.placed:
            node[first:last], bits[first:last] = row.nodes, row.bits
        own = (row.kind, mode, row.length, row.declared, row.start, row.end, row.sure, row.firm)
        values.append((*own, first, last, row.twin, row.holder, row.line))
    spare = np.zeros((4, max(counts)), np.int64)
    return Batch(np.array(values, np.int64), np.concatenate(roles), node, bits, spare)


def seat(row: Row, pods: Sequence[Pod], start: int, kind: Kind, nodes: Nodes) -> None:
    """Give the row these places, in the order of its kind's roles. Devices that a node no longer has are left out."""
    order = tuple([ask.role for ask in kind.asks])
    known = nodes.seats.get((id(pods), order))
    if known is None:
        known = pods, *_places(pods, order, nodes)
        if isinstance(pods, tuple):  # the same one is given in every round, for as long as the gang runs or is promised
            if len(nodes.seats) >= REMEMBERED:
                nodes.seats.clear()
            nodes.seats[id(pods), order] = known
    row.start, row.nodes, row.bits = start, known[1], known[2]


def pods_of(row: Row, kind: Kind, nodes: Nodes, devices: dict[int, tuple[int, ...]]) -> tuple[Pod, ...]:
    """The places of a row, by role. `devices`: what bits mean, filled as they are met."""
    names, numbers, bits = nodes.names, row.nodes.tolist(), row.bits.tolist()
    for held in set(bits) - devices.keys():
        devices[held] = tuple(number for number in range(held.bit_length()) if held >> number & 1)
    if len(kind.asks) == 1:
        role = kind.asks[0].role
        return tuple([Pod(role, names[node], devices[held]) for node, held in zip(numbers, bits, strict=True)])
    roles = [ask.role for ask in kind.asks for _ in range(ask.pods)]
    found = [Pod(role, names[node], devices[held]) for role, node, held in zip(roles, numbers, bits, strict=True)]
    return tuple(sorted(found, key=lambda pod: pod.role))


def sizes_of(request: Request, pods: Sequence[Pod]) -> tuple[int, ...]:
    """How many of the pods are of each role."""
    if len(request.roles) == 1:
        return (len(pods),)
    roles = [pod.role for pod in pods]
    return tuple(roles.count(number) for number in range(len(request.roles)))


def _places(pods: Sequence[Pod], order: Sequence[int], nodes: Nodes) -> tuple[Ints, Ints]:
    """Numbers of nodes and bits of devices, of pods of the first of these roles first."""
    roles: dict[int, list[Pod]] = {}
    for pod in pods:
        roles.setdefault(pod.role, []).append(pod)
    ordered = [pod for role in order for pod in roles[role]]
    numbers = np.array([nodes.index[pod.node] for pod in ordered], np.int64)
    most = nodes.gpus[numbers].tolist()
    held = [sum(1 << number for number in pod.devices if number < most[at]) for at, pod in enumerate(ordered)]
    return numbers, np.array(held, np.int64)
