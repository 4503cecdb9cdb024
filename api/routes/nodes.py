"""Nodes of clusters: look, and take them out of service. They are the installation's; everybody may look."""

from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Body, Depends, Query
from fastapi.concurrency import run_in_threadpool

from api.access import Caller, Needs
from api.clusters import cluster_row, jobs_on_node, node_view
from api.idempotency import Once, Reply, once_outside
from api.negotiate import Accept, one
from api.parameters import ClusterPath, Cursor, Limit, NodePath
from api.ports import EngineAway, NoAnswerYet, NodeBusy
from definitions.api_clusters import ClusterNode, ClusterNodePage, NodeOperation, OperateNode
from definitions.cluster_calls import NodeOrder, NodeVerb, node_workflow_id
from definitions.errors import PerdureError
from definitions.principal import Action, ResourceKind
from store import clusters

router = APIRouter(tags=["nodes"])
NODE = "/v1/clusters/{cluster}/nodes/{node}"

Lister = Annotated[Caller, Depends(Needs(Action.LIST, ResourceKind.NODE))]
Reader = Annotated[Caller, Depends(Needs(Action.READ, ResourceKind.NODE))]
Operator = Annotated[Caller, Depends(Needs(Action.OPERATE, ResourceKind.NODE))]
Why = Annotated[OperateNode | None, Body()]
LATER: dict[int | str, dict[str, Any]] = {202: {"model": NodeOperation, "description": "It goes on; look again."}}


@router.get("/v1/nodes", name="nodes.list", response_model=ClusterNodePage)
def list_(
    caller: Lister,
    cluster: Annotated[str | None, Query(description="Only of this cluster.", examples=["north-1"])] = None,
    name: Annotated[str | None, Query(description="Only of this name.", examples=["gpu-7"])] = None,
    limit: Limit = None,
    cursor: Cursor = None,
) -> Any:
    """Nodes by cluster and name."""
    size = limit or caller.deps.settings.limits.default_page
    with caller.reading() as session:
        if cluster is not None:
            cluster_row(caller, session, cluster)
        page = clusters.nodes(session, cluster=cluster, name=name, limit=size, after=cursor)
    return ClusterNodePage(items=[node_view(row, whole=False) for row in page.items], next=page.next)


@router.get(NODE, name="nodes.get", response_model=ClusterNode)
def get(caller: Reader, cluster: ClusterPath, node: NodePath, accept: Accept = "") -> Any:
    """One node: what it has, how it is, and which of your jobs run there."""
    with caller.reading() as session:
        cluster_row(caller, session, cluster)
        row = clusters.node(session, cluster, node)
        if row is None:
            raise caller.missing(ResourceKind.NODE, node)
        there = jobs_on_node(caller, session, cluster, node)
    return one(node_view(row, there=there), accept)


@router.post(f"{NODE}:cordon", name="nodes.cordon", response_model=NodeOperation, responses=LATER)
async def cordon(caller: Operator, cluster: ClusterPath, node: NodePath, request: Once, body: Why = None) -> Any:
    """Let nothing new start there. What runs goes on."""
    return (await _order(caller, cluster, node, NodeVerb.CORDON, request, body)).send()


@router.post(f"{NODE}:uncordon", name="nodes.uncordon", response_model=NodeOperation, responses=LATER)
async def uncordon(caller: Operator, cluster: ClusterPath, node: NodePath, request: Once, body: Why = None) -> Any:
    """Let pods start there again."""
    return (await _order(caller, cluster, node, NodeVerb.UNCORDON, request, body)).send()


@router.post(f"{NODE}:drain", name="nodes.drain", response_model=NodeOperation, responses=LATER)
async def drain(caller: Operator, cluster: ClusterPath, node: NodePath, request: Once, body: Why = None) -> Any:
    """Let nothing new start there, and have the jobs' pods leave: each job saves first, then goes on elsewhere."""
    return (await _order(caller, cluster, node, NodeVerb.DRAIN, request, body)).send()


async def _order(caller: Caller, cluster: str, node: str, verb: NodeVerb, request: Once, body: Why) -> Reply:
    order = NodeOrder(
        cluster=cluster, node=node, verb=verb, reason=body.reason if body else "", actor=caller.principal.name
    )

    async def work(request_id: str) -> Reply:
        await run_in_threadpool(_find, caller, cluster, node)
        return await _carried_out(caller, order, request_id)

    caller.log.update(cluster=cluster, node=node, verb=verb)
    return await once_outside(caller, request, work)


async def _carried_out(caller: Caller, order: NodeOrder, request_id: str) -> Reply:
    try:
        done = await caller.deps.clusters.order(order, request_id)
    except NoAnswerYet:
        return Reply.of(202, _operation(caller, order, f"{order.verb} goes on", settled=False))
    except NodeBusy:
        raise PerdureError("PD-2105", f"node {order.node!r} is being worked on already") from None
    except EngineAway:
        raise PerdureError("PD-2040", f"{order.verb} was not carried out: the workflow engine is away") from None
    return Reply.of(200, _operation(caller, order, done.message, settled=True))


def _operation(caller: Caller, order: NodeOrder, message: str, *, settled: bool) -> NodeOperation:
    settings = caller.deps.settings
    workflow = quote(node_workflow_id(order.cluster, order.node), safe="")
    ui = f"{settings.ui_url.rstrip('/')}/namespaces/{quote(settings.namespace, safe='')}/workflows/{workflow}"
    return NodeOperation(
        cluster=order.cluster, node=order.node, verb=order.verb, settled=settled, message=message, workflow=ui
    )


def _find(caller: Caller, cluster: str, node: str) -> None:
    with caller.reading() as session:
        cluster_row(caller, session, cluster)
        if clusters.node(session, cluster, node) is None:
            raise caller.missing(ResourceKind.NODE, node)
