"""What windows of reservations keep, from documents and nodes, and how a window is shown with its hours."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy.orm import Session

from api.access import Caller
from api.scheduling_documents import stored
from definitions.cluster import LOCAL_CLUSTER, NodeView
from definitions.documents import ForScheduler
from definitions.reservation import ReservationSpec
from definitions.resource_flavor import ResourceFlavor
from policies.reserving import Amount, amount, hours
from policies.scheduling.documents import Reserved, Scheduling, scheduling
from policies.scheduling.model import Node
from policies.scheduling.terms import booking_of, spec_of, time_of
from policies.scheduling.walltime import shown
from policies.scheduling.windows import Window
from store import pool_amounts
from store.tables import BookingRow


@dataclass(frozen=True)
class Around:
    """Documents, models of GPU by flavor, and nodes by cluster, at one moment."""

    documents: Scheduling
    flavors: Mapping[str, str]
    nodes: Mapping[str, Sequence[Node]]

    def amount(self, name: str, spec: ReservationSpec) -> Amount:
        """What each window of a reservation keeps."""
        nodes = self.nodes.get(spec.cluster or LOCAL_CLUSTER, ())
        model = self.flavors.get(spec.capacity.flavor or "", "")
        pool = None if spec.pool is None else self.documents.pools.get(spec.pool)
        there = nodes if spec.pool is None or pool is not None else ()
        return amount(Reserved(name, spec, model), pool, there)

    def held(self, row: BookingRow) -> Amount:
        """What a booked window keeps: its nodes, or as much as it is to get."""
        usual = self.amount(row.reservation, spec_of(row.terms))
        if row.nodes is None:
            return usual
        gpus = {node.name: node.gpus for node in self.nodes.get(row.pool, ())}
        known = all(name in gpus for name in row.nodes)
        return Amount(len(row.nodes), sum(gpus[name] for name in row.nodes) if known else usual.gpus)


def around(caller: Caller, session: Session, kinds: Sequence[ForScheduler] | None = None) -> Around:
    """As things are stored; or with these documents, which are right together."""
    found = stored(session) if kinds is None else kinds
    documents = scheduling(found)
    flavors = {each.metadata.name: each.spec.gpu_type for each in found if isinstance(each, ResourceFlavor)}
    return Around(documents, flavors, _nodes(caller, session, documents))


def times(window: Window, kept: Amount) -> dict[str, Any]:
    """The fields of a window that the rule gives; it has no number before it is booked."""
    return dict(
        begins_at=time_of(window.begins),
        ends_at=time_of(window.ends),
        shown_begin=window.shown_begin,
        shown_end=window.shown_end,
        **_amounts(kept, window.seconds),
    )


def booked_times(row: BookingRow, kept: Amount) -> dict[str, Any]:
    """The fields of a window that was booked, as it stands now: it may have become longer, or shorter."""
    booking = booking_of(row.terms, row.cancelled_at, row.vacated_at)
    window, ends = booking.window, booking.ends
    same = ends == window.ends
    return dict(
        number=row.number,
        begins_at=time_of(window.begins),
        ends_at=time_of(ends),
        shown_begin=window.shown_begin,
        shown_end=window.shown_end if same else shown(ends, ZoneInfo(spec_of(row.terms).time_zone)),
        **_amounts(kept, ends - window.begins),
    )


def _amounts(kept: Amount, seconds: int) -> dict[str, Any]:
    return dict(
        hours=hours(seconds),
        nodes=kept.nodes,
        gpus=kept.gpus,
        node_hours=kept.node_hours(seconds),
        gpu_hours=kept.gpu_hours(seconds),
    )


def _nodes(caller: Caller, session: Session, documents: Scheduling) -> dict[str, list[Node]]:
    """By cluster; those of this machine are made up by documents, or else the machine itself."""
    found: dict[str, list[Node]] = {LOCAL_CLUSTER: list(documents.nodes)}
    if not documents.nodes and (machine := caller.deps.machine()) is not None:
        found[LOCAL_CLUSTER].append(_node(machine, documents.models))
    for view in (NodeView.model_validate(each) for each in pool_amounts.nodes(session)):
        if documents.serves(view.cluster, view.labels):
            found.setdefault(view.cluster, []).append(_node(view, documents.models))
    return found


def _node(view: NodeView, models: Mapping[str, str]) -> Node:
    model = models.get(view.gpu_type, view.gpu_type) if view.gpus else ""
    return Node(view.name, view.cpu_millis, view.memory, view.gpus, model, labels=view.labels)
