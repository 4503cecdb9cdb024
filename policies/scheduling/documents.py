"""Documents of the scheduler in its own words: queues, models of GPU, priorities, pools with their nodes, reservations.

faults(documents)     what is wrong between documents that are each right by themselves; for documents.parse(together=)
scheduling(documents) all of them converted; documents of other kinds are passed over
priority_of(document) a class of priority alone
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from definitions.cluster import LOCAL_CLUSTER
from definitions.documents import AnyKind
from definitions.node_pool import NodePool, SimulatedNodes
from definitions.priority_class import PriorityClass
from definitions.queue import PreemptOthers, PreemptWithin, Queue, QueueOrder, QueueStop
from definitions.reservation import Reservation, ReservationSpec
from definitions.resource_flavor import ResourceFlavor
from definitions.spec_errors import raise_issues
from definitions.topology import Topology
from policies.scheduling.document_checks import faults
from policies.scheduling.model import Node, QueueRules, Reclaim, Stop, Taint, Within
from policies.scheduling.queue_tree import parents_first, quotas_of

__all__ = ["Pool", "Priority", "Reserved", "Scheduling", "faults", "priority_of", "scheduling"]

SECOND = timedelta(seconds=1)
WITHIN = {
    PreemptWithin.NEVER: Within.NEVER,
    PreemptWithin.LOWER: Within.LOWER,
    PreemptWithin.LOWER_OR_NEWER: Within.LOWER_OR_NEWER,
}
RECLAIM = {
    PreemptOthers.NEVER: Reclaim.NEVER,
    PreemptOthers.LOWER: Reclaim.LOWER,
    PreemptOthers.ANY: Reclaim.ANY,
}
STOP = {QueueStop.NO: Stop.NONE, QueueStop.HOLD: Stop.HOLD, QueueStop.DRAIN: Stop.DRAIN}


@dataclass(frozen=True, slots=True)
class Priority:
    """A class of priority. `longest_wait`: seconds that its gangs should wait at most."""

    name: str
    value: int = 0
    preemptible: bool = True
    displaces: bool = False
    usable_by: frozenset[str] = frozenset()  # queues; none: every queue
    longest_wait: int | None = None
    alert: bool = False

    def allows(self, path: Iterable[str]) -> bool:
        """Whether jobs of a queue may be of this class. `path`: the queue and all above it."""
        return not self.usable_by or not self.usable_by.isdisjoint(path)

    def missed(self, submitted: int, started: int | None, now: int) -> int:
        """Seconds by which a gang waited longer than it should; 0 when it did not. `started` None: it waits still."""
        if self.longest_wait is None:
            return 0
        return max(0, (now if started is None else started) - submitted - self.longest_wait)


@dataclass(frozen=True, slots=True)
class Pool:
    """Nodes that belong together. `levels`: of its topology, widest first, from their names to the nodes' labels."""

    name: str
    levels: Mapping[str, str] = field(default_factory=dict)
    selector: Mapping[str, str] = field(default_factory=dict)
    nodes: tuple[Node, ...] = ()  # simulated ones; without any, the selector tells

    def members(self, nodes: Iterable[Node]) -> tuple[Node, ...]:
        """Those of some nodes that belong to it."""
        if self.nodes:
            names = {node.name for node in self.nodes}
            return tuple(node for node in nodes if node.simulated and node.name in names)
        return tuple(node for node in nodes if self.selects(node.labels))

    def selects(self, labels: Mapping[str, str]) -> bool:
        """Whether a real node with these labels belongs to it."""
        return not self.nodes and all(labels.get(key) == value for key, value in self.selector.items())


@dataclass(frozen=True, slots=True)
class Reserved:
    """A reservation. `model`: of GPU, empty for any."""

    name: str
    spec: ReservationSpec
    model: str = ""


@dataclass(frozen=True, slots=True)
class Scheduling:
    """All that documents say. `models`: every word for a model of GPU to the one that quotas count."""

    queues: tuple[QueueRules, ...] = ()  # parents first
    default_queue: str | None = None
    models: Mapping[str, str] = field(default_factory=dict)
    gpu_memory: Mapping[str, int] = field(default_factory=dict)  # by model
    priorities: Mapping[str, Priority] = field(default_factory=dict)
    default_priority: str | None = None
    pools: Mapping[str, Pool] = field(default_factory=dict)
    reservations: tuple[Reserved, ...] = ()

    @property
    def nodes(self) -> tuple[Node, ...]:
        """Simulated nodes of all pools."""
        return tuple(node for pool in self.pools.values() for node in pool.nodes)

    def serves(self, cluster: str, labels: Mapping[str, str]) -> bool:
        """Whether jobs are placed on a real node of a cluster: on any, as long as no pool selects nodes by labels, and
        then on those that one selects. This machine needs no pool."""
        pools = [pool for pool in self.pools.values() if not pool.nodes]
        return cluster == LOCAL_CLUSTER or not pools or any(pool.selects(labels) for pool in pools)

    def path(self, queue: str) -> tuple[str, ...]:
        """A queue and all above it, from below."""
        above = {rules.name: rules.parent for rules in self.queues}
        found = [queue]
        while (parent := above[found[-1]]) is not None:
            found.append(parent)
        return tuple(found)


def scheduling(documents: Sequence[AnyKind]) -> Scheduling:
    """Convert documents. Raises SpecError with every fault between them."""
    raise_issues([issue for _, issue in faults(documents)])
    flavors = {each.metadata.name: each for each in documents if isinstance(each, ResourceFlavor)}
    topologies = {each.metadata.name: each for each in documents if isinstance(each, Topology)}
    queues = [each for each in documents if isinstance(each, Queue)]
    classes = [each for each in documents if isinstance(each, PriorityClass)]
    pools = [each for each in documents if isinstance(each, NodePool)]
    kept = [each for each in documents if isinstance(each, Reservation)]
    return Scheduling(
        queues=tuple(_rules(queues, flavors)),
        default_queue=next((each.metadata.name for each in queues if each.spec.default), None),
        models=dict(_words(flavors.values())),
        gpu_memory={each.spec.gpu_type: each.spec.gpu_memory for each in flavors.values() if each.spec.gpu_memory},
        priorities={each.metadata.name: priority_of(each) for each in classes},
        default_priority=next((each.metadata.name for each in classes if each.spec.default), None),
        pools={each.metadata.name: _pool(each, topologies, flavors) for each in pools},
        reservations=tuple(Reserved(each.metadata.name, each.spec, _model(each, flavors)) for each in kept),
    )


def priority_of(document: PriorityClass) -> Priority:
    """A class by itself, in the scheduler's words."""
    spec = document.spec
    longest = spec.longest_queue_time
    return Priority(
        name=document.metadata.name,
        value=spec.value,
        preemptible=spec.preemptible,
        displaces=spec.displaces_promises,
        usable_by=frozenset(spec.usable_by),
        longest_wait=None if longest is None else longest // SECOND,
        alert=spec.alert_when_missed,
    )


def _rules(queues: list[Queue], flavors: Mapping[str, ResourceFlavor]) -> Iterator[QueueRules]:
    models = {name: each.spec.gpu_type for name, each in flavors.items()}
    quotas = quotas_of(queues, models)
    for queue in parents_first(queues):
        name, spec = queue.metadata.name, queue.spec
        yield QueueRules(
            name=name,
            parent=spec.parent,
            weight=spec.weight,
            quotas=quotas[name],
            strict=spec.order is QueueOrder.STRICT,
            min_run=spec.min_run_time // SECOND,
            within=WITHIN[spec.preemption.within],
            reclaim=RECLAIM[spec.preemption.reclaim],
            half_life=None if spec.usage_half_life is None else spec.usage_half_life // SECOND,
            stop=STOP[spec.stop],
        )


def _words(flavors: Iterable[ResourceFlavor]) -> Iterator[tuple[str, str]]:
    for flavor in flavors:
        for word in (flavor.spec.gpu_type, *flavor.spec.also_known_as):
            yield word, flavor.spec.gpu_type


def _pool(document: NodePool, topologies: Mapping[str, Topology], flavors: Mapping[str, ResourceFlavor]) -> Pool:
    spec, name = document.spec, document.metadata.name
    topology = topologies[spec.topology].spec.levels if spec.topology is not None else ()
    levels = {level.name: level.node_label for level in topology}
    nodes = () if spec.simulated is None else tuple(_simulated(name, spec.simulated, levels, flavors))
    return Pool(name, levels, spec.node_selector, nodes)


def _simulated(
    pool: str, made: SimulatedNodes, levels: Mapping[str, str], flavors: Mapping[str, ResourceFlavor]
) -> Iterator[Node]:
    flavor = flavors[made.flavor].spec if made.flavor is not None else None
    taints = tuple(Taint(taint.key, taint.value, taint.effect.value) for taint in made.taints)
    for number in range(made.count):
        domains = {levels[level]: f"{pool}-{level}-{number // size}" for level, size in made.domains.items()}
        yield Node(
            name=f"{pool}-{number:04}",
            cpu=made.cpus,
            memory=made.memory,
            gpus=made.gpus,
            model=flavor.gpu_type if flavor is not None else "",
            gpu_memory=(flavor.gpu_memory or 0) if flavor is not None else 0,
            labels={**made.labels, **domains},
            taints=taints,
            simulated=True,
        )


def _model(document: Reservation, flavors: Mapping[str, ResourceFlavor]) -> str:
    flavor = document.spec.capacity.flavor
    return "" if flavor is None else flavors[flavor].spec.gpu_type
