"""What is simulated, put together from what was asked for: a trace, nodes, queues, losses of nodes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from definitions.documents import AnyKind, parse
from definitions.errors import PerdureError
from definitions.node_pool import NodePool
from definitions.priority_class import PriorityClass
from definitions.queue import Queue
from definitions.reservation import Reservation
from definitions.resource_flavor import ResourceFlavor
from definitions.topology import Topology
from policies.scheduling.documents import Scheduling, faults, scheduling
from policies.scheduling.model import Node, QueueRules
from simulator.admitting import CODE, admitted, begin_of
from simulator.gavel import gavel
from simulator.loop import Outage
from simulator.node_file import equal_nodes, node_file
from simulator.openb import openb
from simulator.outages import outages
from simulator.trace import Trace, declared, first, loaded
from simulator.trace_file import trace_file
from simulator.wire import Asked

NAMED = ("openb", "gavel")
GAVEL_NODES = 64
KINDS = (Queue, ResourceFlavor, PriorityClass, Topology, NodePool, Reservation)
# An installed package carries the data of named traces itself; a checkout has it where the benchmarks are.
DATA = (Path(__file__).parent / "data", Path(__file__).parents[1] / "bench" / "data")


@dataclass(frozen=True, slots=True)
class Setting:
    """`documented`: the queues come from documents, else from the trace, all equal and without quotas. `found`: what
    documents say. `begin`: the instant of second 0, where reservations need one."""

    trace: Trace
    nodes: tuple[Node, ...]
    queues: tuple[QueueRules, ...]
    documented: bool
    levels: tuple[str, ...] = ()
    outages: tuple[Outage, ...] = ()
    found: Scheduling = field(default_factory=Scheduling)
    begin: int = 0


def setting(asked: Asked) -> Setting:
    """Raises PerdureError: PD-4014 for files, PD-4015 for what does not go together, or the fault of a document."""
    found = _documents(asked.documents)
    trace = _trace(asked)
    if asked.load != 1:
        trace = loaded(trace, asked.load)
    if asked.limit is not None:
        trace = first(trace, asked.limit)
    trace = declared(trace, asked.overstated, asked.seed)
    trace = admitted(trace, found)
    begin = begin_of(asked.begin, trace, found)
    nodes = _nodes(asked, trace, found)
    _require_queues(trace, found)
    queues = found.queues or tuple(QueueRules(name) for name in trace.queues)
    levels = tuple(dict.fromkeys(label for pool in found.pools.values() for label in pool.levels.values()))
    return Setting(trace, nodes, queues, bool(found.queues), levels, _outages(asked, trace, nodes), found, begin)


def folder_of(name: str) -> Path:
    """Where the data of a named trace is. Raises PD-4015 when this installation has none."""
    for data in DATA:
        if (data / name).is_dir():
            return data / name
    raise PerdureError(CODE, f"the data of {name} is not installed", where="--trace", remedy="Name a file instead.")


def _trace(asked: Asked) -> Trace:
    if asked.trace == "openb":
        return openb(folder_of("openb"))
    if asked.trace == "gavel":
        return gavel(folder_of("gavel"), gpus_per_node=asked.gpus_per_node)
    return trace_file(Path(asked.trace), asked.trace)


def _documents(paths: Sequence[str]) -> Scheduling:
    """All documents together. Those of one file are checked against each other with the places of faults."""
    documents: list[AnyKind] = []
    for path in paths:
        try:
            text = Path(path).read_bytes()
        except OSError as error:
            raise PerdureError("PD-2909", f"{path}: {error.strerror}", where=path) from None
        documents += parse(text, source=path, served_only=False, together=faults if len(paths) == 1 else None)
    for document in documents:
        if not isinstance(document, KINDS):
            raise PerdureError(
                CODE,
                f"a {document.kind} has no part in a simulation",
                where="--file",
                remedy=f"Leave only documents of the kinds {', '.join(kind.__name__ for kind in KINDS)}.",
            )
    return scheduling(documents)


def _nodes(asked: Asked, trace: Trace, found: Scheduling) -> tuple[Node, ...]:
    """Those that were asked for, else those of the documents, else those of the trace."""
    if isinstance(asked.nodes, int):
        models = {model for job in trace.jobs for role in job.request.roles for model in role.shape.gpu_models}
        return equal_nodes(asked.nodes, asked.gpus_per_node, next(iter(models)) if len(models) == 1 else "")
    if asked.nodes is not None:
        return node_file(Path(asked.nodes), asked.nodes)
    if found.nodes or trace.nodes:
        return found.nodes or trace.nodes
    if asked.trace == "gavel":
        return equal_nodes(GAVEL_NODES, asked.gpus_per_node)
    raise PerdureError(CODE, "the trace does not say on what nodes it runs", where="--nodes")


def _require_queues(trace: Trace, found: Scheduling) -> None:
    known = {queue.name for queue in found.queues}
    unknown = sorted(set(trace.queues) - known)
    if known and unknown:
        raise PerdureError(
            CODE,
            f"jobs of the trace are in queues that no document describes: {', '.join(unknown[:5])}",
            where="--file",
            remedy="Add a Queue document for each.",
        )


def _outages(asked: Asked, trace: Trace, nodes: Sequence[Node]) -> tuple[Outage, ...]:
    """Losses fall into the time in which jobs arrive."""
    if asked.failure_hours is None or not trace.jobs:
        return ()
    begin, end = trace.jobs[0].request.submitted, trace.jobs[-1].request.submitted
    hours = asked.failure_hours, asked.repair_hours
    return outages(nodes, begin, end, failure_hours=hours[0], repair_hours=hours[1], seed=asked.seed)
