"""Who waits, what there is, what queues use, and what was decided. Of others' jobs only amounts are told; the project
only says as whom one asks."""

from __future__ import annotations

from perdure.client._models import CapacityPage, DecisionPage, QueueUsePage, WaitingPage, WholeDecision
from perdure.client.call import Call, reading, segment


def waiting(
    *, queue: str | None = None, limit: int | None = None, cursor: str | None = None, project: str | None = None
) -> Call[WaitingPage]:
    """Jobs that wait for places, in order."""
    query = {"queue": queue, "limit": limit, "cursor": cursor}
    return Call("queue.list", "GET", "/v1/queue", reading(WaitingPage), query, project=project)


def usage(
    *, queue: str | None = None, limit: int | None = None, cursor: str | None = None, project: str | None = None
) -> Call[QueueUsePage]:
    """What queues have, use, borrow, lend and wait for, by resource."""
    query = {"queue": queue, "limit": limit, "cursor": cursor}
    return Call("queues.usage", "GET", "/v1/queue-usage", reading(QueueUsePage), query, project=project)


def capacity(
    *, pool: str | None = None, limit: int | None = None, cursor: str | None = None, project: str | None = None
) -> Call[CapacityPage]:
    """Nodes with what jobs hold of them, and GPUs by model with what waiting jobs ask for."""
    query = {"pool": pool, "limit": limit, "cursor": cursor}
    return Call("capacity.list", "GET", "/v1/capacity", reading(CapacityPage), query, project=project)


def list_decisions(
    *, pool: str | None = None, limit: int | None = None, cursor: str | None = None, project: str | None = None
) -> Call[DecisionPage]:
    """Decisions of a pool's scheduler, newest first; without `pool` those of `local`."""
    query = {"pool": pool, "limit": limit, "cursor": cursor}
    return Call("decisions.list", "GET", "/v1/decisions", reading(DecisionPage), query, project=project)


def get_decision(pool: str, number: int, *, project: str | None = None) -> Call[WholeDecision]:
    """One decision: who got places, who has to go and for whom, who waits and why."""
    path = f"/v1/decisions/{segment(pool)}/{number}"
    return Call("decisions.get", "GET", path, reading(WholeDecision), project=project)
