"""What waits, what there is, and what was decided. Everybody may look; names are for those who may see the job."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query

from api.access import Caller, Needs
from api.capacity import capacity_page, picture, usage_page
from api.decisions import decision_view, whole_decision
from api.negotiate import Accept, one
from api.parameters import Cursor, Limit
from api.queue_times import with_overdue
from api.queueing import waiting_jobs
from api.scheduling_documents import find, stored
from definitions.api_queueing import (
    CapacityPage,
    DecisionPage,
    QueueUsePage,
    WaitingPage,
    WholeDecision,
)
from definitions.cluster import LOCAL_CLUSTER
from definitions.principal import Action, ResourceKind
from policies.scheduling.documents import scheduling
from store import decisions, gangs
from store.gangs import WAITING

router = APIRouter()
MOST = 2**63 - 1  # of numbers of decisions

Lister = Annotated[Caller, Depends(Needs(Action.LIST, ResourceKind.QUEUE))]
Reader = Annotated[Caller, Depends(Needs(Action.READ, ResourceKind.QUEUE))]
NodeLister = Annotated[Caller, Depends(Needs(Action.LIST, ResourceKind.NODE))]
OfQueue = Annotated[str | None, Query(description="Only of this queue.", examples=["research"], max_length=63)]
OfPool = Annotated[str | None, Query(description="Only of this cluster.", examples=["north-1"], max_length=63)]
PoolPath = Annotated[str, Path(description="A pool: name of a cluster, or `local`.", examples=["north-1"])]
NumberPath = Annotated[int, Path(description="Number of a decision in its pool.", examples=[1742], ge=1, le=MOST)]


@router.get("/v1/queue", name="queue.list", response_model=WaitingPage, tags=["queues"])
def queue(caller: Lister, queue: OfQueue = None, limit: Limit = None, cursor: Cursor = None) -> Any:
    """Jobs that wait for places, in order. Of jobs that are not yours: places in the order and amounts."""
    size = limit or caller.deps.settings.limits.default_page
    with caller.reading() as session:
        if queue is not None:
            find(caller, session, "Queue", queue)
        rules = scheduling(stored(session))
        page = gangs.page(session, None, queue=queue, state=WAITING, limit=size, after=cursor)
        items = waiting_jobs(caller, session, page.items, rules.models)
    now = caller.deps.now()
    return WaitingPage(items=[with_overdue(each, rules.priorities, now) for each in items], next=page.next)


@router.get("/v1/queue-usage", name="queues.usage", response_model=QueueUsePage, tags=["queues"])
def usage(caller: Lister, queue: OfQueue = None, limit: Limit = None, cursor: Cursor = None) -> Any:
    """What queues have, use, borrow, lend and wait for, by resource."""
    size = limit or caller.deps.settings.limits.default_page
    with caller.reading() as session:
        if queue is not None:
            find(caller, session, "Queue", queue)
        return usage_page(session, picture(caller, session), queue, size, cursor)


@router.get("/v1/capacity", name="capacity.list", response_model=CapacityPage, tags=["nodes"])
def capacity(caller: NodeLister, pool: OfPool = None, limit: Limit = None, cursor: Cursor = None) -> Any:
    """Nodes with what jobs hold of them, and GPUs by model with what waiting jobs ask for."""
    size = limit or caller.deps.settings.limits.default_page
    with caller.reading() as session:
        return capacity_page(picture(caller, session), pool, size, cursor)


@router.get("/v1/decisions", name="decisions.list", response_model=DecisionPage, tags=["decisions"])
def list_decisions(
    caller: Lister,
    pool: Annotated[
        str, Query(description="Of this pool: a cluster, or `local`.", examples=["north-1"], max_length=63)
    ] = LOCAL_CLUSTER,
    limit: Limit = None,
    cursor: Cursor = None,
) -> Any:
    """Decisions of a pool's scheduler, newest first."""
    size = limit or caller.deps.settings.limits.default_page
    with caller.reading() as session:
        page = decisions.page(session, pool, limit=size, after=cursor)
    return DecisionPage(items=[decision_view(row) for row in page.items], next=page.next)


@router.get("/v1/decisions/{pool}/{number}", name="decisions.get", response_model=WholeDecision, tags=["decisions"])
def get_decision(caller: Reader, pool: PoolPath, number: NumberPath, accept: Accept = "") -> Any:
    """One decision: who got places, who has to go and for whom, who waits and why."""
    with caller.reading() as session:
        row = decisions.get(session, pool, number)
        if row is None:
            raise caller.missing(f"decision {number} of pool", pool)
        view = whole_decision(caller, session, row)
    return one(view, accept)
